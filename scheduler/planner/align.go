package planner

import (
	"slices"

	"github.com/seracdb/serac/plan"
)

// alignKeys lets the join's keys follow the way in which a side (the larger one that can be followed) is partitioned
// already, so that the side stays where it is: the keys in another order, or some of them. Rows that meet agree in all
// keys, so they are together when partitioned on some.
func (j *joining) alignKeys() {
	type option struct {
		bytes       float64
		left, right []plan.Expr
	}
	var best *option
	follow := func(p *piece, keys []plan.Expr) {
		if p.hash == nil || len(p.units) != j.d.options.ShufflePartitions || best != nil && best.bytes >= p.bytes {
			return
		}
		o := option{bytes: p.bytes}
		for _, col := range p.hash {
			at := slices.IndexFunc(keys, func(e plan.Expr) bool {
				ref, ok := e.(*plan.ColumnRef)
				return ok && ref.Index == col
			})
			if at < 0 {
				return
			}
			o.left, o.right = append(o.left, j.leftKeys[at]), append(o.right, j.rightKeys[at])
		}
		best = &o
	}
	follow(j.left, j.leftKeys)
	follow(j.right, j.rightKeys)
	if best != nil {
		j.leftKeys, j.rightKeys = best.left, best.right
	}
}
