package customformat

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
)

// A file is left out only when its range says that no row of it can pass (the rows are those of `SELECT * WHERE filter`).
func TestFilesLeftOut(t *testing.T) {
	columns := plan.Schema{{Name: "other", Type: plan.T(plan.BigInt)}, {Name: "id", Type: plan.T(plan.BigInt)}}
	f := manifestFile{Range: map[string][2]int64{"id": {10, 20}}}
	compare := func(column int, op plan.CompareOp, value any) plan.Expr {
		return &plan.Comparison{
			Op: op, Left: &plan.ColumnRef{Index: column, Of: plan.T(plan.BigInt)}, Right: &plan.Constant{Value: value, Of: plan.T(plan.BigInt)},
		}
	}
	for _, c := range []struct {
		filter plan.Expr
		may    bool
	}{
		{nil, true},
		{compare(1, plan.Equal, int64(9)), false}, {compare(1, plan.Equal, int64(10)), true}, {compare(1, plan.Equal, int64(20)), true},
		{compare(1, plan.Equal, int64(21)), false},
		{compare(1, plan.Less, int64(10)), false}, {compare(1, plan.Less, int64(11)), true},
		{compare(1, plan.LessOrEqual, int64(9)), false}, {compare(1, plan.LessOrEqual, int64(10)), true},
		{compare(1, plan.Greater, int64(20)), false}, {compare(1, plan.Greater, int64(19)), true},
		{compare(1, plan.GreaterOrEqual, int64(21)), false}, {compare(1, plan.GreaterOrEqual, int64(20)), true},
		{compare(1, plan.NotEqual, int64(15)), true},
		{compare(0, plan.Equal, int64(9)), true},
		{plan.And(compare(0, plan.Equal, int64(9)), compare(1, plan.Equal, int64(9))), false},
		{&plan.Conjunction{Or: true, Args: []plan.Expr{compare(1, plan.Equal, int64(9)), compare(0, plan.Equal, int64(1))}}, true},
	} {
		require.Equal(t, c.may, mayMatch(f, columns, c.filter), "%v", c.filter)
	}
}
