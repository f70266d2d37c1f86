package read

import (
	"context"
	"fmt"
	"iter"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/sql"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// world is a catalog with a warehouse on local disk, and a sandboxed DuckDB beside it.
type world struct {
	dir     string
	catalog catalog.Catalog
	store   *object.Store
	db      *duckdb.DB
	conn    *duckdb.Conn
	tables  int
	remotes int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{dir: dir}
	var err error
	w.catalog, err = catalog.Load(context.Background(), "test", ice.Properties{
		"type": "sql", "uri": "file:" + dir + "/catalog.db?_pragma=busy_timeout(10000)&_txlock=immediate",
		"sql.dialect": "sqlite", "sql.driver": "sqlite", "warehouse": "file://" + dir + "/wh",
	})
	require.NoError(t, err)
	require.NoError(t, w.catalog.CreateNamespace(context.Background(), table.Identifier{"ns"}, nil))
	require.NoError(t, os.MkdirAll(dir+"/spill", 0o755))
	w.store, err = object.Open(object.Options{Dir: dir + "/cache"})
	require.NoError(t, err)
	w.db, err = duckdb.Open(context.Background(), duckdb.Options{
		Threads: 2, Sandbox: true, TempDir: dir + "/tmp", AllowedDirs: append(w.store.Dirs(), dir+"/spill"),
	})
	require.NoError(t, err)
	w.conn, err = w.db.Conn(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.conn.Close())
		require.NoError(t, w.db.Close())
		require.NoError(t, w.store.Close())
	})
	return w
}

func (w *world) create(t *testing.T, schema *ice.Schema, options ...catalog.CreateTableOpt) *table.Table {
	t.Helper()
	w.tables++
	tbl, err := w.catalog.CreateTable(context.Background(), table.Identifier{"ns", fmt.Sprintf("t%d", w.tables)}, schema, options...)
	require.NoError(t, err)
	return tbl
}

func properties(version string, more ...string) catalog.CreateTableOpt {
	p := ice.Properties{"format-version": version}
	for i := 0; i < len(more); i += 2 {
		p[more[i]] = more[i+1]
	}
	return catalog.WithProperties(p)
}

// batch reads rows, one JSON object each, as a record batch of the table's columns.
func batch(t *testing.T, schema *ice.Schema, json string) arrow.RecordBatch {
	t.Helper()
	arrowSchema, err := table.SchemaToArrowSchema(schema, nil, true, false)
	require.NoError(t, err)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, arrowSchema, strings.NewReader(json))
	require.NoError(t, err)
	return rec
}

func appendRows(t *testing.T, tbl *table.Table, json string) *table.Table {
	t.Helper()
	rec := batch(t, tbl.Schema(), json)
	reader, err := array.NewRecordReader(rec.Schema(), []arrow.RecordBatch{rec})
	require.NoError(t, err)
	tx := tbl.NewTransaction()
	require.NoError(t, tx.Append(context.Background(), reader, nil))
	out, err := tx.Commit(context.Background())
	require.NoError(t, err)
	return out
}

func evolve(t *testing.T, tbl *table.Table, change func(u *table.UpdateSchema)) *table.Table {
	t.Helper()
	tx := tbl.NewTransaction()
	u := tx.UpdateSchema(true, true)
	change(u)
	require.NoError(t, u.Commit())
	out, err := tx.Commit(context.Background())
	require.NoError(t, err)
	return out
}

func deleteRows(t *testing.T, tbl *table.Table, filter ice.BooleanExpression) *table.Table {
	t.Helper()
	tx := tbl.NewTransaction()
	require.NoError(t, tx.Delete(context.Background(), filter, nil))
	out, err := tx.Commit(context.Background())
	require.NoError(t, err)
	return out
}

func deleteEqual(t *testing.T, tbl *table.Table, ids []int, json string) *table.Table {
	t.Helper()
	var fields []ice.NestedField
	for _, id := range ids {
		f, ok := tbl.Schema().FindFieldByID(id)
		require.True(t, ok)
		fields = append(fields, f)
	}
	rec := batch(t, ice.NewSchema(0, fields...), json)
	records := iter.Seq2[arrow.RecordBatch, error](func(yield func(arrow.RecordBatch, error) bool) { yield(rec, nil) })
	tx := tbl.NewTransaction()
	require.NoError(t, tx.CommitEqualityDeletes(context.Background(), ids, records, nil))
	out, err := tx.Commit(context.Background())
	require.NoError(t, err)
	return out
}

// group is the planned tasks as a group.
func group(t *testing.T, tbl *table.Table) *seracv1.FileGroup {
	t.Helper()
	tasks, err := tbl.Scan().PlanFiles(context.Background())
	require.NoError(t, err)
	g := &seracv1.FileGroup{}
	index := map[string]int32{}
	for _, task := range tasks {
		f := &seracv1.FileScanTask{
			Path: task.File.FilePath(), SizeBytes: task.File.FileSizeBytes(), RecordCount: task.File.Count(), SpecId: task.File.SpecID(),
			Start: task.Start, Length: task.Length, Format: string(task.File.FileFormat()), FirstRowId: task.FirstRowID,
		}
		if task.DataSequenceNumber != nil {
			f.SequenceNumber = *task.DataSequenceNumber
		}
		for content, files := range map[seracv1.DeleteFile_Content][]ice.DataFile{
			seracv1.DeleteFile_CONTENT_POSITION: task.DeleteFiles, seracv1.DeleteFile_CONTENT_EQUALITY: task.EqualityDeleteFiles,
			seracv1.DeleteFile_CONTENT_DELETION_VECTOR: task.DeletionVectorFiles,
		} {
			for _, d := range files {
				file := &seracv1.DeleteFile{Content: content, Path: d.FilePath(), SizeBytes: d.FileSizeBytes(), RecordCount: d.Count(), SequenceNumber: sequences(t, tbl)[d.FilePath()]}
				for _, id := range d.EqualityFieldIDs() {
					file.EqualityIds = append(file.EqualityIds, int32(id))
				}
				if content == seracv1.DeleteFile_CONTENT_DELETION_VECTOR {
					file.ContentOffset, file.ContentSizeBytes, file.ReferencedDataFile = *d.ContentOffset(), *d.ContentSizeInBytes(), *d.ReferencedDataFile()
				}
				k := fmt.Sprint(file.Path, file.ContentOffset)
				if _, ok := index[k]; !ok {
					index[k] = int32(len(g.DeleteFiles))
					g.DeleteFiles = append(g.DeleteFiles, file)
				}
				f.Deletes = append(f.Deletes, index[k])
			}
		}
		g.Files = append(g.Files, f)
	}
	return g
}

// sequences are the data sequence numbers of the current snapshot's files.
func sequences(t *testing.T, tbl *table.Table) map[string]int64 {
	t.Helper()
	fs, err := tbl.FS(context.Background())
	require.NoError(t, err)
	manifests, err := tbl.CurrentSnapshot().Manifests(fs)
	require.NoError(t, err)
	out := map[string]int64{}
	for _, m := range manifests {
		for e, err := range m.Entries(fs, true) {
			require.NoError(t, err)
			out[e.DataFile().FilePath()] = e.SequenceNum()
		}
	}
	return out
}

// scanOf is a scan of all columns.
func scanOf(t *testing.T, tbl *table.Table) *plan.IcebergScan {
	t.Helper()
	columns, err := iceberg.Columns(tbl.Schema())
	require.NoError(t, err)
	return &plan.IcebergScan{TableKey: "ns.t", Columns: columns}
}

func (w *world) input(t *testing.T, tbl *table.Table, scan *plan.IcebergScan, g *seracv1.FileGroup) Input {
	return Input{
		Scan: scan, Schema: tbl.Schema(), Schemas: tbl.Metadata().Schemas(), NameMapping: tbl.Metadata().NameMapping(), Group: g,
		Local: func(ctx context.Context, path string) (string, error) {
			f, err := w.store.Local(ctx, object.Storage{}, path)
			if err != nil {
				return "", err
			}
			t.Cleanup(f.Release)
			return f.Path, nil
		},
		Unpartitioned: func(specID int32) bool { return tbl.Metadata().PartitionSpecByID(int(specID)).NumFields() == 0 },
		TempDir:       w.dir + "/spill", Prefix: "leaf1",
	}
}

// rows runs the query of an input.
func (w *world) rows(t *testing.T, in Input) []string {
	t.Helper()
	ctx := context.Background()
	q, err := SQL(ctx, in)
	require.NoError(t, err)
	defer func() { require.NoError(t, q.Close()) }()
	for _, s := range q.Setup {
		require.NoError(t, w.conn.Exec(ctx, s), s)
	}
	// A statement's text around may have common table expressions with the names of the temporary tables.
	rows, err := w.conn.Rows(ctx, "WITH leaf1_positions AS (SELECT 1), leaf1_equality0 AS (SELECT 1) SELECT * FROM ("+q.SQL+")")
	require.NoError(t, err, q.SQL)
	if len(rows) > 0 && in.Scan.Filter == nil && len(in.Group.GetDeleteFiles()) == 0 {
		// Joins are ordered by what DuckDB expects of their inputs.
		plan, err := w.conn.Rows(ctx, "EXPLAIN "+q.SQL)
		require.NoError(t, err)
		require.NotContains(t, plan[0][1], "~0 rows")
	}
	names, types, _, err := w.conn.Describe(ctx, q.SQL)
	require.NoError(t, err)
	for i, c := range in.Scan.Columns {
		require.Equal(t, fmt.Sprintf("c%d", i), names[i])
		require.Equal(t, c.Type.SQL(), types[i])
	}
	for _, s := range q.Teardown {
		require.NoError(t, w.conn.Exec(ctx, s), s)
	}
	return texts(rows)
}

func texts(rows [][]any) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = fmt.Sprintf("%v", row)
	}
	sort.Strings(out)
	return out
}

// expected are the rows as iceberg-go reads them.
func expected(t *testing.T, tbl *table.Table, options ...table.ScanOption) []string {
	t.Helper()
	_, records, err := tbl.Scan(options...).ToArrowRecords(context.Background())
	require.NoError(t, err)
	var rows [][]any
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
			rows = append(rows, row)
		}
		rec.Release()
	}
	return texts(rows)
}

// check compares whole files, and files split at random bytes and read by several tasks, with iceberg-go's reading.
func (w *world) check(t *testing.T, tbl *table.Table) []string {
	t.Helper()
	want := expected(t, tbl)
	g := group(t, tbl)
	scan := scanOf(t, tbl)
	require.Equal(t, want, w.rows(t, w.input(t, tbl, scan, g)), "whole files")
	rng := rand.New(rand.NewSource(1))
	for range 3 {
		parts := make([]*seracv1.FileGroup, 3)
		for i := range parts {
			parts[i] = &seracv1.FileGroup{DeleteFiles: g.DeleteFiles}
		}
		for _, f := range g.Files {
			for start := int64(0); start < f.SizeBytes; {
				length := min(rng.Int63n(f.SizeBytes/2+1)+1, f.SizeBytes-start)
				part := &seracv1.FileScanTask{
					Path: f.Path, SizeBytes: f.SizeBytes, RecordCount: f.RecordCount, SpecId: f.SpecId, Start: start, Length: length,
					SequenceNumber: f.SequenceNumber, FirstRowId: f.FirstRowId, Deletes: f.Deletes, Format: f.Format, Constants: f.Constants,
				}
				p := parts[rng.Intn(len(parts))]
				p.Files = append(p.Files, part)
				start += length
			}
		}
		var got []string
		for _, p := range parts {
			got = append(got, w.rows(t, w.input(t, tbl, scan, p))...)
		}
		sort.Strings(got)
		require.Equal(t, want, got, "split files")
	}
	return want
}

func field(id int, name string, typ ice.Type, required bool) ice.NestedField {
	return ice.NestedField{ID: id, Name: name, Type: typ, Required: required}
}

func numbers(from, to int, format string) string {
	parts := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		parts = append(parts, strings.ReplaceAll(format, "$", fmt.Sprint(i)))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestEveryType(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	schema := ice.NewSchema(0,
		field(1, "b", p.Bool, false), field(2, "i", p.Int32, true), field(3, "l", p.Int64, false), field(4, "f", p.Float32, false),
		field(5, "d", p.Float64, false), field(6, "dec", ice.DecimalTypeOf(9, 2), false), field(7, "big", ice.DecimalTypeOf(38, 10), false),
		field(8, "dt", p.Date, false), field(9, "tm", p.Time, false), field(10, "ts", p.Timestamp, false), field(11, "tz", p.TimestampTz, false),
		field(12, "s", p.String, false), field(13, "u", p.UUID, false), field(14, "fx", ice.FixedTypeOf(3), false), field(15, "bin", p.Binary, false),
		field(16, "li", &ice.ListType{ElementID: 17, Element: p.Int32}, false),
		field(18, "mp", &ice.MapType{KeyID: 19, KeyType: p.String, ValueID: 20, ValueType: p.Float64}, false),
		field(21, "st", &ice.StructType{FieldList: []ice.NestedField{field(22, "x", p.Int32, false), field(23, "y z", p.String, false)}}, false))
	tbl := w.create(t, schema, properties("2"))
	require.Empty(t, w.rows(t, w.input(t, tbl, scanOf(t, tbl), &seracv1.FileGroup{})), "an empty table")
	tbl = appendRows(t, tbl, `[
		{"b":true,"i":1,"l":-5,"f":1.5,"d":-2.25,"dec":"12.34","big":"-1.0000000001","dt":"1969-12-31","tm":"23:59:59.123456","ts":"1969-12-31 23:59:59.5","tz":"2020-02-29T12:00:00Z",
		 "s":"it's","u":"f79c3e09-677c-4bbd-a479-3f349cb785e7","fx":"AAEC","bin":"/w==","li":[1,null],"mp":[{"key":"a","value":1.5}],"st":{"x":1,"y z":"q"}},
		{"i":2},
		{"b":false,"i":3,"li":[],"mp":[],"st":{"x":null,"y z":null},"s":""}]`)
	require.Len(t, w.check(t, tbl), 3)
}

func TestSchemaEvolution(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "a", p.Int32, false), field(2, "b", p.Float32, false), field(3, "c", ice.DecimalTypeOf(5, 2), false),
		field(4, "d", p.String, false)), properties("2"))
	tbl = appendRows(t, tbl, `[{"a":1,"b":1.5,"c":"1.25","d":"x"},{"a":null,"b":null,"c":null,"d":null}]`)
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) {
		u.UpdateColumn([]string{"a"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: p.Int64, Valid: true}})
		u.UpdateColumn([]string{"b"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: p.Float64, Valid: true}})
		u.UpdateColumn([]string{"c"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: ice.DecimalTypeOf(20, 2), Valid: true}})
	})
	tbl = appendRows(t, tbl, `[{"a":5000000000,"b":1e300,"c":"123456789012345678.25","d":"y"}]`)
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) {
		u.RenameColumn([]string{"a"}, "z").AddColumn([]string{"e"}, p.Date, "", false, nil).MoveFirst([]string{"d"})
	})
	w.check(t, tbl) // rule 15: right after ADD COLUMN
	tbl = appendRows(t, tbl, `[{"d":"new","z":7,"b":2,"c":"1.00","e":"2024-01-01"}]`)
	// Drop and add again under the same name: the old values must not come back.
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.DeleteColumn([]string{"d"}) })
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.AddColumn([]string{"d"}, p.String, "", false, nil) })
	want := w.check(t, tbl)
	require.Len(t, want, 4)
	for _, row := range want {
		require.Contains(t, row, "<nil>]")
	}
	// A projection reads the same in any order and any number of columns.
	scan := scanOf(t, tbl)
	scan.Columns = []plan.ScanColumn{scan.Columns[2], scan.Columns[0], scan.Columns[2]}
	require.Equal(t, []string{"[1.00 7 1.00]", "[1.25 1 1.25]", "[123456789012345678.25 5000000000 123456789012345678.25]", "[<nil> <nil> <nil>]"},
		w.rows(t, w.input(t, tbl, scan, group(t, tbl))))
	scan.Columns = nil
	require.Equal(t, []string{"[<nil>]", "[<nil>]", "[<nil>]", "[<nil>]"}, w.rows(t, w.input(t, tbl, scan, group(t, tbl))))
	require.Empty(t, w.rows(t, w.input(t, tbl, scan, nil)))
}

func TestNestedSchemaEvolution(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	inner := func(id int) *ice.StructType {
		return &ice.StructType{FieldList: []ice.NestedField{field(id, "x", p.Int32, false), field(id+1, "y", p.String, false)}}
	}
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", p.Int64, true), field(2, "s", inner(10), false),
		field(3, "l", &ice.ListType{ElementID: 20, Element: inner(21)}, false),
		field(4, "m", &ice.MapType{KeyID: 30, KeyType: p.String, ValueID: 31, ValueType: inner(32)}, false)), properties("2"))
	const rows = `[{"id":$1,"s":{"x":1,"y":"a"},"l":[{"x":2,"y":"b"},null],"m":[{"key":"k","value":{"x":3,"y":"c"}}]},
		{"id":$2,"s":null,"l":null,"m":null},{"id":$3,"s":{"x":null,"y":null},"l":[],"m":[]}]`
	tbl = appendRows(t, tbl, strings.ReplaceAll(rows, "$", "1"))
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) {
		u.AddColumn([]string{"s", "n"}, p.Date, "", false, nil).AddColumn([]string{"l", "element", "n"}, p.Int32, "", false, nil)
		u.UpdateColumn([]string{"s", "x"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: p.Int64, Valid: true}})
	})
	w.check(t, tbl)
	tbl = appendRows(t, tbl, strings.ReplaceAll(rows, "$", "2"))
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) {
		u.RenameColumn([]string{"s", "x"}, "y2").RenameColumn([]string{"l", "element", "y"}, "renamed").RenameColumn([]string{"m", "value", "x"}, "v")
		u.DeleteColumn([]string{"s", "y"})
	})
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.RenameColumn([]string{"s", "y2"}, "y") }) // the name of what was dropped
	want := w.check(t, tbl)
	require.Len(t, want, 6)
	require.Contains(t, want[0], "map[n:<nil> y:1]")
	// Nothing of the old struct is left in the table: its NULLs still are.
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.DeleteColumn([]string{"s", "y"}) })
	rows2 := w.rows(t, w.input(t, tbl, scanOf(t, tbl), group(t, tbl)))
	require.Len(t, rows2, 6)
	require.Equal(t, "[11 map[n:<nil>] [map[n:<nil> renamed:b x:2] <nil>] [{k map[v:3 y:c]}]]", rows2[0])
	require.Equal(t, "[12 <nil> <nil> <nil>]", rows2[1])
}

func TestSplitsOfManyRowGroups(t *testing.T) {
	w := newWorld(t)
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", ice.PrimitiveTypes.Int64, true), field(2, "s", ice.PrimitiveTypes.String, false)),
		properties("2", "write.parquet.row-group-limit", "100"))
	tbl = appendRows(t, tbl, numbers(0, 1050, `{"id":$,"s":"row $"}`))
	tbl = appendRows(t, tbl, numbers(2000, 2003, `{"id":$,"s":"row $"}`))
	require.Len(t, w.check(t, tbl), 1053)
}

func TestPositionDeletes(t *testing.T) {
	w := newWorld(t)
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", ice.PrimitiveTypes.Int64, true), field(2, "s", ice.PrimitiveTypes.String, false)),
		properties("2", "write.delete.mode", "merge-on-read", "write.parquet.row-group-limit", "50"))
	tbl = appendRows(t, tbl, numbers(0, 300, `{"id":$,"s":"row $"}`))
	tbl = appendRows(t, tbl, numbers(300, 310, `{"id":$,"s":"row $"}`))
	tbl = deleteRows(t, tbl, ice.NewOr(ice.LessThan(ice.Reference("id"), int64(7)), ice.EqualTo(ice.Reference("id"), int64(120))))
	tbl = appendRows(t, tbl, numbers(0, 5, `{"id":$,"s":"again $"}`))
	require.NotEmpty(t, group(t, tbl).DeleteFiles)
	require.Len(t, w.check(t, tbl), 307)
	tbl = deleteRows(t, tbl, ice.GreaterThan(ice.Reference("id"), int64(290)))
	require.Len(t, w.check(t, tbl), 288)
}

func TestDeletionVectors(t *testing.T) {
	w := newWorld(t)
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", ice.PrimitiveTypes.Int64, true), field(2, "s", ice.PrimitiveTypes.String, false)),
		properties("3", "write.delete.mode", "merge-on-read", "write.parquet.row-group-limit", "50"))
	tbl = appendRows(t, tbl, numbers(0, 300, `{"id":$,"s":"row $"}`))
	tbl = appendRows(t, tbl, numbers(300, 310, `{"id":$,"s":"row $"}`))
	tbl = deleteRows(t, tbl, ice.NewOr(ice.LessThan(ice.Reference("id"), int64(7)), ice.EqualTo(ice.Reference("id"), int64(305))))
	g := group(t, tbl)
	require.Len(t, g.DeleteFiles, 2)
	require.Equal(t, seracv1.DeleteFile_CONTENT_DELETION_VECTOR, g.DeleteFiles[0].Content)
	require.Len(t, w.check(t, tbl), 302)
	left, err := filepath.Glob(w.dir + "/spill/*")
	require.NoError(t, err)
	require.Empty(t, left)
	// A vector of another file, or damaged, is an error and never "nothing deleted".
	g.DeleteFiles[0].ReferencedDataFile = "elsewhere"
	_, err = SQL(context.Background(), w.input(t, tbl, scanOf(t, tbl), g))
	require.ErrorContains(t, err, "elsewhere")
	g = group(t, tbl)
	g.DeleteFiles[1].ContentOffset++
	_, err = SQL(context.Background(), w.input(t, tbl, scanOf(t, tbl), g))
	require.ErrorContains(t, err, "deletion vector")
}

func TestEqualityDeletes(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", p.Int32, false), field(2, "s", p.String, false), field(3, "v", p.Date, false)),
		properties("2", "write.parquet.row-group-limit", "50"))
	tbl = appendRows(t, tbl, numbers(0, 200, `{"id":$,"s":"row $","v":"2024-01-01"}`))
	tbl = appendRows(t, tbl, `[{"id":null,"s":"null id"},{"id":3,"s":null},{"id":3,"s":"row 3"}]`)
	tbl = deleteEqual(t, tbl, []int{1}, `[{"id":5},{"id":6},{"id":null}]`)
	tbl = appendRows(t, tbl, `[{"id":5,"s":"after the delete"},{"id":null,"s":"also after"}]`)
	tbl = deleteEqual(t, tbl, []int{1, 2}, `[{"id":3,"s":null},{"id":7,"s":"row 7"},{"id":8,"s":"row 7"}]`)
	tbl = deleteEqual(t, tbl, []int{2}, `[{"s":"row 9"}]`)
	tbl = appendRows(t, tbl, `[{"id":9,"s":"row 9"}]`)
	require.Len(t, w.check(t, tbl), 206-3-2-1)
	// A projection without the compared columns, after a promotion, a rename and a drop of them.
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) {
		u.UpdateColumn([]string{"id"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: p.Int64, Valid: true}}).RenameColumn([]string{"id"}, "key")
	})
	w.check(t, tbl)
	scan := scanOf(t, tbl)
	scan.Columns = scan.Columns[2:]
	require.Len(t, w.rows(t, w.input(t, tbl, scan, group(t, tbl))), 200)
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.DeleteColumn([]string{"s"}) })
	require.Len(t, w.rows(t, w.input(t, tbl, scanOf(t, tbl), group(t, tbl))), 200)
}

// A session's collation is of its statements: a text is deleted by the same bytes, and not by the same letters.
func TestEqualityDeletesUnderACollation(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	db, err := duckdb.Open(context.Background(), duckdb.Options{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, w.conn.Close())
	w.conn, err = db.Conn(context.Background())
	require.NoError(t, err)
	require.NoError(t, w.conn.Exec(context.Background(), "SET default_collation = 'nocase'"))
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", p.Int32, false), field(2, "s", p.String, false)), properties("2"))
	tbl = appendRows(t, tbl, `[{"id":1,"s":"a"},{"id":2,"s":"A"},{"id":3,"s":"b"},{"id":4,"s":"B"},{"id":5,"s":"c"},{"id":6}]`)
	tbl = deleteEqual(t, tbl, []int{2}, `[{"s":"A"},{"s":"b"},{"s":"B"},{"s":"C"},{"s":null}]`)
	scan := scanOf(t, tbl)
	scan.Columns = scan.Columns[:1]
	require.ElementsMatch(t, []string{"[1]", "[5]"}, w.rows(t, w.input(t, tbl, scan, group(t, tbl))))
}

// Files that differ in which equality deletes apply to them are read together: their sequence numbers tell.
func TestEqualityDeletesAreToldBySequence(t *testing.T) {
	w := newWorld(t)
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", ice.PrimitiveTypes.Int32, false), field(2, "s", ice.PrimitiveTypes.String, false)), properties("2"))
	for i := range 4 {
		tbl = appendRows(t, tbl, numbers(i*10, i*10+10, `{"id":$,"s":"row $"}`))
		tbl = deleteEqual(t, tbl, []int{1}, fmt.Sprintf(`[{"id":3},{"id":%d}]`, i*10+5))
		tbl = appendRows(t, tbl, `[{"id":3,"s":"again"},{"id":55,"s":"far"}]`)
	}
	tbl = deleteEqual(t, tbl, []int{1}, `[{"id":55}]`) // its bounds rule the files of ten rows out
	// Of each round its 5 is gone, of the first its 3, and of those that came again all but the last.
	require.Len(t, w.check(t, tbl), 4*10-4-1+1)
	g := group(t, tbl)
	lists := map[string]bool{}
	for _, f := range g.GetFiles() {
		lists[fmt.Sprint(f.GetDeletes())] = true
	}
	require.Greater(t, len(lists), 3, "the files' own lists differ")
	in := w.input(t, tbl, scanOf(t, tbl), g)
	query, err := SQL(context.Background(), in)
	require.NoError(t, err)
	require.NoError(t, query.Close())
	require.Equal(t, 1, strings.Count(query.SQL, "read_parquet("))
	in.Unpartitioned, in.Prefix = nil, "other"
	query, err = SQL(context.Background(), in)
	require.NoError(t, err)
	require.NoError(t, query.Close())
	require.Greater(t, strings.Count(query.SQL, "read_parquet("), 1, "of partitioned tables nothing is known")
}

func TestFilterAndMetadataColumns(t *testing.T) {
	w := newWorld(t)
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", ice.PrimitiveTypes.Int64, true), field(2, "s", ice.PrimitiveTypes.String, false)),
		properties("3", "write.delete.mode", "merge-on-read", "write.parquet.row-group-limit", "50"))
	tbl = appendRows(t, tbl, numbers(0, 200, `{"id":$,"s":"row $"}`))
	tbl = appendRows(t, tbl, numbers(200, 210, `{"id":$,"s":"row $"}`))
	tbl = deleteRows(t, tbl, ice.EqualTo(ice.Reference("id"), int64(203)))
	scan := scanOf(t, tbl)
	bigint := plan.T(plan.BigInt)
	scan.Columns = append(scan.Columns, plan.ScanColumn{FieldID: rowIDFieldID, Name: "_row_id", Type: bigint, Nullable: true},
		plan.ScanColumn{FieldID: lastUpdatedFieldID, Name: "_last_updated_sequence_number", Type: bigint, Nullable: true})
	scan.Filter = &plan.Comparison{Op: plan.GreaterOrEqual, Left: &plan.ColumnRef{Index: 0, Of: bigint}, Right: &plan.Constant{Value: int64(198), Of: bigint}}
	want := expected(t, tbl, table.WithSelectedFields("id", "s", "_row_id", "_last_updated_sequence_number"),
		table.WithRowFilter(ice.GreaterThanEqual(ice.Reference("id"), int64(198))))
	require.Len(t, want, 11)
	require.Equal(t, want, w.rows(t, w.input(t, tbl, scan, group(t, tbl))))
	scan = scanOf(t, tbl)
	scan.Columns = []plan.ScanColumn{scan.Columns[0], {FieldID: posFieldID, Type: bigint}, {FieldID: fileFieldID, Type: plan.T(plan.Varchar)}, {FieldID: specFieldID, Type: plan.T(plan.Integer)}}
	scan.Filter = &plan.Comparison{Op: plan.GreaterOrEqual, Left: &plan.ColumnRef{Index: 0, Of: bigint}, Right: &plan.Constant{Value: int64(209), Of: bigint}}
	g := group(t, tbl)
	rows := w.rows(t, w.input(t, tbl, scan, g))
	require.Len(t, rows, 1)
	require.Contains(t, []string{fmt.Sprintf("[209 9 %s 0]", g.Files[0].Path), fmt.Sprintf("[209 9 %s 0]", g.Files[1].Path)}, rows[0])
}

// Files that were written by others, without field ids.
func TestNameMapping(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "a", p.Int64, false), field(2, "B", p.String, false),
		field(3, "s", &ice.StructType{FieldList: []ice.NestedField{field(4, "x", p.Int32, false)}}, false)), properties("2"))
	tbl = appendRows(t, tbl, `[{"a":1,"B":"with ids","s":{"x":1}}]`)
	foreign := w.dir + "/spill/foreign.parquet"
	require.NoError(t, w.conn.Exec(ctx, "COPY (SELECT 2::BIGINT AS a, 'without' AS B, {'x': 5::INTEGER} AS s FROM range(3)) TO '"+foreign+"' (FORMAT parquet)"))
	tx := tbl.NewTransaction()
	require.NoError(t, tx.AddFiles(ctx, []string{foreign}, nil, false))
	tbl, err := tx.Commit(ctx)
	require.NoError(t, err)
	require.Len(t, w.check(t, tbl), 4)
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.RenameColumn([]string{"a"}, "z").RenameColumn([]string{"s", "x"}, "q") })
	want := w.rows(t, w.input(t, tbl, scanOf(t, tbl), group(t, tbl)))
	require.Equal(t, []string{"[1 with ids map[q:1]]", "[2 without map[q:5]]", "[2 without map[q:5]]", "[2 without map[q:5]]"}, want)
}

func TestInitialDefaultsAndConstants(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "a", p.Int64, false)), properties("3"))
	tbl = appendRows(t, tbl, `[{"a":1}]`)
	micros := ice.Timestamp(time.Date(1969, 12, 31, 23, 59, 59, 5000, time.UTC).UnixMicro())
	defaults := map[string]struct {
		typ ice.Type
		lit ice.Literal
	}{
		"i": {p.Int32, ice.NewLiteral(int32(-7))}, "s": {p.String, ice.NewLiteral("it's")}, "d": {p.Date, ice.NewLiteral(ice.Date(-1))},
		"ts": {p.Timestamp, ice.NewLiteral(micros)}, "b": {p.Bool, ice.NewLiteral(true)}, "bin": {p.Binary, ice.NewLiteral([]byte{0, 0xff, 'a'})},
	}
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) {
		for _, name := range []string{"i", "s", "d", "ts", "b", "bin"} {
			u.AddColumn([]string{name}, defaults[name].typ, "", false, defaults[name].lit)
		}
	})
	tbl = appendRows(t, tbl, `[{"a":2}]`)
	require.Equal(t, []string{
		"[1 -7 it's 1969-12-31 00:00:00 +0000 UTC 1969-12-31 23:59:59.000005 +0000 UTC true [0 255 97]]",
		"[2 <nil> <nil> <nil> <nil> <nil> <nil>]",
	}, w.rows(t, w.input(t, tbl, scanOf(t, tbl), group(t, tbl))))
	// A partition value that the file does not hold comes before the default.
	g := group(t, tbl)
	value, err := iceberg.EncodeValue(p.Int32, int32(42))
	require.NoError(t, err)
	for _, f := range g.Files {
		f.Constants = map[int32][]byte{2: value, 3: nil}
	}
	rows := w.rows(t, w.input(t, tbl, scanOf(t, tbl), g))
	require.Contains(t, rows[0], "[1 42  1969")
}

func TestDateText(t *testing.T) {
	w := newWorld(t)
	for _, year := range []int{1, 0, -1, -4, -399, -400, -4712, 9999, 10000, 10004, 12345, 290000} {
		for _, monthDay := range [][2]int{{1, 1}, {2, 28}, {12, 31}} {
			at := time.Date(year, time.Month(monthDay[0]), monthDay[1], 1, 2, 3, 4000, time.UTC)
			text := dateText(at, "2006-01-02 15:04:05.000000", "")
			rows, err := w.conn.Rows(context.Background(), "SELECT epoch_us(CAST('"+text+"' AS TIMESTAMP))")
			require.NoError(t, err, text)
			require.Equal(t, at.UnixMicro(), rows[0][0], text)
		}
	}
}
