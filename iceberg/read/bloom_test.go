package read

import (
	"context"
	"os"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Files of other writers may have Bloom filters, in which DuckDB 1.5 misses BLOBs that are no plain text: of the file below
// it says by itself that no row has x'00'.
func TestBlobsInBloomFilters(t *testing.T) {
	w := newWorld(t)
	tbl := w.create(t, ice.NewSchema(0, field(1, "b", ice.PrimitiveTypes.Binary, false), field(2, "s", ice.PrimitiveTypes.String, false)), properties("2"))
	file := w.dir + "/spill/bloom.parquet"
	writer, err := duckdb.Open(context.Background(), duckdb.Options{Threads: 1})
	require.NoError(t, err)
	conn, err := writer.Conn(context.Background())
	require.NoError(t, err)
	require.NoError(t, conn.Exec(context.Background(), `COPY (SELECT CASE WHEN i % 2 = 0 THEN '\x00'::BLOB ELSE 'a'::BLOB END AS b, 's' AS s FROM range(80) r(i))
		TO '`+file+`' (FORMAT parquet, FIELD_IDS {b: 1, s: 2}, WRITE_BLOOM_FILTER true)`))
	filtered, err := conn.Rows(context.Background(), "SELECT count(bloom_filter_offset) FROM parquet_metadata('"+file+"')")
	require.NoError(t, err)
	require.Equal(t, int64(2), filtered[0][0])
	require.NoError(t, conn.Close())
	require.NoError(t, writer.Close())
	info, err := os.Stat(file)
	require.NoError(t, err)
	g := &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: "file://" + file, SizeBytes: info.Size(), Length: info.Size(), RecordCount: 80, Format: "parquet"}}}
	one, two := scanOf(t, tbl), scanOf(t, tbl)
	blob := plan.T(plan.Blob)
	one.Filter = &plan.Comparison{Op: plan.Equal, Left: &plan.ColumnRef{Index: 0, Of: blob}, Right: &plan.Constant{Value: []byte{0}, Of: blob}}
	twice := &seracv1.FileGroup{Files: []*seracv1.FileScanTask{g.Files[0], g.Files[0]}} // is read in another way than one file
	require.Len(t, w.rows(t, w.input(t, tbl, one, g)), 40)
	require.Len(t, w.rows(t, w.input(t, tbl, one, twice)), 80)

	// A join makes the comparison while it runs.
	for n, group := range []*seracv1.FileGroup{g, twice} {
		q, err := SQL(context.Background(), w.input(t, tbl, two, group))
		require.NoError(t, err)
		rows, err := w.conn.Rows(context.Background(), "SELECT count(*) FROM ("+q.SQL+`) JOIN (SELECT '\x00'::BLOB AS k FROM range(3)) ON c0 = k`)
		require.NoError(t, err)
		require.Equal(t, int64(120*(n+1)), rows[0][0])
		require.NoError(t, q.Close())
	}
}
