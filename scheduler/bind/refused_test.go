package bind

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions whose state executors do not share are refused by name, wherever they stand, not run with other answers.
func TestFunctionsWithStateAreRefused(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer func() { require.NoError(t, b.Close()) }()
	for sql, want := range map[string]string{
		"SELECT setseed(0.5), random()":                                          "setseed() is not supported",
		"SELECT id FROM t WHERE id IN (SELECT SETSEED(0.1) IS NULL FROM t)":      "setseed() is not supported",
		"SELECT nextval('s'), id FROM t":                                         "nextval() is not supported: there are no sequences",
		"WITH c AS (SELECT currval('s') AS v) SELECT * FROM c ORDER BY v":        "currval() is not supported: there are no sequences",
		"SELECT count(*) FROM t HAVING count(*) > (SELECT main.nextval('s'))":    "nextval() is not supported",
		"SELECT sum(id) OVER (ORDER BY setseed(0.5)) FROM t QUALIFY id > id - 1": "setseed() is not supported",
	} {
		_, err := b.Bind(context.Background(), r.request(sql))
		require.ErrorContains(t, err, want, sql)
		var fault *Error
		require.ErrorAs(t, err, &fault, sql)
	}
	_, err := b.Bind(context.Background(), r.request("SELECT id AS setseed, 'nextval' FROM t"))
	require.NoError(t, err)
}

// TestBitstringsNeedBounds: DuckDB refuses bitstring_agg(x) over all that is no table of its own only once it runs.
func TestBitstringsNeedBounds(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer func() { require.NoError(t, b.Close()) }()
	for _, sql := range []string{
		"SELECT bitstring_agg(g) FROM t",
		"SELECT BITSTRING_AGG(DISTINCT g) FILTER (g > 2) FROM t GROUP BY k",
		"SELECT g.bitstring_agg() FROM t",
		"SELECT id, bitstring_agg(g) OVER (PARTITION BY k) FROM t",
		"SELECT (SELECT bit_count(bitstring_agg(g)) FROM t)",
		"WITH c AS (SELECT bitstring_agg(g) AS x FROM t) SELECT * FROM c",
		"SELECT k FROM t GROUP BY k HAVING bit_count(bitstring_agg(g)) > 1 ORDER BY 1",
		"SELECT 1 UNION ALL SELECT bit_count(main.bitstring_agg(g)) FROM t",
		"SELECT list_aggregate(l, 'bitstring_agg') FROM t",
		"SELECT list_aggr([1], 'Bitstring_Agg')",
		"SELECT l.list_aggregate('bitstring_agg') FROM t",
		"PIVOT t ON b IN (true) USING bitstring_agg(g) GROUP BY k",
		"FROM query('SELECT bitstring_agg(g) FROM t')",
	} {
		_, err := b.Bind(context.Background(), r.request(sql))
		var fault *Error
		require.ErrorAs(t, err, &fault, sql)
		require.ErrorContains(t, err, "write bitstring_agg(x, low, high)", sql)
	}
	for _, sql := range []string{
		"SELECT bitstring_agg(g, 0, 6) FROM t", "SELECT list_aggregate(l, 'bitstring_agg', 0, 6) FROM t", "SELECT list_aggregate(l, 'sum') FROM t",
	} {
		_, err := b.Bind(context.Background(), r.request(sql))
		require.NoError(t, err, sql)
	}
}
