package bench

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/corpora"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// BenchmarkClickBench compares ClickBench's 43 queries over a table of its shape in `serac serve` with DuckDB alone on the
// same Parquet files.
func BenchmarkClickBench(b *testing.B) {
	corpus := corpora.ClickBenchRows(b, *hits)
	dataDir := b.TempDir()
	client := process.Serve(b, dataDir, "SERAC_QUERY__TIMEOUT_SECS=0").Connect(b)
	client.Query("CREATE SCHEMA clickbench")
	client.Query("USE clickbench")
	start := time.Now()
	require.NoError(b, corpus.Fill(func(ctx context.Context, sql string) error {
		_, err := client.Run(ctx, strings.ReplaceAll(strings.ReplaceAll(sql, "SMALLINT", "INTEGER"), "PRIMARY KEY", ""))
		return err
	}))
	fmt.Printf("\nClickBench-like table of %d rows, loaded in %s; %d threads\n", *hits, time.Since(start).Round(time.Second), runtime.NumCPU())
	duck := reference.Open(b, openCatalog(b, dataDir), "clickbench", runtime.NumCPU())
	c := newComparison(*runs, duckSide(duck), seracSide("serac serve", client))
	for _, q := range corpus.Queries {
		c.measure(q.Label, q.SQL)
	}
	c.end()
	b.ReportMetric(c.total(1), "serac/duckdb")
	b.ReportMetric(c.geomean(1), "geomean")
}
