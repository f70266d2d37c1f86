package planner

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// fakeScan is a scan whose files can be cut into any number of groups up to max.
type fakeScan struct {
	name        string
	rows, bytes int64
	max         int
}

func (f fakeScan) Rows() int64  { return f.rows }
func (f fakeScan) Bytes() int64 { return f.bytes }
func (f fakeScan) Groups(target int64, minGroups int) []*seracv1.FileGroup {
	n := min(max(minGroups, int(f.bytes/target)), f.max)
	groups := make([]*seracv1.FileGroup, max(n, 1))
	for i := range groups {
		groups[i] = &seracv1.FileGroup{Files: []*seracv1.FileScanTask{
			{Path: fmt.Sprintf("%s/%d", f.name, i), Length: f.bytes / int64(len(groups))},
		}}
	}
	return groups
}

// tables makes scans of two BIGINT columns with sizes in MiB.
type tables struct{ scans map[plan.LeafID]ScanFiles }

func (ts *tables) scan(name string, mib int64) *plan.IcebergScan {
	if ts.scans == nil {
		ts.scans = map[plan.LeafID]ScanFiles{}
	}
	leaf := plan.LeafID(len(ts.scans) + 1)
	ts.scans[leaf] = fakeScan{name: name, rows: mib << 16, bytes: mib << 20, max: 100}
	return &plan.IcebergScan{Leaf: leaf, TableKey: name, Columns: []plan.ScanColumn{
		{FieldID: 1, Name: "k", Type: plan.T(plan.BigInt)}, {FieldID: 2, Name: "v", Type: plan.T(plan.BigInt)},
	}}
}

func col(i int) *plan.ColumnRef { return &plan.ColumnRef{Index: i, Of: plan.T(plan.BigInt)} }

func countStar(in plan.Node, groups ...plan.Expr) *plan.Aggregate {
	return &plan.Aggregate{Input: in, Groups: groups, Calls: []plan.AggregateCall{{Name: "count_star", Of: plan.T(plan.BigInt)}}}
}

func equiJoin(kind plan.JoinKind, l, r plan.Node) *plan.Join {
	return &plan.Join{Kind: kind, Left: l, Right: r, Conds: []plan.JoinCond{{Op: plan.Equal, Left: col(0), Right: col(0)}}}
}

// checkReads holds every stage to invariant 2: over its tasks each group and each partition of a leaf is read exactly
// once, or, where a leaf is replicated, once by every task that reads it at all; and every leaf is read by somebody.
func checkReads(t *testing.T, stages []*Stage) {
	t.Helper()
	byID := map[plan.StageID]*Stage{}
	for _, s := range stages {
		for _, in := range s.Inputs {
			require.Contains(t, byID, in, "stage %d reads a stage that does not come before it", s.ID)
		}
		byID[s.ID] = s
		read := map[plan.LeafID]map[string]int{}
		note := func(leaf plan.LeafID, what string) {
			if read[leaf] == nil {
				read[leaf] = map[string]int{}
			}
			read[leaf][what]++
		}
		for _, task := range s.Tasks {
			for leaf, groups := range task.Files {
				for _, g := range groups {
					note(leaf, g.Files[0].Path)
				}
			}
			for _, leaf := range task.Constants {
				note(leaf, "constant")
			}
			for _, in := range task.Shuffle {
				if in.All {
					note(in.Leaf, "all")
				}
				for _, p := range in.Partitions {
					// Each task's share of a partition is read once, whether or not with the others'.
					for producer := range byID[in.Stage].Tasks {
						if r := in.Producers; r == nil || int32(producer) >= r.From && int32(producer) < r.To {
							note(in.Leaf, fmt.Sprintf("%d of %d", p, producer))
						}
					}
				}
			}
		}
		eachLeaf(s.Root, func(n plan.Node, leaf plan.LeafID) {
			require.NotEmpty(t, read[leaf], "stage %d: leaf %d (%T) is read by no task", s.ID, leaf, n)
			times := map[int]bool{}
			for _, n := range read[leaf] {
				times[n] = true
			}
			require.Len(t, times, 1, "stage %d: leaf %d is read unevenly: %v", s.ID, leaf, read[leaf])
			if r, ok := n.(*plan.ShuffleRead); ok && !r.Broadcast {
				want := byID[r.Stage].Root.(*plan.ShuffleWrite).Partitions * len(byID[r.Stage].Tasks)
				require.Len(t, read[leaf], want, "stage %d: leaf %d does not read every partition of stage %d", s.ID, leaf, r.Stage)
				require.True(t, times[1], "stage %d: leaf %d reads a partition twice", s.ID, leaf)
			}
			delete(read, leaf)
		})
		require.Empty(t, read, "stage %d: assignments for leaves that its fragment does not have", s.ID)
	}
}

func TestEveryLeafIsReadExactlyOnce(t *testing.T) {
	var ts tables
	small := func() *plan.IcebergScan { return ts.scan("small", 1) }
	big := func() *plan.IcebergScan { return ts.scan("big", 300) }
	union := func(in ...plan.Node) *plan.SetOp { return &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: in} }
	values := &plan.Values{Leaf: 1000, Rows: [][]plan.Expr{{col(0), col(0)}}, Out: small().Schema()}
	selfUnion := big()
	roots := map[string]plan.Node{
		"scan":                         big(),
		"union of a table with itself": union(selfUnion, big()),
		"union of three":               union(big(), small(), big()),
		"union with constants":         union(big(), values),
		"union with global aggregate":  union(countStar(big()), countStar(small())),
		"union under an aggregate":     countStar(union(big(), big()), col(0)),
		"broadcast join":               equiJoin(plan.Inner, big(), ts.scan("mid", 10)),
		"replicated join":              equiJoin(plan.Inner, big(), small()),
		"replicated join in a union":   union(equiJoin(plan.Inner, big(), small()), big()),
		"partitioned join":             equiJoin(plan.Full, big(), big()),
		"join of aggregates":           equiJoin(plan.Inner, countStar(big(), col(0)), countStar(big(), col(0))),
		"cross with global aggregate":  &plan.Join{Kind: plan.Inner, Left: big(), Right: countStar(big())},
		"distinct":                     &plan.Distinct{Input: big()},
		"except":                       &plan.SetOp{Op: plan.SetExcept, Inputs: []plan.Node{big(), small()}},
		"cte used twice": &plan.CTE{Index: 1, Name: "x", Def: countStar(big(), col(0)), Body: equiJoin(plan.Inner,
			&plan.CTERef{Index: 1, Out: small().Schema()}, &plan.CTERef{Index: 1, Out: small().Schema()})},
		"correlated": &plan.DelimJoin{Keys: []int{0}, Join: equiJoin(plan.Left, big(), equiJoin(plan.Inner, big(),
			&plan.DelimGet{Out: plan.Schema{{Name: "k", Type: plan.T(plan.BigInt)}}}))},
		"top-N": &plan.Limit{Input: big(), Keys: []plan.SortKey{{Expr: col(0)}}, Count: &plan.Constant{Value: int64(10), Of: plan.T(plan.BigInt)}},
	}
	for name, root := range roots {
		for _, slots := range []int{1, 2, 4} {
			for _, partitions := range []int{1, 2, 7} {
				for _, perTask := range []int{0, 1} {
					for _, broadcast := range []int64{0, -1} {
						o := Options{Slots: slots, ShufflePartitions: partitions, MaxPartitionsPerTask: perTask,
							BroadcastThreshold: broadcast, TargetTaskSize: 32 << 20}
						stages, err := Distribute(root, ts.scans, o)
						require.NoError(t, err, name)
						t.Run(fmt.Sprintf("%s/%+v", name, o), func(t *testing.T) { checkReads(t, stages) })
					}
				}
			}
		}
	}
}

func TestAggregateOverNothingIsCutFromAUnion(t *testing.T) {
	var ts tables
	root := &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{countStar(ts.scan("a", 300)), countStar(ts.scan("b", 300))}}
	stages, err := Distribute(root, ts.scans, Options{Slots: 4})
	require.NoError(t, err)
	last := stages[len(stages)-1]
	require.False(t, givesRowsFromNothing(last.Root), "a task of one branch would also give the other branch's row")
}

func TestJoinKindsThatMustNotBroadcastTheKeptSide(t *testing.T) {
	for _, c := range []struct {
		kind        plan.JoinKind
		smallIsLeft bool
		broadcast   bool
	}{
		{plan.Inner, true, true}, {plan.Inner, false, true},
		{plan.Left, false, true}, {plan.Left, true, false},
		{plan.Right, true, true}, {plan.Right, false, false},
		{plan.Full, true, false}, {plan.Full, false, false},
		{plan.LeftSemi, false, true}, {plan.LeftSemi, true, false},
		{plan.LeftAnti, false, true}, {plan.LeftAnti, true, false},
		{plan.RightSemi, true, true}, {plan.RightSemi, false, false},
		{plan.RightAnti, true, true}, {plan.RightAnti, false, false},
	} {
		var ts tables
		small, big := ts.scan("small", 10), ts.scan("big", 300)
		join := equiJoin(c.kind, big, aboveZero(small))
		if c.smallIsLeft {
			join = equiJoin(c.kind, aboveZero(small), big)
		}
		stages, err := Distribute(join, ts.scans, Options{Slots: 4})
		require.NoError(t, err)
		checkReads(t, stages)
		broadcast := false
		eachLeaf(stages[len(stages)-1].Root, func(n plan.Node, _ plan.LeafID) {
			if r, ok := n.(*plan.ShuffleRead); ok {
				broadcast = broadcast || r.Broadcast
			}
		})
		require.Equal(t, c.broadcast, broadcast, "%s join, small side left: %v", joinKindName(c.kind), c.smallIsLeft)
	}
}

// aboveZero is the rows of n whose first column is: a side that is filtered is worth a stage of its own.
func aboveZero(n plan.Node) plan.Node {
	return &plan.Filter{Input: n, Cond: &plan.Comparison{
		Op: plan.Greater, Left: &plan.ColumnRef{Index: 0, Of: n.Schema()[0].Type}, Right: &plan.Constant{Value: int64(0), Of: plan.T(plan.BigInt)},
	}}
}

// A side of which nothing is left out is read by every task for itself, where that is less work than a stage that writes it.
func TestAWholeTableIsReadByEveryTask(t *testing.T) {
	for _, c := range []struct {
		small    func(plan.Node) plan.Node
		mib      int64
		replicas bool
	}{
		{func(n plan.Node) plan.Node { return n }, 10, true},
		{func(n plan.Node) plan.Node { return n }, 200, false}, // more than may be sent to every task
		{aboveZero, 10, false},
	} {
		var ts tables
		join := equiJoin(plan.Inner, ts.scan("big", 900), c.small(ts.scan("small", c.mib)))
		stages, err := Distribute(join, ts.scans, Options{Slots: 4})
		require.NoError(t, err)
		checkReads(t, stages)
		require.Equal(t, c.replicas, len(stages) == 1, "%d MiB:\n%s", c.mib, Explain(stages))
	}
}

// A small table in one file group does not take all of a larger one to its only task.
func TestASmallSideInOneUnitDoesNotDoAllTheWork(t *testing.T) {
	var ts tables
	join := equiJoin(plan.Left, ts.scan("customers", 2), aboveZero(ts.scan("orders", 60)))
	stages, err := Distribute(join, ts.scans, Options{Slots: 4})
	require.NoError(t, err)
	checkReads(t, stages)
	require.Len(t, stages[len(stages)-1].Tasks, 4, Explain(stages))
}

func TestAggregateReusesThePartitioningOfAJoin(t *testing.T) {
	var ts tables
	root := countStar(equiJoin(plan.Inner, ts.scan("a", 300), ts.scan("b", 300)), col(0))
	stages, err := Distribute(root, ts.scans, Options{Slots: 4})
	require.NoError(t, err)
	require.Len(t, stages, 3, "two scans and the join with its aggregate:\n%s", Explain(stages))
}

func TestTypesThatCannotShuffleAreRefusedByName(t *testing.T) {
	var ts tables
	root := countStar(ts.scan("a", 300), col(0))
	_, err := Distribute(root, ts.scans, Options{Slots: 4, CanShuffle: func(plan.Type) bool { return false }})
	var not *NotDistributableError
	require.ErrorAs(t, err, &not)
	require.Contains(t, not.Reason, "BIGINT")
}

func TestAnEmptyTableIsOneUnit(t *testing.T) {
	ts := tables{scans: map[plan.LeafID]ScanFiles{}}
	scan := ts.scan("empty", 0)
	stages, err := Distribute(scan, ts.scans, Options{Slots: 4})
	require.NoError(t, err)
	require.Len(t, stages, 1)
	require.Len(t, stages[0].Tasks, 1)
}

// A state of all the groups counts towards every set: few of them are merged in one task, many by set and groups.
func TestGroupingSetsExchangeStates(t *testing.T) {
	for mib, last := range map[int64]int{30: 1, 300: 4} {
		var ts tables
		root := countStar(ts.scan("a", mib), col(0), col(1))
		root.Sets, root.Groupings = [][]int{{0, 1}, {0}, {}}, [][]int{{0}}
		stages, err := Distribute(root, ts.scans, Options{Slots: 4})
		require.NoError(t, err)
		checkReads(t, stages)
		require.Len(t, stages, 2)
		require.Len(t, stages[1].Tasks, last, Explain(stages))
		plan.Walk(stages[0].Root, func(n plan.Node) bool {
			if partial, ok := n.(*plan.Aggregate); ok {
				require.Empty(t, partial.Sets)
			}
			return true
		})
		require.Equal(t, root.Schema().Types(), stages[1].Root.Schema().Types())
	}
}
