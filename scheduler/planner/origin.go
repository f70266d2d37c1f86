package planner

import (
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
)

// origin says where the values of a piece's column come from: columns of the tables' scans, by leaf. If each of these scans
// reads one range of values in a unit, then the unit has just the piece's rows whose column is in the range. All else that the
// piece reads, every unit reads whole.
type origin map[plan.LeafID]scanColumn

type scanColumn struct {
	scan  *plan.IcebergScan
	index int // among the scan's columns
}

func (o origin) same(as origin) bool {
	return maps.EqualFunc(o, as, func(a, b scanColumn) bool { return a.index == b.index })
}

// originOf follows a column of a piece to scans; nil where that is not possible.
func (d *distributor) originOf(p *piece, col int) origin {
	return d.follow(p.node, col, func(join *plan.Join, s side) bool { return d.everywhere(p, join, s) })
}

// likelyOrigin is originOf before a node is distributed: it takes a small side of a join for one that every task will read.
func (d *distributor) likelyOrigin(n plan.Node, col int) origin {
	return d.follow(n, col, func(join *plan.Join, s side) bool {
		small := d.weight(join.Children()[s])
		return mayBroadcast(join, s) && small <= float64(d.options.BroadcastThreshold) && small < d.weight(join.Children()[s.other()])
	})
}

func (d *distributor) follow(n plan.Node, col int, everywhere func(*plan.Join, side) bool) origin {
	f := newFollowing(everywhere)
	if !f.column(n, col) {
		return nil
	}
	return f.to
}

type following struct {
	// everywhere says whether all units read a side of a join whole.
	everywhere func(*plan.Join, side) bool
	to         origin
	whole      map[plan.LeafID]bool // the leaves of such sides, by which it went on: they must not be divided
	delims     []*plan.DelimJoin    // those whose other side is being followed, outermost first
}

func newFollowing(everywhere func(*plan.Join, side) bool) *following {
	return &following{everywhere: everywhere, to: origin{}, whole: map[plan.LeafID]bool{}}
}

// column follows a column through operators that may run on the rows of each range of its values apart.
func (f *following) column(n plan.Node, col int) bool {
	switch n := n.(type) {
	case *plan.IcebergScan:
		if have, ok := f.to[n.Leaf]; ok {
			return have.index == col
		}
		if f.whole[n.Leaf] {
			return false
		}
		f.to[n.Leaf] = scanColumn{scan: n, index: col}
		return true
	case *plan.Filter:
		return f.column(n.Input, col)
	case *plan.Unnest:
		return col < len(n.Input.Schema()) && f.column(n.Input, col)
	case *plan.Project:
		return f.expr(n.Input, n.Exprs[col])
	case *plan.Aggregate:
		return len(n.Sets) == 0 && col < len(n.Groups) && f.expr(n.Input, n.Groups[col])
	case *plan.Distinct:
		return (len(n.On) == 0 || hasColumn(n.On, col)) && f.column(n.Input, col)
	case *plan.Window:
		for _, c := range n.Calls {
			if !hasColumn(c.PartitionBy, col) {
				return false
			}
		}
		return f.column(n.Input, col)
	case *plan.Join:
		return f.join(n, col)
	case *plan.DelimJoin:
		s, of, ok := sideOf(n.Join, col)
		return ok && (s == rightSide) == n.Flipped && f.delimJoin(n, of)
	case *plan.DelimGet:
		return f.delimGet(n, col)
	}
	return false
}

func (f *following) expr(n plan.Node, e plan.Expr) bool {
	ref, ok := e.(*plan.ColumnRef)
	return ok && f.column(n, ref.Index)
}

func hasColumn(exprs []plan.Expr, col int) bool {
	return slices.ContainsFunc(exprs, func(e plan.Expr) bool {
		ref, ok := e.(*plan.ColumnRef)
		return ok && ref.Index == col
	})
}

// join follows a column to its side. The other side is read whole by all, or it is in the same ranges: rows that meet agree in
// a condition of the join.
func (f *following) join(n *plan.Join, col int) bool {
	s, col, ok := sideOf(n, col)
	if !ok || n.Positional || n.AsOf {
		return false
	}
	child, other := n.Children()[s], n.Children()[s.other()]
	if f.everywhere(n, s.other()) && f.keepWhole(other) {
		return f.column(child, col)
	}
	if n.Kind == plan.Mark { // a NULL anywhere on its right side changes every mark
		return false
	}
	before, whole := maps.Clone(f.to), maps.Clone(f.whole)
	for _, c := range n.Conds {
		mine, theirs := c.Left, c.Right
		if s == rightSide {
			mine, theirs = theirs, mine
		}
		equal := (c.Op == plan.Equal || c.Op == plan.NotDistinctFrom) && c.Left.Type().Equal(c.Right.Type())
		if equal && f.column(child, col) && f.expr(child, mine) && f.expr(other, theirs) {
			return true
		}
		f.to, f.whole = maps.Clone(before), maps.Clone(whole)
	}
	return false
}

// keepWhole says whether nothing of a side is divided yet, and has it stay so.
func (f *following) keepWhole(n plan.Node) bool {
	free := true
	eachLeaf(n, func(_ plan.Node, leaf plan.LeafID) {
		_, divided := f.to[leaf]
		free = free && !divided
	})
	if free {
		eachLeaf(n, func(_ plan.Node, leaf plan.LeafID) { f.whole[leaf] = true })
	}
	return free
}

// delimJoin follows a column of the keys' side. A row meets what the other side gives for its own keys: if one of these is in the
// same ranges, each range has all of it.
func (f *following) delimJoin(n *plan.DelimJoin, col int) bool {
	if n.Lateral {
		return false
	}
	source, other := delimSides(n)
	before, whole := maps.Clone(f.to), maps.Clone(f.whole)
	for _, c := range n.Join.Conds {
		mine, theirs := c.Left, c.Right
		if n.Flipped {
			mine, theirs = theirs, mine
		}
		key, ok := mine.(*plan.ColumnRef)
		if !ok || c.Op != plan.NotDistinctFrom || !slices.Contains(n.Keys, key.Index) || !c.Left.Type().Equal(c.Right.Type()) {
			continue
		}
		if f.column(source, col) && f.column(source, key.Index) {
			f.delims = append(f.delims, n)
			ok := f.expr(other, theirs)
			f.delims = f.delims[:len(f.delims)-1]
			if ok {
				return true
			}
		}
		f.to, f.whole = maps.Clone(before), maps.Clone(whole)
	}
	return false
}

// delimGet follows a key of the nearest delim join around to its keys' side.
func (f *following) delimGet(n *plan.DelimGet, col int) bool {
	if len(f.delims) == 0 || col >= len(n.Out) {
		return false
	}
	around := f.delims
	join := around[len(around)-1]
	f.delims = slices.Clip(around[:len(around)-1]) // what is followed from here on is not to take this one's place
	source, _ := delimSides(join)
	ok := f.column(source, join.Keys[col])
	f.delims = around
	return ok
}

// sideOf says which side of a join an output column is of, and which column there; ok is false where the join makes up NULLs
// for it: those are in no range.
func sideOf(n *plan.Join, col int) (s side, of int, ok bool) {
	left := len(n.Left.Schema())
	switch n.Kind {
	case plan.Inner:
		if col >= left {
			return rightSide, col - left, true
		}
		return leftSide, col, true
	case plan.Left, plan.LeftSemi, plan.LeftAnti, plan.Single, plan.Mark:
		return leftSide, col, col < left
	case plan.Right:
		return rightSide, col - left, col >= left
	case plan.RightSemi, plan.RightAnti:
		return rightSide, col, true
	case plan.Full:
	}
	return leftSide, 0, false
}

// everywhere says whether each unit of a piece reads a side of a join whole, or may do so if the piece has one unit.
func (d *distributor) everywhere(p *piece, join *plan.Join, s side) bool {
	n := join.Children()[s]
	if !mayBroadcast(join, s) || !repeatable(n) {
		return false
	}
	whole := true
	var bytes float64
	eachLeaf(n, func(_ plan.Node, leaf plan.LeafID) {
		first := p.units[0][leaf]
		bytes += first.bytes
		if p.isSingle() {
			whole = whole && (first.stage == 0 && len(first.partitions) == 0 || first.all)
			return
		}
		for _, u := range p.units[1:] {
			whole = whole && first.sameAs(u[leaf])
		}
	})
	return whole && (!p.isSingle() || bytes <= replicateThreshold)
}

// sameAs says whether two units read the same of a leaf: all of it.
func (r reads) sameAs(o reads) bool {
	switch {
	case r.all || r.constant:
		return r.all == o.all && r.constant == o.constant && r.stage == o.stage
	case len(r.files) > 0:
		return slices.Equal(r.files, o.files)
	case len(r.splits) > 0:
		return slices.Equal(r.splits, o.splits)
	}
	return len(r.partitions)+len(o.files)+len(o.splits)+len(o.partitions) == 0 && !o.all && !o.constant
}
