package reference

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
)

// Ties at a LIMIT are found also where they are between groups, whose order is not that of the table's rows.
func TestDetermined(t *testing.T) {
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 2, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	r := &DB{tb: t, db: db, conn: conn, names: []string{"t"}}
	r.Exec("CREATE TABLE t AS SELECT i, i // 100 AS k, i % 7 AS m FROM range(20000) r(i)")
	for sql, want := range map[string]bool{
		"SELECT k, count(*) FROM t GROUP BY k ORDER BY 2 LIMIT 10":                                      false,
		"SELECT k, count(*) FROM t GROUP BY k ORDER BY count(*) DESC LIMIT 10 OFFSET 5 ":                false,
		"SELECT * FROM (SELECT k, count(*) AS n FROM t GROUP BY k) ORDER BY n, k LIMIT 10":              true,
		"SELECT m, count(*) FROM t GROUP BY m ORDER BY 2 LIMIT 10":                                      true,
		"SELECT m FROM t ORDER BY m\nLIMIT 10":                                                          true,
		"SELECT m, i FROM t ORDER BY m LIMIT 10":                                                        false,
		"SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY m ORDER BY i) AS r FROM t) LIMIT 1": true,
		"SELECT i FROM t LIMIT 3":                                                                       false,
	} {
		determined, err := r.Determined(ctx, sql)
		require.NoError(t, err, sql)
		require.Equal(t, want, determined, sql)
	}
}
