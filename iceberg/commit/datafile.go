package commit

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// dataFiles builds the files for a commit to base, a load of the table that planned may be older than. firstRowID, if not
// nil, is the row id of the first row (row lineage, format version 3); nil leaves row ids to the manifest list.
func dataFiles(planned, base *catalog.Table, messages []*seracv1.DataFile, firstRowID *int64) ([]ice.DataFile, error) {
	if err := checkSchema(planned, base); err != nil {
		return nil, err
	}
	files := make([]ice.DataFile, len(messages))
	seen := make(map[string]bool, len(messages))
	for i, m := range messages {
		if seen[m.GetPath()] {
			return nil, &FileError{Path: m.GetPath(), Reason: errors.New("it is listed twice")}
		}
		seen[m.GetPath()] = true
		builder, err := dataFile(planned, base, m)
		if err != nil {
			return nil, &FileError{Path: m.GetPath(), Reason: err}
		}
		if firstRowID != nil {
			builder.FirstRowID(*firstRowID)
			*firstRowID += m.GetRecordCount()
		}
		files[i] = builder.Build()
	}
	return files, nil
}

// checkSchema says whether files written for the planned schema still serve the table's.
func checkSchema(planned, base *catalog.Table) error {
	was, is := planned.Schema(), base.Schema()
	if was.ID == is.ID {
		return nil
	}
	for _, f := range is.Fields() {
		before, ok := was.FindFieldByID(f.ID)
		switch {
		case !ok && f.Required && f.InitialDefault == nil:
			return fmt.Errorf("%w: the required column %s was added while the statement ran", ErrConflict, f.Name)
		case ok && f.Required && !before.Required:
			return fmt.Errorf("%w: column %s was made required while the statement ran", ErrConflict, f.Name)
		}
	}
	return nil
}

func dataFile(planned, base *catalog.Table, m *seracv1.DataFile) (*ice.DataFileBuilder, error) {
	if err := checkOrigin(planned, m); err != nil {
		return nil, err
	}
	if m.GetRecordCount() < 0 {
		return nil, fmt.Errorf("its record count is %d", m.GetRecordCount())
	}
	if m.GetSizeBytes() <= 0 {
		return nil, fmt.Errorf("its size is %d bytes", m.GetSizeBytes())
	}
	meta := base.Iceberg().Metadata()
	spec := meta.PartitionSpecByID(int(m.GetSpecId()))
	if spec == nil {
		return nil, fmt.Errorf("the table has no partition spec %d", m.GetSpecId())
	}
	partition, err := partitionValues(planned.Schema(), *spec, m.GetPartition())
	if err != nil {
		return nil, err
	}
	if err := checkStatistics(planned.Schema(), m); err != nil {
		return nil, err
	}
	builder, err := ice.NewDataFileBuilder(*spec, ice.EntryContentData, m.GetPath(), ice.ParquetFile, partition, nil, nil,
		m.GetRecordCount(), m.GetSizeBytes())
	if err != nil {
		return nil, err
	}
	builder.ColumnSizes(byField(m.GetColumnSizes())).ValueCounts(byField(m.GetValueCounts())).
		NullValueCounts(byField(m.GetNullValueCounts())).NaNValueCounts(byField(m.GetNanValueCounts())).
		LowerBoundValues(byField(m.GetLowerBounds())).UpperBoundValues(byField(m.GetUpperBounds()))
	if offsets := m.GetSplitOffsets(); len(offsets) > 0 {
		if !slices.IsSorted(offsets) || offsets[0] < 0 || offsets[len(offsets)-1] >= m.GetSizeBytes() {
			return nil, fmt.Errorf("its split offsets are not within its %d bytes in order", m.GetSizeBytes())
		}
		builder.SplitOffsets(offsets)
	}
	return builder, nil
}

// byField is a statistic by field id as iceberg-go takes it; none is nil.
func byField[V any](stats map[int32]V) map[int]V {
	if len(stats) == 0 {
		return nil
	}
	out := make(map[int]V, len(stats))
	for id, v := range stats {
		out[int(id)] = v
	}
	return out
}

// partitionValues decodes a partition tuple. Every field of the spec has an entry, nil for null; void fields are null
// whatever the file says.
func partitionValues(schema *ice.Schema, spec ice.PartitionSpec, encoded map[int32][]byte) (map[int]any, error) {
	values := make(map[int]any, spec.NumFields())
	for _, f := range spec.Fields() {
		values[f.FieldID] = nil
		b, ok := encoded[int32(f.FieldID)]
		if _, void := f.Transform.(ice.VoidTransform); void {
			continue
		}
		source, found := schema.FindFieldByID(f.SourceID())
		switch {
		case !found:
			return nil, fmt.Errorf("partition field %s: its column was dropped", f.Name)
		case !ok && source.Required:
			return nil, fmt.Errorf("partition field %s: it has no value, and column %s is required", f.Name, source.Name)
		case !ok:
			continue
		}
		value, err := iceberg.DecodeValue(f.Transform.ResultType(source.Type), nonNil(b))
		if err != nil {
			return nil, fmt.Errorf("partition field %s: %w", f.Name, err)
		}
		values[f.FieldID] = value
	}
	for id := range encoded {
		if _, ok := values[int(id)]; !ok {
			return nil, fmt.Errorf("partition field %d is not of spec %d", id, spec.ID())
		}
	}
	return values, nil
}

// nonNil is b, where protobuf does not tell no bytes from none.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// checkStatistics refuses statistics that would make readers wrong or fail: of fields that are not there, bounds that are
// no values of their type or in the wrong order, and NULLs in a required column (rule 22).
func checkStatistics(schema *ice.Schema, m *seracv1.DataFile) error {
	for name, stats := range map[string]map[int32]int64{
		"column size": m.GetColumnSizes(), "value count": m.GetValueCounts(), "null count": m.GetNullValueCounts(), "NaN count": m.GetNanValueCounts(),
	} {
		for id, n := range stats {
			if _, ok := schema.FindFieldByID(int(id)); !ok {
				return fmt.Errorf("it has a %s of field %d, which the table has not", name, id)
			}
			if n < 0 {
				return fmt.Errorf("its %s of field %d is %d", name, id, n)
			}
		}
	}
	for _, f := range schema.Fields() {
		if n := m.GetNullValueCounts()[int32(f.ID)]; n > 0 && f.Required {
			return fmt.Errorf("%d NULLs in the required column %s", n, f.Name)
		}
	}
	bounds := maps.Clone(m.GetLowerBounds())
	maps.Copy(bounds, m.GetUpperBounds())
	for id := range bounds {
		f, ok := schema.FindFieldByID(int(id))
		if !ok {
			return fmt.Errorf("it has bounds of field %d, which the table has not", id)
		}
		for _, bound := range []map[int32][]byte{m.GetLowerBounds(), m.GetUpperBounds()} {
			b, ok := bound[id]
			if _, primitive := f.Type.(ice.PrimitiveType); !ok || !primitive {
				continue
			}
			if _, err := iceberg.DecodeValue(f.Type, nonNil(b)); err != nil {
				return fmt.Errorf("bound of %s: %w", f.Name, err)
			}
		}
	}
	return nil
}
