package samples

import (
	"fmt"
	"math"
	"math/big"

	"github.com/seracdb/serac/plan"
)

// Sample is a valid plan in which every exported field of one node, or of one expression, is set.
type Sample struct {
	Name string
	Node plan.Node
}

// BigInt is the type of the samples' columns.
var BigInt = plan.T(plan.BigInt)

// Columns are n BIGINT columns.
func Columns(n int) plan.Schema {
	s := make(plan.Schema, n)
	for i := range s {
		s[i] = plan.Column{Name: fmt.Sprintf("k%d", i), Type: BigInt, Nullable: i%2 == 0}
	}
	return s
}

// Leaf is a leaf of three BIGINT columns.
func Leaf(id int) plan.Node {
	return &plan.ShuffleRead{Leaf: plan.LeafID(id), Stage: 3, Broadcast: true, Out: Columns(3), EstimatedRows: -1, EstimatedBytes: 10}
}

// Col is a reference to a BIGINT column.
func Col(i int) plan.Expr { return &plan.ColumnRef{Index: i, Of: BigInt} }

// Num is a BIGINT constant.
func Num(i int64) plan.Expr { return &plan.Constant{Value: i, Of: BigInt} }

func param(i int64) *plan.Constant { return &plan.Constant{Value: i, Of: BigInt} }

// Less is a < b.
func Less(a, b plan.Expr) plan.Expr { return &plan.Comparison{Op: plan.Less, Left: a, Right: b} }

// Keys are two sort keys over Leaf.
func Keys() []plan.SortKey {
	return []plan.SortKey{{Expr: Col(1), Descending: true, NullsFirst: true}, {Expr: Col(0)}}
}

func seed(i int64) *int64 { return &i }

// Nodes has at least one for each node and each expression.
func Nodes() []Sample {
	join := func() *plan.Join {
		return &plan.Join{
			Kind: plan.Left, Left: Leaf(1), Right: Leaf(2),
			Conds: []plan.JoinCond{
				{Op: plan.Equal, Left: Col(0), Right: Col(1)}, {Op: plan.NotDistinctFrom, Left: Col(1), Right: Col(2)},
			},
			Residual: Less(Col(2), Col(5)),
		}
	}
	with := func(change func(*plan.Join)) *plan.Join {
		j := join()
		change(j)
		return j
	}
	nodes := []Sample{
		{"IcebergScan", &plan.IcebergScan{
			Leaf: 7, TableKey: "t", SnapshotID: 1 << 60,
			Columns: []plan.ScanColumn{
				{FieldID: 1, Name: "a", Type: BigInt, Nullable: true}, {FieldID: 5, Name: "b", Type: BigInt, Nullable: true},
			},
			AsOf: true, Filter: Less(Col(0), Col(1)), EstimatedRows: 1000, EstimatedBytes: 1 << 40,
		}},
		{"MetadataScan", &plan.MetadataScan{
			Leaf: 8, TableKey: "t", Kind: "files", SnapshotID: -5, Columns: []plan.ScanColumn{
				{FieldID: 100, Name: "file_path", Type: BigInt}, {FieldID: 102, Name: "partition", Type: BigInt, Nullable: true},
			}, EstimatedRows: -1,
		}},
		{"Values", &plan.Values{Leaf: 4, Rows: [][]plan.Expr{{Num(1), Num(2), Num(3)}, {Num(4), Num(5), Num(6)}}, Out: Columns(3)}},
		{"Values/empty", &plan.Values{Leaf: 1, Out: Columns(2)}},
		{"Values/dummy", &plan.Values{Rows: [][]plan.Expr{nil}}},
		{"ShuffleRead", Leaf(9)},
		{"DelimGet", &plan.DelimGet{Out: Columns(2)}},
		{"CTERef", &plan.CTERef{Index: 12, Recurring: true, Out: Columns(2)}},
		{"Filter", &plan.Filter{Input: Leaf(1), Cond: Less(Col(0), Num(5))}},
		{"Project", &plan.Project{Input: Leaf(1), Exprs: []plan.Expr{Col(2), Num(1), Col(0)}, Names: []string{"x", "", "z"}}},
		{"Project/nothing", &plan.Project{Input: Leaf(1)}},
		{"Project/names", &plan.Project{Input: Leaf(1), Exprs: []plan.Expr{Col(2), Col(0)}, Names: []string{"x"}}},
		{"Aggregate", &plan.Aggregate{
			Input: Leaf(1), Groups: []plan.Expr{Col(0), Col(1), Col(2)}, Sets: [][]int{{0, 1}, {1, 2}},
			Calls: []plan.AggregateCall{{
				Name: "quantile_cont", Args: []plan.Expr{Col(0), Col(1)}, Params: []*plan.Constant{param(1), param(2)}, Distinct: true,
				Filter: Less(Col(1), Num(3)), OrderBy: Keys(), Of: plan.T(plan.Double),
			}},
			Groupings: [][]int{{1}, {0, 1}},
		}},
		{"Aggregate/plain", &plan.Aggregate{Input: Leaf(1), Groups: []plan.Expr{Col(2)}, Calls: standardAggregates()}},
		{"Aggregate/global", &plan.Aggregate{Input: Leaf(1), Calls: standardAggregates()}},
		{"Aggregate/one set", &plan.Aggregate{Input: Leaf(1), Groups: []plan.Expr{Col(2), Col(0)}, Sets: [][]int{{1}}}},
		{"Aggregate/one full set", &plan.Aggregate{Input: Leaf(1), Groups: []plan.Expr{Col(2), Col(0)}, Sets: [][]int{{0, 1}}}},
		{"Aggregate/cube", &plan.Aggregate{Input: Leaf(1), Groups: []plan.Expr{Col(2), Col(0)}, Sets: [][]int{{0, 1}, {0}, {1}, nil}}},
		{"Aggregate/groupings", &plan.Aggregate{Input: Leaf(1), Groups: []plan.Expr{Col(2)}, Groupings: [][]int{{0}}}},
		{"Distinct", &plan.Distinct{Input: Leaf(1), On: []plan.Expr{Col(0), Col(1)}, OrderBy: Keys()}},
		{"Distinct/rows", &plan.Distinct{Input: Leaf(1)}},
		{"Distinct/no columns", &plan.Distinct{Input: &plan.Values{}}},
		{"Distinct/groups alike", &plan.Aggregate{Input: Leaf(1), Groups: []plan.Expr{Col(0), Col(1), Col(2)}}},
		{"Window", &plan.Window{Input: Leaf(1), Calls: []plan.WindowCall{{
			Name: "nth_value", Args: []plan.Expr{Col(0), Col(1)}, Params: []*plan.Constant{param(2)}, Distinct: true,
			Filter: Less(Col(0), Num(1)), IgnoreNulls: true, ArgOrder: Keys(), PartitionBy: []plan.Expr{Col(2), Col(1)},
			OrderBy: Keys(),
			Frame: plan.Frame{
				Mode: plan.Groups, Start: plan.FrameBound{Kind: plan.Preceding, Offset: Num(3)},
				End: plan.FrameBound{Kind: plan.Following, Offset: Num(4)}, Exclude: plan.ExcludeTies,
			},
			Of: BigInt,
		}}}},
		{"Window/no frame", &plan.Window{Input: Leaf(1), Calls: []plan.WindowCall{{Name: "row_number", Of: BigInt}}}},
		{"Unnest", &plan.Unnest{
			Input: Leaf(1), Exprs: []plan.Expr{Col(0), Col(1)}, Types: []plan.Type{BigInt, plan.T(plan.Varchar)}, Names: []string{"a", "b"},
		}},
		{"Sort", &plan.Sort{Input: Leaf(1), Keys: Keys()}},
		{"Limit", &plan.Limit{Input: Leaf(1), Keys: Keys(), Count: Num(10), Offset: Num(5)}},
		{"Limit/offset", &plan.Limit{Input: Leaf(1), Offset: Num(5)}},
		{"Limit/percent", &plan.Limit{Input: Leaf(1), Keys: Keys(), Count: Num(10), Offset: Num(5), Percent: true}},
		{"Limit/computed", &plan.Limit{Input: Leaf(1), Keys: Keys(), Count: Col(1), Offset: Num(2)}},
		{"Limit/over a sort", &plan.Limit{Input: &plan.Sort{Input: Leaf(1), Keys: Keys()}, Count: Num(10)}},
		{"Limit/top of a sort", &plan.Limit{Input: &plan.Sort{Input: Leaf(1), Keys: Keys()}, Keys: Keys(), Count: Num(10)}},
		{"Sample", &plan.Sample{Input: Leaf(1), Method: "reservoir", Size: Num(10), Percentage: true, Seed: seed(42)}},
		{"Sample/no seed", &plan.Sample{Input: Leaf(1), Method: "system", Size: Num(10)}},
		{"TableFunction", &plan.TableFunction{
			Leaf: 3, Name: "range", Args: []plan.Expr{Num(1), Num(2)},
			NamedArgs: []plan.NamedArg{{Name: "step", Value: Num(3)}, {Name: "to", Value: Num(9)}},
			Input:     Leaf(1), InputArgs: 2, Kept: []int{0, 1}, Out: Columns(3),
		}},
		{"TableFunction/leaf", &plan.TableFunction{Leaf: 3, Name: "range", Args: []plan.Expr{Num(1)}, Out: Columns(1)}},
		{"Join", join()},
		{"Join/residual alone", with(func(j *plan.Join) { j.Conds = nil })},
		{"Join/residual is a conjunction", with(func(j *plan.Join) {
			j.Conds, j.Residual = nil, &plan.Conjunction{Args: []plan.Expr{Less(Col(0), Col(4)), Less(Col(1), Col(5))}}
		})},
		{"Join/conjunction after a condition", with(func(j *plan.Join) {
			j.Conds, j.Residual = j.Conds[:1], &plan.Conjunction{Args: []plan.Expr{Less(Col(0), Col(4)), Less(Col(1), Col(5))}}
		})},
		{"Join/one condition", with(func(j *plan.Join) { j.Conds, j.Residual = j.Conds[:1], nil })},
		{"Join/no condition", with(func(j *plan.Join) { j.Conds, j.Residual = nil, nil })},
		{"Join/cross", &plan.Join{Kind: plan.Inner, Left: Leaf(1), Right: Leaf(2)}},
		{"Join/asof", with(func(j *plan.Join) { j.AsOf = true })},
		{"Join/positional", with(func(j *plan.Join) { j.Positional, j.Conds, j.Residual = true, nil, nil })},
		{"DelimJoin", &plan.DelimJoin{Join: join(), Keys: []int{0, 1}, Flipped: true, Lateral: true}},
		{"SetOp", &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{Leaf(1), Leaf(2), Leaf(3)}}},
		{"CTE", &plan.CTE{Index: 5, Name: "w", Def: Leaf(1), Body: Leaf(2)}},
		{"RecursiveCTE", &plan.RecursiveCTE{
			Index: 5, Name: "w", Initial: Leaf(1), Recursive: Leaf(2), UnionAll: true, Keys: []int{0, 1}, Out: Columns(3),
		}},
		{"ShuffleWrite", &plan.ShuffleWrite{Input: Leaf(1), Keys: []plan.Expr{Col(0), Col(1)}, Partitions: 7}},
		{"ShuffleWrite by a partition", &plan.ShuffleWrite{Input: Leaf(1), Partition: Col(1), Partitions: 3}},
		{"ShuffleWrite with summaries", &plan.ShuffleWrite{Input: Leaf(1), Partitions: 1, Summarize: []int{1, 0}}},
		{"IcebergWrite", &plan.IcebergWrite{
			Input: Leaf(1), TableKey: "t",
			Columns: []plan.ScanColumn{{FieldID: 1, Name: "a", Type: BigInt, Nullable: true}, {FieldID: 2, Name: "b", Type: BigInt}},
			SpecID:  3, Partition: []plan.PartitionField{{SourceID: 1, FieldID: 1000, Name: "a_bucket", Transform: "bucket[16]"}},
			Clustering: []plan.Expr{Col(0), Col(1)},
		}},
		{"IcebergCommit", &plan.IcebergCommit{Input: Leaf(1), TableKey: "t", CommitID: "c-1"}},
		{"WholeStatement", &plan.WholeStatement{
			SQL: "SELECT 1", Scans: []plan.NamedScan{{Name: "s1", Scan: Leaf(1)}, {Name: "s2", Scan: Leaf(2)}}, Out: Columns(2),
		}},
		{"WholeStatement/few rows", &plan.WholeStatement{SQL: "SELECT 1 LIMIT 5", Out: Columns(1), MaxRows: 5}},
		{"WholeStatement/no scan", &plan.WholeStatement{SQL: "SELECT 1", Out: Columns(1)}},
	}
	for kind := plan.Inner; kind <= plan.Single; kind++ {
		nodes = append(nodes, Sample{fmt.Sprintf("Join/kind %d", kind), with(func(j *plan.Join) { j.Kind = kind })},
			Sample{fmt.Sprintf("DelimJoin/kind %d", kind), &plan.DelimJoin{Join: with(func(j *plan.Join) { j.Kind = kind }), Keys: []int{1}}})
	}
	for op := plan.SetUnion; op <= plan.SetIntersect; op++ {
		for _, all := range []bool{false, true} {
			nodes = append(nodes, Sample{fmt.Sprintf("SetOp/%d %v", op, all), &plan.SetOp{Op: op, All: all, Inputs: []plan.Node{Leaf(1), Leaf(2)}}})
		}
	}
	for _, x := range Expressions() {
		nodes = append(nodes, Sample{"expr " + x.Name, &plan.Project{Input: Leaf(1), Exprs: []plan.Expr{x.Expr}}},
			Sample{"expr in a message " + x.Name, &plan.ShuffleWrite{Input: Leaf(1), Keys: []plan.Expr{x.Expr}, Partitions: 1}},
			Sample{"expr right of a join " + x.Name, &plan.Join{Kind: plan.Inner, Left: Leaf(1), Right: Leaf(2),
				Conds: []plan.JoinCond{{Op: plan.Equal, Left: Col(1), Right: x.Expr}}}})
	}
	return nodes
}

func standardAggregates() []plan.AggregateCall {
	double, decimal := plan.T(plan.Double), plan.DecimalType(15, 2)
	return []plan.AggregateCall{
		{Name: "count_star", Of: BigInt},
		{Name: "count", Args: []plan.Expr{Col(0)}, Distinct: true, Of: BigInt},
		{Name: "count", Of: BigInt},
		{Name: "sum", Args: []plan.Expr{Col(0)}, Of: plan.T(plan.HugeInt)},
		{Name: "sum", Args: []plan.Expr{&plan.Cast{Arg: Col(0), To: double}}, Of: double},
		{Name: "sum", Args: []plan.Expr{&plan.Cast{Arg: Col(0), To: decimal}}, Of: plan.DecimalType(38, 2)},
		{Name: "avg", Args: []plan.Expr{&plan.Cast{Arg: Col(0), To: decimal}}, Of: double},
		{Name: "avg", Args: []plan.Expr{&plan.Cast{Arg: Col(0), To: double}}, Of: double, Filter: Less(Col(0), Num(2))},
		{Name: "min", Args: []plan.Expr{Col(0)}, Of: BigInt},
		{Name: "max", Args: []plan.Expr{&plan.Cast{Arg: Col(0), To: decimal}}, Of: decimal},
		{Name: "min", Args: []plan.Expr{Col(0)}, Params: []*plan.Constant{param(2)}, Of: plan.ListType(BigInt)},
		{Name: "string_agg", Params: []*plan.Constant{{Value: ",", Of: plan.T(plan.Varchar)}}, OrderBy: Keys(), Of: plan.T(plan.Varchar)},
	}
}

// Expression is an expression over Leaf in which every exported field is set.
type Expression struct {
	Name string
	Expr plan.Expr
}

// Expressions has at least one for each expression, type and constant.
func Expressions() []Expression {
	boolean, double := plan.T(plan.Boolean), plan.T(plan.Double)
	list := plan.ListType(BigInt)
	out := []Expression{
		{"ColumnRef", Col(1)},
		{"ColumnRef/stale type", &plan.ColumnRef{Index: 1, Of: plan.T(plan.Integer)}},
		{"Constant", Num(-3)},
		{"Cast", &plan.Cast{Arg: Col(0), To: plan.T(plan.Varchar), Try: true}},
		{"Comparison", Less(Col(0), Num(3))},
		{"Conjunction", &plan.Conjunction{Or: true, Args: []plan.Expr{Less(Col(0), Num(3)), Less(Col(1), Num(3)), Less(Col(2), Num(3))}}},
		{"Operator", &plan.Operator{Op: plan.OpIn, Args: []plan.Expr{Col(0), Num(3), Num(4)}, Of: boolean}},
		{"Operator/in of another type", &plan.Operator{Op: plan.OpIn, Args: []plan.Expr{Col(0), Num(3)}, Of: BigInt}},
		{"Operator/coalesce", &plan.Operator{Op: plan.OpCoalesce, Args: []plan.Expr{Col(0), Num(3), Num(4)}, Of: BigInt}},
		{"Between", &plan.Between{Arg: Col(0), Low: Num(1), High: Num(4), LowInclusive: true, HighInclusive: true}},
		{"Between/low", &plan.Between{Arg: Col(0), Low: Num(1), High: Num(4), LowInclusive: true}},
		{"Between/open", &plan.Between{Arg: Col(0), Low: Num(1), High: Num(4)}},
		{"Case", &plan.Case{
			Whens: []plan.When{{Cond: Less(Col(0), Num(3)), Then: Col(1)}, {Cond: Less(Col(1), Num(3)), Then: Num(1)}}, Else: Col(2), Of: BigInt,
		}},
		{"Case/no else", &plan.Case{Whens: []plan.When{{Cond: Less(Col(0), Num(3)), Then: Col(1)}}, Of: double}},
		{"Call", &plan.Call{
			Name: "list_reduce", Args: []plan.Expr{Col(0), Col(1)}, Names: []string{"a", ""}, Params: []*plan.Constant{param(1), param(2)},
			Lambda: &plan.Lambda{Params: 2, Body: Less(&plan.LambdaParam{Depth: 0, Index: 1, Of: BigInt}, &plan.LambdaParam{Depth: 0, Index: 0, Of: double})},
			Of:     list,
		}},
		{"Call/nested lambda", &plan.Call{
			Name: "list_transform", Args: []plan.Expr{Col(0)}, Of: list,
			Lambda: &plan.Lambda{Params: 1, Body: &plan.Call{
				Name: "list_filter", Args: []plan.Expr{&plan.LambdaParam{Of: list}}, Of: list,
				Lambda: &plan.Lambda{Params: 2, Body: Less(&plan.LambdaParam{Depth: 1, Of: BigInt}, &plan.LambdaParam{Depth: 0, Index: 1, Of: BigInt})},
			}},
		}},
		{"LambdaParam", &plan.Call{Name: "f", Lambda: &plan.Lambda{Params: 2, Body: &plan.Call{Name: "g", Of: BigInt,
			Lambda: &plan.Lambda{Params: 2, Body: &plan.LambdaParam{Depth: 1, Index: 1, Of: BigInt}}}}, Of: BigInt}},
		{"Call/none", &plan.Call{Name: "random", Of: double}},
		{"Call/odd name", &plan.Call{Name: "a:b_c", Args: []plan.Expr{Col(0)}, Of: double}},
		{"Call/params alone", &plan.Call{Name: "f", Params: []*plan.Constant{param(1)}, Of: double}},
		{"Call/like a comparison", &plan.Call{Name: "equal", Args: []plan.Expr{Col(0), Col(1)}, Of: boolean}},
		{"Call/like ours", &plan.Call{Name: "declared", Args: []plan.Expr{Col(0)}, Of: double}},
		{"Call/add", &plan.Call{Name: "+", Args: []plan.Expr{Col(0), Num(1)}, Of: BigInt}},
		{"Call/add with a name", &plan.Call{Name: "+", Args: []plan.Expr{Col(0), Num(1)}, Names: []string{"", "x"}, Of: BigInt}},
		{"Call/add of other types", &plan.Call{Name: "+", Args: []plan.Expr{Col(0), Num(1)}, Of: double}},
		{"Call/add one", &plan.Call{Name: "+", Args: []plan.Expr{Col(0)}, Of: BigInt}},
	}
	for op := plan.OpNot; op <= plan.OpTry; op++ {
		out = append(out, Expression{fmt.Sprintf("Operator/%d", op), &plan.Operator{Op: op, Args: []plan.Expr{Col(0)}, Of: boolean}})
	}
	for op := plan.Equal; op <= plan.NotDistinctFrom; op++ {
		out = append(out, Expression{fmt.Sprintf("Comparison/%d", op), &plan.Comparison{Op: op, Left: Col(0), Right: Num(1)}})
	}
	for _, name := range []string{"+", "-", "*", "lower", "upper"} {
		for _, t := range []plan.Type{BigInt, plan.T(plan.TinyInt), double, plan.T(plan.Float), plan.DecimalType(10, 2), plan.T(plan.Varchar)} {
			arg := &plan.Cast{Arg: Col(0), To: t}
			for _, of := range []plan.Type{t, plan.DecimalType(11, 2), plan.DecimalType(21, 4)} {
				out = append(out, Expression{fmt.Sprintf("Call/%s %s %s", name, t, of), &plan.Call{Name: name, Args: []plan.Expr{arg, arg}, Of: of}},
					Expression{fmt.Sprintf("Call/%s one %s %s", name, t, of), &plan.Call{Name: name, Args: []plan.Expr{arg}, Of: of}})
			}
		}
	}
	for i, c := range Constants() {
		out = append(out, Expression{fmt.Sprintf("Constant/%d %s", i, c.Of), c})
	}
	for _, t := range Types() {
		out = append(out, Expression{"type " + t.String(), &plan.Cast{Arg: Col(0), To: t}}, Expression{"null " + t.String(), &plan.Constant{Of: t}})
	}
	return out
}

// Types has every kind, and every parameter.
func Types() []plan.Type {
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
		{Kind: plan.Array, Elem: &BigInt, Size: math.MaxUint32}, {Kind: plan.Array, Elem: &varchar, Size: 3},
		{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: BigInt}, {Name: "b", Type: plan.ListType(varchar)}}},
		{Kind: plan.Struct, Fields: []plan.Field{{Type: BigInt}, {Type: varchar}}},
		{Kind: plan.Map, Key: &varchar, Elem: &BigInt},
		{Kind: plan.Union, Fields: []plan.Field{{Name: "n", Type: BigInt}, {Name: "s", Type: varchar}}},
		{Kind: plan.Varchar, Alias: "JSON"},
		{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: BigInt}}, Alias: "POINT"},
		plan.ListType(plan.Type{Kind: plan.Varchar, Alias: "JSON"}),
	}
	return append(out, nested...)
}

// Constants has values of every kind, at their limits.
func Constants() []*plan.Constant {
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
	add(BigInt, int64(math.MinInt64), int64(0), int64(math.MaxInt64))
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
	add(plan.ListType(plan.ListType(BigInt)), []any{[]any{}, []any{int64(1)}, nil})
	add(plan.Type{Kind: plan.Array, Elem: &BigInt, Size: 2}, []any{int64(1), nil})
	row := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: BigInt}, {Name: "b", Type: plan.ListType(varchar)}}}
	add(row, []any{int64(1), []any{"x"}}, []any{nil, nil})
	add(plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Type: BigInt}}}, []any{int64(1)})
	add(plan.Type{Kind: plan.Struct}, []any{})
	add(plan.Type{Kind: plan.Map, Key: &varchar, Elem: &row}, []plan.MapEntry{},
		[]plan.MapEntry{{Key: "k", Value: []any{int64(1), []any{}}}, {Key: "l", Value: nil}})
	add(plan.Type{Kind: plan.Varchar, Alias: "JSON"}, `{"a": 1}`)
	add(plan.ListType(plan.T(plan.Float)), []any{0.1, 0.5})
	return out
}
