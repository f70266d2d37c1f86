package planner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

// What DuckDB calls volatile is volatile for the planner too, in every release of DuckDB.
func TestVolatileFunctionsAreKnown(t *testing.T) {
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{})
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	rows, err := conn.Rows(ctx, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'")
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.True(t, isVolatile(&plan.Call{Name: row[0].(string), Of: plan.T(plan.BigInt)}), row[0])
	}
}

func random() plan.Expr { return &plan.Call{Name: "random", Of: plan.T(plan.Double)} }

// A volatile expression has one value for each row: it is not computed below an exchange and again above it.
func TestVolatileExpressionsAreComputedOnce(t *testing.T) {
	var ts tables
	one := &plan.Constant{Value: int64(1), Of: plan.T(plan.BigInt)}
	median := func(groups ...plan.Expr) plan.Node {
		return &plan.Aggregate{Input: ts.scan("t", 300), Groups: groups, Calls: []plan.AggregateCall{
			{Name: "median", Args: []plan.Expr{col(0)}, Of: plan.T(plan.Double)},
		}}
	}
	small := &plan.Project{Input: ts.scan("small", 1), Exprs: []plan.Expr{col(0), random()}}
	roots := map[string]plan.Node{
		"top-N":       &plan.Limit{Input: ts.scan("t", 300), Keys: []plan.SortKey{{Expr: random()}}, Count: one},
		"distinct on": &plan.Distinct{Input: ts.scan("t", 300), On: []plan.Expr{random()}},
		"groups":      median(random()),
		"window": &plan.Window{Input: ts.scan("t", 300), Calls: []plan.WindowCall{
			{Name: "row_number", PartitionBy: []plan.Expr{random()}, Of: plan.T(plan.BigInt)},
		}},
		"small side of a join": equiJoin(plan.Inner, ts.scan("t", 300), small),
		"join on it": &plan.Join{Kind: plan.Full, Left: ts.scan("t", 300), Right: ts.scan("t", 300), Conds: []plan.JoinCond{
			{Op: plan.Equal, Left: random(), Right: random()},
		}},
	}
	for name, root := range roots {
		stages, err := Distribute(root, ts.scans, Options{Slots: 4})
		require.NoError(t, err)
		checkReads(t, stages)
		computed := 0
		for _, s := range stages {
			if computesVolatile(s.Root) {
				computed++
				if name == "small side of a join" {
					require.Len(t, s.Tasks, 1, Explain(stages))
				}
			}
		}
		require.Equal(t, 1, computed, "%s\n%s", name, Explain(stages))
	}
}
