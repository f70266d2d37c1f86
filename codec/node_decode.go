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

// decoder reads one plan.
type decoder struct {
	references
	registry *Registry
	depth    depth
	// tables are the keys that the plan's nodes name.
	tables map[string]bool
}

// node is a relation as a node, with its output columns.
func (d *decoder) node(m *pb.Rel) (plan.Node, plan.Schema, error) {
	if err := d.depth.enter("nodes"); err != nil {
		return nil, nil, err
	}
	defer d.depth.leave()
	inputs, common, err := partsOf(m)
	if err != nil {
		return nil, nil, err
	}
	sort, err := topN(m)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", relName(m), err)
	}
	if sort != nil { // the sort is part of the limit
		inputs = []*pb.Rel{sort.GetInput()}
	}
	nodes := make([]plan.Node, len(inputs))
	schemas := make([]plan.Schema, len(inputs))
	for i, in := range inputs {
		if nodes[i], schemas[i], err = d.node(in); err != nil {
			return nil, nil, err
		}
	}
	outer := d.depth
	d.depth = 0
	n, s, err := d.output(m, common, sort, nodes, schemas)
	d.depth = outer
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", relName(m), err)
	}
	return n, s, nil
}

// output is the node of a relation over decoded inputs, with what the relation emits.
func (d *decoder) output(m *pb.Rel, common *pb.RelCommon, sort *pb.SortRel, nodes []plan.Node, in []plan.Schema) (plan.Node, plan.Schema, error) {
	if common.GetAdvancedExtension().GetEnhancement() != nil {
		return nil, nil, fmt.Errorf("enhancement %q is not known", messageName(common.GetAdvancedExtension().GetEnhancement()))
	}
	n, mapping, err := d.relation(m, sort, nodes, in)
	if err != nil {
		return nil, nil, err
	}
	s := schemaOver(n, in)
	if mapping == nil {
		return n, s, nil
	}
	// Columns in another order than the node's, or not all of them.
	p := &plan.Project{Input: n}
	for _, i := range mapping {
		if i < 0 || int(i) >= len(s) {
			return nil, nil, fmt.Errorf("it emits column %d of %d", i, len(s))
		}
		p.Exprs = append(p.Exprs, &plan.ColumnRef{Index: int(i), Of: s[i].Type})
		p.Names = append(p.Names, s[i].Name)
	}
	return p, schemaOver(p, []plan.Schema{s}), nil
}

// relName is the relation's kind, and of our own relations the message's name.
func relName(m *pb.Rel) string {
	if detail := detailOf(m); detail != nil {
		return messageName(detail)
	}
	if r := m.ProtoReflect(); r.Descriptor().Oneofs().Len() > 0 {
		if f := r.WhichOneof(r.Descriptor().Oneofs().Get(0)); f != nil {
			return string(f.Message().Name())
		}
	}
	return "Rel"
}

func detailOf(m *pb.Rel) *anypb.Any {
	switch r := m.GetRelType().(type) {
	case *pb.Rel_ExtensionLeaf:
		return r.ExtensionLeaf.GetDetail()
	case *pb.Rel_ExtensionSingle:
		return r.ExtensionSingle.GetDetail()
	case *pb.Rel_ExtensionMulti:
		return r.ExtensionMulti.GetDetail()
	}
	return nil
}

// partsOf are a relation's inputs and what is common to all.
func partsOf(m *pb.Rel) ([]*pb.Rel, *pb.RelCommon, error) {
	switch r := m.GetRelType().(type) {
	case *pb.Rel_Read:
		return nil, r.Read.GetCommon(), nil
	case *pb.Rel_Filter:
		return []*pb.Rel{r.Filter.GetInput()}, r.Filter.GetCommon(), nil
	case *pb.Rel_Fetch:
		return []*pb.Rel{r.Fetch.GetInput()}, r.Fetch.GetCommon(), nil
	case *pb.Rel_Aggregate:
		return []*pb.Rel{r.Aggregate.GetInput()}, r.Aggregate.GetCommon(), nil
	case *pb.Rel_Sort:
		return []*pb.Rel{r.Sort.GetInput()}, r.Sort.GetCommon(), nil
	case *pb.Rel_Join:
		return []*pb.Rel{r.Join.GetLeft(), r.Join.GetRight()}, r.Join.GetCommon(), nil
	case *pb.Rel_Project:
		return []*pb.Rel{r.Project.GetInput()}, r.Project.GetCommon(), nil
	case *pb.Rel_Set:
		return r.Set.GetInputs(), r.Set.GetCommon(), nil
	case *pb.Rel_Cross:
		return []*pb.Rel{r.Cross.GetLeft(), r.Cross.GetRight()}, r.Cross.GetCommon(), nil
	case *pb.Rel_ExtensionLeaf:
		return nil, r.ExtensionLeaf.GetCommon(), nil
	case *pb.Rel_ExtensionSingle:
		return []*pb.Rel{r.ExtensionSingle.GetInput()}, r.ExtensionSingle.GetCommon(), nil
	case *pb.Rel_ExtensionMulti:
		return r.ExtensionMulti.GetInputs(), r.ExtensionMulti.GetCommon(), nil
	case nil:
		return nil, nil, fmt.Errorf("a relation is missing")
	default:
		return nil, nil, fmt.Errorf("relation %s is not supported", relName(m))
	}
}

// relation is the one switch over all relations that can be read. The mapping, if not nil, is which of the node's columns
// the relation emits.
func (d *decoder) relation(m *pb.Rel, sort *pb.SortRel, nodes []plan.Node, in []plan.Schema) (plan.Node, []int32, error) {
	switch r := m.GetRelType().(type) {
	case *pb.Rel_Read:
		n, err := d.virtualTable(r.Read)
		return n, emitted(r.Read.GetCommon()), err
	case *pb.Rel_Filter:
		if err := noEnhancement(r.Filter.GetAdvancedExtension()); err != nil {
			return nil, nil, err
		}
		cond, err := d.expr(r.Filter.GetCondition(), scope{columns: in[0]})
		return &plan.Filter{Input: nodes[0], Cond: cond}, emitted(r.Filter.GetCommon()), err
	case *pb.Rel_Fetch:
		n, err := d.fetch(r.Fetch, sort, nodes[0], in[0])
		return n, emitted(r.Fetch.GetCommon()), err
	case *pb.Rel_Aggregate:
		return d.aggregateNode(r.Aggregate, nodes[0], in[0])
	case *pb.Rel_Sort:
		if err := noEnhancement(r.Sort.GetAdvancedExtension()); err != nil {
			return nil, nil, err
		}
		keys, err := d.sortKeys(r.Sort.GetSorts(), scope{columns: in[0]})
		return &plan.Sort{Input: nodes[0], Keys: keys}, emitted(r.Sort.GetCommon()), err
	case *pb.Rel_Join:
		n, err := d.join(r.Join, nodes, in)
		return n, emitted(r.Join.GetCommon()), err
	case *pb.Rel_Project:
		return d.project(r.Project, nodes[0], in[0])
	case *pb.Rel_Set:
		n, err := d.setOp(r.Set, nodes, in)
		return n, emitted(r.Set.GetCommon()), err
	case *pb.Rel_Cross:
		if err := noEnhancement(r.Cross.GetAdvancedExtension()); err != nil {
			return nil, nil, err
		}
		return &plan.Join{Kind: plan.Inner, Left: nodes[0], Right: nodes[1]}, emitted(r.Cross.GetCommon()), nil
	case *pb.Rel_ExtensionLeaf:
		n, err := d.extension(r.ExtensionLeaf.GetDetail(), nodes, in)
		return n, emitted(r.ExtensionLeaf.GetCommon()), err
	case *pb.Rel_ExtensionSingle:
		n, err := d.extension(r.ExtensionSingle.GetDetail(), nodes, in)
		return n, emitted(r.ExtensionSingle.GetCommon()), err
	case *pb.Rel_ExtensionMulti:
		n, err := d.extension(r.ExtensionMulti.GetDetail(), nodes, in)
		return n, emitted(r.ExtensionMulti.GetCommon()), err
	}
	return nil, nil, fmt.Errorf("it is not supported")
}

// emitted is the output mapping, nil when the output is as it is.
func emitted(c *pb.RelCommon) []int32 {
	e, ok := c.GetEmitKind().(*pb.RelCommon_Emit_)
	if !ok {
		return nil
	}
	if e.Emit.GetOutputMapping() == nil {
		return []int32{}
	}
	return e.Emit.GetOutputMapping()
}

func noEnhancement(x *extensions.AdvancedExtension) error {
	if any := x.GetEnhancement(); any != nil {
		return fmt.Errorf("enhancement %q is not known", messageName(any))
	}
	return nil
}

// optimization finds an optimization of m's kind and reads it into m. Others are ignored, as they may be.
func optimization(x *extensions.AdvancedExtension, m proto.Message) (bool, error) {
	for _, any := range x.GetOptimization() {
		if messageName(any) == string(m.ProtoReflect().Descriptor().FullName()) {
			return true, unpack(any, m)
		}
	}
	return false, nil
}

func (d *decoder) virtualTable(m *pb.ReadRel) (plan.Node, error) {
	table, ok := m.GetReadType().(*pb.ReadRel_VirtualTable_)
	if !ok {
		return nil, fmt.Errorf("reading %T is not supported", m.GetReadType())
	}
	values := table.VirtualTable.GetValues() //nolint:staticcheck // deprecated, and to be refused, not overlooked
	if m.GetFilter() != nil || m.GetBestEffortFilter() != nil || m.GetProjection() != nil || len(values) > 0 {
		return nil, fmt.Errorf("filter, projection and values of a virtual table are not supported")
	}
	if err := noEnhancement(m.GetAdvancedExtension()); err != nil {
		return nil, err
	}
	leaf := &seracv1.Leaf{}
	if _, err := optimization(m.GetAdvancedExtension(), leaf); err != nil {
		return nil, err
	}
	n := &plan.Values{Leaf: plan.LeafID(leaf.GetLeaf())}
	var err error
	if n.Out, err = d.schema(m.GetBaseSchema()); err != nil {
		return nil, err
	}
	for i, row := range table.VirtualTable.GetExpressions() {
		if len(row.GetFields()) != len(n.Out) {
			return nil, fmt.Errorf("row %d has %d values for %d columns", i, len(row.GetFields()), len(n.Out))
		}
		values, err := d.exprs(row.GetFields(), scope{})
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		n.Rows = append(n.Rows, values)
	}
	return n, nil
}

func (d *decoder) project(m *pb.ProjectRel, input plan.Node, in plan.Schema) (plan.Node, []int32, error) {
	if err := noEnhancement(m.GetAdvancedExtension()); err != nil {
		return nil, nil, err
	}
	exprs, err := d.exprs(m.GetExpressions(), scope{columns: in})
	if err != nil {
		return nil, nil, err
	}
	n := &plan.Project{Input: input, Names: m.GetCommon().GetHint().GetOutputNames()}
	mapping := emitted(m.GetCommon())
	if mapping == nil {
		mapping = make([]int32, len(in)+len(exprs))
		for i := range mapping {
			mapping[i] = int32(i)
		}
	}
	if isRange(mapping, len(in), len(exprs)) {
		n.Exprs = exprs
		return n, nil, nil
	}
	// Substrait's projection appends to its input; ours replaces it.
	for _, i := range mapping {
		switch i := int(i); {
		case i < 0 || i >= len(in)+len(exprs):
			return nil, nil, fmt.Errorf("it emits column %d of %d", i, len(in)+len(exprs))
		case i < len(in):
			n.Exprs = append(n.Exprs, &plan.ColumnRef{Index: i, Of: in[i].Type})
		default:
			n.Exprs = append(n.Exprs, exprs[i-len(in)])
		}
	}
	return n, nil, nil
}

// isRange says whether a mapping is just count columns from first on.
func isRange(mapping []int32, first, count int) bool {
	if len(mapping) != count {
		return false
	}
	for i, m := range mapping {
		if int(m) != first+i {
			return false
		}
	}
	return true
}

func (d *decoder) aggregateNode(m *pb.AggregateRel, input plan.Node, in plan.Schema) (plan.Node, []int32, error) {
	s := scope{columns: in}
	shape := &seracv1.AggregateShape{}
	if any := m.GetAdvancedExtension().GetEnhancement(); any != nil {
		if err := unpack(any, shape); err != nil {
			return nil, nil, fmt.Errorf("enhancement: %w", err)
		}
	}
	mapping := emitted(m.GetCommon())
	if distinct := (&seracv1.AggregateShape{}); len(m.GetMeasures()) == 0 {
		found, err := optimization(m.GetAdvancedExtension(), distinct)
		if err != nil {
			return nil, nil, err
		}
		if found && distinct.GetDistinct() {
			return &plan.Distinct{Input: input}, mapping, d.checkDistinct(m, in)
		}
	}
	n := &plan.Aggregate{Input: input}
	var err error
	if n.Groups, err = d.exprs(m.GetGroupingExpressions(), s); err != nil {
		return nil, nil, err
	}
	for i, g := range m.GetGroupings() {
		if len(g.GetGroupingExpressions()) > 0 { //nolint:staticcheck // Plans of old producers have them.
			return nil, nil, fmt.Errorf("grouping set %d holds expressions of its own, which is not supported", i)
		}
		var set []int
		for _, p := range g.GetExpressionReferences() {
			if int64(p) >= int64(len(n.Groups)) {
				return nil, nil, fmt.Errorf("grouping set %d has position %d of %d", i, p, len(n.Groups))
			}
			set = append(set, int(p))
		}
		n.Sets = append(n.Sets, set)
	}
	switch {
	case len(n.Sets) == 1 && !shape.GetExplicitSets():
		if !slices.Equal(n.Sets[0], allPositions(len(n.Groups))) {
			return nil, nil, fmt.Errorf("its one grouping set is not all of its %d groups", len(n.Groups))
		}
		n.Sets = nil
	case len(n.Sets) == 0 && len(n.Groups) > 0:
		return nil, nil, fmt.Errorf("it has %d groups and no grouping set", len(n.Groups))
	}
	for i, measure := range m.GetMeasures() {
		c, err := d.aggregate(measure, s)
		if err != nil {
			return nil, nil, fmt.Errorf("call %d: %w", i, err)
		}
		n.Calls = append(n.Calls, c)
	}
	for i, g := range shape.GetGroupings() {
		positions, err := narrowAll(g.GetPositions(), len(n.Groups), "position")
		if err != nil {
			return nil, nil, fmt.Errorf("grouping %d: %w", i, err)
		}
		n.Groupings = append(n.Groupings, positions)
	}
	if len(n.Sets) > 1 {
		if mapping == nil {
			return nil, nil, fmt.Errorf("the number of the grouping set is not supported as a column")
		}
		if isRange(mapping, 0, len(n.Groups)+len(n.Calls)) {
			mapping = nil
		}
	}
	return n, mapping, nil
}

// checkDistinct says whether a DISTINCT groups by all columns in order.
func (d *decoder) checkDistinct(m *pb.AggregateRel, in plan.Schema) error {
	groups, err := d.exprs(m.GetGroupingExpressions(), scope{columns: in})
	if err != nil {
		return err
	}
	all := len(groups) == len(in) && len(m.GetGroupings()) == 1 && len(m.GetGroupings()[0].GetExpressionReferences()) == len(in)
	for i := 0; all && i < len(in); i++ {
		ref, ok := groups[i].(*plan.ColumnRef)
		all = ok && ref.Index == i && m.GetGroupings()[0].GetExpressionReferences()[i] == uint32(i)
	}
	if !all {
		return fmt.Errorf("a DISTINCT does not group by all of its %d columns", len(in))
	}
	return nil
}

// topN is the sort that belongs to a fetch, nil when there is none.
func topN(m *pb.Rel) (*pb.SortRel, error) {
	fetch, ok := m.GetRelType().(*pb.Rel_Fetch)
	if !ok {
		return nil, nil
	}
	if found, err := optimization(fetch.Fetch.GetAdvancedExtension(), &seracv1.TopN{}); !found || err != nil {
		return nil, err
	}
	sort, ok := fetch.Fetch.GetInput().GetRelType().(*pb.Rel_Sort)
	if !ok || len(sort.Sort.GetSorts()) == 0 || emitted(sort.Sort.GetCommon()) != nil ||
		sort.Sort.GetAdvancedExtension() != nil || sort.Sort.GetCommon().GetAdvancedExtension() != nil {
		return nil, nil // a plain sort, then
	}
	return sort.Sort, nil
}

func (d *decoder) fetch(m *pb.FetchRel, sort *pb.SortRel, input plan.Node, in plan.Schema) (plan.Node, error) {
	if err := noEnhancement(m.GetAdvancedExtension()); err != nil {
		return nil, err
	}
	n := &plan.Limit{Input: input}
	var err error
	switch c := m.GetCountMode().(type) {
	case *pb.FetchRel_CountExpr:
		if n.Count, err = d.expr(c.CountExpr, scope{}); err != nil {
			return nil, fmt.Errorf("count: %w", err)
		}
	case *pb.FetchRel_Count: // of old producers; -1 is all
		if count := c.Count; count >= 0 { //nolint:staticcheck // deprecated, and what old producers send
			n.Count = &plan.Constant{Value: count, Of: plan.T(plan.BigInt)}
		}
	}
	switch o := m.GetOffsetMode().(type) {
	case *pb.FetchRel_OffsetExpr:
		if n.Offset, err = d.expr(o.OffsetExpr, scope{}); err != nil {
			return nil, fmt.Errorf("offset: %w", err)
		}
	case *pb.FetchRel_Offset:
		n.Offset = &plan.Constant{Value: o.Offset, Of: plan.T(plan.BigInt)} //nolint:staticcheck // deprecated, and what old producers send
	}
	if sort != nil {
		n.Keys, err = d.sortKeys(sort.GetSorts(), scope{columns: in})
	}
	return n, err
}

var joinKindOf = invert(joinTypes)

func (d *decoder) join(m *pb.JoinRel, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	if err := noEnhancement(m.GetAdvancedExtension()); err != nil {
		return nil, err
	}
	kind, ok := joinKindOf[m.GetType()]
	if !ok {
		return nil, fmt.Errorf("join type %s is not supported", m.GetType())
	}
	if m.GetPostJoinFilter() != nil {
		return nil, fmt.Errorf("a filter after the join is not supported")
	}
	n := &plan.Join{Kind: kind, Left: nodes[0], Right: nodes[1]}
	shape := &seracv1.JoinShape{}
	found, err := optimization(m.GetAdvancedExtension(), shape)
	if err != nil {
		return nil, err
	}
	left, right, both := joinScopes(in)
	if !found { // another's plan: one condition over both sides
		n.Residual, err = d.expr(m.GetExpression(), both)
		return n, err
	}
	parts, err := d.conjuncts(m.GetExpression(), shape)
	if err != nil {
		return nil, err
	}
	conditions := len(parts)
	if shape.GetResidual() {
		conditions--
		if n.Residual, err = d.expr(parts[conditions], both); err != nil {
			return nil, fmt.Errorf("residual: %w", err)
		}
	}
	for i, part := range parts[:conditions] {
		c, err := d.joinCondition(part, left, right)
		if err != nil {
			return nil, fmt.Errorf("condition %d: %w", i, err)
		}
		n.Conds = append(n.Conds, c)
	}
	return n, nil
}

// conjuncts are the parts of a join's expression, as many as its shape says.
func (d *decoder) conjuncts(m *pb.Expression, shape *seracv1.JoinShape) ([]*pb.Expression, error) {
	want := shape.GetConditions()
	if want < 0 || want > math.MaxInt32 {
		return nil, fmt.Errorf("shape says %d conditions", want)
	}
	if shape.GetResidual() {
		want++
	}
	switch want {
	case 0:
		if l, ok := m.GetLiteral().GetLiteralType().(*pb.Expression_Literal_Boolean); !ok || !l.Boolean {
			return nil, fmt.Errorf("a join without conditions has one")
		}
		return nil, nil
	case 1:
		return []*pb.Expression{m}, nil
	}
	and := m.GetScalarFunction()
	f, err := d.references.function(and.GetFunctionReference())
	if err != nil {
		return nil, err
	}
	if bare(f) != (entity{urnBoolean, "and"}) || int64(len(and.GetArguments())) != want {
		return nil, fmt.Errorf("its expression is not the conjunction of %d conditions", want)
	}
	parts := make([]*pb.Expression, want)
	for i, a := range and.GetArguments() {
		parts[i] = a.GetValue()
	}
	return parts, nil
}

func (d *decoder) joinCondition(m *pb.Expression, left, right scope) (plan.JoinCond, error) {
	var c plan.JoinCond
	call := m.GetScalarFunction()
	f, err := d.references.function(call.GetFunctionReference())
	if err != nil {
		return c, err
	}
	f = bare(f)
	op, ok := comparisonOf[f.name]
	if !ok || f.urn != urnComparison || len(call.GetArguments()) != 2 {
		return c, fmt.Errorf("%s is no comparison of two sides", f.name)
	}
	c.Op = op
	if c.Left, err = d.expr(call.GetArguments()[0].GetValue(), left); err != nil {
		return c, fmt.Errorf("left: %w", err)
	}
	if c.Right, err = d.expr(call.GetArguments()[1].GetValue(), right); err != nil {
		return c, fmt.Errorf("right: %w", err)
	}
	return c, nil
}

var setOpOf = invert(setOps)

func (d *decoder) setOp(m *pb.SetRel, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	if err := noEnhancement(m.GetAdvancedExtension()); err != nil {
		return nil, err
	}
	op, ok := setOpOf[m.GetOp()]
	if !ok {
		return nil, fmt.Errorf("set operation %s is not supported", m.GetOp())
	}
	if err := checkSetInputs(in); err != nil {
		return nil, err
	}
	return &plan.SetOp{Op: op.op, All: op.all, Inputs: nodes}, nil
}
