package scan_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// pools are the values of each column of the test tables, in DuckDB's order, with the edges that have been got wrong:
// NaN, negative zero, infinities, the empty string, texts that share prefixes or hold LIKE's special characters, days
// before 1970.
var pools = []struct {
	name   string
	of     plan.Type
	values []any
}{
	{"b", plan.T(plan.Boolean), []any{false, true}},
	{"i", plan.T(plan.Integer), []any{int64(math.MinInt32), int64(-17), int64(-1), int64(0), int64(1), int64(2), int64(9), int64(10), int64(99), int64(math.MaxInt32)}},
	{"l", plan.T(plan.BigInt), []any{int64(math.MinInt64), int64(-5), int64(0), int64(7), int64(8), int64(1 << 40), int64(math.MaxInt64)}},
	{"f", plan.T(plan.Float), []any{math.Inf(-1), float64(float32(-1.5)), math.Copysign(0, -1), 0.0, float64(float32(0.1)), 5.0, math.Inf(1), math.NaN()}},
	{"d", plan.T(plan.Double), []any{math.Inf(-1), -1e300, math.Copysign(0, -1), 0.0, 0.1, 5.0, 1e17, math.Inf(1), math.NaN()}},
	{"n", plan.DecimalType(9, 2), []any{big.NewInt(-99999), big.NewInt(-1), big.NewInt(0), big.NewInt(1), big.NewInt(250), big.NewInt(999999999)}},
	{"m", plan.DecimalType(38, 10), []any{huge("-12345678901234567890123456789"), big.NewInt(-10000000000), big.NewInt(0), big.NewInt(3), huge("99999999999999999999999999999999999999")}},
	{"t", plan.T(plan.Date), []any{int64(-800), int64(-366), int64(-1), int64(0), int64(1), int64(31), int64(10957), int64(20000)}},
	{"c", plan.T(plan.Time), []any{int64(0), int64(1), int64(3600000000), int64(86399999999)}},
	{"s", plan.T(plan.Timestamp), []any{int64(-86400000001), int64(-3600000000), int64(-1), int64(0), int64(1), int64(3599999999), int64(86400000000), int64(1700000000000000)}},
	{"z", plan.T(plan.TimestampTZ), []any{int64(-1), int64(0), int64(1700000000000000), int64(1700000000000001)}},
	{"v", plan.T(plan.Varchar), []any{"", "A", "a", "a%c", "a_c", "ab", "abc", "abcd", "abd", `a\_c`, "star%", "star*", "z", "é", "日本", "\U0010ffff"}},
	{"x", plan.T(plan.Blob), []any{[]byte{}, []byte{0}, []byte{0, 1}, []byte("ab"), []byte{0x7f}, []byte{0x80}, []byte{0xff, 0xff}}},
	{"u", plan.T(plan.UUID), []any{[16]byte{}, [16]byte{15: 1}, [16]byte{0: 0x7f}, [16]byte{0: 0x80}, [16]byte{0: 0xff, 15: 9}}},
}

func huge(text string) *big.Int {
	v, ok := new(big.Int).SetString(text, 10)
	if !ok {
		panic(text)
	}
	return v
}

// fixture is a table with its files.
type fixture struct {
	conn    *duckdb.Conn
	table   *catalog.Table
	columns []plan.ScanColumn
	names   []string // quoted, as SQL over the files
	paths   []string
}

// createTable creates a table of the pools' columns.
func createTable(t testing.TB, c *catalog.Catalog, name string, terms ...string) *catalog.Table {
	t.Helper()
	defs := make([]iceberg.ColumnDef, len(pools))
	for i, p := range pools {
		defs[i] = iceberg.ColumnDef{Name: p.name, Type: p.of, Nullable: true}
	}
	schema, err := iceberg.NewSchema(defs)
	require.NoError(t, err)
	spec, err := iceberg.NewPartitionSpec(schema, icetest.Terms(t, terms...))
	require.NoError(t, err)
	tbl, err := c.CreateTable(context.Background(), catalog.CreateRequest{Namespace: "ns", Name: name, Schema: schema, PartitionSpec: spec})
	require.NoError(t, err)
	return tbl
}

// newFixture writes a table in so many batches; the rows of a batch come from a narrow part of each pool, so that files
// differ in their bounds.
func newFixture(t testing.TB, c *catalog.Catalog, conn *duckdb.Conn, rng *rand.Rand, name string, batches, rows int, terms ...string) *fixture {
	t.Helper()
	f := &fixture{conn: conn, table: createTable(t, c, name, terms...)}
	f.write(t, c, rng, name, batches, rows)
	f.columns = f.table.Columns()
	for _, c := range f.columns {
		f.names = append(f.names, plan.QuoteIdent(c.Name))
	}
	return f
}

// write adds batches, in two commits, so that there are manifests to choose from.
func (f *fixture) write(t testing.TB, c *catalog.Catalog, rng *rand.Rand, id string, batches, rows int) {
	t.Helper()
	for half := range 2 {
		var files []*seracv1.DataFile
		for range batches / 2 {
			files = append(files, icetest.Write(t, f.conn, f.table, randomRows(t, rng, rows))...)
		}
		_, err := commit.Append(context.Background(), c, f.table, commit.Request{CommitID: fmt.Sprint(id, half), Files: files, Operation: commit.OpAppend})
		require.NoError(t, err)
		f.table = reload(t, c, f.table)
		for _, file := range files {
			f.paths = append(f.paths, file.Path)
		}
	}
}

// respec changes the table's partition spec.
func (f *fixture) respec(t testing.TB, c *catalog.Catalog, change func(*table.UpdateSpec)) {
	t.Helper()
	tx := f.table.Iceberg().NewTransaction()
	update := tx.UpdateSpec(true)
	change(update)
	require.NoError(t, update.Commit())
	_, err := tx.Commit(context.Background())
	require.NoError(t, err)
	f.table = reload(t, c, f.table)
}

func randomRows(t testing.TB, rng *rand.Rand, rows int) string {
	t.Helper()
	from, width := make([]int, len(pools)), make([]int, len(pools))
	nulls := make([]float64, len(pools))
	for i, p := range pools {
		width[i] = 1 + rng.IntN(3)
		from[i] = rng.IntN(len(p.values))
		nulls[i] = []float64{0, 0, 0.3, 1}[rng.IntN(4)]
	}
	lines := make([]string, rows)
	for r := range lines {
		cells := make([]string, len(pools))
		for i, p := range pools {
			constant := &plan.Constant{Of: p.of}
			if rng.Float64() >= nulls[i] {
				constant.Value = p.values[min(from[i]+rng.IntN(width[i]), len(p.values)-1)]
			}
			text, err := render.Expr(constant, nil)
			require.NoError(t, err)
			cells[i] = text
		}
		lines[r] = "(" + strings.Join(cells, ", ") + ")"
	}
	return "SELECT * FROM (VALUES " + strings.Join(lines, ", ") + ")"
}

// matching are the paths of the files that hold a row for which the predicate is true, by DuckDB, with their row counts.
func (f *fixture) matching(t testing.TB, predicate plan.Expr) (map[string]int64, string) {
	t.Helper()
	text, err := render.Expr(predicate, f.names)
	require.NoError(t, err)
	quoted := make([]string, len(f.paths))
	for i, p := range f.paths {
		quoted[i] = plan.QuoteString(p)
	}
	rows, err := f.conn.Rows(context.Background(), fmt.Sprintf(
		"SELECT filename, count(*) FROM read_parquet([%s], filename = true, hive_partitioning = false) WHERE %s GROUP BY ALL", strings.Join(quoted, ", "), text))
	require.NoError(t, err, text)
	out := map[string]int64{}
	for _, row := range rows {
		out[row[0].(string)] = row[1].(int64)
	}
	return out, text
}
