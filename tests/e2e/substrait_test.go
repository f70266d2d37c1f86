package e2e

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

// TestSubstrait runs plans that other producers made of TPC-H queries on a scheduler with two executors, with everything
// distributed, and holds them against DuckDB's answers to the queries themselves.
func TestSubstrait(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	s := scales[0]
	load(t, client, s)
	db := reference.Open(t, openCatalog(t, dataDir), s.schema, 2)
	client.Query("USE " + s.schema)
	client.Query("SET distribution_threshold = '0B'")
	client.Query(fmt.Sprintf("SET target_task_size = '%s'", s.taskSize))
	ctx := context.Background()
	for _, producer := range tpch.Producers {
		for n := 1; n <= tpch.Queries; n++ {
			plan := tpch.SubstraitPlan(producer, n)
			if plan == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s/q%02d", producer, n), func(t *testing.T) {
				got, err := client.RunSubstrait(ctx, plan)
				require.NoError(t, err)
				query := tpch.Query(n)
				if producer == "ibis" {
					// Substrait's average of a decimal is a decimal, in ibis-substrait's plans one of two digits.
					query = averages.ReplaceAllString(query, "CAST($0 AS DECIMAL(15,2))")
				}
				want := db.Query(query)
				require.NotEmpty(t, want.Rows)
				require.Len(t, got.Names, len(want.Names))
				require.Empty(t, compare.Diff(numbers(want), numbers(got), tpch.OrderedBy(n)...))
			})
		}
	}
}

var averages = regexp.MustCompile(`avg\(\w+\)`)

// numbers makes the numbers of a result comparable across types: DuckDB's averages and quotients are DOUBLEs where other
// producers' plans say decimals. Names and types are left aside.
func numbers(r *compare.Result) *compare.Result {
	for i := range r.Types {
		r.Names[i], r.Types[i] = "", ""
	}
	for _, row := range r.Rows {
		for i, c := range row {
			if f, err := strconv.ParseFloat(c.Text, 64); err == nil && !c.Null && !c.IsFloat {
				row[i] = compare.Cell{IsFloat: true, Float: f}
			}
			if row[i].IsFloat {
				row[i].Float = math.Round(row[i].Float*1e4) / 1e4
			}
		}
	}
	return r
}
