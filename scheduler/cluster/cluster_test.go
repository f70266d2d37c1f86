package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

func TestQuery(t *testing.T) {
	b := newBench(t, Options{StatusGrace: 10 * time.Second})
	xs := []*fake{b.start("e1", 2), b.start("e2", 2), b.start("e3", 1)}
	require.Equal(t, 5, b.c.Slots())
	ctx := testContext(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	r := b.c.Run(ctx, spec("q", stage(1, 6, "shuffle 4"), stage(2, 4, "result 3", 1)), WithSchema(schema))
	first, err := r.Next(ctx)
	require.NoError(t, err)
	require.True(t, schema.Equal(first.Schema()), "names and nullability are the announced ones")
	first.Release()
	values, err := readAll(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 1000, 1001, 1002, 2000, 2001, 2002, 3000, 3001, 3002}, values, "in task order")
	outcome, err := r.Wait(ctx)
	require.NoError(t, err)
	require.Empty(t, outcome.DataFiles)
	require.Len(t, outcome.Stages, 2)
	require.Equal(t, outcome.Stages, r.Stages())
	require.Equal(t, int64(60), outcome.Stages[0].InputRows)
	require.Equal(t, int64(12), outcome.Stages[1].OutputRows, "the metrics of results come with their last status")
	require.Equal(t, job.Progress{Stages: 2, StagesDone: 2, Tasks: 10, TasksDone: 10, Rows: 60, ShuffledRows: 30}, r.Progress())

	// The tasks were spread over all executors, consumers were given every producer's file, and the job's end is known.
	total := 0
	for _, x := range xs {
		b.eventually("job end", func() bool { x.mu.Lock(); defer x.mu.Unlock(); return len(x.ended) == 1 && x.ended[0] == "q" })
		require.Greater(t, x.count(), 0)
		total += x.count()
		for _, l := range x.tasks {
			if l.GetId().GetStage() == 2 {
				require.Len(t, l.GetAssignments()[0].GetShuffle().GetFiles(), 6)
			}
		}
	}
	require.Equal(t, 10, total)
	for _, e := range b.c.Executors() {
		require.Zero(t, e.TasksRunning)
	}
}

func TestWrite(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 2, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			if l.GetId().GetTask() != 1 {
				x.work(l)
				return
			}
			// Its files come in parts.
			for i := range 3 {
				x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_StatusPart{StatusPart: &seracv1.TaskStatusPart{
					Id: l.GetId(), DataFiles: []*seracv1.DataFile{{Path: fmt.Sprint("part-", i)}}}}})
			}
			x.status(&seracv1.TaskStatus{Id: l.GetId(), State: seracv1.TaskState_TASK_STATE_FINISHED, DataFiles: []*seracv1.DataFile{{Path: "part-3"}}})
		}
	})
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("w", stage(1, 3, "write f")), b.orphaned())
	outcome, err := r.Wait(ctx)
	require.NoError(t, err)
	var paths []string
	for _, f := range outcome.DataFiles {
		paths = append(paths, f.GetPath())
	}
	require.Equal(t, []string{"f-1.0.1", "part-0", "part-1", "part-2", "part-3", "f-1.2.1"}, paths)
	_, err = r.Next(ctx)
	require.Equal(t, io.EOF, err, "a job without result stages has no rows")
	require.Empty(t, b.orphans)
}

func TestRefused(t *testing.T) {
	b := newBench(t, Options{Version: "1.2", Extensions: []string{"a.B", "c.D"}})
	good := func(_ *fake, r *seracv1.Register) { r.Version, r.Extensions = "1.2", []string{"c.D", "a.B"} }
	b.start("e1", 1, good)
	for _, c := range []struct {
		name   string
		change func(*seracv1.Register)
		code   codes.Code
		says   string
	}{
		{"version", func(r *seracv1.Register) { r.Version = "1.3" }, codes.FailedPrecondition, `its version is "1.3", the scheduler's is "1.2"`},
		{"extensions", func(r *seracv1.Register) { r.Extensions = []string{"a.B", "x.Y"} }, codes.FailedPrecondition, "it lacks [c.D], the scheduler lacks [x.Y]"},
		{"same id", func(r *seracv1.Register) { r.ExecutorId = "e1" }, codes.AlreadyExists, "attached"},
		{"no id", func(r *seracv1.Register) { r.ExecutorId = "" }, codes.InvalidArgument, "no id"},
		{"no slots", func(r *seracv1.Register) { r.Slots = 0 }, codes.InvalidArgument, "0 slots"},
		{"unspecified address", func(r *seracv1.Register) { r.FlightAddress = "0.0.0.0:50052" }, codes.InvalidArgument, "every address"},
		{"unspecified IPv6 address", func(r *seracv1.Register) { r.FlightAddress = "[::]:50052" }, codes.InvalidArgument, "every address"},
		{"no host", func(r *seracv1.Register) { r.FlightAddress = ":50052" }, codes.InvalidArgument, "no host"},
		{"no port", func(r *seracv1.Register) { r.FlightAddress = "host:0" }, codes.InvalidArgument, "no port"},
		{"no address", func(r *seracv1.Register) { r.FlightAddress = "" }, codes.InvalidArgument, "not host:port"},
	} {
		_, err := b.tryStart("bad", 1, good, func(_ *fake, r *seracv1.Register) { c.change(r) })
		require.Equal(t, c.code, status.Code(err), "%s: %v", c.name, err)
		require.ErrorContains(t, err, c.says, c.name)
	}
	require.Len(t, b.c.Executors(), 1)
}

func TestFirstMessageMustBeRegister(t *testing.T) {
	b := newBench(t, Options{})
	x := b.start("e1", 1)
	stream, err := seracv1.NewSchedulerServiceClient(x.conn).Attach(testContext(t))
	require.NoError(t, err)
	require.NoError(t, stream.Send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Drain{Drain: &seracv1.Drain{}}}))
	_, err = stream.Recv()
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// TestExecutorKilled: an executor dies in the middle of its tasks and with shuffle output on it; the job ends right.
func TestExecutorKilled(t *testing.T) {
	b := newBench(t, Options{})
	hang := make(chan struct{})
	dying := b.start("dying", 2, func(x *fake, _ *seracv1.Register) {
		n := 0
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			if n++; n == 1 {
				x.work(l) // it finishes one
				return
			}
			if n == 2 {
				close(hang)
			}
		}
	})
	b.start("other", 2)
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("q", stage(1, 8, "shuffle 1"), stage(2, 1, "result 2", 1)))
	<-hang
	b.eventually("one task of the dying executor is done", func() bool { return r.Progress().TasksDone > 0 })
	dying.kill()
	values, err := readAll(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1}, values)
	require.GreaterOrEqual(t, r.Progress().Retries, 2)
	require.Len(t, b.c.Executors(), 1)
}

// TestSilentExecutor: an executor that says nothing for a lease is lost, and what it says later counts for nothing.
func TestSilentExecutor(t *testing.T) {
	b := newBench(t, Options{Lease: 150 * time.Millisecond})
	got := make(chan *seracv1.TaskLaunch, 1)
	silent := b.start("silent", 1, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) { got <- l }
	})
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("w", stage(1, 1, "write f")), b.orphaned())
	l := <-got
	silent.silent.Store(true)
	b.start("other", 1)
	outcome, err := r.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, "f-1.0.2", outcome.DataFiles[0].GetPath())
	require.Equal(t, []job.AttemptID{{Stage: 1, Task: 0, Attempt: 1}}, outcome.Abandoned)
	<-silent.done
	require.Equal(t, codes.Aborted, status.Code(silent.err), "its stream is ended: %v", silent.err)
	silent.work(l)
	require.Equal(t, "other", b.c.Executors()[0].ID)
	require.Empty(t, b.orphans)
}

// TestDoesNotAnswer: an executor goes on with its heartbeats, says that it has free slots, and never begins with a task.
func TestDoesNotAnswer(t *testing.T) {
	b := newBench(t, Options{Lease: 200 * time.Millisecond})
	launched := make(chan struct{}, 1)
	x := b.start("deaf", 1, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(*fake, *seracv1.TaskLaunch) { launched <- struct{}{} }
	})
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("q", stage(1, 1, "result 1")))
	<-launched
	b.start("other", 1)
	time.Sleep(400 * time.Millisecond)
	require.Len(t, b.c.Executors(), 2, "all its slots are taken: the task waits for one")
	x.free.Store(1)
	values, err := readAll(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []int64{0}, values)
	<-x.done
	require.ErrorContains(t, x.err, "gave it up")
}

// TestHeartbeatsKeepTheLease: no message but heartbeats for several leases.
func TestHeartbeatsKeepTheLease(t *testing.T) {
	b := newBench(t, Options{Lease: 200 * time.Millisecond})
	b.start("e1", 1)
	time.Sleep(700 * time.Millisecond)
	infos := b.c.Executors()
	require.Len(t, infos, 1)
	require.Equal(t, int64(7), infos[0].MemoryUsedBytes)
}

// TestLateStatus: the report of a superseded attempt, and of one that ended after its job, hand their files out.
func TestLateStatus(t *testing.T) {
	b := newBench(t, Options{})
	launches := make(chan *seracv1.TaskLaunch, 10)
	x := b.start("e1", 4, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) { launches <- l }
	})
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("w", stage(1, 1, "write f")), b.orphaned())
	first := <-launches
	x.fail(first.GetId(), seracv1.FailureKind_FAILURE_KIND_TRANSPORT, "reset")
	second := <-launches
	x.work(first)
	b.eventually("superseded", func() bool { return len(b.orphans) == 1 && b.orphans[0] == "f-1.0.1" })
	x.work(second)
	outcome, err := r.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, "f-1.0.2", outcome.DataFiles[0].GetPath())
	x.work(second) // a second report of the attempt that counted
	x.work(first)
	b.eventually("after the end", func() bool { return len(b.orphans) == 2 })
	require.Equal(t, []string{"f-1.0.1", "f-1.0.1"}, b.orphans)

	// All files of a failed job are given up.
	r = b.c.Run(ctx, spec("w2", stage(1, 2, "write g")), b.orphaned())
	one, two := <-launches, <-launches
	x.work(one)
	b.eventually("one is done", func() bool { return r.Progress().TasksDone == 1 })
	x.fail(two.GetId(), seracv1.FailureKind_FAILURE_KIND_STATEMENT, "NULL in a required column")
	_, err = r.Wait(ctx)
	require.ErrorIs(t, err, wire.ErrStatement)
	require.EqualError(t, err, "NULL in a required column")
	x.work(two)
	b.eventually("both files are given up", func() bool { return len(b.orphans) == 4 })
}

func TestCancel(t *testing.T) {
	for _, how := range []string{"Cancel", "context", "deadline"} {
		t.Run(how, func(t *testing.T) {
			b := newBench(t, Options{})
			launched := make(chan struct{}, 10)
			x := b.start("e1", 2, func(x *fake, _ *seracv1.Register) {
				x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) { launched <- struct{}{} }
			})
			ctx, cancel := context.WithCancel(testContext(t))
			if how == "deadline" {
				ctx, cancel = context.WithTimeout(ctx, 200*time.Millisecond)
			}
			defer cancel()
			r := b.c.Run(ctx, spec("q", stage(1, 5, "result 1")))
			<-launched
			<-launched
			next := make(chan error, 1)
			go func() {
				_, err := r.Next(context.Background())
				next <- err
			}()
			start := time.Now()
			want := wire.ErrCancelled
			switch how {
			case "Cancel":
				r.Cancel()
				r.Cancel()
			case "context":
				cancel()
			default:
				want = wire.ErrDeadline
			}
			require.ErrorIs(t, <-next, want)
			_, err := r.Wait(context.Background())
			require.ErrorIs(t, err, want)
			b.eventually("both tasks are cancelled, the job is ended", func() bool {
				x.mu.Lock()
				defer x.mu.Unlock()
				return len(x.cancel) == 2 && len(x.ended) == 1
			})
			require.Less(t, time.Since(start), time.Second)
			require.Zero(t, b.c.Executors()[0].TasksRunning)
		})
	}
}

func TestNoExecutor(t *testing.T) {
	b := newBench(t, Options{NoExecutorTimeout: 200 * time.Millisecond})
	ctx := testContext(t)
	start := time.Now()
	r := b.c.Run(ctx, spec("q", stage(1, 1, "result 1")))
	_, err := r.Next(ctx)
	require.ErrorIs(t, err, wire.ErrResourcesExhausted)
	require.ErrorContains(t, err, "no executor is attached that takes tasks; waited 200ms")
	require.GreaterOrEqual(t, time.Since(start), 200*time.Millisecond)

	// One that comes in time is enough.
	r = b.c.Run(ctx, spec("q2", stage(1, 1, "result 1")))
	x := b.start("e1", 1)
	values, err := readAll(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []int64{0}, values)

	// One that drains is none.
	x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Drain{Drain: &seracv1.Drain{}}})
	b.eventually("it drains", func() bool { return b.c.Slots() == 0 })
	_, err = readAll(ctx, b.c.Run(ctx, spec("q3", stage(1, 1, "result 1"))))
	require.ErrorIs(t, err, wire.ErrResourcesExhausted)
}

// TestDrain: an executor drains; tasks that it hands back run elsewhere, and its leaving is no loss.
func TestDrain(t *testing.T) {
	b := newBench(t, Options{})
	launched := make(chan *seracv1.TaskLaunch, 2)
	x := b.start("e1", 2, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) { launched <- l }
	})
	ctx := testContext(t)
	s := spec("w", stage(1, 2, "write f"))
	s.MaxAttempts = 1
	r := b.c.Run(ctx, s)
	one, two := <-launched, <-launched
	var slots atomic.Int64
	slots.Store(-1)
	b.c.OnSlots(func() { slots.Store(int64(b.c.Slots())) })
	told := func(n int64) { b.eventually("it is told of the slots", func() bool { return slots.Load() == n }) }
	x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Drain{Drain: &seracv1.Drain{}}})
	b.eventually("it drains", func() bool { return b.c.Slots() == 0 })
	x.fail(one.GetId(), seracv1.FailureKind_FAILURE_KIND_HANDED_BACK, "draining")
	x.work(two)
	told(0)
	y := b.start("e2", 1)
	told(1)
	_, err := r.Wait(ctx)
	require.NoError(t, err)
	require.NoError(t, x.stream.CloseSend())
	<-x.done
	require.Equal(t, io.EOF, x.err)
	b.eventually("it left", func() bool { return len(b.c.Executors()) == 1 })
	require.Contains(t, b.events, Event(ExecutorLost{ID: "e1"}))
	y.kill()
	told(0)
}

func TestInvalidJobs(t *testing.T) {
	b := newBench(t, Options{})
	ctx := testContext(t)
	_, err := b.c.Run(ctx, job.Spec{ID: "j"}).Wait(ctx)
	require.ErrorIs(t, err, wire.ErrInternal)
	require.ErrorContains(t, err, "no stages")

	r := b.c.Run(ctx, spec("big", job.Stage{ID: 1, Sink: job.Result, Tasks: make([]job.Task, 1), Fragment: make([]byte, maxFragment+1)}))
	_, err = r.Next(ctx)
	require.ErrorIs(t, err, wire.ErrResourcesExhausted)
	require.ErrorContains(t, err, "the plan of stage 1 takes")
	require.Empty(t, r.Stages())
	require.Zero(t, r.Progress())
	r.Cancel()

	r = b.c.Run(ctx, spec("same", stage(1, 1, "result 1")))
	_, err = b.c.Run(ctx, spec("same", stage(1, 1, "result 1"))).Wait(ctx)
	require.ErrorContains(t, err, "running already")
	r.Cancel()

	outcome, err := b.c.Run(ctx, spec("empty", stage(1, 0, "write f"))).Wait(ctx)
	require.NoError(t, err)
	require.Empty(t, outcome.DataFiles)
	_, err = b.c.Run(ctx, spec("no rows", stage(1, 0, "result 1"))).Next(ctx)
	require.Equal(t, io.EOF, err)
}

func TestClose(t *testing.T) {
	b := newBench(t, Options{})
	x := b.start("e1", 1, func(x *fake, _ *seracv1.Register) { x.onLaunch = func(*fake, *seracv1.TaskLaunch) {} })
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("q", stage(1, 1, "result 1")))
	b.c.Close()
	_, err := r.Next(ctx)
	require.ErrorIs(t, err, wire.ErrCancelled)
	<-x.done
	require.ErrorContains(t, x.err, "shutting down")
	require.Equal(t, []string{"q"}, x.ended, "the last words reach it")
	_, err = b.c.Run(ctx, spec("q2", stage(1, 1, "result 1"))).Wait(ctx)
	require.ErrorIs(t, err, errClosed)
}

// TestDoesNotRead: an executor that does not read its stream is lost when its queue is full.
func TestDoesNotRead(t *testing.T) {
	b := newBench(t, Options{NoExecutorTimeout: time.Second})
	stuck := make(chan struct{})
	x := b.start("e1", 1, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(*fake, *seracv1.TaskLaunch) { <-stuck }
	})
	defer close(stuck)
	// It is in its first launch; every further job sends it a launch and an end that it does not read.
	large := string(make([]byte, 100<<10))
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	for i := 0; i < 3*maxQueue && len(b.c.Executors()) > 0; i++ {
		b.c.Run(ctx, spec(fmt.Sprint("q", i), stage(1, 1, "result "+large))).Cancel()
		if i > maxQueue {
			time.Sleep(time.Millisecond)
		}
	}
	b.eventually("it is lost", func() bool { return len(b.c.Executors()) == 0 })
	require.True(t, x.id == "e1")
	lost := false
	for _, e := range b.events {
		if l, ok := e.(ExecutorLost); ok {
			require.Contains(t, l.Reason, "does not read")
			lost = true
		}
	}
	require.True(t, lost)
}

// TestOrder: results come in task order whatever order they stream in, with more tasks than slots.
func TestOrder(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 2)
	b.start("e2", 1)
	ctx := testContext(t)
	values, err := readAll(ctx, b.c.Run(ctx, spec("q", stage(1, 20, "result 2"))))
	require.NoError(t, err)
	require.Len(t, values, 40)
	for i, v := range values {
		require.Equal(t, int64(i/2*1000+i%2), v)
	}
}

func TestSchemaDiffers(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 1)
	ctx := testContext(t)
	_, err := readAll(ctx, b.c.Run(ctx, spec("q", stage(1, 1, "result 1")),
		WithSchema(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil))))
	require.ErrorIs(t, err, wire.ErrInternal)
	require.ErrorContains(t, err, "column 0 (s) is int64, announced was utf8")
	_, err = readAll(ctx, b.c.Run(ctx, spec("q2", stage(1, 1, "result 1")), WithSchema(arrow.NewSchema(nil, nil))))
	require.ErrorContains(t, err, "it has 1 columns, announced were 0")
}

// TestStatementFails: the error that a result stream ends with is the statement's, with its kind, whichever of the two
// ways it comes by first.
func TestStatementFails(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 1, func(x *fake, _ *seracv1.Register) {
		x.onGet = func(x *fake, id *seracv1.TaskId, w *flight.Writer) error {
			if err := x.write(w, 1, 1); err != nil {
				return err
			}
			return wire.Failf(seracv1.FailureKind_FAILURE_KIND_STATEMENT, "cannot cast 'x' to INTEGER")
		}
	})
	ctx := testContext(t)
	_, err := readAll(ctx, b.c.Run(ctx, spec("q", stage(1, 1, "result 1"))))
	require.ErrorIs(t, err, wire.ErrStatement)
	require.EqualError(t, err, "cannot cast 'x' to INTEGER")
	var f *wire.Failure
	require.True(t, errors.As(err, &f))
}
