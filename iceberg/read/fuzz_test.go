package read

import (
	"context"
	"errors"
	"os"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// FuzzFileGroup makes the query of any group. The files that it names are not there: whoever opens one fails.
func FuzzFileGroup(f *testing.F) {
	row, from := int64(5), int64(4)
	data := &seracv1.FileScanTask{Path: "a.parquet", SizeBytes: 10, RecordCount: 3, Format: "PARQUET", FirstRowId: &row, Constants: map[int32][]byte{2: []byte("x")}}
	split := proto.CloneOf(data)
	split.Start, split.Length, split.Deletes = 4, 3, []int32{0, 1, 2}
	for _, m := range []*seracv1.FileGroup{
		{},
		{Files: []*seracv1.FileScanTask{data}},
		{Files: []*seracv1.FileScanTask{split, data}, DeleteFiles: []*seracv1.DeleteFile{
			{Content: seracv1.DeleteFile_CONTENT_POSITION, Path: "p.parquet", SequenceNumber: 2},
			{Content: seracv1.DeleteFile_CONTENT_EQUALITY, Path: "e.parquet", EqualityIds: []int32{1}, SequenceNumber: 2},
			{Content: seracv1.DeleteFile_CONTENT_DELETION_VECTOR, Path: "v.puffin", ContentOffset: 4, ContentSizeBytes: 10, ReferencedDataFile: "a.parquet"},
		}},
		{Files: []*seracv1.FileScanTask{{Path: "b", Deletes: []int32{-1, 99}}}},
		{
			Files:     []*seracv1.FileScanTask{{Path: "c", SizeBytes: 10, Residual: 1}, {Path: "d", SizeBytes: 10, Residual: 2}, {Path: "e", SizeBytes: 10}},
			Residuals: []*seracv1.Residual{{Conjuncts: 2}, {Conjuncts: 2, Remaining: []int32{1}}},
		},
		{Files: []*seracv1.FileScanTask{
			{Path: "g", SizeBytes: 10, KeyRange: &seracv1.KeyRange{FieldId: 1, From: &from}},
			{Path: "h", SizeBytes: 10, KeyRange: &seracv1.KeyRange{FieldId: 1, Before: &from, Nulls: true}},
		}},
		{Files: []*seracv1.FileScanTask{{Path: "f", Residual: 2}}, Residuals: []*seracv1.Residual{{Conjuncts: 2, Remaining: []int32{0, 0, 7}}}},
	} {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	schema := ice.NewSchema(0,
		ice.NestedField{ID: 1, Name: "id", Type: ice.PrimitiveTypes.Int64, Required: true},
		ice.NestedField{ID: 2, Name: "name", Type: ice.PrimitiveTypes.String},
	)
	scan := &plan.IcebergScan{TableKey: "t", SnapshotID: 1, Columns: []plan.ScanColumn{
		{FieldID: 1, Name: "id", Type: plan.T(plan.BigInt)}, {FieldID: 2, Name: "name", Type: plan.T(plan.Varchar), Nullable: true},
	}, Filter: &plan.Conjunction{Args: []plan.Expr{longAt(0, plan.Greater, 3), longAt(0, plan.Less, 9)}}}
	errAbsent := errors.New("absent")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		group := &seracv1.FileGroup{}
		if proto.Unmarshal(b, group) != nil {
			return
		}
		absent := 0
		q, err := SQL(t.Context(), Input{
			Scan: scan, Schema: schema, Schemas: []*ice.Schema{schema}, Group: group, TempDir: dir, Prefix: "p",
			Local: func(_ context.Context, path string) (string, error) {
				if len(path)%2 == 0 {
					absent++
					return "", errAbsent
				}
				return "/nowhere/" + path, nil
			},
		})
		if err != nil {
			return
		}
		require.Zero(t, absent, "an error of Local comes back")
		require.NotEmpty(t, q.SQL)
		require.NoError(t, q.Close())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left, "no file is left")
	})
}
