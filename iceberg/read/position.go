package read

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/iceberg-go/table/dv"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func (r *reader) positionTable() string { return r.tempTable("positions") }

// tempTable is a temporary table's name, in full: within a statement's text, a common table expression may have a short one.
func (r *reader) tempTable(name string) string {
	return "temp.main." + plan.QuoteIdent(r.in.Prefix+"_"+name)
}

// loadPositions makes the temporary table of deleted positions, (fi, pos), of all files that have position deletes; fi is
// the file's ordinal and pos counts the local file's rows. Positions outside a file's split stay out.
func (r *reader) loadPositions(ctx context.Context, files []*dataFile) error {
	var selects []string
	bySource, err := r.positionFiles(ctx, files)
	if err != nil {
		return err
	}
	if bySource != "" {
		selects = append(selects, bySource)
	}
	vectors, err := r.deletionVectors(ctx, files)
	if err != nil {
		return err
	}
	if vectors != "" {
		selects = append(selects, "SELECT fi, pos FROM read_parquet("+plan.QuoteString(vectors)+")")
	}
	if len(selects) == 0 {
		return nil
	}
	r.query.Setup = append(r.query.Setup,
		"CREATE OR REPLACE TEMP TABLE "+r.positionTable()+" AS "+strings.Join(selects, " UNION ALL "))
	r.query.Teardown = append(r.query.Teardown, "DROP TABLE IF EXISTS "+r.positionTable())
	return nil
}

// positionFiles selects the positions that position delete files name for the files they apply to.
func (r *reader) positionFiles(ctx context.Context, files []*dataFile) (string, error) {
	index := make(map[int32]int) // delete file to its place in the list that is read
	var paths, rows []string
	var records int64
	for _, f := range files {
		var deletes []string
		for _, d := range f.positions {
			file := r.in.Group.GetDeleteFiles()[d]
			if file.GetContent() != seracv1.DeleteFile_CONTENT_POSITION {
				continue
			}
			at, ok := index[d]
			if !ok {
				local, err := r.in.Local(ctx, file.GetPath())
				if err != nil {
					return "", fmt.Errorf("position delete file %s: %w", file.GetPath(), err)
				}
				at = len(paths)
				index[d] = at
				paths = append(paths, local)
				records += file.GetRecordCount()
			}
			deletes = append(deletes, fmt.Sprint(at))
		}
		if len(deletes) == 0 {
			continue
		}
		first, last := "0", "NULL"
		if f.last > 0 {
			first, last = fmt.Sprint(f.first), fmt.Sprint(f.last)
		}
		rows = append(rows, fmt.Sprintf("(%s, %d::UBIGINT, %s::BIGINT, %s::BIGINT, %d::BIGINT, [%s]::UBIGINT[])",
			plan.QuoteString(f.task.GetPath()), f.ordinal, first, last, f.base, strings.Join(deletes, ", ")))
	}
	if len(rows) == 0 {
		return "", nil
	}
	// By name: the specification fixes the two columns' names, and not all writers give them their ids.
	var schema schemaMap
	schema.add("'file_path'", "file_path", plan.T(plan.Varchar), "NULL")
	schema.add("'pos'", "pos", plan.T(plan.BigInt), "NULL")
	return fmt.Sprintf("SELECT f.fi, d.pos - f.base AS pos FROM (SELECT file_path, pos, file_index FROM %s) d "+
		"JOIN (VALUES %s) f(path, fi, first, last, base, deletes) ON d.file_path = f.path "+
		"WHERE list_contains(f.deletes, d.file_index) AND d.pos >= f.first AND (f.last IS NULL OR d.pos < f.last)",
		readParquet(paths, &shape{schema: schema}, records), strings.Join(rows, ", ")), nil
}

var positionSchema = arrow.NewSchema([]arrow.Field{
	{Name: "fi", Type: arrow.PrimitiveTypes.Uint64}, {Name: "pos", Type: arrow.PrimitiveTypes.Int64},
}, nil)

// positionBatch is how many positions of deletion vectors are gathered before they are written.
const positionBatch = 64 << 10

// deletionVectors writes the positions of the files' deletion vectors into a temporary Parquet file and returns its path, ""
// when there are none.
func (r *reader) deletionVectors(ctx context.Context, files []*dataFile) (path string, err error) {
	var w *pqarrow.FileWriter
	builder := array.NewRecordBuilder(memory.DefaultAllocator, positionSchema)
	defer builder.Release()
	ordinals, positions := builder.Field(0).(*array.Uint64Builder), builder.Field(1).(*array.Int64Builder)
	flush := func() error {
		batch := builder.NewRecordBatch()
		defer batch.Release()
		return w.WriteBuffered(batch)
	}
	defer func() {
		if w != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	for _, f := range files {
		for _, d := range f.positions {
			file := r.in.Group.GetDeleteFiles()[d]
			if file.GetContent() != seracv1.DeleteFile_CONTENT_DELETION_VECTOR {
				continue
			}
			if ref := file.GetReferencedDataFile(); ref != "" && ref != f.task.GetPath() {
				return "", fmt.Errorf("deletion vector in %s is of data file %s, not %s", file.GetPath(), ref, f.task.GetPath())
			}
			bitmap, err := r.deletionVector(ctx, file)
			if err != nil {
				return "", fmt.Errorf("deletion vector of %s in %s: %w", f.task.GetPath(), file.GetPath(), err)
			}
			if w == nil {
				path = filepath.Join(r.in.TempDir, r.in.Prefix+"_vectors.parquet")
				if w, err = r.positionWriter(path); err != nil {
					return "", fmt.Errorf("write the positions of deletion vectors: %w", err)
				}
			}
			for pos := range bitmap.Positions() {
				if f.last > 0 && (int64(pos) < f.first || int64(pos) >= f.last) {
					continue
				}
				ordinals.Append(uint64(f.ordinal))
				positions.Append(int64(pos) - f.base)
				if ordinals.Len() == positionBatch {
					if err := flush(); err != nil {
						return "", fmt.Errorf("write the positions of deletion vectors: %w", err)
					}
				}
			}
		}
	}
	if w != nil && ordinals.Len() > 0 {
		if err := flush(); err != nil {
			return "", fmt.Errorf("write the positions of deletion vectors: %w", err)
		}
	}
	return path, nil
}

func (r *reader) positionWriter(path string) (*pqarrow.FileWriter, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	r.query.files = append(r.query.files, path)
	w, err := pqarrow.NewFileWriter(positionSchema, file,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Uncompressed), parquet.WithDictionaryDefault(false)),
		pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// deletionVector reads one deletion vector: a blob of a Puffin file, found by the offset and size in its manifest entry.
func (r *reader) deletionVector(ctx context.Context, file *seracv1.DeleteFile) (*dv.RoaringPositionBitmap, error) {
	local, err := r.in.Local(ctx, file.GetPath())
	if err != nil {
		return nil, err
	}
	puffin, err := os.Open(local)
	if err != nil {
		return nil, err
	}
	defer puffin.Close()
	info, err := puffin.Stat()
	if err != nil {
		return nil, err
	}
	offset, size := file.GetContentOffset(), file.GetContentSizeBytes()
	if offset < 0 || size <= 0 || offset+size > info.Size() {
		return nil, fmt.Errorf("bytes %d to %d of a file of %d", offset, offset+size, info.Size())
	}
	blob := make([]byte, size)
	if _, err := puffin.ReadAt(blob, offset); err != nil {
		return nil, err
	}
	return dv.DeserializeDV(blob, file.GetRecordCount())
}
