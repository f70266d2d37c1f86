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

// Of a file with NULLs in a nested column DuckDB 1.5 by itself gives the wrong rows, or none and an error, where a comparison by
// IS NOT DISTINCT FROM is pushed into the scan with another filter.
func TestNestedColumnsComparedAsDistinct(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	list := &ice.ListType{ElementID: 3, Element: ice.PrimitiveTypes.Int32}
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", ice.PrimitiveTypes.Int64, false), field(2, "li", list, false), field(4, "s", ice.PrimitiveTypes.String, false)), properties("2"))
	file := w.dir + "/spill/nested.parquet"
	writer, err := duckdb.Open(ctx, duckdb.Options{Threads: 1})
	require.NoError(t, err)
	conn, err := writer.Conn(ctx)
	require.NoError(t, err)
	require.NoError(t, conn.Exec(ctx, `COPY (SELECT i AS id, CASE WHEN i % 2 = 0 THEN [(i % 3)::INTEGER] END AS li, 'v' || i AS s FROM range(10) r(i))
		TO '`+file+`' (FORMAT parquet, FIELD_IDS {id: 1, li: {__duckdb_field_id: 2, element: 3}, s: 4})`))
	require.NoError(t, conn.Close())
	require.NoError(t, writer.Close())
	info, err := os.Stat(file)
	require.NoError(t, err)
	group := &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: "file://" + file, SizeBytes: info.Size(), Length: info.Size(), RecordCount: 10, Format: "parquet"}}}
	for _, files := range []int{1, 2} {
		g := &seracv1.FileGroup{}
		for range files {
			g.Files = append(g.Files, group.Files[0])
		}
		in := w.input(t, tbl, scanOf(t, tbl), g)
		in.Distinct = true
		q, err := SQL(ctx, in)
		require.NoError(t, err)
		rows, err := w.conn.Rows(ctx, "SELECT c0, c2 FROM ("+q.SQL+") WHERE c1 IS NOT DISTINCT FROM c1 AND c0 <> 3")
		require.NoError(t, err)
		require.Len(t, rows, 9*files)
		rows, err = w.conn.Rows(ctx, "SELECT c0, c2 FROM ("+q.SQL+") WHERE c1 IS DISTINCT FROM [0] AND c0 > 3")
		require.NoError(t, err)
		require.Len(t, rows, 5*files)
		require.NoError(t, q.Close())
	}
	for kind, nested := range map[plan.Kind]bool{plan.List: true, plan.Struct: true, plan.Map: true, plan.Blob: false, plan.Varchar: false} {
		require.Equal(t, nested, Nested(plan.Type{Kind: kind}))
	}
}
