package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
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
	check := func(t *testing.T, producer string, n int, plan []byte) {
		got, err := client.RunSubstrait(context.Background(), plan)
		require.NoError(t, err)
		query := tpch.Query(n)
		if producer == "ibis" {
			// Substrait's average of a decimal is a decimal, in ibis-substrait's plans one of two digits.
			query = averages.ReplaceAllString(query, "CAST($0 AS DECIMAL(15,2))")
		}
		want := db.Query(query)
		require.NotEmpty(t, want.Rows)
		require.Len(t, got.Names, len(want.Names))
		require.Empty(t, compare.Diff(compare.Rounded(want), compare.Rounded(got), tpch.OrderedBy(n)...))
	}
	for _, producer := range tpch.Producers {
		for n := 1; n <= tpch.Queries; n++ {
			if plan := tpch.SubstraitPlan(producer, n); plan != nil {
				t.Run(fmt.Sprintf("%s/q%02d", producer, n), func(t *testing.T) { check(t, producer, n, plan) })
			}
		}
	}
	t.Run("prepared", func(t *testing.T) {
		ctx := context.Background()
		prepared, err := client.PrepareSubstrait(ctx, flightsql.SubstraitPlan{Plan: tpch.SubstraitPlan("datafusion", 6)})
		require.NoError(t, err)
		require.Len(t, prepared.DatasetSchema().Fields(), 1)
		info, err := prepared.Execute(ctx)
		require.NoError(t, err)
		reader, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
		require.NoError(t, err)
		defer reader.Release()
		got := compare.New(reader.Schema())
		for reader.Next() {
			got.Add(reader.RecordBatch())
		}
		require.NoError(t, reader.Err())
		require.Empty(t, compare.Diff(compare.Rounded(db.Query(tpch.Query(6))), compare.Rounded(got)))
		require.NoError(t, prepared.Close(ctx))
	})
	t.Run("made anew", func(t *testing.T) {
		python := pythonWith(t, "datafusion")
		dir := t.TempDir()
		var ddl strings.Builder
		for _, table := range tpch.Tables() {
			ddl.WriteString(table.CreateSQL(table.Name) + "\n")
		}
		schema := filepath.Join(dir, "schema.sql")
		require.NoError(t, os.WriteFile(schema, []byte(ddl.String()), 0o600))
		out, err := exec.Command(python, "../tpch/plans/make.py", "datafusion", schema, "../tpch/queries", dir).CombinedOutput()
		require.NoError(t, err, string(out))
		made := 0
		for n := 1; n <= tpch.Queries; n++ {
			plan, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("q%02d.pb", n)))
			if err == nil {
				check(t, "datafusion", n, plan)
				made++
			}
		}
		require.GreaterOrEqual(t, made, 15, string(out))
	})
}

// pythonWith is a Python that has a module; the test is skipped without one, or when not all tests are wanted.
func pythonWith(t *testing.T, module string) string {
	t.Helper()
	if os.Getenv("SERAC_TEST_ALL") == "" {
		t.Skip("set SERAC_TEST_ALL")
	}
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import "+module).Run()
	}
	if err != nil {
		t.Skip("Python with " + module + " is not installed")
	}
	return python
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
	var files []string
	for n := 1; n <= tpch.Queries; n++ {
		t.Run(fmt.Sprintf("q%02d", n), func(t *testing.T) {
			text := client.Value("EXPLAIN (FORMAT SUBSTRAIT_JSON) " + tpch.Query(n))
			file := filepath.Join(dataDir, fmt.Sprintf("q%02d.json", n))
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			files = append(files, file)
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
	t.Run("validator", func(t *testing.T) {
		python := pythonWith(t, "substrait_validator")
		out, err := exec.Command(python, append([]string{"testdata/validate.py"}, files...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		complaints := map[string]int{}
		require.NoError(t, json.Unmarshal(out, &complaints), string(out))
		document, err := os.ReadFile("../../docs/substrait.md")
		require.NoError(t, err)
		for complaint := range complaints {
			require.Contains(t, string(document), "`"+complaint+"`")
		}
		require.Greater(t, complaints["Warning 0001: not yet implemented: matching function calls with their definitions"], 0, "it has looked")
	})
	_, err := client.Run(context.Background(), "EXPLAIN (ANALYZE, FORMAT SUBSTRAIT_JSON) SELECT 1")
	require.ErrorContains(t, err, "without ANALYZE")
}

var averages = regexp.MustCompile(`avg\(\w+\)`)
