package scan

import (
	"fmt"
	"slices"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/manifest"
)

// partitionConstants are, by the id of a partition spec, its identity fields whose columns a scan reads. Files of migrated
// tables lack these columns, and their value is the partition's then (specification, Column Projection).
type partitionConstants map[int32][]constantField

type constantField struct {
	name       string
	field, col int
	of         ice.Type
}

func constantFields(meta table.Metadata, schema *ice.Schema, projected []int) partitionConstants {
	out := partitionConstants{}
	for _, spec := range meta.PartitionSpecs() {
		fields := []constantField{}
		for _, f := range spec.Fields() {
			if _, identity := f.Transform.(ice.IdentityTransform); !identity || !slices.Contains(projected, f.SourceID()) {
				continue
			}
			if source, ok := schema.FindFieldByID(f.SourceID()); ok {
				fields = append(fields, constantField{name: f.Name, field: f.FieldID, col: f.SourceID(), of: source.Type})
			}
		}
		out[int32(spec.ID())] = fields
	}
	return out
}

// of are a file's values, as single-value bytes by column; a column without one is NULL in files that lack it.
func (c partitionConstants) of(f *manifest.File) (map[int32][]byte, error) {
	fields, ok := c[f.Task.File.SpecID()]
	if !ok {
		return nil, fmt.Errorf("the table has no partition spec %d", f.Task.File.SpecID())
	}
	var constants map[int32][]byte
	for _, field := range fields {
		value, ok := f.Value(field.field)
		if !ok || value == nil {
			continue
		}
		encoded, err := encodePartitionValue(field.of, value)
		if err != nil {
			return nil, fmt.Errorf("partition field %s: %w", field.name, err)
		}
		if constants == nil {
			constants = map[int32][]byte{}
		}
		constants[int32(field.col)] = encoded
	}
	return constants, nil
}

// encodePartitionValue encodes a partition value as iceberg-go reads it from a manifest.
func encodePartitionValue(t ice.Type, value any) ([]byte, error) {
	value, err := iceberg.CanonicalValue(t, value)
	if err != nil {
		return nil, err
	}
	return iceberg.EncodeValue(t, value)
}
