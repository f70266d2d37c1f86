package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// residualScan is a fakeScan of files of which the second conjunct of the scan's filter is left.
type residualScan struct {
	fakeScan
	conjuncts int32
}

func (f residualScan) Groups(target int64, minGroups int) []*seracv1.FileGroup {
	groups := f.fakeScan.Groups(target, minGroups)
	for _, g := range groups {
		g.Residuals = []*seracv1.Residual{{Conjuncts: f.conjuncts, Remaining: []int32{1}}}
		g.Files[0].Residual = 1
	}
	return groups
}

// A join filter is a further conjunct of the scan's filter, and one that is left for every file, whether the scan could be
// planned again or not.
func TestResidualsFollowJoinFilters(t *testing.T) {
	less := func(n int64) plan.Expr { return &plan.Comparison{Op: plan.Less, Left: col(1), Right: bigint(n)} }
	for name, pruned := range map[string]map[string]ScanFiles{
		"pruned":     {"orders": residualScan{fakeScan{name: "orders", bytes: 1000 * mib, max: 3}, 3}},
		"not pruned": nil,
	} {
		t.Run(name, func(t *testing.T) {
			ts := &tables{}
			orders := ts.scan("orders", 40000)
			orders.Filter = &plan.Conjunction{Args: []plan.Expr{less(100), less(200)}}
			ts.scans[orders.Leaf] = residualScan{fakeScan{name: "orders", rows: 40000 << 16, bytes: 40000 * mib, max: 5}, 2}
			first := wrote(10, 10, 10, 10, 10, 10, 10, 10)
			first.Keys = []KeySummary{{Column: 0, Min: bigint(3), Max: bigint(9), Values: []*plan.Constant{bigint(3), bigint(9)}}}
			w := &written{outputs: map[plan.StageID]*Output{0: first}, pruned: pruned}
			stages, err := Adapt(equiJoin(plan.Inner, orders, ts.scan("customers", 200)), ts.scans,
				Options{Slots: 4, ShufflePartitions: 8, Adaptive: Adaptive{Filters: true}}, w)
			require.NoError(t, err)
			read := 0
			for _, s := range stages {
				plan.Walk(s.Root, func(n plan.Node) bool {
					scan, ok := n.(*plan.IcebergScan)
					if !ok || scan.TableKey != "orders" {
						return true
					}
					conjuncts := plan.SplitConjunction(scan.Filter)
					require.Len(t, conjuncts, 3)
					require.Equal(t, []plan.Expr{less(100), less(200)}, conjuncts[:2])
					for _, task := range s.Tasks {
						for _, g := range task.Files[scan.Leaf] {
							for _, f := range g.Files {
								read++
								require.EqualValues(t, 1, f.Residual)
							}
							require.Equal(t, []*seracv1.Residual{{Conjuncts: 3, Remaining: []int32{1, 2}}}, g.Residuals)
						}
					}
					return true
				})
			}
			require.Equal(t, map[bool]int{true: 3, false: 5}[pruned != nil], read)
		})
	}
}
