package read

import (
	"context"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Ranges of a key divide a table's rows, those of files with deletes and of the scan's filter among them; what they read
// together is what iceberg-go reads.
func TestKeyRanges(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", p.Int64, true), field(2, "key", p.Int32, false), field(3, "day", p.Date, false)),
		properties("2", "write.delete.mode", "merge-on-read", "write.parquet.row-group-limit", "20"))
	tbl = appendRows(t, tbl, numbers(0, 60, `{"id":$,"key":$,"day":"1970-02-01"}`))
	tbl = appendRows(t, tbl, numbers(30, 90, `{"id":$,"key":$}`))
	tbl = appendRows(t, tbl, `[{"id":1000},{"id":1001,"key":-5}]`)
	tbl = deleteRows(t, tbl, ice.EqualTo(ice.Reference("id"), int64(41)))
	tbl = deleteEqual(t, tbl, []int{1}, `[{"id":50},{"id":7}]`)
	scan := scanOf(t, tbl)
	scan.Filter = longAt(0, plan.NotEqual, 12)
	want := expected(t, tbl, table.WithSelectedFields("id", "key", "day"), table.WithRowFilter(ice.NotEqualTo(ice.Reference("id"), int64(12))))

	read := func(key int32, cuts ...int64) []string {
		var got []string
		for i := range len(cuts) + 1 {
			g := group(t, tbl)
			r := &seracv1.KeyRange{FieldId: key, Nulls: i == 0}
			if i > 0 {
				r.From = &cuts[i-1]
			}
			if i < len(cuts) {
				r.Before = &cuts[i]
			}
			for _, f := range g.Files {
				f.KeyRange = r
			}
			rows := w.rows(t, w.input(t, tbl, scan, g))
			require.NotEmpty(t, rows)
			got = append(got, rows...)
		}
		return got
	}
	require.ElementsMatch(t, want, read(2, 0, 35, 60))
	require.ElementsMatch(t, want, read(1, 45))
	require.ElementsMatch(t, want, read(3, 31))
	require.ElementsMatch(t, want, read(2))

	bad := func(r *seracv1.KeyRange) error {
		g := group(t, tbl)
		g.Files[0].KeyRange = r
		_, err := SQL(context.Background(), w.input(t, tbl, scan, g))
		return err
	}
	require.ErrorContains(t, bad(&seracv1.KeyRange{FieldId: 9}), "field 9, which the scan does not read")
	scan.Columns = append(scan.Columns, plan.ScanColumn{FieldID: fileFieldID, Name: "_file", Type: plan.T(plan.Varchar)})
	require.ErrorContains(t, bad(&seracv1.KeyRange{FieldId: fileFieldID}), "of column _file, of type VARCHAR")
}
