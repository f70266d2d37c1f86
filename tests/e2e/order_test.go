package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// TestOrderedResults sorts more than one task should on two executors: the rows come in order, each once.
func TestOrderedResults(t *testing.T) {
	cluster := process.Distributed(t, t.TempDir(), 2)
	c := cluster.Connect(t)
	fillNumbers(c)
	c.Query("SET distribution_threshold = '0B'")
	c.Query("SET target_task_size = '1KB'")
	c.Query("SET shuffle_partitions = 7")
	for _, adaptive := range []string{"true", "false"} {
		for _, rule := range []string{"adaptive_coalesce", "adaptive_broadcast", "adaptive_empty", "adaptive_skew", "join_filters"} {
			c.Query("SET " + rule + " = " + adaptive)
		}
		ordered := func(sql string, want func(i int) string, count int) {
			t.Helper()
			rows := c.Query(sql).Rows
			require.Len(t, rows, count, sql)
			for i, row := range rows {
				require.Equal(t, want(i), row[0].String(), sql)
			}
		}
		ordered("SELECT i FROM a ORDER BY i DESC", func(i int) string { return fmt.Sprint(999 - i) }, 1000)
		ordered("SELECT i FROM a ORDER BY i % 2, i", func(i int) string { return fmt.Sprint(i%500*2 + i/500) }, 1000)
		ordered("SELECT i FROM a ORDER BY i LIMIT 700 OFFSET 250", func(i int) string { return fmt.Sprint(i + 250) }, 700)
		ordered("SELECT i + 1 FROM a WHERE i < 0 ORDER BY i", nil, 0)
		explained := ""
		for _, row := range c.Query("EXPLAIN SELECT i, s FROM a ORDER BY s").Rows {
			explained += row[len(row)-1].String() + "\n"
		}
		if adaptive == "false" {
			require.Contains(t, explained, "shuffle into 7 ranges")
		}
	}
}
