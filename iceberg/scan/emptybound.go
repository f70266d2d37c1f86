package scan

import (
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// iceberg-go 0.7.0 writes the empty text, as the lower bound of a manifest's partition values, as no bound at all, and no
// bound means to every reader that all values are NULL: files of the partitions of a text column would be pruned wrongly
// once one of the partitions is the empty text. Commits of Serac put the bound right (package commit). For tables that
// others wrote, columns with such manifests are not used for pruning.

// textPartitions are the columns of text or bytes that some partition spec holds as they are or truncated.
func textPartitions(meta table.Metadata, schema *ice.Schema) map[int]bool {
	out := map[int]bool{}
	for _, spec := range meta.PartitionSpecs() {
		for _, f := range spec.Fields() {
			if textPartition(schema, f) {
				out[f.SourceID()] = true
			}
		}
	}
	return out
}

func textPartition(schema *ice.Schema, f ice.PartitionField) bool {
	source, ok := schema.FindFieldByID(f.SourceID())
	if !ok {
		return false
	}
	switch f.Transform.ResultType(source.Type).(type) {
	case ice.StringType, ice.BinaryType:
		return true
	default:
		return false
	}
}

// missingBounds are the text partition columns for which a manifest has no lower bound.
func missingBounds(meta table.Metadata, schema *ice.Schema, manifests []ice.ManifestFile) map[int]bool {
	out := map[int]bool{}
	for _, m := range manifests {
		spec := meta.PartitionSpecByID(int(m.PartitionSpecID()))
		if spec == nil {
			continue
		}
		summaries := m.Partitions()
		for i, f := range spec.Fields() {
			if i < len(summaries) && summaries[i].LowerBound == nil && textPartition(schema, f) {
				out[f.SourceID()] = true
			}
		}
	}
	return out
}
