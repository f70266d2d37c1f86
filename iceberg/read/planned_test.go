package read_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/iceberg/read"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// partitioned is a table and, as truth in DuckDB, its rows.
type partitioned struct {
	catalog *catalog.Catalog
	conn    *duckdb.Conn
	table   *catalog.Table
	commits int
}

func (p *partitioned) reload(t *testing.T) {
	t.Helper()
	fresh, err := p.catalog.Reload(t.Context(), p.table)
	require.NoError(t, err)
	p.table = fresh
}

func (p *partitioned) commit(t *testing.T, files ...*seracv1.DataFile) {
	t.Helper()
	p.commits++
	_, err := commit.Append(t.Context(), p.catalog, p.table, commit.Request{CommitID: fmt.Sprint(p.commits), Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	p.reload(t)
}

func (p *partitioned) insert(t *testing.T, query string) {
	t.Helper()
	require.NoError(t, p.conn.Exec(t.Context(), "INSERT INTO truth "+query))
	p.commit(t, icetest.Write(t, p.conn, p.table, query)...)
}

// migrate adds rows of one partition of k in a file that has no column k, as migration from Hive leaves them.
func (p *partitioned) migrate(t *testing.T, k, query string) {
	t.Helper()
	require.NoError(t, p.conn.Exec(t.Context(), "INSERT INTO truth SELECT "+k+"::INTEGER, s, v FROM ("+query+")"))
	for _, file := range icetest.Write(t, p.conn, p.table, "SELECT "+k+"::INTEGER AS k, s, v FROM ("+query+")") {
		local, _, err := object.LocalPath(file.Path)
		require.NoError(t, err)
		path := filepath.Join(filepath.Dir(local), "migrated-"+filepath.Base(local))
		ids := fmt.Sprintf("{s: %d, v: %d}", p.table.Columns()[1].FieldID, p.table.Columns()[2].FieldID)
		require.NoError(t, p.conn.Exec(t.Context(), fmt.Sprintf("COPY (%s) TO '%s' (FORMAT parquet, FIELD_IDS %s)", query, path, ids)))
		info, err := os.Stat(path)
		require.NoError(t, err)
		bare := &seracv1.DataFile{
			Path: strings.Replace(file.Path, filepath.Base(local), filepath.Base(path), 1), SizeBytes: info.Size(), RecordCount: file.RecordCount,
			SpecId: file.SpecId, Partition: file.Partition, SchemaId: file.SchemaId, FormatVersion: file.FormatVersion,
		}
		p.commit(t, bare)
	}
}

// read is the rows of a scan under a filter, read in so many groups, with the SQL of each.
func (p *partitioned) read(t *testing.T, filter plan.Expr, groups int, whole bool) (rows, sqls []string, all []*seracv1.FileGroup) {
	t.Helper()
	n := &plan.IcebergScan{TableKey: "t", SnapshotID: p.table.SnapshotID(), Columns: p.table.Columns(), Filter: filter}
	files, err := scan.PlanScan(t.Context(), p.table, n)
	require.NoError(t, err)
	all = scan.Group(files, 1<<40, groups, groups)
	for _, g := range all {
		if whole { // as a reader that knows of no residuals
			g = proto.CloneOf(g)
			g.Residuals = nil
			for _, f := range g.Files {
				f.Residual = 0
			}
		}
		q, err := read.SQL(t.Context(), read.Input{
			Scan: n, Schema: p.table.Schema(), Schemas: p.table.Iceberg().Metadata().Schemas(), Group: g, TempDir: t.TempDir(), Prefix: "leaf1",
			Local: func(_ context.Context, path string) (string, error) {
				local, _, err := object.LocalPath(path)
				return local, err
			},
		})
		require.NoError(t, err)
		for _, s := range q.Setup {
			require.NoError(t, p.conn.Exec(t.Context(), s))
		}
		got, err := p.conn.Rows(t.Context(), q.SQL)
		require.NoError(t, err, q.SQL)
		for _, s := range q.Teardown {
			require.NoError(t, p.conn.Exec(t.Context(), s))
		}
		require.NoError(t, q.Close())
		for _, row := range got {
			rows = append(rows, fmt.Sprint(row))
		}
		sqls = append(sqls, q.SQL)
	}
	sort.Strings(rows)
	return rows, sqls, all
}

// Planned files read by their residuals give what DuckDB gives of the same rows: files of two partition specs, NULL
// partitions, files that lack the partition's column, deletes.
func TestResidualsOfPlannedFiles(t *testing.T) {
	p := &partitioned{catalog: icetest.SQLite(t), conn: icetest.DuckDB(t)}
	schema, err := iceberg.NewSchema([]iceberg.ColumnDef{
		{Name: "k", Type: plan.T(plan.Integer), Nullable: true}, {Name: "s", Type: plan.T(plan.Varchar), Nullable: true}, {Name: "v", Type: plan.T(plan.BigInt), Nullable: true},
	})
	require.NoError(t, err)
	spec, err := iceberg.NewPartitionSpec(schema, icetest.Terms(t, "k"))
	require.NoError(t, err)
	p.table, err = p.catalog.CreateTable(t.Context(), catalog.CreateRequest{
		Namespace: "ns", Name: "t", Schema: schema, PartitionSpec: spec, Properties: map[string]string{table.WriteDeleteModeKey: table.WriteModeMergeOnRead},
	})
	require.NoError(t, err)
	require.NoError(t, p.conn.Exec(t.Context(), "CREATE TABLE truth (k INTEGER, s VARCHAR, v BIGINT)"))
	const rows = "SELECT CASE WHEN i %% 5 < 4 THEN i %% 5 END::INTEGER AS k, ['a', 'b', '', 'é', NULL][1 + (i // 5) %% 5] AS s, CASE WHEN i %% 7 > 0 THEN i END::BIGINT AS v FROM range(%d, %d) r(i)"
	p.insert(t, fmt.Sprintf(rows, 0, 60))
	tx := p.table.Iceberg().NewTransaction()
	require.NoError(t, tx.Delete(t.Context(), ice.NewAnd(ice.GreaterThan(ice.Reference("v"), int64(30)), ice.LessThan(ice.Reference("v"), int64(45))), nil))
	_, err = tx.Commit(t.Context())
	require.NoError(t, err)
	p.reload(t)
	require.NoError(t, p.conn.Exec(t.Context(), "DELETE FROM truth WHERE v > 30 AND v < 45"))
	p.migrate(t, "7", "SELECT 'moved ' || i AS s, i::BIGINT AS v FROM range(5) r(i)")
	p.migrate(t, "NULL", "SELECT 'lost' AS s, 1::BIGINT AS v")
	tx = p.table.Iceberg().NewTransaction()
	update := tx.UpdateSpec(true)
	update.RemoveField("k").AddField("s", ice.IdentityTransform{}, "s_identity")
	require.NoError(t, update.Commit())
	_, err = tx.Commit(t.Context())
	require.NoError(t, err)
	p.reload(t)
	p.insert(t, fmt.Sprintf(rows, 60, 120))

	k, s, v := &plan.ColumnRef{Index: 0, Of: plan.T(plan.Integer)}, &plan.ColumnRef{Index: 1, Of: plan.T(plan.Varchar)}, &plan.ColumnRef{Index: 2, Of: plan.T(plan.BigInt)}
	number := func(n int64) plan.Expr { return &plan.Constant{Value: n, Of: k.Of} }
	compare := func(op plan.CompareOp, l, r plan.Expr) plan.Expr { return &plan.Comparison{Op: op, Left: l, Right: r} }
	operator := func(op plan.OperatorKind, args ...plan.Expr) plan.Expr {
		return &plan.Operator{Op: op, Args: args, Of: plan.T(plan.Boolean)}
	}
	text := func(v string) plan.Expr { return &plan.Constant{Value: v, Of: s.Of} }
	and := func(args ...plan.Expr) plan.Expr { return &plan.Conjunction{Args: args} }
	or := func(args ...plan.Expr) plan.Expr { return &plan.Conjunction{Or: true, Args: args} }
	large := compare(plan.Greater, v, &plan.Constant{Value: int64(40), Of: v.Of})
	filters := map[string]plan.Expr{
		"k = 1": compare(plan.Equal, k, number(1)), "k <> 1": compare(plan.NotEqual, k, number(1)), "k = 7": compare(plan.Equal, k, number(7)),
		"k = 1 AND v > 40": and(compare(plan.Equal, k, number(1)), large), "k = 1 OR v > 40": or(compare(plan.Equal, k, number(1)), large),
		"k < 2 OR s = a":    or(compare(plan.Less, k, number(2)), compare(plan.Equal, s, text("a"))),
		"k >= 2 AND s <> a": and(compare(plan.GreaterOrEqual, k, number(2)), compare(plan.NotEqual, s, text("a"))),
		"empty text":        and(compare(plan.Equal, s, text("")), compare(plan.Less, number(0), k)),
		"IS NULL":           operator(plan.OpIsNull, k), "IS NOT NULL": and(operator(plan.OpIsNotNull, k), operator(plan.OpIsNotNull, s)),
		"IN": operator(plan.OpIn, k, number(1), number(7), &plan.Constant{Of: k.Of}), "NOT IN": operator(plan.OpNotIn, k, number(1), number(7)),
		"NOT":      operator(plan.OpNot, or(compare(plan.Equal, k, number(2)), compare(plan.Equal, s, text("b")))),
		"BETWEEN":  &plan.Between{Arg: k, Low: number(1), High: number(3), HighInclusive: true},
		"distinct": and(compare(plan.DistinctFrom, k, number(3)), compare(plan.DistinctFrom, s, text("a")), large),
		"none":     nil,
	}
	for name, filter := range filters {
		condition := "true"
		if filter != nil {
			condition, err = render.Expr(filter, []string{"k", "s", "v"})
			require.NoError(t, err)
		}
		rows, err := p.conn.Rows(t.Context(), "SELECT k, s, v FROM truth WHERE "+condition)
		require.NoError(t, err)
		want := make([]string, len(rows))
		for i, row := range rows {
			want[i] = fmt.Sprint(row)
		}
		sort.Strings(want)
		require.NotEmpty(t, want, name)
		for _, groups := range []int{1, 3} {
			got, _, _ := p.read(t, filter, groups, false)
			require.Equal(t, want, got, name)
			got, _, _ = p.read(t, filter, groups, true)
			require.Equal(t, want, got, "%s, with the whole filter", name)
		}
	}

	_, _, groups := p.read(t, filters["k = 1"], 1, false)
	require.NotEmpty(t, groups[0].DeleteFiles)
	require.NotEmpty(t, groups[0].Residuals)

	// Of k = 7 there are the migrated file, of which nothing is left to ask, and files of the other spec.
	_, sqls, groups := p.read(t, filters["k = 7"], 1, false)
	require.Len(t, groups[0].Residuals, 1)
	require.Empty(t, groups[0].Residuals[0].Remaining)
	filtered := 0
	for _, call := range strings.Split(sqls[0], " UNION ALL ") {
		asks := strings.Contains(call, "WHERE")
		require.NotEqual(t, strings.Contains(call, "migrated-"), asks, call)
		if asks {
			filtered++
		}
	}
	require.Equal(t, strings.Count(sqls[0], "read_parquet(")-1, filtered)
}
