package bind

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seracdb/serac/plan"
)

// whole adds the statement as text over its scans. Where DuckDB would push a join's filter below a LIMIT of the text
// (duckdb/duckdb#22924) there is the plan alone: it is written so that DuckDB does not (plan/render).
func (b *binding) whole(out *Bound, r *rewritten, rewriteErr error) {
	if out.Plan != nil && limitBelowJoin(out.Plan, false) {
		return
	}
	if r == nil {
		why := "it cannot be run as text: " + firstLine(rewriteErr.Error())
		if out.Reason != "" {
			why = out.Reason + "; " + why
		}
		out.Reason = why
		return
	}
	w := &plan.WholeStatement{SQL: r.sql, Out: out.Columns, MaxRows: b.tree.maxRows()}
	for i, name := range r.scans {
		t := r.tables[name]
		columns := t.Columns
		var planned []tableScan
		switch {
		case t.Call != nil:
		case out.Plan != nil:
			planned = scansOf(out.Plan, t)
			if !r.unnamed && !r.chosen[name] {
				columns = wholeColumns(t, planned, r.columns)
			}
		case out.Reason == "" && !r.unnamed && !r.starred[name]:
			columns = wholeColumns(t, nil, r.columns)
		}
		leaf := t.scan(plan.LeafID(i+1), columns)
		if s, ok := leaf.(*plan.IcebergScan); ok {
			s.Filter = wholeFilter(planned, columns)
		}
		w.Scans = append(w.Scans, plan.NamedScan{Name: name, Scan: leaf})
	}
	out.Whole = w
}

func limitBelowJoin(n plan.Node, joined bool) bool {
	switch n.(type) {
	case *plan.Limit:
		if joined {
			return true
		}
	case *plan.Join, *plan.DelimJoin:
		joined = true
	}
	return slices.ContainsFunc(n.Children(), func(child plan.Node) bool { return limitBelowJoin(child, joined) })
}

// maxRows is the constant of the statement's own LIMIT; 0 when it has none.
func (s *statement) maxRows() int64 {
	for _, m := range s.modifiers() {
		modifier, _ := m.(map[string]any)
		limit, _ := modifier["limit"].(map[string]any)
		if modifier["type"] != "LIMIT_MODIFIER" || limit["type"] != "VALUE_CONSTANT" {
			continue
		}
		value, _ := limit["value"].(map[string]any)
		number, _ := value["value"].(json.Number)
		rows, err := number.Int64()
		if err != nil || rows < 0 {
			return 0
		}
		return rows
	}
	return 0
}

// limitInside says that a query inside a statement has a LIMIT, so that only the plan shows whether it is below a join.
func (s *statement) limitInside() bool {
	count := func(v any) (n int) {
		visit(v, func(node map[string]any) {
			if kind, _ := node["type"].(string); kind == "LIMIT_MODIFIER" || kind == "LIMIT_PERCENT_MODIFIER" {
				n++
			}
		}, nil)
		return n
	}
	own := 0 // the statement's own, at its end
	for _, m := range s.modifiers() {
		own += min(count(m), 1)
	}
	return count(s.tree) > own
}

// modifiers are what stands at the statement's own end: ORDER BY, LIMIT.
func (s *statement) modifiers() []any {
	var out []any
	statements, _ := s.tree.(map[string]any)["statements"].([]any)
	for _, of := range statements {
		query, _ := of.(map[string]any)["node"].(map[string]any)
		modifiers, _ := query["modifiers"].([]any)
		out = append(out, modifiers...)
	}
	return out
}

// tableScan is what a leaf reads of a table.
type tableScan struct {
	columns []plan.ScanColumn
	filter  plan.Expr
}

// scansOf are a plan's scans of a table.
func scansOf(n plan.Node, t *Table) []tableScan {
	var scans []tableScan
	plan.Walk(n, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.IcebergScan:
			if t.Metadata == "" && n.TableKey == t.Key && n.SnapshotID == t.SnapshotID && n.AsOf == t.AsOf {
				scans = append(scans, tableScan{n.Columns, n.Filter})
			}
		case *plan.MetadataScan:
			if n.Kind == t.Metadata && n.TableKey == t.Key && n.SnapshotID == t.SnapshotID {
				scans = append(scans, tableScan{n.Columns, nil})
			}
		}
		return true
	})
	return scans
}

// wholeFilter is what is true of every row that any of the plan's scans of a table needs; nil when one needs all, or there
// is none. The plan gives the same result as the text whatever is in the tables. So it is the result over those rows
// alone, too, and the text's over them as well.
func wholeFilter(planned []tableScan, columns []plan.ScanColumn) plan.Expr {
	at := map[int32]int{}
	for i, c := range columns {
		at[c.FieldID] = i
	}
	either := &plan.Conjunction{Or: true}
	for _, s := range planned {
		if s.filter == nil {
			return nil
		}
		either.Args = append(either.Args, plan.MapColumns(s.filter, func(i int) int { return at[s.columns[i].FieldID] }))
	}
	switch len(either.Args) {
	case 0:
		return nil
	case 1:
		return either.Args[0]
	}
	return either
}

// wholeColumns are the columns that the scan behind a generated name must have: those that the plan reads, and those
// that the text names, since it must still bind.
func wholeColumns(t *Table, planned []tableScan, named names) []plan.ScanColumn {
	if named == nil {
		return t.Columns
	}
	used := map[int32]bool{}
	for _, s := range planned {
		for _, c := range s.columns {
			used[c.FieldID] = true
		}
	}
	var out []plan.ScanColumn
	for _, c := range t.Columns {
		if used[c.FieldID] || named[strings.ToLower(c.Name)] {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = t.Columns[:1]
	}
	return out
}

// namedColumns are the words of a text that may name columns, in lower case, and whether it may also mean columns of any table
// that it does not name, other than by a star (starredTables). named is nil where leaving out such a column could change what the
// text means: a star is counted by position (set operations, lists of column names), as is #1; a natural join looks for common names, a row
// is named as a whole.
func namedColumns(tree any) (named names, unnamed bool) {
	out := names{}
	star, byPosition, all, lists := false, false, false, false // lists: of names for what a star may give
	aliases, values := names{}, names{}                        // of tables; words that stand alone as values
	visit(tree, func(node map[string]any) {
		switch node["type"] {
		case "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE":
			byPosition = true
		case "PIVOT", "SHOW_REF":
			unnamed = true
		case "STAR", "COLUMNS":
			star = true
		case "POSITIONAL_REFERENCE": // the FROM's first column, and so on
			all = true
		case "BASE_TABLE":
			if alias, _ := node["alias"].(string); alias != "" {
				aliases[strings.ToLower(alias)] = true
			}
			if list, _ := node["column_name_alias"].([]any); len(list) > 0 {
				unnamed = true
			}
		}
		if list, _ := node["column_names"].([]any); len(list) == 1 {
			word, _ := list[0].(string)
			values[strings.ToLower(word)] = true
		}
		for _, key := range []string{"column_name_alias", "aliases"} {
			if list, _ := node[key].([]any); len(list) > 0 {
				lists = true
			}
		}
		if node["ref_type"] == "NATURAL" || node["ref_type"] == "POSITIONAL" {
			all = true
		}
	}, func(word string) { out[strings.ToLower(word)] = true })
	for a := range aliases {
		all = all || values[a] // a row
	}
	if all || star && (byPosition || lists || unnamed) {
		return nil, true
	}
	return out, unnamed
}

// starredTables are the names of the tables whose columns a star stands for, each in its own query's FROM. What a star in EXISTS
// stands for does not matter. chosen are those of them whose columns a star chooses from (EXCLUDE, COLUMNS, LIKE): it fails when it
// is left with none, so there must be all, even where a plan shows that none is needed.
func starredTables(tree any) (starred, chosen names) {
	starred, chosen = names{}, names{}
	var walk func(v any, query map[string]any)
	walk = func(v any, query map[string]any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item, query)
			}
		case map[string]any:
			switch v["type"] {
			case "SELECT_NODE":
				query = v
				if list, _ := v["select_list"].([]any); slices.ContainsFunc(list, plainStar) {
					tablesOf(query["from_table"], starred)
					v = withoutStars(v)
				}
			case "STAR", "COLUMNS":
				tablesOf(query["from_table"], starred)
				tablesOf(query["from_table"], chosen)
			}
			exists := v["subquery_type"] == "EXISTS"
			for key, child := range v {
				if exists && key == "subquery" {
					child = existence(child)
				}
				walk(child, query)
			}
		}
	}
	walk(tree, nil)
	return starred, chosen
}

// plainStar says that an item of a SELECT list is * or t.*, and nothing more.
func plainStar(item any) bool {
	node, _ := item.(map[string]any)
	for _, key := range []string{"exclude_list", "qualified_exclude_list", "replace_list", "rename_list"} {
		if list, _ := node[key].([]any); len(list) > 0 {
			return false
		}
	}
	return node["type"] == "STAR" && node["columns"] != true
}

// tablesOf adds the tables of a FROM, but for those of subqueries in it.
func tablesOf(from any, found names) {
	node, _ := from.(map[string]any)
	switch node["type"] {
	case "BASE_TABLE":
		name, _ := node["table_name"].(string)
		found[name] = true
	case "JOIN":
		tablesOf(node["left"], found)
		tablesOf(node["right"], found)
	case "SUBQUERY", "EMPTY":
	default: // what else there may be, tables inside are better read whole than not
		visit(from, func(n map[string]any) {
			if n["type"] == "BASE_TABLE" {
				tablesOf(n, found)
			}
		}, nil)
	}
}

// existence is the query of an EXISTS without the stars of its SELECT list, if there being a row does not depend on them, as it
// would with DISTINCT and OFFSET, GROUP BY ALL and such.
func existence(subquery any) any {
	holder, _ := subquery.(map[string]any)
	query, _ := holder["node"].(map[string]any)
	if query["type"] != "SELECT_NODE" || query["aggregate_handling"] != "STANDARD_HANDLING" || query["having"] != nil || query["qualify"] != nil {
		return subquery
	}
	for _, key := range []string{"modifiers", "group_expressions", "group_sets"} {
		if list, _ := query[key].([]any); len(list) > 0 {
			return subquery
		}
	}
	holder = maps.Clone(holder)
	holder["node"] = withoutStars(query)
	return holder
}

// withoutStars is a query without the plain stars of its SELECT list.
func withoutStars(query map[string]any) map[string]any {
	list, _ := query["select_list"].([]any)
	query = maps.Clone(query)
	query["select_list"] = slices.DeleteFunc(slices.Clone(list), plainStar)
	return query
}

// visit calls object for every object of a tree and, if not nil, word for every string in it.
func visit(v any, object func(map[string]any), word func(string)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			visit(item, object, word)
		}
	case map[string]any:
		object(v)
		for _, child := range v {
			visit(child, object, word)
		}
	case string:
		if word != nil {
			word(v)
		}
	}
}
