package write

import (
	"context"
	"errors"

	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Table is what a writer needs to know of the table.
type Table struct {
	Schema        *ice.Schema
	Spec          *ice.PartitionSpec
	Location      string
	FormatVersion int
	Properties    map[string]string
}

// Writer writes one task attempt's rows.
type Writer struct{}

// New prepares a writer. An error names the column or property that cannot be written.
func New(w *plan.IcebergWrite, t Table) (*Writer, error) { return nil, errors.New("not built yet") }

// Settings are DuckDB settings (name to value) that the COPY needs and that must be set on its connection before.
func (w *Writer) Settings() map[string]string { return nil }

// CopySQL is the COPY of a SELECT (columns c0.. in the order of the node's Columns) into dir, an existing local directory
// that belongs to the attempt alone. A partition's rows go to one file. Its result rows go to Collect.
func (w *Writer) CopySQL(selectSQL, dir string) (string, error) { return "", errors.New("not built yet") }

// Collect makes data files of the rows that the COPY returned. Paths are local still.
func (w *Writer) Collect(rows [][]any) ([]*seracv1.DataFile, error) {
	return nil, errors.New("not built yet")
}

// Move moves the files to their final names under the table's data location and returns them with those names. When it
// fails it deletes what it had moved.
func (w *Writer) Move(ctx context.Context, io icebergio.IO, files []*seracv1.DataFile) ([]*seracv1.DataFile, error) {
	return nil, errors.New("not built yet")
}

// Delete removes moved files: those of an attempt that failed after Move, or that was superseded.
func Delete(ctx context.Context, io icebergio.IO, paths []string) error { return errors.New("not built yet") }

// PartitionExprs are the partition values of a write's rows, as expressions over its input columns, to exchange rows by
// (rule 19). void fields have none. They call iceberg_bucket and kin, which Functions has.
func PartitionExprs(columns []plan.ScanColumn, fields []plan.PartitionField, schema *ice.Schema) ([]plan.Expr, error) {
	return nil, errors.New("not built yet")
}

// Functions are the scalar functions that partition expressions call. Every executor database registers them.
func Functions() []duckdb.ScalarFunction { return nil }
