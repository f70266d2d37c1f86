package planner

import (
	"reflect"
	"slices"

	"github.com/seracdb/serac/plan"
)

// join picks, in this order: both sides in one task already; both read by the same ranges of a key; the small side replicated or
// broadcast, where the join kind allows it (each row of the other side must meet all of it, and rows of the small side must not
// appear once per task); both sides partitioned on the keys; both gathered.
func (d *distributor) join(n *plan.Join) (*piece, error) {
	if n.AsOf {
		return d.asOf(n)
	}
	if n.Positional {
		return d.single(n)
	}
	j := &joining{d: d, n: n}
	j.leftKeys, j.rightKeys = hashableKeys(n)
	if j.adapts() {
		if done, err := j.adaptive(); done != nil || err != nil {
			return done, err
		}
	} else {
		if err := j.besides(leftSide); err != nil {
			return nil, err
		}
		if err := j.distribute(rightSide); err != nil {
			return nil, err
		}
	}
	return j.decide()
}

// decide picks the strategy once both sides are distributed.
func (j *joining) decide() (*piece, error) {
	left, right := j.left, j.right
	if left.isSingle() && right.isSingle() {
		return j.put(left, right, []unit{left.units[0].merge(right.units[0])}, nil), nil
	}
	if p, ok := j.byRanges(); ok {
		return p, nil
	}
	switch {
	case j.canBroadcast(rightSide) && (right.bytes <= left.bytes || !j.canBroadcast(leftSide)):
		return j.broadcast(rightSide)
	case j.canBroadcast(leftSide):
		return j.broadcast(leftSide)
	case len(j.leftKeys) > 0:
		return j.partitioned()
	default:
		return j.gathered()
	}
}

type side int

const (
	leftSide side = iota
	rightSide
)

func (s side) other() side { return rightSide - s }

type joining struct {
	d                   *distributor
	n                   *plan.Join
	left, right         *piece
	leftKeys, rightKeys []plan.Expr
}

func (j *joining) at(s side) *piece {
	if s == leftSide {
		return j.left
	}
	return j.right
}

func (j *joining) set(s side, p *piece) {
	if s == leftSide {
		j.left = p
	} else {
		j.right = p
	}
}

func (j *joining) keys(s side) []plan.Expr {
	if s == leftSide {
		return j.leftKeys
	}
	return j.rightKeys
}

// besides distributes an input of the join while the other one has not been started yet.
func (j *joining) besides(s side) error {
	p, err := j.d.distributeBesides(j.n.Children()[s])
	if err == nil {
		j.set(s, p)
	}
	return err
}

// distribute distributes an input of the join.
func (j *joining) distribute(s side) error {
	p, err := j.d.distribute(j.n.Children()[s])
	if err != nil {
		return err
	}
	j.set(s, p)
	return nil
}

// mayBroadcast says whether a side of a join may be seen whole by every task. A side whose unmatched rows (or whose rows at
// all, for a semi join that returns them) are in the result would give them once per task.
func mayBroadcast(n *plan.Join, s side) bool {
	if n.AsOf && s == leftSide {
		return false // a left row's nearest partner shows only among all of the right side
	}
	switch n.Kind {
	case plan.Inner:
		return true
	case plan.Left, plan.LeftSemi, plan.LeftAnti, plan.Mark, plan.Single:
		return s == rightSide
	case plan.Right, plan.RightSemi, plan.RightAnti:
		return s == leftSide
	case plan.Full:
		return false
	}
	return false
}

// canBroadcast says whether a side may be seen whole by every task and is small enough, or there is no other way for the
// other side to stay spread.
func (j *joining) canBroadcast(s side) bool {
	return mayBroadcast(j.n, s) && (j.fits(s) && j.worthBroadcast(s) || len(j.leftKeys) == 0 || !j.d.canExchange(j.at(s.other()).node.Schema()))
}

// fits says whether a side is small enough to be sent to every task.
func (j *joining) fits(s side) bool {
	return j.d.options.BroadcastThreshold >= 0 && j.at(s).bytes <= float64(j.d.options.BroadcastThreshold)
}

func (j *joining) broadcast(s side) (*piece, error) {
	small, large := j.right, j.left
	if s == leftSide {
		small, large = j.left, j.right
	}
	var all unit
	note := "join: small side (about %s) sent to every task"
	node, whole, replicated := j.d.replicated(small)
	switch {
	case small.from != nil:
		notes := small.notes // of what was learned of the side; others stand with the stage
		small, all = j.d.readBroadcast(small.from)
		small.notes = notes
	case replicated:
		small = &piece{node: node, rows: small.rows, bytes: small.bytes, dropped: small.dropped, notes: small.notes}
		all, note = whole, "join: small side (about %s) read by every task"
	default:
		stage, err := j.d.exchange(small, nil, 1)
		if err != nil {
			return nil, err
		}
		small, all = j.d.readBroadcast(stage)
	}
	units := make([]unit, len(large.units))
	for i, u := range large.units {
		units[i] = u.merge(all)
	}
	left, right := large, small
	if s == leftSide {
		left, right = small, large
	}
	p := j.put(left, right, units, j.hashAfter(s, large.hash))
	p.cut = large.cut
	p.notes = append(slices.Clip(large.notes), small.notes...)
	return p.note(note, plan.BytesText(small.bytes)), nil
}

// hashAfter maps the large side's partitioning columns to the join's output.
func (j *joining) hashAfter(broadcast side, hash []int) []int {
	if broadcast == rightSide {
		return hash // the left side's columns come first in every kind that may broadcast the right side
	}
	switch j.n.Kind {
	case plan.RightSemi, plan.RightAnti:
		return hash
	default:
		return shift(hash, len(j.n.Left.Schema()))
	}
}

func shift(cols []int, by int) []int {
	return mapColumns(cols, func(col int) int { return col + by })
}

// partitionedAs says whether p is in the partitions that an exchange on keys would give.
func (j *joining) partitionedAs(p *piece, keys []plan.Expr) bool {
	if len(p.units) != j.d.options.ShufflePartitions {
		return false
	}
	cols, plain := columnRefs(keys)
	return plain && slices.Equal(p.hash, cols) || p.from != nil && p.from.partitions > 1 && reflect.DeepEqual(p.from.keys, keys)
}

func (j *joining) partitioned() (*piece, error) {
	j.alignKeys()
	for _, s := range []side{leftSide, rightSide} {
		p := j.at(s)
		if j.partitionedAs(p, j.keys(s)) {
			j.d.keepTogether(p)
			continue // as an earlier exchange has left it
		}
		p, err := j.d.repartition(p, j.keys(s))
		if err != nil {
			return nil, err
		}
		j.set(s, p)
	}
	left, right := j.left, j.right
	for _, s := range []side{leftSide, rightSide} {
		if mayBroadcast(j.n, s.other()) { // then parts of a partition may each meet the other side's whole partition
			j.d.mayScatter(j.at(s))
		}
	}
	units := make([]unit, len(left.units))
	for i := range units {
		units[i] = left.units[i].merge(right.units[i])
	}
	var hash []int
	switch j.n.Kind {
	case plan.Inner, plan.Left, plan.LeftSemi, plan.LeftAnti, plan.Mark, plan.Single:
		hash = left.hash
	case plan.Right:
		hash = shift(right.hash, len(j.n.Left.Schema()))
	case plan.RightSemi, plan.RightAnti:
		hash = right.hash
	case plan.Full:
		// Rows without a partner have NULL keys in every partition.
	}
	return j.put(left, right, units, hash).note("join: both sides partitioned on %s", count(len(j.leftKeys), "key")), nil
}

func (j *joining) gathered() (*piece, error) {
	left, err := j.d.gather(j.left)
	if err != nil {
		return nil, err
	}
	right, err := j.d.gather(j.right)
	if err != nil {
		return nil, err
	}
	p := j.put(left, right, []unit{left.units[0].merge(right.units[0])}, nil)
	return p.note("join: in one task, a %s join without equality keys", joinKindName(j.n.Kind)), nil
}

func (j *joining) put(left, right *piece, units []unit, hash []int) *piece {
	p := &piece{
		node:  j.n.WithChildren([]plan.Node{left.node, right.node}),
		units: units,
		hash:  hash,
		notes: append(slices.Clip(left.notes), right.notes...),
	}
	switch j.n.Kind {
	case plan.LeftSemi, plan.LeftAnti:
		p.keep(left, 0.5)
	case plan.RightSemi, plan.RightAnti:
		p.keep(right, 0.5)
	case plan.Left, plan.Single, plan.Mark:
		p.keep(left, 1)
	case plan.Right:
		p.keep(right, 1)
	case plan.Full:
		p.rows = max(left.rows, right.rows)
	case plan.Inner:
		switch {
		case len(j.n.Conds) == 0:
			p.rows = left.rows * right.rows
		case left.all() < right.all():
			p.keep(right, left.kept())
		default:
			p.keep(left, right.kept())
		}
	}
	return p.sized()
}

// keep estimates p at a part of a side's rows. That of an inner join is the part that the other side's conditions have left of
// it, when the other side has fewer rows without them: most joins are by a key that is unique in the smaller table, and each
// row of the larger one refers to a row there.
func (p *piece) keep(of *piece, part float64) {
	p.rows, p.dropped = of.rows*part, 1-of.kept()*part
}

// hashableKeys are the equality conditions that rows can be partitioned on: equal values of one type have one hash. A mark
// join must see the whole right side: a NULL anywhere in it changes every row's mark.
func hashableKeys(n *plan.Join) (left, right []plan.Expr) {
	if n.Kind == plan.Mark {
		return nil, nil
	}
	for _, c := range n.Conds {
		if (c.Op == plan.Equal || c.Op == plan.NotDistinctFrom) && c.Left.Type().Equal(c.Right.Type()) &&
			!isVolatile(c.Left) && !isVolatile(c.Right) {
			left, right = append(left, c.Left), append(right, c.Right)
		}
	}
	return left, right
}

func joinKindName(k plan.JoinKind) string {
	switch k {
	case plan.Inner:
		return "inner"
	case plan.Left:
		return "left"
	case plan.Right:
		return "right"
	case plan.Full:
		return "full"
	case plan.LeftSemi, plan.RightSemi:
		return "semi"
	case plan.LeftAnti, plan.RightAnti:
		return "anti"
	case plan.Mark:
		return "mark"
	case plan.Single:
		return "single"
	}
	return "unknown"
}
