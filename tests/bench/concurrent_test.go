package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// BenchmarkConcurrent compares the throughput of small queries from 100 clients at the same time with DuckDB's own from as
// many connections.
func BenchmarkConcurrent(b *testing.B) {
	const (
		clients = 100
		each    = 20
	)
	dataDir := b.TempDir()
	cluster := process.Serve(b, dataDir)
	setup := cluster.Connect(b)
	setup.Query("CREATE SCHEMA c")
	setup.Query("USE c")
	setup.Query("CREATE TABLE t AS SELECT i AS id, i % 100 AS g, hash(i) % 1000 AS v FROM range(1000000) r(i)")
	duck := reference.Open(b, openCatalog(b, dataDir), "c", runtime.NumCPU())
	query := func(i int) string {
		return fmt.Sprintf("SELECT g, count(*), sum(v) FROM t WHERE g = %d GROUP BY g", i%100)
	}

	connected, connections := make([]*process.Client, clients), make([]*reference.DB, clients)
	for i := range connected {
		connected[i], connections[i] = cluster.Connect(b), duck.Connect()
		connected[i].Query("USE c")
	}
	duckTime, duckTail := crowd(b, clients, each, func(c, i int) error { _, err := connections[c].Run(context.Background(), query(i)); return err })
	seracTime, seracTail := crowd(b, clients, each, func(c, i int) error { _, err := connected[c].Run(context.Background(), query(i)); return err })
	n := float64(clients * each)
	fmt.Printf("\n%d clients, %d small queries each\n", clients, each)
	fmt.Printf("%-12s %14s %12s\n", "", "queries/s", "p99")
	fmt.Printf("%-12s %14.0f %12s\n", "duckdb", n/duckTime.Seconds(), round(duckTail))
	fmt.Printf("%-12s %14.0f %12s   %.2f of duckdb's throughput\n", "serac serve", n/seracTime.Seconds(), round(seracTail), ratio(duckTime, seracTime))
	b.ReportMetric(ratio(duckTime, seracTime), "throughput/duckdb")
	b.ReportMetric(float64(seracTail)/float64(time.Millisecond), "p99-ms")
}

// crowd has clients run queries at the same time and gives how long all took and the 99th percentile of one.
func crowd(b *testing.B, clients, each int, run func(client, i int) error) (all, tail time.Duration) {
	b.Helper()
	times := make([]time.Duration, clients*each)
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	start := time.Now()
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				began := time.Now()
				if err := run(c, c*each+i); err != nil {
					failed.Store(&err)
					return
				}
				times[c*each+i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	all = time.Since(start)
	if err := failed.Load(); err != nil {
		require.NoError(b, *err)
	}
	return all, quantile(times, 0.99)
}
