package planner

import (
	"slices"

	"github.com/seracdb/serac/plan"
)

// Early aggregation. Where an aggregate stands on a join and is about the rows of one side alone, the states of that side's rows
// with equal join keys can be computed below the join: the join then brings each state to where its rows would have gone, as
// often as they would have, and the states are merged above. It pays where the side has to be partitioned on the keys, and has
// many rows for each: then the states cross the exchange instead.

// minRowsAState is how many of a task's rows must make a state.
const minRowsAState = 3

// early is an aggregate with its states computed below the join that it stands on; nil where that is not possible, or not worth
// it.
func (d *distributor) early(n *plan.Aggregate) plan.Node {
	e := &earlyAggregate{d: d, of: n, groups: n.Groups, calls: n.Calls}
	if len(n.Sets) > 0 || !e.find(n.Input) {
		return nil
	}
	for _, s := range []side{leftSide, rightSide} {
		if out := e.below(s); out != nil {
			return out
		}
	}
	return nil
}

type earlyAggregate struct {
	d  *distributor
	of *plan.Aggregate
	// groups and calls are those of the aggregate, over the columns of the join.
	groups []plan.Expr
	calls  []plan.AggregateCall
	join   *plan.Join
}

// find looks for the join through projections.
func (e *earlyAggregate) find(n plan.Node) bool {
	for {
		switch in := n.(type) {
		case *plan.Project:
			if anyVolatile(in.Exprs) {
				return false
			}
			e.replace(func(ref *plan.ColumnRef) plan.Expr { return in.Exprs[ref.Index] })
			n = in.Input
		case *plan.Join:
			e.join = in
			switch in.Kind {
			case plan.Inner, plan.Left, plan.Right:
			case plan.Full, plan.LeftSemi, plan.LeftAnti, plan.RightSemi, plan.RightAnti, plan.Mark, plan.Single:
				return false
			}
			return len(in.Conds) > 0 && in.Residual == nil && !in.AsOf && !in.Positional
		default:
			return false
		}
	}
}

// replace puts expressions in the place of the columns that groups and calls read.
func (e *earlyAggregate) replace(by func(*plan.ColumnRef) plan.Expr) {
	one := func(x plan.Expr) plan.Expr {
		return plan.RewriteExpr(x, func(x plan.Expr) plan.Expr {
			if ref, ok := x.(*plan.ColumnRef); ok {
				return by(ref)
			}
			return x
		})
	}
	e.groups = slices.Clone(e.groups)
	for i, g := range e.groups {
		e.groups[i] = one(g)
	}
	e.calls = slices.Clone(e.calls)
	for i, c := range e.calls {
		c.Args = slices.Clone(c.Args)
		for k, a := range c.Args {
			c.Args[k] = one(a)
		}
		c.Filter = one(c.Filter)
		e.calls[i] = c
	}
}

// below is the aggregate with the states of side s computed below the join.
func (e *earlyAggregate) below(s side) plan.Node {
	calls, ok := e.callsOf(s)
	if !ok {
		return nil
	}
	keys, ok := e.keysOf(s)
	if !ok || len(keys) == 0 {
		return nil
	}
	states := splitCalls(calls)
	if states == nil {
		return nil
	}
	input := e.join.Children()[s]
	if isAggregate(input) {
		return nil // these may be the states already
	}
	types := input.Schema().Types()
	var groups []plan.Expr
	for _, k := range keys {
		groups = append(groups, &plan.ColumnRef{Index: k, Of: types[k]})
	}
	partial := newPhase(input, groups)
	states.compute(partial, nil)
	side := partial.node()
	if !e.d.canExchange(side.Schema()) || !e.d.options.EarlyAlways && !e.worth(s, keys, side.Schema()) {
		return nil
	}
	// What was a column of the side is the key's place now, and the other side's columns may have moved.
	left := len(e.join.Left.Schema())
	at, other := 0, func(col int) int { return col - left + len(side.Schema()) }
	if s == rightSide {
		at, other = left, func(col int) int { return col }
	}
	within := func(col int) int { return slices.Index(keys, col) }
	join := *e.join
	join.Conds = slices.Clone(join.Conds)
	for i, c := range join.Conds {
		if s == leftSide {
			join.Conds[i].Left = plan.MapColumns(c.Left, within)
		} else {
			join.Conds[i].Right = plan.MapColumns(c.Right, within)
		}
	}
	children := []plan.Node{join.Left, join.Right}
	children[s] = side
	joined := (&join).WithChildren(children)
	final := newPhase(joined, nil)
	for i, g := range e.groups {
		final.agg.Groups = append(final.agg.Groups, plan.MapColumns(g, func(col int) int {
			if own, ok := e.column(s, col); ok {
				return at + within(own)
			}
			return other(col)
		}))
		final.exprs = append(final.exprs, &plan.ColumnRef{Index: i, Of: g.Type()})
	}
	final.names = final.agg.Schema().Names()
	states.keep(final, states.mergeInto(final, at+len(keys), nil))
	return states.finish(final.node(), len(e.groups), e.of.Schema().Names())
}

// column says which column of a side a column of the join is.
func (e *earlyAggregate) column(s side, col int) (int, bool) {
	left := len(e.join.Left.Schema())
	if s == leftSide {
		return col, col < left
	}
	return col - left, col >= left
}

// madeUp says whether the join makes up NULLs for rows of a side that it has not got.
func (e *earlyAggregate) madeUp(s side) bool {
	return e.join.Kind == plan.Right && s == leftSide || e.join.Kind == plan.Left && s == rightSide
}

// kept says whether every row of a side comes through the join.
func (e *earlyAggregate) kept(s side) bool {
	return e.join.Kind == plan.Left && s == leftSide || e.join.Kind == plan.Right && s == rightSide
}

// mayOverflow says whether a sum can have too many digits for its type, with fewer than 10^19 rows.
func mayOverflow(c plan.AggregateCall) bool {
	switch c.Name {
	case "sum", "sum_no_overflow", "avg", "mean":
		of := c.Args[0].Type()
		return of.Kind == plan.HugeInt || of.Kind == plan.UHugeInt || of.Kind == plan.Decimal && of.Width > 19
	}
	return false
}

// callsOf are the calls over a side's own columns, if they are about that side alone, count nothing that the join makes up, and
// do not fail for rows that it drops.
func (e *earlyAggregate) callsOf(s side) ([]plan.AggregateCall, bool) {
	out := slices.Clone(e.calls)
	for i, c := range e.calls {
		switch c.Name {
		case "count_star":
			if e.madeUp(s) {
				return nil, false
			}
		case "count", "sum", "sum_no_overflow", "min", "max", "avg", "mean", "bool_and", "bool_or":
		default:
			return nil, false
		}
		read := append(slices.Clone(c.Args), c.Filter)
		if c.Filter == nil {
			read = c.Args
		}
		for _, col := range plan.ColumnsUsed(read...) {
			if _, ok := e.column(s, col); !ok {
				return nil, false
			}
		}
		if _, plain := columnRefs(c.Args); e.madeUp(s) && (!plain || c.Filter != nil) || anyVolatile(read) {
			return nil, false
		}
		if !e.kept(s) && (mayOverflow(c) || slices.ContainsFunc(read, func(x plan.Expr) bool { return !plan.Total(x) })) {
			return nil, false
		}
		own := func(x plan.Expr) plan.Expr {
			return plan.MapColumns(x, func(col int) int { in, _ := e.column(s, col); return in })
		}
		out[i].Args = slices.Clone(c.Args)
		for k, a := range c.Args {
			out[i].Args[k] = own(a)
		}
		out[i].Filter = own(c.Filter)
	}
	return out, true
}

// keysOf are the columns of a side that tell its rows apart above: those of the join's conditions, and of the groups. Floating
// point numbers that are one group may differ (0.0 and -0.0) to all but =.
func (e *earlyAggregate) keysOf(s side) ([]int, bool) {
	var keys []int
	add := func(x plan.Expr) bool {
		ref, ok := x.(*plan.ColumnRef)
		if !ok || ref.Of.Kind == plan.Float || ref.Of.Kind == plan.Double {
			return false
		}
		if !slices.Contains(keys, ref.Index) {
			keys = append(keys, ref.Index)
		}
		return true
	}
	for _, c := range e.join.Conds {
		own := c.Left
		if s == rightSide {
			own = c.Right
		}
		if c.Op != plan.Equal && c.Op != plan.NotDistinctFrom || !add(own) {
			return nil, false
		}
	}
	for _, g := range e.groups {
		inside := false
		for _, col := range plan.ColumnsUsed(g) {
			_, own := e.column(s, col)
			inside = inside || own
		}
		if anyVolatile([]plan.Expr{g}) {
			return nil, false
		}
		if !inside {
			continue
		}
		ref, ok := g.(*plan.ColumnRef)
		if !ok {
			return nil, false
		}
		col, _ := e.column(s, ref.Index)
		if !add(&plan.ColumnRef{Index: col, Of: ref.Of}) {
			return nil, false
		}
	}
	return keys, true
}

// worth says whether the states, of which there are at most as many in a task as the other side has rows, take less to exchange
// than the rows, or than dividing both sides by ranges. It is said of tables alone: how many rows others have is not known.
func (e *earlyAggregate) worth(s side, keys []int, states plan.Schema) bool {
	d, j := e.d, &joining{d: e.d, n: e.join}
	if len(keys) > len(e.join.Conds) || !isTable(e.join.Left) || !isTable(e.join.Right) {
		return false
	}
	for _, each := range []side{leftSide, rightSide} {
		p, err := d.distribute(e.join.Children()[each])
		if err != nil {
			return false
		}
		j.set(each, p)
	}
	j.leftKeys, j.rightKeys = hashableKeys(e.join)
	mine, other := j.at(s), j.at(s.other())
	if mine.isSingle() || mayBroadcast(e.join, s.other()) && j.fits(s.other()) || len(j.leftKeys) == 0 {
		return false
	}
	tasks := float64(len(d.packTasks(mine.units)))
	if mine.rows/tasks < minRowsAState*other.rows {
		return false
	}
	by, _ := j.division(j.left, j.right, func(s side, col int) origin { return d.originOf(j.at(s), col) })
	return by == nil || readCost*by.again/d.parallel(len(by.cuts)+1) > d.writeTime(other.rows*tasks*rowWidth(states), len(mine.units))
}

func isAggregate(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Aggregate:
		return true
	case *plan.Project:
		return isAggregate(n.Input)
	}
	return false
}

// isTable says whether a node reads one table, which distributing it makes no stage of.
func isTable(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.IcebergScan:
		return true
	case *plan.Filter:
		return isTable(n.Input)
	case *plan.Project:
		return isTable(n.Input)
	}
	return false
}
