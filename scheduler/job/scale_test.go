package job

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// bigJob has n scan tasks that write 8 partitions each, and 8 tasks that gather them.
func bigJob(n int) *Spec {
	spec := &Spec{ID: "j", Stages: []Stage{{ID: 1, Sink: Shuffle, Tasks: make([]Task, n)}, {ID: 2, Sink: Write, Inputs: []plan.StageID{1}}}}
	for p := range int32(8) {
		spec.Stages[1].Tasks = append(spec.Stages[1].Tasks, Task{Shuffle: []ShuffleNeed{{Stage: 1, Partitions: []int32{p}}}})
	}
	return spec
}

// runBig runs a job to its end on 100 executors, with lost ones on the way, and returns the bytes that the machine holds
// when the scans are done.
func runBig(t testing.TB, spec *Spec) (held uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m, err := New(spec)
	require.NoError(t, err)
	m.Start()
	for i := range 100 {
		m.Step(ExecutorAdded{Executor: fmt.Sprint("e", i)})
	}
	finish := func(c Candidate, x string, l *seracv1.TaskLaunch) {
		st := &seracv1.TaskStatus{Id: l.GetId(), State: seracv1.TaskState_TASK_STATE_FINISHED, Metrics: &seracv1.TaskMetrics{ElapsedMicros: 5}}
		if c.Sink == Shuffle {
			for p := range int32(8) {
				st.ShuffleFiles = append(st.ShuffleFiles, &seracv1.ShuffleFile{
					Partition: p, SizeBytes: 10, Rows: 1, ExecutorId: x, FlightAddress: x + ":50052", HostId: "host",
					Path: fmt.Sprintf("/var/spill/%s/job/1/%d/1/part-%d.parquet", x, c.Task, p),
				})
			}
		}
		m.Step(TaskStatus{Executor: x, Status: st})
	}
	lost := 0
	for i := 0; !m.Ended(); i++ {
		c, ok := m.Next()
		require.True(t, ok)
		x := fmt.Sprint("e", 20+i%80)
		if i%100 == 50 && lost < 8 { // executors that hold output
			x = fmt.Sprint("e", lost)
		}
		l, err := m.Launch(c.Stage, c.Task, x)
		require.NoError(t, err)
		finish(c, x, l)
		if i%100 == 51 && lost < 8 {
			m.Step(ExecutorLost{Executor: fmt.Sprint("e", lost)})
			lost++
		}
		if held == 0 && c.Sink != Shuffle {
			runtime.GC()
			runtime.ReadMemStats(&after)
			held = after.HeapAlloc - before.HeapAlloc
		}
	}
	return held
}

// TestScale: a job of 100,000 tasks is no problem of time or memory.
func TestScale(t *testing.T) {
	const n = 100_000
	spec := bigJob(n)
	start := time.Now()
	held := runBig(t, spec)
	t.Logf("%v, %d bytes a task", time.Since(start), held/n)
	require.Less(t, held/n, uint64(2048), "bytes held per task, 8 shuffle files each")

	// Twice the tasks take about twice the time, not four times: generous, for the machine may be busy.
	timeOf := func(n int) time.Duration {
		start := time.Now()
		runBig(t, bigJob(n))
		return time.Since(start)
	}
	small := timeOf(n / 10)
	large := timeOf(n / 2)
	require.Less(t, large, 15*small+time.Second, "5 times the tasks")
}
