package scheduler

import (
	"context"
	"path/filepath"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/scheduler/engine"
)

// Tables whose full names are the same text are not the same table.
func TestTablesWithDotsInTheirNames(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c, err := catalog.Open(ctx, catalog.Config{
		Name: "serac", Type: catalog.TypeSQLite, URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
	})
	require.NoError(t, err)
	defer c.Close()
	schema := ice.NewSchema(0, ice.NestedField{ID: 1, Name: "x", Type: ice.PrimitiveTypes.Int32})
	for _, r := range []catalog.CreateRequest{
		{Namespace: "a", Name: "b.c", Schema: schema}, {Namespace: "a.b", Name: "c", Schema: schema},
	} {
		require.NoError(t, c.CreateNamespace(ctx, r.Namespace, false))
		_, err := c.CreateTable(ctx, r)
		require.NoError(t, err)
	}
	st := &statement{
		Scheduler: New(Options{Catalog: c}), session: engine.OpenSession("", "", "serac", DefaultSchema), tables: newPinned(c),
	}
	one, err := st.table(ctx, []string{"a", "b.c"})
	require.NoError(t, err)
	other, err := st.table(ctx, []string{"a.b", "c"})
	require.NoError(t, err)
	require.Equal(t, "b.c", one.Name())
	require.Equal(t, "c", other.Name())
	require.NotEqual(t, tableKey(one), tableKey(other))

	again, err := st.table(ctx, []string{"SERAC", "A", "B.C"})
	require.NoError(t, err)
	require.Same(t, one, again, "another spelling is the same version")
	found, ok := st.tables.byKey(tableKey(other))
	require.True(t, ok)
	require.Same(t, other, found)
}
