package planner

import "github.com/seracdb/serac/plan"

// distinct removes duplicates in each task, brings equal rows together and removes them again. The first row of a DISTINCT
// ON is among the first ones of the tasks.
func (d *distributor) distinct(n *plan.Distinct) (*piece, error) {
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	on := func(p *piece) *piece {
		out := p.over(n.WithChildren([]plan.Node{p.node}))
		out.rows = max(1, out.rows*0.5)
		return out.sized()
	}
	if in.isSingle() {
		return on(in), nil
	}
	keys := n.On
	if len(keys) == 0 {
		keys = allColumns(in.node.Schema())
	}
	if cols, plain := columnRefs(keys); plain {
		if p, ok := d.togetherByRanges(in, cols, in.bytes*0.5); ok {
			return on(p).note("distinct: equal rows are in one task"), nil
		}
	}
	if !anyVolatile(keys) && !volatileKeys(n.OrderBy) {
		in = on(in)
	}
	if anyVolatile(keys) { // computed again after the exchange, they would give other values than it went by
		all, err := d.gather(in)
		if err != nil {
			return nil, err
		}
		return on(all).note("distinct: in one task, its keys are volatile"), nil
	}
	rows, err := d.regroup(in, keys)
	if err != nil {
		return nil, err
	}
	return on(rows).note("distinct: equal rows brought together"), nil
}

func allColumns(s plan.Schema) []plan.Expr {
	cols := make([]plan.Expr, len(s))
	for i, c := range s {
		cols[i] = &plan.ColumnRef{Index: i, Of: c.Type}
	}
	return cols
}
