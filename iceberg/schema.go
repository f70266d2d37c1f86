package iceberg

import (
	"fmt"
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/plan"
)

// Columns are the top-level columns of a schema as a scan of the whole table reads them. An error names the column.
func Columns(s *ice.Schema) ([]plan.ScanColumn, error) {
	fields := s.Fields()
	out := make([]plan.ScanColumn, len(fields))
	for i, f := range fields {
		t, err := PlanType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", f.Name, err)
		}
		out[i] = plan.ScanColumn{FieldID: int32(f.ID), Name: f.Name, Type: t, Nullable: !f.Required}
	}
	return out, nil
}

// Field is one field of a schema with its id, for readers and writers that must reach the fields inside lists, maps and
// structs. A list has one child (element), a map two (key, value), a struct its fields.
type Field struct {
	ID       int32
	Name     string
	Type     plan.Type
	Required bool
	// Iceberg is the field's Iceberg type, which tells fixed from binary, say.
	Iceberg  ice.Type
	Children []Field
	// Initial is the value of rows written before the field was added (format version 3), as single-value bytes; nil
	// for NULL.
	Initial []byte
	// Default is the value of rows that a write gives none (format version 3), likewise.
	Default []byte
}

// Fields are the fields of a schema as a tree. An error names the column.
func Fields(s *ice.Schema) ([]Field, error) {
	return fieldTree(s.Fields())
}

func fieldTree(fields []ice.NestedField) ([]Field, error) {
	out := make([]Field, len(fields))
	for i, f := range fields {
		t, err := PlanType(f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		out[i] = Field{ID: int32(f.ID), Name: f.Name, Type: t, Required: f.Required, Iceberg: f.Type}
		if f.InitialDefault != nil {
			if out[i].Initial, err = encodeDefault(f.Type, f.InitialDefault); err != nil {
				return nil, fmt.Errorf("initial default of field %s: %w", f.Name, err)
			}
		}
		if f.WriteDefault != nil {
			if out[i].Default, err = encodeDefault(f.Type, f.WriteDefault); err != nil {
				return nil, fmt.Errorf("write default of field %s: %w", f.Name, err)
			}
		}
		if nested, ok := f.Type.(ice.NestedType); ok {
			if out[i].Children, err = fieldTree(nested.Fields()); err != nil {
				return nil, fmt.Errorf("in %s: %w", f.Name, err)
			}
		}
	}
	return out, nil
}

// ColumnDef is a column as DDL defines it.
type ColumnDef struct {
	Name string
	Type plan.Type
	// Iceberg, if not nil, is the type spelled in Iceberg's own terms (ParseType) and takes the place of Type.
	Iceberg  ice.Type
	Nullable bool
	Doc      string
}

// NewSchema builds the schema of a new table. Ids are assigned to the columns first, then to the fields inside them; a
// catalog that creates the table may number the fields again in its own way. Two columns whose names differ in case alone are refused: SQL could not tell them apart.
func NewSchema(columns []ColumnDef) (*ice.Schema, error) {
	if len(columns) == 0 {
		return nil, fmt.Errorf("a table needs at least one column")
	}
	last := len(columns)
	nextID := func() int { last++; return last }
	fields := make([]ice.NestedField, len(columns))
	seen := make(map[string]string, len(columns))
	for i, c := range columns {
		if c.Name == "" {
			return nil, fmt.Errorf("column %d has no name", i+1)
		}
		if other, ok := seen[strings.ToLower(c.Name)]; ok {
			return nil, fmt.Errorf("columns %s and %s have the same name", other, c.Name)
		}
		seen[strings.ToLower(c.Name)] = c.Name
		var t ice.Type
		var err error
		if c.Iceberg != nil {
			t = renumber(c.Iceberg, nextID)
		} else {
			t, err = IcebergType(c.Type, nextID)
		}
		if err == nil {
			_, err = PlanType(t)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		fields[i] = ice.NestedField{ID: i + 1, Name: c.Name, Type: t, Required: !c.Nullable, Doc: c.Doc}
	}
	return ice.NewSchema(0, fields...), nil
}

// renumber is t with fresh ids for its nested fields.
func renumber(t ice.Type, nextID func() int) ice.Type {
	switch t := t.(type) {
	case *ice.ListType:
		out := *t
		out.ElementID = nextID()
		out.Element = renumber(t.Element, nextID)
		return &out
	case *ice.MapType:
		out := *t
		out.KeyID, out.ValueID = nextID(), nextID()
		out.KeyType, out.ValueType = renumber(t.KeyType, nextID), renumber(t.ValueType, nextID)
		return &out
	case *ice.StructType:
		out := &ice.StructType{FieldList: make([]ice.NestedField, len(t.FieldList))}
		copy(out.FieldList, t.FieldList)
		for i := range out.FieldList {
			out.FieldList[i].ID = nextID()
		}
		for i := range out.FieldList {
			out.FieldList[i].Type = renumber(t.FieldList[i].Type, nextID)
		}
		return out
	default:
		return t
	}
}
