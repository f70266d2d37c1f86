package iceberg

import (
	"fmt"
	"regexp"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/plan"
)

// PartitionTerm is one term of PARTITIONED BY: a transform of a column. Column may be a path into structs, its parts
// joined by dots, as Iceberg names nested fields.
type PartitionTerm struct {
	Column    string
	Transform string // as the specification writes it: identity, bucket[16], truncate[4], year, month, day, hour, void
	Name      string // the partition field's name; "" for the usual one (id_bucket_16, ts_day)
}

// writableTransform parses a transform that Serac can write; iceberg-go accepts unknown ones for reading.
func writableTransform(text string) (ice.Transform, error) {
	t, err := ice.ParseTransform(text)
	if err != nil {
		return nil, err
	}
	if _, unknown := t.(ice.UnknownTransform); unknown {
		return nil, fmt.Errorf("unknown transform %s (known: identity, bucket, truncate, year, month, day, hour, void)", text)
	}
	return t, nil
}

// NewPartitionSpec builds the partition spec of a new table from its terms; no terms make the unpartitioned spec. Column
// names match the schema's exactly or, when that fails, without case.
func NewPartitionSpec(s *ice.Schema, terms []PartitionTerm) (*ice.PartitionSpec, error) {
	if len(terms) == 0 {
		return ice.UnpartitionedSpec, nil
	}
	options := make([]ice.PartitionOption, 0, len(terms))
	for i, term := range terms {
		source, ok := s.FindFieldByName(term.Column)
		if !ok {
			source, ok = s.FindFieldByNameCaseInsensitive(term.Column)
		}
		if !ok {
			return nil, fmt.Errorf("partition by %s: the table has no column %s", term.Transform, term.Column)
		}
		transform, err := writableTransform(term.Transform)
		if err != nil {
			return nil, fmt.Errorf("partition by %s of %s: %w", term.Transform, term.Column, err)
		}
		if _, nested := source.Type.(ice.NestedType); nested || !transform.CanTransform(source.Type) {
			return nil, fmt.Errorf("partition by %s of %s: the transform does not take a column of type %s", term.Transform, term.Column, source.Type)
		}
		name := term.Name
		if name == "" {
			field := ice.PartitionField{SourceIDs: []int{source.ID}, Transform: transform}
			if name, err = ice.GeneratePartitionFieldName(s, field); err != nil {
				return nil, fmt.Errorf("partition by %s of %s: %w", term.Transform, term.Column, err)
			}
			name = notInManifests.ReplaceAllString(name, "_")
		}
		id := firstPartitionFieldID + i
		options = append(options, ice.AddPartitionFieldBySourceID(source.ID, name, transform, s, &id))
	}
	spec, err := ice.NewPartitionSpecOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("partition spec: %w", err)
	}
	if err := checkManifestSchema(s, spec); err != nil {
		return nil, err
	}
	return &spec, nil
}

// notInManifests is what the name of a partition field cannot have, as a field of a manifest's Avro schema: iceberg-go
// 0.7.0 writes names as they are.
var notInManifests = regexp.MustCompile(`^[^A-Za-z_]|[^A-Za-z0-9_]`)

// checkManifestSchema refuses specs whose manifests iceberg-go 0.7.0 cannot write: those with names that Avro does not
// have, and those with two decimals, whose Avro types it names alike.
func checkManifestSchema(s *ice.Schema, spec ice.PartitionSpec) error {
	decimal := ""
	for _, f := range spec.Fields() {
		if notInManifests.MatchString(f.Name) {
			return fmt.Errorf("partition field %q: a name may have letters, digits and underscores only", f.Name)
		}
		source, _ := s.FindFieldByID(f.SourceID())
		if _, ok := f.Transform.ResultType(source.Type).(ice.DecimalType); !ok {
			continue
		}
		if decimal != "" {
			return fmt.Errorf("partition by %s and %s: two decimals cannot be written to one manifest", decimal, f.Name)
		}
		decimal = f.Name
	}
	return nil
}

// firstPartitionFieldID is where partition field ids start (specification, Partition Specs).
const firstPartitionFieldID = 1000

// PartitionFields are the fields of a spec as plans carry them.
func PartitionFields(spec ice.PartitionSpec) []plan.PartitionField {
	out := make([]plan.PartitionField, 0, spec.NumFields())
	for _, f := range spec.Fields() {
		out = append(out, plan.PartitionField{
			SourceID: int32(f.SourceID()), FieldID: int32(f.FieldID), Name: f.Name, Transform: f.Transform.String(),
		})
	}
	return out
}
