// Package icetest is what the tests of the rooms around Iceberg share: catalogs in temporary folders, and data files
// written by iceberg-go from rows that DuckDB makes, so that files, bounds and partition values come from elsewhere than
// the code under test.
package icetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/internal/duckdb"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// SQLite opens a catalog named c with the schema ns in a temporary folder.
func SQLite(t testing.TB) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	c := OpenSQLite(t, dir)
	require.NoError(t, c.CreateNamespace(context.Background(), "ns", false))
	return c
}

// OpenSQLite opens the catalog of a folder, again if it is open already.
func OpenSQLite(t testing.TB, dir string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(context.Background(), catalog.Config{
		Name: "c", Type: catalog.TypeSQLite, URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// DuckDB opens a connection to a database in memory.
func DuckDB(t testing.TB) *duckdb.Conn {
	t.Helper()
	db, err := duckdb.Open(context.Background(), duckdb.Options{Threads: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// Write writes the rows of a query as data files of a table, uncommitted. The query's columns are the table's in order.
func Write(t testing.TB, conn *duckdb.Conn, tbl *catalog.Table, query string) []*seracv1.DataFile {
	t.Helper()
	files, err := write(conn, tbl, query)
	require.NoError(t, err)
	return files
}

func write(conn *duckdb.Conn, tbl *catalog.Table, query string) ([]*seracv1.DataFile, error) {
	ctx := context.Background()
	stream, err := conn.Stream(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer stream.Close()
	schema, err := table.SchemaToArrowSchema(tbl.Schema(), nil, true, false)
	if err != nil {
		return nil, err
	}
	batches := func(yield func(arrow.RecordBatch, error) bool) {
		for {
			batch, err := stream.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				batch, err = retype(batch, schema)
			}
			if !yield(batch, err) || err != nil {
				return
			}
		}
	}
	var out []*seracv1.DataFile
	for f, err := range table.WriteRecords(ctx, tbl.Iceberg(), schema, batches) {
		if err != nil {
			return nil, err
		}
		m, err := Message(tbl, f)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Message is a data file of iceberg-go as executors report theirs.
func Message(tbl *catalog.Table, f ice.DataFile) (*seracv1.DataFile, error) {
	m := &seracv1.DataFile{
		Path: f.FilePath(), SizeBytes: f.FileSizeBytes(), RecordCount: f.Count(), SpecId: f.SpecID(),
		ColumnSizes: byField(f.ColumnSizes()), ValueCounts: byField(f.ValueCounts()), NullValueCounts: byField(f.NullValueCounts()),
		NanValueCounts: byField(f.NaNValueCounts()), LowerBounds: byField(f.LowerBoundValues()), UpperBounds: byField(f.UpperBoundValues()),
		SplitOffsets: f.SplitOffsets(), Partition: map[int32][]byte{},
		SchemaId: int32(tbl.Schema().ID), FormatVersion: int32(tbl.FormatVersion()),
	}
	spec := tbl.Iceberg().Metadata().PartitionSpecByID(int(f.SpecID()))
	for _, field := range spec.Fields() {
		value := f.Partition()[field.FieldID]
		if value == nil {
			continue
		}
		if lit, ok := value.(ice.Literal); ok {
			value = lit.Any()
		}
		source, _ := tbl.Schema().FindFieldByID(field.SourceID())
		b, err := iceberg.EncodeValue(field.Transform.ResultType(source.Type), value)
		if err != nil {
			return nil, fmt.Errorf("partition field %s: %w", field.Name, err)
		}
		m.Partition[int32(field.FieldID)] = b
	}
	return m, nil
}

func byField[V any](stats map[int]V) map[int32]V {
	out := make(map[int32]V, len(stats))
	for id, v := range stats {
		out[int32(id)] = v
	}
	return out
}
