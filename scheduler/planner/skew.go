package planner

import (
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
)

const (
	// skewFactor is how many times larger than the middle one a partition is that should be split.
	skewFactor = 4
	// minSkewedPart keeps the parts of a split partition from being smaller than is worth a task.
	minSkewedPart = 8 << 20
)

// mayScatter marks the partitions that a side of a join reads: each may be read in parts, by several tasks that all see
// the other side's whole partition. keepTogether takes it back where something above relies on a partition being in one
// place.
func (d *distributor) mayScatter(p *piece) {
	for n := p.node; ; {
		switch at := n.(type) {
		case *plan.ShuffleRead:
			if !at.Broadcast && len(p.units) > 1 {
				d.scatter[at.Leaf] = true
			}
			return
		case *plan.Filter:
			n = at.Input
		case *plan.Project:
			n = at.Input
		default:
			return
		}
	}
}

// keepTogether says that an operator relies on rows with equal hash columns being in one unit of p.
func (d *distributor) keepTogether(p *piece) {
	for _, u := range p.units {
		for leaf := range u {
			delete(d.scatter, leaf)
		}
	}
}

// splitSkewed splits units that are much larger than the others along the tasks that wrote the larger side of the join.
func (o Options) splitSkewed(units []unit, scatter map[plan.LeafID]bool, inputs map[plan.StageID]*Output) []unit {
	if len(units) < 2 {
		return units
	}
	part, factor := float64(minSkewedPart), float64(skewFactor)
	if o.SplitAlways {
		part, factor = 1, 0
	}
	sizes := make([]float64, len(units))
	for i, u := range units {
		sizes[i] = u.bytes()
	}
	slices.Sort(sizes)
	middle := sizes[len(sizes)/2]
	var out []unit
	for _, u := range units {
		if bytes := u.bytes(); bytes > factor*middle && bytes > 2*part {
			out = append(out, u.parts(max(part, middle), scatter, inputs)...)
		} else {
			out = append(out, u)
		}
	}
	return out
}

// parts cuts a unit along the producers of its largest read that may be cut, into parts of about size bytes.
func (u unit) parts(size float64, scatter map[plan.LeafID]bool, inputs map[plan.StageID]*Output) []unit {
	var largest plan.LeafID
	for _, leaf := range slices.Sorted(maps.Keys(u)) {
		if r := u[leaf]; scatter[leaf] && len(r.partitions) == 1 && (largest == 0 || r.bytes > u[largest].bytes) {
			largest = leaf
		}
	}
	if largest == 0 {
		return []unit{u}
	}
	r := u[largest]
	producers := inputs[r.stage].Producers(r.partitions[0])
	var parts []unit
	var from int32
	var bytes float64
	for i, n := range producers {
		if bytes += float64(n); bytes < size && i < len(producers)-1 {
			continue
		}
		part := maps.Clone(u)
		r.producers, r.bytes = &Range{From: from, To: int32(i + 1)}, bytes
		part[largest] = r
		parts = append(parts, part)
		from, bytes = int32(i+1), 0
	}
	if len(parts) < 2 {
		return []unit{u}
	}
	return parts
}

// spread makes several units of a stage's one partition, along the tasks that wrote it, when it has turned out too large
// for one task.
func (d *distributor) spread(p *piece) (*piece, error) {
	if d.runtime == nil || p.from == nil || p.from.partitions > 1 || p.bytes <= float64(d.options.TargetTaskSize)/float64(d.options.Slots) {
		return p, nil
	}
	out, err := d.runtime.Output(d.stages, p.from.stage)
	if err != nil {
		return nil, err
	}
	leaf := p.node.(*plan.ShuffleRead)
	whole := unit{leaf.Leaf: {stage: p.from.stage, partitions: []int32{0}, bytes: p.bytes}}
	s := *p
	s.units = whole.parts(p.bytes/float64(d.options.Slots), map[plan.LeafID]bool{leaf.Leaf: true}, map[plan.StageID]*Output{p.from.stage: out})
	s.from, s.hash = nil, nil
	return &s, nil
}
