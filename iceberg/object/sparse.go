package object

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	icebergio "github.com/apache/iceberg-go/io"
	"golang.org/x/sync/errgroup"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// Need is the part of a remote Parquet file that a query reads.
type Need struct {
	// Footer is the file's footer, as Store.Footer reads it. It is not changed.
	Footer *metadata.FileMetaData
	// RowGroups are the wanted row groups, in rising order; at least one.
	RowGroups []int
	// Columns are the wanted leaf columns, in rising order.
	Columns []int
}

const (
	// coalesceGap is how far apart two chunks may lie for one request to fetch both: reading on costs less than asking again.
	coalesceGap = 512 << 10
	// smallObject is the size below which an object is fetched whole, and so serves any later query.
	smallObject = 1 << 20
)

// Sparse makes the needed part of a remote Parquet object a local Parquet file: the column chunks at their own offsets in a
// sparse file, and a footer that lists the wanted row groups alone. Rows of the file count from 0 over these. Columns that
// are not needed are listed but must not be read.
//
// ok is false when the object should rather be made local whole: it is on local disk, small, needed nearly whole, or there
// whole already.
func (s *Store) Sparse(ctx context.Context, storage Storage, location string, need Need) (f *File, ok bool, err error) {
	if _, isLocal, err := LocalPath(location); err != nil || isLocal {
		return nil, false, err
	}
	if storage.IO == nil {
		return nil, false, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "open %s: no storage was given", location)
	}
	if path, release := s.cached(key{scope: storage.Scope, location: location}); release != nil {
		release()
		return nil, path == "", nil
	}
	ranges, wanted, total, err := need.ranges()
	if err != nil {
		return nil, false, storageFailure(ctx, "open", location, fmt.Errorf("%w: %w", errNotParquet, err))
	}
	if total < smallObject || wanted > total*9/10 {
		return nil, false, nil
	}
	k := key{scope: storage.Scope, location: location, part: fmt.Sprint(need.RowGroups, need.Columns)}
	fetch := func(ctx context.Context, to string) (int64, error) {
		return s.fetchSparse(ctx, storage.IO, location, to, need, ranges)
	}
	f, err = s.file(ctx, k, fetch, "")
	return f, err == nil, err
}

// span is a range of bytes, [start, end).
type span struct{ start, end int64 }

// ranges are the byte ranges of the wanted chunks, near ones joined; wanted is what they take in all, total what all chunks of
// the file take.
func (n Need) ranges() (ranges []span, wanted, total int64, err error) {
	groups, columns := make(map[int]bool), make(map[int]bool)
	for _, g := range n.RowGroups {
		groups[g] = true
	}
	for _, c := range n.Columns {
		columns[c] = true
	}
	for g := range n.Footer.NumRowGroups() {
		group := n.Footer.RowGroup(g)
		for c := range group.NumColumns() {
			chunk, err := group.ColumnChunk(c)
			if err != nil {
				return nil, 0, 0, err
			}
			start, size := ChunkStart(chunk), chunk.TotalCompressedSize()
			if start < 0 || size < 0 || chunk.FilePath() != "" {
				return nil, 0, 0, fmt.Errorf("column chunk %d of row group %d is at %d, %d bytes", c, g, start, size)
			}
			total += size
			if groups[g] && columns[c] {
				ranges = append(ranges, span{start, start + size})
			}
		}
	}
	slices.SortFunc(ranges, func(a, b span) int { return int(max(-1, min(1, a.start-b.start))) })
	var joined []span
	for _, r := range ranges {
		if n := len(joined); n > 0 && r.start-joined[n-1].end <= coalesceGap {
			joined[n-1].end = max(joined[n-1].end, r.end)
		} else {
			joined = append(joined, r)
		}
	}
	for _, r := range joined {
		wanted += r.end - r.start
	}
	return joined, wanted, total, nil
}

// ChunkStart is the offset of a column chunk's first page.
func ChunkStart(chunk *metadata.ColumnChunkMetaData) int64 {
	start := chunk.DataPageOffset()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		start = min(start, chunk.DictionaryPageOffset())
	}
	return start
}

// fetchSparse writes the sparse file and returns the bytes it takes on disk.
func (s *Store) fetchSparse(ctx context.Context, io icebergio.IO, location, to string, need Need, ranges []span) (size int64, err error) {
	footer, err := subset(need.Footer, need.RowGroups)
	if err != nil {
		return 0, err
	}
	object, err := io.Open(location)
	if err != nil {
		return 0, err
	}
	defer object.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(cap(s.requests))
	var end int64 = int64(len(magic))
	for _, r := range ranges {
		end = max(end, r.end)
		size += r.end - r.start
		for offset := r.start; offset < r.end; offset += partSize {
			if groupCtx.Err() != nil {
				break
			}
			group.Go(func() error {
				part, err := s.readRange(groupCtx, object, offset, min(partSize, r.end-offset))
				if err != nil {
					return err
				}
				_, err = file.WriteAt(part, offset)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	if _, err := file.WriteAt([]byte(magic), 0); err != nil {
		return 0, err
	}
	if _, err := file.WriteAt(footer, end); err != nil {
		return 0, err
	}
	return size + int64(len(footer)), context.Cause(ctx)
}

const magic = "PAR1"

// subset is a footer that lists the given row groups alone, with the length and magic number that end a file.
func subset(footer *metadata.FileMetaData, groups []int) ([]byte, error) {
	part, err := footer.Subset(groups)
	if err != nil {
		return nil, err
	}
	// The row groups belong to the footer, which others read: what changes is changed in a copy.
	part, err = clone(part)
	if err != nil {
		return nil, err
	}
	for _, group := range part.RowGroups {
		for _, column := range group.Columns {
			// DuckDB reads Bloom filters that it finds, also of row groups that it does not read; none is in the file.
			column.MetaData.BloomFilterOffset, column.MetaData.BloomFilterLength = nil, nil
			column.OffsetIndexOffset, column.OffsetIndexLength = nil, nil
			column.ColumnIndexOffset, column.ColumnIndexLength = nil, nil
		}
	}
	var out bytes.Buffer
	if _, err := part.WriteTo(&out, nil); err != nil {
		return nil, fmt.Errorf("write a footer: %w", err)
	}
	length := out.Len()
	out.Write(binary.LittleEndian.AppendUint32(nil, uint32(length)))
	out.WriteString(magic)
	return out.Bytes(), nil
}

func clone(footer *metadata.FileMetaData) (*metadata.FileMetaData, error) {
	text, err := footer.SerializeString(context.Background())
	if err != nil {
		return nil, fmt.Errorf("copy a footer: %w", err)
	}
	return metadata.NewFileMetaData([]byte(strings.Clone(text)), nil)
}
