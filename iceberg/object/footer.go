package object

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/parquet/metadata"
)

const (
	footerTail = 64 << 10 // read at once: most footers fit
	footerEnd  = 8        // the footer's length and the magic number
)

// errNotParquet marks a file that no retry makes readable.
var errNotParquet = errors.New("not a readable Parquet file")

// ReadFooter reads the footer of a Parquet file of the given size.
func ReadFooter(r io.ReaderAt, size int64) (*metadata.FileMetaData, error) {
	if size < footerEnd+4 {
		return nil, fmt.Errorf("%w: %d bytes", errNotParquet, size)
	}
	tail := make([]byte, min(size, footerTail))
	if err := readFull(r, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	switch magic := string(tail[len(tail)-4:]); magic {
	case "PAR1":
	case "PARE":
		return nil, fmt.Errorf("%w: its footer is encrypted", errNotParquet)
	default:
		return nil, fmt.Errorf("%w: it ends in %q", errNotParquet, magic)
	}
	length := int64(binary.LittleEndian.Uint32(tail[len(tail)-footerEnd:]))
	if length+footerEnd+4 > size {
		return nil, fmt.Errorf("%w: a footer of %d bytes in a file of %d", errNotParquet, length, size)
	}
	if length+footerEnd > int64(len(tail)) {
		tail = make([]byte, length+footerEnd)
		if err := readFull(r, tail, size-int64(len(tail))); err != nil {
			return nil, err
		}
	}
	footer, err := metadata.NewFileMetaData(tail[int64(len(tail))-footerEnd-length:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: its footer: %w", errNotParquet, err)
	}
	return footer, nil
}

// readFull fills p; ReaderAts may report io.EOF together with the last bytes.
func readFull(r io.ReaderAt, p []byte, offset int64) error {
	n, err := r.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at %d: %w", len(p), offset, err)
}
