package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/seracdb/serac/tests/process"
)

// BenchmarkManyAppends is what a point query costs once 60 INSERTs have made a manifest each, with what was read of the
// manifests kept between statements and without.
func BenchmarkManyAppends(b *testing.B) {
	const inserts, queries = 60, 60
	run := func(env ...string) time.Duration {
		cluster := process.Serve(b, b.TempDir(), env...)
		defer cluster.Stop()
		client := cluster.Connect(b)
		client.Query("CREATE SCHEMA s")
		client.Query("USE s")
		client.Query("CREATE TABLE t (id BIGINT, name VARCHAR, price DECIMAL(12,2))")
		for i := range inserts {
			client.Query(fmt.Sprintf("INSERT INTO t SELECT i, 'name ' || i, i * 1.25 FROM range(%d, %d) r(i)", i*100, (i+1)*100))
		}
		times := make([]time.Duration, queries)
		for i := range times {
			start := time.Now()
			if got := client.Query(fmt.Sprintf("SELECT id, name, price FROM t WHERE id = %d", i*97)); len(got.Rows) != 1 {
				b.Fatalf("%d rows", len(got.Rows))
			}
			times[i] = time.Since(start)
		}
		return quantile(times, 0.5)
	}
	kept, read := run(), run("SERAC_SCHEDULER__MANIFEST_CACHE_LIMIT=0")
	fmt.Printf("\npoint query after %d inserts, median of %d: manifests kept %s, read each time %s\n", inserts, queries, round(kept), round(read))
	b.ReportMetric(ratio(read, kept), "read/kept")
}
