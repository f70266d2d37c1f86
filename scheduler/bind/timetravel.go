package bind

import (
	"context"
	"fmt"
	"strings"
)

// timeTravel computes the values of the statement's AT clauses, which may be any expression of constants, parameters and
// the clock's functions. A time without a zone is one of the session's TimeZone. While a parameter has no value the current
// version stands in: its columns are what is known of the result.
func (b *binding) timeTravel(ctx context.Context) error {
	for i, n := range b.nodes {
		if n.ref.At == nil {
			continue
		}
		if len(b.req.Params) == 0 && hasParameter(n.node["at_clause"]) {
			delete(n.node, "at_clause")
			b.nodes[i].ref.At, b.changed = nil, true
			continue
		}
		at, err := b.pointInTime(ctx, n)
		if err != nil {
			return fmt.Errorf("table %s: %w", n.ref, err)
		}
		b.nodes[i].ref.At = at
	}
	return nil
}

func hasParameter(v any) bool {
	found := false
	visit(v, func(node map[string]any) { found = found || node["class"] == "PARAMETER" }, nil)
	return found
}

func (b *binding) pointInTime(ctx context.Context, n tableNode) (*At, error) {
	out := &At{Unit: n.ref.At.Unit}
	clause, _ := n.node["at_clause"].(map[string]any)
	expr, err := b.constantText(ctx, clause["expr"], "AT needs a constant")
	if err != nil {
		return nil, err
	}
	ask := "SELECT ({})::VARCHAR, typeof({})"
	if out.Unit == "TIMESTAMP" {
		ask = "SELECT epoch_us(CAST(({}) AS TIMESTAMPTZ))::VARCHAR, typeof({})"
	}
	rows, err := b.conn.Rows(ctx, strings.ReplaceAll(ask, "{}", expr))
	if err != nil {
		return nil, statementError(err)
	}
	value, ok := rows[0][0].(string)
	if !ok {
		return nil, &Error{Message: fmt.Sprintf("AT (%s => NULL) names no version", out.Unit)}
	}
	of, _ := rows[0][1].(string)
	out.Value = value
	switch {
	case out.Unit == "TIMESTAMP":
	case out.Unit != "VERSION":
		return nil, &Error{Message: fmt.Sprintf("AT (%s => ...): expected VERSION or TIMESTAMP", out.Unit)}
	case of == "VARCHAR":
		out.Named = true
	case !strings.HasSuffix(of, "INT") && of != "INTEGER" && of != "UINTEGER":
		return nil, &Error{Message: fmt.Sprintf("AT (VERSION => ...): a snapshot's id or the name of a branch or tag, not a value of type %s", of)}
	}
	return out, nil
}

// constantText is the text of an expression of a syntax tree, with parameters and the clock replaced by their values. what is
// the error when it can be none.
func (b *binding) constantText(ctx context.Context, expr any, what string) (string, error) {
	item := clone(expr)
	constant := true
	visit(item, func(node map[string]any) {
		switch node["class"] {
		case "SUBQUERY", "STAR", "WINDOW", "LAMBDA":
			constant = false
		}
	}, nil)
	if !constant {
		return "", &Error{Message: what}
	}
	holder, err := b.syntaxTree(ctx, "SELECT NULL")
	if err != nil {
		return "", err
	}
	items := selectList(holder.tree)
	items[0] = item
	r := &treeRewriter{params: b.req.Params}
	if err := r.rewrite(holder.tree); err != nil {
		return "", err
	}
	if err := b.replace(ctx, r.replacements); err != nil {
		return "", err
	}
	text, err := b.planner.text(ctx, holder)
	if err != nil {
		return "", fmt.Errorf("write a constant: %w", err)
	}
	text = strings.TrimRight(strings.TrimSpace(text), ";")
	expression, ok := strings.CutPrefix(text, "SELECT ")
	if !ok {
		return "", fmt.Errorf("write a constant: %q is no SELECT", text)
	}
	return expression, nil
}
