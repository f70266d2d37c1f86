package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

func filesOf(leaf int32, g *seracv1.FileGroup) *seracv1.LeafAssignment {
	return &seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Files{Files: g}}
}

// TestAddAssignments: the files of a part point to the delete files of that part.
func TestAddAssignments(t *testing.T) {
	launch := &seracv1.TaskLaunch{Assignments: []*seracv1.LeafAssignment{filesOf(1, &seracv1.FileGroup{
		Files:       []*seracv1.FileScanTask{{Path: "a", Deletes: []int32{0, 1}}},
		DeleteFiles: []*seracv1.DeleteFile{{Path: "d0"}, {Path: "d1"}},
	})}}
	part := func() []*seracv1.LeafAssignment {
		return []*seracv1.LeafAssignment{
			filesOf(1, &seracv1.FileGroup{
				Files:       []*seracv1.FileScanTask{{Path: "b", Deletes: []int32{0}}, {Path: "c"}},
				DeleteFiles: []*seracv1.DeleteFile{{Path: "d2"}},
			}),
			filesOf(2, &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: "x"}}}),
		}
	}
	given := part()
	require.NoError(t, AddAssignments(launch, given))
	require.NoError(t, AddAssignments(launch, []*seracv1.LeafAssignment{filesOf(2, &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: "y"}}})}))
	require.Len(t, launch.GetAssignments(), 2)
	group := launch.GetAssignments()[0].GetFiles()
	deletes := map[string][]string{}
	for _, f := range group.GetFiles() {
		deletes[f.GetPath()] = []string{}
		for _, d := range f.GetDeletes() {
			deletes[f.GetPath()] = append(deletes[f.GetPath()], group.GetDeleteFiles()[d].GetPath())
		}
	}
	require.Equal(t, map[string][]string{"a": {"d0", "d1"}, "b": {"d2"}, "c": {}}, deletes)
	require.Equal(t, []int32{0}, given[0].GetFiles().GetFiles()[0].GetDeletes(), "the message is left as it was")
	require.Len(t, launch.GetAssignments()[1].GetFiles().GetFiles(), 2)

	require.ErrorContains(t, AddAssignments(launch, []*seracv1.LeafAssignment{{Leaf: 1, What: &seracv1.LeafAssignment_Constant{}}}), "assigned twice")
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind seracv1.FailureKind
	}{
		{&duckdb.Error{Kind: duckdb.Statement}, seracv1.FailureKind_FAILURE_KIND_STATEMENT},
		{&duckdb.Error{Kind: duckdb.OutOfMemory}, seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED},
		{&duckdb.Error{Kind: duckdb.IO}, seracv1.FailureKind_FAILURE_KIND_TRANSPORT},
		{&duckdb.Error{Kind: duckdb.Internal}, seracv1.FailureKind_FAILURE_KIND_INTERNAL},
		{&duckdb.Error{Kind: duckdb.Interrupted}, seracv1.FailureKind_FAILURE_KIND_INTERNAL},
		{errors.New("a bug"), seracv1.FailureKind_FAILURE_KIND_INTERNAL},
		{fmt.Errorf("leaf 1: %w", wire.Failf(seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, "gone")), seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH},
	} {
		require.Equal(t, c.kind, wire.KindOf(classify(t.Context(), c.err)), "%v", c.err)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(wire.Failf(seracv1.FailureKind_FAILURE_KIND_HANDED_BACK, "draining"))
		stopped := classify(ctx, c.err)
		require.ErrorIs(t, stopped, wire.ErrHandedBack, "an attempt that was stopped fails with the reason")
		require.Equal(t, "draining", stopped.Error())
	}
}

func TestEngineIsReplaced(t *testing.T) {
	e, err := OpenEngine(t.Context(), EngineOptions{Threads: 1, TempDir: filepath.Join(t.TempDir(), "tmp"), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	old, err := e.Conn(t.Context(), nil)
	require.NoError(t, err)
	before := e.db
	e.Observe(errors.New("a statement's error"))
	require.Same(t, before, e.db)
	e.Observe(fmt.Errorf("run: %w", &duckdb.Error{Kind: duckdb.Internal, Message: "INTERNAL Error: x"}))
	fresh, err := e.Conn(t.Context(), map[string]string{"TimeZone": "UTC"})
	require.NoError(t, err)
	_, err = fresh.Rows(t.Context(), "SELECT 1")
	require.NoError(t, err)
	require.Equal(t, 2, e.OpenConns())
	require.NoError(t, old.Close())
	require.NoError(t, fresh.Close())
	require.Zero(t, e.OpenConns())
	_, err = e.Conn(t.Context(), map[string]string{"threads": "64"})
	require.ErrorContains(t, err, "threads")
	require.Zero(t, e.OpenConns())
	require.NoError(t, e.Close())
	_, err = e.Conn(t.Context(), nil)
	require.Error(t, err)
}

// TestReadResultOfATaskThatNeverStreams: its reader gets the reason, or goes when it likes.
func TestReadResultOfATaskThatNeverStreams(t *testing.T) {
	task := New(&seracv1.TaskLaunch{Id: &seracv1.TaskId{JobId: "j"}}, nil)
	read := make(chan error, 1)
	go func() { read <- task.ReadResult(t.Context(), nil) }()
	time.Sleep(10 * time.Millisecond)
	task.Abandon(wire.Failf(seracv1.FailureKind_FAILURE_KIND_CANCELLED, "stop"))
	require.ErrorIs(t, <-read, wire.ErrCancelled)

	task = New(&seracv1.TaskLaunch{Id: &seracv1.TaskId{JobId: "j"}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, task.ReadResult(ctx, nil), context.Canceled)
	require.ErrorContains(t, task.ReadResult(t.Context(), nil), "has been read before")
}

func TestResultSQL(t *testing.T) {
	row := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Type: plan.T(plan.Integer)}}}
	sql := resultSQL(plan.Schema{
		{Name: `a "b"`, Type: plan.T(plan.BigInt)}, {Name: "", Type: plan.ListType(row)}, {Name: "c0", Type: plan.DecimalType(4, 2)},
	}, "SELECT 1")
	require.Equal(t, `SELECT CAST(r.c0 AS BIGINT) AS "a ""b""", r.c1, CAST(r.c2 AS DECIMAL(4,2)) AS "c0" FROM (SELECT 1) AS r`, sql)
}

// TestSettingsHoldForOneTask: no setting that a task may set reaches another task.
func TestSettingsHoldForOneTask(t *testing.T) {
	e, err := OpenEngine(t.Context(), EngineOptions{Threads: 1, TempDir: filepath.Join(t.TempDir(), "tmp"), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	values := map[string]string{
		"timezone": "Asia/Tokyo", "calendar": "japanese", "default_collation": "nocase", "default_null_order": "nulls_first", "null_order": "nulls_first",
		"default_order": "DESC",
	}
	require.Len(t, values, len(duckdb.SessionSettings))
	for _, name := range duckdb.SessionSettings {
		read := func(settings map[string]string) string {
			conn, err := e.Conn(t.Context(), settings)
			require.NoError(t, err, name)
			defer conn.Close()
			value, err := conn.Text(t.Context(), "SELECT current_setting('"+name+"')::VARCHAR")
			require.NoError(t, err)
			return value
		}
		before := read(nil)
		require.NotEqual(t, before, read(map[string]string{strings.ToUpper(name): values[name]}), name)
		require.Equal(t, before, read(nil), name)
	}
}
