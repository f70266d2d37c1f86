package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/inspect"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

// read is a metadata table's columns as DuckDB reads them; none: all.
func read(t *testing.T, conn *duckdb.Conn, tbl *table.Table, kind, sql string, names ...string) [][]any {
	t.Helper()
	columns, err := inspect.Columns(tbl, kind)
	require.NoError(t, err)
	picked := columns
	if len(names) > 0 {
		picked = nil
		for _, n := range names {
			for _, c := range columns {
				if c.Name == n {
					picked = append(picked, c)
				}
			}
		}
		require.Len(t, picked, len(names))
	}
	snapshot := int64(0)
	if s := tbl.CurrentSnapshot(); s != nil {
		snapshot = s.SnapshotID
	}
	path := filepath.Join(t.TempDir(), "rows.parquet")
	n, err := inspect.WriteParquet(context.Background(), inspect.Input{Table: tbl, Kind: kind, SnapshotID: snapshot, Columns: picked}, path)
	require.NoError(t, err, kind)
	rows, err := conn.Rows(context.Background(), "SELECT "+sql+" FROM ("+inspect.SQL(picked, path)+")")
	require.NoError(t, err, kind)
	if sql == "*" {
		require.Len(t, rows, int(n))
	}
	return rows
}

func TestEveryKindOfEveryPartitionType(t *testing.T) {
	ctx := context.Background()
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	defs := []iceberg.ColumnDef{
		{Name: "i", Type: plan.T(plan.Integer), Nullable: true}, {Name: "u", Type: plan.T(plan.UUID), Nullable: true},
		{Name: "n", Type: plan.DecimalType(9, 2), Nullable: true}, {Name: "ts", Type: plan.T(plan.TimestampTZ), Nullable: true},
		{Name: "v", Type: plan.T(plan.Varchar), Nullable: true}, {Name: "x", Type: plan.T(plan.Blob), Nullable: true},
		{Name: "tm", Type: plan.T(plan.Time), Nullable: true}, {Name: "b", Type: plan.T(plan.Boolean), Nullable: true},
	}
	schema, err := iceberg.NewSchema(defs)
	require.NoError(t, err)
	for n, term := range []string{"i", "u", "n", "ts", "v", "x", "tm", "b", "hour(ts)", "day(ts)", "bucket(3, u)", "truncate(2, v)", ""} {
		var terms []string
		if term != "" {
			terms = []string{term}
		}
		spec, err := iceberg.NewPartitionSpec(schema, icetest.Terms(t, terms...))
		require.NoError(t, err)
		name := fmt.Sprintf("t%d", n)
		tbl, err := c.CreateTable(ctx, catalog.CreateRequest{
			Namespace: "ns", Name: name, Schema: schema, PartitionSpec: spec,
			Properties: map[string]string{"a": "shown", "s3.secret-access-key": "hidden", "my-token": "hidden"},
		})
		require.NoError(t, err)
		for _, kind := range inspect.Kinds() { // before any snapshot
			want := map[string]int{"metadata_log_entries": 1, "properties": len(tbl.Properties())}[kind]
			require.Len(t, read(t, conn, tbl.Iceberg(), kind, "*"), want, "%s: %s", term, kind)
		}
		files := icetest.Write(t, conn, tbl, `SELECT 7::INT, 'f0000000-0000-0000-0000-00000000000a'::UUID, 1.25::DECIMAL(9,2),
			TIMESTAMPTZ '1969-12-31 23:00:00+00', 'näme', 'ab'::BLOB, TIME '01:02:03', true UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL`)
		_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: name, Files: files, Operation: commit.OpAppend})
		require.NoError(t, err)
		tbl, err = c.Reload(ctx, tbl)
		require.NoError(t, err)
		for _, kind := range inspect.Kinds() {
			read(t, conn, tbl.Iceberg(), kind, "*")
		}
		require.Equal(t, int64(2), read(t, conn, tbl.Iceberg(), "files", "sum(c0)::BIGINT", "record_count")[0][0], term)
		metrics := read(t, conn, tbl.Iceberg(), "files", `max(c0.i.upper_bound)::VARCHAR, max(c0.n.lower_bound)::VARCHAR,
			epoch_us(max(c0.ts.lower_bound))::VARCHAR, max(c0.v.upper_bound), sum(c0.b.null_value_count)::VARCHAR`, "readable_metrics")
		require.Equal(t, []any{"7", "1.25", "-3600000000", "näme", "1"}, metrics[0], term)
		if term == "u" {
			require.Equal(t, "f0000000-0000-0000-0000-00000000000a",
				read(t, conn, tbl.Iceberg(), "partitions", "max(c0.u)::VARCHAR", "partition")[0][0])
		}
		require.Equal(t, int64(2), read(t, conn, tbl.Iceberg(), "properties", "count(*) FILTER (WHERE c1 = '<redacted>')", "key", "value")[0][0])
	}
}

// TestMetadataAloneIsRead: what is not about files opens none.
func TestMetadataAloneIsRead(t *testing.T) {
	ctx := context.Background()
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	schema, err := iceberg.NewSchema([]iceberg.ColumnDef{{Name: "i", Type: plan.T(plan.Integer)}})
	require.NoError(t, err)
	tbl, err := c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema})
	require.NoError(t, err)
	_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: "x", Files: icetest.Write(t, conn, tbl, "SELECT 1::INT"), Operation: commit.OpAppend})
	require.NoError(t, err)
	tbl, err = c.Reload(ctx, tbl)
	require.NoError(t, err)
	closed := errors.New("no file may be opened")
	below := tbl.Iceberg()
	offline := table.New(below.Identifier(), below.Metadata(), below.MetadataLocation(), func(context.Context) (icebergio.IO, error) { return nil, closed }, nil)
	for _, kind := range []string{"snapshots", "history", "refs", "metadata_log_entries", "properties"} {
		read(t, conn, offline, kind, "*")
	}
	columns, err := inspect.Columns(offline, "files")
	require.NoError(t, err, "columns come from the metadata")
	_, err = inspect.WriteParquet(ctx, inspect.Input{Table: offline, Kind: "files", SnapshotID: tbl.SnapshotID(), Columns: columns}, filepath.Join(t.TempDir(), "f"))
	require.ErrorIs(t, err, closed)
}
