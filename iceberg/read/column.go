package read

import (
	"fmt"
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// Reserved field ids of metadata columns (specification, Reserved Field IDs).
const (
	fileFieldID        = 2147483646
	posFieldID         = 2147483645
	deletedFieldID     = 2147483644
	specFieldID        = 2147483643
	rowIDFieldID       = ice.RowIDFieldID
	lastUpdatedFieldID = ice.LastUpdatedSequenceNumberFieldID
)

// A scan of no columns reads one that no file has: noColumnFieldID is the lowest reserved id, which nothing uses.
const (
	noColumn        = "none"
	noColumnFieldID = 2147483447
)

// source is a field that files are asked for, under a name of our own.
type source struct {
	id   int32
	name string
	typ  plan.Type
	// field is the table's field; nil for the row lineage columns.
	field *iceberg.Field
}

// output is one column of the scan: a source, or something computed for each file.
type output struct {
	name    string
	typ     plan.Type
	source  int   // index into sources; -1 when none
	special int32 // the metadata column, 0 when none
}

// columns are what a reader asks files for, and what it makes of it.
type columns struct {
	sources []source
	byID    map[int32]int // field id to index into sources
	outputs []output
}

// add is the index of the source of a field, added if it is not there.
func (c *columns) add(id int32, name string, typ plan.Type, field *iceberg.Field) int {
	if i, ok := c.byID[id]; ok {
		return i
	}
	c.byID[id] = len(c.sources)
	c.sources = append(c.sources, source{id: id, name: name, typ: typ, field: field})
	return len(c.sources) - 1
}

func hidden(id int32) string { return fmt.Sprintf("h%d", id) }

// newColumns resolves a scan's columns against the table's fields.
func newColumns(scan []plan.ScanColumn, fields map[int32]*iceberg.Field) (*columns, error) {
	c := &columns{byID: make(map[int32]int)}
	for i, column := range scan {
		out := output{name: fmt.Sprintf("c%d", i), typ: column.Type, source: -1}
		switch column.FieldID {
		case fileFieldID, posFieldID, deletedFieldID, specFieldID:
			out.special = column.FieldID
		case rowIDFieldID, lastUpdatedFieldID:
			out.special = column.FieldID
			out.source = c.add(column.FieldID, hidden(column.FieldID), plan.T(plan.BigInt), nil)
		default:
			field, ok := fields[column.FieldID]
			if !ok {
				return nil, fmt.Errorf("column %s: the table's schema has no field %d", column.Name, column.FieldID)
			}
			if !field.Type.Equal(column.Type) {
				return nil, fmt.Errorf("column %s: the plan says %s, the table's schema %s", column.Name, column.Type, field.Type)
			}
			out.source = c.add(column.FieldID, out.name, column.Type, field)
		}
		c.outputs = append(c.outputs, out)
	}
	return c, nil
}

// topLevel are the fields of a schema by id.
func topLevel(fields []iceberg.Field) map[int32]*iceberg.Field {
	out := make(map[int32]*iceberg.Field, len(fields))
	for i := range fields {
		out[fields[i].ID] = &fields[i]
	}
	return out
}

// schemaMap is the schema argument of read_parquet: keys are SQL (field ids, or names as strings).
type schemaMap []struct{ key, name, typ, value string }

func (m *schemaMap) add(key, name string, typ plan.Type, value string) {
	*m = append(*m, struct{ key, name, typ, value string }{key, name, typ.SQL(), value})
}

func (m schemaMap) String() string {
	parts := make([]string, len(m))
	for i, c := range m {
		parts[i] = fmt.Sprintf("%s: {name: %s, type: %s, default_value: %s}",
			c.key, plan.QuoteString(c.name), plan.QuoteString(c.typ), c.value)
	}
	return "MAP {" + strings.Join(parts, ", ") + "}"
}

// readParquet is a read_parquet call, named f. rows is how many rows are expected: with a schema DuckDB looks into no file
// while it plans, and would expect none. Hive partitioning stays off: it would take columns out of directory names.
func readParquet(paths []string, s *shape, rows int64) string {
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = plan.QuoteString(path)
	}
	schema := ""
	if !s.plain {
		schema = fmt.Sprintf("schema = %s, ", s.schema)
	}
	return fmt.Sprintf("read_parquet([%s], %shive_partitioning = false, explicit_cardinality = %d) AS f",
		strings.Join(quoted, ", "), schema, max(rows, 1))
}
