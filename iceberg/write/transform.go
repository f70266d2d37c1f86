package write

import (
	"fmt"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// source is where a partition field's value comes from: an input column, and the structs' fields below it.
type source struct {
	column int
	field  iceberg.Field // of the value
	path   []string
	types  []plan.Type // of each step of path
}

// findSource finds the field with an id among the input's columns, or inside their structs.
func findSource(fields []iceberg.Field, id int32) (source, bool) {
	for i := range fields {
		if fields[i].ID == id {
			return source{column: i, field: fields[i]}, true
		}
		if fields[i].Type.Kind != plan.Struct {
			continue
		}
		if inner, ok := findSource(fields[i].Children, id); ok {
			step := fields[i].Children[inner.column]
			return source{
				column: i, field: inner.field,
				path:  append([]string{step.Name}, inner.path...),
				types: append([]plan.Type{step.Type}, inner.types...),
			}, true
		}
	}
	return source{}, false
}

// expr is the source as an expression over the input's columns.
func (s source) expr(columns []plan.ScanColumn) plan.Expr {
	var e plan.Expr = &plan.ColumnRef{Index: s.column, Of: columns[s.column].Type}
	for i, name := range s.path {
		e = &plan.Call{
			Name: "struct_extract",
			Args: []plan.Expr{e, &plan.Constant{Value: name, Of: plan.T(plan.Varchar)}},
			Of:   s.types[i],
		}
	}
	return e
}

// partition is one field of the partition spec with what it is of.
type partition struct {
	plan.PartitionField
	transform ice.Transform
	source    source
	result    ice.Type
}

// partitions resolves partition fields against the columns written. void fields are left out: their value is always NULL.
func partitions(fields []iceberg.Field, spec []plan.PartitionField) ([]partition, error) {
	var out []partition
	for _, f := range spec {
		transform, err := ice.ParseTransform(f.Transform)
		if err != nil {
			return nil, fmt.Errorf("partition field %s: %w", f.Name, err)
		}
		if _, ok := transform.(ice.VoidTransform); ok {
			continue
		}
		if _, ok := transform.(ice.UnknownTransform); ok {
			return nil, fmt.Errorf("partition field %s: transform %s is unknown and cannot be written", f.Name, f.Transform)
		}
		src, ok := findSource(fields, f.SourceID)
		if !ok {
			return nil, fmt.Errorf("partition field %s: no column has field id %d", f.Name, f.SourceID)
		}
		if !transform.CanTransform(src.field.Iceberg) {
			return nil, fmt.Errorf("partition field %s: %s does not take type %s", f.Name, f.Transform, src.field.Iceberg)
		}
		out = append(out, partition{PartitionField: f, transform: transform, source: src, result: transform.ResultType(src.field.Iceberg)})
	}
	return out, nil
}

// key is the partition field's key as an expression over the input's columns.
func (p partition) key(columns []plan.ScanColumn) plan.Expr {
	return &plan.Call{
		Name: keyFunction,
		Args: []plan.Expr{&plan.Constant{Value: p.Transform, Of: plan.T(plan.Varchar)}, p.source.expr(columns)},
		Of:   plan.T(plan.Varchar),
	}
}

// PartitionExprs are expressions over a write's input columns that are equal for rows of one partition, to exchange rows by
// (rule 19): the column itself for identity, else the partition key. void fields have none.
func PartitionExprs(columns []plan.ScanColumn, spec []plan.PartitionField, schema *ice.Schema) ([]plan.Expr, error) {
	fields, err := written(columns, schema)
	if err != nil {
		return nil, err
	}
	parts, err := partitions(fields, spec)
	if err != nil {
		return nil, err
	}
	var out []plan.Expr
	for _, p := range parts {
		if _, ok := p.transform.(ice.IdentityTransform); ok {
			out = append(out, p.source.expr(columns))
			continue
		}
		out = append(out, p.key(columns))
	}
	return out, nil
}

// written are the schema's fields in the order of the columns that are written.
func written(columns []plan.ScanColumn, schema *ice.Schema) ([]iceberg.Field, error) {
	fields, err := iceberg.Fields(schema)
	if err != nil {
		return nil, err
	}
	byID := make(map[int32]iceberg.Field, len(fields))
	for _, f := range fields {
		byID[f.ID] = f
	}
	out := make([]iceberg.Field, len(columns))
	for i, c := range columns {
		f, ok := byID[c.FieldID]
		if !ok {
			return nil, fmt.Errorf("column %s: the table's schema has no field %d", c.Name, c.FieldID)
		}
		delete(byID, c.FieldID)
		out[i] = f
	}
	for _, f := range byID {
		if f.Required {
			return nil, fmt.Errorf("required column %s is not written", f.Name)
		}
	}
	return out, nil
}
