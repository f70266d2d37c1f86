package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
	"github.com/seracdb/serac/tests/tpch"
)

// engine is another engine, in a process of its own (engines.py).
type engine struct {
	name   string
	in     io.Writer
	out    *bufio.Scanner
	failed map[string]string // by query
}

type reply struct {
	Version, Error string
	Rows           int
}

// startEngine starts an engine over tables; nil when this Python does not have it.
func startEngine(tb testing.TB, python, name, tables string, threads int) *engine {
	tb.Helper()
	cmd := exec.Command(python, "engines.py", name, tables, strconv.Itoa(threads))
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	e := &engine{in: in, out: bufio.NewScanner(out), failed: map[string]string{}}
	first, ok := e.read()
	if !ok {
		fmt.Printf("%s: not at hand (%s, engines.py)\n", name, python)
		return nil
	}
	e.name = name + " " + first.Version
	return e
}

func (e *engine) read() (reply, bool) {
	var r reply
	for e.out.Scan() {
		if json.Unmarshal(e.out.Bytes(), &r) == nil {
			return r, true
		}
	}
	return r, false
}

func (e *engine) run(sql string) {
	line, _ := json.Marshal(sql)
	_, _ = e.in.Write(append(line, '\n'))
	r, ok := e.read()
	if !ok {
		r.Error = "the engine is gone"
	}
	if r.Error != "" {
		e.failed[sql] = r.Error
	}
}

// BenchmarkEngines compares TPC-H's queries in `serac serve` with DuckDB and with other engines on the same Parquet files:
// those of DataFusion, Ballista and Spark that the Python named by SERAC_BENCH_PYTHON has, and Trino where engines.py is told of it.
func BenchmarkEngines(b *testing.B) {
	python := os.Getenv("SERAC_BENCH_PYTHON")
	if python == "" {
		b.Skip("SERAC_BENCH_PYTHON names no Python with datafusion, ballista or pyspark")
	}
	dataDir := dataTPCH(b)
	client := process.Serve(b, dataDir).Connect(b)
	client.Query("USE tpch")
	catalog := openCatalog(b, dataDir)
	type table struct {
		Files    []string `json:"files"`
		Metadata string   `json:"metadata"`
	}
	described := map[string]table{}
	for _, t := range tpch.Tables() {
		loaded, err := catalog.LoadTable(b.Context(), "tpch", t.Name)
		require.NoError(b, err)
		described[t.Name] = table{Files: reference.Files(b, catalog, "tpch", t.Name), Metadata: loaded.MetadataLocation()}
	}
	text, err := json.Marshal(described)
	require.NoError(b, err)
	tables := filepath.Join(b.TempDir(), "tables.json")
	require.NoError(b, os.WriteFile(tables, text, 0o600))

	threads := runtime.NumCPU()
	sides := []side{duckSide(reference.Open(b, catalog, "tpch", threads)), seracSide("serac serve", client)}
	var engines []*engine
	for _, name := range []string{"datafusion", "ballista", "spark", "trino"} {
		if e := startEngine(b, python, name, tables, threads); e != nil {
			engines = append(engines, e)
			sides = append(sides, side{name: e.name, run: e.run})
		}
	}
	c := newComparison(sides...)
	for n := 1; n <= tpch.Queries; n++ {
		c.measure(fmt.Sprintf("q%d", n), tpch.Query(n))
	}
	c.end()
	for _, e := range engines {
		for n := 1; n <= tpch.Queries; n++ {
			if why := e.failed[tpch.Query(n)]; why != "" {
				fmt.Printf("%s failed q%d, whose time is meaningless: %s\n", e.name, n, why)
			}
		}
	}
	for i := range engines {
		b.ReportMetric(c.totalRatio(i+2), "engine"+strconv.Itoa(i+1)+"/duckdb")
	}
}
