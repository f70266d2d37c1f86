package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// TestProcessesThatCannotStart end with status 1, soon, and say what is wrong.
func TestProcessesThatCannotStart(t *testing.T) {
	dir := t.TempDir()
	file, corrupt := filepath.Join(dir, "file"), filepath.Join(dir, "corrupt")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Mkdir(corrupt, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(corrupt, "catalog.db"), []byte(strings.Repeat("no database ", 1000)), 0o600))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	free := []string{"--data-dir", filepath.Join(dir, "data"), "--scheduler.flight_sql_port=0"}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"serve", "--scheduler.flight_sql_port=" + port, "--data-dir", filepath.Join(dir, "a")}, []string{"scheduler.flight_sql_port", port, "in use"}},
		{append([]string{"scheduler", "--scheduler.executor_port=" + port}, free...), []string{"scheduler.executor_port", port, "in use"}},
		{[]string{"executor", "--executor.flight_port=" + port, "--executor.spill_dir", dir}, []string{"executor.flight_port", port, "in use"}},
		{[]string{"serve", "--scheduler.flight_sql_port=0", "--data-dir", file}, []string{file}},
		{[]string{"serve", "--scheduler.flight_sql_port=0", "--data-dir", corrupt}, []string{filepath.Join(corrupt, "catalog.db"), "not a database"}},
		{append([]string{"serve", "--executor.spill_dir", file}, free...), []string{"spill", file}},
		{[]string{"executor", "--executor.flight_port=0", "--executor.spill_dir", "/proc/spill"}, []string{"spill", "/proc/spill"}},
		{[]string{"serve", "--config", filepath.Join(dir, "none.toml")}, []string{"none.toml"}},
		{append([]string{"serve", "--catalog.type=rest", "--catalog.uri=http://127.0.0.1:1"}, free...), []string{"127.0.0.1:1", "refused"}},
		{append([]string{"serve", "--query.timeout_secs=-1", "--executor.slots=-1"}, free...), []string{"query.timeout_secs", "executor.slots"}},
	} {
		start := time.Now()
		_, errOut, status := process.Run(t, c.args...)
		require.Equal(t, 1, status, "%v: %s", c.args, errOut)
		for _, text := range c.says {
			require.Contains(t, errOut, text, c.args)
		}
		require.Less(t, time.Since(start), 10*time.Second, c.args)
	}
}

// TestReadyIsSaidAtEveryLevel: scripts wait for the line.
func TestReadyIsSaidAtEveryLevel(t *testing.T) {
	cluster := process.Distributed(t, t.TempDir(), 1, "SERAC_LOG__LEVEL=error")
	require.Equal(t, 1, strings.Count(cluster.Server.Output(), "\n"), cluster.Server.Output())
	cluster.Stop()
}
