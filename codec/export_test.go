package codec

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/seracdb/serac/plan"
)

// people is a table of which scans read some columns, in another order than its own.
func people(string) (ExportedTable, error) {
	return ExportedTable{Names: []string{"c", "ns", "people"}, Columns: []plan.ScanColumn{
		{FieldID: 1, Name: "id", Type: big1}, {FieldID: 7, Name: "name", Type: plan.T(plan.Varchar), Nullable: true},
		{FieldID: 3, Name: "boss", Type: big1, Nullable: true},
	}}, nil
}

func peopleScan(fields ...int32) *plan.IcebergScan {
	t, _ := people("")
	s := &plan.IcebergScan{TableKey: "p"}
	for _, id := range fields {
		for _, c := range t.Columns {
			if c.FieldID == id {
				s.Columns = append(s.Columns, c)
			}
		}
	}
	return s
}

// exportedPlan is a plan as others read it.
func exportedPlan(t *testing.T, n plan.Node) *pb.Plan {
	t.Helper()
	text, err := SubstraitJSON(n, n.Schema().Names(), people)
	require.NoError(t, err)
	p := &pb.Plan{}
	require.NoError(t, protojson.Unmarshal([]byte(text), p))
	return p
}

func rootOf(t *testing.T, p *pb.Plan) *pb.Rel {
	t.Helper()
	return p.GetRelations()[len(p.GetRelations())-1].GetRoot().GetInput()
}

// name is the extension function that a call is of.
func functionName(p *pb.Plan, x *pb.Expression) string {
	for _, e := range p.GetExtensions() {
		if f := e.GetExtensionFunction(); f != nil && f.GetFunctionAnchor() == x.GetScalarFunction().GetFunctionReference() {
			return f.GetName()
		}
	}
	return ""
}

func TestExportedScansAreNamedTables(t *testing.T) {
	scan := peopleScan(3, 1)
	scan.Filter = less(&plan.ColumnRef{Index: 0, Of: big1}, num(5))
	p := exportedPlan(t, scan)
	require.Len(t, p.GetRelations(), 1)
	require.Equal(t, []string{"boss", "id"}, p.GetRelations()[0].GetRoot().GetNames())
	read := rootOf(t, p).GetRead()
	require.Equal(t, []string{"c", "ns", "people"}, read.GetNamedTable().GetNames())
	require.Equal(t, []string{"id", "name", "boss"}, read.GetBaseSchema().GetNames(), "the schema is the table's")
	types := read.GetBaseSchema().GetStruct().GetTypes()
	require.Equal(t, pb.Type_NULLABILITY_REQUIRED, types[0].GetI64().GetNullability())
	require.Equal(t, pb.Type_NULLABILITY_NULLABLE, types[1].GetString_().GetNullability())
	var kept []int32
	for _, item := range read.GetProjection().GetSelect().GetStructItems() {
		kept = append(kept, item.GetField())
	}
	require.Equal(t, []int32{2, 0}, kept)
	filter := read.GetBestEffortFilter()
	require.Equal(t, "lt:any_any", functionName(p, filter))
	column := filter.GetScalarFunction().GetArguments()[0].GetValue().GetSelection().GetDirectReference().GetStructField()
	require.EqualValues(t, 2, column.GetField(), "a filter is over the table's columns, not the scan's")
	require.Nil(t, read.GetAdvancedExtension(), "hints are for executors")
}

func TestWhatSeveralReadIsExportedOnce(t *testing.T) {
	p := exportedPlan(t, &plan.CTE{
		Index: 4, Name: "w", Def: peopleScan(1),
		Body: &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{
			&plan.CTERef{Index: 4, Out: columns(1)}, &plan.CTERef{Index: 4, Out: columns(1)},
		}},
	})
	require.Len(t, p.GetRelations(), 2)
	require.Equal(t, []string{"c", "ns", "people"}, p.GetRelations()[0].GetRel().GetRead().GetNamedTable().GetNames())
	inputs := rootOf(t, p).GetSet().GetInputs()
	require.Len(t, inputs, 2)
	for _, in := range inputs {
		require.NotNil(t, in.GetReference())
		require.Zero(t, in.GetReference().GetSubtreeOrdinal())
	}
	// A reference that a recursion feeds is none to a relation.
	p = exportedPlan(t, &plan.CTE{Index: 4, Name: "w", Def: peopleScan(1), Body: &plan.CTERef{Index: 4, Recurring: true, Out: columns(1)}})
	require.NotNil(t, rootOf(t, p).GetExtensionLeaf())
	// Nor is one to a table expression around the exported plan.
	p = exportedPlan(t, &plan.CTERef{Index: 5, Out: columns(1)})
	require.NotNil(t, rootOf(t, p).GetExtensionLeaf())
}

func TestDelimJoinsAreExportedAsSharedKeys(t *testing.T) {
	join := func(flipped bool) *plan.DelimJoin {
		source, other := plan.Node(peopleScan(1, 3)), plan.Node(&plan.DelimGet{Out: columns(1)})
		kind := plan.Inner
		if flipped {
			source, other = other, source
		}
		return &plan.DelimJoin{Join: &plan.Join{
			Kind: kind, Left: source, Right: other, Conds: []plan.JoinCond{{Op: plan.Equal, Left: col(0), Right: col(0)}},
		}, Keys: []int{1}, Flipped: flipped}
	}
	for _, flipped := range []bool{false, true} {
		p := exportedPlan(t, join(flipped))
		require.Len(t, p.GetRelations(), 3, "the side with the keys, the keys, the join")
		require.NotNil(t, p.GetRelations()[0].GetRel().GetRead())
		keys := p.GetRelations()[1].GetRel().GetAggregate()
		require.Zero(t, keys.GetInput().GetReference().GetSubtreeOrdinal())
		require.Len(t, keys.GetGroupingExpressions(), 1)
		require.EqualValues(t, 1, keys.GetGroupingExpressions()[0].GetSelection().GetDirectReference().GetStructField().GetField())
		require.Equal(t, []uint32{0}, keys.GetGroupings()[0].GetExpressionReferences())
		rel := rootOf(t, p).GetJoin()
		ordinals := []int32{rel.GetLeft().GetReference().GetSubtreeOrdinal(), rel.GetRight().GetReference().GetSubtreeOrdinal()}
		if flipped {
			require.Equal(t, []int32{1, 0}, ordinals)
		} else {
			require.Equal(t, []int32{0, 1}, ordinals)
		}
	}
	bad := join(false)
	bad.Keys = []int{2}
	_, err := SubstraitJSON(bad, nil, people)
	require.ErrorContains(t, err, "key 2 of 2")
	lateral := join(false)
	lateral.Lateral = true
	require.NotNil(t, rootOf(t, exportedPlan(t, lateral)).GetExtensionMulti(), "what Substrait cannot say is an extension all the same")
	for _, side := range []func(*plan.Join){func(j *plan.Join) { j.Left = nil }, func(j *plan.Join) { j.Right = nil }} {
		broken := join(false)
		side(broken.Join)
		_, err = SubstraitJSON(broken, nil, people)
		require.ErrorContains(t, err, "missing")
	}
}

func TestExportedTextFunctionsAreSubstraits(t *testing.T) {
	text := func(name string) *plan.Call {
		c := &plan.ColumnRef{Of: plan.T(plan.Varchar)}
		return &plan.Call{Name: name, Args: []plan.Expr{c, &plan.Constant{Value: "a%", Of: plan.T(plan.Varchar)}}, Of: plan.T(plan.Boolean)}
	}
	for duckdb, standard := range map[string]string{
		"~~": "like:str_str", "prefix": "starts_with:str_str", "suffix": "ends_with:str_str", "contains": "contains:str_str",
	} {
		p := exportedPlan(t, &plan.Filter{Input: peopleScan(7), Cond: text(duckdb)})
		require.Equal(t, standard, functionName(p, rootOf(t, p).GetFilter().GetCondition()))
	}
	p := exportedPlan(t, &plan.Filter{Input: peopleScan(7), Cond: text("!~~")})
	not := rootOf(t, p).GetFilter().GetCondition()
	require.Equal(t, "not:bool", functionName(p, not))
	require.Equal(t, "like:str_str", functionName(p, not.GetScalarFunction().GetArguments()[0].GetValue()))

	lists := &plan.Call{Name: "contains", Args: []plan.Expr{&plan.ColumnRef{Of: big1}, num(1)}, Of: plan.T(plan.Boolean)}
	p = exportedPlan(t, &plan.Filter{Input: peopleScan(1), Cond: lists})
	require.Equal(t, "contains", functionName(p, rootOf(t, p).GetFilter().GetCondition()), "of other types it is DuckDB's")
	_, functions := substrait(t, &plan.Filter{Input: &plan.Values{Out: plan.Schema{{Name: "s", Type: plan.T(plan.Varchar)}}}, Cond: text("prefix")})
	require.Equal(t, []string{"duckdb prefix"}, functions, "executors get DuckDB's name")
}

func TestExportedRowsSayWhichColumnsAreFilled(t *testing.T) {
	v := &plan.Values{
		Rows: [][]plan.Expr{{num(1), num(2), num(3)}, {num(4), &plan.Constant{Of: big1}, &plan.Cast{Arg: num(5), To: big1}}},
		Out:  plan.Schema{{Name: "a", Type: big1, Nullable: true}, {Name: "b", Type: big1}, {Name: "c", Type: big1}},
	}
	p := exportedPlan(t, v)
	var nullable []bool
	for _, of := range rootOf(t, p).GetRead().GetBaseSchema().GetStruct().GetTypes() {
		nullable = append(nullable, of.GetI64().GetNullability() == pb.Type_NULLABILITY_NULLABLE)
	}
	require.Equal(t, []bool{false, true, true}, nullable)
	require.True(t, v.Out[0].Nullable, "the plan stays as it is")

	v.Rows = append(v.Rows, nil)
	_, err := SubstraitJSON(v, nil, people)
	require.ErrorContains(t, err, "row 2 has 0 values")
}

func TestExportErrorsSayWhatIsWrong(t *testing.T) {
	_, err := SubstraitJSON(peopleScan(1), nil, func(key string) (ExportedTable, error) {
		return ExportedTable{}, errors.New("no table " + key)
	})
	require.ErrorContains(t, err, "write plan as Substrait: no table p")

	unknown := peopleScan(1)
	unknown.Columns[0].FieldID = 99
	_, err = SubstraitJSON(unknown, nil, people)
	require.ErrorContains(t, err, "table p has no column 99")

	filtered := peopleScan(1)
	filtered.Filter = less(&plan.Cast{Arg: num(1)}, num(1))
	_, err = SubstraitJSON(filtered, nil, people)
	require.ErrorContains(t, err, "filter")

	_, err = SubstraitJSON(peopleScan(1), nil, func(string) (ExportedTable, error) {
		return ExportedTable{Columns: []plan.ScanColumn{{FieldID: 1, Name: "id"}}}, nil
	})
	require.ErrorContains(t, err, "INVALID")

	_, err = SubstraitJSON(&plan.CTE{Def: &plan.Filter{}, Body: peopleScan(1)}, nil, people)
	require.ErrorContains(t, err, "missing")

	_, err = SubstraitJSON(peopleScan(1), []string{"\xff"}, people)
	require.ErrorContains(t, err, "UTF-8")
}
