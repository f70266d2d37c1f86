package scheduler

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/planner"
)

// A statement that is planned while it runs is not left behind by Close, nor is one whose turn has not come.
func TestCloseWaitsForStatements(t *testing.T) {
	c := newCluster(t)
	s := New(Options{Cluster: c})
	st := &statement{Scheduler: s, id: "s", tables: newPinned(nil), options: QueryOptions{Adaptive: planner.AllAdaptive}}
	p := &planned{root: &plan.Values{}}
	_, err := st.launch(context.Background(), p)
	require.NoError(t, err)
	waits, cancel := context.WithCancel(context.Background())
	ended := false
	e := st.background(waits, false, countSchema, func(ctx context.Context, _ *taskExecution) (rows, int64, error) {
		<-ctx.Done()
		ended = true
		return nil, 0, ctx.Err()
	})
	c.Close()
	e.Cancel()
	cancel()
	s.Close()
	require.True(t, ended)
	select {
	case <-p.adapting:
	default:
		t.Error("it is still planned")
	}
}
