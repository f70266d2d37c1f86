package catalog

import (
	"path/filepath"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"
)

// Of a table that is committed to again and again one handle is kept, not one of each version.
func TestKnownKeepsOneVersionOfATable(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c, err := Open(ctx, Config{Name: "c", Type: TypeSQLite, URI: filepath.Join(dir, "catalog.db"), Warehouse: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.CreateNamespace(ctx, "a", false))
	schema := ice.NewSchema(0, ice.NestedField{ID: 1, Name: "x", Type: ice.PrimitiveTypes.Int32})
	for _, name := range []string{"t", "u"} {
		_, err := c.CreateTable(ctx, CreateRequest{Namespace: "a", Name: name, Schema: schema})
		require.NoError(t, err)
	}
	for _, owner := range []string{"me", "you", "them"} {
		loaded, err := c.LoadTable(ctx, "a", "t")
		require.NoError(t, err)
		txn := loaded.Iceberg().NewTransaction()
		require.NoError(t, txn.SetProperties(map[string]string{"owner": owner}))
		_, err = txn.Commit(ctx)
		require.NoError(t, err)
		again, err := c.LoadTable(ctx, "a", "t")
		require.NoError(t, err)
		require.Equal(t, owner, again.Properties()["owner"])
	}
	_, err = c.LoadTable(ctx, "a", "u")
	require.NoError(t, err)
	require.Equal(t, 2, c.known.kept.Len())
}
