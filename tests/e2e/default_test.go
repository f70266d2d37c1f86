package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	icetable "github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// TestDefaults adds columns with defaults to a table of format version 3: rows from before have the initial default, rows of an
// INSERT that leaves the columns out the write default, which DuckDB finds in the files and iceberg-go reads as well.
func TestDefaults(t *testing.T) {
	ctx := context.Background()
	dataDir := t.TempDir()
	client := process.Serve(t, dataDir).Connect(t)
	client.Query("CREATE SCHEMA w")
	client.Query("USE w")
	client.Query("CREATE TABLE d (id BIGINT) TBLPROPERTIES ('format-version' = '3')")
	client.Query("INSERT INTO d VALUES (1)")

	catalog := openCatalog(t, dataDir)
	loaded, err := catalog.LoadTable(ctx, "w", "d")
	require.NoError(t, err)
	tx := loaded.Iceberg().NewTransaction()
	update := tx.UpdateSchema(true, false)
	for _, c := range []struct {
		name     string
		of       ice.Type
		required bool
		value    ice.Literal
	}{
		{"n", ice.PrimitiveTypes.Int32, true, ice.NewLiteral(int32(7))},
		{"s", ice.PrimitiveTypes.String, false, ice.NewLiteral("it's")},
		{"f", ice.PrimitiveTypes.Float64, false, ice.NewLiteral(-0.5)},
		{"dt", ice.PrimitiveTypes.Date, false, ice.NewLiteral(ice.Date(-1))},
		{"b", ice.PrimitiveTypes.Bool, false, ice.NewLiteral(true)},
	} {
		update.AddColumn([]string{c.name}, c.of, "", c.required, c.value)
	}
	require.NoError(t, update.Commit())
	_, err = tx.Commit(ctx)
	require.NoError(t, err)
	// From now on, rows get another value of s.
	loaded, err = catalog.LoadTable(ctx, "w", "d")
	require.NoError(t, err)
	tx = loaded.Iceberg().NewTransaction()
	update = tx.UpdateSchema(true, false)
	update.UpdateColumn([]string{"s"}, icetable.ColumnUpdate{WriteDefault: ice.Optional[ice.Literal]{Val: ice.NewLiteral("later"), Valid: true}})
	require.NoError(t, update.Commit())
	_, err = tx.Commit(ctx)
	require.NoError(t, err)

	client.Query("INSERT INTO d (id) VALUES (2)")
	client.Query("INSERT INTO d (b, id) SELECT NULL, 3")
	client.Query("INSERT INTO d VALUES (4, 8, NULL, NULL, NULL, NULL)")
	client.Query("INSERT INTO d DEFAULT VALUES")
	const rows = `SELECT * FROM (VALUES
		(2::BIGINT, 7, 'later', -0.5::DOUBLE, DATE '1969-12-31', true), (3, 7, 'later', -0.5, DATE '1969-12-31', NULL),
		(4, 8, NULL, NULL, NULL, NULL), (NULL, 7, 'later', -0.5, DATE '1969-12-31', true)%s) r(id, n, s, f, dt, b)`
	old := ", (1, 7, 'it''s', -0.5, DATE '1969-12-31', true)"
	db := reference.Open(t, catalog, "w", 1)
	require.Empty(t, compare.Diff(db.Query(fmt.Sprintf(rows, old)), client.Query("SELECT * FROM d")))
	require.Empty(t, compare.Diff(db.Query(fmt.Sprintf(rows, "")), db.Query(fmt.Sprintf(
		"SELECT id, n, s, f, dt, b FROM read_parquet(['%s'], union_by_name = true) WHERE n IS NOT NULL", strings.Join(reference.Files(t, catalog, "w", "d"), "', '")))), "the values are in the files")

	loaded, err = catalog.LoadTable(ctx, "w", "d")
	require.NoError(t, err)
	for filter, want := range map[ice.BooleanExpression]int64{
		ice.EqualTo(ice.Reference("s"), "later"): 3, ice.EqualTo(ice.Reference("n"), int32(8)): 1, ice.IsNull(ice.Reference("b")): 2,
	} {
		_, records, err := loaded.Iceberg().Scan(icetable.WithRowFilter(filter)).ToArrowRecords(ctx)
		require.NoError(t, err)
		n := int64(0)
		for r, err := range records {
			require.NoError(t, err)
			n += r.NumRows()
			r.Release()
		}
		require.Equal(t, want, n, "%s", filter)
	}
}
