package scan

import (
	"math"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/manifest"
)

// Partition values that are in tables but not what pruning takes them for. Both kinds show in the summaries of the
// manifest list, and where iceberg-go prunes (matchedNow), a column that has them is not used. Our own pruning knows them value
// by value (span.go).
//
// iceberg-go 0.7.0 writes the empty text, as the lower bound of a manifest's partition values, as no bound at all, and no
// bound means to every reader that all values are NULL: files of the partitions of a text column would be pruned wrongly
// once one of the partitions is the empty text. Commits of Serac put the bound right (package commit); tables that others
// wrote may have it.
//
// truncate[W] of an integer less than W above its type's smallest value underflows, in Java as in Go, and the smallest
// values then stand in the partition of the largest.

// doubt is what a summary of a partition field's values is tested with, nil when it may be trusted.
func doubt(schema *ice.Schema, f ice.PartitionField) func(ice.FieldSummary) bool {
	source, ok := schema.FindFieldByID(f.SourceID())
	if !ok {
		return nil
	}
	truncate, truncated := f.Transform.(ice.TruncateTransform)
	switch t := f.Transform.ResultType(source.Type).(type) {
	case ice.StringType, ice.BinaryType:
		return func(s ice.FieldSummary) bool { return s.LowerBound == nil }
	case ice.Int32Type, ice.Int64Type:
		if !truncated {
			return nil
		}
		limit := int64(math.MaxInt64)
		if _, ok := t.(ice.Int32Type); ok {
			limit = math.MaxInt32
		}
		return func(s ice.FieldSummary) bool {
			if s.UpperBound == nil {
				return false
			}
			upper, err := ice.LiteralFromBytes(t, *s.UpperBound)
			if err != nil {
				return true
			}
			switch v := upper.Any().(type) {
			case int32:
				return int64(v) > limit-int64(truncate.Width)
			case int64:
				return v > limit-int64(truncate.Width)
			default:
				return true
			}
		}
	default:
		return nil
	}
}

// doubtful are the columns for which the manifests hold such values.
func doubtful(meta table.Metadata, schema *ice.Schema, manifests []*manifest.Manifest) map[int]bool {
	out := map[int]bool{}
	for _, m := range manifests {
		spec := meta.PartitionSpecByID(int(m.PartitionSpecID()))
		if spec == nil {
			continue
		}
		summaries := m.Summaries
		for i, f := range spec.Fields() {
			if test := doubt(schema, f); test != nil && i < len(summaries) && test(summaries[i]) {
				out[f.SourceID()] = true
			}
		}
	}
	return out
}
