package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/internal/fileaccess"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// Runner is what all tasks of an executor share. Its fields are set once.
type Runner struct {
	Engine  *Engine
	Store   *shuffle.Store
	Fetcher *shuffle.Fetcher
	Tables  *wire.Tables
	Objects *object.Store
	// Dir holds a directory for each running attempt. DuckDB may read and write there.
	Dir string
	// FlightAddress and HostID say in shuffle files where they are.
	FlightAddress, HostID string
	// Files is what functions that read files may read.
	Files fileaccess.Policy
	// Formats are the table formats beside Iceberg.
	Formats *format.Set
	// Codec reads fragments.
	Codec  *codec.Codec
	Logger *slog.Logger
}

// Reporter is told where an attempt stands while it runs.
type Reporter func(*seracv1.TaskStatus)

// Run runs an attempt to its end, which it returns as a status: FINISHED with what it made, or FAILED with a failure whose
// kind tells why. When ctx ends the attempt stops within a second, and its failure is the cause of ctx. report is told of
// RUNNING, and of STREAMING when the attempt has a result: ReadResult must be called then. executorID is what the
// scheduler knows this executor by.
func (r *Runner) Run(ctx context.Context, t *Task, executorID string, report Reporter) *seracv1.TaskStatus {
	t.begin()
	a := &attempt{Runner: r, task: t, executorID: executorID, report: report}
	report(a.status(seracv1.TaskState_TASK_STATE_RUNNING))
	finished, err := a.run(ctx)
	t.end()
	if err != nil {
		r.Engine.Observe(err)
		err = classify(ctx, err)
		t.Abandon(err)
		failed := a.status(seracv1.TaskState_TASK_STATE_FAILED)
		failed.Failure = wire.FailureFrom(err)
		return failed
	}
	t.Abandon(wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "task %s has no result rows", KeyOf(t.ID())))
	finished.Metrics = t.Metrics()
	return finished
}

// classify gives an error its kind. An attempt that was stopped fails with the reason, whatever the error was that it
// stopped with.
func classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return wire.Fail(wire.KindOf(context.Cause(ctx)), context.Cause(ctx))
	}
	var failure *wire.Failure
	if errors.As(err, &failure) {
		return err
	}
	var fault *duckdb.Error
	if !errors.As(err, &fault) {
		return wire.Fail(wire.KindOf(err), err)
	}
	switch fault.Kind {
	case duckdb.Statement:
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
	case duckdb.OutOfMemory:
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED, err)
	case duckdb.IO:
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, err)
	default: // an interrupt that nobody asked for is no better than a fault
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_INTERNAL, err)
	}
}

// settingsFor are those of a statement's settings that a fragment is to run under. A collation is in a plan already, where it
// applies: lower(a) = lower(b). What else a plan compares and groups (values that are to be distinct, keys of correlated
// subqueries) it does byte by byte. Only a statement that runs as its text has its collation still to come.
func settingsFor(query plan.Node, settings map[string]string) map[string]string {
	asText := false
	plan.Walk(query, func(n plan.Node) bool {
		_, text := n.(*plan.WholeStatement)
		asText = asText || text
		return !asText
	})
	if asText {
		return settings
	}
	out := maps.Clone(settings)
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.EqualFold(name, "default_collation") })
	return out
}

// attempt is a task while it runs.
type attempt struct {
	*Runner
	task       *Task
	executorID string
	report     Reporter

	dir      string // its own, for what it reads
	fragment *codec.Fragment
	conn     *duckdb.Conn
}

func (a *attempt) status(state seracv1.TaskState) *seracv1.TaskStatus {
	return &seracv1.TaskStatus{Id: a.task.ID(), State: state, Metrics: a.task.Metrics()}
}

func (a *attempt) run(ctx context.Context) (status *seracv1.TaskStatus, err error) {
	// One task's fault must not end the others with the process.
	defer func() {
		if p := recover(); p != nil {
			a.Logger.Error("a task panicked", "task", KeyOf(a.task.ID()), "panic", p, "stack", string(debug.Stack()))
			err = wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "panic in task %s: %v", KeyOf(a.task.ID()), p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if a.fragment, err = a.Codec.DecodeFragment(a.task.launch.GetFragment()); err != nil {
		return nil, fmt.Errorf("decode fragment: %w", err)
	}
	a.dir = filepath.Join(a.Dir, uuid.NewString())
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make task directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(a.dir)) }()

	query := a.fragment.Root
	switch root := query.(type) {
	case *plan.ShuffleWrite:
		query = root.Input
	case *plan.IcebergWrite:
		query = root.Input
	case *plan.IcebergCommit:
		return nil, errors.New("a commit is the scheduler's, not a task's")
	}
	a.conn, err = a.Engine.Conn(ctx, settingsFor(query, a.task.launch.GetSettings()))
	if err != nil {
		return nil, fmt.Errorf("connect to DuckDB: %w", err)
	}
	defer func() { err = errors.Join(err, a.conn.Close()) }()

	query, forget, err := a.Engine.filters.bind(query)
	if err != nil {
		return nil, fmt.Errorf("join filter: %w", err)
	}
	defer forget()
	fetchStart := time.Now()
	leaves, err := a.resolve(ctx, query)
	if err != nil {
		return nil, err
	}
	defer leaves.release()
	a.task.fetchMicros.Store(time.Since(fetchStart).Microseconds())
	sql, err := render.SQL(query, render.Options{Leaf: leaves.sql})
	if err != nil {
		return nil, fmt.Errorf("render plan: %w", err)
	}
	switch root := a.fragment.Root.(type) {
	case *plan.ShuffleWrite:
		return a.writeShuffle(ctx, root, sql)
	case *plan.IcebergWrite:
		return a.writeData(ctx, root, sql)
	default:
		return a.streamResult(ctx, root, sql)
	}
}
