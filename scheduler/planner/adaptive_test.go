package planner

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
)

const mib = 1 << 20

// written is a Runtime that has been told what each stage wrote.
type written struct {
	outputs map[plan.StageID]*Output
	// pruned is what is left of a table's files, by the table's key.
	pruned map[string]ScanFiles
	waited []plan.StageID
}

func (w *written) Output(_ []*Stage, id plan.StageID) (*Output, error) {
	w.waited = append(w.waited, id)
	if w.outputs[id] == nil {
		return nil, fmt.Errorf("nobody said what stage %d wrote", id)
	}
	return w.outputs[id], nil
}

func (w *written) Drop([]*Stage) {}

func (w *written) Prune(n *plan.IcebergScan) (ScanFiles, error) {
	if w.pruned[n.TableKey] == nil {
		return nil, errors.New("cannot be pruned")
	}
	return w.pruned[n.TableKey], nil
}

// wrote is an output of partitions of the given sizes in MiB, each written in equal shares by two tasks; 16 bytes a row.
func wrote(partitions ...int64) *Output {
	o := &Output{}
	for _, size := range partitions {
		o.Partitions = append(o.Partitions, size*mib)
		o.Bytes += size * mib
	}
	o.Rows = o.Bytes / 16
	o.Producers = func(p int32) []int64 { return []int64{o.Partitions[p] / 2, o.Partitions[p] / 2} }
	return o
}

// described is the stages with what their tasks read, as they ran.
func described(stages []*Stage, w *written) string {
	var b strings.Builder
	for _, s := range stages {
		tasks := s.Tasks
		if s.Plan != nil {
			tasks = s.Plan(w.outputs)
		}
		fmt.Fprintf(&b, "stage %d: %s\n", s.ID, s.Describe())
		if s.Dropped {
			b.WriteString("  dropped\n")
			continue
		}
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "  -- %s\n", note)
		}
		for _, line := range strings.Split(strings.TrimSpace(plan.Explain(s.Root)), "\n") {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for i, t := range tasks {
			var reads []string
			files := 0
			for _, groups := range t.Files {
				for _, g := range groups {
					files += len(g.Files)
				}
			}
			if files > 0 {
				reads = append(reads, fmt.Sprintf("%d files", files))
			}
			for _, in := range t.Shuffle {
				text := fmt.Sprintf("partitions %v of stage %d", in.Partitions, in.Stage)
				if in.All {
					text = fmt.Sprintf("all of stage %d", in.Stage)
				}
				if in.Producers != nil {
					text += fmt.Sprintf(" written by tasks %d to %d", in.Producers.From, in.Producers.To-1)
				}
				reads = append(reads, text)
			}
			fmt.Fprintf(&b, "  task %d: %s\n", i, strings.Join(reads, "; "))
		}
	}
	return b.String()
}

func bigint(v int64) *plan.Constant { return &plan.Constant{Value: v, Of: plan.T(plan.BigInt)} }

// Each rule has a file that shows the stages with it and without it.
func TestAdaptiveRules(t *testing.T) {
	const left, right = "orders", "customers"
	summarized := func(o *Output, k KeySummary) *Output { o.Keys = []KeySummary{k}; return o }
	cases := []struct {
		name        string
		rule        Adaptive
		kind        plan.JoinKind
		left, right int64 // estimates in MiB
		outputs     map[plan.StageID]*Output
		pruned      map[string]ScanFiles
		over        func(plan.Node) plan.Node
		leftOf      func(*tables) plan.Node // in place of a scan
		filtered    bool                    // the right side is: otherwise every task would read it for itself
	}{
		{name: "coalesce", rule: Adaptive{Coalesce: true}, kind: plan.Inner, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: wrote(1, 1, 0, 1, 2, 1, 0, 1), 1: wrote(1, 2, 1, 0, 1, 1, 0, 0)}},
		{name: "broadcast", rule: Adaptive{Broadcast: true}, kind: plan.Inner, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: wrote(1, 0, 1, 0, 0, 0, 0, 1)}},
		{name: "broadcast-left", rule: Adaptive{Broadcast: true}, kind: plan.Right, left: 200, right: 400,
			outputs: map[plan.StageID]*Output{0: wrote(1, 0, 1, 0, 0, 0, 0, 1)}},
		{name: "broadcast-not-allowed", rule: Adaptive{Broadcast: true}, kind: plan.Left, left: 200, right: 400,
			outputs: map[plan.StageID]*Output{0: wrote(1, 0, 1, 0, 0, 0, 0, 1)}},
		{name: "no-broadcast", rule: Adaptive{Broadcast: true}, kind: plan.Inner, left: 400, right: 20, filtered: true,
			outputs: map[plan.StageID]*Output{0: wrote(900)}},
		{name: "empty", rule: Adaptive{Empty: true}, kind: plan.Inner, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: wrote(0, 0, 0, 0, 0, 0, 0, 0)},
			over:    func(n plan.Node) plan.Node { return countStar(n) }},
		{name: "empty-drops", rule: Adaptive{Empty: true}, kind: plan.Inner, left: 1000, right: 50, filtered: true,
			outputs: map[plan.StageID]*Output{0: wrote(0)},
			leftOf:  func(ts *tables) plan.Node { return countStar(ts.scan("lines", 4000), col(0)) }},
		{name: "empty-kept-side", rule: Adaptive{Empty: true}, kind: plan.Left, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: wrote(0, 0, 0, 0, 0, 0, 0, 0)}},
		{name: "skew", rule: Adaptive{Skew: true}, kind: plan.Inner, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: wrote(5, 5, 5, 5, 5, 5, 5, 5), 1: wrote(5, 5, 200, 5, 5, 5, 5, 5)}},
		{name: "skew-under-an-aggregate", rule: Adaptive{Skew: true}, kind: plan.Inner, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: wrote(5, 5, 5, 5, 5, 5, 5, 5), 1: wrote(5, 5, 200, 5, 5, 5, 5, 5)},
			over:    func(n plan.Node) plan.Node { return countStar(n, col(0)) }},
		{name: "filter-list", rule: Adaptive{Filters: true}, kind: plan.LeftSemi, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: summarized(wrote(10, 10, 10, 10, 10, 10, 10, 10), KeySummary{
				Column: 0, Min: bigint(3), Max: bigint(9), Values: []*plan.Constant{bigint(3), bigint(9)}})},
			pruned: map[string]ScanFiles{left: fakeScan{name: left, bytes: 40 * mib, max: 1}}},
		{name: "filter-of-a-sent-side", rule: Adaptive{Filters: true}, kind: plan.Inner, left: 4000, right: 20, filtered: true,
			outputs: map[plan.StageID]*Output{0: summarized(wrote(1), KeySummary{
				Column: 0, Min: bigint(3), Max: bigint(9), Values: []*plan.Constant{bigint(3), bigint(9)}, Bloom: []byte{1, 2, 3}})},
			pruned: map[string]ScanFiles{left: fakeScan{name: left, bytes: 40 * mib, max: 1}}},
		{name: "filter-bloom", rule: Adaptive{Filters: true}, kind: plan.Inner, left: 4000, right: 200,
			outputs: map[plan.StageID]*Output{0: summarized(wrote(10, 10, 10, 10, 10, 10, 10, 10), KeySummary{
				Column: 0, Min: bigint(3), Max: bigint(9_000_000), Bloom: []byte{1, 2, 3}})}},
		{name: "filter-of-a-kept-side", rule: Adaptive{Filters: true}, kind: plan.Left, left: 400, right: 200,
			outputs: map[plan.StageID]*Output{0: summarized(wrote(10, 10, 10, 10, 10, 10, 10, 10), KeySummary{
				Column: 0, Min: bigint(3), Max: bigint(9)})}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			for _, on := range []bool{true, false} {
				ts := &tables{}
				in := plan.Node(ts.scan(left, c.left))
				if c.leftOf != nil {
					in = c.leftOf(ts)
				}
				other := plan.Node(ts.scan(right, c.right))
				if c.filtered {
					other = aboveZero(other)
				}
				root := plan.Node(equiJoin(c.kind, in, other))
				if c.over != nil {
					root = c.over(root)
				}
				o := Options{Slots: 4, ShufflePartitions: 8}
				if on {
					o.Adaptive = c.rule
				}
				w := &written{outputs: c.outputs, pruned: c.pruned}
				stages, err := Adapt(root, ts.scans, o, w)
				require.NoError(t, err)
				for _, s := range stages[:len(stages)-1] {
					if w.outputs[s.ID] == nil { // of what only the last stages read, nothing was said
						w.outputs[s.ID] = wrote(50, 50, 50, 50, 50, 50, 50, 50)
					}
				}
				fmt.Fprintf(&text, "== %s: %t\n%s\n", c.name, on, described(stages, w))
			}
			file := filepath.Join("testdata", "adaptive", c.name+".txt")
			if flag.Lookup("rewrite").Value.String() == "true" {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text.String())
		})
	}
}
