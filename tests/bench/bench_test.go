package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/server"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

var (
	sf   = flag.Float64("sf", 1, "scale factor of the TPC-H-like data")
	runs = flag.Int("runs", 3, "runs of each query on each side; the fastest counts")
)

func TestMain(m *testing.M) {
	status := m.Run()
	process.RemoveBinary()
	os.Exit(status)
}

// fastest runs a query on both sides in turn and gives the best time of each.
func fastest(times int, sides ...func()) []time.Duration {
	best := make([]time.Duration, len(sides))
	for i, side := range sides {
		best[i] = 1 << 62
		side() // warm
	}
	for range times {
		for i, side := range sides {
			start := time.Now()
			side()
			best[i] = min(best[i], time.Since(start))
		}
	}
	return best
}

// BenchmarkTPCH compares all 22 queries in `serac serve` with DuckDB alone on the same Parquet files.
func BenchmarkTPCH(b *testing.B) {
	dataDir := b.TempDir()
	cluster := process.Serve(b, dataDir)
	client := cluster.Connect(b)
	client.Query("CREATE SCHEMA tpch")
	client.Query("USE tpch")
	start := time.Now()
	for _, t := range tpch.Tables() {
		client.Query(t.CreateSQL(t.Name))
		chunks := 1
		if t.Name == "lineitem" || t.Name == "orders" {
			chunks = max(1, int(*sf*4))
		}
		for i := range chunks {
			client.Query(tpch.InsertSQL(t.Name, t.Name, *sf, i, chunks))
		}
	}
	fmt.Printf("\nTPC-H-like data at scale factor %v, loaded in %s; %d threads\n", *sf, time.Since(start).Round(time.Second), runtime.NumCPU())
	catalog, err := server.OpenCatalog(context.Background(), config.Default(), dataDir)
	require.NoError(b, err)
	defer catalog.Close()
	duck := reference.Open(b, catalog, "tpch", runtime.NumCPU())

	fmt.Printf("%-6s %12s %12s %8s\n", "query", "duckdb", "serac serve", "ratio")
	var duckTotal, seracTotal time.Duration
	for n := 1; n <= tpch.Queries; n++ {
		query := tpch.Query(n)
		var want, got *compare.Result
		best := fastest(*runs, func() { want = duck.Query(query) }, func() { got = client.Query(query) })
		require.Empty(b, compare.Diff(want, got), "query %d", n)
		duckTotal, seracTotal = duckTotal+best[0], seracTotal+best[1]
		fmt.Printf("q%-5d %12s %12s %8.2f\n", n, round(best[0]), round(best[1]), ratio(best[1], best[0]))
	}
	fmt.Printf("%-6s %12s %12s %8.2f\n", "total", round(duckTotal), round(seracTotal), ratio(seracTotal, duckTotal))
	b.ReportMetric(ratio(seracTotal, duckTotal), "serac/duckdb")
}

// BenchmarkPointQuery compares the latency of a query of one row of a small table over Flight SQL with DuckDB's own.
func BenchmarkPointQuery(b *testing.B) {
	const queries = 300
	dataDir := b.TempDir()
	cluster := process.Serve(b, dataDir)
	client := cluster.Connect(b)
	client.Query("CREATE SCHEMA point")
	client.Query("USE point")
	client.Query("CREATE TABLE small (id BIGINT NOT NULL, name VARCHAR, price DECIMAL(12,2))")
	client.Query("INSERT INTO small SELECT i, 'name ' || i, i * 1.25 FROM range(10000) r(i)")
	catalog, err := server.OpenCatalog(context.Background(), config.Default(), dataDir)
	require.NoError(b, err)
	defer catalog.Close()
	duck := reference.Open(b, catalog, "point", runtime.NumCPU())

	var duckTimes, seracTimes []time.Duration
	for i := range queries {
		sql := fmt.Sprintf("SELECT id, name, price FROM small WHERE id = %d", i*7)
		start := time.Now()
		want := duck.Query(sql)
		duckTimes = append(duckTimes, time.Since(start))
		start = time.Now()
		got := client.Query(sql)
		seracTimes = append(seracTimes, time.Since(start))
		require.Empty(b, compare.Diff(want, got))
	}
	d, s := median(duckTimes), median(seracTimes)
	fmt.Printf("\npoint query, median of %d: duckdb %s, serac serve over Flight SQL %s, %s more\n", queries, round(d), round(s), round(s-d))
	b.ReportMetric(float64(s-d)/float64(time.Millisecond), "ms-more")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func round(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}
