package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

func (w *writer) join(n *plan.Join) (string, error) {
	w.joins++
	defer func() { w.joins-- }()
	left, err := w.input(n.Left)
	if err != nil {
		return "", err
	}
	right, err := w.input(n.Right)
	if err != nil {
		return "", err
	}
	return w.joined(n, left, right)
}

// joined writes the join of two relations.
func (w *writer) joined(n *plan.Join, left, right relation) (string, error) {
	if n.Positional {
		return selectFrom(append(left.cols[:len(left.cols):len(left.cols)], right.cols...), left.from+" POSITIONAL JOIN "+right.from), nil
	}
	if n.AsOf {
		return w.asOf(n, left, right)
	}
	switch n.Kind {
	case plan.Mark:
		return w.mark(n, left, right)
	case plan.Single:
		return w.single(n, left, right)
	}
	conds, err := w.joinConds(n, left, right)
	if err != nil {
		return "", err
	}
	both := append(left.cols[:len(left.cols):len(left.cols)], right.cols...)
	on := " ON " + strings.Join(conds, " AND ")
	if len(conds) == 0 {
		on = " ON true"
	}
	switch n.Kind {
	case plan.Inner:
		if len(conds) == 0 {
			return selectFrom(both, left.from+" CROSS JOIN "+right.from), nil
		}
		return selectFrom(both, left.from+" JOIN "+right.from+on), nil
	case plan.Left:
		return selectFrom(both, left.from+" LEFT JOIN "+right.from+on), nil
	case plan.Right:
		return selectFrom(both, left.from+" RIGHT JOIN "+right.from+on), nil
	case plan.Full:
		return selectFrom(both, left.from+" FULL JOIN "+right.from+on), nil
	case plan.LeftSemi:
		return selectFrom(left.cols, left.from+" SEMI JOIN "+right.from+on), nil
	case plan.LeftAnti:
		return selectFrom(left.cols, left.from+" ANTI JOIN "+right.from+on), nil
	case plan.RightSemi:
		return selectFrom(right.cols, right.from+" SEMI JOIN "+left.from+on), nil
	case plan.RightAnti:
		return selectFrom(right.cols, right.from+" ANTI JOIN "+left.from+on), nil
	}
	return "", fmt.Errorf("no SQL known of join kind %d", n.Kind)
}

// joinConds are all conditions of a join as texts.
func (w *writer) joinConds(n *plan.Join, left, right relation) ([]string, error) {
	var out []string
	for _, c := range n.Conds {
		text, err := w.joinCond(c, left, right)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	if n.Residual != nil {
		text, err := w.expr(n.Residual, append(left.cols[:len(left.cols):len(left.cols)], right.cols...))
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

func (w *writer) joinCond(c plan.JoinCond, left, right relation) (string, error) {
	l, err := w.expr(c.Left, left.cols)
	if err != nil {
		return "", err
	}
	r, err := w.expr(c.Right, right.cols)
	return l + " " + c.Op.String() + " " + r, err
}

func (w *writer) asOf(n *plan.Join, left, right relation) (string, error) {
	kind, ok := map[plan.JoinKind]string{plan.Inner: "JOIN", plan.Left: "LEFT JOIN", plan.Right: "RIGHT JOIN",
		plan.Full: "FULL JOIN", plan.LeftSemi: "SEMI JOIN", plan.LeftAnti: "ANTI JOIN"}[n.Kind]
	if !ok {
		return "", fmt.Errorf("no SQL known of an ASOF %s join", n.Kind)
	}
	conds, err := w.joinConds(n, left, right)
	if err != nil {
		return "", err
	}
	out := left.cols
	if n.Kind != plan.LeftSemi && n.Kind != plan.LeftAnti {
		out = append(left.cols[:len(left.cols):len(left.cols)], right.cols...)
	}
	return selectFrom(out, left.from+" ASOF "+kind+" "+right.from+" ON "+strings.Join(conds, " AND ")), nil
}

// single writes a left outer join that fails where a left row has two matches. A right side that is unique on the join
// keys needs no check; else the right rows of each key are counted.
func (w *writer) single(n *plan.Join, left, right relation) (string, error) {
	if n.Residual != nil {
		return w.singleByRow(n, left, right)
	}
	for _, c := range n.Conds {
		if c.Op != plan.Equal && c.Op != plan.NotDistinctFrom {
			return w.singleByRow(n, left, right)
		}
	}
	unique := len(n.Conds) > 0 && uniqueOn(n.Right, rightColumns(n.Conds))
	if !unique {
		keys := make([]string, len(n.Conds))
		for i, c := range n.Conds {
			var err error
			if keys[i], err = w.expr(c.Right, right.cols); err != nil {
				return "", err
			}
		}
		over := "count(*) OVER ()"
		if len(keys) > 0 {
			over = "count(*) OVER (PARTITION BY " + strings.Join(keys, ", ") + ")"
		}
		width := len(right.cols)
		counted := append(right.cols[:width:width], over)
		right = w.relate(selectFrom(counted, right.from), width+1)
		right.cols, counted = right.cols[:width], right.cols[width:]
		conds, err := w.joinConds(n, left, right)
		if err != nil {
			return "", err
		}
		if len(conds) == 0 {
			conds = []string{"true"}
		}
		out := left.cols[:len(left.cols):len(left.cols)]
		for _, c := range right.cols {
			out = append(out, atMostOne(counted[0], c))
		}
		return selectFrom(out, left.from+" LEFT JOIN "+right.from+" ON "+strings.Join(conds, " AND ")), nil
	}
	conds, err := w.joinConds(n, left, right)
	if err != nil {
		return "", err
	}
	out := append(left.cols[:len(left.cols):len(left.cols)], right.cols...)
	return selectFrom(out, left.from+" LEFT JOIN "+right.from+" ON "+strings.Join(conds, " AND ")), nil
}

// singleByRow numbers the left rows and counts the matches of each.
func (w *writer) singleByRow(n *plan.Join, left, right relation) (string, error) {
	width := len(left.cols)
	numbered := append(left.cols[:width:width], "row_number() OVER ()")
	left = w.relate(selectFrom(numbered, left.from), width+1)
	row := left.cols[width]
	left.cols = left.cols[:width]
	conds, err := w.joinConds(n, left, right)
	if err != nil {
		return "", err
	}
	out := left.cols[:width:width]
	for _, c := range right.cols {
		out = append(out, atMostOne("count(*) OVER (PARTITION BY "+row+")", c))
	}
	return selectFrom(out, left.from+" LEFT JOIN "+right.from+" ON "+strings.Join(conds, " AND ")), nil
}

// tooManyRows is the message of a scalar subquery with two rows; DuckDB's own speaks of a setting that cannot be set.
const tooManyRows = "More than one row returned by a subquery used as an expression - scalar subqueries can only return a single row."

func atMostOne(count, value string) string {
	return "CASE WHEN " + count + " > 1 THEN error('" + tooManyRows + "') ELSE " + value + " END"
}

// rightColumns are the plain right columns that the conditions compare; nil when one is no plain column.
func rightColumns(conds []plan.JoinCond) []int {
	var out []int
	for _, c := range conds {
		ref, ok := c.Right.(*plan.ColumnRef)
		if !ok {
			return nil
		}
		out = append(out, ref.Index)
	}
	return out
}

// uniqueOn says that a node has at most one row per value of the columns, as far as can be seen: an aggregate grouped
// by columns that are all among them, distinct rows, and joins of such, perhaps under filters and projections.
func uniqueOn(n plan.Node, cols []int) bool {
	if len(cols) == 0 {
		return false
	}
	switch n := n.(type) {
	case *plan.Filter:
		return uniqueOn(n.Input, cols)
	case *plan.Sort:
		return uniqueOn(n.Input, cols)
	case *plan.Project:
		var below []int
		for _, c := range cols {
			if ref, ok := n.Exprs[c].(*plan.ColumnRef); ok {
				below = append(below, ref.Index)
			}
		}
		return uniqueOn(n.Input, below)
	case *plan.Aggregate:
		return len(n.Sets) == 0 && covers(cols, len(n.Groups))
	case *plan.DelimGet:
		return covers(cols, len(n.Out))
	case *plan.Distinct:
		return len(n.On) == 0 && covers(cols, len(n.Schema()))
	case *plan.Join:
		return uniqueJoin(n, cols)
	}
	return false
}

// covers says that the columns are all of the first n.
func covers(cols []int, n int) bool {
	have := map[int]bool{}
	for _, c := range cols {
		have[c] = true
	}
	for i := range n {
		if !have[i] {
			return false
		}
	}
	return true
}

// uniqueJoin: the left side is unique on the columns, and no left row meets two right rows.
func uniqueJoin(n *plan.Join, cols []int) bool {
	switch n.Kind {
	case plan.Inner, plan.Left:
		var keys []int
		for _, c := range n.Conds {
			ref, ok := c.Right.(*plan.ColumnRef)
			if ok && (c.Op == plan.Equal || c.Op == plan.NotDistinctFrom) {
				keys = append(keys, ref.Index)
			}
		}
		if n.Positional || !uniqueOn(n.Right, keys) {
			return false
		}
	case plan.LeftSemi, plan.LeftAnti, plan.Mark, plan.Single:
	default:
		return false
	}
	left := len(n.Left.Schema())
	var below []int
	for _, c := range cols {
		if c < left {
			below = append(below, c)
		}
	}
	return uniqueOn(n.Left, below)
}
