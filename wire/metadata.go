package wire

import (
	"errors"
	"fmt"

	"github.com/apache/iceberg-go/table"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

const (
	// MaxInlineMetadata is the most metadata, in bytes, that is parsed out of a message: parsed, it takes many times that.
	MaxInlineMetadata = 1 << 20
	// maxMetadataNesting is how deep objects and lists in inline metadata may nest. A schema is parsed anew at each of its
	// levels, so time grows with their number.
	maxMetadataNesting = 500
)

// ErrDamagedMetadata is what a table's metadata fails with that is none. It is a failure of kind STATEMENT: reading it again
// elsewhere cannot help.
var ErrDamagedMetadata = errors.New("table metadata is damaged")

func damaged(err error) error {
	if errors.Is(err, ErrDamagedMetadata) {
		return err
	}
	return Failf(seracv1.FailureKind_FAILURE_KIND_STATEMENT, "%w: %w", ErrDamagedMetadata, err)
}

// parsed is what parse makes of metadata. iceberg-go panics on some that is damaged, and a panic in a load, which is no
// caller's own, would end the process.
func parsed(parse func() (table.Metadata, error)) (m table.Metadata, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, damaged(fmt.Errorf("parser panicked: %v", p))
		}
	}()
	return parse()
}

// checkInline refuses metadata out of a message that would take too much memory or time to parse.
func checkInline(metadata []byte) error {
	if len(metadata) > MaxInlineMetadata {
		return damaged(fmt.Errorf("%d bytes are more than the %d that may travel", len(metadata), MaxInlineMetadata))
	}
	depth, text := 0, false
	for i := 0; i < len(metadata); i++ {
		switch b := metadata[i]; {
		case text && b == '\\':
			i++
		case b == '"':
			text = !text
		case text:
		case b == '{' || b == '[':
			if depth++; depth > maxMetadataNesting {
				return damaged(fmt.Errorf("it nests deeper than %d levels", maxMetadataNesting))
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}
