package cluster

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// FuzzAttachRequest says anything to a scheduler, as an executor that is not attached and as one that is.
func FuzzAttachRequest(f *testing.F) {
	register := &seracv1.Register{ExecutorId: "e", FlightAddress: "host:1", Slots: 1, Extensions: []string{"a@1"}}
	id := &seracv1.TaskId{JobId: "j", Stage: 1, Task: 2, Attempt: 3}
	status := &seracv1.TaskStatus{
		Id: id, State: seracv1.TaskState_TASK_STATE_FAILED, Failure: &seracv1.Failure{Kind: 99, Message: "why"},
		DataFiles: []*seracv1.DataFile{{Path: "p"}}, ShuffleFiles: []*seracv1.ShuffleFile{{Producer: id}},
	}
	for _, m := range []*seracv1.AttachRequest{
		{},
		{Message: &seracv1.AttachRequest_Register{Register: register}},
		{Message: &seracv1.AttachRequest_Heartbeat{Heartbeat: &seracv1.Heartbeat{FreeSlots: 1, Running: []*seracv1.TaskStatus{status}}}},
		{Message: &seracv1.AttachRequest_Status{Status: status}},
		{Message: &seracv1.AttachRequest_StatusPart{StatusPart: &seracv1.TaskStatusPart{Id: id, DataFiles: status.GetDataFiles()}}},
		{Message: &seracv1.AttachRequest_Drain{Drain: &seracv1.Drain{}}},
	} {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &seracv1.AttachRequest{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		c := New(Options{Lease: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		defer c.Close()
		e, err := c.register(&seracv1.Register{ExecutorId: "attached", FlightAddress: "host:1", Slots: 1})
		require.NoError(t, err)
		if m.GetRegister() != nil {
			if _, err := c.register(m.GetRegister()); err == nil {
				require.Positive(t, m.GetRegister().GetSlots())
				require.NotEmpty(t, m.GetRegister().GetExecutorId())
			}
			require.Error(t, c.handle(e, m))
			return
		}
		require.NoError(t, c.handle(e, m))
	})
}

// FuzzTaskStatus reports anything of a task that runs: the job ends or goes on, and is never stuck in the scheduler.
func FuzzTaskStatus(f *testing.F) {
	id := &seracv1.TaskId{JobId: "j", Stage: 1}
	for state := range seracv1.TaskState_name {
		m := &seracv1.TaskStatus{
			Id: id, State: seracv1.TaskState(state), Metrics: &seracv1.TaskMetrics{OutputRows: 1},
			ShuffleFiles: []*seracv1.ShuffleFile{{Producer: id, Partition: 1, SizeBytes: 3, Rows: 1, ExecutorId: "attached", FlightAddress: "host:1"}},
			DataFiles:    []*seracv1.DataFile{{Path: "p", SizeBytes: 1, RecordCount: 1}},
			Failure:      &seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, ShuffleFile: &seracv1.ShuffleFile{Producer: id}},
		}
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &seracv1.TaskStatus{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		c := New(Options{Lease: time.Hour, Logger: slog.New(slog.DiscardHandler)})
		defer c.Close()
		e, err := c.register(&seracv1.Register{ExecutorId: "attached", FlightAddress: "host:1", Slots: 2})
		require.NoError(t, err)
		run := c.Run(t.Context(), spec("j", stage(1, 2, "shuffle 1"), stage(2, 1, "result 1", 1)))
		require.NoError(t, c.handle(e, &seracv1.AttachRequest{Message: &seracv1.AttachRequest_Status{Status: m}}))
		run.Cancel()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, _ = run.Wait(ctx)
		require.NoError(t, ctx.Err(), "the job ends")
	})
}
