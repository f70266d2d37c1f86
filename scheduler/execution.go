package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/admission"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/cluster"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/wire"
)

// countSchema is the result of every statement that returns no rows of its own.
var countSchema = arrow.NewSchema([]arrow.Field{{Name: "Count", Type: arrow.PrimitiveTypes.Int64}}, nil)

// bounded is ctx with the statement's timeout.
func (st *statement) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if st.options.Timeout > 0 {
		return context.WithTimeoutCause(ctx, st.options.Timeout, wire.Failf(
			seracv1.FailureKind_FAILURE_KIND_DEADLINE, "the statement ran longer than its timeout of %s (timeout_secs)", st.options.Timeout))
	}
	return context.WithCancel(ctx)
}

// ended is err, or the reason why ctx ended when that is what err comes from.
func ended(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	var f *wire.Failure
	if cause := context.Cause(ctx); errors.As(cause, &f) {
		return cause
	}
	return err
}

// jobExecution is a query on its way: a job whose result tasks are read through Next, or that waits for its place.
type jobExecution struct {
	st     *statement
	ctx    context.Context
	cancel context.CancelCauseFunc
	schema *arrow.Schema
	place  *admission.Place
	// slow takes the place away while Next is not called.
	slow *time.Timer

	// started is closed when the job has started, or will not: run or failed is set before.
	started chan struct{}
	run     *cluster.Run
	failed  error

	mu    sync.Mutex
	state engine.State
	rows  int64
}

// begin plans under the statement's timeout, which the execution that comes of it takes over.
func (st *statement) begin(ctx context.Context, plan func(context.Context) (*jobExecution, error)) (engine.Execution, error) {
	ctx, stop := st.bounded(ctx)
	ctx, cancelCause := context.WithCancelCause(ctx)
	cancel := func(cause error) { cancelCause(cause); stop() }
	e, err := plan(ctx)
	if err != nil {
		err = ended(ctx, err)
		cancel(nil)
		return nil, err
	}
	e.ctx, e.cancel = ctx, cancel
	return e, nil
}

// startQuery starts the job of a query, as soon as there is a place for it.
func (st *statement) startQuery(ctx context.Context, bound *bind.Bound, p *planned) (*jobExecution, error) {
	place, err := st.place()
	if err != nil {
		return nil, err
	}
	e := &jobExecution{st: st, schema: bound.Arrow, place: place, started: make(chan struct{}), state: engine.Queued}
	e.slow = time.AfterFunc(time.Hour, place.Leave)
	e.slow.Stop()
	launch := func() {
		defer close(e.started)
		e.failed = st.guarded(func() (err error) {
			e.run, err = st.launch(ctx, p, cluster.WithSchema(bound.Arrow))
			return err
		})
		if e.failed != nil {
			place.Leave()
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.state = engine.Running
	}
	select {
	case <-place.Admitted():
		launch()
		return e, e.failed
	default:
	}
	st.goroutines.Go(func() {
		select {
		case <-place.Admitted():
			launch()
		case <-ctx.Done():
			place.Leave()
			e.failed = context.Cause(ctx)
			close(e.started)
		}
	})
	return e, nil
}

func (e *jobExecution) ID() string            { return e.st.id }
func (e *jobExecution) IsQuery() bool         { return true }
func (e *jobExecution) Schema() *arrow.Schema { return e.schema }

func (e *jobExecution) Next(ctx context.Context) (arrow.RecordBatch, error) {
	select {
	case <-e.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if e.failed != nil {
		return nil, e.end(ended(e.ctx, e.failed))
	}
	e.slow.Stop()
	batch, err := e.run.Next(ctx)
	if err != nil {
		return nil, e.end(ended(e.ctx, err))
	}
	e.slow.Reset(fetchPatience)
	e.mu.Lock()
	e.rows += batch.NumRows()
	over := e.st.options.MaxResultRows > 0 && e.rows > e.st.options.MaxResultRows
	e.mu.Unlock()
	if over {
		batch.Release()
		e.run.Cancel()
		return nil, e.end(wire.Failf(seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED,
			"the result has more than %d rows (max_result_rows); add a LIMIT or raise the setting", e.st.options.MaxResultRows))
	}
	return batch, nil
}

// end records how the execution ended and gives err back.
func (e *jobExecution) end(err error) error {
	e.slow.Stop()
	e.place.Leave()
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case errors.Is(err, io.EOF):
		e.state = engine.Finished
	case errors.Is(err, wire.ErrCancelled):
		e.state = engine.Cancelled
	default:
		e.state = engine.Failed
	}
	return err
}

// RowsAffected of a query is unknown.
func (e *jobExecution) RowsAffected(context.Context) (int64, error) { return -1, nil }

func (e *jobExecution) Progress() engine.Progress {
	e.mu.Lock()
	state := e.state
	e.mu.Unlock()
	return progressOf(state, e.job())
}

// job is the query's job; nil when it has none yet.
func (e *jobExecution) job() *cluster.Run {
	select {
	case <-e.started:
		return e.run
	default:
		return nil
	}
}

func progressOf(state engine.State, run *cluster.Run) engine.Progress {
	if run == nil {
		return engine.Progress{State: state}
	}
	p := run.Progress()
	return engine.Progress{
		State: state, Stages: p.Stages, StagesDone: p.StagesDone, Tasks: p.Tasks, TasksDone: p.TasksDone,
		TasksRunning: p.TasksRunning, Retries: p.Retries, Rows: p.Rows, Bytes: p.Bytes,
		ShuffledRows: p.ShuffledRows, Shuffled: p.Shuffled,
	}
}

// Cancel of a query that waits for its place is its end: the job never starts.
func (e *jobExecution) Cancel() {
	if run := e.job(); run != nil {
		run.Cancel()
		return
	}
	e.cancel(errCancelled)
}

func (e *jobExecution) Close() {
	e.Cancel()
	e.cancel(nil)
	e.slow.Stop()
	e.place.Leave()
}

// taskExecution is a statement that runs in a goroutine of the scheduler and then has a small result: an update's count
// or the lines of EXPLAIN ANALYZE.
type taskExecution struct {
	id      string
	isQuery bool
	schema  *arrow.Schema
	cancel  context.CancelCauseFunc
	done    chan struct{}

	// result is set before done is closed.
	result rows
	count  int64
	err    error

	mu    sync.Mutex
	run   *cluster.Run // the job, once there is one
	sent  bool
	state engine.State
}

// rows makes the one batch of a small result.
type rows func() arrow.RecordBatch

// guarded is for what a goroutine of the statement's does: a panic there is the statement's error, as one in a call is the
// call's, and not the scheduler's end.
func (st *statement) guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			// The value of a panic may hold anything, so it stays out of the log as well as out of the answer.
			st.log.Error("statement: panic", "statement", st.id, "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			err = wire.ErrInternal
		}
	}()
	return work()
}

// background runs a statement in a goroutine. work gives the result's rows (nil for an update: its count) and may tell the
// execution of its job.
func (st *statement) background(ctx context.Context, isQuery bool, schema *arrow.Schema, work func(context.Context, *taskExecution) (rows, int64, error)) engine.Execution {
	ctx, stop := st.bounded(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	e := &taskExecution{id: st.id, isQuery: isQuery, schema: schema, cancel: cancel, done: make(chan struct{}), state: engine.Running}
	st.goroutines.Go(func() {
		defer stop()
		defer cancel(nil)
		var result rows
		var count int64
		err := st.guarded(func() (err error) {
			result, count, err = work(ctx, e)
			return err
		})
		err = ended(ctx, err)
		if result == nil && err == nil {
			result = countRow(count)
		}
		e.mu.Lock()
		e.result, e.count, e.err = result, count, err
		switch {
		case err == nil:
			e.state = engine.Finished
		case errors.Is(err, wire.ErrCancelled) || errors.Is(err, context.Canceled):
			e.state = engine.Cancelled
		default:
			e.state = engine.Failed
		}
		e.mu.Unlock()
		close(e.done)
	})
	return e
}

func (e *taskExecution) follow(run *cluster.Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.run = run
}

func (e *taskExecution) ID() string            { return e.id }
func (e *taskExecution) IsQuery() bool         { return e.isQuery }
func (e *taskExecution) Schema() *arrow.Schema { return e.schema }

func (e *taskExecution) wait(ctx context.Context) error {
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *taskExecution) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := e.wait(ctx); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sent {
		return nil, io.EOF
	}
	e.sent = true
	return e.result(), nil
}

func (e *taskExecution) RowsAffected(ctx context.Context) (int64, error) {
	if err := e.wait(ctx); err != nil {
		return 0, err
	}
	return e.count, nil
}

func (e *taskExecution) Progress() engine.Progress {
	e.mu.Lock()
	defer e.mu.Unlock()
	return progressOf(e.state, e.run)
}

var errCancelled = wire.Failf(seracv1.FailureKind_FAILURE_KIND_CANCELLED, "the statement was cancelled")

func (e *taskExecution) Cancel() { e.cancel(errCancelled) }

// Close of a statement that has not ended cancels it.
func (e *taskExecution) Close() { e.Cancel() }

func countRow(n int64) rows {
	return func() arrow.RecordBatch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, countSchema)
		defer b.Release()
		b.Field(0).(*array.Int64Builder).Append(n)
		return b.NewRecordBatch()
	}
}

// textRows is a result of text columns; a nil cell is NULL.
func textRows(schema *arrow.Schema, table [][]*string) rows {
	return func() arrow.RecordBatch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer b.Release()
		for _, row := range table {
			for i, cell := range row {
				if cell == nil {
					b.Field(i).AppendNull()
				} else {
					b.Field(i).(*array.StringBuilder).Append(*cell)
				}
			}
		}
		return b.NewRecordBatch()
	}
}

// elapsed rounds a duration for people.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}
