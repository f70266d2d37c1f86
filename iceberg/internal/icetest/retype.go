package icetest

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
)

// retype gives a batch the types and field ids of a schema. Types that differ are cast by arrow-go.
func retype(batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	defer batch.Release()
	if int(batch.NumCols()) != schema.NumFields() {
		return nil, fmt.Errorf("the query has %d columns, the table %d", batch.NumCols(), schema.NumFields())
	}
	columns := make([]arrow.Array, batch.NumCols())
	for i, f := range schema.Fields() {
		column := batch.Column(i)
		switch {
		case arrow.TypeEqual(column.DataType(), f.Type):
			column.Retain()
		case f.Type.ID() == arrow.EXTENSION:
			// The extension's storage with the extension's type over it (UUID).
			data := column.Data()
			if ext, ok := column.(array.ExtensionArray); ok {
				data = ext.Storage().Data()
			}
			storage := f.Type.(arrow.ExtensionType).StorageType()
			if !arrow.TypeEqual(storage, data.DataType()) {
				return nil, fmt.Errorf("column %s: %s is not the storage of %s", f.Name, data.DataType(), f.Type)
			}
			column = array.MakeFromData(array.NewData(f.Type, data.Len(), data.Buffers(), data.Children(), data.NullN(), data.Offset()))
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
