package planner_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/simulate"
	"github.com/seracdb/serac/tests/tpch"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files instead of comparing with them")

// The stages of TPC-H's queries at scale factor 10 on eight slots: where rows are exchanged, what is broadcast, what runs in
// one task. A change of a strategy shows here; read what changes before it is kept (go test -run Layout -rewrite).
func TestTPCHLayout(t *testing.T) {
	s := newSimulator(t)
	for _, table := range tpch.Tables() {
		s.exec(table.CreateSQL(table.Name))
	}
	s.describe()
	for _, table := range tpch.Tables() {
		s.tables[table.Name].Rows = table.Rows(10)
		s.tables[table.Name].Bytes = table.Rows(10) * 60
	}
	options := planner.Options{Slots: 8, TargetTaskSize: 256 << 20}
	for n := 1; n <= tpch.Queries; n++ {
		t.Run(fmt.Sprintf("q%02d", n), func(t *testing.T) {
			s.t = t
			root := s.bind(tpch.Query(n)).Plan
			stages, err := planner.Distribute(root, s.sizedScans(root), options)
			require.NoError(t, err)
			golden(t, filepath.Join("testdata", "tpch", fmt.Sprintf("q%02d.txt", n)), layout(stages))

			// The same where orders and lineitem lie in files by the order's key.
			options := options
			options.KeyRanges = true
			scans := s.sizedScans(root)
			for leaf, share := range scans {
				scans[leaf] = byOrder{share.(columnShare)}
			}
			stages, err = planner.Distribute(root, scans, options)
			require.NoError(t, err)
			golden(t, filepath.Join("testdata", "tpch-by-order", fmt.Sprintf("q%02d.txt", n)), layout(stages))
		})
	}
}

// byOrder is a table whose files follow the order's key, if it has one.
type byOrder struct{ columnShare }

func (s byOrder) KeySpans(column plan.ScanColumn) ([]planner.KeySpan, bool) {
	const files, orders = 40, 15_000_000
	if column.Name != "o_orderkey" && column.Name != "l_orderkey" {
		return nil, false
	}
	spans := make([]planner.KeySpan, files)
	for i := range spans {
		spans[i] = planner.KeySpan{
			Low: int64(i) * orders / files, High: int64(i+1)*orders/files - 1, Bytes: s.Bytes() / files, Rows: s.Rows() / files,
		}
	}
	return spans, true
}

func (s byOrder) KeyRanges(_ plan.ScanColumn, cuts []int64) []*seracv1.FileGroup {
	return s.Groups(1, len(cuts)+1)[:len(cuts)+1]
}

// columnShare is a share whose size follows from the columns read.
type columnShare struct {
	simulate.Share
	bytes int64
}

func (s columnShare) Bytes() int64 { return s.bytes }

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// layout is the stages without their expressions.
func layout(stages []*planner.Stage) string {
	var b strings.Builder
	for _, s := range stages {
		fmt.Fprintf(&b, "stage %d: %s, tasks: %d\n", s.ID, s.Describe(), len(s.Tasks))
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "  -- %s\n", note)
		}
		outline(&b, s.Root, "  ")
	}
	return b.String()
}

// outline writes the nodes that are more than a filter or a projection.
func outline(b *strings.Builder, n plan.Node, indent string) {
	line := ""
	switch n := n.(type) {
	case *plan.Filter, *plan.Project, *plan.ShuffleWrite:
	case *plan.IcebergScan:
		line = "scan " + n.TableKey
	case *plan.ShuffleRead:
		line = fmt.Sprintf("read stage %d", n.Stage)
		if n.Broadcast {
			line = fmt.Sprintf("read all of stage %d", n.Stage)
		}
	case *plan.DelimGet:
		line = "read the correlated values"
	default:
		line = plan.Describe(n)
	}
	if line != "" {
		b.WriteString(indent + line + "\n")
		indent += "  "
	}
	for _, c := range n.Children() {
		outline(b, c, indent)
	}
}

// Rule 12: how many rows and bytes a scan has, as the manifests say, decides which side of a join is broadcast.
func TestRule12EstimatesReachTheJoins(t *testing.T) {
	s := newSimulator(t)
	s.exec("CREATE TABLE x(k BIGINT, v BIGINT)")
	s.exec("CREATE TABLE y(k BIGINT, w BIGINT)")
	s.describe()
	for _, small := range []string{"x", "y"} {
		large := map[string]string{"x": "y", "y": "x"}[small]
		s.tables[small].Rows, s.tables[large].Rows = 10_000, 100_000_000
		s.tables[small].Bytes, s.tables[large].Bytes = 160_000, 1_600_000_000
		root := s.bind("SELECT x.v, y.w FROM x JOIN y ON x.k = y.k").Plan
		join := find[*plan.Join](root)
		require.Equal(t, small, find[*plan.IcebergScan](join.Right).TableKey, "DuckDB builds on the side that has few rows")
		stages, _ := s.distribute(root, planner.Options{Slots: 4})
		last := stages[len(stages)-1]
		require.Greater(t, len(last.Tasks), 1)
		for _, leaf := range last.Tasks[0].Shuffle {
			require.True(t, leaf.All)
			require.Equal(t, small, find[*plan.IcebergScan](stages[leaf.Stage].Root).TableKey)
		}
		require.Equal(t, large, find[*plan.IcebergScan](find[*plan.Join](last.Root).Left).TableKey, planner.Explain(stages))
		s.tables[small].Rows = 90_000_000
		root = s.bind("SELECT x.v, y.w FROM x JOIN y ON x.k = y.k").Plan
		stages, _ = s.distribute(root, planner.Options{Slots: 4})
		require.Len(t, stages, 3, "two large tables meet by their keys:\n%s", planner.Explain(stages))
	}
}

// find is the first node of a kind below n.
func find[N plan.Node](n plan.Node) N {
	var found N
	done := false
	plan.Walk(n, func(n plan.Node) bool {
		if at, ok := n.(N); ok && !done {
			found, done = at, true
		}
		return !done
	})
	return found
}
