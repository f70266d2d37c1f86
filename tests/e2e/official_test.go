package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/tpch"
)

// official makes the benchmark's own data as Parquet files, and its published answers, with DuckDB's port of dbgen.
const official = `
import duckdb, duckdb_extension_tpch, glob, json, os, sys
out, sf, tables = sys.argv[1], float(sys.argv[2]), json.loads(sys.argv[3])
ext = glob.glob(os.path.join(os.path.dirname(duckdb_extension_tpch.__file__), "extensions", "*", "tpch.duckdb_extension"))[0]
con = duckdb.connect(os.path.join(out, "official.db"))
con.execute("LOAD '" + ext + "'")
con.execute("CALL dbgen(sf=" + str(sf) + ")")
for name, columns in tables.items():
    con.execute("COPY (SELECT " + ", ".join("CAST(" + c + " AS " + t + ") AS " + c for c, t in columns) + " FROM " + name
        + ") TO '" + os.path.join(out, name + ".parquet") + "' (FORMAT parquet)")
answers = con.execute("SELECT query_nr, answer FROM tpch_answers() WHERE scale_factor = ?", [sf]).fetchall()
json.dump(dict(answers), open(os.path.join(out, "answers.json"), "w"))
`

// TestPublishedAnswers runs the 22 queries on the benchmark's own data at scale factor 1 and holds them against the
// answers that the benchmark publishes. The files come from another writer and carry no field ids: Serac reads them by
// the table's name mapping.
func TestPublishedAnswers(t *testing.T) {
	if os.Getenv("SERAC_TEST_ALL") == "" {
		t.Skip("takes minutes: make test-all")
	}
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import duckdb, duckdb_extension_tpch").Run()
	}
	if err != nil {
		t.Skip("Python with duckdb and duckdb-extension-tpch (of one version) is not installed")
	}
	dataDir, files := t.TempDir(), t.TempDir()
	columns := map[string][][2]string{}
	for _, table := range tpch.Tables() {
		for _, c := range table.Columns {
			columns[table.Name] = append(columns[table.Name], [2]string{c.Name, c.Type})
		}
	}
	spec, err := json.Marshal(columns)
	require.NoError(t, err)
	out, err := exec.Command(python, "-c", official, files, "1", string(spec)).CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(filepath.Join(files, "answers.json"))
	require.NoError(t, err)
	var answers map[string]string
	require.NoError(t, json.Unmarshal(text, &answers))
	require.Len(t, answers, tpch.Queries)

	cluster := process.Distributed(t, dataDir, 2)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA official")
	client.Query("USE official")
	catalog := openCatalog(t, dataDir)
	ctx := context.Background()
	for _, table := range tpch.Tables() {
		// Files of other writers often declare no column as required, and Iceberg then refuses them for one that is.
		client.Query(strings.ReplaceAll(table.CreateSQL(table.Name), " NOT NULL", ""))
		loaded, err := catalog.LoadTable(ctx, "official", table.Name)
		require.NoError(t, err)
		path := filepath.Join(dataDir, "warehouse", table.Name+".parquet")
		require.NoError(t, os.Rename(filepath.Join(files, table.Name+".parquet"), path))
		tx := loaded.Iceberg().NewTransaction()
		require.NoError(t, tx.AddFiles(ctx, []string{path}, nil, false))
		_, err = tx.Commit(ctx)
		require.NoError(t, err)
	}
	for _, threshold := range []string{"0B", "100GB"} {
		client.Query("SET distribution_threshold = '" + threshold + "'")
		client.Query("SET target_task_size = '16MB'")
		for n := 1; n <= tpch.Queries; n++ {
			got := client.Query(tpch.Query(n))
			want := parseAnswer(answers[fmt.Sprint(n)], got)
			for _, row := range got.Rows {
				normalize(row)
			}
			require.Empty(t, compare.Diff(want, got, tpch.OrderedBy(n)...), "query %d, threshold %s", n, threshold)
		}
	}
	cluster.Stop()
}

// parseAnswer reads a published answer: a header and rows, cells apart by bars. Its types are those of the result.
func parseAnswer(text string, like *compare.Result) *compare.Result {
	answer := &compare.Result{Names: like.Names, Types: like.Types}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
		cells := strings.Split(line, "|")
		row := make([]compare.Cell, len(cells))
		for i, c := range cells {
			row[i] = compare.Cell{Text: c, Null: c == "NULL"}
			if i < len(like.Types) && like.Types[i] == "float64" {
				f, _, err := big.ParseFloat(c, 10, 64, big.ToNearestEven)
				if err == nil {
					row[i].IsFloat = true
					row[i].Float, _ = f.Float64()
				}
			}
		}
		normalize(row)
		answer.Rows = append(answer.Rows, row)
	}
	return answer
}

// normalize writes exact numbers in one way: 5.10 as 5.1.
func normalize(row []compare.Cell) {
	for i, c := range row {
		if !c.IsFloat && strings.Contains(c.Text, ".") {
			if _, ok := new(big.Rat).SetString(c.Text); ok {
				row[i].Text = strings.TrimRight(strings.TrimRight(c.Text, "0"), ".")
			}
		}
	}
}
