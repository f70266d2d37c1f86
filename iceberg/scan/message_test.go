package scan_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/scan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// deleteEqual deletes the rows whose k is one of the given.
func deleteEqual(t *testing.T, c *catalog.Catalog, tbl *catalog.Table, ks ...int) *catalog.Table {
	t.Helper()
	f, ok := tbl.Schema().FindFieldByName("k")
	require.True(t, ok)
	schema, err := table.SchemaToArrowSchema(ice.NewSchema(0, f), nil, true, false)
	require.NoError(t, err)
	rows := make([]string, len(ks))
	for i, k := range ks {
		rows[i] = fmt.Sprintf(`{"k":%d}`, k)
	}
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	require.NoError(t, err)
	tx := tbl.Iceberg().NewTransaction()
	records := iter.Seq2[arrow.RecordBatch, error](func(yield func(arrow.RecordBatch, error) bool) { yield(rec, nil) })
	require.NoError(t, tx.CommitEqualityDeletes(context.Background(), []int{f.ID}, records, nil))
	_, err = tx.Commit(context.Background())
	require.NoError(t, err)
	return reload(t, c, tbl)
}

// Data and delete files carry their data sequence numbers: those of the snapshots that added them.
func TestSequenceNumbersTravel(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := insert(t, c, conn, small(t, c, "t"), "1", "SELECT 1::INTEGER, 'a'")
	tbl = deleteEqual(t, c, tbl, 1)
	tbl = insert(t, c, conn, tbl, "3", "SELECT 2::INTEGER, 'b'")
	tbl = deleteEqual(t, c, tbl, 1, 2)
	tbl = insert(t, c, conn, tbl, "5", "SELECT 3::INTEGER, 'c'")
	groups := scan.Group(planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), nil), 1<<40, 1, 1)
	require.Len(t, groups, 1)
	got := map[int64][]int64{}
	for _, f := range groups[0].GetFiles() {
		got[f.GetSequenceNumber()] = []int64{}
		for _, d := range f.GetDeletes() {
			got[f.GetSequenceNumber()] = append(got[f.GetSequenceNumber()], groups[0].GetDeleteFiles()[d].GetSequenceNumber())
		}
	}
	for _, deletes := range got {
		require.NotNil(t, deletes)
	}
	require.ElementsMatch(t, []int64{2, 4}, got[1])
	require.Equal(t, map[int64][]int64{1: got[1], 3: {4}, 5: {}}, got)
}

// wideFile is a data file of a 16-column table as other writers name theirs, with statistics of every column.
func wideFile(t testing.TB, i int, spec ice.PartitionSpec) ice.DataFile {
	t.Helper()
	path := fmt.Sprintf("s3://analytics-production-eu-central-1/warehouse/commerce.db/order_line_items/data/ship_month=2024-%02d/customer_bucket=%d/"+
		"%05d-431-0f3c5c1e-9f1e-4c8e-8c9e-%012d-00001.parquet", i%12+1, i%16, i%1000, i)
	b, err := ice.NewDataFileBuilder(spec, ice.EntryContentData, path, ice.ParquetFile, nil, nil, nil, 1_250_000+int64(i), 256<<20+int64(i))
	require.NoError(t, err)
	counts, bounds := map[int]int64{}, map[int][]byte{}
	for id := 1; id <= 16; id++ {
		counts[id], bounds[id] = int64(1_250_000+i), []byte("sixteen bytes..!")
	}
	return b.ColumnSizes(counts).ValueCounts(counts).NullValueCounts(counts).LowerBoundValues(bounds).UpperBoundValues(bounds).
		SplitOffsets([]int64{4, 128 << 20}).Build()
}

// A file without deletes takes at most 300 bytes on a table of 16 columns, and nothing of its statistics travels.
func TestFileTaskIsSmall(t *testing.T) {
	const files, most = 1000, 300
	plan := &scan.Files{}
	sequence, row := int64(123_456), int64(1<<40)
	for i := range files {
		plan.Tasks = append(plan.Tasks, table.FileScanTask{
			File: wideFile(t, i, *ice.UnpartitionedSpec), Length: 256<<20 + int64(i), DataSequenceNumber: &sequence, FirstRowID: &row,
		})
	}
	groups := scan.Group(plan, 1<<50, 1, 1)
	require.Len(t, groups, 1)
	require.Len(t, groups[0].GetFiles(), files)
	b, err := proto.Marshal(groups[0])
	require.NoError(t, err)
	t.Logf("%d bytes a file, %d of them its path", len(b)/files, len(groups[0].GetFiles()[0].GetPath()))
	require.LessOrEqual(t, len(b)/files, most)
	require.NotContains(t, string(b), "sixteen bytes")
	back := &seracv1.FileGroup{}
	require.NoError(t, proto.Unmarshal(b, back))
	require.True(t, proto.Equal(groups[0], back))
	require.Equal(t, row, back.GetFiles()[7].GetFirstRowId())
	require.Equal(t, sequence, back.GetFiles()[7].GetSequenceNumber())
}
