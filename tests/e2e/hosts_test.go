package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

// fetched is how much a query's tasks got from other executors over the network.
func fetched(t *testing.T, c *process.Client, sql string) int64 {
	var plan struct {
		Stages []struct {
			Actual struct{ ShuffleFetchedBytes int64 }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(c.Value("EXPLAIN (ANALYZE, FORMAT JSON) "+sql)), &plan))
	require.Greater(t, len(plan.Stages), 1)
	var bytes int64
	for _, s := range plan.Stages {
		bytes += s.Actual.ShuffleFetchedBytes
	}
	return bytes
}

// TestExecutorsOfDifferentHosts: executors with different host ids give each other their shuffle files over Flight, those with
// one and the same in place, and the answers are those of DuckDB either way.
func TestExecutorsOfDifferentHosts(t *testing.T) {
	dataDir := t.TempDir()
	s := scales[0]
	for i, hosts := range [][]string{{"one", "two"}, {"one", "one"}} {
		cluster := process.Distributed(t, dataDir, 0, "SERAC_CLUSTER__SECRET=between-hosts")
		for _, host := range hosts {
			cluster.AddExecutor("SERAC_EXECUTOR__HOST_ID=" + host)
		}
		client := cluster.Connect(t)
		if i == 0 {
			load(t, client, s)
		}
		db := reference.Open(t, openCatalog(t, dataDir), s.schema, 2)
		for _, set := range []string{
			"USE " + s.schema, "SET distribution_threshold = '0B'", "SET target_task_size = '64KB'", "SET shuffle_partitions = 4",
			"SET max_partitions_per_task = 1", "SET adaptive_coalesce = false", "SET broadcast_threshold = '0B'",
		} {
			client.Query(set)
		}
		for _, n := range []int{9, 18} {
			query := fmt.Sprintf("query %d, hosts %v", n, hosts)
			require.Empty(t, compare.Diff(db.Query(tpch.Query(n)), client.Query(tpch.Query(n)), tpch.OrderedBy(n)...), query)
			if bytes := fetched(t, client, tpch.Query(n)); hosts[0] == hosts[1] {
				require.Zero(t, bytes, query)
			} else {
				require.Positive(t, bytes, query)
			}
		}
		cluster.Stop()
	}
}
