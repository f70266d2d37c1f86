package planner

import (
	"reflect"

	"github.com/seracdb/serac/plan"
)

// distinct removes duplicates in each task, brings equal rows together and removes them again. DISTINCT ON picks a first
// row, so its rows are brought together as they are.
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
		in = on(in)
	}
	if anyVolatile(keys) { // computed again after the exchange, they would give other values than it went by
		all, err := d.gather(in)
		if err != nil {
			return nil, err
		}
		return on(all).note("distinct: in one task, its keys are volatile"), nil
	}
	rows, err := d.repartition(in, keys)
	if err != nil {
		return nil, err
	}
	return on(rows).note("distinct: equal rows brought together"), nil
}

// window repartitions by PARTITION BY where all calls share it; else it needs all rows in one task.
func (d *distributor) window(n *plan.Window) (*piece, error) {
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	keys := commonPartition(n.Calls)
	if cols, plain := columnRefs(keys); !in.isSingle() && len(keys) > 0 && !(plain && in.hash != nil && containsAll(cols, in.hash)) {
		if in, err = d.repartition(in, keys); err != nil {
			return nil, err
		}
		in = in.note("window: rows repartitioned by PARTITION BY")
	} else if len(keys) == 0 {
		if in, err = d.gather(in); err != nil {
			return nil, err
		}
	}
	return in.over(n.WithChildren([]plan.Node{in.node})).sized(), nil
}

// commonPartition is the PARTITION BY of all calls, nil when they differ or have none.
func commonPartition(calls []plan.WindowCall) []plan.Expr {
	keys := calls[0].PartitionBy
	if anyVolatile(keys) {
		return nil
	}
	for _, c := range calls[1:] {
		if len(c.PartitionBy) != len(keys) {
			return nil
		}
		for i := range keys {
			if !reflect.DeepEqual(keys[i], c.PartitionBy[i]) {
				return nil
			}
		}
	}
	return keys
}

func allColumns(s plan.Schema) []plan.Expr {
	cols := make([]plan.Expr, len(s))
	for i, c := range s {
		cols[i] = &plan.ColumnRef{Index: i, Of: c.Type}
	}
	return cols
}
