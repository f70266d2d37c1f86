package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// dataFile is a data file of the group, or a range of its rows.
type dataFile struct {
	task       *seracv1.FileScanTask
	start, end int64 // the split, in bytes
	// whole says that all rows of the local file are read.
	whole bool
	// first and last are the rows [first, last) of the data file that are read; last is 0 when all are.
	first, last int64
	// base is the data file's row that is the first of the local file, which may be a part of it.
	base      int64
	local     string
	footer    *metadata.FileMetaData // nil unless something needs it
	positions []int32                // position deletes and deletion vectors that apply, in the group's delete files
	equality  []int32                // equality deletes that apply
	// ordinal numbers the file among all that have position deletes.
	ordinal int
}

// rows is how many rows are read, deleted ones among them.
func (f *dataFile) rows() int64 {
	if f.last > 0 {
		return f.last - f.first
	}
	return f.task.GetRecordCount()
}

// dataFiles are the group's tasks with splits of one file that touch made one, in the order of the tasks.
func dataFiles(group *seracv1.FileGroup) ([]*dataFile, error) {
	var out []*dataFile
	last := make(map[string]*dataFile)
	for _, task := range group.GetFiles() {
		if format := task.GetFormat(); format != "" && !strings.EqualFold(format, "parquet") {
			return nil, fmt.Errorf("data file %s: format %s cannot be read, only Parquet", task.GetPath(), format)
		}
		f := &dataFile{task: task, start: task.GetStart(), end: task.GetStart() + task.GetLength()}
		if f.start == 0 && task.GetLength() == 0 {
			f.end = task.GetSizeBytes() // no split was given
		}
		if before := last[task.GetPath()]; before != nil && before.end == f.start && slices.Equal(before.task.GetDeletes(), task.GetDeletes()) &&
			before.task.GetResidual() == task.GetResidual() && proto.Equal(before.task.GetKeyRange(), task.GetKeyRange()) {
			before.end = f.end
			continue
		}
		if r := task.GetResidual(); r < 0 || int(r) > len(group.GetResiduals()) {
			return nil, fmt.Errorf("data file %s: residual %d of %d", task.GetPath(), r, len(group.GetResiduals()))
		}
		for _, d := range task.GetDeletes() {
			if d < 0 || int(d) >= len(group.GetDeleteFiles()) {
				return nil, fmt.Errorf("data file %s: delete file %d of %d", task.GetPath(), d, len(group.GetDeleteFiles()))
			}
			switch content := group.GetDeleteFiles()[d].GetContent(); content {
			case seracv1.DeleteFile_CONTENT_POSITION, seracv1.DeleteFile_CONTENT_DELETION_VECTOR:
				f.positions = append(f.positions, d)
			case seracv1.DeleteFile_CONTENT_EQUALITY:
				f.equality = append(f.equality, d)
			default:
				return nil, fmt.Errorf("data file %s: delete file of kind %s", task.GetPath(), content)
			}
		}
		last[task.GetPath()] = f
		out = append(out, f)
	}
	for _, f := range out {
		f.whole = f.start == 0 && f.end >= f.task.GetSizeBytes()
	}
	return out, nil
}

// maxOpening is how many files are made local at once.
const maxOpening = 16

// open makes the files local and resolves splits to ranges of rows. A row group belongs to the split that its midpoint lies
// in, so that splits that divide a file's bytes divide its rows. A split without a row group reads nothing and is left out.
func (r *reader) open(ctx context.Context, files []*dataFile, allFooters bool) ([]*dataFile, error) {
	parts := make([][]*dataFile, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxOpening)
	for i, f := range files {
		group.Go(func() error {
			var err error
			if parts[i], err = r.openFile(ctx, f, allFooters); err != nil {
				return fmt.Errorf("data file %s: %w", f.task.GetPath(), err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(parts...), nil
}

func (r *reader) openFile(ctx context.Context, f *dataFile, wantFooter bool) (parts []*dataFile, err error) {
	_, isLocal, err := object.LocalPath(f.task.GetPath())
	if err != nil {
		return nil, err
	}
	sparse := !isLocal && r.in.Sparse != nil
	if !sparse {
		if f.local, err = r.in.Local(ctx, f.task.GetPath()); err != nil {
			return nil, err
		}
	}
	if sparse || !f.whole || wantFooter {
		if r.in.Footer != nil {
			f.footer, err = r.in.Footer(ctx, f.task.GetPath())
		} else {
			f.footer, err = object.ReadLocalFooter(f.local)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.whole && !sparse {
		return []*dataFile{f}, nil
	}
	var columns []int
	if sparse {
		columns = r.leafColumns(f.footer)
	}
	for _, run := range r.runs(f, sparse) {
		part := *f
		part.first, part.last, part.whole = run.first, run.last, run.first == 0 && run.last == f.footer.GetNumRows()
		if sparse {
			local, ok, err := r.in.Sparse(ctx, f.task.GetPath(), object.Need{Footer: f.footer, RowGroups: run.groups, Columns: columns})
			if err != nil {
				return nil, err
			}
			if ok {
				part.local, part.base, part.whole = local, run.first, true
			} else if part.local, err = r.in.Local(ctx, f.task.GetPath()); err != nil {
				return nil, err
			}
		}
		parts = append(parts, &part)
	}
	return parts, nil
}

// run is neighbouring row groups and the rows [first, last) that they hold.
type run struct {
	groups      []int
	first, last int64
}

// runs are the row groups that a file's split reads. With prune, those whose statistics rule out the scan's filter or the
// file's range of keys are left out; DuckDB does that itself, but for groups that are not there.
func (r *reader) runs(f *dataFile, prune bool) []run {
	var out []run
	row := int64(0)
	var columns map[int32]int
	var conds []plan.Expr
	if prune {
		columns = r.plainColumns(f.footer)
		conds = r.filters.prunable(f.task)
	}
	for i := range f.footer.NumRowGroups() {
		group := f.footer.RowGroup(i)
		first, last := row, row+group.NumRows()
		row = last
		if first == last {
			continue
		}
		if middle := midpoint(group); !f.whole && (middle < f.start || middle >= f.end) {
			continue
		}
		if slices.ContainsFunc(conds, func(e plan.Expr) bool { return !mayMatch(e, r.in.Scan.Columns, group, columns) }) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].last == first {
			out[n-1].groups, out[n-1].last = append(out[n-1].groups, i), last
		} else {
			out = append(out, run{groups: []int{i}, first: first, last: last})
		}
	}
	return out
}

// leafColumns are the Parquet columns that the sources are read from.
func (r *reader) leafColumns(footer *metadata.FileMetaData) []int {
	columns, _ := fileColumns(footer, r.in.NameMapping)
	var out []int
	leaf := 0
	root := footer.Schema.Root()
	for i, c := range columns {
		n := countLeaves(root.Field(i))
		if _, wanted := r.columns.byID[c.id]; wanted {
			for j := range n {
				out = append(out, leaf+j)
			}
		}
		leaf += n
	}
	return out
}

func countLeaves(n schema.Node) int {
	group, ok := n.(*schema.GroupNode)
	if !ok {
		return 1
	}
	leaves := 0
	for i := range group.NumFields() {
		leaves += countLeaves(group.Field(i))
	}
	return leaves
}

// midpoint is the byte in the middle of a row group's column chunks.
func midpoint(group *metadata.RowGroupMetaData) int64 {
	var first, bytes int64 = -1, 0
	for i := range group.NumColumns() {
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			continue // an unreadable chunk is DuckDB's to report
		}
		if offset := object.ChunkStart(chunk); first < 0 || offset < first {
			first = offset
		}
		bytes += chunk.TotalCompressedSize()
	}
	return max(first, 0) + bytes/2
}
