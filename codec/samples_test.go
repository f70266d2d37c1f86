package codec

import (
	"fmt"
	"math"
	"math/big"

	"github.com/seracdb/serac/plan"
)

// sample is a valid plan in which every exported field of one node, or of one expression, is set.
type sample struct {
	name string
	node plan.Node
}

var big1 = plan.T(plan.BigInt)

// columns are n BIGINT columns.
func columns(n int) plan.Schema {
	s := make(plan.Schema, n)
	for i := range s {
		s[i] = plan.Column{Name: fmt.Sprintf("k%d", i), Type: big1, Nullable: i%2 == 0}
	}
	return s
}

// leaf is a leaf of three BIGINT columns.
func leaf(id int) plan.Node {
	return &plan.ShuffleRead{Leaf: plan.LeafID(id), Stage: 3, Broadcast: true, Out: columns(3), EstimatedRows: -1, EstimatedBytes: 10}
}

func col(i int) plan.Expr { return &plan.ColumnRef{Index: i, Of: big1} }

func num(i int64) plan.Expr { return &plan.Constant{Value: i, Of: big1} }

func param(i int64) *plan.Constant { return &plan.Constant{Value: i, Of: big1} }

func less(a, b plan.Expr) plan.Expr { return &plan.Comparison{Op: plan.Less, Left: a, Right: b} }

func keys() []plan.SortKey {
	return []plan.SortKey{{Expr: col(1), Descending: true, NullsFirst: true}, {Expr: col(0)}}
}

func seed(i int64) *int64 { return &i }

// samples has at least one for each node and each expression.
func samples() []sample {
	join := func() *plan.Join {
		return &plan.Join{
			Kind: plan.Left, Left: leaf(1), Right: leaf(2),
			Conds: []plan.JoinCond{
				{Op: plan.Equal, Left: col(0), Right: col(1)}, {Op: plan.NotDistinctFrom, Left: col(1), Right: col(2)},
			},
			Residual: less(col(2), col(5)),
		}
	}
	with := func(change func(*plan.Join)) *plan.Join {
		j := join()
		change(j)
		return j
	}
	nodes := []sample{
		{"IcebergScan", &plan.IcebergScan{
			Leaf: 7, TableKey: "t", SnapshotID: 1 << 60,
			Columns: []plan.ScanColumn{
				{FieldID: 1, Name: "a", Type: big1, Nullable: true}, {FieldID: 5, Name: "b", Type: big1, Nullable: true},
			},
			Filter: less(col(0), col(1)), EstimatedRows: 1000, EstimatedBytes: 1 << 40,
		}},
		{"Values", &plan.Values{Leaf: 4, Rows: [][]plan.Expr{{num(1), num(2), num(3)}, {num(4), num(5), num(6)}}, Out: columns(3)}},
		{"Values/empty", &plan.Values{Leaf: 1, Out: columns(2)}},
		{"Values/dummy", &plan.Values{Rows: [][]plan.Expr{nil}}},
		{"ShuffleRead", leaf(9)},
		{"DelimGet", &plan.DelimGet{Out: columns(2)}},
		{"CTERef", &plan.CTERef{Index: 12, Recurring: true, Out: columns(2)}},
		{"Filter", &plan.Filter{Input: leaf(1), Cond: less(col(0), num(5))}},
		{"Project", &plan.Project{Input: leaf(1), Exprs: []plan.Expr{col(2), num(1), col(0)}, Names: []string{"x", "", "z"}}},
		{"Project/nothing", &plan.Project{Input: leaf(1)}},
		{"Project/names", &plan.Project{Input: leaf(1), Exprs: []plan.Expr{col(2), col(0)}, Names: []string{"x"}}},
		{"Aggregate", &plan.Aggregate{
			Input: leaf(1), Groups: []plan.Expr{col(0), col(1), col(2)}, Sets: [][]int{{0, 1}, {1, 2}},
			Calls: []plan.AggregateCall{{
				Name: "quantile_cont", Args: []plan.Expr{col(0), col(1)}, Params: []*plan.Constant{param(1), param(2)}, Distinct: true,
				Filter: less(col(1), num(3)), OrderBy: keys(), Of: plan.T(plan.Double),
			}},
			Groupings: [][]int{{1}, {0, 1}},
		}},
		{"Aggregate/plain", &plan.Aggregate{Input: leaf(1), Groups: []plan.Expr{col(2)}, Calls: standardAggregates()}},
		{"Aggregate/global", &plan.Aggregate{Input: leaf(1), Calls: standardAggregates()}},
		{"Aggregate/one set", &plan.Aggregate{Input: leaf(1), Groups: []plan.Expr{col(2), col(0)}, Sets: [][]int{{1}}}},
		{"Aggregate/one full set", &plan.Aggregate{Input: leaf(1), Groups: []plan.Expr{col(2), col(0)}, Sets: [][]int{{0, 1}}}},
		{"Aggregate/cube", &plan.Aggregate{Input: leaf(1), Groups: []plan.Expr{col(2), col(0)}, Sets: [][]int{{0, 1}, {0}, {1}, nil}}},
		{"Aggregate/groupings", &plan.Aggregate{Input: leaf(1), Groups: []plan.Expr{col(2)}, Groupings: [][]int{{0}}}},
		{"Distinct", &plan.Distinct{Input: leaf(1), On: []plan.Expr{col(0), col(1)}, OrderBy: keys()}},
		{"Distinct/rows", &plan.Distinct{Input: leaf(1)}},
		{"Distinct/no columns", &plan.Distinct{Input: &plan.Values{}}},
		{"Distinct/groups alike", &plan.Aggregate{Input: leaf(1), Groups: []plan.Expr{col(0), col(1), col(2)}}},
		{"Window", &plan.Window{Input: leaf(1), Calls: []plan.WindowCall{{
			Name: "nth_value", Args: []plan.Expr{col(0), col(1)}, Params: []*plan.Constant{param(2)}, Distinct: true,
			Filter: less(col(0), num(1)), IgnoreNulls: true, ArgOrder: keys(), PartitionBy: []plan.Expr{col(2), col(1)},
			OrderBy: keys(),
			Frame: plan.Frame{
				Mode: plan.Groups, Start: plan.FrameBound{Kind: plan.Preceding, Offset: num(3)},
				End: plan.FrameBound{Kind: plan.Following, Offset: num(4)}, Exclude: plan.ExcludeTies,
			},
			Of: big1,
		}}}},
		{"Window/no frame", &plan.Window{Input: leaf(1), Calls: []plan.WindowCall{{Name: "row_number", Of: big1}}}},
		{"Unnest", &plan.Unnest{
			Input: leaf(1), Exprs: []plan.Expr{col(0), col(1)}, Types: []plan.Type{big1, plan.T(plan.Varchar)}, Names: []string{"a", "b"},
		}},
		{"Sort", &plan.Sort{Input: leaf(1), Keys: keys()}},
		{"Limit", &plan.Limit{Input: leaf(1), Keys: keys(), Count: num(10), Offset: num(5)}},
		{"Limit/offset", &plan.Limit{Input: leaf(1), Offset: num(5)}},
		{"Limit/percent", &plan.Limit{Input: leaf(1), Keys: keys(), Count: num(10), Offset: num(5), Percent: true}},
		{"Limit/computed", &plan.Limit{Input: leaf(1), Keys: keys(), Count: col(1), Offset: num(2)}},
		{"Limit/over a sort", &plan.Limit{Input: &plan.Sort{Input: leaf(1), Keys: keys()}, Count: num(10)}},
		{"Limit/top of a sort", &plan.Limit{Input: &plan.Sort{Input: leaf(1), Keys: keys()}, Keys: keys(), Count: num(10)}},
		{"Sample", &plan.Sample{Input: leaf(1), Method: "reservoir", Size: num(10), Percentage: true, Seed: seed(42)}},
		{"Sample/no seed", &plan.Sample{Input: leaf(1), Method: "system", Size: num(10)}},
		{"TableFunction", &plan.TableFunction{
			Leaf: 3, Name: "range", Args: []plan.Expr{num(1), num(2)},
			NamedArgs: []plan.NamedArg{{Name: "step", Value: num(3)}, {Name: "to", Value: num(9)}},
			Input:     leaf(1), InputArgs: 2, Kept: []int{0, 1}, Out: columns(3),
		}},
		{"TableFunction/leaf", &plan.TableFunction{Leaf: 3, Name: "range", Args: []plan.Expr{num(1)}, Out: columns(1)}},
		{"Join", join()},
		{"Join/residual alone", with(func(j *plan.Join) { j.Conds = nil })},
		{"Join/residual is a conjunction", with(func(j *plan.Join) {
			j.Conds, j.Residual = nil, &plan.Conjunction{Args: []plan.Expr{less(col(0), col(4)), less(col(1), col(5))}}
		})},
		{"Join/conjunction after a condition", with(func(j *plan.Join) {
			j.Conds, j.Residual = j.Conds[:1], &plan.Conjunction{Args: []plan.Expr{less(col(0), col(4)), less(col(1), col(5))}}
		})},
		{"Join/one condition", with(func(j *plan.Join) { j.Conds, j.Residual = j.Conds[:1], nil })},
		{"Join/no condition", with(func(j *plan.Join) { j.Conds, j.Residual = nil, nil })},
		{"Join/cross", &plan.Join{Kind: plan.Inner, Left: leaf(1), Right: leaf(2)}},
		{"Join/asof", with(func(j *plan.Join) { j.AsOf = true })},
		{"Join/positional", with(func(j *plan.Join) { j.Positional, j.Conds, j.Residual = true, nil, nil })},
		{"DelimJoin", &plan.DelimJoin{Join: join(), Keys: []int{0, 1}, Flipped: true, Lateral: true}},
		{"SetOp", &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{leaf(1), leaf(2), leaf(3)}}},
		{"CTE", &plan.CTE{Index: 5, Name: "w", Def: leaf(1), Body: leaf(2)}},
		{"RecursiveCTE", &plan.RecursiveCTE{
			Index: 5, Name: "w", Initial: leaf(1), Recursive: leaf(2), UnionAll: true, Keys: []int{0, 1}, Out: columns(3),
		}},
		{"ShuffleWrite", &plan.ShuffleWrite{Input: leaf(1), Keys: []plan.Expr{col(0), col(1)}, Partitions: 7}},
		{"ShuffleWrite with summaries", &plan.ShuffleWrite{Input: leaf(1), Partitions: 1, Summarize: []int{1, 0}}},
		{"IcebergWrite", &plan.IcebergWrite{
			Input: leaf(1), TableKey: "t",
			Columns: []plan.ScanColumn{{FieldID: 1, Name: "a", Type: big1, Nullable: true}, {FieldID: 2, Name: "b", Type: big1}},
			SpecID:  3, Partition: []plan.PartitionField{{SourceID: 1, FieldID: 1000, Name: "a_bucket", Transform: "bucket[16]"}},
			Clustering: []plan.Expr{col(0), col(1)},
		}},
		{"IcebergCommit", &plan.IcebergCommit{Input: leaf(1), TableKey: "t", CommitID: "c-1"}},
		{"WholeStatement", &plan.WholeStatement{
			SQL: "SELECT 1", Scans: []plan.NamedScan{{Name: "s1", Scan: leaf(1)}, {Name: "s2", Scan: leaf(2)}}, Out: columns(2),
		}},
		{"WholeStatement/no scan", &plan.WholeStatement{SQL: "SELECT 1", Out: columns(1)}},
	}
	for kind := plan.Inner; kind <= plan.Single; kind++ {
		nodes = append(nodes, sample{fmt.Sprintf("Join/kind %d", kind), with(func(j *plan.Join) { j.Kind = kind })},
			sample{fmt.Sprintf("DelimJoin/kind %d", kind), &plan.DelimJoin{Join: with(func(j *plan.Join) { j.Kind = kind }), Keys: []int{1}}})
	}
	for op := plan.SetUnion; op <= plan.SetIntersect; op++ {
		for _, all := range []bool{false, true} {
			nodes = append(nodes, sample{fmt.Sprintf("SetOp/%d %v", op, all), &plan.SetOp{Op: op, All: all, Inputs: []plan.Node{leaf(1), leaf(2)}}})
		}
	}
	for _, x := range exprSamples() {
		nodes = append(nodes, sample{"expr " + x.name, &plan.Project{Input: leaf(1), Exprs: []plan.Expr{x.expr}}},
			sample{"expr in a message " + x.name, &plan.ShuffleWrite{Input: leaf(1), Keys: []plan.Expr{x.expr}, Partitions: 1}},
			sample{"expr right of a join " + x.name, &plan.Join{Kind: plan.Inner, Left: leaf(1), Right: leaf(2),
				Conds: []plan.JoinCond{{Op: plan.Equal, Left: col(1), Right: x.expr}}}})
	}
	return nodes
}

func standardAggregates() []plan.AggregateCall {
	double, decimal := plan.T(plan.Double), plan.DecimalType(15, 2)
	return []plan.AggregateCall{
		{Name: "count_star", Of: big1},
		{Name: "count", Args: []plan.Expr{col(0)}, Distinct: true, Of: big1},
		{Name: "count", Of: big1},
		{Name: "sum", Args: []plan.Expr{col(0)}, Of: plan.T(plan.HugeInt)},
		{Name: "sum", Args: []plan.Expr{&plan.Cast{Arg: col(0), To: double}}, Of: double},
		{Name: "sum", Args: []plan.Expr{&plan.Cast{Arg: col(0), To: decimal}}, Of: plan.DecimalType(38, 2)},
		{Name: "avg", Args: []plan.Expr{&plan.Cast{Arg: col(0), To: decimal}}, Of: double},
		{Name: "avg", Args: []plan.Expr{&plan.Cast{Arg: col(0), To: double}}, Of: double, Filter: less(col(0), num(2))},
		{Name: "min", Args: []plan.Expr{col(0)}, Of: big1},
		{Name: "max", Args: []plan.Expr{&plan.Cast{Arg: col(0), To: decimal}}, Of: decimal},
		{Name: "min", Args: []plan.Expr{col(0)}, Params: []*plan.Constant{param(2)}, Of: plan.ListType(big1)},
		{Name: "string_agg", Params: []*plan.Constant{{Value: ",", Of: plan.T(plan.Varchar)}}, OrderBy: keys(), Of: plan.T(plan.Varchar)},
	}
}

type exprSample struct {
	name string
	expr plan.Expr
}

func exprSamples() []exprSample {
	boolean, double := plan.T(plan.Boolean), plan.T(plan.Double)
	list := plan.ListType(big1)
	out := []exprSample{
		{"ColumnRef", col(1)},
		{"ColumnRef/stale type", &plan.ColumnRef{Index: 1, Of: plan.T(plan.Integer)}},
		{"Constant", num(-3)},
		{"Cast", &plan.Cast{Arg: col(0), To: plan.T(plan.Varchar), Try: true}},
		{"Comparison", less(col(0), num(3))},
		{"Conjunction", &plan.Conjunction{Or: true, Args: []plan.Expr{less(col(0), num(3)), less(col(1), num(3)), less(col(2), num(3))}}},
		{"Operator", &plan.Operator{Op: plan.OpIn, Args: []plan.Expr{col(0), num(3), num(4)}, Of: boolean}},
		{"Operator/in of another type", &plan.Operator{Op: plan.OpIn, Args: []plan.Expr{col(0), num(3)}, Of: big1}},
		{"Operator/coalesce", &plan.Operator{Op: plan.OpCoalesce, Args: []plan.Expr{col(0), num(3), num(4)}, Of: big1}},
		{"Between", &plan.Between{Arg: col(0), Low: num(1), High: num(4), LowInclusive: true, HighInclusive: true}},
		{"Between/low", &plan.Between{Arg: col(0), Low: num(1), High: num(4), LowInclusive: true}},
		{"Between/open", &plan.Between{Arg: col(0), Low: num(1), High: num(4)}},
		{"Case", &plan.Case{
			Whens: []plan.When{{Cond: less(col(0), num(3)), Then: col(1)}, {Cond: less(col(1), num(3)), Then: num(1)}}, Else: col(2), Of: big1,
		}},
		{"Case/no else", &plan.Case{Whens: []plan.When{{Cond: less(col(0), num(3)), Then: col(1)}}, Of: double}},
		{"Call", &plan.Call{
			Name: "list_reduce", Args: []plan.Expr{col(0), col(1)}, Names: []string{"a", ""}, Params: []*plan.Constant{param(1), param(2)},
			Lambda: &plan.Lambda{Params: 2, Body: less(&plan.LambdaParam{Depth: 0, Index: 1, Of: big1}, &plan.LambdaParam{Depth: 0, Index: 0, Of: double})},
			Of:     list,
		}},
		{"Call/nested lambda", &plan.Call{
			Name: "list_transform", Args: []plan.Expr{col(0)}, Of: list,
			Lambda: &plan.Lambda{Params: 1, Body: &plan.Call{
				Name: "list_filter", Args: []plan.Expr{&plan.LambdaParam{Of: list}}, Of: list,
				Lambda: &plan.Lambda{Params: 2, Body: less(&plan.LambdaParam{Depth: 1, Of: big1}, &plan.LambdaParam{Depth: 0, Index: 1, Of: big1})},
			}},
		}},
		{"LambdaParam", &plan.Call{Name: "f", Lambda: &plan.Lambda{Params: 2, Body: &plan.Call{Name: "g", Of: big1,
			Lambda: &plan.Lambda{Params: 2, Body: &plan.LambdaParam{Depth: 1, Index: 1, Of: big1}}}}, Of: big1}},
		{"Call/none", &plan.Call{Name: "random", Of: double}},
		{"Call/odd name", &plan.Call{Name: "a:b_c", Args: []plan.Expr{col(0)}, Of: double}},
		{"Call/params alone", &plan.Call{Name: "f", Params: []*plan.Constant{param(1)}, Of: double}},
		{"Call/like a comparison", &plan.Call{Name: "equal", Args: []plan.Expr{col(0), col(1)}, Of: boolean}},
		{"Call/like ours", &plan.Call{Name: "declared", Args: []plan.Expr{col(0)}, Of: double}},
		{"Call/add", &plan.Call{Name: "+", Args: []plan.Expr{col(0), num(1)}, Of: big1}},
		{"Call/add with a name", &plan.Call{Name: "+", Args: []plan.Expr{col(0), num(1)}, Names: []string{"", "x"}, Of: big1}},
		{"Call/add of other types", &plan.Call{Name: "+", Args: []plan.Expr{col(0), num(1)}, Of: double}},
		{"Call/add one", &plan.Call{Name: "+", Args: []plan.Expr{col(0)}, Of: big1}},
	}
	for op := plan.OpNot; op <= plan.OpTry; op++ {
		out = append(out, exprSample{fmt.Sprintf("Operator/%d", op), &plan.Operator{Op: op, Args: []plan.Expr{col(0)}, Of: boolean}})
	}
	for op := plan.Equal; op <= plan.NotDistinctFrom; op++ {
		out = append(out, exprSample{fmt.Sprintf("Comparison/%d", op), &plan.Comparison{Op: op, Left: col(0), Right: num(1)}})
	}
	for _, name := range []string{"+", "-", "*", "lower", "upper"} {
		for _, t := range []plan.Type{big1, plan.T(plan.TinyInt), double, plan.T(plan.Float), plan.DecimalType(10, 2), plan.T(plan.Varchar)} {
			arg := &plan.Cast{Arg: col(0), To: t}
			for _, of := range []plan.Type{t, plan.DecimalType(11, 2), plan.DecimalType(21, 4)} {
				out = append(out, exprSample{fmt.Sprintf("Call/%s %s %s", name, t, of), &plan.Call{Name: name, Args: []plan.Expr{arg, arg}, Of: of}},
					exprSample{fmt.Sprintf("Call/%s one %s %s", name, t, of), &plan.Call{Name: name, Args: []plan.Expr{arg}, Of: of}})
			}
		}
	}
	for i, c := range constants() {
		out = append(out, exprSample{fmt.Sprintf("Constant/%d %s", i, c.Of), c})
	}
	for _, t := range types() {
		out = append(out, exprSample{"type " + t.String(), &plan.Cast{Arg: col(0), To: t}}, exprSample{"null " + t.String(), &plan.Constant{Of: t}})
	}
	return out
}

// types has every kind, and every parameter.
func types() []plan.Type {
	var out []plan.Type
	varchar := plan.T(plan.Varchar)
	for k := plan.Null; k <= plan.BigNum; k++ {
		switch k {
		case plan.Decimal, plan.Enum, plan.List, plan.Array, plan.Struct, plan.Map, plan.Union:
		default:
			out = append(out, plan.T(k))
		}
	}
	nested := []plan.Type{
		plan.DecimalType(38, 38), plan.DecimalType(1, 0), plan.DecimalType(18, 3),
		{Kind: plan.Enum, Values: []string{"a", "", "it's"}}, {Kind: plan.Enum},
		plan.ListType(plan.ListType(varchar)),
		{Kind: plan.Array, Elem: &big1, Size: math.MaxUint32}, {Kind: plan.Array, Elem: &varchar, Size: 3},
		{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: big1}, {Name: "b", Type: plan.ListType(varchar)}}},
		{Kind: plan.Struct, Fields: []plan.Field{{Type: big1}, {Type: varchar}}},
		{Kind: plan.Map, Key: &varchar, Elem: &big1},
		{Kind: plan.Union, Fields: []plan.Field{{Name: "n", Type: big1}, {Name: "s", Type: varchar}}},
		{Kind: plan.Varchar, Alias: "JSON"},
		{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: big1}}, Alias: "POINT"},
		plan.ListType(plan.Type{Kind: plan.Varchar, Alias: "JSON"}),
	}
	return append(out, nested...)
}

// constants has values of every kind, at their limits.
func constants() []*plan.Constant {
	var out []*plan.Constant
	add := func(t plan.Type, values ...any) {
		for _, v := range values {
			out = append(out, &plan.Constant{Value: v, Of: t})
		}
	}
	power := func(n uint, plus int64) *big.Int {
		return new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), n), big.NewInt(plus))
	}
	minus := func(v *big.Int) *big.Int { return new(big.Int).Neg(v) }
	add(plan.T(plan.Boolean), true, false)
	add(plan.T(plan.TinyInt), int64(math.MinInt8), int64(math.MaxInt8))
	add(plan.T(plan.SmallInt), int64(math.MinInt16), int64(math.MaxInt16))
	add(plan.T(plan.Integer), int64(math.MinInt32), int64(math.MaxInt32))
	add(big1, int64(math.MinInt64), int64(0), int64(math.MaxInt64))
	add(plan.T(plan.UTinyInt), uint64(0), uint64(math.MaxUint8))
	add(plan.T(plan.USmallInt), uint64(math.MaxUint16))
	add(plan.T(plan.UInteger), uint64(math.MaxUint32))
	add(plan.T(plan.UBigInt), uint64(0), uint64(math.MaxUint64))
	add(plan.T(plan.HugeInt), big.NewInt(0), big.NewInt(-1), big.NewInt(127), big.NewInt(128), big.NewInt(-128), big.NewInt(-129),
		big.NewInt(-255), big.NewInt(-256), big.NewInt(math.MaxInt64), power(63, 0), power(64, 0), power(127, -1), minus(power(127, 0)), minus(power(64, 1)))
	add(plan.T(plan.UHugeInt), big.NewInt(0), big.NewInt(255), power(127, 0), power(128, -1))
	add(plan.DecimalType(38, 10), big.NewInt(0), big.NewInt(-1), big.NewInt(12345), minus(power(126, 3)), power(126, 77), big.NewInt(-256))
	add(plan.T(plan.Float), 0.0, math.Copysign(0, -1), 1.5, 0.1, float64(math.MaxFloat32), math.Inf(-1), 1e300)
	add(plan.T(plan.Double), 0.0, math.Copysign(0, -1), 0.1, math.MaxFloat64, math.Inf(1))
	add(plan.T(plan.Varchar), "", "it's", "日本\x00\n")
	add(plan.T(plan.Blob), []byte{}, []byte{0, 255})
	add(plan.T(plan.Bit), "0101", "")
	add(plan.T(plan.UUID), [16]byte{1, 2, 3, 15: 9}, [16]byte{})
	add(plan.T(plan.Date), int64(math.MinInt32), int64(math.MaxInt32), int64(19000))
	for _, k := range []plan.Kind{plan.Time, plan.TimeNS, plan.TimeTZ, plan.Timestamp, plan.TimestampS, plan.TimestampMS, plan.TimestampNS, plan.TimestampTZ} {
		add(plan.T(k), int64(math.MinInt64), int64(0), int64(math.MaxInt64))
	}
	add(plan.T(plan.Interval), plan.IntervalValue{}, plan.IntervalValue{Months: 14, Days: -3, Micros: 3_600_000_001},
		plan.IntervalValue{Months: math.MinInt32, Days: math.MaxInt32, Micros: math.MinInt64},
		plan.IntervalValue{Months: -13, Days: 1, Micros: math.MaxInt64}, plan.IntervalValue{Micros: -1_500_000})
	add(plan.Type{Kind: plan.Enum, Values: []string{"a", "b"}}, "b")
	varchar := plan.T(plan.Varchar)
	add(plan.ListType(varchar), []any{}, []any{"a", nil, ""}, []any{nil})
	add(plan.ListType(plan.ListType(big1)), []any{[]any{}, []any{int64(1)}, nil})
	add(plan.Type{Kind: plan.Array, Elem: &big1, Size: 2}, []any{int64(1), nil})
	row := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: big1}, {Name: "b", Type: plan.ListType(varchar)}}}
	add(row, []any{int64(1), []any{"x"}}, []any{nil, nil})
	add(plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Type: big1}}}, []any{int64(1)})
	add(plan.Type{Kind: plan.Struct}, []any{})
	add(plan.Type{Kind: plan.Map, Key: &varchar, Elem: &row}, []plan.MapEntry{},
		[]plan.MapEntry{{Key: "k", Value: []any{int64(1), []any{}}}, {Key: "l", Value: nil}})
	add(plan.Type{Kind: plan.Varchar, Alias: "JSON"}, `{"a": 1}`)
	add(plan.ListType(plan.T(plan.Float)), []any{0.1, 0.5})
	return out
}
