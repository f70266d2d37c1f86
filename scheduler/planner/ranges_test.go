package planner

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func TestCutEvenly(t *testing.T) {
	for name, c := range map[string]struct {
		spans  []weighed
		n      int
		cuts   []int64
		across float64
	}{
		"between files":            {[]weighed{{0, 9, 1}, {10, 19, 1}, {20, 29, 1}, {30, 39, 1}}, 2, []int64{20}, 0},
		"in a gap":                 {[]weighed{{0, 9, 1}, {100, 109, 1}}, 2, []int64{10}, 0},
		"in a file":                {[]weighed{{0, 99, 4}}, 4, []int64{25, 50, 75}, 12},
		"near a boundary":          {[]weighed{{0, 54, 55}, {55, 99, 45}}, 2, []int64{55}, 0},
		"too far from a boundary":  {[]weighed{{0, 79, 80}, {80, 99, 20}}, 2, []int64{50}, 80},
		"two tables":               {[]weighed{{0, 49, 1}, {50, 99, 1}, {0, 49, 5}, {50, 99, 5}}, 2, []int64{50}, 0},
		"a small file lies across": {[]weighed{{0, 49, 10}, {50, 99, 10}, {0, 99, 1}}, 2, []int64{50}, 1},
		"one value":                {[]weighed{{5, 5, 1}, {5, 5, 1}}, 2, nil, 0},
		"all values":               {[]weighed{{math.MinInt64, math.MaxInt64, 2}}, 2, []int64{0}, 2},
		"same start":               {[]weighed{{0, 9, 1}, {0, 9, 1}, {10, 19, 2}}, 2, []int64{10}, 0},
	} {
		cuts, across := cutEvenly(c.spans, c.n)
		require.Equal(t, c.cuts, cuts, name)
		require.InDelta(t, c.across, across, 1e-9, name)
	}
}

// Cuts ascend, lie within the values, and what is said to lie across them does.
func TestCutEvenlyOfAnything(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var spans []weighed
		low, high := int64(math.MaxInt64), int64(math.MinInt64)
		for range 1 + rng.IntN(8) {
			s := weighed{low: rng.Int64N(40) - 20, weight: rng.Float64() * 10}
			s.high = s.low + rng.Int64N(30)
			spans = append(spans, s)
			low, high = min(low, s.low), max(high, s.high)
		}
		n := 2 + rng.IntN(6)
		cuts, across := cutEvenly(spans, n)
		require.Less(t, len(cuts), n)
		var want float64
		for i, c := range cuts {
			require.Greater(t, c, low)
			require.LessOrEqual(t, c, high)
			require.True(t, i == 0 || c > cuts[i-1])
			for _, s := range spans {
				if s.low < c && c <= s.high {
					want += s.weight
				}
			}
		}
		require.InDelta(t, want, across, 1e-6, "%v cut at %v", spans, cuts)
	}
}

// keyedScan is a fakeScan whose files hold neighbouring values of each column, from 0 on.
type keyedScan struct {
	fakeScan
	files int
	keys  int64
}

func (s keyedScan) KeySpans(plan.ScanColumn) ([]KeySpan, bool) {
	spans := make([]KeySpan, s.files)
	n := int64(s.files)
	for i := range spans {
		spans[i] = KeySpan{Low: s.keys * int64(i) / n, High: s.keys*int64(i+1)/n - 1, Bytes: s.Bytes() / n, Rows: s.Rows() / n}
	}
	return spans, true
}

func (s keyedScan) KeyRanges(column plan.ScanColumn, cuts []int64) []*seracv1.FileGroup {
	groups := make([]*seracv1.FileGroup, len(cuts)+1)
	for i := range groups {
		groups[i] = &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: s.name + " by " + column.Name, Length: 1}}}
	}
	return groups
}

// What is read by ranges needs no exchange: joins on the key and groups of it, one after the other.
func TestKeyRangesNeedNoExchange(t *testing.T) {
	keyed := func(files int) (*tables, *plan.IcebergScan, *plan.IcebergScan) {
		ts := &tables{}
		left, right := ts.scan("orders", 400), ts.scan("lines", 1600)
		ts.scans[left.Leaf] = keyedScan{ts.scans[left.Leaf].(fakeScan), files, 10_000_000}
		ts.scans[right.Leaf] = keyedScan{ts.scans[right.Leaf].(fakeScan), files, 10_000_000}
		return ts, left, right
	}
	exchanges := func(ts *tables, root plan.Node, on bool) int {
		stages, err := Distribute(root, ts.scans, Options{Slots: 4, BroadcastThreshold: -1, KeyRanges: on})
		require.NoError(t, err)
		return len(stages) - 1
	}
	ts, left, right := keyed(40)
	joined := equiJoin(plan.Inner, left, right)
	grouped := countStar(joined, col(0))
	require.Zero(t, exchanges(ts, joined, true))
	require.Zero(t, exchanges(ts, grouped, true), "groups of the key are together after the join")
	require.Zero(t, exchanges(ts, countStar(joined, col(len(left.Schema()))), true), "and so they are by the other side's key")
	require.Zero(t, exchanges(ts, equiJoin(plan.Left, left, countStar(right, col(0))), true), "groups are joined where they are")
	require.Positive(t, exchanges(ts, countStar(joined, col(1)), true), "groups of another column are not")
	require.Positive(t, exchanges(ts, grouped, false))
	for kind, together := range map[plan.JoinKind]bool{
		plan.Inner: true, plan.Left: true, plan.Right: false, plan.Full: false, plan.LeftSemi: true, plan.LeftAnti: true, plan.Single: true,
	} {
		root := countStar(equiJoin(kind, left, right), col(0))
		require.Equal(t, together, exchanges(ts, root, true) == 0,
			"%s join: rows that it fills with NULLs come from every range, and are one group", joinKindName(kind))
	}
	require.Positive(t, exchanges(ts, equiJoin(plan.Mark, left, right), true), "a NULL on the right side changes every mark")

	ts, left, right = keyed(1)
	require.Positive(t, exchanges(ts, equiJoin(plan.Inner, left, right), true), "four tasks would each read all of both tables")
}

// Where a side is sent to every task, a range of keys is asked of the other side's rows only if it leaves out much of the column.
func TestWideRangesAreNotAsked(t *testing.T) {
	for high, asked := range map[int64]bool{999_990: false, 400_000: true} {
		ts := &tables{}
		left, right := ts.scan("orders", 4000), ts.scan("customers", 20)
		ts.scans[left.Leaf] = keyedScan{ts.scans[left.Leaf].(fakeScan), 40, 1_000_000}
		out := wrote(1)
		out.Keys = []KeySummary{{Column: 0, Min: bigint(5), Max: bigint(high)}}
		stages, err := Adapt(equiJoin(plan.Inner, left, aboveZero(right)), ts.scans, Options{Slots: 4, Adaptive: Adaptive{Filters: true}},
			&written{outputs: map[plan.StageID]*Output{0: out}})
		require.NoError(t, err)
		require.Len(t, stages, 2)
		require.Equal(t, asked, strings.Contains(plan.Explain(stages[1].Root), "5 <= "), "keys up to %d of 999,999", high)
	}
}
