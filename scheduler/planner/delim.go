package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
)

// delimSet is what the DelimGets of a delim join read while its other side is distributed: the distinct values of its
// keys. A nil *delimSet marks a delim join that stays whole in one fragment, whose DelimGets stay as they are.
type delimSet struct {
	bound
	hash []int
}

// delimJoin distributes a correlated subquery. The keys' side is computed once, as a stage partitioned on the keys, so
// that its distinct keys are distinct within each partition. The other side reads them like any other input: broadcast
// where they are few, partitioned where they are many. Then the two sides are joined by an ordinary join. Where all that is
// large in it can be read by ranges of a key, it stays whole (ranges.go).
func (d *distributor) delimJoin(n *plan.DelimJoin) (*piece, error) {
	source, other := delimSides(n)
	if n.Lateral || d.hasFreeReference(n) {
		return d.single(n)
	}
	in, err := d.distributeBesides(source)
	if err != nil {
		return nil, err
	}
	if in.isSingle() && d.oneUnit(other) {
		return d.delimInOneTask(n, in, other)
	}
	if p, ok := d.delimByRanges(n, in, other); ok {
		return p, nil
	}
	keys := correlations(n)
	stage, err := d.delimRows(in, keys)
	if err != nil {
		return nil, err
	}
	if err := d.measure(stage); err != nil {
		return nil, err
	}
	read := func() *piece {
		p := d.read(stage)
		if stage.partitions > 1 {
			p.hash = keys.source
		}
		return p
	}
	set, err := d.delimSet(n, read(), delimGets(other))
	if err != nil {
		return nil, err
	}
	out, err := d.inDelim(set, other, d.distribute)
	if err != nil {
		return nil, err
	}
	left, right := read(), out
	if n.Flipped {
		left, right = right, left
	}
	j := &joining{d: d, n: n.Join, left: left, right: right, leftKeys: keys.left, rightKeys: keys.right}
	return j.decide()
}

// delimSides gives the side whose keys the other's DelimGets read, and the other.
func delimSides(n *plan.DelimJoin) (source, other plan.Node) {
	if n.Flipped {
		return n.Join.Right, n.Join.Left
	}
	return n.Join.Left, n.Join.Right
}

// correlation is what ties the two sides of a delim join together: the conditions by which the keys are not distinct.
// Partitioning on them alone is right for every kind, for mark joins too: a row is marked by the rows of its own keys
// only, and NULLs are equal here.
type correlation struct {
	left, right []plan.Expr
	// source are the columns of the keys' side that it is partitioned on: those of the conditions, or else the keys.
	source []int
}

func correlations(n *plan.DelimJoin) correlation {
	_, other := delimSides(n)
	joined := joinedKeys(other)
	var c correlation
	for _, cond := range n.Join.Conds {
		key := cond.Left
		if n.Flipped {
			key = cond.Right
		}
		ref, ok := key.(*plan.ColumnRef)
		if !ok || cond.Op != plan.NotDistinctFrom || !slices.Contains(n.Keys, ref.Index) || slices.Contains(c.source, ref.Index) ||
			!cond.Left.Type().Equal(cond.Right.Type()) || isVolatile(cond.Left) || isVolatile(cond.Right) {
			continue
		}
		c.left, c.right = append(c.left, cond.Left), append(c.right, cond.Right)
		c.source = append(c.source, ref.Index)
	}
	if len(c.source) == 0 {
		c.source = n.Keys
	}
	return c.only(func(col int) bool { return joined[slices.Index(n.Keys, col)] })
}

// only keeps the conditions on some columns of the keys' side, unless none would be left.
func (c correlation) only(keep func(col int) bool) correlation {
	var kept correlation
	for i, col := range c.source {
		if len(c.left) == len(c.source) && keep(col) {
			kept.left, kept.right = append(kept.left, c.left[i]), append(kept.right, c.right[i])
			kept.source = append(kept.source, col)
		}
	}
	if len(kept.source) == 0 {
		return c
	}
	return kept
}

// joinedKeys are the keys (by position) on which the other side joins with the set of them: partitioned on those alone,
// the keys' side, the set and what is joined with it stay together. Where the set is read several times it is the keys
// that all the joins have in common.
func joinedKeys(n plan.Node) map[int]bool {
	var common map[int]bool
	add := func(keys map[int]bool) {
		if common == nil {
			common = keys
			return
		}
		maps.DeleteFunc(common, func(k int, _ bool) bool { return !keys[k] })
	}
	if join, ok := n.(*plan.Join); ok {
		for _, s := range []side{leftSide, rightSide} {
			columns := delimColumns(join.Children()[s])
			keys := map[int]bool{}
			for _, c := range join.Conds {
				ref, ok := []plan.Expr{c.Left, c.Right}[s].(*plan.ColumnRef)
				if ok && columns != nil && columns[ref.Index] >= 0 && (c.Op == plan.Equal || c.Op == plan.NotDistinctFrom) {
					keys[columns[ref.Index]] = true
				}
			}
			if len(keys) > 0 {
				add(keys)
			}
		}
	}
	children := n.Children()
	if join, ok := n.(*plan.DelimJoin); ok { // its other side reads another set
		source, _ := delimSides(join)
		children = []plan.Node{source}
	}
	for _, c := range children {
		if keys := joinedKeys(c); keys != nil {
			add(keys)
		}
	}
	return common
}

// delimColumns says for each output column of a DelimGet, perhaps under filters and projections, which key it is, -1 for
// none; nil for other nodes.
func delimColumns(n plan.Node) []int {
	switch n := n.(type) {
	case *plan.DelimGet:
		columns := make([]int, len(n.Out))
		for i := range columns {
			columns[i] = i
		}
		return columns
	case *plan.Filter:
		return delimColumns(n.Input)
	case *plan.Project:
		below := delimColumns(n.Input)
		if below == nil {
			return nil
		}
		columns := make([]int, len(n.Exprs))
		for i, e := range n.Exprs {
			columns[i] = -1
			if ref, ok := e.(*plan.ColumnRef); ok {
				columns[i] = below[ref.Index]
			}
		}
		return columns
	}
	return nil
}

// delimRows makes the keys' side a stage.
func (d *distributor) delimRows(in *piece, keys correlation) (*sharedStage, error) {
	types := in.node.Schema().Types()
	exprs := make([]plan.Expr, len(keys.source))
	for i, k := range keys.source {
		exprs[i] = &plan.ColumnRef{Index: k, Of: types[k]}
	}
	partitions := d.options.ShufflePartitions
	if in.isSingle() || d.options.BroadcastThreshold >= 0 && in.bytes <= replicateThreshold {
		partitions = 1
	}
	return d.exchange(in.note("correlated subquery: the outer rows, computed once"), exprs, partitions)
}

// delimSet makes the distinct keys of the keys' side.
func (d *distributor) delimSet(n *plan.DelimJoin, source *piece, gets int) (*delimSet, error) {
	schema := source.node.Schema()
	exprs, names := make([]plan.Expr, len(n.Keys)), make([]string, len(n.Keys))
	for i, k := range n.Keys {
		exprs[i], names[i] = &plan.ColumnRef{Index: k, Of: schema[k].Type}, schema[k].Name
	}
	set := source.over(&plan.Distinct{Input: &plan.Project{Input: source.node, Exprs: exprs, Names: names}})
	set.hash = mapColumns(source.hash, func(col int) int { return slices.Index(n.Keys, col) })
	set.rows = max(1, set.rows*0.5)
	set.sized().note("correlated subquery: the distinct values of %s", count(len(n.Keys), "key"))
	if gets < 2 {
		return &delimSet{bound: bound{inline: set}}, nil
	}
	types := set.node.Schema().Types()
	var keys []plan.Expr
	for _, c := range set.hash {
		keys = append(keys, &plan.ColumnRef{Index: c, Of: types[c]})
	}
	stage, err := d.exchange(set, keys, len(set.units))
	if err != nil {
		return nil, err
	}
	return &delimSet{bound: bound{stage: stage}, hash: set.hash}, nil
}

// inDelim distributes the other side of a delim join.
func (d *distributor) inDelim(set *delimSet, other plan.Node, distribute func(plan.Node) (*piece, error)) (*piece, error) {
	d.delims = append(d.delims, set)
	defer func() { d.delims = d.delims[:len(d.delims)-1] }()
	return distribute(other)
}

// delimGet reads the set of the nearest enclosing delim join.
func (d *distributor) delimGet(n *plan.DelimGet) (*piece, error) {
	set := d.boundDelim()
	if set == nil {
		return nil, fmt.Errorf("distribute: no delim join around a read of its keys")
	}
	if set.inline != nil {
		return set.inline, nil
	}
	p := d.read(set.stage)
	p.hash = set.hash
	return p, nil
}

// delimGets counts the reads of the set that n's delim join makes.
func delimGets(n plan.Node) int {
	switch n := n.(type) {
	case *plan.DelimGet:
		return 1
	case *plan.DelimJoin: // what lies in its other side reads its own set
		source, _ := delimSides(n)
		return delimGets(source)
	case *plan.RecursiveCTE: // its second part runs many times
		return delimGets(n.Initial) + 2*delimGets(n.Recursive)
	}
	gets := 0
	for _, c := range n.Children() {
		gets += delimGets(c)
	}
	return gets
}

// delimInOneTask keeps a delim join whole where nothing below it is spread over tasks.
func (d *distributor) delimInOneTask(n *plan.DelimJoin, source *piece, other plan.Node) (*piece, error) {
	in, err := d.inDelim(nil, other, d.gathered)
	if err != nil {
		return nil, err
	}
	left, right := source, in
	if n.Flipped {
		left, right = right, left
	}
	out := &piece{
		node:  n.WithChildren([]plan.Node{left.node, right.node}),
		units: []unit{left.units[0].merge(right.units[0])},
		rows:  max(left.rows, right.rows),
		notes: append(slices.Clip(left.notes), right.notes...),
	}
	return out.sized(), nil
}

// oneUnit says whether everything that n reads is read by one unit each, so that nothing in it is spread.
func (d *distributor) oneUnit(n plan.Node) bool {
	one := true
	plan.Walk(n, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.IcebergScan:
			p, err := d.scan(n)
			one = one && err == nil && p.isSingle()
		case *plan.Extension:
			if _, leaf := n.Leaf(); leaf {
				p, err := d.extension(n)
				one = one && err == nil && p.isSingle()
			}
		case *plan.CTERef:
			s, ok := d.ctes[n.Index]
			one = one && (!ok || s.oneUnit())
		case *plan.DelimGet:
			// Of a delim join further out, or of one in n: that one's set has no more units than what it is made of.
			set := d.boundDelim()
			one = one && (set == nil || set.oneUnit())
		}
		return one
	})
	return one
}

// boundDelim is the innermost set that DelimGets may read; nil when there is none, or when they stay as they are.
func (d *distributor) boundDelim() *delimSet {
	if len(d.delims) == 0 {
		return nil
	}
	return d.delims[len(d.delims)-1]
}
