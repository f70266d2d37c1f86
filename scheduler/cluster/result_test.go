package cluster

import (
	"io"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

// TestResultLost: an executor dies while its result streams.
func TestResultLost(t *testing.T) {
	for _, c := range []struct {
		name      string
		delivered bool // a row has gone to the client
	}{{"before delivery", false}, {"after delivery", true}} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{HoldBackTime: time.Hour}
			if c.delivered {
				o.HoldBackTime = 20 * time.Millisecond
			}
			b := newBench(t, o)
			written, die := make(chan struct{}), make(chan struct{})
			dying := b.start("dying", 1, func(x *fake, _ *seracv1.Register) {
				x.onGet = func(x *fake, id *seracv1.TaskId, w *flight.Writer) error {
					if err := x.write(w, 7, 1); err != nil {
						return err
					}
					close(written)
					<-die
					return io.ErrUnexpectedEOF
				}
			})
			ctx := testContext(t)
			r := b.c.Run(ctx, spec("q", stage(1, 1, "result 2")))
			<-written
			b.start("other", 1)
			if c.delivered {
				batch, err := r.Next(ctx)
				require.NoError(t, err)
				batch.Release()
			}
			close(die)
			dying.kill()
			values, err := readAll(ctx, r)
			if c.delivered {
				require.ErrorIs(t, err, wire.ErrExecutorLost)
				require.ErrorContains(t, err, "run the statement again")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []int64{0, 1}, values, "each row once")
			require.Equal(t, 1, r.Progress().Retries)
		})
	}
}

// TestResultArrived: once all rows are here, the executor may go, even before it says that it has finished.
func TestResultArrived(t *testing.T) {
	b := newBench(t, Options{})
	x := b.start("e1", 1)
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("q", stage(1, 1, "result 3")))
	_, err := r.Wait(ctx)
	require.NoError(t, err)
	x.kill()
	b.eventually("it is lost", func() bool { return len(b.c.Executors()) == 0 })
	values, err := readAll(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 1, 2}, values)
}

// TestHoldBack: rows go out when the stream has ended, when enough is held, or after a while; not before.
func TestHoldBack(t *testing.T) {
	const batch = 1000 // rows, 8 bytes each
	stream := func(n int, more chan struct{}) func(x *fake, _ *seracv1.Register) {
		return func(x *fake, _ *seracv1.Register) {
			x.onGet = func(x *fake, id *seracv1.TaskId, w *flight.Writer) error {
				for range n {
					if err := x.write(w, 1, batch); err != nil {
						return err
					}
				}
				<-more
				return nil
			}
		}
	}
	t.Run("time", func(t *testing.T) {
		b := newBench(t, Options{HoldBackTime: 300 * time.Millisecond})
		more := make(chan struct{})
		b.start("e1", 1, stream(1, more))
		ctx := testContext(t)
		start := time.Now()
		r := b.c.Run(ctx, spec("q", stage(1, 1, "result 1")))
		rows, err := r.Next(ctx)
		require.NoError(t, err)
		rows.Release()
		require.GreaterOrEqual(t, time.Since(start), 300*time.Millisecond)
		close(more)
		_, err = r.Next(ctx)
		require.Equal(t, io.EOF, err)
	})
	t.Run("size", func(t *testing.T) {
		b := newBench(t, Options{HoldBackTime: time.Hour, HoldBackBytes: 3 * 8 * batch})
		more := make(chan struct{})
		b.start("e1", 1, stream(4, more))
		ctx := testContext(t)
		r := b.c.Run(ctx, spec("q", stage(1, 1, "result 1")))
		rows, err := r.Next(ctx)
		require.NoError(t, err)
		rows.Release()
		close(more)
		values, err := readAll(ctx, r)
		require.NoError(t, err)
		require.Len(t, values, 3*batch)
	})
	t.Run("end", func(t *testing.T) {
		b := newBench(t, Options{HoldBackTime: time.Hour})
		more := make(chan struct{})
		close(more)
		b.start("e1", 1, stream(1, more))
		ctx := testContext(t)
		start := time.Now()
		values, err := readAll(ctx, b.c.Run(ctx, spec("q", stage(1, 1, "result 1"))))
		require.NoError(t, err)
		require.Len(t, values, batch)
		require.Less(t, time.Since(start), 5*time.Second)
	})
}

// TestBackPressure: a client that does not read stops the executor from producing.
func TestBackPressure(t *testing.T) {
	b := newBench(t, Options{HoldBackBytes: 64 << 10, HoldBackTime: 10 * time.Millisecond})
	const batches, rows = 200, 10_000 // 80 KB a batch, 16 MB in all
	x := b.start("e1", 1, func(x *fake, _ *seracv1.Register) {
		x.onGet = func(x *fake, id *seracv1.TaskId, w *flight.Writer) error {
			for i := range batches {
				if err := x.write(w, int64(i), rows); err != nil {
					return err
				}
			}
			return nil
		}
	})
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("q", stage(1, 1, "result 1")))
	first, err := r.Next(ctx)
	require.NoError(t, err)
	first.Release()
	time.Sleep(200 * time.Millisecond)
	x.mu.Lock()
	sent := x.sent
	x.mu.Unlock()
	require.Less(t, sent, batches/2, "buffers of gRPC and the hold-back only")
	values, err := readAll(ctx, r)
	require.NoError(t, err)
	require.Len(t, values, (batches-1)*rows)
}

// TestEarlierResultFirst: a result task must run again whose turn it is, while a later one holds the only slot that is
// left and waits for its own turn. It gives way.
func TestEarlierResultFirst(t *testing.T) {
	b := newBench(t, Options{HoldBackBytes: 1, HoldBackTime: time.Hour})
	streaming := make(chan struct{}, 10)
	slow := func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			if x.id == "dying" {
				streaming <- struct{}{} // its task neither streams nor ends
				return
			}
			x.work(l)
			streaming <- struct{}{}
		}
		x.onGet = func(x *fake, id *seracv1.TaskId, w *flight.Writer) error {
			for i := range int64(100) { // far more than fits into any buffer
				if err := x.write(w, int64(id.GetTask())*1000+i, 10_000); err != nil {
					return err
				}
			}
			return nil
		}
	}
	dying := b.start("dying", 1, slow)
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("q", stage(1, 2, "result 1")))
	<-streaming // task 0
	other := b.start("other", 1, slow)
	<-streaming // task 1
	dying.kill()
	values, err := readAll(ctx, r)
	require.NoError(t, err)
	require.Len(t, values, 2*100*10_000)
	require.Equal(t, int64(0), values[0])
	require.Equal(t, int64(1099), values[len(values)-1])
	other.mu.Lock()
	defer other.mu.Unlock()
	require.Contains(t, other.cancel, job.AttemptID{Stage: 1, Task: 1, Attempt: 1})
}

// TestAbandonedRows: rows that nobody reads any more are given up on Cancel, also when the job has ended well.
func TestAbandonedRows(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 1)
	ctx := testContext(t)
	r := b.c.Run(ctx, spec("q", stage(1, 3, "result 3")))
	_, err := r.Wait(ctx)
	require.NoError(t, err)
	r.Cancel()
	_, err = r.Next(ctx)
	require.ErrorIs(t, err, wire.ErrCancelled)
	for i := range r.results.tasks {
		require.Empty(t, r.results.tasks[i].stream.batches)
	}
	_, err = r.Wait(ctx)
	require.NoError(t, err, "the job itself has ended well")
}

// TestIdleReaders: clients that do not read take no slots from others, and what they read later is whole.
func TestIdleReaders(t *testing.T) {
	b := newBench(t, Options{HoldBackBytes: 1, HoldBackTime: time.Millisecond})
	const batches, rows = 100, 10_000 // far more than fits into any buffer
	x := b.start("e1", 2, func(x *fake, _ *seracv1.Register) {
		x.onGet = func(x *fake, id *seracv1.TaskId, w *flight.Writer) error {
			n := batches
			if id.GetJobId() == "small" {
				n = 1
			}
			for range n {
				if err := x.write(w, 1, rows); err != nil {
					return err
				}
			}
			return nil
		}
	})
	ctx := testContext(t)
	idle := b.c.Run(ctx, spec("idle", stage(1, 100, "result 1")))
	b.eventually("the idle client's tasks take both slots", func() bool { return b.c.Executors()[0].TasksRunning == 2 })
	values, err := readAll(ctx, b.c.Run(ctx, spec("small", stage(1, 1, "result 1"))))
	require.NoError(t, err)
	require.Len(t, values, rows)
	time.Sleep(2 * idleTime)
	require.LessOrEqual(t, x.count(), 1+2*ahead, "the idle client's own tasks are not launched far ahead")
	for i := range 3 * batches {
		batch, err := idle.Next(ctx)
		require.NoError(t, err, i)
		batch.Release()
	}
	idle.Cancel()
}
