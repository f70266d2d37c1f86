package catalog_test

import (
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// A table that needs a key service fails with a message that says so: when it is loaded, and when it is to be made.
func TestRule7EncryptedTablesAreRefused(t *testing.T) {
	c := local(t, catalog.TypeSQLite, t.TempDir())
	require.NoError(t, c.CreateNamespace(t.Context(), "ns", true))
	columns := schema(t, iceberg.ColumnDef{Name: "id", Type: plan.T(plan.BigInt)})
	request := catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: columns, Properties: map[string]string{"encryption.key-id": "k"}}
	_, err := c.CreateTable(t.Context(), request)
	require.ErrorContains(t, err, "key service")
	require.ErrorContains(t, err, "encryption.key-id")
	require.ErrorIs(t, err, wire.ErrNoKeyService, "the scheduler knows it as the statement's own error")

	_, err = c.Iceberg().CreateTable(t.Context(), table.Identifier{"ns", "other"}, columns) // by another engine
	require.NoError(t, err)
	_, err = c.LoadTable(t.Context(), "ns", "other")
	require.NoError(t, err)
	made, err := c.Iceberg().LoadTable(t.Context(), table.Identifier{"ns", "other"})
	require.NoError(t, err)
	tx := made.NewTransaction()
	require.NoError(t, tx.SetProperties(ice.Properties{"encryption.key-id": "k"}))
	_, err = tx.Commit(t.Context())
	require.NoError(t, err)
	_, err = c.LoadTable(t.Context(), "ns", "other")
	require.ErrorContains(t, err, "ns.other")
	require.ErrorContains(t, err, "key service")
}

// The table of a statement is rebuilt with the schema that the statement was planned against, without asking the catalog.
func TestRule8TheSchemaIsThePlansOwn(t *testing.T) {
	c := local(t, catalog.TypeSQLite, t.TempDir())
	require.NoError(t, c.CreateNamespace(t.Context(), "ns", true))
	columns := schema(t, iceberg.ColumnDef{Name: "id", Type: plan.T(plan.BigInt)})
	planned, err := c.CreateTable(t.Context(), catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: columns})
	require.NoError(t, err)
	travelled, err := wire.TableFrom(planned.Wire().Proto())
	require.NoError(t, err)
	travelled.Metadata = nil // by its location alone, as a large one

	// Meanwhile a column is added, and then the table and its catalog go.
	tx := planned.Iceberg().NewTransaction()
	require.NoError(t, tx.UpdateSchema(true, false).AddColumn([]string{"more"}, ice.PrimitiveTypes.String, "", false, nil).Commit())
	_, err = tx.Commit(t.Context())
	require.NoError(t, err)
	now, err := c.LoadTable(t.Context(), "ns", "t")
	require.NoError(t, err)
	require.Len(t, now.Columns(), 2)
	require.NoError(t, c.DropTable(t.Context(), "ns", "t", false))
	require.NoError(t, c.Close())

	rebuilt, err := wire.NewTables(wire.TablesOptions{}).Rebuild(t.Context(), travelled)
	require.NoError(t, err)
	require.True(t, planned.Schema().Equals(rebuilt.Schema()))
	require.Equal(t, planned.MetadataLocation(), rebuilt.MetadataLocation())
	require.ErrorIs(t, rebuilt.Refresh(t.Context()), wire.ErrDetached, "nobody is asked")
}
