package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/util"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/job"
)

// idleTime is how long a result must have waited for a reader to be left out of its executor's used slots.
const idleTime = time.Second

// ahead is how many result tasks are fetched at once: the one whose turn it is, and those after it. Each may hold
// Options.HoldBackBytes in the scheduler.
const ahead = 4

// results are the result tasks' streams, read in order. Guarded by Run.mu.
type results struct {
	tasks   []resultTask
	at      map[plan.StageID]int // where a stage's tasks begin
	current int                  // whose turn it is
	known   bool                 // tasks are all that there will be
	changed chan struct{}        // closed at every change
	ended   error                // no further rows go out; nil while they do
	schema  *arrow.Schema
}

// resultTask is one task of a result stage.
type resultTask struct {
	stage  plan.StageID
	task   int32
	stream *stream // of the attempt that streams now, or has arrived; nil: none yet
}

// stream is the rows of one attempt.
type stream struct {
	attempt  job.AttemptID
	executor *executor
	fetching bool // a goroutine pulls it
	stop     context.CancelFunc
	reported bool // the FINISHED status has come
	idle     bool // counted in executor.idle; guarded by Cluster.mu
	// waits is since when nobody has taken its rows: not fetched yet, or the client does not read. Zero: they flow.
	waits time.Time

	batches    []arrow.RecordBatch
	bytes      int64     // of batches
	since      time.Time // when the first batch came
	ended      bool      // all rows have come
	delivering bool      // the first batch has gone out
}

func (q *results) init() { q.at, q.changed = map[plan.StageID]int{}, make(chan struct{}) }

// add makes the tasks of a result stage known; those of all result stages before it are.
func (q *results) add(stage plan.StageID, tasks int) {
	q.at[stage] = len(q.tasks)
	for t := range tasks {
		q.tasks = append(q.tasks, resultTask{stage: stage, task: int32(t)})
	}
	q.notify()
}

// resultsKnown notes when no further result tasks will come: who has had all rows until then waits.
func (r *Run) resultsKnown() {
	if !r.m.ResultsKnown() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.results.known {
		r.results.known = true
		r.results.notify()
	}
}

func (q *results) notify() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// index is the position of an attempt's task; false when it is none of a result stage.
func (q *results) index(a job.AttemptID) (int, bool) {
	from, ok := q.at[a.Stage]
	return from + int(a.Task), ok && from+int(a.Task) < len(q.tasks)
}

// find is an attempt's stream; nil when there is none.
func (q *results) find(a job.AttemptID) *stream {
	if i, ok := q.index(a); ok {
		if s := q.tasks[i].stream; s != nil && s.attempt == a {
			return s
		}
	}
	return nil
}

func (s *stream) release() {
	for _, b := range s.batches {
		b.Release()
	}
	s.batches, s.bytes = nil, 0
	if s.stop != nil {
		s.stop()
	}
}

// Next returns the next batch of the result stages' rows, in stage and task order. The caller releases it. It returns
// io.EOF after the last row of a job that ended well, and the job's error (a *wire.Failure) otherwise. A slow caller
// slows the executors down.
func (r *Run) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		r.mu.Lock()
		q := &r.results
		if q.ended != nil {
			r.mu.Unlock()
			return nil, q.ended
		}
		changed := q.changed
		var wake <-chan time.Time
		switch s, ready, wait := q.ready(r.c.o); {
		case q.current == len(q.tasks) && q.known:
			r.mu.Unlock()
			if err := r.last(ctx, changed); err != nil {
				return nil, err
			}
			continue
		case s == nil:
			r.mu.Unlock()
		case ready && !s.delivering && !s.ended:
			r.mu.Unlock()
			r.deliver(s)
			continue
		case ready && len(s.batches) > 0:
			b := s.batches[0]
			s.batches[0] = nil
			s.batches, s.bytes = s.batches[1:], s.bytes-util.TotalRecordSize(b)
			s.delivering = true
			q.notify()
			r.mu.Unlock()
			return b, nil
		case ready && s.ended:
			q.current++
			q.notify()
			r.mu.Unlock()
			r.fetchMore()
			continue
		default:
			r.mu.Unlock()
			if wait > 0 {
				wake = time.After(wait)
			}
		}
		select {
		case <-changed:
		case <-wake:
		case <-ctx.Done():
			return nil, fmt.Errorf("next rows of job %s: %w", r.spec.ID, ctx.Err())
		}
	}
}

// ready says whether the current task's stream may go out: it has begun to, or it has arrived whole, or enough of it is
// held back, or for long enough; wait is how long that takes if nothing else happens, 0 when time alone will not do.
func (q *results) ready(o Options) (s *stream, ready bool, wait time.Duration) {
	if q.current == len(q.tasks) {
		return nil, false, 0
	}
	s = q.tasks[q.current].stream
	if s == nil || s.delivering || s.ended {
		return s, s != nil, 0
	}
	if len(s.batches) == 0 {
		return s, false, 0
	}
	if s.bytes >= o.HoldBackBytes {
		return s, true, 0
	}
	held := time.Since(s.since)
	return s, held >= o.HoldBackTime, max(o.HoldBackTime-held, time.Millisecond)
}

// deliver takes the step that cannot be taken back: from now on the attempt's rows are the client's.
func (r *Run) deliver(s *stream) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if !r.m.Current(s.attempt) {
		return // lost in this very moment: its stream is dropped, or it has ended
	}
	r.c.step(r, job.ResultStarted{Attempt: s.attempt})
	r.mu.Lock()
	s.delivering = true
	r.mu.Unlock()
}

// last waits for the job's end when all rows have gone out that tasks are known of; nil when something changed before.
func (r *Run) last(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-r.done:
	case <-ctx.Done():
		return fmt.Errorf("end of job %s: %w", r.spec.ID, ctx.Err())
	}
	if r.err != nil {
		return r.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results.current < len(r.results.tasks) {
		return nil
	}
	r.stopWatching()
	return io.EOF
}

// release gives up all rows that have not gone out; Next returns why from now on, if it has not reached the end yet.
func (r *Run) release(why error) {
	r.stopFetching()
	r.stopWatching()
	r.mu.Lock()
	defer r.mu.Unlock()
	q := &r.results
	if q.ended != nil {
		return
	}
	q.ended = why
	for i := range q.tasks {
		if s := q.tasks[i].stream; s != nil {
			s.release()
		}
	}
	q.notify()
}

// streamOpen notes that an attempt's rows can be fetched. Cluster.mu is held.
func (r *Run) streamOpen(e *executor, a job.AttemptID, finished bool) {
	r.mu.Lock()
	i, ok := r.results.index(a)
	if !ok || r.results.ended != nil {
		r.mu.Unlock()
		return
	}
	if s := r.results.find(a); s != nil {
		s.reported = s.reported || finished
		r.mu.Unlock()
		return
	}
	r.results.tasks[i].stream = &stream{attempt: a, executor: e, reported: finished, waits: time.Now()}
	r.results.notify()
	r.mu.Unlock()
	r.fetchMoreLocked()
}

// streamEnded says whether all rows of an attempt have come.
func (r *Run) streamEnded(a job.AttemptID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.results.find(a)
	return s != nil && s.ended
}

// near says whether a task may be launched as far as the client's reading goes: a result task far ahead of what is being
// read would only wait.
func (r *Run) near(a job.AttemptID, slots int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.results.index(a)
	return !ok || i < r.results.current+max(slots, 2*ahead)
}

// countIdle finds the results that wait for a reader.
func (c *Cluster) countIdle(now time.Time) {
	for _, e := range c.order {
		e.idle = 0
	}
	for _, r := range c.runs {
		r.mu.Lock()
		for i := range r.results.tasks {
			if s := r.results.tasks[i].stream; s != nil {
				s.idle = !s.ended && !s.waits.IsZero() && now.Sub(s.waits) > idleTime && r.m.Current(s.attempt)
				if s.idle {
					s.executor.idle++
				}
			}
		}
		r.mu.Unlock()
	}
	c.dispatch()
}

// dropStream forgets the rows of an attempt that is over, unless they have come whole.
func (r *Run) dropStream(a job.AttemptID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.results.find(a)
	if s == nil {
		return
	}
	if s.idle {
		s.idle = false
		s.executor.idle--
	}
	if s.ended {
		return
	}
	s.release()
	i, _ := r.results.index(a)
	r.results.tasks[i].stream = nil
	r.results.notify()
}

// settleResults tells the machine of the streams that have come whole, before it hears of a loss: they need no executor
// any more, and their rows may have gone out. Cluster.mu is held.
func (r *Run) settleResults() {
	r.mu.Lock()
	var whole []job.AttemptID
	for i := range r.results.tasks {
		if s := r.results.tasks[i].stream; s != nil && s.ended && r.m.Current(s.attempt) {
			whole = append(whole, s.attempt)
		}
	}
	r.mu.Unlock()
	for _, a := range whole {
		r.c.step(r, job.ResultDone{Attempt: a})
	}
}

// lastResultAfter finds a result attempt that may give way to the task whose turn it is.
func (r *Run) lastResultAfter(t job.AttemptID) (job.AttemptID, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := &r.results
	i, ok := q.index(t)
	if !ok || i != q.current {
		return job.AttemptID{}, false
	}
	for j := len(q.tasks) - 1; j > i; j-- {
		if s := q.tasks[j].stream; s != nil && !s.ended && !s.delivering && r.m.Current(s.attempt) {
			return s.attempt, true
		}
	}
	return job.AttemptID{}, false
}
