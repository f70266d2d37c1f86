package scan_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
)

// removeManifests removes what planning would read.
func removeManifests(t testing.TB, tbl *catalog.Table) {
	t.Helper()
	files, err := filepath.Glob(tbl.Location() + "/metadata/*.avro")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NoError(t, os.Remove(f))
	}
}

// A table that was planned is planned again, with other filters and through another handle, without a read; not with other
// keys to the storage.
func TestManifestsAreReadOnce(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := insert(t, c, conn, small(t, c, "t"), "1", "SELECT 1::INTEGER, 'a'")
	tbl = insert(t, c, conn, tbl, "2", "SELECT 2::INTEGER, 'b'")
	require.Len(t, planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), nil).Tasks, 2)
	removeManifests(t, tbl)
	tbl = reload(t, c, tbl)
	require.Len(t, planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), nil).Tasks, 2)
	files := planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), kEquals(0, plan.Integer, 2))
	require.Len(t, files.Tasks, 1)
	require.Equal(t, 1, files.PrunedFiles)
	require.Equal(t, "parquet", scan.Group(files, 0, 1, 0)[0].Files[0].Format)

	others := tbl.Manifests()
	others.Scope[0]++
	_, err := others.List(context.Background(), tbl.Iceberg().CurrentSnapshot())
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A snapshot with deletes is matched by iceberg-go once; later filters prune what it gave.
func TestDeletesAreMatchedOnce(t *testing.T) {
	ctx := context.Background()
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := small(t, c, "t")
	tx := tbl.Iceberg().NewTransaction()
	require.NoError(t, tx.SetProperties(ice.Properties{"write.delete.mode": "merge-on-read"}))
	_, err := tx.Commit(ctx)
	require.NoError(t, err)
	tbl = insert(t, c, conn, reload(t, c, tbl), "1", "SELECT i::INTEGER, 'a' FROM range(10) r(i)")
	tbl = insert(t, c, conn, tbl, "2", "SELECT i::INTEGER, 'b' FROM range(10, 20) r(i)")
	tx = tbl.Iceberg().NewTransaction()
	require.NoError(t, tx.Delete(ctx, ice.EqualTo(ice.Reference("k"), int32(3)), nil))
	_, err = tx.Commit(ctx)
	require.NoError(t, err)
	tbl = reload(t, c, tbl)

	whole, err := tbl.Iceberg().Scan().PlanFiles(ctx)
	require.NoError(t, err)
	deletes := map[string]int{}
	for _, task := range whole {
		deletes[task.File.FilePath()] = len(task.DeleteFiles)
	}
	check := func(filter plan.Expr, want int) {
		t.Helper()
		files := planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), filter)
		require.Len(t, files.Tasks, want)
		for _, task := range files.Tasks {
			require.Len(t, task.DeleteFiles, deletes[task.File.FilePath()])
		}
		for _, g := range scan.Group(files, 0, 1, 0) {
			for _, d := range g.DeleteFiles {
				require.EqualValues(t, 3, d.SequenceNumber, "of the third commit")
			}
		}
	}
	check(nil, 2)
	removeManifests(t, tbl)
	check(nil, 2)
	check(kEquals(0, plan.Integer, 4), 1)
	check(kEquals(0, plan.Integer, 14), 1)
	check(kEquals(0, plan.Integer, 99), 0)
}

// theirs are the files that iceberg-go plans itself.
func (f *fixture) theirs(t testing.TB, filter plan.Expr) map[string]bool {
	t.Helper()
	predicate := scan.Predicate(f.table.Iceberg().Metadata(), f.table.Schema(), f.columns, filter)
	tasks, err := f.table.Iceberg().Scan(table.WithRowFilter(predicate)).PlanFiles(context.Background())
	require.NoError(t, err)
	out := map[string]bool{}
	for _, task := range tasks {
		out[task.File.FilePath()] = true
	}
	return out
}
