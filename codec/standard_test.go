package codec

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/proto"
)

// substrait is the Substrait plan of a node, with the functions that it declares as "extension function".
func substrait(t *testing.T, n plan.Node) (*pb.Plan, []string) {
	t.Helper()
	b, err := EncodeFragment(n, tables())
	require.NoError(t, err)
	fragment, p := &seracv1.Fragment{}, &pb.Plan{}
	require.NoError(t, proto.Unmarshal(b, fragment))
	require.NoError(t, proto.Unmarshal(fragment.GetPlan(), p))
	refs, err := readDeclarations(p)
	require.NoError(t, err)
	var functions []string
	for anchor := uint32(1); len(functions) < len(refs.functions); anchor++ {
		f := refs.functions[anchor]
		functions = append(functions, f.urn[strings.LastIndex(f.urn, ":")+1:]+" "+f.name)
	}
	return p, functions
}

// TestWhatIsStandardIsSaidInStandardTerms is a plan like TPC-H's Q1: no node, function or type of ours is needed but the
// scan and DuckDB's average of decimals.
func TestWhatIsStandardIsSaidInStandardTerms(t *testing.T) {
	price, date := plan.DecimalType(15, 2), plan.T(plan.Date)
	schema := plan.Schema{{Name: "flag", Type: plan.T(plan.Varchar)}, {Name: "price", Type: price}, {Name: "ship", Type: date}}
	ref := func(i int) plan.Expr { return &plan.ColumnRef{Index: i, Of: schema[i].Type} }
	n := &plan.Sort{
		Keys: []plan.SortKey{{Expr: &plan.ColumnRef{Of: schema[0].Type}}},
		Input: &plan.Aggregate{
			Groups: []plan.Expr{ref(0)},
			Calls: []plan.AggregateCall{
				{Name: "sum", Args: []plan.Expr{ref(1)}, Of: plan.DecimalType(38, 2)}, {Name: "count_star", Of: big1},
				{Name: "max", Args: []plan.Expr{ref(1)}, Of: price}, {Name: "count", Args: []plan.Expr{ref(1)}, Of: big1},
			},
			Input: &plan.Filter{
				Cond: &plan.Conjunction{Args: []plan.Expr{
					&plan.Comparison{Op: plan.LessOrEqual, Left: ref(2), Right: &plan.Constant{Value: int64(10000), Of: date}},
					&plan.Operator{Op: plan.OpNot, Args: []plan.Expr{&plan.Operator{Op: plan.OpIsNull, Args: []plan.Expr{ref(1)}, Of: plan.T(plan.Boolean)}}, Of: plan.T(plan.Boolean)},
				}},
				Input: &plan.Values{Out: schema},
			},
		},
	}
	p, functions := substrait(t, n)
	require.Equal(t, []string{
		"functions_comparison lte:any_any", "functions_comparison is_null:any", "functions_boolean not:bool", "functions_boolean and:bool",
		"functions_arithmetic_decimal sum:dec", "functions_aggregate_generic count:", "functions_arithmetic_decimal max:dec",
		"functions_aggregate_generic count:any",
	}, functions)
	root := p.GetRelations()[0].GetRoot()
	require.Equal(t, []string{"flag", "sum", "count_star", "max", "count"}, root.GetNames())
	read := root.GetInput().GetSort().GetInput().GetAggregate().GetInput().GetFilter().GetInput().GetRead()
	require.Equal(t, []string{"flag", "price", "ship"}, read.GetBaseSchema().GetNames())
	require.EqualValues(t, 15, read.GetBaseSchema().GetStruct().GetTypes()[1].GetDecimal().GetPrecision())
}

// Where DuckDB's function of the name means another thing, it keeps DuckDB's name.
func TestWhatDiffersKeepsDuckDBsName(t *testing.T) {
	decimal := plan.DecimalType(15, 2)
	schema := plan.Schema{{Name: "k", Type: big1}, {Name: "d", Type: decimal}}
	arg := func(i int) []plan.Expr { return []plan.Expr{&plan.ColumnRef{Index: i, Of: schema[i].Type}} }
	_, functions := substrait(t, &plan.Aggregate{Input: &plan.Values{Out: schema}, Calls: []plan.AggregateCall{
		{Name: "sum", Args: arg(0), Of: plan.T(plan.HugeInt)}, {Name: "avg", Args: arg(1), Of: plan.T(plan.Double)},
		{Name: "min", Args: append(arg(0), num(3)), Of: plan.ListType(big1)},
	}})
	require.Equal(t, []string{"duckdb sum", "duckdb avg", "duckdb min"}, functions)
}

func TestJoinsOfOthersBecomeResiduals(t *testing.T) {
	n := &plan.Join{Kind: plan.Left, Left: leaf(1), Right: leaf(2), Conds: []plan.JoinCond{{Op: plan.Equal, Left: col(0), Right: col(1)}}}
	b, err := EncodeFragment(n, nil)
	require.NoError(t, err)
	fragment, p := &seracv1.Fragment{}, &pb.Plan{}
	require.NoError(t, proto.Unmarshal(b, fragment))
	require.NoError(t, proto.Unmarshal(fragment.GetPlan(), p))
	p.GetRelations()[0].GetRoot().GetInput().GetJoin().AdvancedExtension = nil
	// And the output is in another order.
	p.GetRelations()[0].GetRoot().GetInput().GetJoin().Common = &pb.RelCommon{EmitKind: &pb.RelCommon_Emit_{Emit: &pb.RelCommon_Emit{OutputMapping: []int32{5, 0}}}}
	fragment.Plan, err = proto.Marshal(p)
	require.NoError(t, err)
	b, err = proto.Marshal(fragment)
	require.NoError(t, err)
	f, err := DecodeFragment(b)
	require.NoError(t, err)
	require.Equal(t, &plan.Project{
		Input: &plan.Join{Kind: plan.Left, Left: leaf(1), Right: leaf(2), Residual: &plan.Comparison{Op: plan.Equal, Left: col(0), Right: col(4)}},
		Exprs: []plan.Expr{col(5), col(0)}, Names: []string{"k2", "k0"},
	}, f.Root)
}

// The extension files list what the codec declares.
func TestExtensionFilesListOurNames(t *testing.T) {
	listed := func(file string) []string {
		b, err := os.ReadFile("extensions/" + file)
		require.NoError(t, err)
		var names []string
		for _, line := range strings.Split(string(b), "\n") {
			if name, ok := strings.CutPrefix(line, "  - name: "); ok {
				names = append(names, strings.Trim(name, `"`))
			}
		}
		slices.Sort(names)
		return names
	}
	types := []string{typeEnum, typeArray, typeStruct, typeUnion, typeAlias}
	for _, name := range userTypes {
		types = append(types, name)
	}
	slices.Sort(types)
	require.Equal(t, types, listed("duckdb.yaml"))

	ours := []string{functionDeclared, functionBetween, typeDoubleFloat}
	for _, op := range operators {
		if op.urn == urnPlan {
			ours = append(ours, op.name)
		}
	}
	slices.Sort(ours)
	require.Equal(t, ours, listed("plan.yaml"))
}

// Every standard function is in the table once for a set of types, and comes back as the same call of DuckDB.
func TestStandardFunctionsAreUnambiguous(t *testing.T) {
	for _, table := range [][]standardFunction{scalarFunctions, aggregateFunctions} {
		names := map[entity]string{}
		for _, f := range table {
			if f.duckdb == "count_star" {
				continue // told apart by having no argument
			}
			if other, ok := names[f.entity]; ok {
				require.Equal(t, other, f.duckdb, "%v", f.entity)
			}
			names[f.entity] = f.duckdb
		}
	}
}
