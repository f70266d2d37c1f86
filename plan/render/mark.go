package render

import (
	"strings"

	"github.com/seracdb/serac/plan"
)

// mark writes IN, EXISTS and op ANY as a column: true where a right row satisfies all conditions, else NULL where one
// might, else false. IS NOT DISTINCT FROM conditions are correlations; the others are the comparison itself.
func (w *writer) mark(n *plan.Join, left, right relation) (string, error) {
	var correlated, compared []plan.JoinCond
	for _, c := range n.Conds {
		if c.Op == plan.NotDistinctFrom {
			correlated = append(correlated, c)
		} else {
			compared = append(compared, c)
		}
	}
	switch {
	case n.Residual != nil:
		return w.markByRow(n, left, right)
	case len(correlated) == 0 && len(compared) == 1:
		return w.markAny(compared[0], left, right)
	case len(correlated) == 0 && len(compared) > 1 && allEqual(compared):
		return w.markRowIn(compared, left, right)
	case len(correlated) > 0 && len(compared) == 0:
		return w.markExists(correlated, left, right)
	case len(correlated) > 0 && len(compared) == 1 && compared[0].Op == plan.Equal:
		return w.markCorrelatedIn(correlated, compared[0], left, right)
	}
	return w.markByRow(n, left, right)
}

func allEqual(conds []plan.JoinCond) bool {
	for _, c := range conds {
		if c.Op != plan.Equal {
			return false
		}
	}
	return true
}

// markAny is x IN (SELECT ..) or x op ANY (SELECT ..).
func (w *writer) markAny(c plan.JoinCond, left, right relation) (string, error) {
	x, err := w.expr(c.Left, left.cols)
	if err != nil {
		return "", err
	}
	y, err := w.expr(c.Right, right.cols)
	if err != nil {
		return "", err
	}
	op := " IN "
	if c.Op != plan.Equal {
		op = " " + c.Op.String() + " ANY "
	}
	out := append(left.cols[:len(left.cols):len(left.cols)], "("+x+op+"(SELECT "+y+" FROM "+right.from+"))")
	return selectFrom(out, left.from), nil
}

func (w *writer) sides(conds []plan.JoinCond, left, right relation) (xs, ys []string, err error) {
	for _, c := range conds {
		x, err := w.expr(c.Left, left.cols)
		if err != nil {
			return nil, nil, err
		}
		y, err := w.expr(c.Right, right.cols)
		if err != nil {
			return nil, nil, err
		}
		xs, ys = append(xs, x), append(ys, y)
	}
	return xs, ys, nil
}

func (w *writer) markRowIn(conds []plan.JoinCond, left, right relation) (string, error) {
	xs, ys, err := w.sides(conds, left, right)
	if err != nil {
		return "", err
	}
	in := "((" + strings.Join(xs, ", ") + ") IN (SELECT " + strings.Join(ys, ", ") + " FROM " + right.from + "))"
	return selectFrom(append(left.cols[:len(left.cols):len(left.cols)], in), left.from), nil
}

// markExists joins the distinct keys of the right side: a correlated EXISTS would be decorrelated once more, slowly.
func (w *writer) markExists(conds []plan.JoinCond, left, right relation) (string, error) {
	xs, ys, err := w.sides(conds, left, right)
	if err != nil {
		return "", err
	}
	keys := w.relate("SELECT DISTINCT "+list(append(ys, "true"))+" FROM "+right.from, len(ys)+1)
	out := append(left.cols[:len(left.cols):len(left.cols)], "COALESCE("+keys.cols[len(ys)]+", false)")
	return selectFrom(out, left.from+" LEFT JOIN "+keys.from+" ON "+notDistinct(xs, keys.cols)), nil
}

func notDistinct(xs, ys []string) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = x + " IS NOT DISTINCT FROM " + ys[i]
	}
	return strings.Join(parts, " AND ")
}

// markCorrelatedIn joins twice: the (key, value) pairs that are there, and per key whether there is a NULL. The answer
// is true for a pair that is there; NULL when the key has rows and either x or one of its values is NULL; else false.
func (w *writer) markCorrelatedIn(correlated []plan.JoinCond, compared plan.JoinCond, left, right relation) (string, error) {
	xs, ys, err := w.sides(append(correlated[:len(correlated):len(correlated)], compared), left, right)
	if err != nil {
		return "", err
	}
	n := len(correlated)
	name := w.name("x")
	with := "WITH " + name + " AS MATERIALIZED (" + selectFrom(ys, right.from) + ") "
	rows := w.alias(name, n+1)
	pairs := w.relate("SELECT DISTINCT "+list(append(rows.cols[:n+1:n+1], "true"))+" FROM "+name+" AS "+rows.alias, n+2)
	rows = w.alias(name, n+1)
	keys := w.relate("SELECT "+list(append(rows.cols[:n:n], "bool_or("+rows.cols[n]+" IS NULL)"))+" FROM "+name+" AS "+rows.alias+
		" GROUP BY "+strings.Join(rows.cols[:n], ", "), n+1)
	x := xs[n]
	marked := "CASE WHEN " + pairs.cols[n+1] + " THEN true WHEN " + keys.cols[n] + " OR (" + keys.cols[n] + " IS NOT NULL AND " + x +
		" IS NULL) THEN NULL ELSE false END"
	out := append(left.cols[:len(left.cols):len(left.cols)], marked)
	from := left.from + " LEFT JOIN " + pairs.from + " ON " + notDistinct(xs[:n], pairs.cols) + " AND " + x + " = " + pairs.cols[n] +
		" LEFT JOIN " + keys.from + " ON " + notDistinct(xs[:n], keys.cols)
	return with + selectFrom(out, from), nil
}

// markByRow is the general case: the distinct left values that the conditions read are joined with all right rows of
// their key, the comparisons are gathered per value, and the left rows look their value up.
func (w *writer) markByRow(n *plan.Join, left, right relation) (string, error) {
	name := w.name("x")
	width := len(left.cols)
	with := "WITH " + name + " AS MATERIALIZED (" + selectFrom(append(left.cols[:width:width], "row_number() OVER ()"), left.from) + ") "
	rows := w.alias(name, width+1)
	var keys, compared []string
	for _, c := range n.Conds {
		text, err := w.joinCond(c, rows, right)
		if err != nil {
			return "", err
		}
		if c.Op == plan.NotDistinctFrom {
			keys = append(keys, text)
		} else {
			compared = append(compared, text)
		}
	}
	if n.Residual != nil {
		text, err := w.expr(n.Residual, append(rows.cols[:width:width], right.cols...))
		if err != nil {
			return "", err
		}
		compared = append(compared, text)
	}
	if len(keys) == 0 {
		keys = []string{"true"}
	}
	if len(compared) == 0 {
		compared = []string{"true"}
	}
	cond := "(" + strings.Join(compared, " AND ") + ")"
	marks := w.relate(selectFrom([]string{rows.cols[width], "bool_or" + cond, "bool_or(" + cond + " IS NULL)"},
		rows.from+" JOIN "+right.from+" ON "+strings.Join(keys, " AND "))+" GROUP BY "+rows.cols[width], 3)
	again := w.alias(name, width+1)
	marked := "CASE WHEN " + marks.cols[1] + " THEN true WHEN " + marks.cols[2] + " THEN NULL ELSE false END"
	return with + selectFrom(append(again.cols[:width:width], marked),
		again.from+" LEFT JOIN "+marks.from+" ON "+again.cols[width]+" = "+marks.cols[0]), nil
}
