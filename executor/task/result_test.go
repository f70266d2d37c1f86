package task

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// A result is made at once only where a plan says that it is small, whatever it computes.
func TestFewRows(t *testing.T) {
	shuffle := func(leaf int32, rows ...int64) *seracv1.LeafAssignment {
		in := &seracv1.ShuffleInput{}
		for _, n := range rows {
			in.Files = append(in.Files, &seracv1.ShuffleFile{Rows: n})
		}
		return &seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Shuffle{Shuffle: in}}
	}
	a := &attempt{task: New(&seracv1.TaskLaunch{Assignments: []*seracv1.LeafAssignment{shuffle(1, 500, 12), shuffle(2, 500, 13)}}, nil)}
	few, many := &plan.ShuffleRead{Leaf: 1}, &plan.ShuffleRead{Leaf: 2}
	limit := func(in plan.Node, count any) plan.Node {
		return &plan.Limit{Input: in, Count: &plan.Constant{Value: count, Of: plan.T(plan.BigInt)}}
	}
	group := []plan.Expr{&plan.ColumnRef{Of: plan.T(plan.BigInt)}}
	for name, c := range map[string]struct {
		n    plan.Node
		want bool
	}{
		"little":                  {few, true},
		"much":                    {many, false},
		"unassigned":              {&plan.ShuffleRead{Leaf: 3}, false},
		"of little":               {&plan.Sort{Input: &plan.Project{Input: &plan.Filter{Input: few}}}, true},
		"of much":                 {&plan.Sort{Input: &plan.Project{Input: &plan.Filter{Input: many}}}, false},
		"groups of little":        {&plan.Aggregate{Input: few, Groups: group}, true},
		"groups of much":          {&plan.Aggregate{Input: many, Groups: group}, false},
		"sets of little":          {&plan.Aggregate{Input: few, Groups: group, Sets: [][]int{{0}, {}}}, false},
		"one group":               {&plan.Aggregate{Input: many}, true},
		"limit":                   {limit(many, int64(512)), true},
		"large limit":             {limit(many, int64(513)), false},
		"large limit of little":   {limit(few, int64(513)), true},
		"limit of a percentage":   {&plan.Limit{Input: many, Percent: true, Count: &plan.Constant{Value: int64(5), Of: plan.T(plan.BigInt)}}, false},
		"no limit":                {&plan.Limit{Input: many}, false},
		"rows of rows":            {&plan.Join{Left: few, Right: few}, false},
		"unnested":                {&plan.Unnest{Input: few}, false},
		"text":                    {&plan.WholeStatement{}, false},
		"text with a limit":       {&plan.WholeStatement{MaxRows: 512}, true},
		"text with a large limit": {&plan.WholeStatement{MaxRows: 513}, false},
	} {
		require.Equal(t, c.want, a.fewRows(c.n), name)
	}
}
