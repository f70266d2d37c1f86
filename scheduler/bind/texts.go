package bind

import (
	"context"
	"fmt"
)

// maxNestedTexts bounds query() inside the text of query().
const maxNestedTexts = 16

// texts puts the query whose text a call of query() has in the call's place: what the statement is held to, it is held to as
// well, and its tables are found as the others are.
func (b *binding) texts(ctx context.Context) error {
	for range maxNestedTexts {
		var calls []map[string]any
		visit(b.tree.tree, func(node map[string]any) {
			if name, ok := tableFunctionOf(node); ok && name == "query" {
				calls = append(calls, node)
			}
		}, nil)
		if len(calls) == 0 {
			return nil
		}
		b.changed = true
		for _, node := range calls {
			if err := b.expand(ctx, node); err != nil {
				return err
			}
		}
	}
	return &Error{Message: fmt.Sprintf("query() inside the text of query(), %d deep", maxNestedTexts)}
}

// expand puts the query in the place of one call.
func (b *binding) expand(ctx context.Context, node map[string]any) error {
	args, named, err := b.arguments(ctx, "query", node["function"].(map[string]any)["children"])
	if err != nil {
		return err
	}
	if len(args) != 1 || len(named) > 0 || node["with_ordinality"] == "WITH_ORDINALITY" {
		return &Error{Message: "query() has one argument: the text of a query"}
	}
	sql, ok := args[0].Value.(string)
	if !ok {
		return &Error{Message: "query() needs the text of a query"}
	}
	inner, err := b.syntaxTree(ctx, sql)
	if err != nil {
		return statementError(err)
	}
	if inner.params() > 0 {
		return &Error{Message: "the text of query() has parameters, which have no values there"}
	}
	holder, err := b.syntaxTree(ctx, "SELECT * FROM (SELECT 1)")
	if err != nil {
		return err
	}
	var subquery map[string]any
	visit(holder.tree, func(n map[string]any) {
		if n["type"] == "SUBQUERY" {
			subquery = n
		}
	}, nil)
	subquery["subquery"] = inner.tree.(map[string]any)["statements"].([]any)[0]
	alias, _ := node["alias"].(string)
	if alias == "" {
		alias = "query"
	}
	for _, key := range []string{"sample", "column_name_alias", "query_location"} {
		if v, ok := node[key]; ok {
			subquery[key] = v
		}
	}
	subquery["alias"] = alias
	clear(node)
	for key, v := range subquery {
		node[key] = v
	}
	return nil
}
