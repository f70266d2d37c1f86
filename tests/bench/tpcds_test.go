package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/tests/process"
)

// BenchmarkTPCDS compares TPC-DS's 99 queries in `serac serve` with DuckDB alone on the same Parquet files. Data and queries are
// those that tpcds.py makes.
func BenchmarkTPCDS(b *testing.B) {
	if *tpcds == "" {
		b.Skip("-tpcds names no directory that tpcds.py has filled")
	}
	from, err := filepath.Abs(*tpcds)
	require.NoError(b, err)
	tables, err := filepath.Glob(filepath.Join(from, "*.parquet"))
	require.NoError(b, err)
	queries, err := filepath.Glob(filepath.Join(from, "q*.sql"))
	require.NoError(b, err)
	require.Len(b, queries, 99, "queries in %s", from)
	dataDir := loaded(b, "tpcds-"+filepath.Base(from), func(client *process.Client) {
		client.Query("CREATE SCHEMA tpcds")
		client.Query("USE tpcds")
		for _, t := range tables {
			client.Query(fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_parquet(%s)", strings.TrimSuffix(filepath.Base(t), ".parquet"), plan.QuoteString(t)))
		}
	}, "SERAC_QUERY__ALLOW_FILE_FUNCTIONS=true", "SERAC_QUERY__FILE_FUNCTION_PREFIXES="+from)
	duck, client, c := beside(b, dataDir, "tpcds")
	for _, q := range queries {
		label := strings.TrimSuffix(filepath.Base(q), ".sql")
		if !wanted(label) {
			continue
		}
		text, err := os.ReadFile(q)
		require.NoError(b, err)
		sql := strings.TrimSuffix(strings.TrimSpace(string(text)), ";")
		// Which rows a LIMIT takes of equal ones is open, but not how many.
		require.Len(b, client.Query(sql).Rows, len(duck.Query(sql).Rows), label)
		c.measure(label, sql)
	}
	c.end()
	b.ReportMetric(c.totalRatio(1), "serac/duckdb")
	b.ReportMetric(c.geomean(1), "geomean")
}
