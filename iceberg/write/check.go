package write

import (
	"fmt"
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// checked is a column's value as SQL that fails, naming the field, where the value breaks the schema: NULL in a required
// field, also inside structs, lists and maps (rule 22), or a binary of another length than a fixed field's.
func checked(f *iceberg.Field, value string) string {
	var whens []string
	for _, v := range violations(f, value, f.Name, 0) {
		whens = append(whens, fmt.Sprintf("WHEN %s THEN error(%s)", v.cond, plan.QuoteString(v.message)))
	}
	if len(whens) == 0 {
		return value
	}
	return "CASE " + strings.Join(whens, " ") + " ELSE " + value + " END"
}

// violation is a condition that a value must not meet.
type violation struct{ cond, message string }

// violations are what must not hold of a field's value, which is SQL. depth numbers the lambdas around it.
func violations(f *iceberg.Field, value, path string, depth int) []violation {
	var out []violation
	if f.Required {
		out = append(out, violation{value + " IS NULL", "NULL in required column " + path})
	}
	switch f.Type.Kind {
	case plan.Struct:
		for i := range f.Children {
			child := &f.Children[i]
			for _, v := range violations(child, value+"."+plan.QuoteIdent(child.Name), path+"."+child.Name, depth) {
				out = append(out, violation{fmt.Sprintf("(%s IS NOT NULL AND %s)", value, v.cond), v.message})
			}
		}
	case plan.List:
		out = append(out, anyOf(&f.Children[0], value, path+".element", depth)...)
	case plan.Map:
		out = append(out, anyOf(&f.Children[0], "map_keys("+value+")", path+".key", depth)...)
		out = append(out, anyOf(&f.Children[1], "map_values("+value+")", path+".value", depth)...)
	case plan.Blob:
		if fixed, ok := f.Iceberg.(ice.FixedType); ok {
			out = append(out, violation{
				fmt.Sprintf("octet_length(%s) <> %d", value, fixed.Len()),
				fmt.Sprintf("a value of another length than %d in column %s of type %s", fixed.Len(), path, fixed),
			})
		}
	}
	return out
}

// anyOf are the violations of a list's elements.
func anyOf(element *iceberg.Field, list, path string, depth int) []violation {
	x := fmt.Sprintf("x%d", depth)
	var out []violation
	for _, v := range violations(element, x, path, depth+1) {
		out = append(out, violation{fmt.Sprintf("len(list_filter(%s, lambda %s: %s)) > 0", list, x, v.cond), v.message})
	}
	return out
}
