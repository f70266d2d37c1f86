package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

// TestStagesAdded: the stages of a job come one after the other, each when the sizes of the one before are known, and the
// result's tasks are decided last of all.
func TestStagesAdded(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 2)
	b.start("e2", 2)
	ctx := testContext(t)
	first := spec("q", stage(1, 3, "shuffle 4"))
	first.Open = true
	r := b.c.Run(ctx, first)
	rows := make(chan []int64, 1)
	go func() {
		values, err := readAll(ctx, r) // a client reads before there is a result stage
		require.NoError(t, err)
		rows <- values
	}()
	o, err := r.WaitStage(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 12, 120}, []int64{int64(o.Tasks), o.Rows, o.Bytes})
	require.Equal(t, []int64{10, 10, 10}, o.ProducerBytes(3))
	again, err := r.WaitStage(ctx, 1)
	require.NoError(t, err)
	require.Same(t, o, again)

	// Waiting may begin before the stage is there.
	second := make(chan *job.StageOutput, 1)
	go func() {
		o, err := r.WaitStage(ctx, 2)
		require.NoError(t, err)
		second <- o
	}()
	require.NoError(t, r.Add(ctx, []job.Stage{stage(2, 2, "shuffle 3", 1)}, false))
	require.Equal(t, 2, (<-second).Tasks)
	require.Equal(t, 5, r.Progress().TasksDone)

	last := stage(3, 0, "result 2", 2)
	last.Plan = func(outputs map[plan.StageID]*job.StageOutput) []job.Task {
		tasks := make([]job.Task, len(outputs[2].Partitions))
		for p := range tasks {
			tasks[p].Shuffle = []job.ShuffleNeed{{Leaf: 1, Stage: 2, Partitions: []int32{int32(p)}, Producers: &job.Range{From: 1, To: 2}}}
		}
		return tasks
	}
	require.NoError(t, r.Add(ctx, []job.Stage{last}, true))
	require.Equal(t, []int64{0, 1, 1000, 1001, 2000, 2001}, <-rows)
	outcome, err := r.Wait(ctx)
	require.NoError(t, err)
	require.Len(t, outcome.Stages, 3)
	require.Equal(t, 3, outcome.Stages[2].Tasks)
	require.ErrorContains(t, r.Add(ctx, nil, true), "has ended")
	_, err = r.WaitStage(ctx, 9)
	require.ErrorContains(t, err, "has ended")
}

// TestWaitStageEnds: whoever waits for a stage is told of the job's end, whatever it is, and of that of the waiter's own
// context.
func TestWaitStageEnds(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 2, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			if string(l.GetFragment()) == "fail" {
				x.fail(l.GetId(), seracv1.FailureKind_FAILURE_KIND_STATEMENT, "no such luck")
			} // others never end
		}
	})
	for name, c := range map[string]struct {
		end  func(r *Run, cancel context.CancelFunc)
		want error
	}{
		"cancelled": {func(r *Run, _ context.CancelFunc) { r.Cancel() }, wire.ErrCancelled},
		"context":   {func(_ *Run, cancel context.CancelFunc) { cancel() }, wire.ErrCancelled},
		"failed": {func(r *Run, _ context.CancelFunc) {
			_ = r.Add(testContext(t), []job.Stage{stage(2, 1, "fail")}, false)
		}, wire.ErrStatement},
		"not valid": {func(r *Run, _ context.CancelFunc) {
			require.ErrorIs(t, r.Add(testContext(t), []job.Stage{stage(1, 1, "shuffle 9")}, false), wire.ErrInternal)
		}, wire.ErrInternal},
		"too large": {func(r *Run, _ context.CancelFunc) {
			large := stage(2, 1, "shuffle 9")
			large.Fragment = make([]byte, maxFragment+1)
			require.ErrorIs(t, r.Add(testContext(t), []job.Stage{large}, false), wire.ErrResourcesExhausted)
		}, wire.ErrResourcesExhausted},
	} {
		s := spec(name, stage(1, 1, "shuffle 9"))
		s.Open = true
		ctx, cancel := context.WithCancel(testContext(t))
		defer cancel()
		r := b.c.Run(ctx, s)
		ended := make(chan error, 1)
		go func() {
			_, err := r.WaitStage(testContext(t), 1)
			ended <- err
		}()
		short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
		_, err := r.WaitStage(short, 1)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		stop()
		c.end(r, cancel)
		require.ErrorIs(t, <-ended, c.want, name)
	}
}

// TestSummariesInParts: summaries that come ahead of their status count.
func TestSummariesInParts(t *testing.T) {
	b := newBench(t, Options{})
	summary := func(column int64) *seracv1.KeySummary {
		return &seracv1.KeySummary{Column: column, Type: "INTEGER", Rows: 1, Min: []byte("5"), Max: []byte("5"), Listed: true, Values: [][]byte{[]byte("5")}}
	}
	b.start("e1", 1, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_StatusPart{StatusPart: &seracv1.TaskStatusPart{
				Id: l.GetId(), Summaries: []*seracv1.KeySummary{summary(0)}}}})
			x.status(&seracv1.TaskStatus{Id: l.GetId(), State: seracv1.TaskState_TASK_STATE_FINISHED, Summaries: []*seracv1.KeySummary{summary(4)}})
		}
	})
	s := spec("q", stage(1, 2, "shuffle 1"))
	s.Open = true
	ctx := testContext(t)
	r := b.c.Run(ctx, s)
	o, err := r.WaitStage(ctx, 1)
	require.NoError(t, err)
	require.Len(t, o.Keys, 2)
	require.Equal(t, []int{0, 4}, []int{o.Keys[0].Column, o.Keys[1].Column})
	require.Equal(t, int64(2), o.Keys[1].Rows)
	r.Cancel()
}

// TestDrop: what no stage reads is stopped, and the job goes on.
func TestDrop(t *testing.T) {
	b := newBench(t, Options{})
	x := b.start("e1", 4, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			if l.GetId().GetStage() != 1 {
				x.work(l)
			}
		}
	})
	s := spec("w", stage(1, 2, "shuffle 9"), stage(2, 1, "shuffle 1"))
	s.Open = true
	ctx := testContext(t)
	r := b.c.Run(ctx, s)
	_, err := r.WaitStage(ctx, 2)
	require.NoError(t, err)
	require.NoError(t, r.Drop(ctx, 1))
	b.eventually("cancels", func() bool { x.mu.Lock(); defer x.mu.Unlock(); return len(x.cancel) == 2 })
	require.NoError(t, r.Add(ctx, []job.Stage{stage(3, 1, "write f", 2)}, true))
	outcome, err := r.Wait(ctx)
	require.NoError(t, err)
	require.Equal(t, "f-3.0.1", outcome.DataFiles[0].GetPath())
	_, err = r.WaitStage(ctx, 1)
	require.ErrorContains(t, err, fmt.Sprintf("wait for stage %d", 1))
}
