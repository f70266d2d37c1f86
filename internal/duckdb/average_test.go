package duckdb

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The average finished from a sum and a count is DuckDB's avg, bit for bit.
func TestAverageIsDuckDBs(t *testing.T) {
	_, conn := open(t, Options{Threads: 2})
	ctx := context.Background()
	for _, c := range []struct {
		typ, value, sum string
		scale           int
		plain           bool
	}{
		{"SMALLINT", "hash(i)::HUGEINT % 65535 - 32767", "sum(x)", 0, true},
		{"INTEGER", "hash(i)::HUGEINT % 4294967295 - 2147483647", "sum(x)", 0, false},
		{"BIGINT", "(hash(i)::HUGEINT % 9223372036854775807)::BIGINT - 4611686018427387904", "sum(x)", 0, false},
		{"HUGEINT", "(hash(i)::HUGEINT - 9223372036854775807) * (hash(i + 7)::HUGEINT % 1000000000)", "sum(x)", 0, false},
		{"DECIMAL(4,2)", "(hash(i)::HUGEINT % 19999)::INTEGER / 100 - 99.99", "sum(x)", 2, true},
		{"DECIMAL(9,3)", "(hash(i)::HUGEINT % 1999999999)::BIGINT / 1000 - 999999", "sum(x)", 3, false},
		{"DECIMAL(15,2)", "(hash(i)::HUGEINT % 1000000)::BIGINT / 100", "sum(x)", 2, false},
		{"DECIMAL(18,9)", "(hash(i)::HUGEINT % 999999999999999999)::BIGINT / 1000000000", "sum(x)", 9, false},
		{"DECIMAL(38,10)", "(hash(i)::HUGEINT % 999999999999999999)::BIGINT::DECIMAL(38,10) * 12345", "sum(x)", 10, false},
	} {
		rows, err := conn.Rows(ctx, fmt.Sprintf(`SELECT count(*), count(*) FILTER (a <> b OR b IS NULL), min(struct_pack(g, a, b, s, n)::VARCHAR) FILTER (a <> b OR b IS NULL) FROM (
			SELECT i %% 7919 AS g, avg(x) AS a, %[3]s AS s, count(x) AS n, %[6]s(s, n, %[4]d, %[5]t) AS b
			FROM (SELECT i, CAST(%[2]s AS %[1]s) AS x FROM range(100000) t(i)) GROUP BY g)`, c.typ, c.value, c.sum, c.scale, c.plain, AverageFunction))
		require.NoError(t, err, c.typ)
		require.Greater(t, rows[0][0], int64(5000))
		require.Zero(t, rows[0][1], "%s: %v", c.typ, rows[0][2])
	}
	rows, err := conn.Rows(ctx, "SELECT serac_average(NULL::HUGEINT, 0, 2, false), serac_average(0::HUGEINT, 0, 2, false), serac_average(0::HUGEINT, 3, 2, false)")
	require.NoError(t, err)
	require.Equal(t, [][]any{{nil, nil, 0.0}}, rows)
}
