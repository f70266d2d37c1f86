package job

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// addStage appends a valid stage.
func (m *Machine) addStage(spec Stage) {
	s := &stage{spec: &spec, at: int32(len(m.stages)), state: stageWaiting{}, stable: !spec.Indeterminate}
	for _, id := range spec.Inputs {
		in := m.byID[id]
		s.stable = s.stable && in.stable
		if slices.Contains(s.inputs, in) {
			continue
		}
		s.inputs = append(s.inputs, in)
		in.consumers = append(in.consumers, s)
	}
	if spec.Plan == nil {
		s.setTasks(spec.Tasks)
	}
	m.stages = append(m.stages, s)
	m.byID[spec.ID] = s
}

func (s *stage) setTasks(tasks []Task) {
	s.planned = true
	s.spec.Tasks = tasks
	s.tasks = make([]task, len(tasks))
	for t := range s.tasks {
		s.tasks[t].state = taskPending{}
	}
	s.missing = len(tasks)
}

func (m *Machine) stagesAdded(e StagesAdded) {
	if !m.open {
		m.fault(errors.New("stages were added to a job that is not open"))
		return
	}
	sinks := make(map[plan.StageID]Sink, len(m.stages))
	for _, s := range m.stages {
		sinks[s.spec.ID] = s.spec.Sink
	}
	faults := checkStages(e.Stages, sinks)
	for i := range e.Stages {
		for _, id := range e.Stages[i].Inputs {
			if in := m.byID[id]; in != nil && in.dropped {
				faults = append(faults, fmt.Errorf("stage %d: its input %d was dropped", e.Stages[i].ID, id))
			}
		}
	}
	if len(faults) > 0 {
		m.fault(fmt.Errorf("stages were added: %w", errors.Join(faults...)))
		return
	}
	for i := range e.Stages {
		m.addStage(e.Stages[i])
	}
	m.open = !e.Last
	m.settle()
}

func (m *Machine) stagesDropped(e StagesDropped) {
	for _, id := range e.Stages {
		if s := m.byID[id]; s != nil {
			s.dropped = true
		}
	}
	m.settle()
}

// fault ends the job because of a mistake in what the machine was told.
func (m *Machine) fault(err error) {
	m.fail(&seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_INTERNAL, Message: fmt.Sprintf("job %q: %v", m.spec.ID, err)})
}

// decideTasks asks the needed stages for their tasks that wait with them for inputs which are complete now. It says whether
// there was one.
func (m *Machine) decideTasks() bool {
	any := false
	for _, s := range m.stages {
		if s.planned || !s.needed || !s.inputsComplete() {
			continue
		}
		outputs := make(map[plan.StageID]*StageOutput, len(s.inputs))
		for _, in := range s.inputs {
			m.stageDone(in)
			outputs[in.spec.ID] = in.output
		}
		tasks := s.spec.Plan(outputs)
		if faults := checkTasks(s.spec, tasks); len(faults) > 0 {
			m.fault(fmt.Errorf("late tasks: %w", errors.Join(faults...)))
			return true
		}
		s.setTasks(tasks)
		any = true
	}
	return any
}

// stageDone keeps and tells what a shuffle stage wrote, when it is complete for the first time.
func (m *Machine) stageDone(s *stage) {
	if s.spec.Sink == Shuffle && s.output == nil && s.complete() {
		s.output = s.summary()
		s.keys = keyMerger{}
		m.act(StageDone{Output: s.output})
	}
}

// summary is the output of a complete shuffle stage.
func (s *stage) summary() *StageOutput {
	o := &StageOutput{Stage: s.spec.ID, Tasks: len(s.tasks), Stable: s.stable, producers: make([]*output, len(s.tasks))}
	for t := range s.tasks {
		p := s.tasks[t].state.(*taskDone).shuffle
		o.producers[t] = p
		for _, f := range p.files {
			if n := int(f.partition) + 1; n > len(o.Partitions) {
				o.Partitions = append(o.Partitions, make([]PartitionSize, n-len(o.Partitions))...)
			}
			o.Partitions[f.partition].Rows += f.rows
			o.Partitions[f.partition].Bytes += f.bytes
			o.Rows += f.rows
			o.Bytes += f.bytes
		}
	}
	if s.stable {
		o.Keys = s.keys.summaries(len(s.tasks))
	}
	return o
}

// summarize takes in what a task that was accepted for the first time says of its output. Of a stable stage every attempt
// says the same.
func (s *stage) summarize(t *task, summaries []*seracv1.KeySummary) {
	if !s.stable || t.summarized || s.output != nil {
		return
	}
	t.summarized = true
	for _, k := range summaries {
		s.keys.add(k)
	}
}

// tellResults says of the result stages how many tasks they have, in order, as far as that is known.
func (m *Machine) tellResults() {
	for ; m.results < len(m.stages); m.results++ {
		s := m.stages[m.results]
		if s.spec.Sink != Result {
			continue
		}
		if !s.planned {
			return
		}
		m.act(ResultTasks{Stage: s.spec.ID, Tasks: len(s.tasks)})
	}
}

// ResultsKnown says whether every result stage and the number of its tasks have been told: no further ResultTasks will come.
func (m *Machine) ResultsKnown() bool { return !m.open && m.results == len(m.stages) }
