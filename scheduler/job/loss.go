package job

import (
	"fmt"
	"slices"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// executorLost takes back all that an executor ran and held: what it ran has failed, what it held is lost.
func (m *Machine) executorLost(e ExecutorLost) {
	x := m.executors[e.Executor]
	if x == nil || x.lost {
		return
	}
	x.lost = true
	reason := "executor " + x.id + " was lost"
	if e.Reason != "" {
		reason += ": " + e.Reason
	}
	failure := &seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_EXECUTOR_LOST, Message: reason}

	running := make([]taskRef, 0, len(x.running))
	for ref := range x.running {
		running = append(running, ref)
	}
	slices.SortFunc(running, compareRefs)
	for _, ref := range running {
		if r, ok := ref.stage.tasks[ref.task].state.(*taskRunning); ok && r.on == x {
			if ref.stage.spec.Sink == Write {
				m.abandoned = append(m.abandoned, AttemptID{ref.stage.spec.ID, ref.task, r.attempt})
			}
			m.attemptFailed(ref, r, failure)
		}
		if m.Ended() {
			return
		}
	}
	m.outputsLost(x, func(taskRef) bool { return true }, failure)
	// The incarnation is kept in Machine.executors until its id comes back, so that late reports find it lost.
	x.outputs, x.unfetchable = nil, nil
}

// fetchFailed marks the output lost that a consumer could not fetch. If it is the second file of the same stage that
// this executor could not serve, all that the executor holds of the stage is lost at once: it will hardly serve the rest,
// and finding that out file by file would use up the resubmissions.
func (m *Machine) fetchFailed(producer taskRef, f *seracv1.Failure) {
	x := producer.stage.tasks[producer.task].state.(*taskDone).on
	if x.unfetchable == nil {
		x.unfetchable = map[*stage]int{}
	}
	x.unfetchable[producer.stage]++
	all := x.unfetchable[producer.stage] >= 2
	m.outputsLost(x, func(ref taskRef) bool {
		return ref == producer || all && ref.stage == producer.stage
	}, f)
}

// outputsLost makes the chosen shuffle outputs of an executor missing, and fails the job when that has happened too
// often. An output without files cannot be lost.
func (m *Machine) outputsLost(x *executor, chosen func(taskRef) bool, why *seracv1.Failure) {
	slices.SortFunc(x.outputs, compareRefs)
	x.outputs = slices.Compact(x.outputs)
	kept := x.outputs[:0]
	var hit []*stage
	for _, ref := range x.outputs {
		t := &ref.stage.tasks[ref.task]
		d, ok := t.state.(*taskDone)
		if !ok || d.on != x {
			continue
		}
		if len(d.shuffle.files) == 0 || !chosen(ref) {
			kept = append(kept, ref)
			continue
		}
		if ref.stage.complete() && !slices.Contains(hit, ref.stage) {
			hit = append(hit, ref.stage)
		}
		m.again(ref)
		ref.stage.tainted = ref.stage.spec.Indeterminate
		t.avoid = x
		if t.losses++; int(t.losses) > m.maxResubmissions() {
			m.lostTooOften(m.taskText(ref), int(t.losses), why)
			return
		}
	}
	x.outputs = kept
	for _, s := range hit {
		if s.resubmissions++; s.resubmissions > m.maxResubmissions() {
			m.lostTooOften(fmt.Sprintf("stage %d", s.spec.ID), s.resubmissions, why)
			return
		}
	}
	m.settle()
}

// giveUpConsumers takes back all that was made, or is being made, from a stage's former output, because the new one will
// not be the same. Rows that the client has, or may have, cannot be taken back.
func (m *Machine) giveUpConsumers(s *stage) {
	for _, c := range s.consumers {
		for t := range c.tasks {
			switch st := c.tasks[t].state.(type) {
			case *taskRunning:
				if st.delivering {
					m.resultChanged(s)
					return
				}
				m.act(CancelTask{Executor: st.on.id, Attempt: AttemptID{c.spec.ID, int32(t), st.attempt}})
			case *taskDone:
				if c.spec.Sink == Result {
					m.resultChanged(s)
					return
				}
				m.orphan(st.dataFiles)
			case taskPending:
				continue
			}
			m.again(taskRef{c, int32(t)})
		}
		if m.giveUpConsumers(c); m.Ended() {
			return
		}
	}
}

func (m *Machine) resultChanged(s *stage) {
	m.fail(&seracv1.Failure{
		Kind: seracv1.FailureKind_FAILURE_KIND_EXECUTOR_LOST,
		Message: fmt.Sprintf("output of stage %d was lost after rows made from it had gone to the client, and making it again would give other rows; run the statement again",
			s.spec.ID),
	})
}

func (m *Machine) lostTooOften(what string, times int, why *seracv1.Failure) {
	m.fail(&seracv1.Failure{
		Kind:        why.GetKind(),
		Message:     fmt.Sprintf("%s lost its finished output %d times, the last time because: %s", what, times, why.GetMessage()),
		ShuffleFile: why.GetShuffleFile(),
	})
}
