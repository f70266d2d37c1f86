package scan

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
)

// Files is what a scan reads.
type Files struct {
	// Tasks are whole files with the deletes that apply to them, in the order of the manifests.
	Tasks []table.FileScanTask
	// Rows is the number of rows in the files, deleted ones among them.
	Rows int64
	// Bytes is the size of the projected columns where the manifests tell, else of the files.
	Bytes int64
	// TotalFiles is the number of data files in the snapshot, PrunedFiles how many of them the filter ruled out. Both are
	// -1 when the snapshot's summary does not count its files.
	TotalFiles, PrunedFiles int

	// weights are the tasks' shares of Bytes, constants the values of their identity partition fields, and sequences the
	// data sequence numbers of their delete files.
	weights   []int64
	constants []map[int32][]byte
	sequences map[deleteKey]int64
}

// Plan plans the scan of a table at a snapshot (0: the table has none, nothing is read). columns are the scan's output
// columns and filter a predicate over them, nil for none. Only what is certain to keep every matching row is used of the
// filter (rule 13), so it must be applied to the rows all the same.
func Plan(ctx context.Context, t *catalog.Table, snapshotID int64, columns []plan.ScanColumn, filter plan.Expr) (*Files, error) {
	return PlanScan(ctx, t, &plan.IcebergScan{SnapshotID: snapshotID, Columns: columns, Filter: filter})
}

// PlanScan is Plan for a scan of a plan, which may be of a snapshot's own schema.
func PlanScan(ctx context.Context, t *catalog.Table, n *plan.IcebergScan) (*Files, error) {
	files, err := planFiles(ctx, t.Iceberg(), n)
	if err != nil {
		return nil, fmt.Errorf("plan scan of %s: %w", strings.Join(t.Identifier(), "."), err)
	}
	return files, nil
}

func planFiles(ctx context.Context, t *table.Table, n *plan.IcebergScan) (*Files, error) {
	snapshotID, columns, filter := n.SnapshotID, n.Columns, n.Filter
	if snapshotID == 0 {
		return &Files{}, nil
	}
	snapshot := t.SnapshotByID(snapshotID)
	if snapshot == nil {
		return nil, fmt.Errorf("the table has no snapshot %d (it may have expired)", snapshotID)
	}
	schema, opts := planningSchema(t, snapshot, n.AsOf)
	predicate, err := usablePredicate(ctx, t, snapshot, schema, columns, filter)
	if err != nil {
		return nil, err
	}
	split, err := t.Scan(append(opts, table.WithRowFilter(predicate))...).PlanFiles(ctx)
	if err != nil {
		return nil, err
	}
	files := &Files{Tasks: wholeFiles(split), TotalFiles: -1, PrunedFiles: -1}
	if snapshot.Summary != nil {
		if n, err := strconv.Atoi(snapshot.Summary.Properties["total-data-files"]); err == nil && n >= len(files.Tasks) {
			files.TotalFiles, files.PrunedFiles = n, n-len(files.Tasks)
		}
	}
	if files.sequences, err = deleteSequences(ctx, t, snapshot, files.Tasks); err != nil {
		return nil, err
	}
	projected := projectedFields(schema, columns)
	files.weights = make([]int64, len(files.Tasks))
	files.constants = make([]map[int32][]byte, len(files.Tasks))
	for i, task := range files.Tasks {
		files.Rows += task.File.Count()
		files.weights[i] = projectedBytes(task.File, projected)
		files.Bytes += files.weights[i]
		if files.constants[i], err = partitionConstants(t.Metadata(), schema, projected, task.File); err != nil {
			return nil, fmt.Errorf("file %s: %w", task.File.FilePath(), err)
		}
	}
	return files, nil
}

// planningSchema is the schema iceberg-go plans a snapshot with, and the options that select the snapshot. The current
// snapshot is planned with the current schema, in which columns may have been added or renamed since (rule 15); an older
// one, and in time travel also the current one, with its own.
func planningSchema(t *table.Table, snapshot *table.Snapshot, asOf bool) (*ice.Schema, []table.ScanOption) {
	if current := t.CurrentSnapshot(); !asOf && current != nil && current.SnapshotID == snapshot.SnapshotID {
		return t.Schema(), nil
	}
	opts := []table.ScanOption{table.WithSnapshotID(snapshot.SnapshotID)}
	if snapshot.SchemaID != nil {
		if schema, ok := t.Schemas()[*snapshot.SchemaID]; ok {
			return schema, opts
		}
	}
	return t.Schema(), opts
}

// usablePredicate is Predicate, less the columns whose partition summaries cannot be trusted.
func usablePredicate(ctx context.Context, t *table.Table, snapshot *table.Snapshot, schema *ice.Schema, columns []plan.ScanColumn, filter plan.Expr) (ice.BooleanExpression, error) {
	unusable := promotedFields(t.Metadata())
	predicate, used := convert(schema, columns, filter, unusable)
	doubts := false
	for id := range doubtfulPartitions(t.Metadata(), schema) {
		doubts = doubts || used[id]
	}
	if !doubts {
		return predicate, nil
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	manifests, err := snapshot.Manifests(fs)
	if err != nil {
		return nil, err
	}
	for id := range doubtful(t.Metadata(), schema, manifests) {
		unusable[id] = true
	}
	predicate, _ = convert(schema, columns, filter, unusable)
	return predicate, nil
}

// wholeFiles undoes the splits that iceberg-go makes by the table's read.split.target-size: Group splits by what the
// statement needs.
func wholeFiles(split []table.FileScanTask) []table.FileScanTask {
	whole := make([]table.FileScanTask, 0, len(split))
	for _, task := range split {
		if task.Start != 0 {
			continue // a further piece of the file before it
		}
		task.Length = task.File.FileSizeBytes()
		whole = append(whole, task)
	}
	return whole
}

// projectedFields are the ids of the columns and of all fields inside them.
func projectedFields(schema *ice.Schema, columns []plan.ScanColumn) map[int]bool {
	projected := make(map[int]bool, len(columns))
	var add func(ice.NestedField)
	add = func(f ice.NestedField) {
		projected[f.ID] = true
		if nested, ok := f.Type.(ice.NestedType); ok {
			for _, child := range nested.Fields() {
				add(child)
			}
		}
	}
	for _, c := range columns {
		if f, ok := schema.FindFieldByID(int(c.FieldID)); ok {
			add(f)
		}
	}
	return projected
}

// projectedBytes is the size of the projected columns in a file, or the file's own when the manifest does not know it.
func projectedBytes(file ice.DataFile, projected map[int]bool) int64 {
	sizes := file.ColumnSizes()
	if len(sizes) == 0 {
		return file.FileSizeBytes()
	}
	var sum int64
	for id, size := range sizes {
		if projected[id] {
			sum += size
		}
	}
	return min(sum, file.FileSizeBytes())
}

// partitionConstants are the values of a file's identity partition fields whose columns the scan reads. Files of migrated
// tables lack these columns, and their value is the partition's then (specification, Column Projection).
func partitionConstants(meta table.Metadata, schema *ice.Schema, projected map[int]bool, file ice.DataFile) (map[int32][]byte, error) {
	spec := meta.PartitionSpecByID(int(file.SpecID()))
	if spec == nil {
		return nil, fmt.Errorf("the table has no partition spec %d", file.SpecID())
	}
	var constants map[int32][]byte
	var partition map[int]any
	for _, f := range spec.Fields() {
		_, identity := f.Transform.(ice.IdentityTransform)
		if !identity || !projected[f.SourceID()] {
			continue
		}
		source, ok := schema.FindFieldByID(f.SourceID())
		if !ok {
			continue
		}
		if partition == nil {
			partition = file.Partition()
		}
		value, ok := partition[f.FieldID]
		if !ok || value == nil {
			continue // the default is NULL as it is
		}
		encoded, err := encodePartitionValue(source.Type, value)
		if err != nil {
			return nil, fmt.Errorf("partition field %s: %w", f.Name, err)
		}
		if constants == nil {
			constants = map[int32][]byte{}
		}
		constants[int32(f.SourceID())] = encoded
	}
	return constants, nil
}
