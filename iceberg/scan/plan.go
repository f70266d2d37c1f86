package scan

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/manifest"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
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

	// kept are the tasks' files with their statistics, weights the tasks' shares of Bytes, constants the values of their identity
	// partition fields, and sequences the data sequence numbers of their delete files.
	kept      []*manifest.File
	weights   []int64
	constants []map[int32][]byte
	sequences map[manifest.DeleteKey]int64
	// residuals are those that differ, residual for each task the position of its own plus one, or 0; nil when all are 0.
	residuals []*seracv1.Residual
	residual  []int32
}

// Plan plans the scan of a table at a snapshot (0: the table has none, nothing is read). columns are the scan's output
// columns and filter a predicate over them, nil for none. Only what is certain to keep every matching row is used of the
// filter (rule 13), so it must be applied to the rows all the same; of a file, its residual. Residuals are of this very
// filter: groups of the files belong to a scan that has it.
func Plan(ctx context.Context, t *catalog.Table, snapshotID int64, columns []plan.ScanColumn, filter plan.Expr) (*Files, error) {
	return PlanScan(ctx, t, &plan.IcebergScan{SnapshotID: snapshotID, Columns: columns, Filter: filter})
}

// PlanScan is Plan for a scan of a plan, which may be of a snapshot's own schema.
func PlanScan(ctx context.Context, t *catalog.Table, n *plan.IcebergScan) (*Files, error) {
	files, err := planFiles(ctx, t, n)
	if err != nil {
		return nil, fmt.Errorf("plan scan of %s: %w", strings.Join(t.Identifier(), "."), err)
	}
	return files, nil
}

func planFiles(ctx context.Context, t *catalog.Table, n *plan.IcebergScan) (*Files, error) {
	if n.SnapshotID == 0 {
		return &Files{}, nil
	}
	snapshot := t.Iceberg().SnapshotByID(n.SnapshotID)
	if snapshot == nil {
		return nil, fmt.Errorf("the table has no snapshot %d (it may have expired)", n.SnapshotID)
	}
	schema, opts := planningSchema(t.Iceberg(), snapshot, n.AsOf)
	s := &source{table: t, snapshot: snapshot, schema: schema, options: opts, manifests: t.Manifests()}
	kept, sequences, err := s.files(ctx, n.Columns, n.Filter)
	if err != nil {
		return nil, err
	}
	files := &Files{
		Tasks: make([]table.FileScanTask, len(kept)), TotalFiles: -1, PrunedFiles: -1, sequences: sequences,
		kept: kept, weights: make([]int64, len(kept)), constants: make([]map[int32][]byte, len(kept)),
	}
	if snapshot.Summary != nil {
		if total, err := strconv.Atoi(snapshot.Summary.Properties["total-data-files"]); err == nil && total >= len(kept) {
			files.TotalFiles, files.PrunedFiles = total, total-len(kept)
		}
	}
	left, err := newResiduals(t.Iceberg().Metadata(), schema, n.Columns, n.Filter)
	if err != nil {
		return nil, err
	}
	files.residuals, files.residual = left.of(kept)
	projected := projectedFields(schema, n.Columns)
	constants := constantFields(t.Iceberg().Metadata(), schema, projected)
	for i, f := range kept {
		files.Tasks[i] = f.Task
		files.Rows += f.Task.File.Count()
		files.weights[i] = projectedBytes(f, projected)
		files.Bytes += files.weights[i]
		if files.constants[i], err = constants.of(f); err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Task.File.FilePath(), err)
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

// projectedFields are the ids of the columns and of all fields inside them.
func projectedFields(schema *ice.Schema, columns []plan.ScanColumn) []int {
	projected := make([]int, 0, len(columns))
	var add func(ice.NestedField)
	add = func(f ice.NestedField) {
		projected = append(projected, f.ID)
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
func projectedBytes(f *manifest.File, projected []int) int64 {
	if !f.Sized() {
		return f.Task.File.FileSizeBytes()
	}
	var sum int64
	for _, id := range projected {
		if size := f.Column(id).Size; size > 0 {
			sum += size
		}
	}
	return min(sum, f.Task.File.FileSizeBytes())
}
