package substrait

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/tpch"
)

// database is a DuckDB, the reference and what the texts run on.
type database struct {
	t    *testing.T
	conn *duckdb.Conn
}

func openDatabase(t *testing.T) *database {
	t.Helper()
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 2, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return &database{t, conn}
}

func (d *database) rows(sql string) (*compare.Result, error) {
	names, types, _, err := d.conn.Describe(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	rows, err := d.conn.Rows(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	out := &compare.Result{Names: names, Types: types}
	for _, row := range rows {
		cells := make([]compare.Cell, len(row))
		for i, v := range row {
			switch v := v.(type) {
			case nil:
				cells[i] = compare.Cell{Null: true}
			case float64:
				cells[i] = compare.Cell{IsFloat: true, Float: v}
			default:
				cells[i] = compare.Cell{Text: fmt.Sprint(v)}
			}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out, nil
}

// TestTPCH holds the plans of other producers against the SQL that they were made of.
func TestTPCH(t *testing.T) {
	db := openDatabase(t)
	require.NoError(t, tpch.CreateIn(context.Background(), db.conn.Exec, 0.01))
	for _, producer := range tpch.Producers {
		for n := 1; n <= tpch.Queries; n++ {
			b := tpch.SubstraitPlan(producer, n)
			if b == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s/q%02d", producer, n), func(t *testing.T) {
				text, err := SQL(b)
				require.NoError(t, err)
				t.Log(text)
				got, err := db.rows(text)
				require.NoError(t, err)
				query := tpch.Query(n)
				if producer == "ibis" {
					// Substrait's average of a decimal is a decimal, of ibis-substrait's plans with two digits.
					query = average.ReplaceAllString(query, "CAST($0 AS DECIMAL(15,2))")
				}
				want, err := db.rows(query)
				require.NoError(t, err)
				require.NotEmpty(t, want.Rows)
				require.Empty(t, compare.Diff(compare.Rounded(want), compare.Rounded(got), tpch.OrderedBy(n)...))
			})
		}
	}
}

var average = regexp.MustCompile(`avg\(\w+\)`)
