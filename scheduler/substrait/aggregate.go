package substrait

import (
	"fmt"
	"slices"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/plan"
)

// maxGroupingSets bounds the grouping sets of an aggregate.
const maxGroupingSets = 4096

// groupings are an aggregate's grouping expressions, each once, and its sets as positions of them, in either of
// Substrait's two forms.
func groupings(r *pb.AggregateRel) ([]*pb.Expression, [][]int, error) {
	if len(r.GetGroupings()) > maxGroupingSets {
		return nil, nil, fmt.Errorf("it has %d grouping sets, at most %d are allowed", len(r.GetGroupings()), maxGroupingSets)
	}
	exprs := slices.Clone(r.GetGroupingExpressions())
	var sets [][]int
	seen := map[string]int{}
	for i, g := range r.GetGroupings() {
		set := []int{}
		for _, p := range g.GetExpressionReferences() {
			if int(p) >= len(r.GetGroupingExpressions()) {
				return nil, nil, fmt.Errorf("grouping set %d has expression %d of %d", i, p, len(r.GetGroupingExpressions()))
			}
			set = append(set, int(p))
		}
		old := g.GetGroupingExpressions()
		if len(r.GetGroupingExpressions()) > 0 {
			old = nil // some producers write both
		}
		for _, e := range old {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
			if err != nil {
				return nil, nil, err
			}
			p, ok := seen[string(b)]
			if !ok {
				p = len(exprs)
				seen[string(b)] = p
				exprs = append(exprs, e)
			}
			if !slices.Contains(set, p) {
				set = append(set, p)
			}
		}
		sets = append(sets, set)
	}
	for i := range exprs {
		if !slices.ContainsFunc(sets, func(set []int) bool { return slices.Contains(set, i) }) {
			return nil, nil, fmt.Errorf("grouping expression %d is in no grouping set", i)
		}
	}
	return exprs, sets, nil
}

func (t *translator) aggregate(r *pb.AggregateRel) (*query, error) {
	q, err := t.input(r.GetInput())
	if err != nil {
		return nil, err
	}
	exprs, sets, err := groupings(r)
	if err != nil {
		return nil, err
	}
	groups := make([]column, len(exprs))
	plain := true
	for i, e := range exprs {
		if groups[i], err = t.over(q.columns, e); err != nil {
			return nil, fmt.Errorf("grouping expression %d: %w", i, err)
		}
		_, isColumn := rootField(e.GetSelection())
		plain = plain && isColumn && !slices.ContainsFunc(groups[:i], func(c column) bool { return c.sql == groups[i].sql })
	}
	over := *q
	over.order = nil
	if !plain {
		// GROUP BY and GROUPING need columns of their own: a constant would be a position.
		width := len(over.columns)
		over.columns = append(over.columns[:width:width], groups...)
		wrapped, err := t.nested(&over)
		if err != nil {
			return nil, err
		}
		over = *wrapped
		groups = over.columns[width:]
		over.columns = over.columns[:width]
	}
	out := &query{from: over.from, where: over.where, grouped: true}
	out.columns = append(out.columns, groups...)
	for i, m := range r.GetMeasures() {
		c, err := t.measure(over.columns, m)
		if err != nil {
			return nil, fmt.Errorf("measure %d: %w", i, err)
		}
		out.columns = append(out.columns, c)
	}
	switch {
	case len(sets) > 1:
		number, err := groupingNumber(groups, sets)
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(sets))
		for i, set := range sets {
			texts[i] = "(" + groupList(groups, set) + ")"
		}
		out.group = " GROUP BY GROUPING SETS (" + strings.Join(texts, ", ") + ")"
		out.columns = append(out.columns, number)
	case len(groups) > 0:
		out.group = " GROUP BY " + groupList(groups, sets[0])
	}
	return out, nil
}

func groupList(groups []column, set []int) string {
	texts := make([]string, len(set))
	for i, p := range set {
		texts[i] = groups[p].sql
	}
	return strings.Join(texts, ", ")
}

// groupingNumber is the number of a row's grouping set, which Substrait appends when there are several.
func groupingNumber(groups []column, sets [][]int) (column, error) {
	if len(groups) > 60 {
		return column{}, fmt.Errorf("it has %d grouping expressions in grouping sets, at most 60 are allowed", len(groups))
	}
	if len(groups) == 0 {
		return column{}, fmt.Errorf("grouping sets that repeat are not supported")
	}
	var b strings.Builder
	b.WriteString("CASE GROUPING(" + groupList(groups, positions(len(groups))) + ")")
	seen := map[int64]bool{}
	for i, set := range sets {
		// GROUPING has a bit for each argument, the first one highest, set where the row is not grouped by it.
		bits := int64(1)<<len(groups) - 1
		for _, p := range set {
			bits &^= 1 << (len(groups) - 1 - p)
		}
		if seen[bits] {
			return column{}, fmt.Errorf("grouping sets that repeat are not supported")
		}
		seen[bits] = true
		fmt.Fprintf(&b, " WHEN %d THEN %d", bits, i)
	}
	b.WriteString(" END")
	return column{sql: cast(b.String(), plan.T(plan.Integer)), of: plan.T(plan.Integer)}, nil
}

func positions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// measure is an aggregate over the columns of the input.
func (t *translator) measure(over []column, m *pb.AggregateRel_Measure) (column, error) {
	f := m.GetMeasure()
	if f == nil {
		return column{}, fmt.Errorf("its function is missing")
	}
	filter := ""
	if m.GetFilter() != nil {
		c, err := t.over(over, m.GetFilter())
		if err != nil {
			return column{}, fmt.Errorf("filter: %w", err)
		}
		filter = " FILTER (WHERE " + c.sql + ")"
	}
	return t.aggregateCall(over, aggregateCall{
		anchor: f.GetFunctionReference(), arguments: f.GetArguments(), old: f.GetArgs(),
		options: f.GetOptions(), of: f.GetOutputType(), phase: f.GetPhase(), invocation: f.GetInvocation(), sorts: f.GetSorts(),
		filter: filter,
	})
}

// aggregateCall is a call of an aggregate as a measure or a window function has it.
type aggregateCall struct {
	anchor     uint32
	arguments  []*pb.FunctionArgument
	old        []*pb.Expression
	options    []*pb.FunctionOption
	of         *pb.Type
	phase      pb.AggregationPhase
	invocation pb.AggregateFunction_AggregationInvocation
	sorts      []*pb.SortField
	filter     string // FILTER clause
	over       string // OVER clause
}

func (t *translator) aggregateCall(over []column, call aggregateCall) (column, error) {
	f, err := t.function(call.anchor)
	if err != nil {
		return column{}, err
	}
	fail := func(format string, args ...any) (column, error) {
		return column{}, fmt.Errorf("%s: %w", f, fmt.Errorf(format, args...))
	}
	switch call.phase {
	case pb.AggregationPhase_AGGREGATION_PHASE_UNSPECIFIED, pb.AggregationPhase_AGGREGATION_PHASE_INITIAL_TO_RESULT:
	default:
		return fail("phase %s is not supported", call.phase)
	}
	distinct := ""
	switch call.invocation {
	case pb.AggregateFunction_AGGREGATION_INVOCATION_UNSPECIFIED, pb.AggregateFunction_AGGREGATION_INVOCATION_ALL:
	case pb.AggregateFunction_AGGREGATION_INVOCATION_DISTINCT:
		distinct = "DISTINCT "
	default:
		return fail("invocation %s is not supported", call.invocation)
	}
	t.scopes = append(t.scopes, scope{over})
	args, err := t.arguments(call.arguments, call.old)
	t.scopes = t.scopes[:len(t.scopes)-1]
	if err != nil {
		return fail("%w", err)
	}
	keys, err := t.sortKeys(over, call.sorts)
	if err != nil {
		return fail("%w", err)
	}
	of, err := t.optionalType(call.of)
	if err != nil {
		return fail("%w", err)
	}
	spec, err := t.aggregateFunction(f, args, call.options, call.over != "")
	if err != nil {
		return fail("%w", err)
	}
	inside := distinct + strings.Join(spec.args, ", ")
	for i, k := range keys {
		if i == 0 {
			inside += " ORDER BY "
		} else {
			inside += ", "
		}
		inside += k.sql + " " + k.direction
	}
	text := spec.name + "(" + inside + ")" + call.filter + call.over
	if spec.around != nil {
		text = spec.around(text)
	}
	if spec.exact.Kind != plan.Invalid {
		return column{sql: text, of: spec.exact}, nil
	}
	return t.result(text, of, false), nil
}
