package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/util"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

// idleTime is how long a result must have waited for a reader to be left out of its executor's used slots.
const idleTime = time.Second

// ahead is how many result tasks are fetched at once: the one whose turn it is, and those after it. Each may hold
// Options.HoldBackBytes in the scheduler.
const ahead = 4

// statusGrace is how long a result task whose rows have all arrived waits for the executor's FINISHED status, which
// brings its metrics.
const statusGrace = 50 * time.Millisecond

// results are the result tasks' streams, read in order. Guarded by Run.mu.
type results struct {
	tasks   []resultTask
	at      map[plan.StageID]int // where a stage's tasks begin
	current int                  // whose turn it is
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

func (q *results) init(spec *job.Spec) {
	q.at, q.changed = map[plan.StageID]int{}, make(chan struct{})
	for i := range spec.Stages {
		s := &spec.Stages[i]
		if s.Sink != job.Result {
			continue
		}
		q.at[s.ID] = len(q.tasks)
		for t := range s.Tasks {
			q.tasks = append(q.tasks, resultTask{stage: s.ID, task: int32(t)})
		}
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
		case q.current == len(q.tasks):
			r.mu.Unlock()
			return nil, r.last(ctx)
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

// last waits for the job's end when all rows have gone out.
func (r *Run) last(ctx context.Context) error {
	select {
	case <-r.done:
	case <-ctx.Done():
		return fmt.Errorf("end of job %s: %w", r.spec.ID, ctx.Err())
	}
	if r.err != nil {
		return r.err
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

func (r *Run) fetchMore() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.fetchMoreLocked()
}

// fetchMoreLocked starts pulling the streams whose turn is near. Cluster.mu is held.
func (r *Run) fetchMoreLocked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := &r.results
	if q.ended != nil || r.c.closed {
		return
	}
	for i := q.current; i < min(q.current+ahead, len(q.tasks)); i++ {
		s := q.tasks[i].stream
		if s == nil || s.fetching || s.ended {
			continue
		}
		s.fetching, s.waits = true, time.Time{}
		client, err := r.c.flightClient(s.executor)
		ctx, stop := context.WithCancel(r.fetching)
		s.stop = stop
		r.c.background(func() {
			defer stop()
			if err == nil {
				err = r.pull(ctx, client, s)
			}
			r.pulled(s, err)
		})
	}
}

// pull fetches an attempt's rows to their end. It waits while enough of them are held.
func (r *Run) pull(ctx context.Context, client flight.FlightServiceClient, s *stream) error {
	ticket, err := proto.Marshal(&seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Result{Result: r.taskID(s.attempt)}})
	if err != nil {
		return fmt.Errorf("make the ticket of result %v: %w", s.attempt, err)
	}
	get, err := client.DoGet(ctx, &flight.Ticket{Ticket: ticket})
	if err != nil {
		return fetchError(s, err)
	}
	reader, err := flight.NewRecordReader(get)
	if err != nil {
		return fetchError(s, err)
	}
	defer reader.Release()
	schema, err := r.schemaFor(reader.Schema())
	if err != nil {
		return fmt.Errorf("result %v of executor %s: %w", s.attempt, s.executor.info.ID, err)
	}
	for reader.Next() {
		b, err := renamed(reader.RecordBatch(), schema)
		if err != nil {
			return fmt.Errorf("result %v of executor %s: %w", s.attempt, s.executor.info.ID, err)
		}
		if !r.push(ctx, s, b) {
			b.Release()
			return ctx.Err()
		}
	}
	if err := reader.Err(); err != nil {
		return fetchError(s, err)
	}
	return nil
}

// fetchError is why a result could not be fetched. The executor's own failures keep their text; what went wrong on the way
// says where.
func fetchError(s *stream, err error) error {
	switch kind := wire.KindOf(err); kind {
	case seracv1.FailureKind_FAILURE_KIND_TRANSPORT, seracv1.FailureKind_FAILURE_KIND_CANCELLED, seracv1.FailureKind_FAILURE_KIND_INTERNAL:
		return wire.Failf(kind, "fetch result %v from executor %s: %s", s.attempt, s.executor.info.ID, status.Convert(err).Message())
	default:
		return err
	}
}

// push hands a batch over to Next, and waits for room first. False: the stream was dropped.
func (r *Run) push(ctx context.Context, s *stream, b arrow.RecordBatch) bool {
	for {
		r.mu.Lock()
		if ctx.Err() != nil {
			r.mu.Unlock()
			return false
		}
		if s.bytes < r.c.o.HoldBackBytes {
			if s.since.IsZero() {
				s.since = time.Now()
			}
			s.batches = append(s.batches, b)
			s.bytes += util.TotalRecordSize(b)
			s.waits = time.Time{}
			r.results.notify()
			r.mu.Unlock()
			return true
		}
		if s.waits.IsZero() {
			s.waits = time.Now()
		}
		changed := r.results.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// pulled reports the end of a pull: all rows have come, or the attempt has failed as far as the scheduler can see.
func (r *Run) pulled(s *stream, err error) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.m.Current(s.attempt) {
		return // dropped
	}
	if err != nil {
		r.settleResults()
		c.step(r, job.TaskStatus{Executor: s.executor.info.ID, Status: &seracv1.TaskStatus{
			Id: r.taskID(s.attempt), State: seracv1.TaskState_TASK_STATE_FAILED, Failure: wire.FailureFrom(err),
		}})
		// The executor may not know yet that nobody reads any more.
		c.send(s.executor, outgoing{message: &seracv1.AttachResponse{Message: &seracv1.AttachResponse_Cancel{
			Cancel: &seracv1.TaskCancel{Id: r.taskID(s.attempt)},
		}}})
		c.dispatch()
		return
	}
	r.mu.Lock()
	s.ended = true
	reported := s.reported
	r.results.notify()
	r.mu.Unlock()
	if reported {
		c.step(r, job.ResultDone{Attempt: s.attempt})
		c.dispatch()
		return
	}
	time.AfterFunc(statusGrace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.step(r, job.ResultDone{Attempt: s.attempt})
		c.dispatch()
	})
}

// schemaFor compares a stream's schema with the announced one and returns the one of the batches that go out.
func (r *Run) schemaFor(got *arrow.Schema) (*arrow.Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results.schema == nil {
		r.results.schema = r.o.schema
	}
	want := r.results.schema
	if want == nil {
		r.results.schema = got
		return got, nil
	}
	if want.NumFields() != got.NumFields() {
		return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "it has %d columns, announced were %d", got.NumFields(), want.NumFields())
	}
	for i := range want.NumFields() {
		if w, g := want.Field(i), got.Field(i); !arrow.TypeEqual(w.Type, g.Type) {
			return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "column %d (%s) is %s, announced was %s", i, w.Name, g.Type, w.Type)
		}
	}
	return want, nil
}

// renamed is the batch under another schema of the same types; the caller owns it. A null in a column that was announced
// to have none is an error.
func renamed(b arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	for i := range schema.NumFields() {
		if f := schema.Field(i); !f.Nullable && b.Column(i).NullN() > 0 {
			return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "column %d (%s) has a NULL, announced was NOT NULL", i, f.Name)
		}
	}
	return array.NewRecordBatch(schema, b.Columns(), b.NumRows()), nil
}
