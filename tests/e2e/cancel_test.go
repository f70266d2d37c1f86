package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// cpuTime is what processes have used so far.
func cpuTime(t *testing.T, c *process.Cluster) time.Duration {
	t.Helper()
	const tick = 10 * time.Millisecond
	var total time.Duration
	for _, p := range append([]*process.Process{c.Server}, c.Executors...) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		if err != nil {
			t.Skip("no /proc: ", err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		var user, system int64
		_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
		require.NoError(t, err)
		total += time.Duration(user+system) * tick
	}
	return total
}

// idle waits until the processes stop working, and fails when they do not soon.
func idle(t *testing.T, c *process.Cluster, what string) {
	t.Helper()
	const window = 200 * time.Millisecond
	start := time.Now()
	for {
		before := cpuTime(t, c)
		time.Sleep(window)
		if cpuTime(t, c)-before <= window/5 {
			return
		}
		require.Less(t, time.Since(start), 3*time.Second, "%s: still at work after its end", what)
	}
}

// endless are statements that would run for very long, each in another part of DuckDB.
var endless = map[string]string{
	"join":      "SELECT count(*) FROM big a, big b WHERE hash(a.i, b.i) % 7 = 0",
	"aggregate": "SELECT a.i % 1000 AS k, count(DISTINCT b.i) FROM big a, big b GROUP BY 1 ORDER BY 2",
	"sort":      "SELECT a.i, b.i FROM big a, big b WHERE a.i % 40 = b.i % 40 ORDER BY hash(a.i, b.i) LIMIT 10 OFFSET 1000000",
	"window":    "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY a.i % 100 ORDER BY hash(b.i, a.i)) AS r FROM big a, big b WHERE a.i % 400 = b.i % 400)",
	"recursion": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 100000000) SELECT count(*) FROM r",
	"insert":    "INSERT INTO target SELECT a.i, md5((a.i + b.i)::VARCHAR) FROM big a, big b",
	"create as": "CREATE TABLE made AS SELECT a.i FROM big a, big b WHERE hash(a.i, b.i) % 100 = 0",
}

// TestCancelledStatementsStop ends statements in every way there is, early and late: work in DuckDB stops, and nothing
// is left of them (rule 28).
func TestCancelledStatementsStop(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	fillBig(client)
	client.Query("CREATE TABLE target (i BIGINT, h VARCHAR)")
	for i, name := range slices.Sorted(maps.Keys(endless)) {
		for j, setting := range []string{"distributed", "whole"} {
			if os.Getenv("SERAC_TEST_ALL") == "" && i%2 != j {
				continue // by turns, for the sake of time
			}
			sql, what := endless[name], name+", "+setting
			connect := func() *process.Client {
				c := cluster.Connect(t)
				c.Query("USE loss")
				if setting == "distributed" {
					distributeAlways(c)
				}
				return c
			}
			for _, after := range []time.Duration{20 * time.Millisecond, 400 * time.Millisecond} {
				c := connect()
				ctx, cancel := context.WithTimeout(context.Background(), after)
				_, err := c.Run(ctx, sql)
				cancel()
				require.Error(t, err, what)
				// If the FlightInfo was on its way to the client just then, it is the connection's end that the server sees.
				require.NoError(t, c.Close())
				idle(t, cluster, what)
			}
			// The client is gone before the server has taken back what the statement made.
			require.Eventually(t, func() bool { return len(client.Query("SHOW TABLES FROM loss LIKE 'made'").Rows) == 0 }, 10*time.Second, 50*time.Millisecond, what)
			c := connect()
			c.Query("SET timeout_secs = 1")
			start := time.Now()
			_, err := c.Run(context.Background(), sql)
			require.ErrorContains(t, err, "timeout_secs", what)
			require.Less(t, time.Since(start), 5*time.Second, what)
			idle(t, cluster, what)
			require.NoError(t, c.Close())
		}
	}
	require.Equal(t, "0", client.Value("SELECT count(*) FROM target"))
	clean(t, openCatalog(t, dataDir), dataDir)
	cluster.Stop()
}

// TestInterruptedClient ends `serac sql -c` with Ctrl-C, and with a kill that leaves it no time to say anything: its
// statement ends on the server.
func TestInterruptedClient(t *testing.T) {
	cluster := process.Serve(t, t.TempDir())
	fillBig(cluster.Connect(t))
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		cmd := exec.Command(process.Binary(t), "sql", "--url", "grpc://"+cluster.Address, "-c", "USE loss; "+endless["join"])
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		require.NoError(t, cmd.Start())
		time.Sleep(1500 * time.Millisecond)
		before := cpuTime(t, cluster)
		time.Sleep(200 * time.Millisecond)
		require.Greater(t, cpuTime(t, cluster), before, "the statement runs: %s", errOut.String())
		require.NoError(t, cmd.Process.Signal(signal))
		start := time.Now()
		err := cmd.Wait()
		require.Error(t, err)
		require.Less(t, time.Since(start), 5*time.Second)
		if signal == syscall.SIGINT {
			require.Contains(t, errOut.String(), "cancel")
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), errOut.String())
		}
		idle(t, cluster, signal.String())
	}
	cluster.Stop()
}
