package scan_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

const (
	benchManifests        = 20
	benchFilesPerManifest = 500
	benchFiles            = benchManifests * benchFilesPerManifest
	// day0 is the day of the first file, the number of days since 1970.
	day0 = 19000
)

// wide is a table of 16 columns and 10,000 data files that do not exist, in 20 manifests: what planning sees of a table of
// about 1 TB. A manifest covers 10 days, which partition the table; id grows from file to file.
func wide(t testing.TB, c *catalog.Catalog) *catalog.Table {
	t.Helper()
	var defs []iceberg.ColumnDef
	for i := range 6 {
		defs = append(defs, iceberg.ColumnDef{Name: fmt.Sprintf("id%d", i), Type: plan.T(plan.BigInt), Nullable: true})
	}
	for i := range 3 {
		defs = append(defs, iceberg.ColumnDef{Name: fmt.Sprintf("n%d", i), Type: plan.T(plan.Integer), Nullable: true})
	}
	for i := range 2 {
		defs = append(defs, iceberg.ColumnDef{Name: fmt.Sprintf("price%d", i), Type: plan.DecimalType(12, 2), Nullable: true})
	}
	for i := range 3 {
		defs = append(defs, iceberg.ColumnDef{Name: fmt.Sprintf("text%d", i), Type: plan.T(plan.Varchar), Nullable: true})
	}
	defs = append(defs,
		iceberg.ColumnDef{Name: "score", Type: plan.T(plan.Double), Nullable: true},
		iceberg.ColumnDef{Name: "at", Type: plan.T(plan.Timestamp), Nullable: true})
	schema, err := iceberg.NewSchema(defs)
	require.NoError(t, err)
	spec, err := iceberg.NewPartitionSpec(schema, icetest.Terms(t, "day(at)"))
	require.NoError(t, err)
	tbl, err := c.CreateTable(context.Background(), catalog.CreateRequest{Namespace: "ns", Name: "wide", Schema: schema, PartitionSpec: spec})
	require.NoError(t, err)
	for m := range benchManifests {
		files := make([]*seracv1.DataFile, benchFilesPerManifest)
		for i := range files {
			files[i] = benchFile(t, tbl, m*benchFilesPerManifest+i)
		}
		_, err = commit.Append(context.Background(), c, tbl, commit.Request{CommitID: fmt.Sprint("wide", m), Files: files, Operation: commit.OpAppend})
		require.NoError(t, err)
		tbl = reload(t, c, tbl)
	}
	return tbl
}

func benchFile(t testing.TB, tbl *catalog.Table, n int) *seracv1.DataFile {
	t.Helper()
	spec := tbl.Spec()
	specID := spec.ID()
	day := int64(day0 + n/50)
	f := &seracv1.DataFile{
		Path:      fmt.Sprintf("%s/data/at_day=%d/00000-%d-6f1e2d3c-aaaa-4bbb-8ccc-%012d.parquet", tbl.Location(), day, n, n),
		SizeBytes: 128 << 20, RecordCount: 1_000_000, SpecId: int32(specID), SchemaId: int32(tbl.Schema().ID),
		FormatVersion: int32(tbl.FormatVersion()), SplitOffsets: []int64{4, 32 << 20, 64 << 20, 96 << 20},
		ColumnSizes: map[int32]int64{}, ValueCounts: map[int32]int64{}, NullValueCounts: map[int32]int64{}, NanValueCounts: map[int32]int64{},
		LowerBounds: map[int32][]byte{}, UpperBounds: map[int32][]byte{}, Partition: map[int32][]byte{},
	}
	encode := func(of ice.Type, v any) []byte {
		b, err := iceberg.EncodeValue(of, v)
		require.NoError(t, err)
		return b
	}
	for _, field := range tbl.Schema().Fields() {
		id := int32(field.ID)
		f.ColumnSizes[id], f.ValueCounts[id], f.NullValueCounts[id] = 8<<20, 1_000_000, int64(n%7)
		var low, high any
		switch of := field.Type.(type) {
		case ice.Int64Type:
			low, high = int64(n)*1_000_000, int64(n)*1_000_000+999_999
		case ice.Int32Type:
			low, high = int32(n%100), int32(n%100+1000)
		case ice.Float64Type:
			low, high = float64(n)/3, float64(n)
			f.NanValueCounts[id] = 0
		case ice.DecimalType:
			low, high = decimalOf(int64(n), of.Scale()), decimalOf(int64(n)*100, of.Scale())
		case ice.StringType:
			low, high = fmt.Sprintf("customer#%07d", n), fmt.Sprintf("customer#%07d", n+9999)
		case ice.TimestampType:
			low, high = ice.Timestamp(day*86_400_000_000), ice.Timestamp(day*86_400_000_000+86_399_999_999)
		}
		f.LowerBounds[id], f.UpperBounds[id] = encode(field.Type, low), encode(field.Type, high)
	}
	for _, p := range tbl.PartitionFields() {
		f.Partition[p.FieldID] = encode(ice.PrimitiveTypes.Date, ice.Date(day))
	}
	return f
}

// Planning beside iceberg-go's own PlanFiles, of the same table with the same filter: the ratio of the two times, and each.
// Cold is a table that nobody has read yet, warm one that is planned again.
func BenchmarkPlan10000Files(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	c := icetest.OpenSQLite(b, dir)
	require.NoError(b, c.CreateNamespace(ctx, "ns", false))
	tbl := wide(b, c)
	// The scan reads 4 of the 16 columns.
	var columns []plan.ScanColumn
	for _, c := range tbl.Columns() {
		if slices.Contains([]string{"id0", "n0", "text0", "at"}, c.Name) {
			columns = append(columns, c)
		}
	}
	column := func(name string) *plan.ColumnRef {
		for i, c := range columns {
			if c.Name == name {
				return &plan.ColumnRef{Index: i, Of: c.Type}
			}
		}
		panic(name)
	}
	between := func(name string, low, high int64) plan.Expr {
		ref := column(name)
		return &plan.Between{
			Arg: ref, Low: &plan.Constant{Value: low, Of: ref.Of}, High: &plan.Constant{Value: high, Of: ref.Of},
			LowInclusive: true, HighInclusive: true,
		}
	}
	in := &plan.Operator{Op: plan.OpIn, Args: []plan.Expr{column("id0")}, Of: plan.T(plan.Boolean)}
	for i := range 100 {
		in.Args = append(in.Args, &plan.Constant{Value: int64(i) * 100_000_000, Of: plan.T(plan.BigInt)})
	}
	for _, filter := range []struct {
		name  string
		expr  plan.Expr
		files int
	}{
		{"all", nil, benchFiles},
		{"partition", between("at", day0*86_400_000_000, day0*86_400_000_000+86_399_999_999), 50},
		{"bounds", between("id0", 1_000_000_000, 1_049_999_999), 50},
		{"in", in, 100},
	} {
		for _, cold := range []bool{true, false} {
			name := filter.name + "/warm"
			if cold {
				name = filter.name + "/cold"
			}
			b.Run(name, func(b *testing.B) {
				handle := func() *catalog.Table {
					if !cold {
						return tbl
					}
					return coldHandle(b, dir)
				}
				var ours, theirs time.Duration
				for range b.N {
					predicate := scan.Predicate(tbl.Iceberg().Metadata(), tbl.Schema(), columns, filter.expr)
					t := handle()
					runtime.GC() // neither pays for what came before
					start := time.Now()
					tasks, err := t.Iceberg().Scan(table.WithRowFilter(predicate)).PlanFiles(ctx)
					theirs += time.Since(start)
					require.NoError(b, err)
					require.GreaterOrEqual(b, len(tasks), filter.files)

					t = handle()
					runtime.GC()
					start = time.Now()
					files, err := scan.Plan(ctx, t, t.SnapshotID(), columns, filter.expr)
					ours += time.Since(start)
					require.NoError(b, err)
					require.Equal(b, filter.files, len(files.Tasks))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(ours.Microseconds())/1e3/float64(b.N), "ms/serac")
				b.ReportMetric(float64(theirs.Microseconds())/1e3/float64(b.N), "ms/iceberg-go")
				b.ReportMetric(float64(ours)/float64(theirs), "ratio")
			})
		}
	}
}

func decimalOf(unscaled int64, scale int) ice.Decimal {
	return ice.Decimal{Val: decimal128.FromI64(unscaled), Scale: scale}
}

// coldHandle is the table in a catalog that has read nothing yet.
func coldHandle(t testing.TB, dir string) *catalog.Table {
	t.Helper()
	c, err := catalog.Open(context.Background(), catalog.Config{
		Name: "c", Type: catalog.TypeSQLite, URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
	})
	require.NoError(t, err)
	tbl, err := c.LoadTable(context.Background(), "ns", "wide")
	require.NoError(t, err)
	require.NoError(t, c.Close()) // handles stay readable
	return tbl
}
