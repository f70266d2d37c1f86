package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seracdb/serac/executor/task"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// session is one attachment to the scheduler: the tasks that came over its stream, and what is to be said on it.
type session struct {
	e   *Executor
	id  string
	log *slog.Logger
	out *outbox

	wg sync.WaitGroup // running tasks and clean-ups

	mu       sync.Mutex
	tasks    map[task.Key]*running
	queue    []*running // launched, waiting for a slot
	busy     int        // slots taken
	parts    map[task.Key]*incomplete
	asked    int64                               // numbers requests for credentials
	waiting  map[int64]chan *seracv1.Credentials // those not answered
	draining bool
	over     bool
	changed  chan struct{} // closed and replaced when a task ends
}

// running is a task that was launched and has not ended.
type running struct {
	task   *task.Task
	key    task.Key
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  chan struct{}
	state  seracv1.TaskState // UNSPECIFIED while it waits for a slot
	noSlot bool              // it has given its slot back, because it streams
}

// incomplete is a launch whose parts are still to come.
type incomplete struct {
	launch  *seracv1.TaskLaunch
	missing int32
}

var (
	errCancelled  = wire.Failf(seracv1.FailureKind_FAILURE_KIND_CANCELLED, "cancelled by the scheduler")
	errJobOver    = wire.Failf(seracv1.FailureKind_FAILURE_KIND_CANCELLED, "the job is over")
	errHandedBack = wire.Failf(seracv1.FailureKind_FAILURE_KIND_HANDED_BACK, "the executor is draining")
	errDetached   = wire.Failf(seracv1.FailureKind_FAILURE_KIND_EXECUTOR_LOST, "the executor lost its scheduler")
)

func newSession(e *Executor, id string, log *slog.Logger) *session {
	return &session{
		e: e, id: id, log: log, out: newOutbox(),
		tasks: map[task.Key]*running{}, parts: map[task.Key]*incomplete{}, changed: make(chan struct{}),
		waiting: map[int64]chan *seracv1.Credentials{},
	}
}

// receive handles what the scheduler says until the stream ends, whose error it returns. Handling never waits.
func (s *session) receive(stream seracv1.SchedulerService_AttachClient) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		switch m := m.GetMessage().(type) {
		case *seracv1.AttachResponse_Launch:
			s.launch(m.Launch)
		case *seracv1.AttachResponse_LaunchPart:
			s.launchPart(m.LaunchPart)
		case *seracv1.AttachResponse_Cancel:
			s.cancel(m.Cancel.GetId())
		case *seracv1.AttachResponse_JobEnd:
			s.jobEnd(m.JobEnd.GetJobId())
		case *seracv1.AttachResponse_Credentials:
			s.answered(m.Credentials)
		default:
			s.log.Warn("the scheduler sent what this executor does not know", "message", fmt.Sprintf("%T", m))
		}
	}
}

func (s *session) launch(l *seracv1.TaskLaunch) {
	if l.GetParts() > 0 {
		s.mu.Lock()
		s.parts[task.KeyOf(l.GetId())] = &incomplete{launch: l, missing: l.GetParts()}
		s.mu.Unlock()
		return
	}
	s.accept(l)
}

func (s *session) launchPart(p *seracv1.TaskLaunchPart) {
	key := task.KeyOf(p.GetId())
	s.mu.Lock()
	in := s.parts[key]
	if in == nil { // cancelled meanwhile
		s.mu.Unlock()
		return
	}
	in.missing--
	err := task.AddAssignments(in.launch, p.GetAssignments())
	if err != nil || in.missing == 0 {
		delete(s.parts, key)
	}
	complete := in.missing == 0
	s.mu.Unlock()
	switch {
	case err != nil:
		s.reject(key, wire.Fail(seracv1.FailureKind_FAILURE_KIND_INTERNAL, err))
	case complete:
		s.accept(in.launch)
	}
}

// reject answers a launch with a failure.
func (s *session) reject(key task.Key, err error) {
	s.out.status(&seracv1.TaskStatus{Id: key.ID(), State: seracv1.TaskState_TASK_STATE_FAILED, Failure: wire.FailureFrom(err)})
}

// accept queues a complete launch.
func (s *session) accept(l *seracv1.TaskLaunch) {
	key := task.KeyOf(l.GetId())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || s.over {
		s.reject(key, errHandedBack)
		return
	}
	if s.tasks[key] != nil {
		s.log.Warn("a task was launched twice", "task", key)
		return
	}
	r := &running{task: task.New(l, func(ctx context.Context, table string) (wire.FileIO, error) {
		return s.credentials(ctx, l.GetId(), table)
	}), key: key, ended: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	s.tasks[key] = r
	s.queue = append(s.queue, r)
	s.start()
}

// start runs queued tasks in free slots. s is locked.
func (s *session) start() {
	for len(s.queue) > 0 && s.busy < s.e.o.Slots {
		r := s.queue[0]
		s.queue = s.queue[1:]
		s.busy++
		s.wg.Go(func() { s.run(r) })
	}
}

func (s *session) run(r *running) {
	s.log.Debug("task starts", "task", r.key)
	status := s.e.runner.Run(r.ctx, r.task, s.id, func(status *seracv1.TaskStatus) {
		s.mu.Lock()
		r.state = status.GetState()
		if r.state == seracv1.TaskState_TASK_STATE_STREAMING {
			// It may wait for its reader for very long. The scheduler knows whether it does, and launches no more than
			// there are slots for as long as it does not.
			s.freeSlot(r)
		}
		s.mu.Unlock()
		s.out.status(status)
	})
	s.log.Debug("task ended", "task", r.key, "state", status.GetState(), "failure", status.GetFailure().GetMessage(),
		"elapsed", time.Duration(status.GetMetrics().GetElapsedMicros())*time.Microsecond)
	s.mu.Lock()
	s.ended(r)
	s.freeSlot(r)
	// The status goes out when the slot is free again, lest the scheduler's next task finds it taken.
	s.out.status(status)
	s.mu.Unlock()
}

// freeSlot gives a running task's slot back, once, and lets the next task have it. s is locked.
func (s *session) freeSlot(r *running) {
	if !r.noSlot {
		r.noSlot = true
		s.busy--
		s.start()
	}
}

// ended takes a task that is over off the table. s is locked.
func (s *session) ended(r *running) {
	delete(s.tasks, r.key)
	r.cancel(nil)
	close(r.ended)
	close(s.changed)
	s.changed = make(chan struct{})
}

// stop ends a task with a reason: one that waits for a slot is over at once. s is locked.
func (s *session) stop(r *running, cause error) {
	r.cancel(cause)
	for i, q := range s.queue {
		if q == r {
			s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
			r.task.Abandon(cause)
			s.ended(r)
			s.reject(r.key, cause)
			return
		}
	}
}

// cancel stops an attempt, and removes what it wrote if it has ended already.
func (s *session) cancel(id *seracv1.TaskId) {
	key := task.KeyOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts[key] != nil {
		delete(s.parts, key)
		s.reject(key, errCancelled)
		return
	}
	if r := s.tasks[key]; r != nil {
		s.stop(r, errCancelled)
		// It may have written all of its files by now, and end well for all that.
		s.background("remove a cancelled task's files", func() error { <-r.ended; return s.e.store.Discard(id) })
		return
	}
	s.background("remove a cancelled task's files", func() error { return s.e.store.Discard(id) })
}

// jobEnd stops what still runs of a job and removes its files.
func (s *session) jobEnd(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.parts {
		if key.Job == job {
			delete(s.parts, key)
		}
	}
	var wait []*running
	for key, r := range s.tasks {
		if key.Job == job {
			wait = append(wait, r)
		}
	}
	for _, r := range wait {
		s.stop(r, errJobOver)
	}
	s.background("remove a job's files", func() error {
		for _, r := range wait {
			<-r.ended
		}
		return s.e.store.EndJob(job)
	})
}

// background runs a clean-up that the end of the session waits for.
func (s *session) background(what string, f func() error) {
	s.wg.Go(func() {
		if err := f(); err != nil {
			s.log.Error("cannot "+what, "error", err)
		}
	})
}

// find is the task of that key, nil when it does not run here.
func (s *session) find(key task.Key) *task.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.tasks[key]; r != nil {
		return r.task
	}
	return nil
}

// end stops all tasks, waits for them, and removes all shuffle files: the scheduler counts them as lost.
func (s *session) end() {
	s.mu.Lock()
	s.over = true
	s.stopAll(errDetached)
	s.mu.Unlock()
	waiting := time.AfterFunc(10*time.Second, func() { s.log.Warn("tasks do not stop") })
	s.wg.Wait()
	waiting.Stop()
	if err := s.e.store.Clear(); err != nil {
		s.log.Error("cannot remove shuffle files", "error", err)
	}
}

// stopAll stops all tasks. s is locked.
func (s *session) stopAll(cause error) {
	for _, r := range s.tasks {
		s.stop(r, cause)
	}
}

// heartbeat is how the executor is.
func (s *session) heartbeat() *seracv1.Heartbeat {
	_, bytes := s.e.store.Usage()
	h := &seracv1.Heartbeat{
		MemoryUsedBytes: residentBytes(),
		SpillBytes:      bytes + dirBytes(s.e.temp),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h.FreeSlots = int32(max(s.e.o.Slots-s.busy-len(s.queue), 0))
	for _, r := range s.tasks {
		if r.state != seracv1.TaskState_TASK_STATE_UNSPECIFIED {
			h.Running = append(h.Running, &seracv1.TaskStatus{Id: r.task.ID(), State: r.state, Metrics: r.task.Metrics()})
		}
	}
	return h
}

// drain takes no further tasks, lets the running ones go on for grace, hands them back then, and keeps shuffle files for
// jobs that go on, for as long as timeout. It ends early with ctx.
func (s *session) drain(ctx context.Context, grace, timeout time.Duration) {
	s.log.Info("draining")
	s.mu.Lock()
	s.draining = true
	for key := range s.parts {
		delete(s.parts, key)
		s.reject(key, errHandedBack)
	}
	for len(s.queue) > 0 {
		s.stop(s.queue[0], errHandedBack)
	}
	s.mu.Unlock()
	s.out.drain()

	graceCtx, cancel := context.WithTimeout(ctx, grace)
	s.idle(graceCtx)
	cancel()
	s.mu.Lock()
	s.stopAll(errHandedBack)
	s.mu.Unlock()
	s.idle(ctx)

	filesCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		if jobs, _ := s.e.store.Usage(); jobs == 0 {
			return
		}
		select {
		case <-filesCtx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// idle waits until no task is left, or ctx ends.
func (s *session) idle(ctx context.Context) {
	for {
		s.mu.Lock()
		n, changed := len(s.tasks), s.changed
		s.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

var errSendStalled = errors.New("the scheduler does not read its stream")
