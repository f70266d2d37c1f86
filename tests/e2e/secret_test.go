package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

const clusterSecret = "the-secret-of-the-e2e-cluster"

// TestClusterSecret: scheduler and executors with one secret, given in two ways, work together, shuffles and writes included.
// An executor with another secret, or none, is turned away, says why and ends; so is one with a secret by a scheduler without.
func TestClusterSecret(t *testing.T) {
	dataDir := t.TempDir()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(clusterSecret+"\n"), 0o600))
	given, inFile := "SERAC_CLUSTER__SECRET="+clusterSecret, "SERAC_CLUSTER__SECRET_FILE="+file
	cluster := process.Distributed(t, dataDir, 0, "SERAC_LOG__LEVEL=debug", given)
	cluster.AddExecutor()
	cluster.AddExecutor("SERAC_CLUSTER__SECRET=", inFile)
	client := cluster.Connect(t)
	distributeAlways(client)
	client.Query("CREATE TABLE t AS SELECT i, i % 7 AS k FROM range(10000) r(i)")
	client.Query("CREATE TABLE u PARTITIONED BY (k) AS SELECT k, count(*) AS n FROM t GROUP BY ALL")
	require.Equal(t, "10000", client.Value("SELECT sum(n)::BIGINT FROM t JOIN u USING (k) WHERE i < 7"))

	for name, env := range map[string]string{"wrong": "SERAC_CLUSTER__SECRET=another", "none": "SERAC_CLUSTER__SECRET="} {
		stranger := cluster.StartExecutor(env)
		status, err := stranger.Wait(30 * time.Second)
		require.NoError(t, err, name)
		require.NotZero(t, status, name)
		require.Contains(t, stranger.Output(), "cluster.secret", name)
		require.NotContains(t, stranger.Output(), "another")
	}
	require.Contains(t, cluster.Server.Output(), "cluster.secret", "the scheduler says so too")
	require.Equal(t, "10000", client.Value("SELECT count(*) FROM t"))
	cluster.Stop()
	hidesSecret(t, clusterSecret, cluster)

	open := process.Distributed(t, t.TempDir(), 0)
	stranger := open.StartExecutor(given)
	status, err := stranger.Wait(30 * time.Second)
	require.NoError(t, err)
	require.NotZero(t, status)
	require.Contains(t, stranger.Output(), "the scheduler has none")
	open.Stop()
}
