package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// TestMemoryIsBounded runs what does not fit into 300 MB on executors of that size: statements spill or fail with a clear
// error, processes live, and their memory stays near the limit. A client that reads slowly fills nobody's memory.
func TestMemoryIsBounded(t *testing.T) {
	if os.Getenv("SERAC_TEST_ALL") == "" {
		t.Skip("takes minutes: make test-all")
	}
	const (
		rows = 4000000
		// DuckDB goes beyond its limit by about half, Go and the code come on top.
		executorMiB  = 700
		schedulerMiB = 400
	)
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2, "SERAC_EXECUTOR__MEMORY_LIMIT=300MB")
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA m")
	client.Query("USE m")
	bounded := func(what string) {
		t.Helper()
		for _, e := range cluster.Executors {
			require.Less(t, e.PeakMemory(t), int64(executorMiB)<<20, what)
		}
		require.Less(t, cluster.Server.PeakMemory(t), int64(schedulerMiB)<<20, what)
	}
	client.Query(fmt.Sprintf("CREATE TABLE w AS SELECT i, hash(i)::VARCHAR || md5(i::VARCHAR) AS s, (hash(i * 7) %% 1000000)::BIGINT AS k FROM range(%d) r(i)", rows))
	bounded("create")
	all := fmt.Sprint(rows)
	for _, threshold := range []string{"0B", "100GB"} {
		client.Query("SET distribution_threshold = '" + threshold + "'")
		client.Query("SET target_task_size = '32MB'")
		for _, c := range []struct{ sql, want string }{
			{"SELECT count(s) FROM (SELECT row_number() OVER (ORDER BY s) AS r, s FROM w) WHERE r > 0", all},
			{"SELECT count(*) FROM (SELECT s, count(*) AS n, min(i) AS i FROM w GROUP BY s) WHERE n = 1 AND i >= 0", all},
			{"SELECT count(*) FROM w a JOIN w b ON a.s = b.s", all},
			{"SELECT count(*) FROM (SELECT DISTINCT s, k FROM w)", all},
			{"CREATE TABLE sorted_" + strings.ToLower(threshold) + " AS SELECT * FROM w ORDER BY s", all},
			{"CREATE TABLE parts_" + strings.ToLower(threshold) + " PARTITIONED BY (b) AS SELECT *, i % 500 AS b FROM w", all},
		} {
			require.Equal(t, c.want, client.Value(c.sql), c.sql)
			bounded(c.sql)
		}
		_, err := client.Run(context.Background(), "SELECT len(string_agg(s, '')) FROM w")
		require.ErrorContains(t, err, "Out of Memory")
		require.ErrorContains(t, err, "ResourceExhausted")
		bounded("one value that is too large")
	}
	client.Query("SET distribution_threshold = '0B'")
	info, err := client.Execute(context.Background(), "SELECT * FROM w UNION ALL SELECT * FROM w")
	require.NoError(t, err)
	reader, err := client.DoGet(context.Background(), info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer reader.Release()
	read := int64(0)
	for batches := 0; reader.Next(); batches++ {
		read += reader.RecordBatch().NumRows()
		switch {
		case batches == 50:
			time.Sleep(3 * time.Second)
			// Others go on meanwhile.
			require.Equal(t, "1", client.Value("SELECT count(*) FROM w WHERE i = 3"))
		case batches%10 == 0:
			time.Sleep(20 * time.Millisecond)
		}
	}
	require.NoError(t, reader.Err())
	require.EqualValues(t, 2*rows, read)
	bounded("a slow reader")
	clean(t, openCatalog(t, dataDir), dataDir)
	cluster.Stop()
}
