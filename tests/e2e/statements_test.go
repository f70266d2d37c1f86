package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// TestStatements walks through every kind of statement.
func TestStatements(t *testing.T) {
	cluster := process.Serve(t, t.TempDir())
	c := cluster.Connect(t)
	rows := func(sql string) string {
		var lines []string
		for _, row := range c.Query(sql).Rows {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = cell.String()
			}
			lines = append(lines, strings.Join(cells, "|"))
		}
		return strings.Join(lines, "\n")
	}
	fails := func(sql, says string) {
		t.Helper()
		_, err := c.Run(context.Background(), sql)
		require.ErrorContains(t, err, says, sql)
	}
	require.Equal(t, "serac", rows("SHOW CATALOGS"))
	require.Equal(t, "0", rows("CREATE SCHEMA a"))
	fails("CREATE SCHEMA a", "already exists")
	rows("CREATE SCHEMA IF NOT EXISTS a")
	rows("CREATE SCHEMA serac.b")
	require.Equal(t, "a\nb\ndefault", rows("SHOW SCHEMAS"))
	rows("CREATE TABLE a.t (id BIGINT NOT NULL, Name STRING COMMENT 'who', placed TIMESTAMPTZ) PARTITIONED BY (day(placed), bucket(8, id))")
	fails("CREATE TABLE a.t (x INT)", "already exists")
	rows("CREATE TABLE IF NOT EXISTS a.t (x INT)")
	require.Equal(t, "id|BIGINT|NO|bucket[8]|NULL\nName|VARCHAR|YES|NULL|who\nplaced|TIMESTAMP WITH TIME ZONE|YES|day|NULL", rows("DESCRIBE a.t"))
	require.Equal(t, "t", rows("SHOW TABLES FROM a"))
	require.Equal(t, "", rows("SHOW TABLES FROM a LIKE 'x%'"))
	fails("SELECT * FROM t", "t does not exist")
	rows("USE a")
	require.Equal(t, "2", rows("INSERT INTO t (name, id) VALUES ('x', 1), ('y', 2)"))
	require.Equal(t, "1", rows("INSERT INTO t BY NAME SELECT 3 AS id, TIMESTAMPTZ '2024-02-03 04:05:06+00' AS placed"))
	require.Equal(t, "1|x\n2|y\n3|NULL", rows("SELECT ID, NAME FROM serac.A.T ORDER BY t.id"))
	require.Equal(t, "2024-02-03", rows("SELECT CAST(timezone('UTC', placed) AS DATE) FROM t WHERE placed IS NOT NULL"))
	require.Equal(t, "2", rows("SELECT count(*) FROM a.t WHERE a.t.id > 1"))
	require.Equal(t, "3", rows("CREATE TABLE b.copy PARTITIONED BY (bucket(2, id)) AS SELECT id, name, id * 2 AS twice FROM t"))
	require.Equal(t, "12", rows("SELECT sum(twice)::BIGINT FROM b.copy"))
	require.Equal(t, "0", rows("CREATE TABLE b.empty AS SELECT * FROM t WITH NO DATA"))
	require.Equal(t, "0", rows("SELECT count(*) FROM b.empty"))
	for _, threshold := range []string{"128MB", "0B"} {
		rows("SET distribution_threshold = '" + threshold + "'")
		require.Equal(t, "he|ello|el|eh|o", rows("SELECT s[:2], s[2:], s[2:3], list_aggregate(string_split(s, '')[:2:1], 'string_agg', '').reverse(), s[-1:] FROM (SELECT 'hello' AS s FROM t LIMIT 1)"))
	}
	rows("RESET distribution_threshold")
	fails("INSERT INTO t (nope) VALUES (1)", "no column")
	fails("INSERT INTO t VALUES (1)", "3 columns")
	fails("SELECT 1; SELECT 2", "several statements")
	fails("SELEC 1", "")
	fails("SELECT * FROM x.y.z.w", "")
	fails("SELECT nope FROM t", "nope")
	fails("SELECT * FROM other.a.t", "other")
	fails("UPDATE t SET id = 1", "UPDATE")
	fails("SELECT * FROM read_csv('/etc/passwd')", "")
	fails("SELECT * FROM '/etc/passwd'", "")
	fails("SELECT * FROM read_text('/etc/passwd')", "")
	fails("COPY t TO '/tmp/x'", "COPY")
	fails("ATTACH '/tmp/x.db'", "ATTACH")
	fails("SET nope = 1", "unknown setting")
	fails("SET shuffle_partitions = 'many'", "shuffle_partitions")
	fails("SET enable_external_access = true", "unknown setting")
	rows("SET TimeZone = 'America/New_York'")
	require.Equal(t, "2024-02-02 23:05:06", rows("SELECT CAST(placed AS VARCHAR)[:19] FROM t WHERE placed IS NOT NULL"))
	rows("SET distribution_threshold = '0B'")
	require.Equal(t, "2024-02-02 23:05:06", rows("SELECT CAST(placed AS VARCHAR)[:19] FROM t WHERE placed IS NOT NULL"))
	rows("RESET TimeZone")
	explained := rows("EXPLAIN SELECT name, count(*) FROM t GROUP BY name")
	require.Contains(t, explained, "Stage 0")
	require.Contains(t, explained, "IcebergScan")
	analyzed := rows("EXPLAIN ANALYZE SELECT name, count(*) FROM t GROUP BY name")
	require.Contains(t, analyzed, "rows out")
	rows("RESET distribution_threshold")
	require.Contains(t, rows("EXPLAIN SELECT 1"), "Runs whole in one task: ")
	rows("SET max_result_rows = 2")
	fails("SELECT * FROM t", "max_result_rows")
	rows("RESET max_result_rows")
	rows("SET timeout_secs = 1")
	fails("SELECT count(*) FROM range(100000000) a, range(1000) b WHERE hash(a.range, b.range) % 3 = 0", "timeout")
	rows("RESET timeout_secs")
	fails("DROP SCHEMA b", "not empty")
	rows("DROP TABLE b.copy")
	rows("DROP TABLE IF EXISTS b.copy")
	fails("DROP TABLE b.copy", "does not exist")
	rows("DROP SCHEMA b CASCADE")
	require.Equal(t, "a\ndefault", rows("SHOW SCHEMAS"))
	cluster.Stop()
}

// TestTheCommandLineClient runs `serac sql` as a script would.
func TestTheCommandLineClient(t *testing.T) {
	cluster := process.Serve(t, t.TempDir())
	url := "grpc://" + cluster.Address
	out, errOut, status := process.Run(t, "sql", "--url", url, "--format", "csv", "-c", "SELECT 42 AS answer, NULL AS nothing")
	require.Equal(t, 0, status, errOut)
	require.Equal(t, "answer,nothing\n42,\n", out)
	_, errOut, status = process.Run(t, "sql", "--url", url, "-c", "SELECT * FROM missing")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "missing does not exist")
	_, errOut, status = process.Run(t, "sql", "--url", "grpc://127.0.0.1:1", "-c", "SELECT 1")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "127.0.0.1:1")
	cluster.Stop()
}
