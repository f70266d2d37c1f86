package cluster

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
)

// simulated is executors without streams: what the cluster has for them is taken from its queues, and answered at once.
type simulated struct {
	t testing.TB
	c *Cluster
}

func newSimulated(t testing.TB, executors, slots int) *simulated {
	c := New(Options{Logger: slog.New(slog.DiscardHandler), Lease: time.Hour})
	t.Cleanup(c.Close)
	for i := range executors {
		_, err := c.register(&seracv1.Register{ExecutorId: fmt.Sprintf("executor-%04d", i), FlightAddress: fmt.Sprintf("10.0.%d.%d:50052", i/256, i%256),
			HostId: fmt.Sprint("host-", i), Slots: int32(slots), MemoryBytes: 1 << 30})
		require.NoError(t, err)
	}
	return &simulated{t: t, c: c}
}

// work ends every task that an executor was sent, one status after the other, until the run is over. It returns the
// number of assignments.
func (s *simulated) work(r *Run, partitions int) (assignments int) {
	executors := s.c.order
	for !r.over() {
		before := assignments
		for _, e := range executors {
			messages, _ := s.c.takeQueue(e)
			for _, m := range messages {
				if m.launch == nil {
					continue
				}
				assignments++
				id := m.launch.GetId()
				st := &seracv1.TaskStatus{Id: id, State: seracv1.TaskState_TASK_STATE_FINISHED, Metrics: &seracv1.TaskMetrics{InputRows: 10, ElapsedMicros: 100}}
				for p := range partitions {
					st.ShuffleFiles = append(st.ShuffleFiles, &seracv1.ShuffleFile{
						Producer: id, Partition: int32(p), SizeBytes: 10, Rows: 1, ExecutorId: e.info.ID, FlightAddress: e.info.FlightAddress,
						HostId: e.info.HostID, Path: fmt.Sprintf("/var/spill/%s/job/%d/%d/1/p=%d/part.parquet", e.info.ID, id.GetStage(), id.GetTask(), p),
					})
				}
				require.NoError(s.t, s.c.handle(e, &seracv1.AttachRequest{Message: &seracv1.AttachRequest_Status{Status: st}}))
			}
		}
		require.Greater(s.t, assignments, before, "nothing goes on")
	}
	return assignments
}

// scanSpec is a scan of n files of its own in n tasks, and a task that reads what they wrote.
func scanSpec(id string, n int) job.Spec {
	scan := stage(1, n, "shuffle")
	for i := range scan.Tasks {
		scan.Tasks[i].Assignments = []*seracv1.LeafAssignment{{Leaf: 1, What: &seracv1.LeafAssignment_Files{Files: &seracv1.FileGroup{
			Files: []*seracv1.FileScanTask{{Path: fmt.Sprintf("s3://bucket/warehouse/ns/table/data/%08d.parquet", i), SizeBytes: 1 << 20}}}}}}
	}
	return spec(id, scan, stage(2, 1, "write f", 1))
}

// TestManyExecutors: 1,000 executors and 100,000 tasks in one process, 20,000 assignments a second on one core, below 4 KiB
// of memory a task. The time is not held to here, for the machine may be busy; BenchmarkAssignments measures it.
func TestManyExecutors(t *testing.T) {
	const tasks = 100_000
	s := newSimulated(t, 1000, 4)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	job := scanSpec("j", tasks)
	start := time.Now()
	r := s.c.Run(t.Context(), job)
	require.Equal(t, tasks+1, s.work(r, 1))
	elapsed := time.Since(start)
	runtime.GC()
	runtime.ReadMemStats(&after)
	_, err := r.Wait(testContext(t))
	require.NoError(t, err)
	perTask := (after.HeapAlloc - before.HeapAlloc) / tasks
	t.Logf("%.0f assignments/s, %d bytes a task", tasks/elapsed.Seconds(), perTask)
	require.Less(t, perTask, uint64(4<<10))
	runtime.KeepAlive(r)
}

// BenchmarkAssignments is assignments a second on one core: placement, launch message, status, for 1,000 executors of 4
// slots, with the executors' part of the messages made in the same thread.
func BenchmarkAssignments(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, executors := range []int{10, 1000} {
		b.Run(fmt.Sprint(executors, "executors"), func(b *testing.B) {
			s := newSimulated(b, executors, 4)
			n, i := 0, 0
			for b.Loop() {
				i++
				n += s.work(s.c.Run(b.Context(), scanSpec(fmt.Sprint("j", i), 20_000)), 1)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "assignments/s")
		})
	}
}
