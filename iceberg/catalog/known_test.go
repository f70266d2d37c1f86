package catalog_test

import (
	"context"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
)

// A handle is given again for as long as the table is what it was, also to those who hear of a change by another process only
// through the database: a commit, a rename, a drop, and another table of the name.
func TestTablesThatAreKnown(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c, other := local(t, catalog.TypeSQLite, dir), local(t, catalog.TypeSQLite, dir)
	require.NoError(t, c.CreateNamespace(ctx, "a", false))
	require.NoError(t, c.CreateNamespace(ctx, "a.deep", false))
	load := func(schema, name string) *catalog.Table {
		loaded, err := c.LoadTable(ctx, schema, name)
		require.NoError(t, err)
		return loaded
	}
	for _, schemaName := range []string{"a", "a.deep"} {
		created, err := other.CreateTable(ctx, catalog.CreateRequest{Namespace: schemaName, Name: "t", Schema: schema(t)})
		require.NoError(t, err)
		first := load(schemaName, "t")
		require.Equal(t, created.MetadataLocation(), first.MetadataLocation())
		require.Equal(t, schemaName == "a", load(schemaName, "t") == first, "one way to write the namespace down is known")

		txn := created.Iceberg().NewTransaction()
		require.NoError(t, txn.SetProperties(map[string]string{"owner": "me"}))
		committed, err := txn.Commit(ctx)
		require.NoError(t, err)
		second := load(schemaName, "t")
		require.Equal(t, committed.MetadataLocation(), second.MetadataLocation())
		require.Equal(t, "me", second.Properties()["owner"])
		require.Empty(t, first.Properties()["owner"])
	}
	ident := func(name string) table.Identifier { return table.Identifier{"a", name} }
	before := load("a", "t")
	_, err := other.Iceberg().RenameTable(ctx, ident("t"), ident("u"))
	require.NoError(t, err)
	_, err = c.LoadTable(ctx, "a", "t")
	require.ErrorIs(t, err, catalog.ErrNoTable)
	renamed := load("a", "u")
	require.Equal(t, "c.a.u", renamed.Key())
	require.Equal(t, before.MetadataLocation(), renamed.MetadataLocation())

	require.NoError(t, other.DropTable(ctx, "a", "u", true))
	_, err = c.LoadTable(ctx, "a", "u")
	require.ErrorIs(t, err, catalog.ErrNoTable)
	again, err := other.CreateTable(ctx, catalog.CreateRequest{Namespace: "a", Name: "u", Schema: schema(t)})
	require.NoError(t, err)
	require.Equal(t, again.Iceberg().Metadata().TableUUID(), load("a", "u").Iceberg().Metadata().TableUUID())
}
