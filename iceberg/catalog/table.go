package catalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/manifest"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// Table is a handle of a table at one version of its metadata. It never changes: load the table again to see the
// latest. What a statement plans with a handle stays true for it (rules 8 and 17).
type Table struct {
	catalog string
	ident   table.Identifier
	ice     *table.Table
	fileIO  wire.FileIO
	columns []plan.ScanColumn
	rows    int64
	bytes   int64

	inline    int             // Catalog.inline
	cache     *manifest.Cache // Catalog.manifests
	manifests func() manifest.Source
	wire      func() *wire.Table
}

func (c *Catalog) handle(ctx context.Context, ident table.Identifier, loaded *table.Table) (*Table, error) {
	if err := wire.CheckKeyService(loaded.Metadata()); err != nil {
		return nil, fmt.Errorf("table %s: %w", c.qualified(ident), err)
	}
	columns, err := iceberg.Columns(loaded.Schema())
	if err != nil {
		return nil, err
	}
	fileIO, err := c.tableStorage(ctx, loaded)
	if err != nil {
		return nil, err
	}
	t := &Table{catalog: c.name, ident: slices.Clone(ident), ice: loaded, fileIO: fileIO, columns: columns, inline: c.inline, cache: c.manifests}
	t.rows, t.bytes = summarySize(loaded.CurrentSnapshot())
	t.wire = sync.OnceValue(t.describe)
	t.manifests = sync.OnceValue(t.source)
	return t, nil
}

// summarySize is the row count and file bytes of a snapshot as its summary gives them, 0 without a snapshot, -1 for what
// the summary does not say.
func summarySize(s *table.Snapshot) (rows, bytes int64) {
	if s == nil {
		return 0, 0
	}
	rows, bytes = -1, -1
	if s.Summary == nil {
		return rows, bytes
	}
	if n, err := strconv.ParseInt(s.Summary.Properties["total-records"], 10, 64); err == nil {
		rows = n
		// Position deletes are counted per deleted row; equality deletes are not rows of the table.
		if d, err := strconv.ParseInt(s.Summary.Properties["total-position-deletes"], 10, 64); err == nil {
			rows = max(0, rows-d)
		}
	}
	if n, err := strconv.ParseInt(s.Summary.Properties["total-files-size"], 10, 64); err == nil {
		bytes = n
	}
	return rows, bytes
}

func (t *Table) describe() *wire.Table {
	w, err := wire.NewTable(t.Key(), t.catalog, t.ice, t.fileIO, t.inline)
	if err != nil { // the metadata does not serialize: its location will do
		w, _ = wire.NewTable(t.Key(), t.catalog, t.ice, t.fileIO, -1)
	}
	return w
}

// Wire is what executors get of the table: identifier, metadata location and storage configuration, the metadata itself when
// it is small. Do not change it.
func (t *Table) Wire() *wire.Table { return t.wire() }

func (t *Table) source() manifest.Source {
	return manifest.Source{Cache: t.cache, Scope: t.fileIO.Fingerprint(), FS: t.ice.FS}
}

// Manifests reads the table's manifests, through the catalog's cache of them: what was read with other storage keys than
// this handle's is read again (rule 5).
func (t *Table) Manifests() manifest.Source { return t.manifests() }

// Storage is the configuration of the table's storage, vended credentials among it, as it was when the table was loaded.
func (t *Table) Storage() wire.FileIO { return t.fileIO }

// Key names the table in plans and messages: the identifier's parts joined by dots, those that need it quoted, so that
// different tables have different keys.
func (t *Table) Key() string {
	parts := t.Identifier()
	for i, part := range parts {
		if strings.ContainsAny(part, `."`) {
			parts[i] = plan.QuoteIdent(part)
		}
	}
	return strings.Join(parts, ".")
}

// Identifier is the catalog's name, the namespace's parts and the table's name.
func (t *Table) Identifier() []string { return append([]string{t.catalog}, t.ident...) }

// Name is the table's own name.
func (t *Table) Name() string { return t.ident[len(t.ident)-1] }

// Columns are the columns of the current schema, also those added since the last snapshot (rule 15). Do not change them.
func (t *Table) Columns() []plan.ScanColumn { return t.columns }

// SnapshotID is the current snapshot, 0 when the table has none.
func (t *Table) SnapshotID() int64 {
	if s := t.ice.CurrentSnapshot(); s != nil {
		return s.SnapshotID
	}
	return 0
}

// Rows is the row count of the current snapshot by its summary, less position deletes; -1 when unknown.
func (t *Table) Rows() int64 { return t.rows }

// Bytes is the size of the current snapshot's files by its summary; -1 when unknown.
func (t *Table) Bytes() int64 { return t.bytes }

// Files is the number of data files of the current snapshot by its summary; -1 when unknown.
func (t *Table) Files() int64 {
	s := t.ice.CurrentSnapshot()
	switch {
	case s == nil:
		return 0
	case s.Summary == nil:
		return -1
	}
	n, err := strconv.ParseInt(s.Summary.Properties["total-data-files"], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// MetadataLocation is where the metadata of this version is.
func (t *Table) MetadataLocation() string { return t.ice.MetadataLocation() }

// Location is the table's base location; data files go under it.
func (t *Table) Location() string { return t.ice.Location() }

// FormatVersion is 1, 2 or 3.
func (t *Table) FormatVersion() int { return t.ice.Metadata().Version() }

// Schema is the current Iceberg schema.
func (t *Table) Schema() *ice.Schema { return t.ice.Schema() }

// Spec is the default partition spec.
func (t *Table) Spec() ice.PartitionSpec { return t.ice.Spec() }

// PartitionFields are the fields of the default partition spec.
func (t *Table) PartitionFields() []plan.PartitionField {
	return iceberg.PartitionFields(t.ice.Spec())
}

// Properties are the table's properties.
func (t *Table) Properties() map[string]string { return t.ice.Properties() }

// Iceberg is the table below. Its transactions go through package commit.
func (t *Table) Iceberg() *table.Table { return t.ice }
