package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// delimSource is what the DelimGets of a delim join read: the distinct keys as a CTE, or, for a lateral join, the keys
// of the current row.
type delimSource struct {
	cte  string
	keys []string
}

func (w *writer) delimGet(n *plan.DelimGet) (string, error) {
	if len(w.delims) == 0 {
		return "", fmt.Errorf("no delim join around it")
	}
	d := w.delims[len(w.delims)-1]
	if d.cte == "" {
		if len(d.keys) != len(n.Out) {
			return "", fmt.Errorf("%d columns of a delim join with %d keys", len(n.Out), len(d.keys))
		}
		return "SELECT " + list(d.keys), nil
	}
	in := w.alias(d.cte, len(n.Out))
	return selectFrom(in.cols, in.from), nil
}

// inside writes a node with its DelimGets reading d.
func (w *writer) inside(d delimSource, n plan.Node) (string, error) {
	w.delims = append(w.delims, d)
	w.joins++
	sql, err := w.node(n)
	w.joins--
	w.delims = w.delims[:len(w.delims)-1]
	return sql, err
}

// delimJoin writes the keys' side as a CTE and its distinct keys as another, which the other side reads.
func (w *writer) delimJoin(n *plan.DelimJoin) (string, error) {
	if n.Lateral {
		return w.lateral(n)
	}
	source, other := n.Join.Left, n.Join.Right
	if n.Flipped {
		source, other = other, source
	}
	sql, err := w.node(source)
	if err != nil {
		return "", err
	}
	width := len(source.Schema())
	s, d := w.name("s"), w.name("d")
	keys, err := pick(w.alias(s, width).cols, n.Keys)
	if err != nil {
		return "", err
	}
	from := s + " AS " + strings.TrimSuffix(keys[0], "."+column(n.Keys[0]))
	with := "WITH " + s + " AS MATERIALIZED (" + sql + "), " + d + " AS MATERIALIZED (SELECT DISTINCT " + list(keys) + " FROM " + from + ") "
	otherSQL, err := w.inside(delimSource{cte: d}, other)
	if err != nil {
		return "", err
	}
	left, right := w.alias(s, width), w.relate(otherSQL, len(other.Schema()))
	if n.Flipped {
		left, right = right, left
	}
	body, err := w.joined(n.Join, left, right)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(body, "WITH ") {
		in := w.relate(body, len(n.Schema()))
		body = selectFrom(in.cols, in.from)
	}
	return with + body, nil
}

// lateral writes the other side per row of the keys' side. The conditions that only tie the two sides together by the
// keys hold by themselves then.
func (w *writer) lateral(n *plan.DelimJoin) (string, error) {
	if n.Flipped {
		return "", fmt.Errorf("a lateral delim join is never flipped")
	}
	w.joins++
	left, err := w.input(n.Join.Left)
	w.joins--
	if err != nil {
		return "", err
	}
	keys, err := pick(left.cols, n.Keys)
	if err != nil {
		return "", err
	}
	sql, err := w.inside(delimSource{keys: keys}, n.Join.Right)
	if err != nil {
		return "", err
	}
	right := w.relate(sql, len(n.Join.Right.Schema()))
	rest := *n.Join
	rest.Conds = nil
	for _, c := range n.Join.Conds {
		if c.Op != plan.NotDistinctFrom {
			rest.Conds = append(rest.Conds, c)
		}
	}
	conds, err := w.joinConds(&rest, left, right)
	if err != nil {
		return "", err
	}
	where := ""
	if len(conds) > 0 {
		where = " WHERE " + strings.Join(conds, " AND ")
	}
	out := left.cols[:len(left.cols):len(left.cols)]
	switch n.Join.Kind {
	case plan.Inner:
		return selectFrom(append(out, right.cols...), left.from+", LATERAL "+right.from) + where, nil
	case plan.Left:
		on := "true"
		if len(conds) > 0 {
			on = strings.Join(conds, " AND ")
		}
		return selectFrom(append(out, right.cols...), left.from+" LEFT JOIN LATERAL "+right.from+" ON "+on), nil
	case plan.LeftSemi:
		return selectFrom(out, left.from) + " WHERE EXISTS (SELECT 1 FROM " + right.from + where + ")", nil
	case plan.LeftAnti:
		return selectFrom(out, left.from) + " WHERE NOT EXISTS (SELECT 1 FROM " + right.from + where + ")", nil
	case plan.Mark:
		return w.lateralMark(&rest, left, right)
	case plan.Single:
		return w.lateralSingle(left, right, where)
	}
	return "", fmt.Errorf("no SQL known of a lateral %s join", n.Join.Kind)
}

func (w *writer) lateralMark(n *plan.Join, left, right relation) (string, error) {
	if n.Residual == nil && len(n.Conds) == 0 {
		return selectFrom(append(left.cols[:len(left.cols):len(left.cols)], "EXISTS (SELECT 1 FROM "+right.from+")"), left.from), nil
	}
	if n.Residual == nil && len(n.Conds) == 1 {
		return w.markAny(n.Conds[0], left, right)
	}
	if n.Residual == nil && allEqual(n.Conds) {
		return w.markRowIn(n.Conds, left, right)
	}
	return "", fmt.Errorf("no SQL known of a lateral mark join with these conditions")
}

// lateralSingle is a scalar subquery, whose own check for a second row DuckDB makes. All columns come from one
// subquery, as a struct.
func (w *writer) lateralSingle(left, right relation, where string) (string, error) {
	parts := make([]string, len(right.cols))
	for i, c := range right.cols {
		parts[i] = column(i) + " := " + c
	}
	width := len(left.cols)
	inner := append(left.cols[:width:width], "(SELECT struct_pack("+strings.Join(parts, ", ")+") FROM "+right.from+where+")")
	in := w.relate(selectFrom(inner, left.from), width+1)
	out := in.cols[:width:width]
	for i := range right.cols {
		out = append(out, "struct_extract("+in.cols[width]+", '"+column(i)+"')")
	}
	return selectFrom(out, in.from), nil
}
