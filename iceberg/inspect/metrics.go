package inspect

import (
	"slices"
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// metric is a column of which readable_metrics shows the statistics: one without columns inside.
type metric struct {
	id   int
	name string // dots between the names of nested columns
	of   ice.Type
}

// metrics are sorted by name, as Iceberg does it.
type metrics []metric

func readableMetrics(schema *ice.Schema) metrics {
	var out metrics
	var add func(path string, fields []ice.NestedField)
	add = func(path string, fields []ice.NestedField) {
		for _, f := range fields {
			name := path + f.Name
			if nested, ok := f.Type.(ice.NestedType); ok {
				add(name+".", nested.Fields())
				continue
			}
			t, err := iceberg.PlanType(f.Type)
			if err != nil || t.Kind == plan.Variant || t.Kind == plan.Geometry {
				continue // bounds of these have no readable form
			}
			out = append(out, metric{f.ID, name, f.Type})
		}
	}
	add("", schema.Fields())
	slices.SortFunc(out, func(a, b metric) int { return strings.Compare(a.name, b.name) })
	return out
}

// readableMetricsID is the field id of the column: one that no partition field has.
const readableMetricsID = 1 << 24

// withReadableMetrics are the columns of a schema of files, and readable_metrics unless the table has no column to show.
func withReadableMetrics(schema, of *ice.Schema) ([]plan.ScanColumn, error) {
	columns, err := iceberg.Columns(schema)
	if err != nil {
		return nil, err
	}
	all := plan.Type{Kind: plan.Struct}
	for _, m := range readableMetrics(of) {
		value, err := iceberg.PlanType(m.of)
		if err != nil {
			return nil, err
		}
		one := plan.Type{Kind: plan.Struct}
		for _, name := range []string{"column_size", "value_count", "null_value_count", "nan_value_count"} {
			one.Fields = append(one.Fields, plan.Field{Name: name, Type: plan.T(plan.BigInt)})
		}
		for _, name := range []string{"lower_bound", "upper_bound"} {
			one.Fields = append(one.Fields, plan.Field{Name: name, Type: value})
		}
		all.Fields = append(all.Fields, plan.Field{Name: m.name, Type: one})
	}
	if len(all.Fields) == 0 {
		return columns, nil
	}
	return append(columns, plan.ScanColumn{FieldID: readableMetricsID, Name: "readable_metrics", Type: all, Nullable: true}), nil
}

func (m metrics) cell(f ice.DataFile) any {
	sizes, values, nulls, nans := f.ColumnSizes(), f.ValueCounts(), f.NullValueCounts(), f.NaNValueCounts()
	lower, upper := f.LowerBoundValues(), f.UpperBoundValues()
	out := make(structCell, len(m))
	for i, c := range m {
		out[i] = structCell{
			count(sizes, c.id), count(values, c.id), count(nulls, c.id), count(nans, c.id),
			bound(c.of, lower[c.id]), bound(c.of, upper[c.id]),
		}
	}
	return out
}

func count(counts map[int]int64, id int) any {
	n, ok := counts[id]
	if !ok {
		return nil
	}
	return n
}

// bound is a bound's value, NULL when there is none or it was written for another type and cannot be read as this one.
func bound(of ice.Type, b []byte) any {
	if b == nil {
		return nil
	}
	written := of
	switch of.(type) { // before the column was promoted
	case ice.Int64Type:
		if len(b) == 4 {
			written = ice.PrimitiveTypes.Int32
		}
	case ice.Float64Type:
		if len(b) == 4 {
			written = ice.PrimitiveTypes.Float32
		}
	}
	value, err := iceberg.DecodeValue(written, b)
	if err != nil {
		return nil
	}
	if value, err = iceberg.CanonicalValue(of, value); err != nil {
		return nil
	}
	return value
}
