package scan

import (
	"context"
	"errors"

	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/catalog"
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
}

// Plan plans the scan of a table at a snapshot (0: the table has none, nothing is read). columns are the scan's output
// columns and filter a predicate over them, nil for none. Only what is certain to keep every matching row is used of the
// filter (rule 13), so it must be applied to the rows all the same.
func Plan(ctx context.Context, t *catalog.Table, snapshotID int64, columns []plan.ScanColumn, filter plan.Expr) (*Files, error) {
	return nil, errors.New("not built yet")
}

// Group divides files into the units that tasks read, of about targetBytes each, at least minGroups when the files can be
// split that far and at most maxGroups (0: no limit). Every split is in exactly one group, and the same files give the
// same groups. No files give one group with none (rule 10).
func Group(files *Files, targetBytes int64, minGroups, maxGroups int) []*seracv1.FileGroup {
	return []*seracv1.FileGroup{{}}
}
