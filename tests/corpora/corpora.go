package corpora

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/seracdb/serac/tests/tpch"
)

// Corpus is a set of queries over tables.
type Corpus struct {
	Name    string
	Queries []Query
	// Fill makes the tables with their rows in DuckDB, statement by statement.
	Fill func(exec func(context.Context, string) error) error
}

// Query is a SELECT with a short name, unique in its corpus.
type Query struct{ Label, SQL string }

var (
	//go:embed testdata/tables.sql
	ownTables string
	//go:embed testdata/queries.sql
	ownQueries string
)

// Own is the project's own corpus: every construct that the plan knows, over tables t and r with a column of nearly every
// type. Some queries name the tables as ns.t.
func Own() Corpus {
	return Corpus{Name: "own", Queries: lines(ownQueries), Fill: run(SplitStatements(ownTables))}
}

// TPCH is TPC-H's 22 queries at a scale factor.
func TPCH(scaleFactor float64) Corpus {
	c := Corpus{Name: "TPC-H", Fill: func(exec func(context.Context, string) error) error {
		return tpch.CreateIn(context.Background(), exec, scaleFactor)
	}}
	for n := 1; n <= tpch.Queries; n++ {
		c.Queries = append(c.Queries, Query{Label: fmt.Sprintf("q%02d", n), SQL: tpch.Query(n)})
	}
	return c
}

// TPCDS is TPC-DS's queries. The test is skipped where the corpora are not beside the project.
func TPCDS(t testing.TB) Corpus {
	t.Helper()
	c := Corpus{Name: "TPC-DS", Queries: queryFiles(t, "tpcds")}
	schema := strings.ReplaceAll(file(t, "tpcds", "schema.sql"), "NOT NULL", "")
	c.Fill = fill(schema, tpcdsRows, tpcdsValue(literalsByColumn(c.Queries)))
	return c
}

// ClickBench is ClickBench's queries. The test is skipped where the corpora are not beside the project.
func ClickBench(t testing.TB) Corpus {
	t.Helper()
	return ClickBenchRows(t, 20000)
}

// ClickBenchRows is ClickBench over a table of any size.
func ClickBenchRows(t testing.TB, rows int) Corpus {
	t.Helper()
	return Corpus{
		Name: "ClickBench", Queries: queryFiles(t, "clickbench"),
		Fill: fill(file(t, "clickbench", "schema.sql"), func(string) int { return rows }, clickBenchValue),
	}
}

// unspecified gives the one query of the constructs whose answer DuckDB leaves open an order.
var unspecified = strings.NewReplacer("string_agg(j::varchar, ',') s from range(x.i)", "string_agg(j::varchar, ',' order by j) s from range(x.i)")

// Constructs is queries over all of DuckDB's dialect, with tables t and r like those of Own. The test is skipped where the
// corpora are not beside the project.
func Constructs(t testing.TB) Corpus {
	t.Helper()
	return Corpus{
		Name: "constructs", Queries: lines(unspecified.Replace(file(t, "constructs", "queries.txt"))),
		Fill: run(SplitStatements(file(t, "constructs", "schema.sql"))),
	}
}

// lines makes a query of each line.
func lines(text string) []Query {
	var queries []Query
	for i, q := range strings.Split(text, "\n") {
		if strings.TrimSpace(q) != "" {
			queries = append(queries, Query{Label: fmt.Sprintf("line%03d", i+1), SQL: q})
		}
	}
	return queries
}

// dir is where the corpora lie: beside the folder of go.mod.
func dir(t testing.TB) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(filepath.Dir(root), "shared", "corpora")
		}
		if root == filepath.Dir(root) {
			t.Fatal("corpora: the test does not run inside the project")
		}
	}
}

// file reads a file of the corpora, or skips the test when they are not there.
func file(t testing.TB, parts ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{dir(t)}, parts...)...)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("the query corpora are not beside the project (no %s)", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// queryFiles are the statements of a corpus folder, by file and position.
func queryFiles(t testing.TB, name string) []Query {
	t.Helper()
	file(t, name, "schema.sql")
	files, err := filepath.Glob(filepath.Join(dir(t), name, "q*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(files)
	var queries []Query
	for _, f := range files {
		for i, q := range SplitStatements(file(t, name, filepath.Base(f))) {
			queries = append(queries, Query{Label: fmt.Sprintf("%s#%d", strings.TrimSuffix(filepath.Base(f), ".sql"), i+1), SQL: q})
		}
	}
	return queries
}

// run executes statements.
func run(statements []string) func(func(context.Context, string) error) error {
	return func(exec func(context.Context, string) error) error {
		for _, s := range statements {
			if err := exec(context.Background(), s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	}
}
