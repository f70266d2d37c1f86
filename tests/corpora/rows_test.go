package corpora_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/tests/corpora"
)

// A comparison of two empty answers shows little: nearly all of TPC-DS's 99 queries return rows over the made-up data.
func TestTPCDSReturnsRows(t *testing.T) {
	ctx := context.Background()
	c := corpora.TPCDS(t)
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 2, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, c.Fill(conn.Exec))
	empty := map[string]bool{}
	for _, q := range c.Queries {
		rows, err := conn.Rows(ctx, fmt.Sprintf("SELECT count(*) FROM (%s)", q.SQL))
		require.NoError(t, err, q.Label)
		if rows[0][0].(int64) == 0 {
			query, _, _ := strings.Cut(q.Label, "#")
			empty[query] = true
		}
	}
	t.Logf("without rows: %v", empty)
	require.GreaterOrEqual(t, 99-len(empty), 90, "without rows: %v", empty)
}
