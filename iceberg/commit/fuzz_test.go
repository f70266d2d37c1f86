package commit

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// FuzzDataFile takes any message for a written file: it is refused, or says of the file what the message says.
func FuzzDataFile(f *testing.F) {
	c := icetest.SQLite(f)
	schema, err := iceberg.NewSchema([]iceberg.ColumnDef{
		{Name: "id", Type: plan.T(plan.BigInt)},
		{Name: "name", Type: plan.T(plan.Varchar), Nullable: true},
		{Name: "at", Type: plan.T(plan.TimestampTZ), Nullable: true},
	})
	require.NoError(f, err)
	spec, err := iceberg.NewPartitionSpec(schema, []iceberg.PartitionTerm{
		{Column: "id", Transform: "bucket[4]"}, {Column: "name", Transform: "identity"}, {Column: "at", Transform: "day"},
	})
	require.NoError(f, err)
	tbl, err := c.CreateTable(f.Context(), catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema, PartitionSpec: spec})
	require.NoError(f, err)
	for _, m := range []*seracv1.DataFile{
		{},
		{Path: "file:///w/a.parquet", SizeBytes: 10, RecordCount: 2},
		{
			Path: "file:///w/a.parquet", SizeBytes: 10, RecordCount: 2,
			Partition:    map[int32][]byte{1000: {1, 0, 0, 0}, 1001: []byte("a"), 1002: {1, 0, 0, 0}},
			ColumnSizes:  map[int32]int64{1: 5},
			ValueCounts:  map[int32]int64{1: 2, 2: 2},
			LowerBounds:  map[int32][]byte{1: {1, 0, 0, 0, 0, 0, 0, 0}, 2: []byte("a")},
			UpperBounds:  map[int32][]byte{1: {9, 0, 0, 0, 0, 0, 0, 0}, 2: []byte("b")},
			SplitOffsets: []int64{4},
		},
	} {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &seracv1.DataFile{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		files, err := dataFiles(tbl, tbl, []*seracv1.DataFile{m}, nil)
		if err != nil {
			require.ErrorIs(t, err, ErrBadFile)
			return
		}
		require.Equal(t, m.GetPath(), files[0].FilePath())
		require.Equal(t, m.GetRecordCount(), files[0].Count())
		require.Equal(t, m.GetSizeBytes(), files[0].FileSizeBytes())
		require.EqualValues(t, m.GetSpecId(), files[0].SpecID())
	})
}
