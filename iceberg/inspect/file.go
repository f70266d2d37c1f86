package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// files shows the data and delete files of manifests, one row each.
type files struct{ reach }

func (f files) columns(t *table.Table) ([]plan.ScanColumn, error) {
	partition, err := partitionType(t)
	if err != nil {
		return nil, err
	}
	return withReadableMetrics(table.FilesSchema(partition), t.Schema())
}

func (f files) rows(ctx context.Context, t *table.Table, wanted []string, emit func([]any) error) error {
	read, err := fileCells(t, wanted)
	if err != nil {
		return err
	}
	return f.entries(ctx, t, func(e ice.ManifestEntry) error {
		row, err := cellsOf(read, e.DataFile())
		if err != nil {
			return err
		}
		return emit(row)
	})
}

// entries shows the entries of manifests, with the files inside.
type entries struct{ reach }

func (n entries) columns(t *table.Table) ([]plan.ScanColumn, error) {
	partition, err := partitionType(t)
	if err != nil {
		return nil, err
	}
	return withReadableMetrics(table.EntriesSchema(partition), t.Schema())
}

func (n entries) rows(ctx context.Context, t *table.Table, wanted []string, emit func([]any) error) error {
	partition, err := partitionType(t)
	if err != nil {
		return err
	}
	all := make([]string, 0, 32)
	for _, f := range table.FilesSchema(partition).Fields() {
		all = append(all, f.Name)
	}
	file, err := fileCells(t, all)
	if err != nil {
		return err
	}
	metrics := readableMetrics(t.Schema())
	return n.reach.entries(ctx, t, func(e ice.ManifestEntry) error {
		row := make([]any, len(wanted))
		for i, name := range wanted {
			switch name {
			case "status":
				row[i] = int32(e.Status())
			case "snapshot_id":
				row[i] = known(e.SnapshotID())
			case "sequence_number":
				row[i] = known(e.SequenceNum())
			case "file_sequence_number":
				row[i] = optional(e.FileSequenceNum())
			case "data_file":
				cells, err := cellsOf(file, e.DataFile())
				if err != nil {
					return err
				}
				row[i] = structCell(cells)
			case "readable_metrics":
				row[i] = metrics.cell(e.DataFile())
			default:
				return fmt.Errorf("there is no column %s", name)
			}
		}
		return emit(row)
	})
}

// known is a number of which less than 0 says that there is none.
func known(n int64) any {
	if n < 0 {
		return nil
	}
	return n
}

func cellsOf(read []func(ice.DataFile) (any, error), f ice.DataFile) ([]any, error) {
	row := make([]any, len(read))
	for i, cell := range read {
		var err error
		if row[i], err = cell(f); err != nil {
			return nil, fmt.Errorf("file %s: %w", f.FilePath(), err)
		}
	}
	return row, nil
}

// fileCells are how the columns of those names come from a file.
func fileCells(t *table.Table, names []string) ([]func(ice.DataFile) (any, error), error) {
	out := make([]func(ice.DataFile) (any, error), len(names))
	for i, name := range names {
		switch name {
		case "partition":
			partition, err := partitionType(t)
			if err != nil {
				return nil, err
			}
			out[i] = func(f ice.DataFile) (any, error) { return partitionCell(partition, f.Partition()) }
		case "readable_metrics":
			metrics := readableMetrics(t.Schema())
			out[i] = func(f ice.DataFile) (any, error) { return metrics.cell(f), nil }
		default:
			read, ok := fileColumns[name]
			if !ok {
				return nil, fmt.Errorf("there is no column %s", name)
			}
			out[i] = func(f ice.DataFile) (any, error) { return read(f), nil }
		}
	}
	return out, nil
}

var fileColumns = map[string]func(ice.DataFile) any{
	"content":               func(f ice.DataFile) any { return int32(f.ContentType()) },
	"file_path":             func(f ice.DataFile) any { return f.FilePath() },
	"file_format":           func(f ice.DataFile) any { return strings.ToUpper(string(f.FileFormat())) },
	"spec_id":               func(f ice.DataFile) any { return f.SpecID() },
	"record_count":          func(f ice.DataFile) any { return f.Count() },
	"file_size_in_bytes":    func(f ice.DataFile) any { return f.FileSizeBytes() },
	"column_sizes":          func(f ice.DataFile) any { return statistics(f.ColumnSizes()) },
	"value_counts":          func(f ice.DataFile) any { return statistics(f.ValueCounts()) },
	"null_value_counts":     func(f ice.DataFile) any { return statistics(f.NullValueCounts()) },
	"nan_value_counts":      func(f ice.DataFile) any { return statistics(f.NaNValueCounts()) },
	"lower_bounds":          func(f ice.DataFile) any { return statistics(f.LowerBoundValues()) },
	"upper_bounds":          func(f ice.DataFile) any { return statistics(f.UpperBoundValues()) },
	"key_metadata":          func(f ice.DataFile) any { return bytesCell(f.KeyMetadata()) },
	"split_offsets":         func(f ice.DataFile) any { return numbers(f.SplitOffsets(), func(n int64) any { return n }) },
	"equality_ids":          func(f ice.DataFile) any { return numbers(f.EqualityFieldIDs(), func(n int) any { return int32(n) }) },
	"sort_order_id":         func(f ice.DataFile) any { return narrow(f.SortOrderID()) },
	"first_row_id":          func(f ice.DataFile) any { return optional(f.FirstRowID()) },
	"referenced_data_file":  func(f ice.DataFile) any { return optional(f.ReferencedDataFile()) },
	"content_offset":        func(f ice.DataFile) any { return optional(f.ContentOffset()) },
	"content_size_in_bytes": func(f ice.DataFile) any { return optional(f.ContentSizeInBytes()) },
}

// statistics are values by field id; none is NULL.
func statistics[V any](byField map[int]V) any {
	if len(byField) == 0 {
		return nil
	}
	out := make(mapCell, 0, len(byField))
	for _, id := range slices.SortedFunc(maps.Keys(byField), cmp.Compare[int]) {
		out = append(out, [2]any{int32(id), byField[id]})
	}
	return out
}

func bytesCell(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func narrow(n *int) any {
	if n == nil {
		return nil
	}
	return int32(*n)
}

func numbers[V any](list []V, cell func(V) any) any {
	if list == nil {
		return nil
	}
	out := make(listCell, len(list))
	for i, v := range list {
		out[i] = cell(v)
	}
	return out
}

// partitionCell is a partition as a struct of the fields of all the table's specs. It is NULL for a table that has never
// been partitioned.
func partitionCell(of *ice.StructType, values map[int]any) (any, error) {
	if of == nil {
		return nil, nil
	}
	out := make(structCell, len(of.FieldList))
	for i, field := range of.FieldList {
		value := values[field.ID]
		if value == nil {
			continue
		}
		var err error
		if out[i], err = iceberg.CanonicalValue(field.Type, value); err != nil {
			return nil, fmt.Errorf("partition field %s: %w", field.Name, err)
		}
	}
	return out, nil
}
