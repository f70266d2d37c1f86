package duckdb

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// arrowSchema is the schema that results of these columns have on this connection.
func (c *Conn) arrowSchema(types []bindings.LogicalType, names []string) (*arrow.Schema, error) {
	var options bindings.ArrowOptions
	bindings.ConnectionGetArrowOptions(c.handle, &options)
	defer bindings.DestroyArrowOptions(&options)
	return newArrowSchema(options, types, names)
}

func newArrowSchema(options bindings.ArrowOptions, types []bindings.LogicalType, names []string) (*arrow.Schema, error) {
	schema, failure := bindings.NewArrowSchema(options, types, names)
	if err := fromErrorData(context.Background(), failure); err != nil {
		return nil, fmt.Errorf("duckdb: make an Arrow schema: %w", err)
	}
	return schema, nil
}

// fromErrorData is the error that the API handed back, or nil; it frees the data.
func fromErrorData(ctx context.Context, data bindings.ErrorData) error {
	defer bindings.DestroyErrorData(&data)
	if data.Ptr == nil || !bindings.ErrorDataHasError(data) {
		return nil
	}
	return newError(ctx, bindings.ErrorDataErrorType(data), bindings.ErrorDataMessage(data))
}

func destroyTypes(types []bindings.LogicalType) {
	for i := range types {
		bindings.DestroyLogicalType(&types[i])
	}
}
