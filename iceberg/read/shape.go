package read

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// column is a column of a Parquet file, or a field inside one, with its Iceberg field id (-1: none).
type column struct {
	id       int32
	name     string
	children []*column // a list's element, a map's key and value, a struct's fields
}

// fileColumns are the columns of a file. hasIDs is false when no field of the file has an id; mapping then gives ids by
// name.
func fileColumns(footer *metadata.FileMetaData, mapping ice.NameMapping) (columns []*column, hasIDs bool) {
	root := footer.Schema.Root()
	for i := range root.NumFields() {
		c := newColumn(root.Field(i))
		columns = append(columns, c)
		hasIDs = hasIDs || c.anyID()
	}
	if !hasIDs {
		mapNames(columns, mapping)
	}
	return columns, hasIDs
}

func (c *column) anyID() bool {
	if c.id >= 0 {
		return true
	}
	for _, child := range c.children {
		if child.anyID() {
			return true
		}
	}
	return false
}

// mapNames gives ids to columns by a name mapping. A name that the mapping has not stays without.
func mapNames(columns []*column, mapping []ice.MappedField) {
	for _, c := range columns {
		for i := range mapping {
			m := &mapping[i]
			for _, name := range m.Names {
				if name != c.name {
					continue
				}
				if m.FieldID != nil {
					c.id = int32(*m.FieldID)
				}
				mapNames(c.children, m.Fields)
			}
		}
	}
}

// newColumn reads a Parquet node. The groups that Parquet puts around a list's element and a map's entries are left out,
// in all the forms that the Parquet specification lists for old files.
func newColumn(n schema.Node) *column {
	c := &column{id: n.FieldID(), name: n.Name()}
	group, ok := n.(*schema.GroupNode)
	if !ok {
		return c
	}
	switch n.LogicalType().(type) {
	case schema.ListLogicalType:
		c.children = []*column{element(group)}
		return c
	case schema.MapLogicalType:
		if group.NumFields() == 1 {
			if entries, ok := group.Field(0).(*schema.GroupNode); ok && entries.NumFields() == 2 {
				key, value := newColumn(entries.Field(0)), newColumn(entries.Field(1))
				key.name, value.name = "key", "value"
				c.children = []*column{key, value}
				return c
			}
		}
	}
	switch n.ConvertedType() {
	case schema.ConvertedTypes.List:
		c.children = []*column{element(group)}
		return c
	}
	for i := range group.NumFields() {
		c.children = append(c.children, newColumn(group.Field(i)))
	}
	return c
}

// element is the element of a LIST group.
func element(list *schema.GroupNode) *column {
	if list.NumFields() != 1 {
		return &column{id: -1, name: "element"}
	}
	repeated := list.Field(0)
	group, ok := repeated.(*schema.GroupNode)
	var e *column
	if !ok || group.NumFields() != 1 || group.Name() == "array" || group.Name() == list.Name()+"_tuple" {
		e = newColumn(repeated) // two-level list: the repeated field is the element
	} else {
		e = newColumn(group.Field(0))
	}
	e.name = "element"
	return e
}

func find(columns []*column, id int32) *column {
	for _, c := range columns {
		if c.id == id {
			return c
		}
	}
	return nil
}

// stable says that the names inside a field are the same in every schema of the table, so that every file with field ids
// has them, and that no field inside has an initial default. Then DuckDB, which matches the fields inside a column by name,
// reads it as the schema says. Names that are no identifiers do not count: writers spell them differently in files
// ("a b" as "a_x20b").
func stable(field *iceberg.Field, schemas []*ice.Schema) bool {
	if len(field.Children) == 0 {
		return true
	}
	if len(schemas) == 0 || !identifiers(field.Children) {
		return false
	}
	for _, s := range schemas {
		for _, f := range s.Fields() {
			if int32(f.ID) == field.ID && !sameNames(field.Children, f.Type) {
				return false
			}
		}
	}
	return !hasInitial(field.Children)
}

func identifiers(fields []iceberg.Field) bool {
	for i := range fields {
		for j, c := range fields[i].Name {
			if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (j == 0 || c < '0' || c > '9') {
				return false
			}
		}
		if !identifiers(fields[i].Children) {
			return false
		}
	}
	return true
}

func hasInitial(fields []iceberg.Field) bool {
	for i := range fields {
		if fields[i].Initial != nil || hasInitial(fields[i].Children) {
			return true
		}
	}
	return false
}

// sameNames says that in type t every field with the id of one of fields has its name, and none has the name but another
// id.
func sameNames(fields []iceberg.Field, t ice.Type) bool {
	nested, ok := t.(ice.NestedType)
	if !ok {
		return false
	}
	for _, f := range nested.Fields() {
		for i := range fields {
			sameID, sameName := fields[i].ID == int32(f.ID), strings.EqualFold(fields[i].Name, f.Name)
			if sameID != sameName {
				return false
			}
			if sameID && len(fields[i].Children) > 0 && !sameNames(fields[i].Children, f.Type) {
				return false
			}
		}
	}
	return true
}

// plainNames says the same of a file's column: DuckDB's matching by name does what matching by id would.
func plainNames(fields []iceberg.Field, c *column) bool {
	for _, child := range c.children {
		for i := range fields {
			sameID, sameName := fields[i].ID == child.id, strings.EqualFold(fields[i].Name, child.name)
			if sameID != sameName {
				return false
			}
			if sameID && len(fields[i].Children) > 0 && !plainNames(fields[i].Children, child) {
				return false
			}
		}
	}
	// DuckDB refuses a struct of which the file has no field.
	found := len(fields) == 0
	for i := range fields {
		found = found || find(c.children, fields[i].ID) != nil
	}
	return found && !hasInitial(fields)
}

// reshaped is how a nested column is read of a file whose names inside differ from the table's: the type to ask DuckDB
// for, in the file's names, and the table's value as SQL over what that gives.
func reshaped(f *iceberg.Field, c *column, in string, depth int) (plan.Type, string, error) {
	switch f.Type.Kind {
	case plan.List:
		if len(c.children) != 1 {
			return plan.Type{}, "", fmt.Errorf("field %s: the file has no list", f.Name)
		}
		v := fmt.Sprintf("x%d", depth)
		elem, expr, err := reshaped(&f.Children[0], c.children[0], v, depth+1)
		if err != nil {
			return plan.Type{}, "", err
		}
		if expr != v {
			expr = fmt.Sprintf("list_transform(%s, lambda %s: %s)", in, v, expr)
		} else {
			expr = in
		}
		return plan.ListType(elem), expr, nil
	case plan.Map:
		if len(c.children) != 2 {
			return plan.Type{}, "", fmt.Errorf("field %s: the file has no map", f.Name)
		}
		v := fmt.Sprintf("x%d", depth)
		key, keyExpr, err := reshaped(&f.Children[0], c.children[0], v+".key", depth+1)
		if err != nil {
			return plan.Type{}, "", err
		}
		value, valueExpr, err := reshaped(&f.Children[1], c.children[1], v+".value", depth+1)
		if err != nil {
			return plan.Type{}, "", err
		}
		expr := fmt.Sprintf("map_from_entries(list_transform(map_entries(%s), lambda %s: {'key': %s, 'value': %s}))", in, v, keyExpr, valueExpr)
		return plan.Type{Kind: plan.Map, Key: &key, Elem: &value}, expr, nil
	case plan.Struct:
		return reshapedStruct(f, c, in, depth)
	default:
		return f.Type, in, nil
	}
}

func reshapedStruct(f *iceberg.Field, c *column, in string, depth int) (plan.Type, string, error) {
	asked := plan.Type{Kind: plan.Struct}
	parts := make([]string, len(f.Children))
	for i := range f.Children {
		child := &f.Children[i]
		var expr string
		if have := find(c.children, child.ID); have != nil {
			t, e, err := reshaped(child, have, in+"."+plan.QuoteIdent(have.name), depth)
			if err != nil {
				return plan.Type{}, "", fmt.Errorf("in %s: %w", f.Name, err)
			}
			asked.Fields = append(asked.Fields, plan.Field{Name: have.name, Type: t})
			expr = e
		} else {
			value, err := missingValue(child)
			if err != nil {
				return plan.Type{}, "", fmt.Errorf("in %s: %w", f.Name, err)
			}
			expr = value
		}
		parts[i] = plan.QuoteIdent(child.Name) + ": " + expr
	}
	if len(asked.Fields) == 0 {
		// None of the table's fields is in the file: any field of the file tells which structs are NULL.
		if len(c.children) == 0 {
			return plan.Type{}, "", fmt.Errorf("field %s: the file has no struct", f.Name)
		}
		asked.Fields = []plan.Field{{Name: c.children[0].name, Type: plan.T(plan.Varchar)}}
	}
	return asked, fmt.Sprintf("CASE WHEN %s IS NULL THEN NULL ELSE {%s} END", in, strings.Join(parts, ", ")), nil
}

// missingValue is the value of a field that a file has not, as SQL.
func missingValue(f *iceberg.Field) (string, error) {
	value := "NULL"
	if f.Initial != nil {
		var err error
		if value, err = defaultValue(f.Iceberg, f.Initial); err != nil {
			return "", fmt.Errorf("initial default of %s: %w", f.Name, err)
		}
	}
	return "CAST(" + value + " AS " + f.Type.SQL() + ")", nil
}
