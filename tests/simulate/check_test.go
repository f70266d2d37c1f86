package simulate

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ties at a LIMIT are found also where they are between groups, and below the top.
func TestTiesAreUnspecified(t *testing.T) {
	s := New(t)
	require.NoError(t, s.Conn.Exec(context.Background(), "CREATE TABLE t AS SELECT i, i // 100 AS k, i % 7 AS m FROM range(20000) r(i)"))
	require.NoError(t, s.Describe())
	for sql, want := range map[string]bool{
		"SELECT k, count(*) FROM t GROUP BY k ORDER BY 2 LIMIT 10":                                           true,
		"SELECT sum(k) FROM (SELECT k, count(*) FROM t GROUP BY k ORDER BY count(*) DESC LIMIT 10 OFFSET 5)": true,
		"SELECT k, count(*) FROM t GROUP BY k ORDER BY 2, 1 LIMIT 10":                                        false,
		"SELECT m, count(*) FROM t GROUP BY m ORDER BY 2 LIMIT 10":                                           false,
		"SELECT m FROM t ORDER BY m LIMIT 10":                                                                false,
		"SELECT i FROM t LIMIT 3":                                                                            true,
	} {
		bound, err := s.Bind(sql)
		require.NoError(t, err, sql)
		got, err := s.unspecified(bound.Plan)
		require.NoError(t, err, sql)
		require.Equal(t, want, got, sql)
	}
}
