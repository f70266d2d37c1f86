package e2e

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

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

// TestSubstraitRoundTrip sends back what EXPLAIN (FORMAT SUBSTRAIT_JSON) says of the TPC-H queries.
func TestSubstraitRoundTrip(t *testing.T) {
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	s := scales[0]
	load(t, client, s)
	db := reference.Open(t, openCatalog(t, dataDir), s.schema, 2)
	client.Query("USE " + s.schema)
	client.Query("SET distribution_threshold = '0B'")
	for n := 1; n <= tpch.Queries; n++ {
		t.Run(fmt.Sprintf("q%02d", n), func(t *testing.T) {
			text := client.Value("EXPLAIN (FORMAT SUBSTRAIT_JSON) " + tpch.Query(n))
			if dir := os.Getenv("SERAC_TEST_SUBSTRAIT"); dir != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("q%02d.json", n)), []byte(text), 0o600))
			}
			require.NotContains(t, text, "serac.v1.", "an extension relation")
			plan := &substraitpb.Plan{}
			require.NoError(t, protojson.Unmarshal([]byte(text), plan))
			b, err := proto.Marshal(plan)
			require.NoError(t, err)
			got, err := client.RunSubstrait(context.Background(), b)
			require.NoError(t, err)
			require.Empty(t, compare.Diff(db.Query(tpch.Query(n)), got, tpch.OrderedBy(n)...))
		})
	}
	_, err := client.Run(context.Background(), "EXPLAIN (ANALYZE, FORMAT SUBSTRAIT_JSON) SELECT 1")
	require.ErrorContains(t, err, "without ANALYZE")
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
