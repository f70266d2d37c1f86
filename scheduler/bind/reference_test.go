package bind

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
)

// reference is a DuckDB with real tables, against whose answers the rendered plans are compared.
type reference struct {
	conn   *duckdb.Conn
	tables map[string]*Table // by lower-case name
}

const (
	testCatalog = "serac"
	testSchema  = "ns"
)

func newReference(t *testing.T, fill func(exec func(ctx context.Context, sql string) error) error) *reference {
	t.Helper()
	ctx := context.Background()
	// One thread: where ORDER BY leaves ties, the order is the same in every run.
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1, MemoryLimit: 1 << 30})
	require.NoError(t, err)
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	})
	require.NoError(t, fill(conn.Exec))
	r := &reference{conn: conn, tables: map[string]*Table{}}
	rows, err := conn.Rows(ctx, `SELECT c.table_name, column_name, data_type, is_nullable, column_index, estimated_size
		FROM duckdb_columns() c JOIN duckdb_tables() t USING (table_oid) WHERE NOT c.internal ORDER BY table_oid, column_index`)
	require.NoError(t, err)
	for _, row := range rows {
		name := strings.ToLower(row[0].(string))
		table := r.tables[name]
		if table == nil {
			table = &Table{Catalog: testCatalog, Schema: testSchema, Name: name, Key: testCatalog + "." + testSchema + "." + name + "@1",
				Rows: max(row[5].(int64), 1), Bytes: -1, SnapshotID: 1}
			r.tables[name] = table
		}
		of, err := plan.ParseType(row[2].(string))
		require.NoError(t, err)
		table.Columns = append(table.Columns, plan.ScanColumn{FieldID: int32(row[4].(int64)), Name: row[1].(string), Type: of, Nullable: row[3].(bool)})
	}
	return r
}

func (r *reference) resolve(_ context.Context, ref Ref) (*Table, error) {
	t, ok := r.tables[strings.ToLower(ref.Parts[len(ref.Parts)-1])]
	if !ok || len(ref.Parts) > 1 && !strings.EqualFold(ref.Parts[len(ref.Parts)-2], testSchema) {
		return nil, &NotFoundError{Name: ref.String()}
	}
	return t, nil
}

func (r *reference) request(sql string) Request {
	return Request{SQL: sql, Catalog: testCatalog, Schema: testSchema, Resolve: r.resolve}
}

// leaf reads a scan from the reference's own table.
func (r *reference) leaf(n plan.Node) (string, error) {
	scan, ok := n.(*plan.IcebergScan)
	if !ok {
		return "", nil
	}
	for _, t := range r.tables {
		if t.Key != scan.TableKey {
			continue
		}
		cols, names := make([]string, len(scan.Columns)), make([]string, len(scan.Columns))
		for i, c := range scan.Columns {
			names[i] = plan.QuoteIdent(c.Name)
			cols[i] = fmt.Sprintf("%s AS c%d", names[i], i)
		}
		sql := "SELECT " + strings.Join(cols, ", ") + " FROM main." + plan.QuoteIdent(t.Name)
		if scan.Filter == nil {
			return sql, nil
		}
		// Rows that the filter rules out may be missing: here they all are.
		where, err := render.Expr(scan.Filter, names)
		return sql + " WHERE " + where, err
	}
	return "", fmt.Errorf("no table %s", scan.TableKey)
}

// answer is a statement's types and rows, the rows as texts.
type answer struct {
	types []string
	rows  []string
	err   error
}

func (r *reference) run(ctx context.Context, sql string) answer {
	var a answer
	if _, a.types, _, a.err = r.conn.Describe(ctx, sql); a.err != nil {
		return a
	}
	rows, err := r.conn.Rows(ctx, sql)
	if err != nil {
		a.err = err
		return a
	}
	for _, row := range rows {
		for i, v := range row {
			if f, ok := v.(float64); ok {
				row[i] = fmt.Sprintf("%.9g", f) // sums of floating-point numbers depend on the order
			}
		}
		a.rows = append(a.rows, fmt.Sprint(row...))
	}
	return a
}

// differ says how two answers differ; "" when they do not. Unordered rows are compared as a multiset.
func (a answer) differ(b answer, ordered bool) string {
	if a.err != nil || b.err != nil {
		if a.err != nil && b.err != nil {
			return "" // both refuse
		}
		return fmt.Sprintf("errors %v and %v", a.err, b.err)
	}
	if !slices.Equal(a.types, b.types) {
		return fmt.Sprintf("types %v and %v", a.types, b.types)
	}
	x, y := slices.Clone(a.rows), slices.Clone(b.rows)
	if !ordered {
		slices.Sort(x)
		slices.Sort(y)
	}
	if len(x) != len(y) {
		return fmt.Sprintf("%d rows and %d rows", len(x), len(y))
	}
	for i := range x {
		if x[i] != y[i] {
			return fmt.Sprintf("row %d:\n  %s\n  %s", i, x[i], y[i])
		}
	}
	return ""
}

// renderedPlan renders a plan over the reference's tables.
func (r *reference) rendered(n plan.Node) (string, error) {
	return render.SQL(n, render.Options{Leaf: r.leaf})
}
