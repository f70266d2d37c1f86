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

// dataTPCH is a data directory with the eight tables at the scale factor of -sf in the schema tpch: one that is gone with
// the benchmark, or a directory in that of -data, which is filled once.
func dataTPCH(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	if *data != "" {
		dir = filepath.Join(*data, fmt.Sprintf("tpch-sf%v", *sf))
	}
	complete := filepath.Join(dir, "complete")
	if _, err := os.Stat(complete); err == nil {
		return dir
	}
	require.NoError(b, os.RemoveAll(dir)) // of a run that was ended
	require.NoError(b, os.MkdirAll(dir, 0o755))
	load := process.Serve(b, dir, "SERAC_QUERY__TIMEOUT_SECS=0")
	loadTPCH(load.Connect(b), "tpch", *sf)
	load.Stop()
	require.NoError(b, os.WriteFile(complete, nil, 0o644))
	return dir
}

// loadTPCH makes the eight tables in a schema.
func loadTPCH(client *process.Client, schema string, factor float64) {
	client.Query("CREATE SCHEMA " + schema)
	client.Query("USE " + schema)
	start := time.Now()
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
	fmt.Printf("\nTPC-H-like data at scale factor %v, loaded in %s; %d threads\n", factor, time.Since(start).Round(time.Second), runtime.NumCPU())
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
	return side{"duckdb", func(sql string) { db.Query(sql) }}
}

func seracSide(name string, client *process.Client) side {
	return side{name, func(sql string) { client.Query(sql) }}
}
