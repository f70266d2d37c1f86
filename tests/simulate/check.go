package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/compare"
)

// Outcome says how a statement was run and compared.
type Outcome struct {
	Parallel    bool  // its largest scan is read by several tasks, in the first setting
	Whole       bool  // not distributable: in one task
	Unspecified bool  // the order of rows decides about its answer: not compared by value
	Text        bool  // without a plan: it would run as its text, and was not run
	Rows        int   // of the statement's own answer
	Failed      error // the statement itself fails, and so do its distributions
}

// Mismatch is a distribution that does not mean what the statement means.
type Mismatch struct {
	What    string // what differs
	Setting Setting
	Stages  string
	// Want and Got are the failures, where the statement or its distribution fails.
	Want, Got error
	// Answer is the distribution's, where neither fails.
	Answer *compare.Result
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("%s\n%+v\n%s", m.What, m.Setting, m.Stages)
}

// Check holds the distributed answers against the statement's own (invariant 1), in each of the settings. The error is a
// Mismatch, or says what cannot be bound, planned or run at all.
func (s *Simulator) Check(sql string, in ...Setting) (Outcome, error) {
	want, wantErr := s.collect(nil, sql)
	bound, err := s.Bind(sql)
	if err != nil {
		return Outcome{}, fmt.Errorf("bind: %w", err)
	}
	if bound.Plan == nil {
		return Outcome{Text: true}, nil
	}
	spread, _, err := s.Distribute(bound.Plan, Settings[0].Options)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Parallel: s.parallel(spread), Failed: wantErr}
	if wantErr == nil {
		out.Rows = len(want.Rows)
	}
	for _, set := range in {
		s.files = set.Files
		got, stages, whole, err := s.runIn(bound.Plan, set, out.Whole)
		out.Whole = out.Whole || whole
		mismatch := &Mismatch{Setting: set, Stages: planner.Explain(stages), Want: wantErr, Got: err}
		switch {
		case wantErr != nil && err == nil:
			mismatch.What = fmt.Sprintf("the statement fails and its distribution does not: %v", wantErr)
			return out, mismatch
		case wantErr != nil:
			continue
		case set.Files && err != nil && strings.Contains(err.Error(), "BITSTRING_AGG(col, min, max)"):
			continue // docs/limitations.md
		case err != nil:
			mismatch.What = fmt.Sprintf("the distribution fails: %v", err)
			return out, mismatch
		}
		got.Names = want.Names // a plan's columns are named c0, c1 ...
		mismatch.Answer = got
		if mismatch.What = compare.Diff(want, got, order(bound.Plan)...); mismatch.What == "" {
			continue
		}
		unspecified, err := s.unspecified(bound.Plan)
		if err != nil {
			return out, fmt.Errorf("run undistributed: %w", err)
		}
		if !unspecified || !slices.Equal(want.Types, got.Types) || len(want.Rows) != len(got.Rows) {
			return out, mismatch
		}
		out.Unspecified = true
	}
	return out, nil
}

// runIn runs a plan in a setting.
func (s *Simulator) runIn(root plan.Node, set Setting, whole bool) (*compare.Result, []*planner.Stage, bool, error) {
	if set.Adaptive && !whole {
		got, stages, err := s.adapt(root, set.Options)
		return got, stages, false, err
	}
	stages, whole, err := s.Distribute(root, set.Options)
	if err != nil {
		return nil, nil, whole, err
	}
	got, err := s.run(stages)
	return got, stages, whole, err
}

// unspecified says whether the plan, undistributed, gives different answers over tables whose rows come in different orders:
// LIMIT without ORDER BY, ties, first(), samples and the like. No distribution of it is held to one of the answers.
func (s *Simulator) unspecified(root plan.Node) (bool, error) {
	var first *compare.Result
	for seed := range 8 {
		ordered, err := breakTies(root, seed%2 == 1)
		if err != nil {
			return false, err
		}
		query, err := render.SQL(ordered, render.Options{Leaf: func(n plan.Node) (string, error) {
			if n, ok := n.(*plan.IcebergScan); ok {
				return scan(n, "true", fmt.Sprintf(" ORDER BY hash(rowid, %d)", seed))
			}
			return "", nil
		}})
		if err != nil {
			return false, err
		}
		got, err := s.collect(nil, query)
		if err != nil {
			return false, err
		}
		if first == nil {
			first = got
		} else if compare.Diff(first, got) != "" {
			return true, nil
		}
	}
	return false, nil
}

// breakTies has each LIMIT after an ORDER BY take, of rows that are equal by it, the first or the last by all their columns:
// which ones they are is seldom decided by the order of the tables' rows when a join or an aggregate has made them.
func breakTies(root plan.Node, descending bool) (plan.Node, error) {
	return plan.Transform(root, func(n plan.Node) (plan.Node, error) {
		limit, ok := n.(*plan.Limit)
		if !ok || len(limit.Keys) == 0 {
			return n, nil
		}
		broken := *limit
		broken.Keys = slices.Clone(limit.Keys)
		for i, c := range limit.Input.Schema() {
			broken.Keys = append(broken.Keys, plan.SortKey{Expr: &plan.ColumnRef{Index: i, Of: c.Type}, Descending: descending})
		}
		return &broken, nil
	})
}

// order gives the output columns by which the rows of a plan come ordered.
func order(root plan.Node) []int {
	columns := allOf(len(root.Schema()))
	for n := root; ; {
		var keys []plan.SortKey
		switch at := n.(type) {
		case *plan.Project:
			for i, c := range columns {
				columns[i] = -1
				if c < 0 {
					continue
				}
				if ref, ok := at.Exprs[c].(*plan.ColumnRef); ok {
					columns[i] = ref.Index
				}
			}
			n = at.Input
			continue
		case *plan.Filter:
			n = at.Input
			continue
		case *plan.Sort:
			keys = at.Keys
		case *plan.Limit:
			if keys = at.Keys; keys == nil {
				n = at.Input
				continue
			}
		}
		var ordered []int
		for _, k := range keys {
			ref, ok := k.Expr.(*plan.ColumnRef)
			if !ok || !slices.Contains(columns, ref.Index) {
				break
			}
			ordered = append(ordered, slices.Index(columns, ref.Index))
		}
		return ordered
	}
}

func allOf(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// parallel says whether the largest scan of the stages is read by several tasks.
func (s *Simulator) parallel(stages []*planner.Stage) bool {
	var largest int64
	tasks := 0
	for _, stage := range stages {
		plan.Walk(stage.Root, func(n plan.Node) bool {
			scan, ok := n.(*plan.IcebergScan)
			if !ok || s.Tables[scan.TableKey].Rows <= largest {
				return true
			}
			largest = s.Tables[scan.TableKey].Rows
			read := map[string]bool{}
			for _, task := range stage.Tasks {
				if groups := task.Files[scan.Leaf]; len(groups) > 0 {
					read[groups[0].Files[0].Path] = true
				}
			}
			tasks = len(read)
			return true
		})
	}
	return tasks > 1
}
