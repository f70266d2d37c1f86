package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// aggregate writes GROUP BY. Group expressions that are not plain columns, or that repeat, get a SELECT of their own
// first, so that GROUP BY and GROUPING name columns; then grouping sets find them.
func (w *writer) aggregate(n *plan.Aggregate) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	groups, err := w.exprs(n.Groups, in.cols)
	if err != nil {
		return "", err
	}
	if !plainColumns(n.Groups) {
		inner := append(append([]string(nil), in.cols...), groups...)
		width := len(in.cols)
		in = w.relate(selectFrom(inner, in.from), len(inner))
		groups = in.cols[width:]
	}
	out := append([]string(nil), groups...)
	for _, c := range n.Calls {
		text, err := w.aggregateCall(c, in.cols)
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	for _, g := range n.Groupings {
		cols, err := pick(groups, g)
		if err != nil {
			return "", err
		}
		out = append(out, "GROUPING("+strings.Join(cols, ", ")+")")
	}
	sql := selectFrom(out, in.from)
	by, err := groupBy(n, groups)
	if err != nil {
		return "", err
	}
	if by == "" && len(n.Calls) == 0 {
		// No group and no call: still one row, whatever the input.
		return selectFrom([]string{"count(*)"}, in.from), nil
	}
	return sql + by, nil
}

func groupBy(n *plan.Aggregate, groups []string) (string, error) {
	if len(n.Sets) == 0 {
		if len(groups) == 0 {
			return "", nil
		}
		return " GROUP BY " + strings.Join(groups, ", "), nil
	}
	sets := make([]string, len(n.Sets))
	for i, set := range n.Sets {
		cols, err := pick(groups, set)
		if err != nil {
			return "", err
		}
		sets[i] = "(" + strings.Join(cols, ", ") + ")"
	}
	return " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")", nil
}

func pick(cols []string, positions []int) ([]string, error) {
	out := make([]string, len(positions))
	for i, p := range positions {
		if p < 0 || p >= len(cols) {
			return nil, fmt.Errorf("group %d of %d", p, len(cols))
		}
		out[i] = cols[p]
	}
	return out, nil
}

func plainColumns(groups []plan.Expr) bool {
	seen := map[int]bool{}
	for _, g := range groups {
		ref, ok := g.(*plan.ColumnRef)
		if !ok || seen[ref.Index] {
			return false
		}
		seen[ref.Index] = true
	}
	return true
}

func (w *writer) aggregateCall(c plan.AggregateCall, cols []string) (string, error) {
	args, err := w.arguments(c.Args, c.Params, cols)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(plan.QuoteIdent(c.Name) + "(")
	if c.Distinct {
		b.WriteString("DISTINCT ")
	}
	b.WriteString(args)
	if len(c.OrderBy) > 0 {
		order, err := w.orderKeys(c.OrderBy, cols)
		if err != nil {
			return "", err
		}
		b.WriteString(" ORDER BY " + order)
	}
	b.WriteString(")")
	if c.Filter != nil {
		cond, err := w.expr(c.Filter, cols)
		if err != nil {
			return "", err
		}
		b.WriteString(" FILTER (WHERE " + cond + ")")
	}
	return b.String(), nil
}

func (w *writer) arguments(args []plan.Expr, params []*plan.Constant, cols []string) (string, error) {
	texts, err := w.exprs(args, cols)
	if err != nil {
		return "", err
	}
	extra, err := constants(params)
	return strings.Join(append(texts, extra...), ", "), err
}
