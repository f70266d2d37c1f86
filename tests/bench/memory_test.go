package bench

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

// BenchmarkMemory runs TPC-H's queries on two executors with a memory limit each (-memory) and prints how large their
// processes became. Answers are DuckDB's, so what spilled came back.
func BenchmarkMemory(b *testing.B) {
	limit := *memoryMiB
	dataDir := dataTPCH(b)
	cluster := process.Distributed(b, dataDir, 2, fmt.Sprintf("SERAC_EXECUTOR__MEMORY_LIMIT=%dMiB", limit), "SERAC_QUERY__DISTRIBUTION_THRESHOLD=0B",
		"SERAC_QUERY__TIMEOUT_SECS=0")
	client := cluster.Connect(b)
	client.Query("USE tpch")
	duck := reference.Open(b, openCatalog(b, dataDir), "tpch", runtime.NumCPU())
	fmt.Printf("\nresident memory of two executors of %d MiB, as a share of the limit\n%-8s %12s %12s %12s\n", limit, "query", "time", "executor 1", "executor 2")
	largest := 0.0
	for n := 1; n <= tpch.Queries; n++ {
		for _, e := range cluster.Executors {
			e.PeakMemory(b) // of this query alone
		}
		start := time.Now()
		got := client.Query(tpch.Query(n))
		took := time.Since(start)
		fmt.Printf("q%-7d %12s", n, round(took))
		for _, e := range cluster.Executors {
			share := float64(e.PeakMemory(b)) / (1 << 20) / float64(limit)
			largest = math.Max(largest, share)
			fmt.Printf(" %12.2f", share)
		}
		fmt.Println()
		require.Empty(b, compare.Diff(duck.Query(tpch.Query(n)), got), "query %d", n)
	}
	b.ReportMetric(largest, "peak/limit")
}
