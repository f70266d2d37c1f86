package catalog

import (
	"context"
	"database/sql"
	"strings"

	"github.com/apache/iceberg-go/table"
	lru "github.com/hashicorp/golang-lru/v2"
)

// keptTables is how many tables' handles a Catalog keeps.
const keptTables = 256

// known keeps the handles of tables that have been loaded, of each the last, for catalogs that can say at little cost where a
// table's metadata is now: a metadata file never changes, so a handle made of it is as good as one made anew. Every statement
// loads its tables, and reading their metadata took longer than asking for its location.
type known struct {
	// locate is the location of a table's metadata by the catalog, "" where that cannot be told.
	locate func(ctx context.Context, ident table.Identifier) string
	kept   *lru.Cache[string, *Table] // by knownKey
}

func newKnown(locate func(context.Context, table.Identifier) string) *known {
	kept, err := lru.New[string, *Table](keptTables)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &known{locate: locate, kept: kept}
}

// A table's key has no version in it: the version before will not be asked for again, and its metadata may be large.
func knownKey(ident table.Identifier) string { return strings.Join(ident, "\x00") }

// get is the handle of a table as the catalog has it now, nil when it must be loaded.
func (k *known) get(ctx context.Context, ident table.Identifier) *Table {
	if k == nil {
		return nil
	}
	location := k.locate(ctx, ident)
	if location == "" {
		return nil
	}
	t, ok := k.kept.Get(knownKey(ident))
	if !ok || t.MetadataLocation() != location {
		return nil
	}
	return t
}

func (k *known) add(t *Table) {
	if k != nil {
		k.kept.Add(knownKey(t.ident), t)
	}
}

// sqliteLocation asks the table that iceberg-go's SQL catalog keeps. What it does not find, and any error, is left to iceberg-go.
func sqliteLocation(db *sql.DB, catalogName string) func(context.Context, table.Identifier) string {
	return func(ctx context.Context, ident table.Identifier) string {
		if len(ident) != 2 { // there is more than one way to write down a namespace of several levels
			return ""
		}
		var location sql.NullString
		if err := db.QueryRowContext(ctx,
			"SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?",
			catalogName, ident[0], ident[1]).Scan(&location); err != nil {
			return ""
		}
		return location.String
	}
}
