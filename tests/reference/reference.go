package reference

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/tests/compare"
)

// DB is a DuckDB with a view per table of a schema.
type DB struct {
	tb   testing.TB
	db   *duckdb.DB
	conn *duckdb.Conn

	names    []string // of the tables
	shuffled bool     // there are copies of the tables in other orders
}

// Open makes views of all tables of a schema as they are now. It is closed when the test ends.
func Open(tb testing.TB, c *catalog.Catalog, schema string, threads int) *DB {
	tb.Helper()
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: threads, TempDir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	r := &DB{tb: tb, db: db, conn: conn}
	names, err := c.Tables(ctx, schema)
	if err != nil {
		tb.Fatal(err)
	}
	r.names = names
	for _, name := range names {
		files := Files(tb, c, schema, name)
		if len(files) == 0 {
			r.empty(c, schema, name)
			continue
		}
		quoted := make([]string, len(files))
		for i, f := range files {
			quoted[i] = plan.QuoteString(f)
		}
		r.Exec(fmt.Sprintf("CREATE OR REPLACE VIEW %s AS SELECT * FROM read_parquet([%s], hive_partitioning = false)", plan.QuoteIdent(name), strings.Join(quoted, ", ")))
	}
	return r
}

// Connect is another connection to the same database, for one more goroutine.
func (r *DB) Connect() *DB {
	r.tb.Helper()
	conn, err := r.db.Conn(context.Background())
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _ = conn.Close() })
	return &DB{tb: r.tb, db: r.db, conn: conn, names: r.names}
}

// empty makes a table without rows in the place of one without files.
func (r *DB) empty(c *catalog.Catalog, schema, name string) {
	r.tb.Helper()
	t, err := c.LoadTable(context.Background(), schema, name)
	if err != nil {
		r.tb.Fatal(err)
	}
	var columns []string
	for _, col := range t.Columns() {
		columns = append(columns, plan.QuoteIdent(col.Name)+" "+col.Type.String())
	}
	r.Exec(fmt.Sprintf("CREATE TABLE %s (%s)", plan.QuoteIdent(name), strings.Join(columns, ", ")))
}

// Files are the local paths of a table's data files now.
func Files(tb testing.TB, c *catalog.Catalog, schema, name string) []string {
	tb.Helper()
	files, err := FilesOf(c, schema, name)
	if err != nil {
		tb.Fatal(err)
	}
	return files
}

// FilesOf is Files for a table that may go away meanwhile.
func FilesOf(c *catalog.Catalog, schema, name string) ([]string, error) {
	ctx := context.Background()
	t, err := c.LoadTable(ctx, schema, name)
	if err != nil {
		return nil, err
	}
	planned, err := scan.Plan(ctx, t, t.SnapshotID(), t.Columns(), nil)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, task := range planned.Tasks {
		files = append(files, strings.TrimPrefix(task.File.FilePath(), "file://"))
	}
	return files, nil
}

// Exec runs a statement without a result.
func (r *DB) Exec(sql string) {
	r.tb.Helper()
	if err := r.conn.Exec(context.Background(), sql); err != nil {
		r.tb.Fatalf("reference: %v\n%s", err, sql)
	}
}

// Query runs a query.
func (r *DB) Query(sql string) *compare.Result {
	r.tb.Helper()
	result, err := r.Run(context.Background(), sql)
	if err != nil {
		r.tb.Fatalf("reference: %v\n%s", err, sql)
	}
	return result
}

// Run runs a query that may fail.
func (r *DB) Run(ctx context.Context, sql string) (*compare.Result, error) {
	stream, err := r.conn.Stream(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	result := compare.New(stream.Schema())
	for {
		batch, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return result, nil
		}
		if err != nil {
			return nil, err
		}
		result.Add(batch)
		batch.Release()
	}
}

// cut takes a query apart whose last clause is a LIMIT after an ORDER BY.
var cut = regexp.MustCompile(`(?is)^(.*\border\s+by\b.*?)(\s+limit\s+\d+(?:\s+offset\s+\d+)?\s*)$`)

// tied says whether a query's LIMIT cuts between rows that its ORDER BY leaves equal: which of them are in the answer then
// depends on how the others are ordered, here by all columns, up and down.
func (r *DB) tied(ctx context.Context, sql string) bool {
	parts := cut.FindStringSubmatch(sql)
	if parts == nil {
		return false
	}
	asked, err := r.Run(ctx, sql)
	if err != nil {
		return false
	}
	var answers []*compare.Result
	for _, direction := range []string{"ASC", "DESC"} {
		order := ""
		for i := range asked.Types {
			order += fmt.Sprintf(", %d %s", i+1, direction)
		}
		// An ORDER BY that is not the query's own, but a window's, makes no statement of this.
		answer, err := r.Run(ctx, parts[1]+order+parts[2])
		if err != nil {
			return false
		}
		answers = append(answers, answer)
	}
	return compare.Diff(answers[0], answers[1]) != ""
}

// Determined says whether a query gives the same rows whatever order the rows of its tables come in: false for ties at a LIMIT,
// first(), samples and the like. No system is held to one of the answers of such a query.
func (r *DB) Determined(ctx context.Context, sql string) (bool, error) {
	if r.tied(ctx, sql) {
		return false, nil
	}
	const orders = 4
	if !r.shuffled {
		for i := range orders {
			r.Exec(fmt.Sprintf("CREATE SCHEMA order%d", i))
			for _, name := range r.names {
				r.Exec(fmt.Sprintf("CREATE TABLE order%d.%s AS SELECT * FROM main.%[2]s ORDER BY hash(%[2]s, %[1]d)", i, plan.QuoteIdent(name)))
			}
		}
		r.shuffled = true
	}
	defer r.Exec("SET search_path = 'main'")
	var first *compare.Result
	for i := range orders {
		r.Exec(fmt.Sprintf("SET search_path = 'order%d'", i))
		got, err := r.Run(ctx, sql)
		if err != nil {
			return false, err
		}
		if first == nil {
			first = got
		} else if compare.Diff(first, got) != "" {
			return false, nil
		}
	}
	return true, nil
}

// Prepare says whether DuckDB takes a query at all.
func (r *DB) Prepare(ctx context.Context, sql string) error {
	_, _, _, err := r.conn.Describe(ctx, sql)
	return err
}
