package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
)

// slowQuery keeps executors busy for seconds and has one right answer.
const slowQuery = `SELECT count(*), sum(h % 1000)::BIGINT FROM (
	SELECT x.i, sum(hash(x.i * 1000003 + y.i) % 65536)::BIGINT AS h FROM big x JOIN big y ON x.i % 800 = y.i % 800 GROUP BY x.i)`

func fillBig(c *process.Client) {
	c.Query("CREATE SCHEMA loss")
	c.Query("USE loss")
	c.Query("CREATE TABLE big (i BIGINT)")
	for k := range 4 {
		c.Query("INSERT INTO big SELECT i FROM range(" + []string{"0, 50000", "50000, 100000", "100000, 150000", "150000, 200000"}[k] + ") r(i)")
	}
}

func distributeAlways(c *process.Client) {
	c.Query("SET distribution_threshold = '0B'")
	c.Query("SET target_task_size = '4KB'")
	c.Query("SET shuffle_partitions = 8")
	c.Query("SET max_partitions_per_task = 1")
	c.Query("SET broadcast_threshold = '-1'")
}

// TestExecutorKilledDuringQuery kills one of two executors with SIGKILL while a query runs: the answer is the same.
func TestExecutorKilledDuringQuery(t *testing.T) {
	cluster := process.Distributed(t, t.TempDir(), 2)
	client := cluster.Connect(t)
	fillBig(client)
	distributeAlways(client)
	start := time.Now()
	want := client.Query(slowQuery)
	took := time.Since(start)

	for _, after := range []time.Duration{took / 8, took / 3, took * 2 / 3} {
		done := make(chan struct{})
		var got *compare.Result
		var err error
		go func() {
			defer close(done)
			got, err = client.Run(context.Background(), slowQuery)
		}()
		time.Sleep(after)
		victim := cluster.Executors[len(cluster.Executors)-1]
		victim.Kill()
		<-done
		require.NoError(t, err, "killed after %s of about %s", after, took)
		require.Empty(t, compare.Diff(want, got), "killed after %s", after)
		cluster.Executors = cluster.Executors[:len(cluster.Executors)-1]
		cluster.AddExecutor()
	}
}

// TestExecutorKilledDuringInsert kills one of two executors with SIGKILL while an INSERT runs: its rows are there once,
// and no file is left behind that is not in the table.
func TestExecutorKilledDuringInsert(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	fillBig(client)
	distributeAlways(client)
	client.Query("CREATE TABLE target (i BIGINT, h VARCHAR)")
	const insert = `INSERT INTO target SELECT x.i * 10 + y.i, md5((x.i + y.i)::VARCHAR) FROM big x, (VALUES (0),(1),(2),(3),(4)) y(i)`
	start := time.Now()
	client.Query(insert)
	took := time.Since(start)
	require.Equal(t, "1000000", client.Value("SELECT count(*) FROM target"))

	for i, after := range []time.Duration{took / 5, took / 2, took * 4 / 5} {
		done := make(chan error)
		go func() {
			_, err := client.Run(context.Background(), insert)
			done <- err
		}()
		time.Sleep(after)
		victim := cluster.Executors[len(cluster.Executors)-1]
		victim.Kill()
		require.NoError(t, <-done, "killed after %s of about %s", after, took)
		cluster.Executors = cluster.Executors[:len(cluster.Executors)-1]
		cluster.AddExecutor()
		result := client.Query("SELECT count(*), count(DISTINCT i) FROM target")
		require.Equal(t, []compare.Cell{{Text: []string{"2000000", "3000000", "4000000"}[i]}, {Text: "1000000"}}, result.Rows[0])
		require.Empty(t, orphans(t, openCatalog(t, dataDir), dataDir), "killed after %s", after)
	}
}
