package bind

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/internal/fileaccess"
)

// refusedFunctions cannot be called, and why: they have a state that tasks on several executors do not share, or bind a
// text past what a statement's own is held to.
var refusedFunctions = map[string]string{
	"setseed": "random() has no seed here: rows are computed on several executors. hash() of a column gives numbers that stay the same",
	"nextval": "there are no sequences", "currval": "there are no sequences",
	"json_serialize_plan": "EXPLAIN shows plans",
}

// refused is the error of a statement that calls a function which cannot be called, or one that reads files where that is
// off.
func (s *statement) refused(files bool) error {
	var err error
	visit(s.tree, func(node map[string]any) {
		name, _ := node["function_name"].(string)
		if name == "" || err != nil {
			return
		}
		name = strings.ToLower(name)
		if withoutBounds(name, node) {
			err = &Error{Message: "bitstring_agg(x) needs its bounds here: write bitstring_agg(x, low, high), where every x is from low to high"}
		} else if why, ok := refusedFunctions[name]; ok {
			err = &Error{Message: fmt.Sprintf("%s() is not supported: %s", name, why)}
		} else if fileaccess.KindOf(name) == fileaccess.Reader && !files {
			err = &Error{Message: fileaccess.Off(name).Error()}
		}
	}, nil)
	visit(s.tree, func(node map[string]any) {
		name, ok := tableFunctionOf(node)
		if !ok || err != nil {
			return
		}
		switch fileaccess.KindOf(name) {
		case fileaccess.Refused:
			err = &Error{Message: fmt.Sprintf("%s() is not supported: %s", name, fileaccess.Why(name))}
		case fileaccess.Unknown:
			err = &Error{Message: fmt.Sprintf("there is no table function %s()", name)}
		case fileaccess.Plain, fileaccess.Reader:
		}
	}, nil)
	return err
}

// aggregatesOfLists call the aggregate that their second argument names.
var aggregatesOfLists = names{"list_aggregate": true, "list_aggr": true, "array_aggregate": true, "array_aggr": true, "aggregate": true}

// withoutBounds says that a call is a bitstring_agg(x), alone, over a window or over a list. DuckDB takes its bounds from the
// statistics of tables of its own, which no table here is.
func withoutBounds(name string, node map[string]any) bool {
	args, _ := node["children"].([]any)
	if n := len(args); aggregatesOfLists[name] && (n == 1 || n == 2) { // of l.list_aggregate('sum') the tree has one
		return strings.EqualFold(constantOf(args[n-1]), "bitstring_agg")
	}
	return name == "bitstring_agg" && len(args) < 2
}

// tableFunctionOf is the name of the function that a node of FROM calls.
func tableFunctionOf(node map[string]any) (string, bool) {
	if node["type"] != "TABLE_FUNCTION" {
		return "", false
	}
	call, _ := node["function"].(map[string]any)
	name, ok := call["function_name"].(string)
	return strings.ToLower(name), ok
}
