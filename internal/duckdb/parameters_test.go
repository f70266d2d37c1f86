package duckdb

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

func TestParameterTypes(t *testing.T) {
	_, conn := open(t, Options{Threads: 1})
	require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE t (i INTEGER, d DECIMAL(10,2), s VARCHAR, x DATE)"))
	for sql, want := range map[string][]arrow.DataType{
		"SELECT 1": {},
		"SELECT * FROM t WHERE i = $1 AND s LIKE $2":                                  {arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String},
		"SELECT * FROM t WHERE x > $2 AND d < $1":                                     {&arrow.Decimal128Type{Precision: 10, Scale: 2}, arrow.FixedWidthTypes.Date32},
		"SELECT * FROM t LIMIT ?":                                                     {arrow.PrimitiveTypes.Int64},
		"SELECT $1, i + $2::BIGINT FROM t":                                            {nil, nil}, // with one that is not known, DuckDB binds none
		"SELECT i + CAST($1 AS BIGINT) FROM t":                                        {arrow.PrimitiveTypes.Int64},
		"SELECT NULL::INTEGER, NULL::VARCHAR WHERE false UNION ALL (VALUES ($1, $2))": {nil, nil},
	} {
		got, err := conn.ParameterTypes(t.Context(), sql)
		require.NoError(t, err, sql)
		require.Equal(t, want, got, sql)
	}
	_, err := conn.ParameterTypes(t.Context(), "SELECT nope")
	require.ErrorContains(t, err, "nope")
}
