package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// TestTheSameTextAgain: what is kept of a bound query does not outlive what it was bound over.
func TestTheSameTextAgain(t *testing.T) {
	cluster := process.Serve(t, t.TempDir())
	c, other := cluster.Connect(t), cluster.Connect(t)
	c.Query("CREATE SCHEMA one")
	c.Query("CREATE SCHEMA two")
	c.Query("USE one")
	c.Query("CREATE TABLE t AS SELECT 1 AS x, 7 AS y")
	c.Query("CREATE TABLE two.t AS SELECT 'b' AS x, 7 AS y")
	other.Query("USE two")
	const sum = "SELECT sum(y)::VARCHAR FROM t"
	const all = "SELECT * FROM t ORDER BY ALL"
	for range 2 {
		require.Equal(t, "7", c.Value(sum))
		require.Equal(t, "1", c.Query(all).Rows[0][0].String())
		require.Equal(t, "b", other.Query(all).Rows[0][0].String(), "another schema")
	}
	other.Query("INSERT INTO one.t VALUES (2, 3)")
	require.Equal(t, "10", c.Value(sum), "another version")
	other.Query("DROP TABLE one.t")
	_, err := c.Run(t.Context(), sum)
	require.ErrorContains(t, err, "t")
	other.Query("CREATE TABLE one.t AS SELECT 'text' AS z, 1 AS y, 2.5 AS x")
	require.Equal(t, "1", c.Value(sum), "another table")
	row := c.Query(all).Rows[0]
	require.Len(t, row, 3)
	require.Equal(t, "text", row[0].String())

	const division, hour, when = "SELECT (7 / 2)::VARCHAR", "SELECT hour(TIMESTAMPTZ '2024-06-01 12:00:00+00')::VARCHAR", "SELECT now()::VARCHAR"
	require.Equal(t, "3.5", c.Value(division))
	c.Query("SET TimeZone = 'UTC'")
	require.Equal(t, "12", c.Value(hour))
	c.Query("SET TimeZone = 'Asia/Tokyo'")
	require.Equal(t, "21", c.Value(hour), "another setting")
	first := c.Value(when)
	time.Sleep(2 * time.Millisecond)
	require.NotEqual(t, first, c.Value(when))
}

// What was bound for one executor, without a plan, serves as long as there is one, and is bound again when the statement may be
// distributed.
func TestTheSameTextForMoreExecutors(t *testing.T) {
	cluster := process.Distributed(t, t.TempDir(), 1, "SERAC_EXECUTOR__SLOTS=1")
	c := cluster.Connect(t)
	c.Query("CREATE SCHEMA s")
	c.Query("USE s")
	c.Query("CREATE TABLE t AS SELECT i AS id, i % 10 AS g FROM range(1000) r(i)")
	const sum = "SELECT sum(g)::VARCHAR FROM t WHERE id >= 500"
	for range 2 {
		require.Equal(t, "2250", c.Value(sum))
	}
	cluster.AddExecutor()
	require.Equal(t, "2250", c.Value(sum))
	c.Query("SET distribution_threshold = 0")
	require.Equal(t, "2250", c.Value(sum))
}
