package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/server"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

// loaded is a data directory that load has filled through `serac serve`: one that is gone with the benchmark, or that of this
// name in the directory of -data, which is filled once.
func loaded(b *testing.B, name string, load func(client *process.Client), env ...string) string {
	b.Helper()
	dir := b.TempDir()
	if *data != "" {
		dir = filepath.Join(*data, name)
	}
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return dir
	}
	require.NoError(b, os.RemoveAll(dir)) // of a run that was ended
	require.NoError(b, os.MkdirAll(dir, 0o755))
	server := process.Serve(b, dir, append(env, "SERAC_QUERY__TIMEOUT_SECS=0")...)
	start := time.Now()
	load(server.Connect(b))
	fmt.Printf("\n%s, loaded in %s\n", name, time.Since(start).Round(time.Second))
	server.Stop()
	require.NoError(b, os.WriteFile(complete, nil, 0o644))
	return dir
}

// dataTPCH is a data directory with the eight tables at the scale factor of -sf in the schema tpch.
func dataTPCH(b *testing.B) string {
	b.Helper()
	return loaded(b, fmt.Sprintf("tpch-sf%v", *sf), func(client *process.Client) { loadTPCH(client, "tpch", *sf) })
}

// loadTPCH makes the eight tables in a schema.
func loadTPCH(client *process.Client, schema string, factor float64) {
	client.Query("CREATE SCHEMA " + schema)
	client.Query("USE " + schema)
	for _, t := range tpch.Tables() {
		client.Query(t.CreateSQL(t.Name))
		chunks := 1
		if t.Name == "lineitem" || t.Name == "orders" {
			chunks = max(1, int(factor*4))
		}
		for i := range chunks {
			client.Query(tpch.InsertSQL(t.Name, t.Name, factor, i, chunks))
		}
	}
}

// memoryLimit is what DuckDB may take where `serac serve` is compared with DuckDB alone, on either side.
const memoryLimit = "8GiB"

// beside compares DuckDB alone over the Parquet files of a schema's tables with `serac serve` over their data directory, with the
// same threads and memory.
func beside(b *testing.B, dataDir, schema string) (duck *reference.DB, client *process.Client, c *comparison) {
	b.Helper()
	threads := runtime.NumCPU()
	cluster := process.Serve(b, dataDir, "SERAC_QUERY__TIMEOUT_SECS=0", "SERAC_EXECUTOR__MEMORY_LIMIT="+memoryLimit,
		fmt.Sprintf("SERAC_EXECUTOR__SLOTS=%d", threads))
	client = cluster.Connect(b)
	client.Query("USE " + schema)
	duck = reference.Open(b, openCatalog(b, dataDir), schema, threads)
	duck.Exec(fmt.Sprintf("SET memory_limit = '%s'", memoryLimit))
	fmt.Printf("\n%s: %d threads, %s\n", schema, threads, memoryLimit)
	return duck, client, newComparison(duckSide(duck), seracSide("serac serve", client, cluster.Server))
}

// openCatalog is the embedded catalog of a data directory.
func openCatalog(tb testing.TB, dataDir string) *catalog.Catalog {
	tb.Helper()
	c, err := server.OpenCatalog(context.Background(), config.Default(), dataDir)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func duckSide(db *reference.DB) side {
	return side{"duckdb", func(sql string) { db.Query(sql) }, []int{os.Getpid()}}
}

func seracSide(name string, client *process.Client, processes ...*process.Process) side {
	s := side{name: name, run: func(sql string) { client.Query(sql) }}
	for _, p := range processes {
		s.pids = append(s.pids, p.PID())
	}
	return s
}
