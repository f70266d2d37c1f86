package planner

import "github.com/seracdb/serac/plan"

// asOf distributes an ASOF join: a row's nearest partner is among those that have its equality keys, so both sides may be
// partitioned on these; or the right side, where it is small, is seen whole by every task. The left side is never sent
// around: what is nearest shows only among all of the right side. RIGHT and FULL ones stay in one task (DuckDB hangs in some
// of them over parts of the rows, and in some over all).
func (d *distributor) asOf(n *plan.Join) (*piece, error) {
	switch n.Kind {
	case plan.Inner, plan.Left, plan.LeftSemi, plan.LeftAnti:
	default:
		return d.single(n)
	}
	left, err := d.distributeBesides(n.Left)
	if err != nil {
		return nil, err
	}
	right, err := d.distribute(n.Right)
	if err != nil {
		return nil, err
	}
	j := &joining{d: d, n: n, left: left, right: right}
	j.leftKeys, j.rightKeys = hashableKeys(n)
	switch {
	case left.isSingle() && right.isSingle():
		return j.put(left, right, []unit{left.units[0].merge(right.units[0])}, nil), nil
	case d.options.BroadcastThreshold >= 0 && right.bytes <= float64(d.options.BroadcastThreshold), len(j.leftKeys) == 0:
		return j.broadcast(rightSide)
	}
	return j.partitioned()
}
