package bind

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
)

// sessionFunctions are the functions that have one value per statement, which every task must see: that of planning.
var sessionFunctions = names{
	"now": true, "current_timestamp": true, "transaction_timestamp": true, "get_current_timestamp": true,
	"current_date": true, "today": true, "current_time": true, "get_current_time": true, "localtime": true,
	"current_localtime": true, "localtimestamp": true, "current_localtimestamp": true,
	"current_user": true, "session_user": true, "user": true, "current_role": true,
	"current_catalog": true, "current_database": true, "current_schema": true, "current_schemas": true, "current_setting": true,
	"txid_current": true, "version": true,
}

// bareSessionFunctions are those that SQL also writes without parentheses; the parser then takes them for columns.
var bareSessionFunctions = names{
	"current_timestamp": true, "current_date": true, "current_time": true, "localtime": true, "localtimestamp": true,
	"current_user": true, "session_user": true, "user": true, "current_role": true, "current_catalog": true, "current_schema": true,
}

// replacement is a node of the tree that becomes a constant.
type replacement struct {
	node map[string]any
	sql  string
	// evaluate: sql is an expression whose value is wanted; else it is the constant itself.
	evaluate bool
}

// sessionValue notes a node that calls a session function.
func (r *treeRewriter) sessionValue(node map[string]any) {
	if node["class"] == "COLUMN_REF" {
		list, _ := node["column_names"].([]any)
		if len(list) != 1 {
			return
		}
		name, _ := list[0].(string)
		name = strings.ToLower(name)
		if bareSessionFunctions[name] && !r.taken[name] {
			r.replacements = append(r.replacements, &replacement{node: node, sql: name, evaluate: true})
		}
		return
	}
	name, _ := node["function_name"].(string)
	name = strings.ToLower(name)
	children, _ := node["children"].([]any)
	if name == "age" && len(children) == 1 {
		// age(x) is age(today, x).
		today := map[string]any{}
		node["children"] = []any{today, children[0]}
		r.replacements = append(r.replacements, &replacement{node: today, sql: "current_date::TIMESTAMP", evaluate: true})
	}
	if !sessionFunctions[name] {
		return
	}
	args := make([]string, len(children))
	for i, c := range children {
		args[i] = plan.QuoteString(constantOf(c))
	}
	r.replacements = append(r.replacements, &replacement{node: node, sql: plan.QuoteIdent(name) + "(" + strings.Join(args, ", ") + ")", evaluate: true})
}

// parameter notes a parameter, to be replaced by its value.
func (r *treeRewriter) parameter(node map[string]any) error {
	if len(r.params) == 0 {
		return nil
	}
	id, _ := node["identifier"].(string)
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > len(r.params) {
		return &Error{Message: fmt.Sprintf("parameter $%s has no value: %d were given", id, len(r.params))}
	}
	text, err := render.Expr(r.params[n-1], nil)
	if err != nil {
		return fmt.Errorf("parameter $%d: %w", n, err)
	}
	r.replacements = append(r.replacements, &replacement{node: node, sql: text})
	return nil
}

// replace puts constants in the place of the noted nodes.
func (b *binding) replace(ctx context.Context, list []*replacement) error {
	if len(list) == 0 {
		return nil
	}
	if err := b.evaluate(ctx, list); err != nil {
		return err
	}
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = r.sql
	}
	tree, err := b.syntaxTree(ctx, "SELECT "+strings.Join(texts, ", "))
	if err != nil {
		return err
	}
	items := selectList(tree.tree)
	if len(items) != len(list) {
		return fmt.Errorf("%d constants where %d were written", len(items), len(list))
	}
	for i, r := range list {
		alias := r.node["alias"]
		clear(r.node)
		for key, v := range items[i].(map[string]any) {
			r.node[key] = v
		}
		if alias != nil {
			r.node["alias"] = alias
		}
	}
	return nil
}

// evaluate asks DuckDB for the values of the session functions, all in one statement.
func (b *binding) evaluate(ctx context.Context, list []*replacement) error {
	var wanted []*replacement
	var columns []string
	for _, r := range list {
		if r.evaluate {
			wanted = append(wanted, r)
			columns = append(columns, "typeof("+r.sql+")", "CAST("+r.sql+" AS VARCHAR)")
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	rows, err := b.conn.Rows(ctx, "SELECT "+strings.Join(columns, ", "))
	if err != nil {
		return statementError(err)
	}
	for i, r := range wanted {
		text := "NULL"
		if s, ok := rows[0][2*i+1].(string); ok {
			text = plan.QuoteString(s)
		}
		r.sql = "CAST(" + text + " AS " + fmt.Sprint(rows[0][2*i]) + ")"
	}
	return nil
}

// selectList is the list of a plain SELECT's expressions.
func selectList(tree any) []any {
	var out []any
	visit(tree, func(node map[string]any) {
		if list, ok := node["select_list"].([]any); ok && out == nil {
			out = list
		}
	}, nil)
	return out
}

// takenNames are the names of columns and aliases: a bare word that is one of them is not a session function.
func takenNames(tree any, tables map[string]*Table) names {
	out := names{}
	for _, t := range tables {
		for _, c := range t.Columns {
			out[strings.ToLower(c.Name)] = true
		}
	}
	visit(tree, func(node map[string]any) {
		if alias, _ := node["alias"].(string); alias != "" {
			out[strings.ToLower(alias)] = true
		}
	}, nil)
	return out
}

// params is the number of parameters of the statement.
func (s *statement) params() int {
	n := 0
	visit(s.tree, func(node map[string]any) {
		if list, ok := node["named_param_map"].([]any); ok {
			n = len(list)
		}
	}, nil)
	return n
}
