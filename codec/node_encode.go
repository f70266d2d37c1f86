package codec

import (
	"fmt"
	"math"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// encoder writes one plan.
type encoder struct {
	declarations
	registry *Registry
	depth    depth
	// urls are the type URLs of the messages used.
	urls map[string]bool
	// tables are the keys that the plan's nodes name.
	tables map[string]bool
	// export is set when the plan is for others than executors.
	export *export
}

func newEncoder(r *Registry) *encoder {
	return &encoder{declarations: newDeclarations(), registry: r, urls: map[string]bool{}, tables: map[string]bool{}}
}

// node is a node as a relation, with the node's output columns.
func (e *encoder) node(n plan.Node) (*pb.Rel, plan.Schema, error) {
	if n == nil {
		return nil, nil, fmt.Errorf("a node is missing")
	}
	if err := e.depth.enter("nodes"); err != nil {
		return nil, nil, err
	}
	defer e.depth.leave()
	if e.export != nil {
		if rel, err := e.exported(n); err != nil {
			return nil, nil, err
		} else if rel != nil {
			return rel, n.Schema(), nil
		}
	}
	if d, ok := n.(*plan.DelimJoin); ok && d.Join == nil {
		return nil, nil, fmt.Errorf("DelimJoin: the join is missing")
	}
	children := n.Children()
	inputs := make([]*pb.Rel, len(children))
	schemas := make([]plan.Schema, len(children))
	for i, c := range children {
		var err error
		if inputs[i], schemas[i], err = e.node(c); err != nil {
			return nil, nil, err
		}
	}
	// Expressions nest by themselves.
	outer := e.depth
	e.depth = 0
	rel, err := e.relation(n, inputs, schemas)
	e.depth = outer
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", nodeName(n), err)
	}
	return rel, schemaOver(n, schemas), nil
}

// nodeName is the node's type as people know it.
func nodeName(n plan.Node) string {
	if x, ok := n.(*plan.Extension); ok && x.Impl != nil {
		return x.Impl.Name()
	}
	return fmt.Sprintf("%T", n)[len("*plan."):]
}

// schemaOver is the output of a node over inputs of known output, without asking the inputs again.
func schemaOver(n plan.Node, inputs []plan.Schema) plan.Schema {
	if x, ok := n.(*plan.Extension); ok {
		return x.Impl.Schema(inputs)
	}
	if len(inputs) == 0 {
		return n.Schema()
	}
	stubs := make([]plan.Node, len(inputs))
	for i, s := range inputs {
		stubs[i] = &plan.Values{Out: s}
	}
	return n.WithChildren(stubs).Schema()
}

// relation is the one switch over all nodes that can be written.
func (e *encoder) relation(n plan.Node, inputs []*pb.Rel, in []plan.Schema) (*pb.Rel, error) {
	switch n := n.(type) {
	case *plan.Values:
		return e.virtualTable(n)
	case *plan.Filter:
		cond, err := e.expr(n.Cond, scope{columns: in[0]})
		if err != nil {
			return nil, err
		}
		return &pb.Rel{RelType: &pb.Rel_Filter{Filter: &pb.FilterRel{Common: direct(), Input: inputs[0], Condition: cond}}}, nil
	case *plan.Project:
		return e.project(n, inputs[0], in[0])
	case *plan.Aggregate:
		return e.aggregateNode(n, inputs[0], in[0])
	case *plan.Distinct:
		return e.distinct(n, inputs[0], in[0])
	case *plan.Sort:
		return e.sort(n.Keys, inputs[0], in[0])
	case *plan.Limit:
		return e.limit(n, inputs[0], in[0])
	case *plan.Join:
		return e.join(n, inputs, in)
	case *plan.SetOp:
		return e.setOp(n, inputs, in)
	case *plan.Extension:
		return e.extension(n, inputs)
	default:
		detail, err := e.detail(n, in)
		if err != nil {
			return nil, err
		}
		return e.extensionRel(inputs, detail)
	}
}

func direct() *pb.RelCommon {
	return &pb.RelCommon{EmitKind: &pb.RelCommon_Direct_{Direct: &pb.RelCommon_Direct{}}}
}

// emit outputs count columns from first on.
func emit(first, count int) *pb.RelCommon {
	mapping := make([]int32, count)
	for i := range mapping {
		mapping[i] = int32(first + i)
	}
	return &pb.RelCommon{EmitKind: &pb.RelCommon_Emit_{Emit: &pb.RelCommon_Emit{OutputMapping: mapping}}}
}

// extensionRel is a relation of our own.
func (e *encoder) extensionRel(inputs []*pb.Rel, detail proto.Message) (*pb.Rel, error) {
	any, err := e.packed(detail)
	if err != nil {
		return nil, err
	}
	switch len(inputs) {
	case 0:
		return &pb.Rel{RelType: &pb.Rel_ExtensionLeaf{
			ExtensionLeaf: &pb.ExtensionLeafRel{Common: direct(), Detail: any},
		}}, nil
	case 1:
		return &pb.Rel{RelType: &pb.Rel_ExtensionSingle{
			ExtensionSingle: &pb.ExtensionSingleRel{Common: direct(), Input: inputs[0], Detail: any},
		}}, nil
	default:
		return &pb.Rel{RelType: &pb.Rel_ExtensionMulti{
			ExtensionMulti: &pb.ExtensionMultiRel{Common: direct(), Inputs: inputs, Detail: any},
		}}, nil
	}
}

func (e *encoder) packed(m proto.Message) (*anypb.Any, error) {
	any, err := packed(m)
	if err != nil {
		return nil, err
	}
	e.urls[any.GetTypeUrl()] = true
	return any, nil
}

// optimization is what a reader may ignore without changing a relation's meaning.
func (e *encoder) optimization(m proto.Message) (*extensions.AdvancedExtension, error) {
	if e.export != nil {
		return nil, nil
	}
	any, err := e.packed(m)
	if err != nil {
		return nil, err
	}
	return &extensions.AdvancedExtension{Optimization: []*anypb.Any{any}}, nil
}

// enhancement is what a reader must understand.
func (e *encoder) enhancement(m proto.Message) (*extensions.AdvancedExtension, error) {
	any, err := e.packed(m)
	if err != nil {
		return nil, err
	}
	return &extensions.AdvancedExtension{Enhancement: any}, nil
}

func (e *encoder) virtualTable(n *plan.Values) (*pb.Rel, error) {
	out := n.Out
	if e.export != nil {
		out = filledColumns(n)
	}
	schema, err := e.schema(out)
	if err != nil {
		return nil, err
	}
	table := &pb.ReadRel_VirtualTable{}
	for i, row := range n.Rows {
		if len(row) != len(n.Out) {
			return nil, fmt.Errorf("row %d has %d values for %d columns", i, len(row), len(n.Out))
		}
		fields, err := e.exprs(row, scope{})
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		table.Expressions = append(table.Expressions, &pb.Expression_Nested_Struct{Fields: fields})
	}
	leaf, err := e.optimization(&seracv1.Leaf{Leaf: int32(n.Leaf)})
	if err != nil {
		return nil, err
	}
	return &pb.Rel{RelType: &pb.Rel_Read{Read: &pb.ReadRel{
		Common: direct(), BaseSchema: schema, AdvancedExtension: leaf,
		ReadType: &pb.ReadRel_VirtualTable_{VirtualTable: table},
	}}}, nil
}

func (e *encoder) project(n *plan.Project, input *pb.Rel, in plan.Schema) (*pb.Rel, error) {
	exprs, err := e.exprs(n.Exprs, scope{columns: in})
	if err != nil {
		return nil, err
	}
	common := emit(len(in), len(exprs))
	if len(n.Names) > 0 {
		common.Hint = &pb.RelCommon_Hint{OutputNames: slices.Clone(n.Names)}
	}
	return &pb.Rel{RelType: &pb.Rel_Project{Project: &pb.ProjectRel{Common: common, Input: input, Expressions: exprs}}}, nil
}

func (e *encoder) aggregateNode(n *plan.Aggregate, input *pb.Rel, in plan.Schema) (*pb.Rel, error) {
	s := scope{columns: in}
	rel := &pb.AggregateRel{Common: direct(), Input: input}
	var err error
	if rel.GroupingExpressions, err = e.exprs(n.Groups, s); err != nil {
		return nil, err
	}
	sets := n.Sets
	if len(sets) == 0 && len(n.Groups) > 0 {
		sets = [][]int{allPositions(len(n.Groups))}
	}
	for i, set := range sets {
		grouping := &pb.AggregateRel_Grouping{}
		for _, p := range set {
			if p < 0 || p >= len(n.Groups) {
				return nil, fmt.Errorf("grouping set %d has position %d of %d", i, p, len(n.Groups))
			}
			grouping.ExpressionReferences = append(grouping.ExpressionReferences, uint32(p))
		}
		rel.Groupings = append(rel.Groupings, grouping)
	}
	for i, c := range n.Calls {
		m, err := e.aggregate(c, s)
		if err != nil {
			return nil, fmt.Errorf("call %d, %s: %w", i, c.Name, err)
		}
		rel.Measures = append(rel.Measures, m)
	}
	if len(rel.Groupings) > 1 {
		// Substrait appends the number of the grouping set.
		rel.Common = emit(0, len(n.Groups)+len(n.Calls))
	}
	shape := &seracv1.AggregateShape{ExplicitSets: len(n.Sets) == 1}
	for i, g := range n.Groupings {
		for _, p := range g {
			if p < 0 || p >= len(n.Groups) {
				return nil, fmt.Errorf("grouping %d has position %d of %d", i, p, len(n.Groups))
			}
		}
		shape.Groupings = append(shape.Groupings, &seracv1.Positions{Positions: wide(g)})
	}
	if shape.ExplicitSets || len(shape.Groupings) > 0 {
		if rel.AdvancedExtension, err = e.enhancement(shape); err != nil {
			return nil, err
		}
	}
	return &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: rel}}, nil
}

// distinct is a grouping by all columns, or, with keys or an order, a node of our own.
func (e *encoder) distinct(n *plan.Distinct, input *pb.Rel, in plan.Schema) (*pb.Rel, error) {
	if len(n.On) > 0 || len(n.OrderBy) > 0 {
		on, err := e.exprBytes(n.On, scope{columns: in})
		if err != nil {
			return nil, err
		}
		order, err := e.sortBytes(n.OrderBy, scope{columns: in})
		if err != nil {
			return nil, err
		}
		return e.extensionRel([]*pb.Rel{input}, &seracv1.DistinctOn{On: on, OrderBy: order})
	}
	rel := &pb.AggregateRel{Common: direct(), Input: input}
	grouping := &pb.AggregateRel_Grouping{}
	for i, c := range in {
		ref, err := e.expr(&plan.ColumnRef{Index: i, Of: c.Type}, scope{columns: in})
		if err != nil {
			return nil, err
		}
		rel.GroupingExpressions = append(rel.GroupingExpressions, ref)
		grouping.ExpressionReferences = append(grouping.ExpressionReferences, uint32(i))
	}
	rel.Groupings = []*pb.AggregateRel_Grouping{grouping}
	var err error
	if rel.AdvancedExtension, err = e.optimization(&seracv1.AggregateShape{Distinct: true}); err != nil {
		return nil, err
	}
	return &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: rel}}, nil
}

func (e *encoder) sort(keys []plan.SortKey, input *pb.Rel, in plan.Schema) (*pb.Rel, error) {
	fields, err := e.sortKeys(keys, scope{columns: in})
	if err != nil {
		return nil, err
	}
	return &pb.Rel{RelType: &pb.Rel_Sort{Sort: &pb.SortRel{Common: direct(), Input: input, Sorts: fields}}}, nil
}

func (e *encoder) limit(n *plan.Limit, input *pb.Rel, in plan.Schema) (*pb.Rel, error) {
	if n.Percent || !constantOrNil(n.Count) || !constantOrNil(n.Offset) {
		detail, err := e.limitDetail(n, in)
		if err != nil {
			return nil, err
		}
		return e.extensionRel([]*pb.Rel{input}, detail)
	}
	rel := &pb.FetchRel{Common: direct(), Input: input}
	count, err := e.optional(n.Count, scope{})
	if err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	if count != nil {
		rel.CountMode = &pb.FetchRel_CountExpr{CountExpr: count}
	}
	offset, err := e.optional(n.Offset, scope{})
	if err != nil {
		return nil, fmt.Errorf("offset: %w", err)
	}
	if offset != nil {
		rel.OffsetMode = &pb.FetchRel_OffsetExpr{OffsetExpr: offset}
	}
	if len(n.Keys) > 0 {
		if rel.Input, err = e.sort(n.Keys, input, in); err != nil {
			return nil, err
		}
		if rel.AdvancedExtension, err = e.optimization(&seracv1.TopN{}); err != nil {
			return nil, err
		}
	}
	return &pb.Rel{RelType: &pb.Rel_Fetch{Fetch: rel}}, nil
}

func constantOrNil(x plan.Expr) bool {
	if x == nil {
		return true
	}
	_, ok := x.(*plan.Constant)
	return ok
}

// joinTypes are Substrait's kinds of joins.
var joinTypes = map[plan.JoinKind]pb.JoinRel_JoinType{
	plan.Inner:     pb.JoinRel_JOIN_TYPE_INNER,
	plan.Left:      pb.JoinRel_JOIN_TYPE_LEFT,
	plan.Right:     pb.JoinRel_JOIN_TYPE_RIGHT,
	plan.Full:      pb.JoinRel_JOIN_TYPE_OUTER,
	plan.LeftSemi:  pb.JoinRel_JOIN_TYPE_LEFT_SEMI,
	plan.LeftAnti:  pb.JoinRel_JOIN_TYPE_LEFT_ANTI,
	plan.RightSemi: pb.JoinRel_JOIN_TYPE_RIGHT_SEMI,
	plan.RightAnti: pb.JoinRel_JOIN_TYPE_RIGHT_ANTI,
	plan.Mark:      pb.JoinRel_JOIN_TYPE_LEFT_MARK,
	plan.Single:    pb.JoinRel_JOIN_TYPE_LEFT_SINGLE,
}

// joinScopes are what a join's conditions, left and right, and its residual may refer to.
func joinScopes(in []plan.Schema) (left, right, both scope) {
	all := append(slices.Clip(in[0]), in[1]...)
	return scope{columns: in[0]}, scope{columns: in[1], shift: len(in[0])}, scope{columns: all}
}

func (e *encoder) join(n *plan.Join, inputs []*pb.Rel, in []plan.Schema) (*pb.Rel, error) {
	if n.AsOf || n.Positional {
		detail, err := e.joinDetail(n, in)
		if err != nil {
			return nil, err
		}
		return e.extensionRel(inputs, detail)
	}
	kind, ok := joinTypes[n.Kind]
	if !ok {
		return nil, fmt.Errorf("join kind %d does not travel", n.Kind)
	}
	if n.Kind == plan.Inner && len(n.Conds) == 0 && n.Residual == nil {
		return &pb.Rel{RelType: &pb.Rel_Cross{Cross: &pb.CrossRel{Common: direct(), Left: inputs[0], Right: inputs[1]}}}, nil
	}
	rel := &pb.JoinRel{Common: direct(), Left: inputs[0], Right: inputs[1], Type: kind}
	left, right, both := joinScopes(in)
	var parts []*pb.Expression
	for i, c := range n.Conds {
		m, err := e.joinCondition(c, left, right)
		if err != nil {
			return nil, fmt.Errorf("condition %d: %w", i, err)
		}
		parts = append(parts, m)
	}
	if n.Residual != nil {
		m, err := e.expr(n.Residual, both)
		if err != nil {
			return nil, fmt.Errorf("residual: %w", err)
		}
		parts = append(parts, m)
	}
	var err error
	if rel.Expression, err = e.all(parts); err != nil {
		return nil, err
	}
	shape := &seracv1.JoinShape{Conditions: int64(len(n.Conds)), Residual: n.Residual != nil}
	if rel.AdvancedExtension, err = e.optimization(shape); err != nil {
		return nil, err
	}
	return &pb.Rel{RelType: &pb.Rel_Join{Join: rel}}, nil
}

func (e *encoder) joinCondition(c plan.JoinCond, left, right scope) (*pb.Expression, error) {
	name, ok := comparisons[c.Op]
	if !ok {
		return nil, fmt.Errorf("comparison %d does not travel", c.Op)
	}
	l, err := e.expr(c.Left, left)
	if err != nil {
		return nil, fmt.Errorf("left: %w", err)
	}
	r, err := e.expr(c.Right, right)
	if err != nil {
		return nil, fmt.Errorf("right: %w", err)
	}
	t, err := e.typ(plan.T(plan.Boolean))
	if err != nil {
		return nil, err
	}
	anchor := e.declarations.function(urnComparison, name+":any_any")
	return scalar(anchor, []*pb.FunctionArgument{value(l), value(r)}, nil, t), nil
}

// all is the conjunction of conditions: true when there is none.
func (e *encoder) all(parts []*pb.Expression) (*pb.Expression, error) {
	switch len(parts) {
	case 0:
		return e.expr(&plan.Constant{Value: true, Of: plan.T(plan.Boolean)}, scope{})
	case 1:
		return parts[0], nil
	}
	args := make([]*pb.FunctionArgument, len(parts))
	for i, p := range parts {
		args[i] = value(p)
	}
	t, err := e.typ(plan.T(plan.Boolean))
	if err != nil {
		return nil, err
	}
	return scalar(e.declarations.function(urnBoolean, "and:bool"), args, nil, t), nil
}

// setOps are Substrait's set operations, by kind and ALL.
var setOps = map[setOpKey]pb.SetRel_SetOp{
	{plan.SetUnion, true}:      pb.SetRel_SET_OP_UNION_ALL,
	{plan.SetUnion, false}:     pb.SetRel_SET_OP_UNION_DISTINCT,
	{plan.SetExcept, true}:     pb.SetRel_SET_OP_MINUS_PRIMARY_ALL,
	{plan.SetExcept, false}:    pb.SetRel_SET_OP_MINUS_PRIMARY,
	{plan.SetIntersect, true}:  pb.SetRel_SET_OP_INTERSECTION_MULTISET_ALL,
	{plan.SetIntersect, false}: pb.SetRel_SET_OP_INTERSECTION_MULTISET,
}

type setOpKey struct {
	op  plan.SetKind
	all bool
}

func (e *encoder) setOp(n *plan.SetOp, inputs []*pb.Rel, in []plan.Schema) (*pb.Rel, error) {
	op, ok := setOps[setOpKey{n.Op, n.All}]
	if !ok {
		return nil, fmt.Errorf("set operation %d does not travel", n.Op)
	}
	if err := checkSetInputs(in); err != nil {
		return nil, err
	}
	return &pb.Rel{RelType: &pb.Rel_Set{Set: &pb.SetRel{Common: direct(), Inputs: inputs, Op: op}}}, nil
}

func checkSetInputs(in []plan.Schema) error {
	if len(in) == 0 {
		return fmt.Errorf("it has no inputs")
	}
	for i := range in {
		if len(in[i]) != len(in[0]) {
			return fmt.Errorf("input %d has %d columns, input 0 has %d", i, len(in[i]), len(in[0]))
		}
	}
	return nil
}

// extension is a node of another table format.
func (e *encoder) extension(n *plan.Extension, inputs []*pb.Rel) (*pb.Rel, error) {
	if n.Impl == nil {
		return nil, fmt.Errorf("the node is missing")
	}
	x, ok := e.registry.lookup(n.Impl.Name())
	if !ok {
		return nil, fmt.Errorf("no codec is registered for it")
	}
	m, err := x.Encode(n.Impl)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	if got := string(m.ProtoReflect().Descriptor().FullName()); got != n.Impl.Name() {
		return nil, fmt.Errorf("its codec made a %s", got)
	}
	any, err := e.packed(m)
	if err != nil {
		return nil, err
	}
	return e.extensionRel(inputs, &seracv1.ExtensionNode{Version: x.Version(), Message: any})
}

func allPositions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func wide(positions []int) []int64 {
	var out []int64
	for _, p := range positions {
		out = append(out, int64(p))
	}
	return out
}

// narrow is a position that arrived: not negative, and an int here.
func narrow(v int64, what string) (int, error) {
	if v < 0 || v > math.MaxInt32 {
		return 0, fmt.Errorf("%s %d is out of range", what, v)
	}
	return int(v), nil
}

func narrowAll(vs []int64, limit int, what string) ([]int, error) {
	var out []int
	for _, v := range vs {
		if v < 0 || v >= int64(limit) {
			return nil, fmt.Errorf("%s %d of %d", what, v, limit)
		}
		out = append(out, int(v))
	}
	return out, nil
}
