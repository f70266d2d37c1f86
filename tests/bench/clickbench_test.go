package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/corpora"
	"github.com/seracdb/serac/tests/process"
)

// BenchmarkClickBench compares ClickBench's 43 queries over a table of its shape in `serac serve` with DuckDB alone on the
// same Parquet files.
func BenchmarkClickBench(b *testing.B) {
	corpus := corpora.ClickBenchRows(b, *hits)
	dataDir := loaded(b, fmt.Sprintf("clickbench-%d", *hits), func(client *process.Client) {
		client.Query("CREATE SCHEMA clickbench")
		client.Query("USE clickbench")
		require.NoError(b, corpus.Fill(func(ctx context.Context, sql string) error {
			_, err := client.Run(ctx, strings.ReplaceAll(strings.ReplaceAll(sql, "SMALLINT", "INTEGER"), "PRIMARY KEY", ""))
			return err
		}))
	})
	_, _, c := beside(b, dataDir, "clickbench")
	for _, q := range corpus.Queries {
		c.measure(q.Label, q.SQL)
	}
	c.end()
	b.ReportMetric(c.totalRatio(1), "serac/duckdb")
	b.ReportMetric(c.geomean(1), "geomean")
}
