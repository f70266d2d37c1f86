package icetest

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// retype copies a batch, with the types and field ids of a schema. Types that differ are cast by arrow-go.
func retype(batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	defer batch.Release()
	if int(batch.NumCols()) != schema.NumFields() {
		return nil, fmt.Errorf("the query has %d columns, the table %d", batch.NumCols(), schema.NumFields())
	}
	columns := make([]arrow.Array, batch.NumCols())
	for i, f := range schema.Fields() {
		// A copy in Go's memory: iceberg-go keeps partition values that point into a batch beyond its release, and DuckDB's
		// memory is gone then.
		column, err := array.Concatenate([]arrow.Array{batch.Column(i)}, memory.DefaultAllocator)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		defer column.Release()
		switch {
		case arrow.TypeEqual(column.DataType(), f.Type):
			column.Retain()
		case f.Type.ID() == arrow.EXTENSION:
			// DuckDB exports UUIDs as text.
			uuids := array.NewBuilder(memory.DefaultAllocator, f.Type)
			defer uuids.Release()
			for row := range column.Len() {
				if column.IsNull(row) {
					uuids.AppendNull()
				} else if err := uuids.AppendValueFromString(column.ValueStr(row)); err != nil {
					return nil, fmt.Errorf("column %s: %w", f.Name, err)
				}
			}
			column = uuids.NewArray()
		default:
			cast, err := compute.CastArray(context.Background(), column, compute.SafeCastOptions(f.Type))
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", f.Name, err)
			}
			column = cast
		}
		defer column.Release()
		columns[i] = column
	}
	return array.NewRecordBatch(schema, columns, batch.NumRows()), nil
}
