package read

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Input is a scan with what it reads.
type Input struct {
	Scan *plan.IcebergScan
	// Schema is the table's schema at the scan's snapshot. Schemas are all schemas of the table, where the types of
	// dropped columns are looked up that equality deletes still compare; nil is fine without such deletes.
	Schema  *ice.Schema
	Schemas []*ice.Schema
	// NameMapping gives field ids to files that have none (table property schema.name-mapping.default); nil when the
	// table has no mapping.
	NameMapping ice.NameMapping
	// Distinct says that the statement may compare nested columns by IS [NOT] DISTINCT FROM. Pushed into a scan that has NULLs and
	// another filter, DuckDB 1.5 gives wrong rows, or the error "Out of buffer".
	Distinct bool
	// Group is what the scan reads; nil or empty reads nothing (rule 10).
	Group *seracv1.FileGroup
	// Unpartitioned says that a partition spec has no fields. An equality delete of such a spec applies to all older data files
	// of the table. nil says so of none.
	Unpartitioned func(specID int32) bool
	// Local makes a data or delete file of the group a local file that DuckDB may read, and that stays until the query
	// has ended.
	Local func(ctx context.Context, path string) (string, error)
	// Sparse, if not nil, makes the needed part of a remote data file a local file, as object.Store.Sparse does; where it
	// answers false, Local is asked. It needs Footer.
	Sparse func(ctx context.Context, path string, need object.Need) (local string, ok bool, err error)
	// Footer reads a data file's Parquet footer; it is asked for splits, for name-mapped files and for nested columns whose
	// names changed. nil reads it from the local file.
	Footer func(ctx context.Context, path string) (*metadata.FileMetaData, error)
	// TempDir is a directory that DuckDB may read, for the positions of deletion vectors. It must be there.
	TempDir string
	// Prefix begins the names of temporary tables and files, such as "task7_leaf3"; unique on the connection and in
	// TempDir. Letters, digits and underscores.
	Prefix string
}

// Query reads a group. Run Setup on a connection, then any statement around SQL on that connection, then Close and Teardown.
type Query struct {
	// Setup are statements that make the temporary tables SQL uses; usually none.
	Setup []string
	// SQL is one SELECT whose columns are named c0..cN-1 and have exactly the scan's types. A scan of no columns has
	// one column named none.
	SQL string
	// Teardown are statements that drop what Setup made, for connections that are used again.
	Teardown []string

	files []string // temporary
}

// Close removes the query's temporary files.
func (q *Query) Close() error {
	var failures []error
	for _, file := range q.files {
		failures = append(failures, os.Remove(file))
	}
	q.files = nil
	return errors.Join(failures...)
}

// SQL makes the query of a scan over its group. Errors of Local and Footer come back as they are, wrapped; all others name
// what cannot be read.
func SQL(ctx context.Context, in Input) (*Query, error) {
	r, err := newReader(in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", in.Scan.TableKey, err)
	}
	if err := r.build(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", in.Scan.TableKey, err), r.query.Close())
	}
	return r.query, nil
}
