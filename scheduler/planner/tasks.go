package planner

import (
	"maps"
	"math"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// packTasks packs neighbouring units into tasks: as many tasks as there are slots (fewer when there are fewer units),
// more when MaxPartitionsPerTask or TargetTaskSize ask for it.
func (d *distributor) packTasks(units []unit) []Task { return d.options.pack(units) }

func (o Options) pack(units []unit) []Task {
	perTask := (len(units) + o.Slots - 1) / o.Slots
	if limit := o.MaxPartitionsPerTask; limit > 0 {
		perTask = min(perTask, limit)
	}
	var tasks []Task
	for start := 0; start < len(units); {
		packed, bytes := units[start], units[start].bytes()
		end := start + 1
		for ; end < len(units) && end-start < perTask && !units[end].isPart() && !units[start].isPart(); end++ {
			if bytes += units[end].bytes(); bytes > float64(o.TargetTaskSize) {
				break
			}
			packed = packed.merge(units[end])
		}
		tasks = append(tasks, packed.task())
		start = end
	}
	return tasks
}

// minShuffleTask is the size that a task over shuffle partitions should have where there is so much: reading less takes
// less time than starting a task does.
const minShuffleTask = 4 << 20

// packBySize packs neighbouring units into tasks of about equal size, and into fewer than there are slots where they are
// small.
func (o Options) packBySize(units []unit) []Task {
	var total float64
	for _, u := range units {
		total += u.bytes()
	}
	count := min(float64(o.Slots), math.Ceil(total/minShuffleTask))
	count = max(1, count, math.Ceil(total/float64(o.TargetTaskSize)))
	limit := len(units)
	if o.MaxPartitionsPerTask > 0 {
		limit = o.MaxPartitionsPerTask
	}
	var tasks []Task
	var packed unit
	var before float64
	in, at := 0, -1
	flush := func() {
		if packed != nil {
			tasks = append(tasks, packed.task())
		}
		packed, in = nil, 0
	}
	for _, u := range units {
		bytes := u.bytes()
		// The task in whose share of the whole the unit's middle lies.
		share := 0
		if total > 0 {
			share = int((before + bytes/2) / total * count)
		}
		before += bytes
		if share != at || in == limit || u.isPart() {
			flush()
			at = share
		}
		if packed == nil {
			packed = u
		} else {
			packed = packed.merge(u)
		}
		if in++; u.isPart() {
			flush()
		}
	}
	flush()
	return tasks
}

// isPart says whether a unit reads a part of a partition.
func (u unit) isPart() bool {
	for _, r := range u {
		if r.producers != nil {
			return true
		}
	}
	return false
}

func (u unit) task() Task {
	t := Task{Files: map[plan.LeafID][]*seracv1.FileGroup{}, Splits: map[plan.LeafID][]*seracv1.Split{}}
	for _, leaf := range slices.Sorted(maps.Keys(u)) {
		switch r := u[leaf]; {
		case r.constant:
			t.Constants = append(t.Constants, leaf)
		case r.files != nil:
			t.Files[leaf] = r.files
		case r.splits != nil:
			t.Splits[leaf] = r.splits
		default:
			t.Shuffle = append(t.Shuffle, ShuffleInput{
				Leaf: leaf, Stage: r.stage, Partitions: r.partitions, All: r.all, Producers: r.producers,
			})
		}
	}
	return t
}

// latePlan packs units by what the inputs have really written. It is nil where nothing depends on that.
func (d *distributor) latePlan(units []unit) func(map[plan.StageID]*Output) []Task {
	a := d.options.Adaptive
	if !a.Coalesce && !a.Skew || !slices.ContainsFunc(units, unit.readsPartitions) {
		return nil
	}
	scatter := map[plan.LeafID]bool{}
	for _, u := range units {
		for leaf := range u {
			scatter[leaf] = d.scatter[leaf]
		}
	}
	o := d.options
	return func(inputs map[plan.StageID]*Output) []Task {
		known := make([]unit, len(units))
		for i, u := range units {
			known[i] = u.measured(inputs)
		}
		if a.Skew {
			known = o.splitSkewed(known, scatter, inputs)
		}
		if a.Coalesce {
			return o.packBySize(known)
		}
		return o.pack(known)
	}
}

func (u unit) readsPartitions() bool {
	for _, r := range u {
		if len(r.partitions) > 0 {
			return true
		}
	}
	return false
}

// measured is the unit with the real sizes of the partitions that it reads.
func (u unit) measured(inputs map[plan.StageID]*Output) unit {
	m := maps.Clone(u)
	for leaf, r := range m {
		out := inputs[r.stage]
		if len(r.partitions) == 0 || out == nil {
			continue
		}
		r.bytes = 0
		for _, p := range r.partitions {
			r.bytes += out.partition(p, r.producers)
		}
		m[leaf] = r
	}
	return m
}

// partition is the bytes of a partition, or of the part of it that some tasks wrote.
func (o *Output) partition(p int32, of *Range) float64 {
	if int(p) >= len(o.Partitions) {
		return 0
	}
	if of == nil {
		return float64(o.Partitions[p])
	}
	var total float64
	for i, n := range o.Producers(p) {
		if int32(i) >= of.From && int32(i) < of.To {
			total += float64(n)
		}
	}
	return total
}
