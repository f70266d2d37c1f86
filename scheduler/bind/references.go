package bind

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// statement is a parsed SELECT: DuckDB's own syntax tree as generic JSON, numbers exact.
type statement struct {
	tree any // the document of json_serialize_sql
}

func parseStatement(text string) (*statement, error) {
	d := json.NewDecoder(bytes.NewReader(quoteBareNumbers([]byte(text))))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read the syntax tree: %w", err)
	}
	if failed, _ := doc["error"].(bool); failed {
		message, _ := doc["error_message"].(string)
		kind, _ := doc["error_type"].(string)
		return nil, &serializeError{kind: kind, message: message}
	}
	if list, _ := doc["statements"].([]any); len(list) != 1 {
		return nil, &Error{Message: fmt.Sprintf("one statement at a time: the text has %d", len(list))}
	}
	return &statement{tree: doc}, nil
}

func (s *statement) json() (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s.tree); err != nil {
		return "", fmt.Errorf("write the syntax tree: %w", err)
	}
	return b.String(), nil
}

// clone is a copy of a tree.
func clone(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			out[key] = clone(child)
		}
		return out
	}
	return v
}

// names is a set of names in lower case.
type names map[string]bool

// tableNode is a base table in a tree.
type tableNode struct {
	node map[string]any
	ref  Ref
}

// tables are all base tables of the tree: names that no common table expression in scope has.
func (s *statement) tables() []tableNode {
	var out []tableNode
	walkTables(s.tree, names{}, func(n tableNode) { out = append(out, n) })
	return out
}

func walkTables(v any, ctes names, found func(tableNode)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			walkTables(item, ctes, found)
		}
	case map[string]any:
		kind, _ := v["type"].(string)
		if kind == "BASE_TABLE" {
			ref := refOf(v)
			if len(ref.Parts) > 1 || len(ref.Parts) == 1 && !ctes[strings.ToLower(ref.Parts[0])] {
				found(tableNode{node: v, ref: ref})
			}
			walkTables(v["at_clause"], ctes, found)
			return
		}
		if kind == "RECURSIVE_CTE_NODE" {
			ctes = with(ctes, v["cte_name"])
		}
		if m, ok := v["cte_map"].(map[string]any); ok {
			entries, _ := m["map"].([]any)
			for _, e := range entries {
				entry, _ := e.(map[string]any)
				// A CTE sees those before it; itself only when it is recursive, and then its node says so.
				walkTables(entry["value"], ctes, found)
				ctes = with(ctes, entry["key"])
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) { // in a fixed order: scans are numbered by it
			if key != "cte_map" {
				walkTables(v[key], ctes, found)
			}
		}
	}
}

func with(ctes names, name any) names {
	s, ok := name.(string)
	if !ok {
		return ctes
	}
	out := maps.Clone(ctes)
	out[strings.ToLower(s)] = true
	return out
}

func refOf(node map[string]any) Ref {
	var ref Ref
	for _, key := range []string{"catalog_name", "schema_name", "table_name"} {
		if s, _ := node[key].(string); s != "" {
			ref.Parts = append(ref.Parts, s)
		}
	}
	if at, ok := node["at_clause"].(map[string]any); ok {
		unit, _ := at["unit"].(string)
		ref.At = &At{Unit: strings.ToUpper(unit), Value: constantOf(at["expr"])} // a binding computes it: timeTravel
	}
	return ref
}

// constantOf is the text of a constant, under casts; "" when it is something else.
func constantOf(v any) string {
	node, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	if child, ok := node["child"]; ok {
		return constantOf(child)
	}
	value, ok := node["value"].(map[string]any)
	if !ok {
		return ""
	}
	switch inner := value["value"].(type) {
	case string:
		return inner
	case json.Number:
		return inner.String()
	}
	return ""
}

// key tells references apart: names are compared without case.
func (r Ref) key() string {
	k := strings.ToLower(strings.Join(r.Parts, "\x00"))
	if r.At != nil {
		k += fmt.Sprintf("\x01%s\x01%t\x01%s", r.At.Unit, r.At.Named, r.At.Value)
	}
	return k
}

// distinct are the references of table nodes, each once, in the order they appear in the tree's tables.
func distinct(nodes []tableNode) []Ref {
	seen := map[string]bool{}
	var out []Ref
	for _, n := range nodes {
		if k := n.ref.key(); !seen[k] {
			seen[k] = true
			out = append(out, n.ref)
		}
	}
	return out
}
