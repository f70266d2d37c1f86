package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

// scale is a TPC-H data set: its schema, its scale factor, how many files the large tables have, and the task size that
// makes several tasks of them.
type scale struct {
	schema   string
	factor   float64
	chunks   int
	taskSize string
}

var scales = []scale{
	{"tpch_001", 0.01, 4, "64KB"},
	{"tpch_01", 0.1, 3, "1MB"},
}

// load has the cluster make and fill the tables of a scale, with INSERT ... SELECT run by the executors.
func load(t testing.TB, c *process.Client, s scale) {
	t.Helper()
	c.Query("CREATE SCHEMA " + s.schema)
	for _, table := range tpch.Tables() {
		c.Query(table.CreateSQL(s.schema + "." + table.Name))
		chunks := 1
		if table.Name == "lineitem" || table.Name == "orders" || table.Name == "partsupp" {
			chunks = s.chunks
		}
		for i := range chunks {
			c.Query(tpch.InsertSQL(table.Name, s.schema+"."+table.Name, s.factor, i, chunks))
		}
	}
}

// TestTPCH holds all 22 queries against DuckDB on the same files, in one process and on a scheduler with two executors,
// at every combination of partitions.
func TestTPCH(t *testing.T) {
	dataDir := t.TempDir()
	systems := map[string]func() *process.Cluster{
		"serve":       func() *process.Cluster { return process.Serve(t, dataDir) },
		"distributed": func() *process.Cluster { return process.Distributed(t, dataDir, 2) },
	}
	catalog := openCatalog(t, dataDir)
	loaded, turn := false, 0
	answers := map[string]*compare.Result{}
	for _, name := range []string{"distributed", "serve"} {
		cluster := systems[name]()
		if !loaded {
			client := cluster.Connect(t)
			for _, s := range scales {
				load(t, client, s)
				db := reference.Open(t, catalog, s.schema, 2)
				for n := 1; n <= tpch.Queries; n++ {
					answer := db.Query(tpch.Query(n))
					require.NotEmpty(t, answer.Rows, "query %d at scale factor %v", n, s.factor)
					answers[fmt.Sprintf("%s.%d", s.schema, n)] = answer
				}
			}
			loaded = true
		}
		for _, s := range scales {
			for _, partitions := range []int{1, 2, 7} {
				for _, perTask := range []int{1, 0} {
					t.Run(fmt.Sprintf("%s/sf%v/partitions%d/per_task%d", name, s.factor, partitions, perTask), func(t *testing.T) {
						client := cluster.Connect(t)
						client.Query("USE " + s.schema)
						client.Query("SET distribution_threshold = '0B'")
						client.Query(fmt.Sprintf("SET target_task_size = '%s'", s.taskSize))
						client.Query(fmt.Sprintf("SET shuffle_partitions = %d", partitions))
						client.Query(fmt.Sprintf("SET max_partitions_per_task = %d", perTask))
						// The adaptive rules on and off, and joins broadcast, partitioned, and as they come, in turn.
						adaptive, broadcast := (turn+turn/6)%2 == 0, []string{"-1", "1TB", "32MB"}[turn%3]
						turn++
						for _, rule := range []string{"adaptive_coalesce", "adaptive_broadcast", "adaptive_empty", "adaptive_skew", "join_filters"} {
							client.Query(fmt.Sprintf("SET %s = %t", rule, adaptive))
						}
						client.Query(fmt.Sprintf("SET broadcast_threshold = '%s'", broadcast))
						for n := 1; n <= tpch.Queries; n++ {
							got := client.Query(tpch.Query(n))
							diff := compare.Diff(answers[fmt.Sprintf("%s.%d", s.schema, n)], got, tpch.OrderedBy(n)...)
							require.Empty(t, diff, "query %d", n)
						}
					})
				}
			}
		}
		cluster.Stop()
	}
}
