package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// partitions sums up the snapshot's files by partition. It holds a few hundred bytes for each.
type partitions struct{ reach }

func (p partitions) columns(t *table.Table) ([]plan.ScanColumn, error) {
	partition, err := partitionType(t)
	if err != nil {
		return nil, err
	}
	return iceberg.Columns(table.PartitionsSchema(partition))
}

// partitionSum is what the files of one partition add up to.
type partitionSum struct {
	key                          string
	partition                    any
	spec                         int32
	records, bytes               int64
	files                        int32
	positionDeletes, equalities  int64
	positionFiles, equalityFiles int32
	updatedAt, updatedBy         any
}

func (p partitions) rows(ctx context.Context, t *table.Table, wanted []string, emit func([]any) error) error {
	of, err := partitionType(t)
	if err != nil {
		return err
	}
	times := map[int64]ice.Timestamp{}
	for _, s := range t.Metadata().Snapshots() {
		times[s.SnapshotID] = ice.Timestamp(s.TimestampMs * 1000)
	}
	sums := map[string]*partitionSum{}
	err = p.entries(ctx, t, func(e ice.ManifestEntry) error {
		f := e.DataFile()
		cell, err := partitionCell(of, f.Partition())
		if err != nil {
			return fmt.Errorf("file %s: %w", f.FilePath(), err)
		}
		key, err := partitionKey(of, cell)
		if err != nil {
			return fmt.Errorf("file %s: %w", f.FilePath(), err)
		}
		sum := sums[key]
		if sum == nil {
			sum = &partitionSum{key: key, partition: cell, spec: f.SpecID()}
			sums[key] = sum
		}
		sum.add(f)
		at, known := times[e.SnapshotID()]
		if last, ok := sum.updatedAt.(ice.Timestamp); known && (!ok || at > last) {
			sum.updatedAt, sum.updatedBy, sum.spec = at, e.SnapshotID(), f.SpecID()
		}
		return nil
	})
	if err != nil {
		return err
	}
	sorted := make([]*partitionSum, 0, len(sums))
	for _, s := range sums {
		sorted = append(sorted, s)
	}
	slices.SortFunc(sorted, func(a, b *partitionSum) int { return strings.Compare(a.key, b.key) })
	for _, s := range sorted {
		row := make([]any, len(wanted))
		for i, name := range wanted {
			var ok bool
			if row[i], ok = s.column(name); !ok {
				return fmt.Errorf("there is no column %s", name)
			}
		}
		if err := emit(row); err != nil {
			return err
		}
	}
	return nil
}

func (s *partitionSum) add(f ice.DataFile) {
	switch f.ContentType() {
	case ice.EntryContentData:
		s.records += f.Count()
		s.bytes += f.FileSizeBytes()
		s.files++
	case ice.EntryContentPosDeletes:
		s.positionDeletes += f.Count()
		s.positionFiles++
	case ice.EntryContentEqDeletes:
		s.equalities += f.Count()
		s.equalityFiles++
	}
}

func (s *partitionSum) column(name string) (any, bool) {
	switch name {
	case "partition":
		return s.partition, true
	case "spec_id":
		return s.spec, true
	case "record_count":
		return s.records, true
	case "file_count":
		return s.files, true
	case "total_data_file_size_in_bytes":
		return s.bytes, true
	case "position_delete_record_count":
		return s.positionDeletes, true
	case "position_delete_file_count":
		return s.positionFiles, true
	case "equality_delete_record_count":
		return s.equalities, true
	case "equality_delete_file_count":
		return s.equalityFiles, true
	case "last_updated_at":
		return s.updatedAt, true
	case "last_updated_snapshot_id":
		return s.updatedBy, true
	}
	return nil, false
}

// partitionKey tells partitions apart.
func partitionKey(of *ice.StructType, cell any) (string, error) {
	values, ok := cell.(structCell)
	if !ok {
		return "", nil
	}
	var key strings.Builder
	for i, v := range values {
		if v == nil {
			key.WriteString("-;")
			continue
		}
		b, err := iceberg.EncodeValue(of.FieldList[i].Type, v)
		if err != nil {
			return "", fmt.Errorf("partition field %s: %w", of.FieldList[i].Name, err)
		}
		fmt.Fprintf(&key, "%d:%s;", len(b), b)
	}
	return key.String(), nil
}
