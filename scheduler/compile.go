package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/wire"
)

// compile makes stages of a job: each fragment is encoded once, each task's assignments are written out.
func (st *statement) compile(stages []*planner.Stage) ([]job.Stage, error) {
	compiled := make([]job.Stage, len(stages))
	for i, s := range stages {
		tables, err := st.tables.wireTables(s.Root)
		if err != nil {
			return nil, fmt.Errorf("compile stage %d: %w", s.ID, err)
		}
		fragment, err := st.opts.Formats.Codec().EncodeFragment(s.Root, tables)
		if err != nil {
			return nil, fmt.Errorf("encode stage %d: %w", s.ID, err)
		}
		compiled[i] = job.Stage{
			ID: s.ID, Name: fmt.Sprintf("stage %d", s.ID), Describe: s.Describe(), Sink: sinkOf(s.Root), Inputs: s.Inputs,
			Indeterminate: s.Indeterminate, Fragment: fragment, Settings: st.settings,
		}
		if s.Plan == nil {
			compiled[i].Tasks = compileTasks(s.Tasks)
			continue
		}
		compiled[i].Plan = func(written map[plan.StageID]*job.StageOutput) []job.Task {
			outputs := make(map[plan.StageID]*planner.Output, len(written))
			for id, o := range written {
				outputs[id] = outputOf(o)
			}
			return compileTasks(s.Plan(outputs))
		}
	}
	return compiled, nil
}

func sinkOf(root plan.Node) job.Sink {
	switch root.(type) {
	case *plan.ShuffleWrite:
		return job.Shuffle
	case *plan.IcebergWrite:
		return job.Write
	default:
		return job.Result
	}
}

func compileTasks(tasks []planner.Task) []job.Task {
	out := make([]job.Task, len(tasks))
	for i, t := range tasks {
		for _, leaf := range slices.Sorted(maps.Keys(t.Files)) {
			out[i].Assignments = append(out[i].Assignments, &seracv1.LeafAssignment{
				Leaf: int32(leaf), What: &seracv1.LeafAssignment_Files{Files: joinGroups(t.Files[leaf])},
			})
		}
		for _, leaf := range slices.Sorted(maps.Keys(t.Splits)) {
			out[i].Assignments = append(out[i].Assignments, &seracv1.LeafAssignment{
				Leaf: int32(leaf), What: &seracv1.LeafAssignment_Splits{Splits: &seracv1.SplitInput{Splits: t.Splits[leaf]}},
			})
		}
		for _, leaf := range t.Constants {
			out[i].Assignments = append(out[i].Assignments, &seracv1.LeafAssignment{
				Leaf: int32(leaf), What: &seracv1.LeafAssignment_Constant{Constant: &seracv1.ConstantInput{}},
			})
		}
		for _, in := range t.Shuffle {
			need := job.ShuffleNeed{Leaf: in.Leaf, Stage: in.Stage, Partitions: in.Partitions}
			if in.Producers != nil {
				need.Producers = &job.Range{From: in.Producers.From, To: in.Producers.To}
			}
			if in.All {
				need.Partitions = nil
			}
			out[i].Shuffle = append(out[i].Shuffle, need)
		}
	}
	return out
}

// joinGroups makes one group of several: a leaf is assigned once.
func joinGroups(groups []*seracv1.FileGroup) *seracv1.FileGroup {
	if len(groups) == 1 {
		return groups[0]
	}
	joined := &seracv1.FileGroup{}
	for _, g := range groups {
		wire.AppendFiles(joined, g)
	}
	return joined
}
