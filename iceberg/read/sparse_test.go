package read

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// remote puts the group's data files into an S3 in the process and makes an input that reads them sparsely. Delete files
// stay where they are: they name the data files by their local paths, so the group's paths are put back before they are
// compared.
func (w *world) remote(t *testing.T, in Input) (Input, *atomic.Int64) {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("wh"))
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	storage := object.Storage{}
	var err error
	storage.IO, err = icebergio.LoadFS(context.Background(), map[string]string{
		"s3.endpoint": server.URL, "s3.region": "us-east-1", "s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.force-virtual-addressing": "false",
	}, "s3://wh")
	require.NoError(t, err)
	w.remotes++ // what one test has fetched is not there for the next one
	for i, f := range in.Group.Files {
		path, _, err := object.LocalPath(f.Path)
		require.NoError(t, err)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		location := fmt.Sprintf("s3://wh/%d/%d.parquet", w.remotes, i)
		require.NoError(t, storage.IO.(icebergio.WriteFileIO).WriteFile(location, content))
		for _, d := range in.Group.DeleteFiles {
			if d.ReferencedDataFile == f.Path {
				d.ReferencedDataFile = location
			}
		}
		f.Path = location
	}
	fetched := &atomic.Int64{}
	keep := func(f *object.File) string { t.Cleanup(f.Release); fetched.Add(f.Fetched); return f.Path }
	in.Local = func(ctx context.Context, path string) (string, error) {
		f, err := w.store.Local(ctx, storage, path)
		if err != nil {
			return "", err
		}
		return keep(f), nil
	}
	in.Footer = func(ctx context.Context, path string) (*metadata.FileMetaData, error) {
		return w.store.Footer(ctx, storage, path)
	}
	in.Sparse = func(ctx context.Context, path string, need object.Need) (string, bool, error) {
		f, ok, err := w.store.Sparse(ctx, storage, path, need)
		if err != nil || !ok {
			return "", false, err
		}
		return keep(f), true, nil
	}
	return in, fetched
}

func TestSparseReadsFetchWhatTheyNeed(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", p.Int64, true), field(2, "s", p.String, false), field(3, "ts", p.Timestamp, false),
		field(4, "li", &ice.ListType{ElementID: 5, Element: p.Int32}, false), field(6, "pad", p.String, false)),
		properties("3", "write.delete.mode", "merge-on-read", "write.parquet.row-group-limit", "2000", "write.parquet.compression-codec", "uncompressed"))
	tbl = appendRows(t, tbl, numbers(0, 20000, `{"id":$,"s":"row $","ts":"2024-01-01T00:00:00","li":[$,1],"pad":"`+strings.Repeat("$ padding ", 10)+`"}`))
	tbl = deleteRows(t, tbl, ice.NewOr(ice.LessThan(ice.Reference("id"), int64(3)), ice.NewAnd(ice.GreaterThan(ice.Reference("id"), int64(8990)), ice.LessThan(ice.Reference("id"), int64(9010)))))
	size := group(t, tbl).Files[0].SizeBytes
	bigint := plan.T(plan.BigInt)
	at := func(op plan.CompareOp, v int64) plan.Expr {
		return &plan.Comparison{Op: op, Left: &plan.ColumnRef{Index: 0, Of: bigint}, Right: &plan.Constant{Value: v, Of: bigint}}
	}
	and := func(args ...plan.Expr) plan.Expr { return &plan.Conjunction{Args: args} }
	or := func(args ...plan.Expr) plan.Expr { return &plan.Conjunction{Or: true, Args: args} }
	for name, c := range map[string]struct {
		columns []int
		filter  plan.Expr
		most    int64 // bytes fetched; chunks of small row groups lie near enough to be fetched in one
	}{
		"one column":    {[]int{0}, nil, size},
		"list":          {[]int{3}, nil, size},
		"no column":     {nil, nil, 20000},
		"one group":     {[]int{0, 1}, at(plan.Equal, 9000), size / 20},
		"kept in group": {[]int{0, 1}, at(plan.Equal, 8100), size / 20},
		"two ends":      {[]int{0, 1}, or(at(plan.Less, 2500), at(plan.GreaterOrEqual, 19000)), size / 8},
		"nothing":       {[]int{0, 1}, at(plan.Greater, 20000), 20000},
		"middle":        {[]int{0, 4}, and(at(plan.Greater, 7000), at(plan.LessOrEqual, 9005)), size / 3},
		"all columns":   {[]int{0, 1, 2, 3, 4}, nil, size},
	} {
		t.Run(name, func(t *testing.T) {
			scan := scanOf(t, tbl)
			var columns []plan.ScanColumn
			for _, i := range c.columns {
				columns = append(columns, scan.Columns[i])
			}
			scan.Columns = columns
			want := w.rows(t, w.input(t, tbl, scan, group(t, tbl)))
			scan.Filter = c.filter
			if c.filter != nil {
				all := want
				want = w.rows(t, w.input(t, tbl, scan, group(t, tbl)))
				require.Less(t, len(want), len(all))
			}
			in, fetched := w.remote(t, w.input(t, tbl, scan, group(t, tbl)))
			// Positions count from the data file's first row, whatever is left out before.
			require.Equal(t, want, w.rows(t, in))
			require.LessOrEqual(t, fetched.Load(), c.most)
			before := fetched.Load()
			require.Equal(t, want, w.rows(t, in))
			require.Equal(t, before, fetched.Load(), "read from the cache")
		})
	}
	// Splits of the remote file, with row numbers.
	scan := scanOf(t, tbl)
	scan.Columns = []plan.ScanColumn{scan.Columns[0], {FieldID: posFieldID, Type: bigint}, {FieldID: rowIDFieldID, Type: bigint}}
	want := w.rows(t, w.input(t, tbl, scan, group(t, tbl)))
	require.Len(t, want, 20000-3-19)
	require.Contains(t, want, "[12345 12345 12345]")
	var got []string
	for part := range int64(4) {
		g := group(t, tbl)
		g.Files[0].Start = part * (size/4 + 1)
		g.Files[0].Length = min(size/4+1, size-g.Files[0].Start)
		in, _ := w.remote(t, w.input(t, tbl, scan, g))
		rows := w.rows(t, in)
		require.NotEmpty(t, rows)
		got = append(got, rows...)
	}
	sort.Strings(got)
	require.Equal(t, want, got)

	// Ranges of a key: what lies outside of one is not fetched.
	cuts, got := []int64{9000, 9100}, nil
	for part := range 3 {
		g := group(t, tbl)
		g.Files[0].KeyRange = &seracv1.KeyRange{FieldId: 1}
		if part > 0 {
			g.Files[0].KeyRange.From = &cuts[part-1]
		}
		if part < len(cuts) {
			g.Files[0].KeyRange.Before = &cuts[part]
		}
		in, fetched := w.remote(t, w.input(t, tbl, scan, g))
		got = append(got, w.rows(t, in)...)
		if part == 1 {
			require.LessOrEqual(t, fetched.Load(), size/20)
		}
	}
	sort.Strings(got)
	require.Equal(t, want, got)
}

// Every kind of constant prunes, and none prunes what matches.
func TestPruningByStatistics(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "i", p.Int32, true), field(2, "s", p.String, false), field(3, "ts", p.Timestamp, false),
		field(4, "tz", p.TimestampTz, false), field(5, "d", p.Date, false), field(6, "tm", p.Time, false), field(7, "f", p.Float64, false)),
		properties("2", "write.parquet.row-group-limit", "10"))
	tbl = appendRows(t, tbl, numbers(10, 60, `{"i":$,"s":"s$","ts":"2024-01-01T00:00:$","tz":"2024-01-01T00:00:$Z","d":"20$-01-01","tm":"00:00:$","f":$}`))
	in := w.input(t, tbl, scanOf(t, tbl), group(t, tbl))
	r, err := newReader(in)
	require.NoError(t, err)
	path, _, err := object.LocalPath(in.Group.Files[0].Path)
	require.NoError(t, err)
	footer, err := object.ReadLocalFooter(path)
	require.NoError(t, err)
	require.Equal(t, 5, footer.NumRowGroups())
	columns := r.plainColumns(footer)
	for index, constant := range []string{"32::INTEGER", "'s32'", "'2024-01-01 00:00:32'::TIMESTAMP", "'2024-01-01 00:00:32+00'::TIMESTAMPTZ", "DATE '2032-01-01'", "TIME '00:00:32'"} {
		var value plan.Constant
		value.Of = in.Scan.Columns[index].Type
		switch value.Of.Kind {
		case plan.Varchar:
			value.Value = "s32"
		default:
			sql := map[plan.Kind]string{plan.Integer: "%s::BIGINT", plan.Timestamp: "epoch_us(%s)", plan.TimestampTZ: "epoch_us(%s)", plan.Date: "(%s - DATE '1970-01-01')::BIGINT", plan.Time: "epoch_us(%s)"}[value.Of.Kind]
			rows, err := w.conn.Rows(context.Background(), "SELECT "+fmt.Sprintf(sql, constant))
			require.NoError(t, err)
			value.Value = rows[0][0]
		}
		for op, want := range map[plan.CompareOp][]int{
			plan.Equal: {2}, plan.Less: {0, 1, 2}, plan.GreaterOrEqual: {2, 3, 4}, plan.NotEqual: {0, 1, 2, 3, 4}, plan.DistinctFrom: {0, 1, 2, 3, 4},
		} {
			ref := &plan.ColumnRef{Index: index, Of: value.Of}
			var got []int
			for g := range footer.NumRowGroups() {
				may := mayMatch(&plan.Comparison{Op: op, Left: ref, Right: &value}, in.Scan.Columns, footer.RowGroup(g), columns)
				require.Equal(t, may, mayMatch(&plan.Comparison{Op: mirrored(op), Left: &value, Right: ref}, in.Scan.Columns, footer.RowGroup(g), columns))
				if may {
					got = append(got, g)
				}
			}
			require.Equal(t, want, got, "%s, %d", constant, op)
		}
	}
	// Floats do not prune: NaN is in no bound.
	double := plan.T(plan.Double)
	require.True(t, mayMatch(&plan.Comparison{Op: plan.Greater, Left: &plan.ColumnRef{Index: 6, Of: double}, Right: &plan.Constant{Value: 1e9, Of: double}},
		in.Scan.Columns, footer.RowGroup(0), columns))
}
