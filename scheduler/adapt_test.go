package scheduler

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/engine"
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

// Tables are loaded and their scans planned in goroutines, some by what a format's author wrote: a panic there, too, ends the
// statement and not the scheduler.
func TestPanicsOfFormatsEndTheStatement(t *testing.T) {
	ctx := t.Context()
	binder := bind.New(1)
	t.Cleanup(func() { require.NoError(t, binder.Close()) })
	c := &breaking{}
	s := New(Options{
		Cluster: newCluster(t), Catalog: openCatalog(t, 0), Binder: binder, Logger: slog.New(slog.DiscardHandler),
		FormatCatalogs: []FormatCatalog{{Name: "f", Type: "breaking", Catalog: c}},
	})
	statement := func() *statement {
		return &statement{Scheduler: s, session: engine.OpenSession("", "", "f", "s"), tables: newPinned(s.opts.Catalog)}
	}
	const text = "SELECT a.x FROM t AS a, u AS b"
	st := statement()
	bound, err := st.bindAgain(ctx, text)
	require.NoError(t, err)
	_, _, err = st.planScans(ctx, bound.Plan)
	require.ErrorIs(t, err, wire.ErrInternal)

	c.load = true
	_, err = statement().bindAgain(ctx, text) // one that has been bound
	require.ErrorIs(t, err, wire.ErrInternal)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_INTERNAL, wire.KindOf(err))
	_, err = statement().bind(ctx, "SELECT count(*) FROM t")
	require.ErrorIs(t, err, wire.ErrInternal)
}

// breaking is a catalog and its tables that panic when they are planned, or loaded as well.
type breaking struct{ load bool }

func (c *breaking) Schemas(context.Context) ([]string, error)        { return []string{"s"}, nil }
func (c *breaking) Tables(context.Context, string) ([]string, error) { return []string{"t", "u"}, nil }
func (c *breaking) Close() error                                     { return nil }
func (c *breaking) Load(context.Context, string, string) (format.Table, error) {
	if c.load {
		panic("load")
	}
	return c, nil
}
func (c *breaking) Version() string      { return "1" }
func (c *breaking) Columns() plan.Schema { return plan.Schema{{Name: "x", Type: plan.T(plan.Integer)}} }
func (c *breaking) Rows() int64          { return 1 }
func (c *breaking) Bytes() int64         { return 1 }
func (c *breaking) Plan(context.Context, format.Scan) (*format.Planned, error) {
	panic("plan")
}
