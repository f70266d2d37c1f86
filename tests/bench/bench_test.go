package bench

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

var (
	sf        = flag.Float64("sf", 1, "scale factor of the TPC-H-like data")
	hits      = flag.Int("hits", 1_000_000, "rows of the ClickBench-like table")
	runs      = flag.Int("runs", 3, "runs of each query on each side; the fastest counts")
	only      = flag.String("only", "", "run only the queries whose names match this regular expression")
	memoryMiB = flag.Int("memory", 1024, "memory limit of each executor in BenchmarkMemory, in MiB")
	data      = flag.String("data", "", "keep the loaded tables in this directory, and take them from it when they are there")
	tpcds     = flag.String("tpcds", "", "directory of TPC-DS's data and queries, made by tpcds.py")
)

func TestMain(m *testing.M) {
	status := m.Run()
	process.RemoveBinary()
	os.Exit(status)
}

// BenchmarkTPCH compares all 22 queries in `serac serve` with DuckDB alone on the same Parquet files.
func BenchmarkTPCH(b *testing.B) {
	duck, client, c := beside(b, dataTPCH(b), "tpch")
	for n := 1; n <= tpch.Queries; n++ {
		require.Empty(b, compare.Diff(duck.Query(tpch.Query(n)), client.Query(tpch.Query(n))), "query %d", n)
	}
	for n := 1; n <= tpch.Queries; n++ {
		c.measure(fmt.Sprintf("q%d", n), tpch.Query(n))
	}
	c.end()
	b.ReportMetric(c.totalRatio(1), "serac/duckdb")
	b.ReportMetric(c.geomean(1), "geomean")
}

// BenchmarkPointQuery compares the latency of a query of one row of a small table over Flight SQL with DuckDB's own.
func BenchmarkPointQuery(b *testing.B) {
	const queries = 300
	dataDir := b.TempDir()
	client := process.Serve(b, dataDir).Connect(b)
	client.Query("CREATE SCHEMA point")
	client.Query("USE point")
	client.Query("CREATE TABLE small (id BIGINT NOT NULL, name VARCHAR, price DECIMAL(12,2))")
	client.Query("INSERT INTO small SELECT i, 'name ' || i, i * 1.25 FROM range(10000) r(i)")
	duck := reference.Open(b, openCatalog(b, dataDir), "point", runtime.NumCPU())

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
	d, s := quantile(duckTimes, 0.5), quantile(seracTimes, 0.5)
	fmt.Printf("\npoint query, median of %d: duckdb %s, serac serve over Flight SQL %s, %s more\n", queries, round(d), round(s), round(s-d))
	b.ReportMetric(float64(s-d)/float64(time.Millisecond), "ms-more")
}
