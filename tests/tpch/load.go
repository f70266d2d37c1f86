package tpch

import (
	"context"
	"embed"
	"fmt"
)

// Exec runs one statement that returns no rows.
type Exec func(ctx context.Context, sql string) error

// SelectSQL is the SELECT that makes chunk (from 0) of chunks of a table at a scale factor. Chunks of one table have no
// row in common, and all together are the table.
func SelectSQL(table string, sf float64, chunk, chunks int) string {
	if chunk < 0 || chunk >= chunks {
		panic(fmt.Sprintf("tpch: chunk %d of %d", chunk, chunks))
	}
	t := TableByName(table)
	g := generator{sf}
	keys := t.keys(g)
	from, to := keys*int64(chunk)/int64(chunks), keys*int64(chunk+1)/int64(chunks)
	return t.sel(g, from+1, to+1) // keys count from 1
}

// InsertSQL inserts chunk (from 0) of chunks of a table into target, a name that stands in the text as it is.
func InsertSQL(table, target string, sf float64, chunk, chunks int) string {
	return "INSERT INTO " + target + " " + SelectSQL(table, sf, chunk, chunks)
}

// CreateIn makes the eight tables and fills them, by statements that both DuckDB and Serac run.
func CreateIn(ctx context.Context, exec Exec, sf float64) error {
	const rowsPerInsert = 5_000_000
	for _, t := range Tables() {
		if err := exec(ctx, t.CreateSQL(t.Name)); err != nil {
			return fmt.Errorf("create %s: %w", t.Name, err)
		}
		chunks := t.Chunks(sf, rowsPerInsert)
		for chunk := range chunks {
			if err := exec(ctx, InsertSQL(t.Name, t.Name, sf, chunk, chunks)); err != nil {
				return fmt.Errorf("fill %s, chunk %d of %d: %w", t.Name, chunk, chunks, err)
			}
		}
	}
	return nil
}

//go:embed queries/*.sql
var queries embed.FS

// Queries is how many queries there are.
const Queries = 22

// Query is the text of query n, from 1 to Queries, with the specification's validation parameters. Query 15 reads a
// common table expression in the place of a view, so every query is one statement.
func Query(n int) string {
	text, err := queries.ReadFile(fmt.Sprintf("queries/q%02d.sql", n))
	if err != nil {
		panic(fmt.Sprintf("tpch: no query %d", n))
	}
	return string(text)
}

// OrderedBy are the positions of the ORDER BY columns in the result of query n.
func OrderedBy(n int) []int { return order[n] }

var order = map[int][]int{
	1: {0, 1}, 2: {0, 2, 1, 3}, 3: {1, 2}, 4: {0}, 5: {1}, 7: {0, 1, 2}, 8: {0}, 9: {0, 1}, 10: {2}, 11: {1}, 12: {0},
	13: {1, 0}, 15: {0}, 16: {3, 0, 1, 2}, 18: {4, 3}, 20: {0}, 21: {1, 0}, 22: {0},
}
