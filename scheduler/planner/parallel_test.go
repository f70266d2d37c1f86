package planner_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/corpora"
	"github.com/seracdb/serac/tests/simulate"
	"github.com/seracdb/serac/tests/tpch"
)

// How many queries really run in parallel, counted from the plans over tables of their usual sizes on eight slots: the largest
// scan is read by several tasks, and a filter, join, aggregate, limit or the like makes its rows fewer before they all
// go through one task. The golden files list the others with the reason.
func TestQueriesRunInParallel(t *testing.T) {
	for _, c := range []struct {
		file  string
		least int
		load  func(t *testing.T) corpora.Corpus
		rows  func(table string) int64
	}{
		{"tpch", 20, func(*testing.T) corpora.Corpus { return corpora.TPCH(0) }, func(table string) int64 { return tpch.TableByName(table).Rows(10) }},
		// 103 texts make TPC-DS's 99 queries: four have two.
		{"tpcds", 94, func(t *testing.T) corpora.Corpus { return corpora.TPCDS(t) }, tpcdsRows},
		{"clickbench", 40, func(t *testing.T) corpora.Corpus { return corpora.ClickBench(t) }, func(string) int64 { return 100_000_000 }},
	} {
		t.Run(c.file, func(t *testing.T) {
			corpus := c.load(t)
			s := newSimulator(t)
			require.NoError(t, corpus.Fill(func(ctx context.Context, sql string) error {
				if strings.HasPrefix(strings.ToUpper(sql), "INSERT") {
					return nil
				}
				return s.conn.Exec(ctx, sql)
			}))
			s.describe()
			for name, table := range s.tables {
				table.Rows, table.Bytes = c.rows(name), c.rows(name)*60
			}
			var others []string
			for _, q := range corpus.Queries {
				root := s.bind(q.SQL).Plan
				require.NotNil(t, root, q.Label)
				scans := s.sizedScans(root)
				stages, err := planner.Distribute(root, scans, planner.Options{Slots: 8})
				require.NoError(t, err, q.Label)
				if reason := serial(stages, scans); reason != "" {
					others = append(others, q.Label+": "+reason+"\n")
				}
			}
			parallel := len(corpus.Queries) - len(others)
			golden(t, filepath.Join("testdata", "parallel", c.file+".txt"),
				fmt.Sprintf("%d of %d in parallel\n%s", parallel, len(corpus.Queries), strings.Join(others, "")))
			require.GreaterOrEqual(t, parallel, c.least)
		})
	}
}

// tpcdsRows are those of scale factor 10.
func tpcdsRows(table string) int64 {
	rows, ok := map[string]int64{
		"inventory": 133_110_000, "store_sales": 28_800_991, "catalog_sales": 14_401_261, "web_sales": 7_197_566, "store_returns": 2_875_432,
		"customer_demographics": 1_920_800, "catalog_returns": 1_439_749, "web_returns": 719_217, "customer": 500_000, "customer_address": 250_000,
		"item": 102_000, "time_dim": 86_400, "date_dim": 73_049, "catalog_page": 12_000, "household_demographics": 7_200, "promotion": 500,
		"web_page": 200, "store": 102, "reason": 45, "web_site": 42, "call_center": 24, "income_band": 20, "ship_mode": 20, "warehouse": 10,
	}[table]
	if !ok {
		return 1
	}
	return rows
}

// sizedScans are scans whose sizes follow from the tables' rows and the columns read.
func (s *simulator) sizedScans(root plan.Node) map[plan.LeafID]planner.ScanFiles {
	scans := map[plan.LeafID]planner.ScanFiles{}
	plan.Walk(root, func(n plan.Node) bool {
		if scan, ok := n.(*plan.IcebergScan); ok {
			rows := s.tables[scan.TableKey].Rows
			scans[scan.Leaf] = columnShare{simulate.Share{Count: rows, Max: 100}, rows * 8 * int64(len(scan.Columns)) / 2}
		}
		return true
	})
	return scans
}

// serial says why the largest scan is not read in parallel and reduced before it is gathered; empty when it is. Of several
// largest ones each must be.
func serial(stages []*planner.Stage, scans map[plan.LeafID]planner.ScanFiles) string {
	var largest int64
	for _, s := range scans {
		largest = max(largest, s.Bytes())
	}
	for _, s := range stages {
		reason := ""
		plan.Walk(s.Root, func(n plan.Node) bool {
			scan, ok := n.(*plan.IcebergScan)
			if !ok || scans[scan.Leaf].Bytes() < largest || reason != "" {
				return true
			}
			parts := map[string]bool{} // a scan that every task reads whole is one part
			for _, task := range s.Tasks {
				if groups := task.Files[scan.Leaf]; len(groups) > 0 {
					parts[groups[0].Files[0].Path] = true
				}
			}
			if len(parts) < 2 {
				reason = fmt.Sprintf("%s is read by one task (stage %d)", scan.TableKey, s.ID)
			} else if at := gathered(stages, s, n); at != "" {
				reason = scan.TableKey + " " + at
			}
			return true
		})
		if reason != "" {
			return reason
		}
	}
	return ""
}

// gathered says where the rows of a leaf come into one task without anything having made them fewer.
func gathered(stages []*planner.Stage, s *planner.Stage, leaf plan.Node) string {
	if reducedAbove(s.Root, leaf) {
		return ""
	}
	if len(s.Tasks) == 1 {
		return fmt.Sprintf("comes into one task as it is (stage %d: %s)", s.ID, strings.Join(s.Notes, "; "))
	}
	for _, reader := range stages {
		found := ""
		plan.Walk(reader.Root, func(n plan.Node) bool {
			if read, ok := n.(*plan.ShuffleRead); ok && read.Stage == s.ID && found == "" {
				found = gathered(stages, reader, n)
			}
			return found == ""
		})
		if found != "" {
			return found
		}
	}
	return ""
}

// reducedAbove says whether something between a leaf and the root of its fragment makes its rows fewer.
func reducedAbove(root, leaf plan.Node) bool {
	path := pathTo(root, leaf)
	return slices.ContainsFunc(path, func(n plan.Node) bool {
		switch n.(type) {
		case *plan.Filter, *plan.Join, *plan.DelimJoin, *plan.Aggregate, *plan.Distinct, *plan.Limit:
			return true
		}
		return false
	})
}

// pathTo is the nodes from n down to the one that is sought, without that one.
func pathTo(n, sought plan.Node) []plan.Node {
	for _, c := range n.Children() {
		if c == sought {
			return []plan.Node{n}
		}
		if below := pathTo(c, sought); below != nil {
			return append([]plan.Node{n}, below...)
		}
	}
	return nil
}
