package scan_test

import (
	"context"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

// small is a table of k INTEGER and s VARCHAR.
func small(t testing.TB, c *catalog.Catalog, name string, terms ...iceberg.PartitionTerm) *catalog.Table {
	t.Helper()
	schema, err := iceberg.NewSchema([]iceberg.ColumnDef{
		{Name: "k", Type: plan.T(plan.Integer), Nullable: true}, {Name: "s", Type: plan.T(plan.Varchar), Nullable: true},
	})
	require.NoError(t, err)
	spec, err := iceberg.NewPartitionSpec(schema, terms)
	require.NoError(t, err)
	tbl, err := c.CreateTable(context.Background(), catalog.CreateRequest{Namespace: "ns", Name: name, Schema: schema, PartitionSpec: spec})
	require.NoError(t, err)
	return tbl
}

func insert(t testing.TB, c *catalog.Catalog, conn *duckdb.Conn, tbl *catalog.Table, id, query string) *catalog.Table {
	t.Helper()
	_, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: id, Files: icetest.Write(t, conn, tbl, query), Operation: commit.OpAppend})
	require.NoError(t, err)
	return reload(t, c, tbl)
}

func reload(t testing.TB, c *catalog.Catalog, tbl *catalog.Table) *catalog.Table {
	t.Helper()
	fresh, err := c.Reload(context.Background(), tbl)
	require.NoError(t, err)
	return fresh
}

// evolve changes the schema.
func evolve(t testing.TB, c *catalog.Catalog, tbl *catalog.Table, change func(*table.UpdateSchema)) *catalog.Table {
	t.Helper()
	tx := tbl.Iceberg().NewTransaction()
	update := tx.UpdateSchema(true, false)
	change(update)
	require.NoError(t, update.Commit())
	_, err := tx.Commit(context.Background())
	require.NoError(t, err)
	return reload(t, c, tbl)
}

func kEquals(at int, of plan.Kind, n int64) plan.Expr {
	return &plan.Comparison{Op: plan.Equal, Left: &plan.ColumnRef{Index: at, Of: plan.T(of)}, Right: &plan.Constant{Value: n, Of: plan.T(of)}}
}

func planned(t testing.TB, tbl *catalog.Table, snapshot int64, columns []plan.ScanColumn, filter plan.Expr) *scan.Files {
	t.Helper()
	files, err := scan.Plan(context.Background(), tbl, snapshot, columns, filter)
	require.NoError(t, err)
	return files
}

func TestEmptyTablePlansNoFiles(t *testing.T) {
	c := icetest.SQLite(t)
	tbl := small(t, c, "t")
	require.Zero(t, tbl.SnapshotID())
	files := planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), nil)
	require.Empty(t, files.Tasks)
	require.Zero(t, files.Rows)
	groups := scan.Group(files, 1<<20, 4, 0)
	require.Len(t, groups, 1)
}

// A handle reads its own snapshot, whatever is committed afterwards; an older snapshot stays readable (rule 17).
func TestSnapshotsArePinned(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	first := insert(t, c, conn, small(t, c, "t"), "1", "SELECT 1::INTEGER, 'a'")
	second := insert(t, c, conn, first, "2", "SELECT 2::INTEGER, 'b'")
	require.Len(t, planned(t, first, first.SnapshotID(), first.Columns(), nil).Tasks, 1)
	require.Len(t, planned(t, second, second.SnapshotID(), second.Columns(), nil).Tasks, 2)
	old := planned(t, second, first.SnapshotID(), second.Columns(), nil)
	require.Len(t, old.Tasks, 1)
	require.EqualValues(t, 1, old.Rows)
	require.Equal(t, 1, old.TotalFiles)
	_, err := scan.Plan(context.Background(), first, second.SnapshotID(), first.Columns(), nil)
	require.ErrorContains(t, err, "c.ns.t")
}

// Columns added, renamed, swapped by name and promoted since the files were written: pruning goes by field id.
func TestPruningAfterSchemaEvolution(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := insert(t, c, conn, small(t, c, "t"), "1", "SELECT 1::INTEGER, 'a'")
	tbl = insert(t, c, conn, tbl, "2", "SELECT 2::INTEGER, 'b'")
	before := tbl.SnapshotID()

	// ADD COLUMN shows before any write (rule 15), and IS NULL on it keeps the old files.
	tbl = evolve(t, c, tbl, func(u *table.UpdateSchema) { u.AddColumn([]string{"n"}, ice.PrimitiveTypes.Int32, "", false, nil) })
	require.Equal(t, before, tbl.SnapshotID())
	require.Len(t, tbl.Columns(), 3)
	n := &plan.ColumnRef{Index: 2, Of: plan.T(plan.Integer)}
	isNull := &plan.Operator{Op: plan.OpIsNull, Args: []plan.Expr{n}, Of: plan.T(plan.Boolean)}
	require.Len(t, planned(t, tbl, before, tbl.Columns(), isNull).Tasks, 2)

	// k is renamed to x and a new k is added: a filter on the new k says nothing about the old files' first column.
	tbl = evolve(t, c, tbl, func(u *table.UpdateSchema) { u.RenameColumn([]string{"k"}, "x") })
	tbl = evolve(t, c, tbl, func(u *table.UpdateSchema) { u.AddColumn([]string{"k"}, ice.PrimitiveTypes.Int32, "", false, nil) })
	require.Len(t, planned(t, tbl, before, tbl.Columns(), kEquals(0, plan.Integer, 2)).Tasks, 1)
	require.Len(t, planned(t, tbl, before, tbl.Columns(), kEquals(3, plan.Integer, 2)).Tasks, 2)
	tbl = insert(t, c, conn, tbl, "3", "SELECT 3::INTEGER, 'c', NULL::INTEGER, 9::INTEGER")

	// The older snapshot is planned with its own schema, in which x was k.
	require.Len(t, planned(t, tbl, before, tbl.Columns(), kEquals(0, plan.Integer, 2)).Tasks, 1)
	require.Len(t, planned(t, tbl, before, tbl.Columns(), kEquals(3, plan.Integer, 2)).Tasks, 2)

	// INTEGER becomes BIGINT: old files have bounds of four bytes.
	tbl = evolve(t, c, tbl, func(u *table.UpdateSchema) {
		u.UpdateColumn([]string{"x"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: ice.PrimitiveTypes.Int64, Valid: true}})
	})
	tbl = insert(t, c, conn, tbl, "4", "SELECT 4::BIGINT, 'd', NULL::INTEGER, 9::INTEGER")
	require.Equal(t, plan.BigInt, tbl.Columns()[0].Type.Kind)
	require.GreaterOrEqual(t, len(planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), kEquals(0, plan.BigInt, 2)).Tasks), 1)
	require.Len(t, planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), nil).Tasks, 4)
}

// The tasks carry the values of identity partition fields that the scan reads.
func TestPartitionConstants(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := small(t, c, "t", iceberg.PartitionTerm{Column: "s", Transform: "identity"}, iceberg.PartitionTerm{Column: "k", Transform: "bucket[2]"})
	tbl = insert(t, c, conn, tbl, "1", "SELECT 1::INTEGER, v FROM (VALUES ('a'), (''), (NULL)) r(v)")
	got := map[string]int{}
	for _, g := range scan.Group(planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), nil), 1<<20, 1, 0) {
		for _, f := range g.Files {
			require.NotContains(t, f.Constants, tbl.Columns()[0].FieldID, "bucket is no value")
			value, ok := f.Constants[tbl.Columns()[1].FieldID]
			if !ok {
				got["NULL"]++
				continue
			}
			got["'"+string(value)+"'"]++
		}
	}
	require.Equal(t, map[string]int{"'a'": 1, "''": 1, "NULL": 1}, got)
	for _, g := range scan.Group(planned(t, tbl, tbl.SnapshotID(), tbl.Columns()[:1], nil), 1<<20, 1, 0) {
		for _, f := range g.Files {
			require.Empty(t, f.Constants, "s is not read")
		}
	}
}

// Bytes counts the projected columns, Rows all rows of the files.
func TestEstimates(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := insert(t, c, conn, small(t, c, "t"), "1", "SELECT i::INTEGER, md5(i::VARCHAR) FROM range(10000) r(i)")
	all := planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), nil)
	narrow := planned(t, tbl, tbl.SnapshotID(), tbl.Columns()[:1], nil)
	none := planned(t, tbl, tbl.SnapshotID(), nil, nil)
	require.EqualValues(t, 10000, all.Rows)
	require.Greater(t, all.Bytes, 3*narrow.Bytes)
	require.Positive(t, narrow.Bytes)
	require.Zero(t, none.Bytes)
	require.LessOrEqual(t, all.Bytes, tbl.Bytes())
}
