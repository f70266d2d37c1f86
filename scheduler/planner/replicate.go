package planner

import (
	"github.com/seracdb/serac/plan"
)

// replicated gives a small piece in a form that every task can read whole, without a stage of its own: scans and stages'
// outputs, read again by each task, under operators that are cheap to repeat. ok is false when it must be computed once.
func (d *distributor) replicated(p *piece) (node plan.Node, all unit, ok bool) {
	if !repeatable(p.node) {
		return nil, nil, false
	}
	merged := mergeAll(p.units)
	var scanned, shuffled float64
	plain := true
	plan.Walk(p.node, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.IcebergScan:
			scanned += merged[n.Leaf].bytes
		case *plan.Extension:
			if leaf, ok := n.Leaf(); ok {
				scanned += merged[leaf].bytes
			}
		case *plan.ShuffleRead:
			shuffled += float64(n.EstimatedBytes)
		case *plan.Join:
			plain = false
		}
		return true
	})
	// What comes from a stage goes to every task in any case: the question is only whether to compute on it again there.
	affordable := scanned+shuffled <= replicateThreshold || plain && scanned == 0 && shuffled <= 2*p.bytes || d.cheapToRepeat(p)
	if !affordable {
		return nil, nil, false
	}
	all = unit{}
	node, err := plan.Transform(p.node, func(n plan.Node) (plan.Node, error) {
		switch n := n.(type) {
		case *plan.ShuffleRead:
			whole := *n
			whole.Broadcast = true
			all[n.Leaf] = reads{stage: n.Stage, all: true}
			return &whole, nil
		case *plan.IcebergScan:
			all[n.Leaf] = merged[n.Leaf]
		case *plan.MetadataScan:
			all[n.Leaf] = merged[n.Leaf]
		case *plan.Extension:
			if leaf, ok := n.Leaf(); ok {
				all[leaf] = merged[leaf]
			}
		case *plan.Values:
			all[n.Leaf] = merged[n.Leaf]
		}
		return n, nil
	})
	return node, all, err == nil
}
