package executor

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func id(job string, stage, task int32) *seracv1.TaskId {
	return &seracv1.TaskId{JobId: job, Stage: stage, Task: task, Attempt: 1}
}

func bigint(v int64) plan.Expr { return &plan.Constant{Value: v, Of: plan.T(plan.BigInt)} }

func col(i int, of plan.Type) plan.Expr { return &plan.ColumnRef{Index: i, Of: of} }

// numbers is a leaf: range(n), as a column named n.
func numbers(leaf plan.LeafID, n int64) plan.Node {
	return &plan.TableFunction{Leaf: leaf, Name: "range", Args: []plan.Expr{bigint(n)},
		Out: plan.Schema{{Name: "n", Type: plan.T(plan.BigInt)}}}
}

// whole is a statement that runs as its own text, over no tables.
func whole(sql string, columns ...plan.Column) plan.Node {
	return &plan.WholeStatement{SQL: sql, Out: columns}
}

// endless is a result that takes very long to make its first row.
func endless() plan.Node {
	return whole("SELECT count(*) AS n FROM range(10000000000) a, range(1000000) b WHERE a.range + b.range = -1", plan.Column{Name: "n", Type: plan.T(plan.BigInt)})
}

func constant(leaf int32) *seracv1.LeafAssignment {
	return &seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Constant{Constant: &seracv1.ConstantInput{}}}
}

func shuffled(leaf int32, files ...*seracv1.ShuffleFile) *seracv1.LeafAssignment {
	return &seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Shuffle{Shuffle: &seracv1.ShuffleInput{Files: files}}}
}

func TestRegistration(t *testing.T) {
	s := newScheduler(t)
	n := start(t, s, func(o *Options) { o.Version = "v1"; o.HostID = "h" })
	r := n.attachment.register
	require.True(t, strings.HasPrefix(r.GetExecutorId(), "e."), r.GetExecutorId())
	require.Equal(t, n.FlightAddress(), r.GetFlightAddress())
	require.Equal(t, int32(2), r.GetSlots())
	require.Equal(t, int64(512<<20), r.GetMemoryBytes())
	require.Equal(t, "v1", r.GetVersion())
	require.Equal(t, "h", r.GetHostId())
	n.await("heartbeats", func() bool { return len(n.heartbeats) >= 2 })
	n.attachment.mu.Lock()
	defer n.attachment.mu.Unlock()
	require.Equal(t, int32(2), n.heartbeats[1].GetFreeSlots())
	require.Positive(t, n.heartbeats[1].GetMemoryUsedBytes())
}

func TestOptionsNameEveryFault(t *testing.T) {
	_, err := New(Options{AdvertiseAddress: "0.0.0.0:1", Slots: -1})
	for _, fault := range []string{"scheduler's address", "spill directory", "names no host", "slots"} {
		require.ErrorContains(t, err, fault)
	}
	_, err = New(Options{SchedulerAddress: "x:1", SpillDir: t.TempDir(), ListenAddress: "0.0.0.0:0"})
	require.ErrorContains(t, err, "names no host", "an address that is taken from the listener is checked too")
}

func TestRefused(t *testing.T) {
	s := newScheduler(t)
	s.refuse = status.Error(codes.FailedPrecondition, "version v0 is too old")
	dir := t.TempDir()
	e, err := New(Options{SchedulerAddress: s.address, SpillDir: dir})
	require.NoError(t, err)
	require.ErrorContains(t, e.Run(t.Context()), "version v0 is too old")
	require.NoDirExists(t, e.Dir())
}

func TestResultTask(t *testing.T) {
	n := start(t, newScheduler(t))
	root := &plan.Project{Input: numbers(1, 100_000), Exprs: []plan.Expr{col(0, plan.T(plan.BigInt)), &plan.Cast{Arg: col(0, plan.T(plan.BigInt)), To: plan.DecimalType(20, 2)}},
		Names: []string{"n", "with \"quotes\""}}
	task := id("j", 0, 0)
	n.launch(task, root, constant(1))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	rows, sum := int64(0), int64(0)
	require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
		require.Equal(t, "n", b.Schema().Field(0).Name)
		require.Equal(t, "with \"quotes\"", b.Schema().Field(1).Name)
		require.Equal(t, &arrow.Decimal128Type{Precision: 20, Scale: 2}, b.Schema().Field(1).Type)
		rows += b.NumRows()
		for _, v := range b.Column(0).(*array.Int64).Int64Values() {
			sum += v
		}
		return nil
	}))
	require.Equal(t, int64(100_000), rows)
	require.Equal(t, int64(4999950000), sum)
	m := n.awaitFinished(task).GetMetrics()
	require.Equal(t, int64(100_000), m.GetOutputRows())
	require.Positive(t, m.GetElapsedMicros())
	require.Empty(t, n.diskUse())
	require.Error(t, n.result(t.Context(), task, nil), "a result can be read once")
}

func TestUnassignedLeafReadsNothing(t *testing.T) {
	n := start(t, newScheduler(t))
	root := &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{numbers(1, 10), numbers(2, 100)}}
	task := id("j", 0, 0)
	n.launch(task, root, constant(2))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	rows := int64(0)
	require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error { rows += b.NumRows(); return nil }))
	require.Equal(t, int64(100), rows)
}

func TestBadAssignments(t *testing.T) {
	n := start(t, newScheduler(t))
	for i, c := range []struct {
		root        plan.Node
		assignments []*seracv1.LeafAssignment
		says        string
	}{
		{numbers(1, 1), []*seracv1.LeafAssignment{constant(1), constant(7)}, "leaf 7 is assigned, but the plan does not have it"},
		{numbers(1, 1), []*seracv1.LeafAssignment{constant(1), constant(1)}, "leaf 1 is assigned twice"},
		{numbers(1, 1), []*seracv1.LeafAssignment{shuffled(1)}, "cannot read what it is assigned"},
		{&plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{numbers(1, 1), numbers(1, 1)}}, []*seracv1.LeafAssignment{constant(1)}, "the plan has leaf 1 twice"},
	} {
		task := id("j", 0, int32(i))
		n.launch(task, c.root, c.assignments...)
		f := n.awaitFailure(task)
		require.Contains(t, f.GetMessage(), c.says)
		require.Equal(t, seracv1.FailureKind_FAILURE_KIND_INTERNAL, f.GetKind())
	}
	task := id("j", 1, 0)
	n.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{Id: task, Fragment: []byte("x")}}})
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_INTERNAL, n.awaitFailure(task).GetKind())
}

func TestFailureKinds(t *testing.T) {
	n := start(t, newScheduler(t), func(o *Options) { o.MemoryLimit = 64 << 20; o.MaxSpillBytes = 1 << 20 })
	number := plan.Column{Name: "n", Type: plan.T(plan.BigInt)}
	for i, c := range []struct {
		sql  string
		kind seracv1.FailureKind
	}{
		{"SELECT no_such_column", seracv1.FailureKind_FAILURE_KIND_STATEMENT},
		{"SELECT CAST('x' || range AS BIGINT) FROM range(10)", seracv1.FailureKind_FAILURE_KIND_STATEMENT},
		{"SELECT sum(hash(l)) FROM (SELECT list(range::VARCHAR || 'some more text') l FROM range(20000000) GROUP BY range % 3)", seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED},
		{"SELECT count(*) FROM read_csv('/etc/passwd')", seracv1.FailureKind_FAILURE_KIND_STATEMENT}, // the sandbox
	} {
		task := id("j", 0, int32(i))
		n.launch(task, whole(c.sql, number))
		f := n.awaitFailure(task)
		require.Equal(t, c.kind, f.GetKind(), "%s: %s", c.sql, f.GetMessage())
	}
}

// TestErrorInMidStream: a failure after the first rows reaches the reader and the scheduler with its kind.
func TestErrorInMidStream(t *testing.T) {
	n := start(t, newScheduler(t))
	task := id("j", 0, 0)
	n.launch(task, whole("SELECT CASE WHEN range = 4999999 THEN CAST('x' || range AS BIGINT) ELSE range END AS n FROM range(5000000)", plan.Column{Name: "n", Type: plan.T(plan.BigInt)}))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	rows := int64(0)
	err := n.result(t.Context(), task, func(b arrow.RecordBatch) error { rows += b.NumRows(); return nil })
	require.Positive(t, rows)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.ErrorContains(t, err, "x4999999")
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_STATEMENT, n.awaitFailure(task).GetKind())
}

func TestCancel(t *testing.T) {
	n := start(t, newScheduler(t))
	big := func() plan.Node {
		return &plan.ShuffleWrite{Partitions: 8, Keys: []plan.Expr{col(0, plan.T(plan.BigInt))}, Input: numbers(1, 1<<40)}
	}
	for name, c := range map[string]struct {
		root  plan.Node
		state seracv1.TaskState
	}{
		"computing": {endless(), seracv1.TaskState_TASK_STATE_RUNNING},
		"shuffling": {big(), seracv1.TaskState_TASK_STATE_RUNNING},
		"unread":    {numbers(1, 1<<40), seracv1.TaskState_TASK_STATE_STREAMING},
	} {
		t.Run(name, func(t *testing.T) {
			task := id(name, 0, 0)
			n.launch(task, c.root, func() []*seracv1.LeafAssignment {
				if name == "computing" {
					return nil
				}
				return []*seracv1.LeafAssignment{constant(1)}
			}()...)
			n.awaitState(task, c.state)
			time.Sleep(200 * time.Millisecond)
			since := time.Now()
			n.cancel(task)
			require.Equal(t, seracv1.FailureKind_FAILURE_KIND_CANCELLED, n.awaitFailure(task).GetKind())
			require.Less(t, time.Since(since), time.Second)
			require.Eventually(t, func() bool { return len(n.diskUse()) == 0 }, time.Second, 10*time.Millisecond)
			require.Zero(t, n.OpenConns())
		})
	}
}

// TestCancelWhileFetching: a producer that accepts connections and says nothing does not hold a cancelled task up.
func TestCancelWhileFetching(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	n := start(t, newScheduler(t))
	task := id("j", 1, 0)
	n.launch(task, aggregateRoot(), shuffled(5, &seracv1.ShuffleFile{Producer: id("j", 0, 0), SizeBytes: 10, FlightAddress: l.Addr().String()}))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_RUNNING)
	time.Sleep(100 * time.Millisecond)
	since := time.Now()
	n.cancel(task)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_CANCELLED, n.awaitFailure(task).GetKind())
	require.Less(t, time.Since(since), time.Second)
	require.Empty(t, n.diskUse())
}

// TestCancelAfterTheEnd: files that an attempt has reported go when it is cancelled after all.
func TestCancelAfterTheEnd(t *testing.T) {
	n := start(t, newScheduler(t))
	first, second := id("j", 0, 0), id("j", 0, 1)
	n.launch(first, shuffleRoot(1000, 1), constant(1))
	n.launch(second, shuffleRoot(1000, 1), constant(1))
	lost := n.awaitFinished(first).GetShuffleFiles()[0]
	kept := n.awaitFinished(second).GetShuffleFiles()[0]
	n.cancel(first)
	require.Eventually(t, func() bool { _, err := os.Stat(lost.GetPath()); return os.IsNotExist(err) }, 2*time.Second, 10*time.Millisecond)
	require.FileExists(t, kept.GetPath())
}

func TestReaderGoesAway(t *testing.T) {
	n := start(t, newScheduler(t))
	task := id("j", 0, 0)
	n.launch(task, numbers(1, 1<<40), constant(1))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, n.result(ctx, task, func(arrow.RecordBatch) error { return errEnough }), errEnough)
	cancel()
	since := time.Now()
	require.Contains(t, n.awaitFailure(task).GetMessage(), "went away")
	require.Less(t, time.Since(since), time.Second)
	require.Zero(t, n.OpenConns())
}

// TestSlots: tasks beyond the slots wait, and one that waits can be cancelled.
func TestSlots(t *testing.T) {
	n := start(t, newScheduler(t), func(o *Options) { o.Slots = 1 })
	first, second, third := id("j", 0, 0), id("j", 0, 1), id("j", 0, 2)
	n.launch(first, endless())
	n.awaitState(first, seracv1.TaskState_TASK_STATE_RUNNING)
	n.launch(second, endless())
	n.launch(third, numbers(1, 3), constant(1))
	n.await("a heartbeat with the running task", func() bool {
		h := n.heartbeats
		return len(h) > 0 && len(h[len(h)-1].GetRunning()) == 1 && h[len(h)-1].GetFreeSlots() == 0
	})
	n.cancel(second)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_CANCELLED, n.awaitFailure(second).GetKind())
	n.cancel(first)
	n.awaitState(third, seracv1.TaskState_TASK_STATE_STREAMING)
}

// TestIdleResultsGiveTheirSlotAway: results that nobody reads, or that are read slowly, do not keep others from running.
func TestIdleResultsGiveTheirSlotAway(t *testing.T) {
	n := start(t, newScheduler(t), func(o *Options) { o.Slots = 1 })
	unread, slow, next := id("j", 0, 0), id("j", 0, 1), id("j", 0, 2)
	n.launch(unread, numbers(1, 1<<40), constant(1))
	n.awaitState(unread, seracv1.TaskState_TASK_STATE_STREAMING)
	n.launch(slow, numbers(1, 1<<40), constant(1))
	n.awaitState(slow, seracv1.TaskState_TASK_STATE_STREAMING)
	read, held := make(chan struct{}), make(chan struct{})
	go func() {
		_ = n.result(context.Background(), slow, func(arrow.RecordBatch) error { close(read); <-held; return errEnough })
	}()
	<-read
	defer close(held)
	n.launch(next, numbers(1, 3), constant(1))
	n.awaitState(next, seracv1.TaskState_TASK_STATE_STREAMING)
	require.NoError(t, n.result(t.Context(), next, nil))
	n.awaitFinished(next)
	n.await("a free slot", func() bool { h := n.heartbeats; return len(h) > 0 && h[len(h)-1].GetFreeSlots() == 1 })
}

// shuffleRoot hashes range(n) with its double into partitions.
func shuffleRoot(n int64, partitions int) plan.Node {
	return &plan.ShuffleWrite{
		Keys: []plan.Expr{col(0, plan.T(plan.BigInt))}, Partitions: partitions,
		Input: &plan.Project{Input: numbers(1, n), Exprs: []plan.Expr{
			&plan.Call{Name: "%", Args: []plan.Expr{col(0, plan.T(plan.BigInt)), bigint(1000)}, Of: plan.T(plan.BigInt)},
			&plan.Cast{Arg: col(0, plan.T(plan.BigInt)), To: plan.T(plan.HugeInt)},
		}},
	}
}

// aggregateRoot counts and sums what shuffleRoot wrote.
func aggregateRoot() plan.Node {
	read := &plan.ShuffleRead{Leaf: 5, Stage: 0, Out: plan.Schema{{Name: "k", Type: plan.T(plan.BigInt)}, {Name: "v", Type: plan.T(plan.HugeInt)}}}
	return &plan.Project{
		Input: &plan.Aggregate{Input: read, Groups: []plan.Expr{col(0, plan.T(plan.BigInt))}, Calls: []plan.AggregateCall{
			{Name: "count_star", Of: plan.T(plan.BigInt)},
			{Name: "sum", Args: []plan.Expr{col(1, plan.T(plan.HugeInt))}, Of: plan.T(plan.HugeInt)},
		}},
		Exprs: []plan.Expr{col(0, plan.T(plan.BigInt)), col(1, plan.T(plan.BigInt)), &plan.Cast{Arg: col(2, plan.T(plan.HugeInt)), To: plan.T(plan.BigInt)}},
		Names: []string{"k", "n", "s"},
	}
}

// TestShuffleBetweenExecutors: two map tasks on two executors, reduce tasks on both, by links and over the network.
func TestShuffleBetweenExecutors(t *testing.T) {
	for name, hosts := range map[string][2]string{"one host": {"h", "h"}, "two hosts": {"h1", "h2"}} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t)
			nodes := []*node{
				start(t, s, func(o *Options) { o.HostID = hosts[0] }),
				start(t, s, func(o *Options) { o.HostID = hosts[1] }),
			}
			const partitions = 3
			var files []*seracv1.ShuffleFile
			for i, n := range nodes {
				task := id("j", 0, int32(i))
				n.launch(task, shuffleRoot(100_000, partitions), constant(1))
				done := n.awaitFinished(task)
				require.Len(t, done.GetShuffleFiles(), partitions)
				require.Equal(t, int64(100_000), done.GetMetrics().GetOutputRows())
				files = append(files, done.GetShuffleFiles()...)
			}
			keys := map[int64]bool{}
			rows, sum, fetched := int64(0), int64(0), int64(0)
			for p := range partitions {
				var mine []*seracv1.ShuffleFile
				for _, f := range files {
					if f.GetPartition() == int32(p) {
						mine = append(mine, f)
					}
				}
				require.Len(t, mine, 2)
				n := nodes[p%2]
				task := id("j", 1, int32(p))
				n.launch(task, aggregateRoot(), shuffled(5, mine...))
				n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
				require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
					for i := range int(b.NumRows()) {
						k := b.Column(0).(*array.Int64).Value(i)
						require.False(t, keys[k], "key %d comes once", k)
						keys[k] = true
						require.Equal(t, int64(200), b.Column(1).(*array.Int64).Value(i))
						rows++
						sum += b.Column(2).(*array.Int64).Value(i)
					}
					return nil
				}))
				m := n.awaitFinished(task).GetMetrics()
				require.Equal(t, mine[0].GetRows()+mine[1].GetRows(), m.GetInputRows())
				require.Equal(t, mine[0].GetSizeBytes()+mine[1].GetSizeBytes(), m.GetInputBytes())
				fetched += m.GetShuffleFetchedBytes()
			}
			require.Equal(t, int64(1000), rows)
			require.Equal(t, 2*int64(4999950000), sum)
			if name == "one host" {
				require.Zero(t, fetched)
			} else {
				require.Positive(t, fetched)
			}
			for _, n := range nodes {
				require.NotEmpty(t, n.diskUse())
				n.jobEnd("j")
				require.Eventually(t, func() bool { return len(n.diskUse()) == 0 }, 2*time.Second, 10*time.Millisecond)
			}
		})
	}
}

func TestFetchFailure(t *testing.T) {
	s := newScheduler(t)
	a := start(t, s, func(o *Options) { o.HostID = "h1" })
	b := start(t, s, func(o *Options) { o.HostID = "h2" })
	task := id("j", 0, 0)
	a.launch(task, shuffleRoot(1000, 1), constant(1))
	file := a.awaitFinished(task).GetShuffleFiles()[0]

	// The file is gone, the executor is not.
	a.jobEnd("j")
	require.Eventually(t, func() bool { return len(a.diskUse()) == 0 }, 2*time.Second, 10*time.Millisecond)
	reduce := id("j", 1, 0)
	b.launch(reduce, aggregateRoot(), shuffled(5, file))
	f := b.awaitFailure(reduce)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, f.GetKind())
	require.Equal(t, file.GetPartition(), f.GetShuffleFile().GetPartition())
	require.Equal(t, "j", f.GetShuffleFile().GetProducer().GetJobId())

	// The executor is gone.
	require.NoError(t, a.stop())
	reduce = id("j", 1, 1)
	b.launch(reduce, aggregateRoot(), shuffled(5, file))
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, b.awaitFailure(reduce).GetKind())
	require.Empty(t, b.diskUse())
}

func TestJobEndStopsItsTasks(t *testing.T) {
	n := start(t, newScheduler(t))
	running, other := id("a", 0, 0), id("b", 0, 0)
	n.launch(running, endless())
	n.launch(other, endless())
	n.awaitState(running, seracv1.TaskState_TASK_STATE_RUNNING)
	n.awaitState(other, seracv1.TaskState_TASK_STATE_RUNNING)
	n.jobEnd("a")
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_CANCELLED, n.awaitFailure(running).GetKind())
	n.cancel(other)
	n.awaitFailure(other)
}

// TestBrokenStream: what ran and was kept under the old attachment is gone, and the executor comes back under a new id.
func TestBrokenStream(t *testing.T) {
	s := newScheduler(t)
	n := start(t, s)
	written, running := id("j", 0, 0), id("j", 0, 1)
	n.launch(written, shuffleRoot(1000, 2), constant(1))
	n.awaitFinished(written)
	n.launch(running, endless())
	n.awaitState(running, seracv1.TaskState_TASK_STATE_RUNNING)
	first := n.attachment.register.GetExecutorId()
	close(n.cut)
	n.attachment = s.next(t)
	require.NotEqual(t, first, n.attachment.register.GetExecutorId())
	require.Empty(t, n.diskUse())
	require.Zero(t, n.OpenConns())
	task := id("j", 0, 2)
	n.launch(task, numbers(1, 3), constant(1))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	require.NoError(t, n.result(t.Context(), task, nil))
	n.awaitFinished(task)
}

// TestSchedulerRestarts: the executor finds a scheduler that was away for a while.
func TestSchedulerRestarts(t *testing.T) {
	s := newScheduler(t)
	n := start(t, s)
	s.server.Stop()
	time.Sleep(300 * time.Millisecond)
	l, err := net.Listen("tcp", s.address)
	require.NoError(t, err)
	s.serve(l)
	n.attachment = s.next(t)
	task := id("j", 0, 0)
	n.launch(task, numbers(1, 3), constant(1))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
}

func TestDrain(t *testing.T) {
	s := newScheduler(t)
	n := start(t, s, func(o *Options) {
		o.Slots = 2
		o.DrainGrace = 500 * time.Millisecond
		o.DrainTimeout = 10 * time.Second
	})
	written, endlessTask, quick, late := id("j", 0, 0), id("j", 0, 1), id("j", 0, 2), id("j", 0, 3)
	n.launch(written, shuffleRoot(1000, 2), constant(1))
	file := n.awaitFinished(written).GetShuffleFiles()[0]
	n.launch(endlessTask, endless())
	n.awaitState(endlessTask, seracv1.TaskState_TASK_STATE_RUNNING)
	n.launch(quick, numbers(1, 3), constant(1))
	n.awaitState(quick, seracv1.TaskState_TASK_STATE_STREAMING)
	stopped := make(chan error, 1)
	go func() { stopped <- n.stop() }()
	n.await("the drain", func() bool { return n.draining })
	n.launch(late, numbers(1, 3), constant(1))
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_HANDED_BACK, n.awaitFailure(late).GetKind(), "no further tasks")
	require.NoError(t, n.result(t.Context(), quick, nil), "running tasks may end")
	n.awaitFinished(quick)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_HANDED_BACK, n.awaitFailure(endlessTask).GetKind())
	require.FileExists(t, file.GetPath(), "shuffle files stay while their job goes on")
	select {
	case <-stopped:
		require.FailNow(t, "gone before the job has ended")
	case <-time.After(100 * time.Millisecond):
	}
	n.jobEnd("j")
	require.NoError(t, <-stopped)
	n.await("the end of the stream", func() bool { return n.gone })
}

func TestDrainTimesOut(t *testing.T) {
	n := start(t, newScheduler(t))
	task := id("j", 0, 0)
	n.launch(task, shuffleRoot(1000, 2), constant(1))
	n.awaitFinished(task)
	since := time.Now()
	require.NoError(t, n.stop())
	require.Less(t, time.Since(since), 2*time.Second)
	require.NoDirExists(t, n.Dir())
}

func TestCloseStopsAtOnce(t *testing.T) {
	s := newScheduler(t)
	n := start(t, s, func(o *Options) { o.DrainGrace = time.Hour; o.DrainTimeout = time.Hour })
	task := id("j", 0, 0)
	n.launch(task, endless())
	n.awaitState(task, seracv1.TaskState_TASK_STATE_RUNNING)
	since := time.Now()
	require.NoError(t, n.Close())
	require.Less(t, time.Since(since), 2*time.Second)
	n.await("the end of the stream", func() bool { return n.gone })
}

// TestLaunchInParts: assignments that come in parts add up, in every order of leaves.
func TestLaunchInParts(t *testing.T) {
	n := start(t, newScheduler(t))
	var files []*seracv1.ShuffleFile
	for i := range int32(3) {
		task := id("j", 0, i)
		n.launch(task, shuffleRoot(1000, 1), constant(1))
		files = append(files, n.awaitFinished(task).GetShuffleFiles()...)
	}
	task := id("j", 1, 0)
	n.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{
		Id: task, Fragment: encode(t, aggregateRoot()), Parts: 2,
	}}})
	for _, part := range [][]*seracv1.ShuffleFile{files[:1], files[1:]} {
		n.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_LaunchPart{LaunchPart: &seracv1.TaskLaunchPart{
			Id: task, Assignments: []*seracv1.LeafAssignment{shuffled(5, part...)},
		}}})
	}
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
		for _, count := range b.Column(1).(*array.Int64).Int64Values() {
			require.Equal(t, int64(3), count)
		}
		return nil
	}))
	require.Equal(t, int64(3000), n.awaitFinished(task).GetMetrics().GetInputRows())
}

// TestSettings: a statement's settings hold for its task alone.
func TestSettings(t *testing.T) {
	n := start(t, newScheduler(t))
	root := whole("SELECT current_setting('TimeZone') AS z", plan.Column{Name: "z", Type: plan.T(plan.Varchar)})
	run := func(task *seracv1.TaskId, root plan.Node, settings map[string]string, leaves ...*seracv1.LeafAssignment) string {
		n.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{
			Id: task, Fragment: encode(t, root), Settings: settings, Assignments: leaves,
		}}})
		n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
		var got []string
		require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
			for i := range int(b.NumRows()) {
				got = append(got, b.Column(0).(*array.String).Value(i))
			}
			return nil
		}))
		slices.Sort(got)
		return strings.Join(got, " ")
	}
	zone := func(task *seracv1.TaskId, settings map[string]string) string { return run(task, root, settings) }
	require.Equal(t, "Asia/Tokyo", zone(id("j", 0, 0), map[string]string{"TimeZone": "Asia/Tokyo"}))
	require.NotEqual(t, "Asia/Tokyo", zone(id("j", 0, 1), nil))
	task := id("j", 0, 2)
	n.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{
		Id: task, Fragment: encode(t, root), Settings: map[string]string{"memory_limit": "100GB"},
	}}})
	require.Contains(t, n.awaitFailure(task).GetMessage(), "memory_limit")

	// A plan's collation is in it already: groups without one are of equal bytes, as DuckDB's count(DISTINCT) needs them.
	text := plan.T(plan.Varchar)
	letters := &plan.Values{Leaf: 1, Out: plan.Schema{{Name: "s", Type: text}}}
	for _, letter := range []string{"a", "A", "a"} {
		letters.Rows = append(letters.Rows, []plan.Expr{&plan.Constant{Value: letter, Of: text}})
	}
	groups := &plan.Aggregate{Input: letters, Groups: []plan.Expr{col(0, text)}}
	nocase := map[string]string{"default_collation": "nocase"}
	require.Equal(t, "A a", run(id("j", 0, 3), groups, nocase, constant(1)))
	require.Equal(t, "true", run(id("j", 0, 4), whole("SELECT ('a' = 'A')::VARCHAR", plan.Column{Name: "b", Type: text}), nocase))
}

// TestManyFilesInStatus: a status of many files goes in messages that stay small.
func TestManyFilesInStatus(t *testing.T) {
	files := make([]*seracv1.DataFile, 5000)
	for i := range files {
		files[i] = &seracv1.DataFile{Path: fmt.Sprintf("%0500d", i)}
	}
	messages := split(&seracv1.TaskStatus{Id: id("j", 0, 0), State: seracv1.TaskState_TASK_STATE_FINISHED, DataFiles: files})
	next := 0
	for i, m := range messages {
		require.Less(t, len(m.String()), 1<<20)
		if i == len(messages)-1 {
			require.Equal(t, seracv1.TaskState_TASK_STATE_FINISHED, m.GetStatus().GetState())
			continue
		}
		for _, f := range m.GetStatusPart().GetDataFiles() {
			require.Equal(t, fmt.Sprintf("%0500d", next), f.GetPath())
			next++
		}
	}
	require.Equal(t, 5000, next)
}

// TestLeftovers: what a killed executor left on disk goes when the next one starts.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, "executor-killed", "shuffle", "job-j")
	require.NoError(t, os.MkdirAll(left, 0o700))
	n := start(t, newScheduler(t), func(o *Options) { o.SpillDir = dir })
	require.NoDirExists(t, left)
	require.DirExists(t, n.Dir())
}
