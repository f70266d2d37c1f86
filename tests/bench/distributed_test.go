package bench

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

// BenchmarkDistributed compares a scheduler with two executors of one thread each, distribution forced, with one DuckDB of
// two threads and with a scheduler with one executor of one thread. DuckDB with one thread stands beside them: it shows what the
// second core gives DuckDB on the machine, beside which the gain of the second executor has to be read.
func BenchmarkDistributed(b *testing.B) {
	dataDir := dataTPCH(b)
	two := process.Distributed(b, dataDir, 2, "SERAC_EXECUTOR__SLOTS=1", "SERAC_QUERY__DISTRIBUTION_THRESHOLD=0B")
	clients := []*process.Client{two.Connect(b)}
	one := process.Distributed(b, dataDir, 1, "SERAC_EXECUTOR__SLOTS=1", "SERAC_QUERY__DISTRIBUTION_THRESHOLD=0B")
	clients = append(clients, one.Connect(b))
	for _, c := range clients {
		c.Query("USE tpch")
	}
	tables := openCatalog(b, dataDir)
	duck, alone := reference.Open(b, tables, "tpch", 2), duckSide(reference.Open(b, tables, "tpch", 1))
	alone.name = "duckdb, 1 thread"
	for n := 1; n <= tpch.Queries; n++ {
		require.Empty(b, compare.Diff(duck.Query(tpch.Query(n)), clients[0].Query(tpch.Query(n))), "query %d", n)
	}
	c := newComparison(duckSide(duck), seracSide("2 executors, 1 thread", clients[0], append(two.Executors, two.Server)...),
		seracSide("1 executor, 1 thread", clients[1], append(one.Executors, one.Server)...), alone)
	for n := 1; n <= tpch.Queries; n++ {
		c.measure(fmt.Sprintf("q%d", n), tpch.Query(n))
	}
	c.end()
	fmt.Printf("one executor takes %.2f times as long as two; DuckDB with one thread %.2f times as long as with two\n",
		ratio(c.total.elapsed[2], c.total.elapsed[1]), c.totalRatio(3))
	b.ReportMetric(c.totalRatio(1), "two/duckdb")
	b.ReportMetric(ratio(c.total.elapsed[2], c.total.elapsed[1]), "one/two")
}

// BenchmarkStarJoin compares a star join with join filters and without: a small part of one dimension decides which part of
// the fact table, which is sorted by its key, is read at all.
func BenchmarkStarJoin(b *testing.B) {
	const (
		dates = 2000
		facts = 20_000_000
		files = 20
	)
	dataDir := b.TempDir()
	cluster := process.Distributed(b, dataDir, 2, "SERAC_EXECUTOR__SLOTS=1", "SERAC_QUERY__DISTRIBUTION_THRESHOLD=0B")
	client := cluster.Connect(b)
	client.Query("CREATE SCHEMA star")
	client.Query("USE star")
	client.Query(fmt.Sprintf("CREATE TABLE dates AS SELECT i AS date_key, i / 365 AS year, i %% 7 AS weekday FROM range(%d) r(i)", dates))
	client.Query("CREATE TABLE shops AS SELECT i AS shop_key, 'city ' || (i % 100) AS city FROM range(100000) r(i)")
	client.Query("CREATE TABLE sales (date_key BIGINT, shop_key BIGINT, amount DECIMAL(10,2))")
	for i := range files {
		client.Query(fmt.Sprintf(`INSERT INTO sales SELECT r.i * %d // %d, hash(r.i) %% 100000, (hash(r.i + 1) %% 10000) / 100
			FROM range(%d, %d) r(i)`, dates, facts, i*facts/files, (i+1)*facts/files))
	}
	on, off := cluster.Connect(b), cluster.Connect(b)
	for _, c := range []*process.Client{on, off} {
		c.Query("USE star")
	}
	off.Query("SET join_filters = false")
	fmt.Printf("\nstar join: %d facts in %d files\n", facts, files)
	c := newComparison(seracSide("without filters", off), seracSide("with join filters", on))
	for _, q := range []struct{ label, sql string }{
		{"dates", "SELECT weekday, sum(amount) FROM sales JOIN dates USING (date_key) WHERE year = 2 GROUP BY ALL"},
		{"shops", "SELECT city, sum(amount) FROM sales JOIN shops USING (shop_key) WHERE city IN ('city 7', 'city 8') GROUP BY ALL"},
		{"both", `SELECT weekday, city, sum(amount) FROM sales JOIN dates USING (date_key) JOIN shops USING (shop_key)
			WHERE year = 2 AND city = 'city 7' GROUP BY ALL`},
	} {
		require.Empty(b, compare.Diff(off.Query(q.sql), on.Query(q.sql)), q.label)
		c.measure(q.label, q.sql)
	}
	c.end()
	b.ReportMetric(c.totalRatio(1), "with/without")
}
