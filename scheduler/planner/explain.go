package planner

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// Explain writes the stages for a person: each with its fragment, its tasks, what it reads and what was decided.
func Explain(stages []*Stage) string {
	var b strings.Builder
	for i, s := range stages {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "Stage %d: %s", s.ID, s.Describe())
		fmt.Fprintf(&b, ", %s from %s", count(len(s.Tasks), "task"), count(s.Units, "unit"))
		fmt.Fprintf(&b, ", about %s rows (%s)\n", plan.CountText(s.EstimatedRows), plan.BytesText(s.EstimatedBytes))
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "  -- %s\n", n)
		}
		for line := range strings.Lines(plan.Explain(s.Root)) {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}

// Describe says what becomes of the stage's output.
func (s *Stage) Describe() string {
	switch root := s.Root.(type) {
	case *plan.ShuffleWrite:
		if root.Partition != nil {
			return fmt.Sprintf("shuffle into %d ranges", root.Partitions)
		}
		if root.Partitions > 1 {
			return fmt.Sprintf("shuffle into %d partitions", root.Partitions)
		}
		return "gather"
	case *plan.IcebergWrite:
		return "write data files of " + root.TableKey
	default:
		return "result"
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// SizeText is a number of bytes for people, rounded.
func SizeText(bytes int64) string { return plan.BytesText(float64(bytes)) }

func nodeName(n plan.Node) string {
	switch n := n.(type) {
	case *plan.Join:
		switch {
		case n.AsOf:
			return "ASOF join"
		case n.Positional:
			return "positional join"
		}
	case *plan.DelimJoin:
		return "correlated subquery"
	case *plan.RecursiveCTE:
		return "recursive CTE"
	case *plan.Sample:
		return "sample"
	case *plan.CTE:
		return "CTE"
	}
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", n), "*plan."))
}
