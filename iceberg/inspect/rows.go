package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/plan"
)

// Input says what to write.
type Input struct {
	// Table is the table, at the version of its metadata that the statement is pinned to.
	Table *table.Table
	// Kind is the metadata table.
	Kind string
	// SnapshotID is the snapshot whose files are shown, for the kinds of one snapshot; 0: the table has none.
	SnapshotID int64
	// Columns are the columns wanted, of those that Columns gives.
	Columns []plan.ScanColumn
}

// pinned is metadata whose current snapshot is one that a statement has picked; nil: none.
type pinned struct {
	table.Metadata
	snapshot *table.Snapshot
}

func (p pinned) CurrentSnapshot() *table.Snapshot { return p.snapshot }

// table is the table as the statement sees it.
func (in Input) table(k kind) (*table.Table, error) {
	t := in.Table
	if !k.ofSnapshot {
		return t, nil
	}
	m := pinned{Metadata: t.Metadata()}
	if in.SnapshotID != 0 {
		if m.snapshot = t.SnapshotByID(in.SnapshotID); m.snapshot == nil {
			return nil, fmt.Errorf("the table has no snapshot %d", in.SnapshotID)
		}
	}
	return table.New(t.Identifier(), m, t.MetadataLocation(), t.FS, nil), nil
}

// WriteParquet writes the wanted columns of a metadata table to a new Parquet file at path, and gives the number of rows.
// It reads no more than it must: the metadata alone, or manifest lists and manifests; of these it holds a few at a time.
func WriteParquet(ctx context.Context, in Input, path string) (rows int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("metadata table %s: %w", in.Kind, err)
		}
	}()
	k, err := find(in.Kind)
	if err != nil {
		return 0, err
	}
	t, err := in.table(k)
	if err != nil {
		return 0, err
	}
	w, err := newFile(in.Columns, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if r, ok := k.maker.(ready); ok {
		err = w.copy(ctx, t, r)
	} else {
		wanted := make([]string, len(in.Columns))
		for i, c := range in.Columns {
			wanted[i] = c.Name
		}
		err = k.rows(ctx, t, wanted, w.add)
	}
	if err == nil {
		err = w.flush()
	}
	return w.rows, err
}

// rowGroup is the number of rows that are gathered before they are written.
const rowGroup = 2048

// file is a Parquet file that is being written.
type file struct {
	columns []plan.ScanColumn
	schema  *arrow.Schema
	builder *array.RecordBuilder
	pending int
	rows    int64
	out     *os.File
	parquet *pqarrow.FileWriter // nil until the first rows come
}

func newFile(columns []plan.ScanColumn, path string) (*file, error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: columnName(i), Type: carrier(c.Type), Nullable: true}
	}
	w := &file{columns: columns, schema: arrow.NewSchema(fields, nil), out: out}
	w.builder = array.NewRecordBuilder(memory.DefaultAllocator, w.schema)
	return w, nil
}

func (w *file) close() error {
	w.builder.Release()
	if w.parquet == nil {
		return w.out.Close()
	}
	return w.parquet.Close() // and what it writes to
}

func (w *file) add(row []any) error {
	for i, c := range w.columns {
		if err := add(w.builder.Field(i), c.Type, row[i]); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	if w.pending++; w.pending < rowGroup {
		return nil
	}
	return w.flush()
}

// flush writes the gathered rows; the file has its schema then even if there are none.
func (w *file) flush() error {
	if w.pending == 0 && w.parquet != nil {
		return nil
	}
	batch := w.builder.NewRecordBatch()
	defer batch.Release()
	w.pending = 0
	return w.write(batch)
}

func (w *file) write(batch arrow.RecordBatch) (err error) {
	if w.parquet == nil {
		if w.parquet, err = pqarrow.NewFileWriter(batch.Schema(), w.out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps()); err != nil {
			return err
		}
	}
	w.rows += batch.NumRows()
	return w.parquet.Write(batch)
}

// copy writes the wanted columns of rows that iceberg-go has made.
func (w *file) copy(ctx context.Context, t *table.Table, r ready) error {
	reader, err := r.read(t.Inspect(), ctx)
	if err != nil {
		return err
	}
	defer reader.Release()
	positions, fields := make([]int, len(w.columns)), make([]arrow.Field, len(w.columns))
	for i, c := range w.columns {
		found := reader.Schema().FieldIndices(c.Name)
		if len(found) != 1 {
			return fmt.Errorf("there is no column %s", c.Name)
		}
		positions[i], fields[i] = found[0], arrow.Field{Name: columnName(i), Type: reader.Schema().Field(found[0]).Type, Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	for reader.Next() {
		columns := make([]arrow.Array, len(positions))
		for i, p := range positions {
			columns[i] = reader.RecordBatch().Column(p)
		}
		batch := array.NewRecordBatch(schema, columns, reader.RecordBatch().NumRows())
		err := w.write(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return reader.Err()
}

func (r ready) rows(context.Context, *table.Table, []string, func([]any) error) error {
	return errors.New("these rows are copied")
}

func columnName(i int) string { return fmt.Sprintf("c%d", i) }

// SQL is the SELECT that reads what WriteParquet wrote, with columns c0, c1 ... of the planned types.
func SQL(columns []plan.ScanColumn, path string) string {
	exprs := make([]string, len(columns))
	for i, c := range columns {
		exprs[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", columnName(i), c.Type.SQL(), columnName(i))
	}
	return "SELECT " + strings.Join(exprs, ", ") + " FROM read_parquet(" + plan.QuoteString(path) + ", hive_partitioning = false)"
}
