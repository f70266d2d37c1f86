package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"golang.org/x/sync/errgroup"

	"github.com/seracdb/serac/iceberg/object"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// dataFile is a data file of the group, or a range of its rows.
type dataFile struct {
	task       *seracv1.FileScanTask
	start, end int64 // the split, in bytes
	whole      bool
	// first and last are the rows [first, last) of a file that is not read whole.
	first, last int64
	local       string
	footer      *metadata.FileMetaData // nil unless something needs it
	positions   []int32                // position deletes and deletion vectors that apply, in the group's delete files
	equality    []int32                // equality deletes that apply
	// ordinal numbers the file among all that have position deletes.
	ordinal int
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
		if before := last[task.GetPath()]; before != nil && before.end == f.start && slices.Equal(before.task.GetDeletes(), task.GetDeletes()) {
			before.end = f.end
			continue
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

// open makes the files local, and reads the footers of those that are split, or of all.
func (r *reader) open(ctx context.Context, files []*dataFile, allFooters bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxOpening)
	for _, f := range files {
		group.Go(func() error {
			var err error
			if f.local, err = r.in.Local(ctx, f.task.GetPath()); err != nil {
				return fmt.Errorf("data file %s: %w", f.task.GetPath(), err)
			}
			if f.whole && !allFooters {
				return nil
			}
			if r.in.Footer != nil {
				f.footer, err = r.in.Footer(ctx, f.task.GetPath())
			} else {
				f.footer, err = object.ReadLocalFooter(f.local)
			}
			if err != nil {
				return fmt.Errorf("data file %s: %w", f.task.GetPath(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// splitRows resolves splits to ranges of rows: a row group belongs to the split that its midpoint lies in, so that splits
// that divide a file's bytes divide its rows. A split without a row group reads nothing and is left out.
func splitRows(files []*dataFile) []*dataFile {
	var out []*dataFile
	for _, f := range files {
		if f.whole {
			out = append(out, f)
			continue
		}
		total := f.footer.GetNumRows()
		for _, rows := range rowRanges(f.footer, f.start, f.end) {
			part := *f
			part.first, part.last = rows[0], rows[1]
			part.whole = part.first == 0 && part.last == total
			out = append(out, &part)
		}
	}
	return out
}

// rowRanges are the rows of the row groups whose midpoint lies in [start, end), neighbours joined.
func rowRanges(footer *metadata.FileMetaData, start, end int64) [][2]int64 {
	var out [][2]int64
	row := int64(0)
	for i := range footer.NumRowGroups() {
		group := footer.RowGroup(i)
		first, last := row, row+group.NumRows()
		row = last
		if middle := midpoint(group); middle < start || middle >= end || first == last {
			continue
		}
		if n := len(out); n > 0 && out[n-1][1] == first {
			out[n-1][1] = last
		} else {
			out = append(out, [2]int64{first, last})
		}
	}
	return out
}

// midpoint is the byte in the middle of a row group's column chunks.
func midpoint(group *metadata.RowGroupMetaData) int64 {
	var first, bytes int64 = -1, 0
	for i := range group.NumColumns() {
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			continue // an unreadable chunk is DuckDB's to report
		}
		offset := chunk.DataPageOffset()
		if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
			offset = min(offset, chunk.DictionaryPageOffset())
		}
		if first < 0 || offset < first {
			first = offset
		}
		bytes += chunk.TotalCompressedSize()
	}
	return max(first, 0) + bytes/2
}
