package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

func cteName(index int) string { return fmt.Sprintf("cte_%d", index) }

func (w *writer) cte(n *plan.CTE) (string, error) {
	def, err := w.node(n.Def)
	if err != nil {
		return "", err
	}
	name := cteName(n.Index)
	w.ctes[n.Index] = name
	defer delete(w.ctes, n.Index)
	body, err := w.input(n.Body)
	if err != nil {
		return "", err
	}
	return "WITH " + name + " AS MATERIALIZED (" + def + ") " + selectFrom(body.cols, body.from), nil
}

func (w *writer) cteRef(n *plan.CTERef) (string, error) {
	name, ok := w.ctes[n.Index]
	if !ok {
		return "", fmt.Errorf("CTE %d is not defined around its reference", n.Index)
	}
	if n.Recurring {
		name = "recurring." + name
	}
	in := w.alias(name, len(n.Out))
	return selectFrom(in.cols, in.from), nil
}

func (w *writer) recursiveCTE(n *plan.RecursiveCTE) (string, error) {
	initial, err := w.node(n.Initial)
	if err != nil {
		return "", err
	}
	name := cteName(n.Index)
	w.ctes[n.Index] = name
	defer delete(w.ctes, n.Index)
	step, err := w.node(n.Recursive)
	if err != nil {
		return "", err
	}
	cols := make([]string, len(n.Out))
	for i := range cols {
		cols[i] = column(i)
	}
	key := ""
	if len(n.Keys) > 0 {
		keys, err := pick(cols, n.Keys)
		if err != nil {
			return "", err
		}
		key = " USING KEY (" + strings.Join(keys, ", ") + ")"
	}
	union := " UNION "
	if n.UnionAll {
		union = " UNION ALL "
	}
	out := w.alias(name, len(n.Out))
	return "WITH RECURSIVE " + name + "(" + strings.Join(cols, ", ") + ")" + key + " AS ((" + initial + ")" + union + "(" + step + ")) " +
		selectFrom(out.cols, out.from), nil
}
