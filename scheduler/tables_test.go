package scheduler

import (
	"context"
	"path/filepath"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/engine"
)

func openCatalog(t *testing.T, inlineMetadata int) *catalog.Catalog {
	dir := t.TempDir()
	c, err := catalog.Open(t.Context(), catalog.Config{
		Name: "serac", Type: catalog.TypeSQLite, URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
		InlineMetadata: inlineMetadata,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// Ten scans of one table carry it once, and read-only unless the fragment writes to it; the catalog's limit decides whether
// its metadata is with it.
func TestRule4TableTravelsOncePerFragment(t *testing.T) {
	for _, limit := range []int{0, -1} {
		c := openCatalog(t, limit)
		require.NoError(t, c.CreateNamespace(t.Context(), "ns", false))
		table, err := c.CreateTable(t.Context(), catalog.CreateRequest{
			Namespace: "ns", Name: "t", Schema: ice.NewSchema(0, ice.NestedField{ID: 1, Name: "x", Type: ice.PrimitiveTypes.Int32}),
		})
		require.NoError(t, err)
		tables := newPinned(c)
		tables.pin(table)
		root := &plan.SetOp{Op: plan.SetUnion, All: true}
		for i := range 10 {
			root.Inputs = append(root.Inputs, &plan.IcebergScan{Leaf: plan.LeafID(i), TableKey: tableKey(table), Columns: table.Columns()})
		}
		wired, err := tables.wireTables(root)
		require.NoError(t, err)
		require.Len(t, wired, 1)
		require.True(t, wired[0].ReadOnly)
		require.Equal(t, limit == 0, wired[0].Metadata != nil)
		b, err := codec.EncodeFragment(root, wired)
		require.NoError(t, err)
		fragment, err := codec.DecodeFragment(b)
		require.NoError(t, err)
		require.Equal(t, wired[0], fragment.Tables[tableKey(table)])

		// INSERT INTO t SELECT ... FROM t
		wired, err = tables.wireTables(&plan.IcebergWrite{TableKey: tableKey(table), Columns: table.Columns(), Input: root})
		require.NoError(t, err)
		require.Len(t, wired, 1)
		require.False(t, wired[0].ReadOnly)
	}
}

// Tables whose full names are the same text are not the same table.
func TestTablesWithDotsInTheirNames(t *testing.T) {
	ctx := context.Background()
	c := openCatalog(t, 0)
	schema := ice.NewSchema(0, ice.NestedField{ID: 1, Name: "x", Type: ice.PrimitiveTypes.Int32})
	for _, r := range []catalog.CreateRequest{
		{Namespace: "a", Name: "b.c", Schema: schema}, {Namespace: "a.b", Name: "c", Schema: schema},
	} {
		require.NoError(t, c.CreateNamespace(ctx, r.Namespace, false))
		_, err := c.CreateTable(ctx, r)
		require.NoError(t, err)
	}
	st := &statement{
		Scheduler: New(Options{Cluster: newCluster(t), Catalog: c}), session: engine.OpenSession("", "", "serac", DefaultSchema), tables: newPinned(c),
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
