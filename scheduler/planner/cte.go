package planner

import (
	"fmt"

	"github.com/seracdb/serac/plan"
)

// bound is something computed once, as those who refer to it read it: as a stage, or, when there is one reference, as the
// piece itself.
type bound struct {
	inline *piece
	stage  *sharedStage
}

func (b *bound) oneUnit() bool {
	if b.inline != nil {
		return b.inline.isSingle()
	}
	return b.stage.partitions == 1
}

// bytes estimates its size.
func (b *bound) bytes() float64 {
	if b.inline != nil {
		return b.inline.bytes
	}
	return b.stage.bytes
}

// cte makes the definition a stage of its own, computed once, that every reference reads. A definition that is read once
// becomes part of what reads it, unless it computes something volatile. What cannot stand alone (it reads a recursion)
// stays with its body in one task.
func (d *distributor) cte(n *plan.CTE) (*piece, error) {
	if d.hasFreeReference(n) {
		return d.single(n)
	}
	references := cteReferences(n.Body, n.Index)
	if references == 0 {
		return d.distribute(n.Body)
	}
	def, err := d.distributeBesides(n.Def)
	if err != nil {
		return nil, err
	}
	once := &bound{inline: def}
	if references > 1 || computesVolatile(n.Def) {
		partitions := 1
		if def.bytes > float64(max(d.options.BroadcastThreshold, 0)) {
			partitions = d.options.ShufflePartitions
		}
		once = &bound{}
		once.stage, err = d.exchange(def.note("CTE %s: computed once", n.Name), allColumns(n.Def.Schema()), partitions)
		if err != nil {
			return nil, err
		}
	}
	d.ctes[n.Index] = once
	defer delete(d.ctes, n.Index)
	return d.distribute(n.Body)
}

func (d *distributor) cteRef(n *plan.CTERef) (*piece, error) {
	once, ok := d.ctes[n.Index]
	switch {
	case !ok:
		return nil, fmt.Errorf("distribute: CTE %d is not in scope", n.Index)
	case once.inline != nil:
		return once.inline, nil
	}
	if err := d.measure(once.stage); err != nil {
		return nil, err
	}
	return d.read(once.stage), nil
}

// cteReferences counts the places in n that read a CTE. One in what runs many times (a recursion, a lateral subquery)
// counts for several.
func cteReferences(n plan.Node, index int) int {
	references := 0
	for _, c := range n.Children() {
		references += cteReferences(c, index)
	}
	switch n := n.(type) {
	case *plan.CTERef:
		if n.Index == index {
			references++
		}
	case *plan.RecursiveCTE:
		references += cteReferences(n.Recursive, index)
	case *plan.DelimJoin:
		if n.Lateral {
			_, other := delimSides(n)
			references += cteReferences(other, index)
		}
	}
	return references
}

// computesVolatile says whether a plan computes anything volatile.
func computesVolatile(n plan.Node) bool {
	found := false
	plan.Walk(n, func(n plan.Node) bool {
		found = found || anyVolatile(plan.NodeExprs(n))
		return !found
	})
	return found
}
