package job

import (
	"fmt"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// taskStatus applies an executor's report. Reports on any other attempt than the current one, or from another executor
// than the one it was launched on, are stale.
func (m *Machine) taskStatus(e TaskStatus) {
	st := e.Status
	ref, r := m.current(AttemptOf(st.GetId()))
	if r == nil || r.on.id != e.Executor || r.on.lost {
		m.stale(st)
		return
	}
	t := &ref.stage.tasks[ref.task]
	if st.GetMetrics() != nil {
		ref.stage.record(t, metricsOf(st.GetMetrics()))
	}
	switch st.GetState() {
	case seracv1.TaskState_TASK_STATE_FINISHED:
		d := &taskDone{attempt: r.attempt, on: r.on}
		switch ref.stage.spec.Sink {
		case Shuffle:
			d.shuffle = packOutput(st.GetShuffleFiles(), r.on)
			ref.stage.summarize(t, st.GetSummaries())
		case Write:
			d.dataFiles = st.GetDataFiles()
		case Result:
			return // it is done when its last row has arrived: ResultDone
		}
		m.done(ref, r, d)
	case seracv1.TaskState_TASK_STATE_FAILED:
		m.orphan(st.GetDataFiles())
		m.attemptFailed(ref, r, st.GetFailure())
	}
}

// stale handles a report that changes nothing. Its data files are nobody's, unless the report is a second one on the
// attempt whose output was accepted.
func (m *Machine) stale(st *seracv1.TaskStatus) {
	if len(st.GetDataFiles()) == 0 {
		return
	}
	if _, failed := m.state.(*jobFailed); !failed {
		_, t := m.lookup(plan.StageID(st.GetId().GetStage()), st.GetId().GetTask())
		if t != nil {
			if d, ok := t.state.(*taskDone); ok && d.attempt == st.GetId().GetAttempt() {
				return
			}
		}
	}
	m.orphan(st.GetDataFiles())
}

// afterEnd looks through what still comes in once the job is over: only data files matter.
func (m *Machine) afterEnd(e Event) {
	if st, ok := e.(TaskStatus); ok {
		m.stale(st.Status)
	}
}

// attemptFailed ends the current attempt of a task and decides how to go on.
func (m *Machine) attemptFailed(ref taskRef, r *taskRunning, f *seracv1.Failure) {
	if f == nil {
		f = &seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_INTERNAL, Message: "the executor did not say why"}
	}
	t := &ref.stage.tasks[ref.task]
	v := judge(f.GetKind())
	var producer taskRef
	if v == refetch {
		var known bool
		if producer, known = m.producerOf(ref, f); !known {
			v = counted // it names no file that the attempt was given, so it is no more than a transport failure
		} else if !m.holds(producer, f) {
			// The output is being made again already: the task waits for the new one. Every loss explains such failures
			// of the attempts that were launched before it, and no more.
			if t.refetches++; int(t.refetches) > m.maxResubmissions() {
				v = counted
			}
		}
	}
	m.again(ref)
	if r.delivering && v != fatal {
		m.fail(&seracv1.Failure{
			Kind: seracv1.FailureKind_FAILURE_KIND_EXECUTOR_LOST,
			Message: fmt.Sprintf("executor %s: the rest of the result was lost after its first rows had gone to the client; run the statement again (%s: %s)",
				r.on.id, kindName(f.GetKind()), f.GetMessage()),
		})
		return
	}
	switch v {
	case fatal:
		m.fail(f)
		return
	case counted, countedTwice:
		t.failures++
		if v == countedTwice {
			t.exhausted++
		}
		if int(t.failures) >= m.maxAttempts() || t.exhausted >= 2 {
			m.fail(&seracv1.Failure{
				Kind:        f.GetKind(),
				Message:     fmt.Sprintf("%s: attempt %d, the last one, failed on executor %s: %s", m.taskText(ref), r.attempt, r.on.id, f.GetMessage()),
				ShuffleFile: f.GetShuffleFile(),
			})
			return
		}
		t.avoid = r.on
	case free:
		r.on.draining = true
	case refetch:
		if m.holds(producer, f) {
			m.fetchFailed(producer, f)
		}
	}
}

// producerOf finds the task that wrote the file that an attempt could not fetch.
func (m *Machine) producerOf(consumer taskRef, f *seracv1.Failure) (taskRef, bool) {
	id := f.GetShuffleFile().GetProducer()
	if id.GetJobId() != m.spec.ID {
		return taskRef{}, false
	}
	ref, t := m.lookup(plan.StageID(id.GetStage()), id.GetTask())
	if t == nil || !slices.Contains(consumer.stage.inputs, ref.stage) || id.GetAttempt() < 1 || id.GetAttempt() > t.launches {
		return taskRef{}, false
	}
	partition := f.GetShuffleFile().GetPartition()
	if !slices.ContainsFunc(consumer.stage.spec.Tasks[consumer.task].Shuffle, func(need ShuffleNeed) bool {
		return need.Stage == ref.stage.spec.ID && need.Producers.covers(ref.task) &&
			(need.Partitions == nil || slices.Contains(need.Partitions, partition))
	}) {
		return taskRef{}, false
	}
	if d, ok := t.state.(*taskDone); ok && d.attempt == id.GetAttempt() {
		if _, wrote := d.shuffle.find(partition); !wrote {
			return taskRef{}, false
		}
	}
	return ref, true
}

// holds says whether a task's accepted output is the one that a failed fetch names.
func (m *Machine) holds(producer taskRef, f *seracv1.Failure) bool {
	d, ok := producer.stage.tasks[producer.task].state.(*taskDone)
	return ok && d.attempt == f.GetShuffleFile().GetProducer().GetAttempt()
}

func (m *Machine) maxAttempts() int {
	if m.spec.MaxAttempts > 0 {
		return min(m.spec.MaxAttempts, 255)
	}
	return DefaultMaxAttempts
}

func (m *Machine) maxResubmissions() int {
	if m.spec.MaxResubmissions > 0 {
		return min(m.spec.MaxResubmissions, 254)
	}
	return DefaultMaxResubmissions
}
