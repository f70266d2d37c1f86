package planner

import (
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// packTasks packs neighbouring units into tasks: as many tasks as there are slots (fewer when there are fewer units),
// more when MaxPartitionsPerTask or TargetTaskSize ask for it.
func (d *distributor) packTasks(units []unit) []Task {
	perTask := (len(units) + d.options.Slots - 1) / d.options.Slots
	if limit := d.options.MaxPartitionsPerTask; limit > 0 {
		perTask = min(perTask, limit)
	}
	var tasks []Task
	for start := 0; start < len(units); {
		packed, bytes := units[start], units[start].bytes()
		end := start + 1
		for ; end < len(units) && end-start < perTask; end++ {
			if bytes += units[end].bytes(); bytes > float64(d.options.TargetTaskSize) {
				break
			}
			packed = packed.merge(units[end])
		}
		tasks = append(tasks, packed.task())
		start = end
	}
	return tasks
}

func (u unit) task() Task {
	t := Task{Files: map[plan.LeafID][]*seracv1.FileGroup{}}
	for _, leaf := range slices.Sorted(maps.Keys(u)) {
		switch r := u[leaf]; {
		case r.constant:
			t.Constants = append(t.Constants, leaf)
		case r.files != nil:
			t.Files[leaf] = r.files
		default:
			t.Shuffle = append(t.Shuffle, ShuffleInput{Leaf: leaf, Stage: r.stage, Partitions: r.partitions, All: r.all})
		}
	}
	return t
}
