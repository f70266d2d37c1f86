package wire

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go/table"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// DefaultInlineMetadata is the size in bytes up to which a table's metadata travels with it. Larger metadata (about 0.7 KB
// a snapshot) is read from its location instead.
const DefaultInlineMetadata = 64 << 10

// minSnapshot is less than any snapshot takes in metadata, in bytes: ids, times, the manifest list's location, a summary.
const minSnapshot = 300

// Table is what travels in place of a live table: enough to rebuild it without a catalog.
type Table struct {
	// Key is the name that scans and writes of a fragment call the table by.
	Key string
	// Identifier is the catalog's name, then the namespace's parts, then the table's name.
	Identifier []string
	// MetadataLocation names the metadata file; it is immutable, so it also names what was read from it.
	MetadataLocation string
	FileIO           FileIO
	// ReadOnly says that the plan only reads the table: the rebuilt table's storage refuses to write and to delete, and an
	// executor refuses to write data files to it.
	ReadOnly bool
	// FormatVersion is the table format's version, 1 to 3.
	FormatVersion int
	// Metadata is the metadata file's JSON, or nil when it is too large to travel.
	Metadata []byte
}

// NewTable describes a live table. Metadata of more than inlineMax bytes stays behind (negative: always; 0:
// DefaultInlineMetadata).
func NewTable(key, catalog string, t *table.Table, fileIO FileIO, inlineMax int) (*Table, error) {
	w := &Table{
		Key:              key,
		Identifier:       append([]string{catalog}, t.Identifier()...),
		MetadataLocation: t.MetadataLocation(),
		FileIO:           fileIO,
		FormatVersion:    t.Metadata().Version(),
	}
	if inlineMax == 0 {
		inlineMax = DefaultInlineMetadata
	}
	// Snapshots alone settle most cases, without writing megabytes of JSON to see their length.
	if inlineMax < 0 || len(t.Metadata().Snapshots())*minSnapshot > inlineMax {
		return w, nil
	}
	metadata, err := json.Marshal(t.Metadata())
	if err != nil {
		return nil, fmt.Errorf("serialize metadata of table %s: %w", key, err)
	}
	if len(metadata) <= inlineMax {
		w.Metadata = metadata
	}
	return w, nil
}

// Proto is the table as it travels.
func (t *Table) Proto() *seracv1.Table {
	return &seracv1.Table{
		Key:              t.Key,
		Identifier:       slices.Clone(t.Identifier),
		MetadataLocation: t.MetadataLocation,
		FileIo:           coverFileIO(t.FileIO),
		ReadOnly:         t.ReadOnly,
		FormatVersion:    int32(t.FormatVersion),
		Metadata:         t.Metadata,
	}
}

// TableFrom is a table that arrived. It is refused when it cannot be rebuilt: no key, identifier or location, or a format
// version that this Serac does not know. Keys of its storage configuration that are none are dropped.
func TableFrom(m *seracv1.Table) (*Table, error) {
	switch {
	case m.GetKey() == "":
		return nil, fmt.Errorf("table %q has no key", m.GetIdentifier())
	case len(m.GetIdentifier()) < 2:
		return nil, fmt.Errorf("table %s: identifier %q needs a catalog and a table name", m.GetKey(), m.GetIdentifier())
	case m.GetMetadataLocation() == "":
		return nil, fmt.Errorf("table %s has no metadata location", m.GetKey())
	case m.GetFormatVersion() < 1 || m.GetFormatVersion() > 3:
		return nil, fmt.Errorf("table %s: format version %d is not supported", m.GetKey(), m.GetFormatVersion())
	}
	fileIO, err := uncoverFileIO(m.GetFileIo())
	if err != nil {
		return nil, fmt.Errorf("table %s: storage configuration: %w", m.GetKey(), err)
	}
	t := &Table{
		Key:              m.GetKey(),
		Identifier:       slices.Clone(m.GetIdentifier()),
		MetadataLocation: m.GetMetadataLocation(),
		FileIO:           fileIO,
		ReadOnly:         m.GetReadOnly(),
		FormatVersion:    int(m.GetFormatVersion()),
	}
	if len(m.GetMetadata()) > 0 {
		t.Metadata = m.GetMetadata()
	}
	return t, nil
}
