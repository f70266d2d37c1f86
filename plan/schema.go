package plan

// Column is one output column of a node.
type Column struct {
	Name     string
	Type     Type
	Nullable bool
}

// Schema is the ordered output columns of a node. Names are for people and for the root's result; nodes address columns
// by position.
type Schema []Column

// Types are the column types in order.
func (s Schema) Types() []Type {
	types := make([]Type, len(s))
	for i, c := range s {
		types[i] = c.Type
	}
	return types
}

// Names are the column names in order.
func (s Schema) Names() []string {
	names := make([]string, len(s))
	for i, c := range s {
		names[i] = c.Name
	}
	return names
}

// Equal says whether two schemas are the same in every column's name, type and nullability.
func (s Schema) Equal(o Schema) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if s[i].Name != o[i].Name || s[i].Nullable != o[i].Nullable || !s[i].Type.Equal(o[i].Type) {
			return false
		}
	}
	return true
}
