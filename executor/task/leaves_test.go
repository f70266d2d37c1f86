package task

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
)

func TestDistinct(t *testing.T) {
	list, number := plan.ListType(plan.T(plan.Integer)), plan.T(plan.Integer)
	column := func(of plan.Type) plan.Expr { return &plan.ColumnRef{Index: 0, Of: of} }
	filter := func(op plan.CompareOp, of plan.Type) plan.Node {
		return &plan.Filter{
			Input: &plan.Values{Out: plan.Schema{{Name: "c", Type: of}}},
			Cond:  &plan.Operator{Op: plan.OpNot, Of: plan.T(plan.Boolean), Args: []plan.Expr{&plan.Comparison{Op: op, Left: column(of), Right: column(of)}}},
		}
	}
	whole := func(sql string) plan.Node { return &plan.WholeStatement{SQL: sql} }
	for name, c := range map[string]struct {
		root plan.Node
		want bool
	}{
		"lists":      {&plan.Project{Input: filter(plan.NotDistinctFrom, list)}, true},
		"unlike":     {filter(plan.DistinctFrom, list), true},
		"equal":      {filter(plan.Equal, list), false},
		"numbers":    {filter(plan.NotDistinctFrom, number), false},
		"text":       {whole("SELECT a FROM t WHERE (l IS NOT DISTINCT FROM l)"), true},
		"plain text": {whole("SELECT DISTINCT a FROM t"), false},
	} {
		require.Equal(t, c.want, distinct(c.root), name)
	}
}
