package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

// Run is a job on its way. Its methods are safe for concurrent use, but only one goroutine may call Next. A run keeps
// memory for rows that nobody fetched: read Next to its end, or Cancel, or end the context.
type Run struct {
	c    *Cluster
	spec job.Spec // as the run began
	o    runOptions
	done chan struct{} // closed when the job is over; outcome and err are set then
	// fetching ends the result pulls.
	fetching     context.Context
	stopFetching context.CancelFunc
	// stopWatching ends the watch over the caller's context.
	stopWatching func() bool

	outcome *Outcome
	err     error

	// Guarded by Cluster.mu.
	m       *job.Machine
	started time.Time
	turn    uint64 // when it last launched a task, or began
	active  int    // attempts launched and not over
	numbers []job.StageNumbers
	outputs map[plan.StageID]*stageOutput
	final   *job.Progress // once the job is over

	// results has what Next reads. mu is taken last, with or without Cluster.mu.
	mu      sync.Mutex
	results results
}

// Outcome is what a job leaves behind. One that failed has no data files to commit.
type Outcome struct {
	// DataFiles are those of the write stages, each task's once, in stage and task order.
	DataFiles []*seracv1.DataFile
	// Abandoned are attempts of write stages whose executor was lost while they ran: they may have left data files that
	// nobody listed.
	Abandoned []job.AttemptID
	// Stages are the final numbers.
	Stages []job.StageNumbers
}

// RunOption changes how a job runs.
type RunOption func(*runOptions)

type runOptions struct {
	credentials func(ctx context.Context, table string) (wire.FileIO, error)
	schema      *arrow.Schema
	orphans     func(paths []string)
}

// WithSchema gives the schema of the batches that Next returns. A result stream must have its column types, in its order;
// names, nullability and metadata are taken from here. Without it the first stream's schema is that of all.
func WithSchema(s *arrow.Schema) RunOption { return func(o *runOptions) { o.schema = s } }

// WithOrphans is told of data files that no commit may name and that nobody else deletes: those of superseded attempts,
// and all of them when the job fails. It is called in a goroutine of its own, possibly more than once and after the job's
// end; Cluster.Close waits for it.
func WithOrphans(f func(paths []string)) RunOption { return func(o *runOptions) { o.orphans = f } }

// Run starts a job and returns at once. Of an open job, Add brings the further stages. When ctx is done the job is cancelled (or fails with DEADLINE, when that is the
// reason) and rows not fetched yet are given up. The spec belongs to the run from now on. A spec that is not valid makes
// a run that has failed.
func (c *Cluster) Run(ctx context.Context, spec job.Spec, options ...RunOption) *Run {
	r := &Run{c: c, spec: spec, done: make(chan struct{}), started: time.Now()}
	for _, o := range options {
		o(&r.o)
	}
	r.results.init()
	r.fetching, r.stopFetching = context.WithCancel(context.Background())
	r.stopWatching = func() bool { return true }

	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(r); err != nil {
		r.end(nil, err)
		return r
	}
	r.stopWatching = context.AfterFunc(ctx, func() { r.abandon(ctx) })
	return r
}

// start checks a job and sets its machine going.
func (c *Cluster) start(r *Run) error {
	if c.closed {
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_CANCELLED, errClosed)
	}
	if c.runs[r.spec.ID] != nil {
		return wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "job %q is running already", r.spec.ID)
	}
	tasks := 0
	for i := range r.spec.Stages {
		tasks += len(r.spec.Stages[i].Tasks)
	}
	if err := checkFragments(r.spec.Stages); err != nil {
		return err
	}
	m, err := job.New(&r.spec)
	if err != nil {
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_INTERNAL, err)
	}
	r.m = m
	c.runs[r.spec.ID] = r
	c.turn++
	r.turn = c.turn // of two jobs that have launched nothing the older one goes first
	c.emit(JobStarted{Job: r.spec.ID, Stages: len(r.spec.Stages), Tasks: tasks})
	for _, e := range c.order {
		c.step(r, job.ExecutorAdded{Executor: e.info.ID})
		if e.info.Draining {
			c.step(r, job.ExecutorDraining{Executor: e.info.ID})
		}
	}
	c.apply(r, m.Start())
	r.resultsKnown()
	c.dispatch()
	return nil
}

// checkFragments refuses stages whose plan does not fit into a message.
func checkFragments(stages []job.Stage) error {
	for i := range stages {
		if n := fragmentSize(&stages[i]); n > maxFragment {
			return wire.Failf(seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED,
				"the plan of stage %d takes %d bytes, more than the %d that one message to an executor may carry", stages[i].ID, n, maxFragment)
		}
	}
	return nil
}

func fragmentSize(s *job.Stage) int {
	n := len(s.Fragment)
	for k, v := range s.Settings {
		n += len(k) + len(v)
	}
	return n
}

// ID is the job's id.
func (r *Run) ID() string { return r.spec.ID }

// Wait waits for the job's end and returns what it left behind, with its error (a *wire.Failure) when it failed. A job with
// result stages ends only when its rows are fetched: call Next. That ctx ends does not end the job; the Outcome is nil then.
func (r *Run) Wait(ctx context.Context) (*Outcome, error) {
	select {
	case <-r.done:
		return r.outcome, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for job %s: %w", r.spec.ID, ctx.Err())
	}
}

// Progress never blocks for long.
func (r *Run) Progress() job.Progress {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.progress()
}

func (r *Run) progress() job.Progress {
	switch {
	case r.final != nil:
		return *r.final
	case r.m == nil:
		return job.Progress{}
	default:
		return r.m.Progress()
	}
}

// Stages are the numbers of each stage so far.
func (r *Run) Stages() []job.StageNumbers {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.final != nil || r.m == nil {
		return r.numbers
	}
	return r.m.StageNumbers()
}

// Cancel ends the job with CANCELLED, if it has not ended yet, and gives up rows that Next has not returned. It returns
// at once and may be called more than once.
func (r *Run) Cancel() { r.cancel("the statement was cancelled") }

func (r *Run) cancel(reason string) {
	r.stop(job.Cancel{Reason: reason}, wire.Failf(seracv1.FailureKind_FAILURE_KIND_CANCELLED, "%s", reason))
}

// abandon ends the job because its context did.
func (r *Run) abandon(ctx context.Context) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.stop(job.Deadline{}, wire.Failf(seracv1.FailureKind_FAILURE_KIND_DEADLINE, "the statement's time is up"))
		return
	}
	reason := "the statement was cancelled"
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		reason += ": " + cause.Error()
	}
	r.cancel(reason)
}

// stop ends the job if it has not ended yet, and in any case what Next returns, with err.
func (r *Run) stop(why job.Event, err error) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.m != nil {
		r.c.step(r, why)
	}
	r.release(err)
	r.c.dispatch()
}

// step tells a run's machine of an event and does what follows from it.
func (c *Cluster) step(r *Run, e job.Event) {
	c.apply(r, r.m.Step(e))
	r.resultsKnown()
}

func (c *Cluster) apply(r *Run, actions []job.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case job.CancelTask:
			if e := c.executors[a.Executor]; e != nil {
				c.send(e, outgoing{message: &seracv1.AttachResponse{Message: &seracv1.AttachResponse_Cancel{
					Cancel: &seracv1.TaskCancel{Id: r.taskID(a.Attempt)},
				}}})
			}
		case job.AttemptOver:
			r.active--
			if e := c.executors[a.Executor]; e != nil {
				e.info.TasksRunning--
				delete(e.parts, attemptKey{r.spec.ID, a.Attempt})
				delete(e.unanswered, attemptKey{r.spec.ID, a.Attempt})
			}
			r.dropStream(a.Attempt)
		case job.StageDone:
			r.stageDone(a.Output)
		case job.ResultTasks:
			r.mu.Lock()
			r.results.add(a.Stage, a.Tasks)
			r.mu.Unlock()
		case job.DeleteFiles:
			c.orphaned(r.spec.ID, r.o.orphans, a.Paths)
		case job.Finished:
			c.finish(r, &Outcome{DataFiles: a.DataFiles, Abandoned: a.Abandoned}, nil)
		case job.Failed:
			c.finish(r, &Outcome{Abandoned: a.Abandoned}, wire.ErrorFrom(a.Failure))
		case job.CleanUp:
			for _, id := range a.Executors {
				if e := c.executors[id]; e != nil {
					c.send(e, outgoing{message: &seracv1.AttachResponse{Message: &seracv1.AttachResponse_JobEnd{
						JobEnd: &seracv1.JobEnd{JobId: r.spec.ID},
					}}})
				}
			}
		}
	}
}

func (r *Run) taskID(a job.AttemptID) *seracv1.TaskId {
	return &seracv1.TaskId{JobId: r.spec.ID, Stage: int32(a.Stage), Task: a.Task, Attempt: a.Attempt}
}

// finish takes a run out that is over.
func (c *Cluster) finish(r *Run, outcome *Outcome, err error) {
	progress := r.m.Progress()
	r.final, r.numbers = &progress, r.m.StageNumbers()
	if outcome != nil {
		outcome.Stages = r.numbers
	}
	delete(c.runs, r.spec.ID)
	c.late.add(r)
	r.end(outcome, err)
	c.emit(JobEnded{Job: r.spec.ID, Err: err, Progress: progress})
}

// end makes the outcome known. After a failure no further rows go out.
func (r *Run) end(outcome *Outcome, err error) {
	if r.final == nil {
		r.final = &job.Progress{}
	}
	r.outcome, r.err = outcome, err
	close(r.done)
	switch {
	case err != nil:
		r.release(err)
	case len(r.results.tasks) == 0:
		r.stopWatching() // nobody will call Next
	}
}

func (c *Cluster) orphaned(id string, tell func(paths []string), paths []string) {
	if tell == nil {
		c.o.Logger.Warn("data files are left over", "job", id, "files", len(paths), "first", paths[0])
		return
	}
	c.background(func() { tell(paths) })
}

func internal(err error) *seracv1.Failure {
	return &seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_INTERNAL, Message: err.Error()}
}
