package bind

import (
	"fmt"
	"strings"
)

// refusedFunctions have a state that tasks on several executors do not share.
var refusedFunctions = map[string]string{
	"setseed": "random() has no seed here: rows are computed on several executors. hash() of a column gives numbers that stay the same",
	"nextval": "there are no sequences", "currval": "there are no sequences",
}

// refused is the error of a statement that calls one of them.
func (s *statement) refused() error {
	var err error
	visit(s.tree, func(node map[string]any) {
		name, _ := node["function_name"].(string)
		name = strings.ToLower(name)
		if why, ok := refusedFunctions[name]; ok && err == nil {
			err = &Error{Message: fmt.Sprintf("%s() is not supported: %s", name, why)}
		}
	}, nil)
	return err
}
