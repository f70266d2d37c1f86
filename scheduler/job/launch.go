package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Candidate is a task that may be launched.
type Candidate struct {
	Stage plan.StageID
	Task  int32
	Sink  Sink
	// Prefer are up to three executors that hold much of the task's shuffle input, the largest share first.
	Prefer []Share
	// File names the first file of the task's static assignments: tasks that read the same file again gain from the same
	// executor's cache. Empty when there is none.
	File string
	// Avoid is the executor where the last attempt failed or whose output was lost; empty when there is none.
	Avoid string
}

// Share is the part of a task's shuffle input, in bytes, that an executor holds.
type Share struct {
	Executor string
	Bytes    int64
	Of       int64 // the whole input
}

// Next is the task to launch next: of the earliest running stage, tasks to run again first. It is the same until an
// event or a Launch changes something.
func (m *Machine) Next() (Candidate, bool) {
	ref, ok := m.next()
	if !ok {
		return Candidate{}, false
	}
	return m.candidate(ref), true
}

// Peek names the task that Next would give, and costs less.
func (m *Machine) Peek() (stage plan.StageID, task int32, ok bool) {
	ref, ok := m.next()
	if !ok {
		return 0, 0, false
	}
	return ref.stage.spec.ID, ref.task, true
}

func (m *Machine) next() (taskRef, bool) {
	if m.Ended() {
		return taskRef{}, false
	}
	for _, s := range m.stages {
		if _, ok := s.state.(stageRunning); !ok {
			continue
		}
		if t, ok := s.nextPending(); ok {
			return taskRef{s, t}, true
		}
	}
	return taskRef{}, false
}

func (s *stage) nextPending() (int32, bool) {
	if !s.againSorted {
		slices.SortFunc(s.again, func(a, b int32) int { return cmp.Compare(b, a) }) // the first task at the end
		s.againSorted = true
	}
	for n := len(s.again); n > 0; n = len(s.again) {
		t := s.again[n-1]
		if s.isPending(t) {
			return t, true
		}
		s.again = s.again[:n-1]
	}
	for ; int(s.fresh) < len(s.tasks); s.fresh++ {
		if s.isPending(s.fresh) {
			return s.fresh, true
		}
	}
	return 0, false
}

func (s *stage) isPending(t int32) bool {
	_, ok := s.tasks[t].state.(taskPending)
	return ok
}

func (m *Machine) candidate(ref taskRef) Candidate {
	s, spec := ref.stage, &ref.stage.spec.Tasks[ref.task]
	c := Candidate{Stage: s.spec.ID, Task: ref.task, Sink: s.spec.Sink}
	if avoid := s.tasks[ref.task].avoid; avoid != nil {
		c.Avoid = avoid.id
	}
	if len(spec.Shuffle) > 0 {
		bytes, total := map[*executor]int64{}, int64(0)
		for _, need := range spec.Shuffle {
			m.reads(need, func(p *stage, f fileRef) {
				d := p.tasks[f.task].state.(*taskDone)
				n := d.shuffle.files[f.file].bytes
				bytes[d.on] += n
				total += n
			})
		}
		for x, n := range bytes {
			c.Prefer = append(c.Prefer, Share{Executor: x.id, Bytes: n, Of: total})
		}
		slices.SortFunc(c.Prefer, func(a, b Share) int {
			return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Executor, b.Executor))
		})
		c.Prefer = c.Prefer[:min(3, len(c.Prefer))]
	}
	for _, a := range spec.Assignments {
		if files := a.GetFiles().GetFiles(); len(files) > 0 {
			c.File = files[0].GetPath()
			break
		}
	}
	return c
}

// Launch starts an attempt at a task on an executor and returns the message for it, whole: splitting it is the sender's
// affair. The fragment, the settings and the static assignments are shared with the spec. It is an error to launch a task
// that is not pending, whose stage is not running, or on an executor that does not take tasks.
func (m *Machine) Launch(id plan.StageID, task int32, executor string) (*seracv1.TaskLaunch, error) {
	ref, t := m.lookup(id, task)
	if t == nil {
		return nil, fmt.Errorf("launch task %d of stage %d: no such task", task, id)
	}
	s := ref.stage
	if _, ok := s.state.(stageRunning); !ok || m.Ended() {
		return nil, fmt.Errorf("launch %s: the stage is %s", m.taskText(ref), s.state)
	}
	if !s.isPending(task) {
		return nil, fmt.Errorf("launch %s: the task is not pending", m.taskText(ref))
	}
	x := m.executors[executor]
	if !x.takes() {
		return nil, fmt.Errorf("launch %s: executor %q does not take tasks", m.taskText(ref), executor)
	}

	t.launches++
	s.attempts++
	if t.launches > 1 {
		s.retries++
	}
	t.state = &taskRunning{attempt: t.launches, on: x}
	s.running++
	x.running[ref] = struct{}{}
	x.touched = true

	spec := &s.spec.Tasks[task]
	l := &seracv1.TaskLaunch{
		Id:          m.message(AttemptID{id, task, t.launches}),
		Fragment:    s.spec.Fragment,
		Settings:    s.spec.Settings,
		Assignments: slices.Clone(spec.Assignments),
	}
	for _, need := range spec.Shuffle {
		input := &seracv1.ShuffleInput{}
		m.reads(need, func(p *stage, f fileRef) {
			d := p.tasks[f.task].state.(*taskDone)
			producer := m.message(AttemptID{p.spec.ID, f.task, d.attempt})
			input.Files = append(input.Files, d.shuffle.message(int(f.file), producer, d.on.id))
		})
		l.Assignments = append(l.Assignments, &seracv1.LeafAssignment{
			Leaf: int32(need.Leaf), What: &seracv1.LeafAssignment_Shuffle{Shuffle: input},
		})
	}
	return l, nil
}

// message is the id of an attempt as it travels.
func (m *Machine) message(a AttemptID) *seracv1.TaskId {
	return &seracv1.TaskId{JobId: m.spec.ID, Stage: int32(a.Stage), Task: a.Task, Attempt: a.Attempt}
}
