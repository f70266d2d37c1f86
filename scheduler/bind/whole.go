package bind

import (
	"strings"

	"github.com/seracdb/serac/plan"
)

// whole adds the statement as text over its scans.
func (b *binding) whole(out *Bound, r *rewritten, rewriteErr error) {
	if r == nil {
		why := "it cannot be run as text: " + firstLine(rewriteErr.Error())
		if out.Reason != "" {
			why = out.Reason + "; " + why
		}
		out.Reason = why
		return
	}
	used := usedColumns(out.Plan)
	w := &plan.WholeStatement{SQL: r.sql, Out: out.Columns}
	for i, name := range r.scans {
		t := r.tables[name]
		w.Scans = append(w.Scans, plan.NamedScan{Name: name, Scan: &plan.IcebergScan{Leaf: plan.LeafID(i + 1), TableKey: t.Key,
			SnapshotID: t.SnapshotID, EstimatedRows: t.Rows, EstimatedBytes: t.Bytes, Columns: wholeColumns(t, used, r.columns)}})
	}
	out.Whole = w
}

// usedColumns are the columns that a plan reads, by table key and field id; nil when there is no plan to tell.
func usedColumns(n plan.Node) map[string]map[int32]bool {
	if n == nil {
		return nil
	}
	used := map[string]map[int32]bool{}
	plan.Walk(n, func(n plan.Node) bool {
		if s, ok := n.(*plan.IcebergScan); ok {
			if used[s.TableKey] == nil {
				used[s.TableKey] = map[int32]bool{}
			}
			for _, c := range s.Columns {
				used[s.TableKey][c.FieldID] = true
			}
		}
		return true
	})
	return used
}

// wholeColumns are the columns that the scan behind a generated name must have: those that the plan reads, and those
// that the text names, since it must still bind.
func wholeColumns(t *Table, used map[string]map[int32]bool, named names) []plan.ScanColumn {
	if used == nil || named == nil {
		return t.Columns
	}
	var out []plan.ScanColumn
	for _, c := range t.Columns {
		if used[t.Key][c.FieldID] || named[strings.ToLower(c.Name)] {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = t.Columns[:1]
	}
	return out
}

// namedColumns are the words of a text that may name columns, in lower case. It is nil where leaving out a column that
// the text does not name could change what it means: a star is counted by position (set operations, lists of column
// names), a natural join looks for common names, a row is named as a whole.
func namedColumns(tree any) names {
	out := names{}
	star, byPosition, byName := false, false, false
	var aliases []string
	visit(tree, func(node map[string]any) {
		switch node["type"] {
		case "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "PIVOT", "SHOW_REF":
			byPosition = true
		case "STAR", "COLUMNS":
			star = true
		case "BASE_TABLE":
			if alias, _ := node["alias"].(string); alias != "" {
				aliases = append(aliases, strings.ToLower(alias))
			}
		}
		if list, _ := node["column_name_alias"].([]any); len(list) > 0 {
			byPosition = true
		}
		if list, _ := node["aliases"].([]any); len(list) > 0 {
			byPosition = true
		}
		if node["ref_type"] == "NATURAL" || node["ref_type"] == "POSITIONAL" {
			byName = true
		}
	}, func(word string) { out[strings.ToLower(word)] = true })
	for _, a := range aliases {
		byName = byName || rowNamed(tree, a)
	}
	if byName || star && byPosition {
		return nil
	}
	return out
}

// rowNamed says that a table's alias is used as a value.
func rowNamed(tree any, alias string) bool {
	found := false
	visit(tree, func(node map[string]any) {
		list, _ := node["column_names"].([]any)
		if len(list) == 1 && strings.EqualFold(list[0].(string), alias) {
			found = true
		}
	}, nil)
	return found
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
