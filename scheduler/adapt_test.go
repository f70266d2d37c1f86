package scheduler

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/wire"
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

// A panic in a statement's own goroutine ends the statement, says nothing of its value, and is in the log.
func TestPanicsEndTheStatement(t *testing.T) {
	var log strings.Builder
	st := &statement{Scheduler: &Scheduler{log: slog.New(slog.NewTextHandler(&log, nil))}, id: "s-1"}
	err := st.guarded(func() error { panic("the password") })
	require.ErrorIs(t, err, wire.ErrInternal)
	require.NotContains(t, err.Error()+log.String(), "the password")
	require.Contains(t, log.String(), "statement=s-1")
	require.NoError(t, st.guarded(func() error { return nil }))
}
