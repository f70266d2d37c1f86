package cluster

import (
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

// status handles an executor's report on an attempt.
func (c *Cluster) status(e *executor, st *seracv1.TaskStatus) {
	key := keyOf(st.GetId())
	delete(e.unanswered, key)
	state := st.GetState()
	over := state == seracv1.TaskState_TASK_STATE_FINISHED || state == seracv1.TaskState_TASK_STATE_FAILED
	if over {
		if parts := e.parts[key]; parts != nil {
			delete(e.parts, key)
			st.DataFiles = append(parts.DataFiles, st.GetDataFiles()...)
			st.ShuffleFiles = append(parts.ShuffleFiles, st.GetShuffleFiles()...)
			st.Summaries = append(parts.Summaries, st.GetSummaries()...)
		}
	}
	r := c.runs[key.job]
	if r == nil {
		c.late.status(c, e, st)
		return
	}
	current := r.m.Current(key.attempt)
	if over && current {
		c.emit(TaskEnded{Job: key.job, Attempt: key.attempt, Executor: e.info.ID, Err: wire.ErrorFrom(st.GetFailure())})
	}
	if st.GetFailure().GetKind() == seracv1.FailureKind_FAILURE_KIND_HANDED_BACK {
		c.drain(e) // whoever hands one task back wants none of another job either
	}
	if over && r.streamEnded(key.attempt) {
		// All rows are here: nothing that the executor reports of the attempt takes them back. A FINISHED status brings
		// the metrics, which the machine takes before it is told that the attempt is done.
		if state == seracv1.TaskState_TASK_STATE_FINISHED {
			c.step(r, job.TaskStatus{Executor: e.info.ID, Status: st})
		}
		c.step(r, job.ResultDone{Attempt: key.attempt})
		return
	}
	if state == seracv1.TaskState_TASK_STATE_FAILED {
		r.settleResults()
	}
	c.step(r, job.TaskStatus{Executor: e.info.ID, Status: st})
	if current && (state == seracv1.TaskState_TASK_STATE_STREAMING || state == seracv1.TaskState_TASK_STATE_FINISHED) {
		r.streamOpen(e, key.attempt, state == seracv1.TaskState_TASK_STATE_FINISHED)
	}
}

// lateRuns remembers the latest jobs that wrote data files, for reports that come after their end: what such a report
// lists must be deleted, unless it is a second one of an attempt that counted.
type lateRuns struct {
	runs  map[string]lateRun
	order []string
}

type lateRun struct {
	m       *job.Machine
	orphans func(paths []string)
}

// maxLate is how many jobs are remembered; each costs the messages of its data files.
const maxLate = 256

func (l *lateRuns) add(r *Run) {
	if !r.m.Writes() {
		return
	}
	r.m.Trim()
	if l.runs == nil {
		l.runs = map[string]lateRun{}
	}
	l.runs[r.spec.ID] = lateRun{m: r.m, orphans: r.o.orphans}
	l.order = append(l.order, r.spec.ID)
	if len(l.order) > maxLate {
		delete(l.runs, l.order[0])
		l.order = l.order[1:]
	}
}

func (l *lateRuns) status(c *Cluster, e *executor, st *seracv1.TaskStatus) {
	id := st.GetId().GetJobId()
	r, ok := l.runs[id]
	if !ok {
		if n := len(st.GetDataFiles()); n > 0 {
			c.o.Logger.Warn("data files of an unknown job are left over", "job", id, "files", n)
		}
		return
	}
	for _, a := range r.m.Step(job.TaskStatus{Executor: e.info.ID, Status: st}) {
		if d, ok := a.(job.DeleteFiles); ok {
			c.orphaned(id, r.orphans, d.Paths)
		}
	}
}
