package duckdb

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// ParameterTypes binds one statement, without running it, and returns the types that its parameters have in it: one entry for
// each of $1 to the highest, nil where the statement does not say.
func (c *Conn) ParameterTypes(ctx context.Context, sql string) ([]arrow.DataType, error) {
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	prepared, err := c.prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer bindings.DestroyPrepare(&prepared)
	types := make([]arrow.DataType, bindings.NParams(prepared))
	for i := range types {
		number := bindings.IdxT(i + 1)
		switch bindings.ParamType(prepared, number) {
		case bindings.TypeInvalid, bindings.TypeSQLNull, bindings.TypeAny:
			continue
		}
		logical := []bindings.LogicalType{bindings.ParamLogicalType(prepared, number)}
		schema, err := c.arrowSchema(logical, []string{strconv.Itoa(i + 1)})
		destroyTypes(logical)
		if err != nil {
			return nil, err
		}
		types[i] = schema.Field(0).Type
	}
	return types, nil
}
