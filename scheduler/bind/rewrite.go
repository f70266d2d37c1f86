package bind

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seracdb/serac/plan"
)

// rewritten is a statement with every table reference replaced by a generated name, its clock and session functions by
// constants, and its parameters by their values.
type rewritten struct {
	sql    string
	scans  []string          // generated names
	tables map[string]*Table // behind the generated names
	// columns are the column names that the text has, in lower case; nil when it may mean any column of its tables.
	columns names
	// unnamed says that it may mean others than these too, of any table; starred are the tables all of whose columns it means,
	// chosen those of them whose columns it chooses from.
	unnamed         bool
	starred, chosen names
	// momentary says that something was evaluated: the text is of this moment.
	momentary bool
}

// mustRewrite says that the text cannot be bound as it stands: DuckDB's views know no time travel, and parameters need
// their values.
func (b *binding) mustRewrite() bool {
	if b.changed || len(b.req.Params) > 0 {
		return true
	}
	return slices.ContainsFunc(b.nodes, func(n tableNode) bool { return b.unnameable(n.ref) })
}

// repeatable is Bound.Repeatable.
func (b *binding) repeatable() bool {
	if b.changed || b.rewritten == nil || b.rewritten.momentary || len(b.req.Params) > 0 {
		return false
	}
	functions := false
	visit(b.tree.tree, func(node map[string]any) { functions = functions || node["type"] == "TABLE_FUNCTION" }, nil)
	return !functions && !slices.ContainsFunc(b.nodes, func(n tableNode) bool { return n.ref.At != nil || b.tables[n.ref.key()].Call != nil })
}

// unnameable says that DuckDB cannot find a stub by the reference as it stands.
func (b *binding) unnameable(ref Ref) bool {
	t := b.tables[ref.key()]
	return ref.At != nil || t.Renamed || t.Call != nil
}

// generatedViews puts views where the rewritten text's generated names look for them.
func (b *binding) generatedViews(ctx context.Context) error {
	for _, name := range b.rewritten.scans {
		if err := b.view(ctx, b.req.Catalog, b.req.Schema, name, b.rewritten.tables[name].stub()); err != nil {
			return err
		}
	}
	return nil
}

// rewrite makes the statement's text over generated names. Most statements are not bound by it, and it is only run: see
// generatedViews for those that are.
func (b *binding) rewrite(ctx context.Context) (*rewritten, error) {
	tree := &statement{tree: clone(b.tree.tree)}
	out := &rewritten{tables: map[string]*Table{}}
	nodes := tree.tables()
	prefixes := map[string]string{} // "schema.table" and "catalog.schema.table" to the alias that stands for it
	nameOf := map[string]string{}   // by reference
	aliases := map[string]string{}  // alias to reference
	prefix := unusedPrefix(tree.tree)
	for i, n := range nodes {
		n.ref = b.nodes[i].ref // with its AT clause computed
		key := n.ref.key()
		t := b.tables[key]
		name, ok := nameOf[key]
		if !ok {
			name = fmt.Sprintf("%s%d", prefix, len(out.scans))
			nameOf[key] = name
			out.scans = append(out.scans, name)
			out.tables[name] = t
		}
		alias, _ := n.node["alias"].(string)
		if alias == "" {
			alias = n.ref.Parts[len(n.ref.Parts)-1]
			if other, ok := aliases[strings.ToLower(alias)]; ok && other != key {
				alias = name + "_table"
			}
			aliases[strings.ToLower(alias)] = key
			prefixes[strings.ToLower(t.Schema+"."+t.Name)] = alias
			prefixes[strings.ToLower(t.Catalog+"."+t.Schema+"."+t.Name)] = alias
			prefixes[strings.ToLower(strings.Join(n.ref.Parts, "."))] = alias
		}
		n.node["catalog_name"], n.node["schema_name"], n.node["table_name"], n.node["alias"] = "", "", name, alias
		delete(n.node, "at_clause")
	}
	r := &treeRewriter{prefixes: prefixes, taken: takenNames(tree.tree, b.byKey), params: b.req.Params}
	if err := r.rewrite(tree.tree); err != nil {
		return nil, err
	}
	if err := b.replace(ctx, r.replacements); err != nil {
		return nil, err
	}
	out.momentary = slices.ContainsFunc(r.replacements, func(r *replacement) bool { return r.evaluate })
	explicitCrossJoins(tree.tree, false)
	out.columns, out.unnamed = namedColumns(tree.tree)
	out.starred, out.chosen = starredTables(tree.tree)
	var err error
	if out.sql, err = b.planner.text(ctx, tree); err != nil {
		return nil, fmt.Errorf("write the statement back: %w", err)
	}
	out.sql = strings.TrimRight(strings.TrimSpace(out.sql), ";")
	again, err := b.syntaxTree(ctx, out.sql)
	if err != nil {
		return nil, fmt.Errorf("read the rewritten statement: %w", err)
	}
	if where := differ(tree.tree, again.tree, ""); where != "" {
		return nil, fmt.Errorf("the statement's text changes when it is written back (%s)", where)
	}
	return out, nil
}

// unusedPrefix begins generated names. No name in the statement begins with it: a table, common table expression or alias
// that did could be taken for the generated one.
func unusedPrefix(tree any) string {
	prefix := "scan_"
	for used := true; used; {
		used = false
		visit(tree, func(map[string]any) {}, func(word string) {
			used = used || strings.HasPrefix(strings.ToLower(word), prefix)
		})
		if used {
			prefix += "_"
		}
	}
	return prefix
}

// treeRewriter changes a syntax tree in place. Nodes that become constants are collected: their values come later.
type treeRewriter struct {
	prefixes     map[string]string
	taken        names // names that columns or aliases have: not the clock's
	params       []*plan.Constant
	replacements []*replacement
}

func (r *treeRewriter) rewrite(v any) error {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := r.rewrite(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, child := range v {
			if err := r.rewrite(child); err != nil {
				return err
			}
		}
		switch v["class"] {
		case "COLUMN_REF":
			r.shorten(v)
			r.sessionValue(v)
		case "FUNCTION":
			r.sessionValue(v)
		case "PARAMETER":
			return r.parameter(v)
		}
		if _, ok := v["named_param_map"]; ok && len(r.params) > 0 {
			v["named_param_map"] = []any{}
		}
	}
	return nil
}

// shorten drops catalog and schema from a column's name: the table has an alias now.
func (r *treeRewriter) shorten(node map[string]any) {
	list, _ := node["column_names"].([]any)
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i], _ = p.(string)
	}
	for n := min(3, len(parts)-1); n >= 2; n-- {
		if alias, ok := r.prefixes[strings.ToLower(strings.Join(parts[:n], "."))]; ok {
			node["column_names"] = append([]any{alias}, list[n:]...)
			return
		}
	}
}

// explicitCrossJoins turns a CROSS JOIN that another join has on its left into JOIN ... ON true. DuckDB writes it as a comma,
// which binds less than JOIN: (a, b) JOIN c would become a, (b JOIN c).
func explicitCrossJoins(v any, leftOfJoin bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			explicitCrossJoins(item, false)
		}
	case map[string]any:
		if v["type"] == "JOIN" && v["ref_type"] == "CROSS" && leftOfJoin {
			v["ref_type"] = "REGULAR"
			v["condition"] = map[string]any{
				"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "query_location": 0,
				"value": map[string]any{"type": map[string]any{"id": "BOOLEAN", "type_info": nil}, "is_null": false, "value": true},
			}
		}
		join := v["type"] == "JOIN" && v["ref_type"] != "CROSS"
		for key, child := range v {
			explicitCrossJoins(child, join && key == "left")
		}
	}
}

// differ finds where two syntax trees differ beyond positions in the text; "" when they do not.
func differ(a, b any, path string) string {
	switch a := a.(type) {
	case map[string]any:
		bm, ok := b.(map[string]any)
		if !ok {
			return path
		}
		if a["type"] == "EXPRESSION_LIST" {
			bm = unwrapValues(bm)
		}
		if b, ok := booleanConstant(a); ok && bm["class"] == "CAST" {
			if constantOf(bm) == b {
				return ""
			}
			return path
		}
		for key, av := range a {
			if key == "query_location" || key == "named_param_map" {
				continue
			}
			if where := differ(av, bm[key], path+"."+key); where != "" {
				return where
			}
		}
		return ""
	case []any:
		bl, ok := b.([]any)
		if !ok && len(a) > 0 || len(a) != len(bl) {
			return path
		}
		for i := range a {
			if where := differ(a[i], bl[i], path); where != "" {
				return where
			}
		}
		return ""
	default:
		if a != b && fmt.Sprint(a) != fmt.Sprint(b) {
			return path
		}
		return ""
	}
}

// unwrapValues is the VALUES inside (SELECT * FROM (VALUES ..)), as which DuckDB writes a VALUES in FROM.
func unwrapValues(node map[string]any) map[string]any {
	if node["type"] != "SUBQUERY" {
		return node
	}
	subquery, _ := node["subquery"].(map[string]any)
	query, _ := subquery["node"].(map[string]any)
	from, _ := query["from_table"].(map[string]any)
	items, _ := query["select_list"].([]any)
	if from["type"] != "EXPRESSION_LIST" || len(items) != 1 || query["where_clause"] != nil {
		return node
	}
	if star, _ := items[0].(map[string]any); star["class"] != "STAR" {
		return node
	}
	inner := maps.Clone(from)
	inner["alias"] = node["alias"]
	return inner
}

// booleanConstant is how DuckDB writes true and false: as a cast of 't' and 'f'.
func booleanConstant(node map[string]any) (string, bool) {
	value, _ := node["value"].(map[string]any)
	if node["class"] != "CONSTANT" {
		return "", false
	}
	switch value["value"] {
	case true:
		return "t", true
	case false:
		return "f", true
	}
	return "", false
}
