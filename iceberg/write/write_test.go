package write

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

type column struct {
	name, typ string
	required  bool
}

func newTable(t *testing.T, c *catalog.Catalog, name string, columns []column, terms []string, properties map[string]string) *catalog.Table {
	t.Helper()
	defs := make([]iceberg.ColumnDef, len(columns))
	for i, col := range columns {
		typ, err := plan.ParseType(col.typ)
		require.NoError(t, err)
		defs[i] = iceberg.ColumnDef{Name: col.name, Type: typ, Nullable: !col.required}
	}
	schema, err := iceberg.NewSchema(defs)
	require.NoError(t, err)
	spec, err := iceberg.NewPartitionSpec(schema, icetest.Terms(t, terms...))
	require.NoError(t, err)
	tbl, err := c.CreateTable(context.Background(), catalog.CreateRequest{Namespace: "ns", Name: name, Schema: schema, PartitionSpec: spec, Properties: properties})
	require.NoError(t, err)
	return tbl
}

func newWriter(t *testing.T, tbl *catalog.Table) *Writer {
	t.Helper()
	spec := tbl.Spec()
	node := &plan.IcebergWrite{TableKey: "c.ns.t", Columns: tbl.Columns(), SpecID: int32(spec.ID()), Partition: tbl.PartitionFields()}
	w, err := New(node, Table{Schema: tbl.Schema(), Spec: &spec, Location: tbl.Location(), FormatVersion: tbl.FormatVersion(), Properties: tbl.Properties()})
	require.NoError(t, err)
	return w
}

// copyRows runs the COPY and collects its files.
func copyRows(t *testing.T, conn *duckdb.Conn, w *Writer, query string) []*seracv1.DataFile {
	t.Helper()
	sql, err := w.CopySQL(query, t.TempDir())
	require.NoError(t, err)
	rows, err := conn.Rows(context.Background(), sql)
	require.NoError(t, err, sql)
	files, err := w.Collect(rows)
	require.NoError(t, err)
	return files
}

func writeAndCommit(t *testing.T, conn *duckdb.Conn, c *catalog.Catalog, tbl *catalog.Table, query string) (*catalog.Table, []*seracv1.DataFile) {
	t.Helper()
	w := newWriter(t, tbl)
	files, err := w.Move(context.Background(), nil, copyRows(t, conn, w, query))
	require.NoError(t, err)
	_, err = commit.Append(context.Background(), c, tbl, commit.Request{CommitID: t.Name() + query, Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	tbl, err = c.LoadTable(context.Background(), "ns", tbl.Name())
	require.NoError(t, err)
	return tbl, files
}

// scanned are the rows as iceberg-go reads them.
func scanned(t *testing.T, tbl *catalog.Table, options ...table.ScanOption) []string {
	t.Helper()
	_, records, err := tbl.Iceberg().Scan(options...).ToArrowRecords(context.Background())
	require.NoError(t, err)
	var out []string
	for rec, err := range records {
		require.NoError(t, err)
		for i := range int(rec.NumRows()) {
			row := make([]any, rec.NumCols())
			for j := range row {
				if fixed, ok := rec.Column(j).(*array.FixedSizeBinary); ok && fixed.IsValid(i) {
					row[j] = append([]byte{}, fixed.Value(i)...)
					continue
				}
				row[j] = duckdb.Value(rec.Column(j), i)
			}
			out = append(out, fmt.Sprintf("%v", row))
		}
		rec.Release()
	}
	sort.Strings(out)
	return out
}

func queried(t *testing.T, conn *duckdb.Conn, query string) []string {
	t.Helper()
	rows, err := conn.Rows(context.Background(), query)
	require.NoError(t, err)
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = fmt.Sprintf("%v", row)
	}
	sort.Strings(out)
	return out
}

var everyType = []column{
	{"b", "BOOLEAN", false}, {"i", "INTEGER", true}, {"l", "BIGINT", false}, {"f", "FLOAT", false}, {"d", "DOUBLE", false},
	{"d1", "DECIMAL(9,2)", false}, {"d2", "DECIMAL(18,3)", false}, {"d3", "DECIMAL(38,10)", false}, {"dt", "DATE", false}, {"tm", "TIME", false},
	{"ts", "TIMESTAMP", false}, {"tz", "TIMESTAMP WITH TIME ZONE", false}, {"s", "VARCHAR", false}, {"u", "UUID", false}, {"bin", "BLOB", false},
	{"li", "INTEGER[]", false}, {"mp", "MAP(VARCHAR, DOUBLE)", false}, {"st", `STRUCT(x INTEGER, y VARCHAR, z STRUCT(q BIGINT[]))`, false},
}

const everyRow = `SELECT
	CASE WHEN i % 5 = 0 THEN NULL ELSE i % 2 = 0 END c0, i::INTEGER c1, CASE WHEN i % 7 <> 0 THEN i * 1000000007 - 5000000000 END c2,
	(i - 20)::FLOAT / 8 c3, CASE WHEN i = 3 THEN 'nan'::DOUBLE ELSE i / 3.0 END c4, ((i - 25) / 4.0)::DECIMAL(9,2) c5, (i * -1.001)::DECIMAL(18,3) c6,
	(i::DECIMAL(38,10) * 1000000000000 - 7)::DECIMAL(38,10) c7, DATE '1969-12-20' + i::INTEGER c8, TIME '00:00:00' + to_microseconds(i * 1234567) c9,
	TIMESTAMP '1969-12-31 23:59:50' + to_microseconds(i * 999999) c10, TIMESTAMPTZ '2024-03-31 00:30:00+00' + to_minutes(i) c11,
	CASE WHEN i % 6 <> 0 THEN 'row é ' || i || repeat('x', i::INTEGER) END c12, ('00000000-0000-0000-0000-0000000000' || printf('%02d', i))::UUID c13,
	('\x00\xFF'::BLOB || i::VARCHAR::BLOB) c14, [i, NULL]::INTEGER[] c15, MAP {'k' || i: i / 2.0}::MAP(VARCHAR, DOUBLE) c16,
	CASE WHEN i % 4 <> 0 THEN {'x': i, 'y': NULL, 'z': {'q': [i]}}::STRUCT(x INTEGER, y VARCHAR, z STRUCT(q BIGINT[])) END c17
	FROM range(20) r(i)`

func TestEveryTypeIsReadByIcebergGo(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	tbl := newTable(t, c, "t", everyType, nil, nil)
	tbl, files := writeAndCommit(t, conn, c, tbl, everyRow)
	require.Len(t, files, 1)
	require.Equal(t, queried(t, conn, everyRow), scanned(t, tbl))
	f := files[0]
	require.EqualValues(t, 20, f.RecordCount)
	info, err := os.Stat(strings.TrimPrefix(f.Path, "file://"))
	require.NoError(t, err)
	require.Equal(t, info.Size(), f.SizeBytes)
	require.NotContains(t, f.LowerBounds, int32(5), "a column with NaN has no bounds")
	require.Equal(t, map[int32]int64{4: 0}, f.NanValueCounts)
	require.Equal(t, []int64{4}, f.SplitOffsets)
	require.EqualValues(t, 4, f.NullValueCounts[1])
	require.NotContains(t, f.ValueCounts, int32(19), "the elements of a list")
	requireBounds(t, conn, tbl, files)
}

// requireBounds checks that bounds are the least and the greatest value of a file, and for strings and binaries, which are cut,
// that no value is outside.
func requireBounds(t *testing.T, conn *duckdb.Conn, tbl *catalog.Table, files []*seracv1.DataFile) {
	t.Helper()
	fields, err := iceberg.Fields(tbl.Schema())
	require.NoError(t, err)
	for _, f := range files {
		path, _, err := object.LocalPath(f.Path)
		require.NoError(t, err)
		var checks, names []string
		check := func(field iceberg.Field, format string, args ...any) {
			checks, names = append(checks, fmt.Sprintf(format, args...)), append(names, field.Name)
		}
		for _, field := range fields {
			column := plan.QuoteIdent(field.Name)
			low, ok := f.LowerBounds[field.ID]
			if !ok {
				continue
			}
			high, hasHigh := f.UpperBounds[field.ID]
			switch field.Iceberg.(type) {
			case ice.StringType, ice.BinaryType:
				if field.Type.Kind == plan.Varchar {
					column = "encode(" + column + ")"
				}
				check(field, "min(hex(%s)) >= '%X'", column, low)
				if hasHigh {
					check(field, "max(hex(%s)) <= '%X'", column, high)
				}
			default:
				for fn, bound := range map[string][]byte{"min": low, "max": high} {
					value, err := iceberg.DecodeValue(field.Iceberg, bound)
					require.NoError(t, err, field.Name)
					text := ice.IdentityTransform{}.ToHumanStrType(field.Iceberg, value)
					check(field, "%s(%s) = CAST(%s AS %s)", fn, column, plan.QuoteString(text), field.Type.SQL())
				}
			}
		}
		require.NotEmpty(t, checks)
		rows, err := conn.Rows(context.Background(), fmt.Sprintf("SELECT %s FROM read_parquet('%s', hive_partitioning = false)", strings.Join(checks, ", "), path))
		require.NoError(t, err)
		for i, holds := range rows[0] {
			require.Equal(t, true, holds, "%s: %s", names[i], checks[i])
		}
	}
}

func TestEveryTransformPartitions(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	for n, terms := range [][]string{
		{"i"}, {"b", "bucket(4, i)", "dt"}, {"f", "d"}, {"d3", "l"}, {"d1"}, {"tm", "ts", "tz"}, {"s", "bin"}, {"u", "st.x AS x"},
		{"bucket(4, l)", "bucket(4, d1)", "bucket(4, d3)"}, {"bucket(4, dt)", "bucket(4, ts)"}, {"bucket(4, s)", "bucket(4, u)", "bucket(4, bin)"},
		{"truncate(10, i)", "truncate(7, l)"}, {"truncate(100, d2)", "truncate(7, s)"}, {"truncate(60, s)"}, {"truncate(3, bin)"},
		{"year(dt)", "month(ts)"}, {"month(dt)", "day(tz)", "year(ts)"}, {"day(dt)", "hour(tz)"}, {"hour(ts)"}, {"void(i)"},
		{"b", "truncate(7, s)", "void(l)", "day(dt)"},
	} {
		t.Run(strings.Join(terms, ","), func(t *testing.T) {
			tbl := newTable(t, c, fmt.Sprintf("t%d", n), everyType, terms, nil)
			tbl, files := writeAndCommit(t, conn, c, tbl, everyRow)
			require.EqualValues(t, 20, count(t, conn, files, "true"))
			if n%7 == 0 { // it takes its time
				require.Equal(t, queried(t, conn, everyRow), scanned(t, tbl))
			}
			requireBounds(t, conn, tbl, files)
			requireOnePartitionEach(t, conn, tbl, files)
			// Pruning by partition values and bounds, which are iceberg-go's own business, loses no row.
			for sql, filter := range map[string]ice.BooleanExpression{
				"i = 17": ice.EqualTo(ice.Reference("i"), int32(17)), "s IS NULL": ice.IsNull(ice.Reference("s")), "dt = '1969-12-31'": ice.EqualTo(ice.Reference("dt"), "1969-12-31"),
				"ts < '1970-01-01'": ice.LessThan(ice.Reference("ts"), "1970-01-01T00:00:00"), "s >= 'row é 4'": ice.GreaterThanEqual(ice.Reference("s"), "row é 4"),
				"d1 > -4.5": ice.GreaterThan(ice.Reference("d1"), "-4.5"), "starts_with(s, 'row é 1')": ice.StartsWith(ice.Reference("s"), "row é 1"),
				"l < -1": ice.LessThan(ice.Reference("l"), int64(-1)), "d < 4": ice.LessThan(ice.Reference("d"), 4.0),
			} {
				tasks, err := tbl.Iceberg().Scan(table.WithRowFilter(filter)).PlanFiles(context.Background())
				require.NoError(t, err)
				require.Equal(t, count(t, conn, files, sql), countTasks(t, conn, tasks, sql), sql)
			}
		})
	}
}

func count(t *testing.T, conn *duckdb.Conn, files []*seracv1.DataFile, filter string) any {
	t.Helper()
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	return countIn(t, conn, paths, filter)
}

func countTasks(t *testing.T, conn *duckdb.Conn, tasks []table.FileScanTask, filter string) any {
	t.Helper()
	paths := make([]string, len(tasks))
	for i, task := range tasks {
		paths[i] = task.File.FilePath()
	}
	return countIn(t, conn, paths, filter)
}

func countIn(t *testing.T, conn *duckdb.Conn, locations []string, filter string) any {
	t.Helper()
	quoted := make([]string, len(locations))
	for i, location := range locations {
		path, _, err := object.LocalPath(location)
		require.NoError(t, err)
		quoted[i] = plan.QuoteString(path)
	}
	rows, err := conn.Rows(context.Background(), "SELECT count(*) FROM read_parquet(["+strings.Join(quoted, ", ")+"], hive_partitioning = false) WHERE "+filter)
	require.NoError(t, err)
	require.NotEqual(t, int64(0), rows[0][0])
	return rows[0][0]
}

// requireOnePartitionEach checks that every file's rows have the file's partition, and that no two files have one.
func requireOnePartitionEach(t *testing.T, conn *duckdb.Conn, tbl *catalog.Table, files []*seracv1.DataFile) {
	t.Helper()
	w := newWriter(t, tbl)
	seen := map[string]bool{}
	columns := make([]string, len(w.fields))
	for i := range columns {
		columns[i] = plan.QuoteIdent(w.fields[i].Name)
	}
	for _, f := range files {
		path, _, err := object.LocalPath(f.Path)
		require.NoError(t, err)
		id := ""
		for _, p := range w.partitions {
			expr, err := render.Expr(p.key(w.node.Columns), columns)
			require.NoError(t, err)
			keys, err := conn.Rows(context.Background(), fmt.Sprintf("SELECT DISTINCT %s FROM read_parquet('%s', hive_partitioning = false)", expr, path))
			require.NoError(t, err)
			require.Len(t, keys, 1)
			value, hashed, err := decodeKey(keys[0][0].(string), p.result)
			require.NoError(t, err)
			if !hashed {
				require.Equal(t, value, f.Partition[p.FieldID])
			} else {
				require.Greater(t, len(f.Partition[p.FieldID]), maxKeyBytes)
			}
			id += keys[0][0].(string) + "|"
		}
		require.False(t, seen[id], "two files of partition %s", id)
		seen[id] = true
	}
}

func TestNullsInRequiredFieldsAreErrors(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	p := ice.PrimitiveTypes
	field := func(id int, name string, typ ice.Type, required bool) ice.NestedField {
		return ice.NestedField{ID: id, Name: name, Type: typ, Required: required}
	}
	inner := &ice.StructType{FieldList: []ice.NestedField{field(11, "need", p.Int32, true), field(12, "may", p.Int32, false)}}
	schema := ice.NewSchema(0, field(1, "id", p.Int32, true), field(2, "s", inner, false),
		field(3, "l", &ice.ListType{ElementID: 13, Element: p.String, ElementRequired: true}, false),
		field(4, "m", &ice.MapType{KeyID: 14, KeyType: p.String, ValueID: 15, ValueType: &ice.ListType{ElementID: 16, Element: p.Int32, ElementRequired: true}}, false),
		field(5, "fx", ice.FixedTypeOf(2), false))
	for _, partitioned := range []bool{false, true} {
		request := catalog.CreateRequest{Namespace: "ns", Name: fmt.Sprintf("t%t", partitioned), Schema: schema}
		if partitioned {
			spec, err := iceberg.NewPartitionSpec(schema, []iceberg.PartitionTerm{{Column: "id", Transform: "bucket[2]"}})
			require.NoError(t, err)
			request.PartitionSpec = spec
		}
		tbl, err := c.CreateTable(context.Background(), request)
		require.NoError(t, err)
		w := newWriter(t, tbl)
		const cast = "c0::INTEGER c0, c1::STRUCT(need INTEGER, may INTEGER) c1, c2::VARCHAR[] c2, c3::MAP(VARCHAR, INTEGER[]) c3, c4::BLOB c4"
		for row, message := range map[string]string{
			"(1, {'need': 1, 'may': NULL}, ['a'], MAP {'k': [1]}, 'ab')": "",
			"(1, NULL, NULL, NULL, NULL)":                                "",
			"(1, NULL, [], MAP {}, NULL)":                                "",
			"(1, NULL, NULL, MAP {'k': NULL}, NULL)":                     "",
			"(NULL, NULL, NULL, NULL, NULL)":                             "NULL in required column id",
			"(1, {'need': NULL, 'may': 1}, NULL, NULL, NULL)":            "NULL in required column s.need",
			"(1, NULL, ['a', NULL], NULL, NULL)":                         "NULL in required column l.element",
			"(1, NULL, NULL, MAP {'k': [1, NULL]}, NULL)":                "NULL in required column m.value.element",
			"(1, NULL, NULL, NULL, 'abc')":                               "column fx",
		} {
			sql, err := w.CopySQL("SELECT "+cast+" FROM (VALUES "+row+") v(c0, c1, c2, c3, c4)", t.TempDir())
			require.NoError(t, err)
			rows, err := conn.Rows(context.Background(), sql)
			if message != "" {
				require.ErrorContains(t, err, message, row)
				continue
			}
			require.NoError(t, err, row)
			files, err := w.Collect(rows)
			require.NoError(t, err)
			require.Len(t, files, 1)
		}
	}
}

func TestBoundsOfLongStringsAndZeros(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	columns := []column{{"s", "VARCHAR", false}, {"bin", "BLOB", false}, {"f", "DOUBLE", false}, {"n", "VARCHAR", false}}
	for name, mode := range map[string]string{"dflt": "", "full": "full", "counts": "counts", "none": "none", "short": "truncate(2)"} {
		properties := map[string]string{}
		if mode != "" {
			properties["write.metadata.metrics.default"] = mode
		}
		tbl := newTable(t, c, name, columns, nil, properties)
		for _, query := range []string{
			"SELECT repeat('é', 10 + i::INTEGER) c0, repeat('\\xFF'::BLOB, 3) c1, CASE WHEN i = 0 THEN 0.0 ELSE -0.0 END::DOUBLE c2, NULL::VARCHAR c3 FROM range(2) r(i)",
			"SELECT repeat('z', 300 + i::INTEGER) c0, repeat('a', 400)::BLOB c1, i::DOUBLE c2, '' c3 FROM range(3) r(i)",
			"SELECT repeat(chr(1114111), 20) c0, repeat('\\xFF'::BLOB, 20) c1, -1::DOUBLE c2, NULL::VARCHAR c3",
		} {
			w := newWriter(t, tbl)
			files := copyRows(t, conn, w, query)
			require.Len(t, files, 1)
			f := files[0]
			switch mode {
			case "none":
				require.Empty(t, f.ValueCounts)
				require.Empty(t, f.LowerBounds)
				continue
			case "counts":
				require.NotEmpty(t, f.ValueCounts)
				require.Empty(t, f.LowerBounds)
				continue
			case "":
				require.LessOrEqual(t, len([]rune(string(f.LowerBounds[1]))), 16)
				require.LessOrEqual(t, len([]rune(string(f.UpperBounds[1]))), 16)
			}
			requireBounds(t, conn, tbl, files)
		}
	}
	w := newWriter(t, newTable(t, c, "zeros", columns, nil, nil))
	f := copyRows(t, conn, w, "SELECT 'a' c0, 'b'::BLOB c1, 0.0::DOUBLE c2, NULL::VARCHAR c3")[0]
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, f.LowerBounds[3])
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 0}, f.UpperBounds[3])
}

// What has Bloom filters is misread by DuckDB where it looks for a BLOB (1.5).
func TestNoBloomFilters(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	tbl := newTable(t, c, "t", []column{{"b", "BLOB", false}, {"s", "VARCHAR", false}}, nil, nil)
	files := copyRows(t, conn, newWriter(t, tbl), `SELECT '\x00'::BLOB c0, 'a' c1 FROM range(40)`)
	require.Len(t, files, 1)
	path := strings.TrimPrefix(files[0].Path, "file://")
	rows, err := conn.Rows(t.Context(), "SELECT count(bloom_filter_offset), count(*) FROM parquet_metadata('"+path+"')")
	require.NoError(t, err)
	require.Equal(t, []any{int64(0), int64(2)}, rows[0])
}

func TestLargeFilesAreCutAndSplit(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	tbl := newTable(t, c, "t", []column{{"id", "BIGINT", true}, {"s", "VARCHAR", false}}, nil,
		map[string]string{"write.target-file-size-bytes": "1000000", "write.parquet.row-group-limit": "20480", "write.parquet.compression-codec": "snappy"})
	tbl, files := writeAndCommit(t, conn, c, tbl, "SELECT i c0, md5(i::VARCHAR) c1 FROM range(100000) r(i)")
	require.Greater(t, len(files), 1)
	var rows int64
	for _, f := range files {
		rows += f.RecordCount
		require.NotEmpty(t, f.SplitOffsets)
	}
	require.EqualValues(t, 100000, rows)
	require.Len(t, scanned(t, tbl), 100000)
	requireBounds(t, conn, tbl, files)
	// No rows make no file.
	w := newWriter(t, tbl)
	require.Empty(t, copyRows(t, conn, w, "SELECT i c0, '' c1 FROM range(0) r(i)"))
}

func TestOddNames(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	tbl := newTable(t, c, "t", []column{{`a "quoted" name`, "INTEGER", true}, {"p0", "VARCHAR", false}, {"SELECT", `STRUCT("x y" INTEGER, "é.z" VARCHAR)`, false}},
		[]string{`p0`, `bucket(2, "a ""quoted"" name") AS b`}, nil)
	query := `SELECT i::INTEGER c0, CASE i WHEN 0 THEN '__HIVE_DEFAULT_PARTITION__' WHEN 1 THEN NULL WHEN 2 THEN '' WHEN 3 THEN 'null' ELSE 'a/b=c%2F ' || i END c1,
		{'x y': i, 'é.z': 'v'}::STRUCT("x y" INTEGER, "é.z" VARCHAR) c2 FROM range(6) r(i)`
	tbl, files := writeAndCommit(t, conn, c, tbl, query)
	require.Len(t, files, 6)
	for _, f := range files {
		require.NotContains(t, f.Path, "%")
	}
	got := scanned(t, tbl)
	for i, row := range queried(t, conn, query) {
		require.Equal(t, row[:strings.Index(row, " map[")], got[i][:strings.Index(got[i], " map[")])
	}
}

func TestMoveDeletesWhatItMovedWhenItFails(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	tbl := newTable(t, c, "t", []column{{"id", "INTEGER", true}}, []string{"id"}, nil)
	w := newWriter(t, tbl)
	files := copyRows(t, conn, w, "SELECT i::INTEGER c0 FROM range(5) r(i)")
	require.Len(t, files, 5)
	require.NoError(t, os.Remove(files[3].Path))
	_, err := w.Move(context.Background(), nil, files)
	require.Error(t, err)
	location, _, err := object.LocalPath(tbl.Location())
	require.NoError(t, err)
	left, err := filepath.Glob(location + "/data/*/*")
	require.NoError(t, err)
	require.Empty(t, left)
	// Moved files can be deleted, and deleting them again is no error.
	moved, err := w.Move(context.Background(), nil, copyRows(t, conn, w, "SELECT 1 c0"))
	require.NoError(t, err)
	require.NoError(t, Delete(context.Background(), icebergio.LocalFS{}, []string{moved[0].Path, moved[0].Path}))
	left, err = filepath.Glob(location + "/data/*/*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestPartitionExprs(t *testing.T) {
	conn, c := openConn(t), icetest.SQLite(t)
	tbl := newTable(t, c, "t", everyType, []string{"s", "bucket(4, i)", "void(l)", "bucket(3, st.x)", "month(ts)"}, nil)
	exprs, err := PartitionExprs(tbl.Columns(), tbl.PartitionFields(), tbl.Schema())
	require.NoError(t, err)
	require.Len(t, exprs, 4)
	inputs := make([]string, len(everyType))
	for i := range inputs {
		inputs[i] = fmt.Sprintf("c%d", i)
	}
	var sqls []string
	for _, e := range exprs {
		sql, err := render.Expr(e, inputs)
		require.NoError(t, err)
		sqls = append(sqls, sql)
	}
	bucketOf := func(n int, v int32) string {
		return fmt.Sprint("v", ice.BucketTransform{NumBuckets: n}.Apply(ice.Optional[ice.Literal]{Val: ice.NewLiteral(v), Valid: true}).Val.Any())
	}
	rows := queried(t, conn, "SELECT "+strings.Join(sqls, ", ")+" FROM ("+everyRow+") WHERE c1 IN (1, 8)")
	require.Equal(t, []string{
		"[row é 1x " + bucketOf(4, 1) + " " + bucketOf(3, 1) + " v-1]",
		"[row é 8xxxxxxxx " + bucketOf(4, 8) + " n v-1]",
	}, rows)
}
