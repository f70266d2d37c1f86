package planner

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/seracdb/serac/plan"
)

// window brings the rows of each PARTITION BY together, one exchange for each that no other covers; calls without
// PARTITION BY come last, and see all rows in one task.
func (d *distributor) window(n *plan.Window) (*piece, error) {
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	return d.windowOver(n, in)
}

func (d *distributor) windowOver(n *plan.Window, in *piece) (*piece, error) {
	if in.isSingle() {
		return in.over(n.WithChildren([]plan.Node{in.node})).sized(), nil
	}
	width := len(n.Input.Schema())
	at := make([]int, 0, len(n.Calls)) // the calls in the order in which they are computed
	groups := partitionGroups(n.Calls)
	for _, g := range groups {
		var err error
		if in, err = d.partitionBy(in, g.keys); err != nil {
			return nil, err
		}
		w := &plan.Window{Input: in.node}
		for _, c := range g.calls {
			w.Calls, at = append(w.Calls, n.Calls[c]), append(at, c)
		}
		in = in.over(w).sized()
	}
	if slices.IsSorted(at) {
		return in, nil
	}
	columns := allColumns(in.node.Schema())
	exprs := slices.Clone(columns[:width])
	for c := range n.Calls {
		exprs = append(exprs, columns[width+slices.Index(at, c)])
	}
	return in.over(&plan.Project{Input: in.node, Exprs: exprs, Names: n.Schema().Names()}), nil
}

// partitionBy brings rows of equal keys together, and all rows when there are none.
func (d *distributor) partitionBy(in *piece, keys []plan.Expr) (*piece, error) {
	if len(keys) == 0 {
		all, err := d.gather(in)
		if err != nil {
			return nil, err
		}
		return all.note("window: in one task, without PARTITION BY"), nil
	}
	if cols, plain := columnRefs(keys); in.isSingle() || plain && in.hash != nil && containsAll(cols, in.hash) {
		d.keepTogether(in)
		return in, nil
	}
	if cols, plain := columnRefs(keys); plain {
		if p, ok := d.togetherByRanges(in, cols, in.bytes); ok {
			return p, nil
		}
	}
	rows, err := d.regroup(in, keys)
	if err != nil {
		return nil, err
	}
	return rows.note("window: rows repartitioned by PARTITION BY"), nil
}

// partitionGroup is the calls (by their number) that rows partitioned by keys suffice for.
type partitionGroup struct {
	keys  []plan.Expr
	calls []int
}

// partitionGroups puts calls together whose PARTITION BY has all of another's keys: rows brought together by fewer keys
// are together by more. Calls without keys, or with volatile ones, are the last group.
func partitionGroups(calls []plan.WindowCall) []partitionGroup {
	keys := func(c int) []plan.Expr {
		if anyVolatile(calls[c].PartitionBy) {
			return nil
		}
		return calls[c].PartitionBy
	}
	order := make([]int, len(calls))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(keys(a)), len(keys(b))) })
	var groups []partitionGroup
	last := partitionGroup{}
	for _, c := range order {
		k := keys(c)
		if len(k) == 0 {
			last.calls = append(last.calls, c)
			continue
		}
		i := slices.IndexFunc(groups, func(g partitionGroup) bool { return covers(k, g.keys) })
		if i < 0 {
			i, groups = len(groups), append(groups, partitionGroup{keys: k})
		}
		groups[i].calls = append(groups[i].calls, c)
	}
	if len(last.calls) > 0 {
		groups = append(groups, last)
	}
	for _, g := range groups {
		slices.Sort(g.calls)
	}
	return groups
}

// covers says whether all of some keys are among others.
func covers(keys, some []plan.Expr) bool {
	for _, s := range some {
		if !slices.ContainsFunc(keys, func(k plan.Expr) bool { return reflect.DeepEqual(k, s) }) {
			return false
		}
	}
	return true
}

// topOfWindow distributes a filter that keeps the first rows of each PARTITION BY (QUALIFY row_number() OVER (...) <= n):
// each task keeps its own first rows before the exchange. ok is false for other filters.
func (d *distributor) topOfWindow(n *plan.Filter) (p *piece, ok bool, err error) {
	w, isWindow := n.Input.(*plan.Window)
	if !isWindow {
		return nil, false, nil
	}
	first := w.Calls[0]
	for _, c := range w.Calls {
		if !ranks(c) || !reflect.DeepEqual(c.PartitionBy, first.PartitionBy) || !reflect.DeepEqual(c.OrderBy, first.OrderBy) {
			return nil, false, nil
		}
	}
	if len(first.PartitionBy) == 0 || anyVolatile(first.PartitionBy) || volatileKeys(first.OrderBy) {
		return nil, false, nil
	}
	width := len(w.Input.Schema())
	var conds []plan.Expr
	for _, cond := range plan.SplitConjunction(n.Cond) {
		if boundsRank(cond, width) {
			conds = append(conds, cond)
		}
	}
	if len(conds) == 0 {
		return nil, false, nil
	}
	in, err := d.distribute(w.Input)
	if err != nil {
		return nil, true, err
	}
	cols, plainKeys := columnRefs(first.PartitionBy)
	if !in.isSingle() && !(plainKeys && in.hash != nil && containsAll(cols, in.hash)) {
		columns := allColumns(w.Input.Schema())
		top := &plan.Filter{Input: w.WithChildren([]plan.Node{in.node}), Cond: plan.And(conds...)}
		in = in.over(&plan.Project{Input: top, Exprs: columns, Names: w.Input.Schema().Names()})
		in = in.scale(0.5).note("window: the first rows of each PARTITION BY kept in each task, then again over all")
	}
	out, err := d.windowOver(w, in)
	if err != nil {
		return nil, true, err
	}
	return out.over(&plan.Filter{Input: out.node, Cond: n.Cond}).scale(selectivity(n.Cond)), true, nil
}

// ranks says whether a row's value depends only on the rows that come before it.
func ranks(c plan.WindowCall) bool {
	return (c.Name == "row_number" || c.Name == "rank" || c.Name == "dense_rank") && len(c.Args) == 0 && len(c.ArgOrder) == 0 && c.Filter == nil
}

// boundsRank says whether a condition is an upper bound of a rank: fewer rows make ranks smaller, never larger. A rank equal
// to 1 is one, too; equal to more is not, for among fewer rows another row may have it.
func boundsRank(e plan.Expr, width int) bool {
	c, ok := e.(*plan.Comparison)
	if !ok {
		return false
	}
	ref, isRef := c.Left.(*plan.ColumnRef)
	limit, isConstant := constantCount(c.Right)
	if !isRef || ref.Index < width || !isConstant {
		return false
	}
	switch c.Op {
	case plan.Less, plan.LessOrEqual:
		return true
	case plan.Equal:
		return limit == 1
	default:
		return false
	}
}
