package catalog_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ice "github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

func schema(t testing.TB, columns ...iceberg.ColumnDef) *ice.Schema {
	t.Helper()
	if len(columns) == 0 {
		columns = []iceberg.ColumnDef{{Name: "id", Type: plan.T(plan.BigInt)}}
	}
	s, err := iceberg.NewSchema(columns)
	require.NoError(t, err)
	return s
}

// local opens a catalog of each local type over one folder; opening again sees what was there.
func local(t *testing.T, kind, dir string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(context.Background(), catalog.Config{
		Name: "c", Type: kind, URI: filepath.Join(dir, "a folder", "cat%alog.db"), Warehouse: filepath.Join(dir, "ware house"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestNamespacesAndTables(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []string{catalog.TypeSQLite, catalog.TypeHadoop} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			c := local(t, kind, dir)
			require.Equal(t, kind, c.Type())
			none, err := c.Namespaces(ctx)
			require.NoError(t, err)
			require.Empty(t, none)

			require.NoError(t, c.CreateNamespace(ctx, "b", false))
			require.NoError(t, c.CreateNamespace(ctx, "a", true))
			require.NoError(t, c.CreateNamespace(ctx, "a", true))
			err = c.CreateNamespace(ctx, "a", false)
			require.ErrorIs(t, err, catalog.ErrNamespaceExists)
			require.EqualError(t, err, "schema c.a already exists")
			require.NoError(t, c.CreateNamespace(ctx, "a.inner", false))
			names, err := c.Namespaces(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{"a", "a.inner", "b"}, names)
			exists, err := c.NamespaceExists(ctx, "a")
			require.NoError(t, err)
			require.True(t, exists)

			_, err = c.LoadTable(ctx, "a", "t")
			require.ErrorIs(t, err, catalog.ErrNoTable)
			require.EqualError(t, err, "table c.a.t does not exist")
			_, err = c.CreateTable(ctx, catalog.CreateRequest{Namespace: "nope", Name: "t", Schema: schema(t)})
			require.ErrorIs(t, err, catalog.ErrNoNamespace)
			require.EqualError(t, err, "schema c.nope does not exist")

			created, err := c.CreateTable(ctx, catalog.CreateRequest{Namespace: "a", Name: "t", Schema: schema(t), Properties: map[string]string{"owner": "me"}})
			require.NoError(t, err)
			require.Equal(t, []string{"c", "a", "t"}, created.Identifier())
			require.Equal(t, 2, created.FormatVersion())
			require.Equal(t, "me", created.Properties()["owner"])
			require.Zero(t, created.SnapshotID())
			require.Zero(t, created.Rows())
			_, err = c.CreateTable(ctx, catalog.CreateRequest{Namespace: "a", Name: "t", Schema: schema(t)})
			require.ErrorIs(t, err, catalog.ErrTableExists)
			require.EqualError(t, err, "table c.a.t already exists")
			_, err = c.CreateTable(ctx, catalog.CreateRequest{Namespace: "a", Name: "u", Schema: schema(t)})
			require.NoError(t, err)
			tables, err := c.Tables(ctx, "a")
			require.NoError(t, err)
			require.Equal(t, []string{"t", "u"}, tables)
			require.ErrorIs(t, c.DropNamespace(ctx, "a"), catalog.ErrNamespaceNotEmpty)

			// A second process.
			other := local(t, kind, dir)
			loaded, err := other.LoadTable(ctx, "a", "t")
			require.NoError(t, err)
			require.Equal(t, created.MetadataLocation(), loaded.MetadataLocation())
			require.Equal(t, created.Columns(), loaded.Columns())

			require.NoError(t, c.DropTable(ctx, "a", "t", true))
			_, err = other.LoadTable(ctx, "a", "t")
			require.ErrorIs(t, err, catalog.ErrNoTable)
			require.ErrorIs(t, c.DropTable(ctx, "a", "t", false), catalog.ErrNoTable)
			require.NoError(t, c.DropNamespace(ctx, "b"))
			require.ErrorIs(t, c.DropNamespace(ctx, "b"), catalog.ErrNoNamespace)
		})
	}
}

// Every type and every transform comes back from the catalog as it was created.
func TestCreateTableRoundTrip(t *testing.T) {
	ctx := context.Background()
	c := icetest.SQLite(t)
	key := plan.T(plan.Varchar)
	nested := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: plan.T(plan.Date)}, {Name: "b", Type: plan.ListType(plan.T(plan.Float))}}}
	var columns []iceberg.ColumnDef
	for i, of := range []plan.Type{
		plan.T(plan.Boolean), plan.T(plan.Integer), plan.T(plan.BigInt), plan.T(plan.Float), plan.T(plan.Double), plan.DecimalType(12, 3),
		plan.T(plan.Varchar), plan.T(plan.Blob), plan.T(plan.UUID), plan.T(plan.Date), plan.T(plan.Time), plan.T(plan.Timestamp),
		plan.T(plan.TimestampTZ), plan.T(plan.TimestampNS), plan.ListType(nested), {Kind: plan.Map, Key: &key, Elem: &nested}, nested,
	} {
		columns = append(columns, iceberg.ColumnDef{Name: fmt.Sprintf("c%d", i), Type: of, Nullable: i%2 == 0, Doc: fmt.Sprint("doc ", i)})
	}
	columns = append(columns, iceberg.ColumnDef{Name: "c17", Iceberg: ice.FixedTypeOf(5), Type: plan.T(plan.Blob), Nullable: false})
	s := schema(t, columns...)
	terms := icetest.Terms(t,
		"c0", "bucket(7, c1)", "truncate(10, c2)", "year(c9)", "month(c11)", "day(c12)", "hour(c13)", "void(c4)", "truncate(3, c6)", "bucket(2, c8)", "bucket(3, c5)",
		"c17", "c10", "truncate(2, c7)", "c16.a")
	spec, err := iceberg.NewPartitionSpec(s, terms)
	require.NoError(t, err)
	_, err = c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: s, PartitionSpec: spec})
	require.ErrorContains(t, err, "format-version", "timestamp_ns is of version 3")
	_, err = c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: s, PartitionSpec: spec, Properties: map[string]string{"format-version": "3"}})
	require.NoError(t, err)

	tbl, err := c.LoadTable(ctx, "ns", "t")
	require.NoError(t, err)
	require.Equal(t, 3, tbl.FormatVersion())
	require.NotContains(t, tbl.Properties(), "format-version")
	require.Len(t, tbl.Columns(), len(columns))
	for i, got := range tbl.Columns() {
		want := columns[i]
		require.Equal(t, want.Name, got.Name)
		require.Equal(t, want.Nullable, got.Nullable, got.Name)
		require.True(t, want.Type.Equal(got.Type), "%s: %s, not %s", got.Name, got.Type, want.Type)
		require.Equal(t, want.Doc, tbl.Schema().Field(i).Doc)
	}
	require.Equal(t, "fixed[5]", tbl.Schema().Field(17).Type.String())
	// The catalog numbers fields in its own way; the spec follows the columns.
	got := tbl.PartitionFields()
	require.Len(t, got, len(terms))
	for i, want := range iceberg.PartitionFields(*spec) {
		source, ok := tbl.Schema().FindColumnName(int(got[i].SourceID))
		require.True(t, ok)
		require.Equal(t, terms[i].Column, source)
		require.Equal(t, want.Transform, got[i].Transform)
		require.Equal(t, want.Name, got[i].Name)
		require.Equal(t, want.FieldID, got[i].FieldID)
	}
}

func TestFormatVersions(t *testing.T) {
	c := icetest.SQLite(t)
	for _, version := range []string{"1", "2", "3"} {
		tbl, err := c.CreateTable(context.Background(), catalog.CreateRequest{
			Namespace: "ns", Name: "v" + version, Schema: schema(t), Properties: map[string]string{"format-version": version, "write.metadata.compression-codec": "gzip"},
		})
		require.NoError(t, err)
		require.Equal(t, version, fmt.Sprint(tbl.FormatVersion()))
		require.Contains(t, tbl.MetadataLocation(), ".gz.")
		again, err := c.Reload(context.Background(), tbl)
		require.NoError(t, err)
		require.Equal(t, tbl.Columns(), again.Columns())
	}
	for _, version := range []string{"0", "4", "two", ""} {
		_, err := c.CreateTable(context.Background(), catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema(t), Properties: map[string]string{"format-version": version}})
		require.ErrorContains(t, err, "expected 1, 2 or 3")
	}
}

func TestNames(t *testing.T) {
	ctx := context.Background()
	c := icetest.SQLite(t)
	for _, name := range []string{"Order", "a b", `q"uote`, "dotted.name", "日本", "semi;colon", "per%cent"} {
		tbl, err := c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: name, Schema: schema(t)})
		require.NoError(t, err, name)
		again, err := c.LoadTable(ctx, "ns", name)
		require.NoError(t, err, name)
		require.Equal(t, tbl.Key(), again.Key())
	}
	tables, err := c.Tables(ctx, "ns")
	require.NoError(t, err)
	require.Len(t, tables, 7)
	dotted, err := c.LoadTable(ctx, "ns", "dotted.name")
	require.NoError(t, err)
	require.Equal(t, `c.ns."dotted.name"`, dotted.Key())
	for _, bad := range [][2]string{{"ns", ""}, {"", "t"}, {"a..b", "t"}} {
		_, err := c.LoadTable(ctx, bad[0], bad[1])
		require.ErrorIs(t, err, catalog.ErrBadName)
	}
}

// What executors get holds storage keys alone; nothing of the configuration prints.
func TestWireHoldsNoSecretsOfTheCatalog(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	config := catalog.Config{
		Name: "c", Type: catalog.TypeSQLite, URI: filepath.Join(dir, "c.db"), Warehouse: dir,
		FileIO:     wire.NewFileIO(map[string]string{"s3.secret-access-key": "hunter2", "s3.endpoint": "http://x"}),
		Properties: map[string]wire.Secret{"token": wire.NewSecret("hunter3")},
	}
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", config, config, config), "hunter")
	c, err := catalog.Open(ctx, config)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	require.NoError(t, c.CreateNamespace(ctx, "ns", false))
	tbl, err := c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema(t)})
	require.NoError(t, err)
	w := tbl.Wire()
	require.Equal(t, []string{"c", "ns", "t"}, w.Identifier)
	require.Equal(t, tbl.MetadataLocation(), w.MetadataLocation)
	require.NotEmpty(t, w.Metadata)
	require.Equal(t, map[string]string{"s3.secret-access-key": "hunter2", "s3.endpoint": "http://x"}, w.FileIO.Reveal())
	require.NotContains(t, fmt.Sprintf("%v %+v", w, *w), "hunter")

	rebuilt, err := wire.NewTables(wire.TablesOptions{}).Rebuild(ctx, w)
	require.NoError(t, err)
	require.True(t, rebuilt.Schema().Equals(tbl.Schema()))
}

// slowCatalog listens to no context.
type slowCatalog struct {
	icecatalog.Catalog
	until chan struct{}
}

func (s slowCatalog) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	<-s.until
	return nil, icecatalog.ErrNoSuchTable
}

func (s slowCatalog) CreateTable(context.Context, table.Identifier, *ice.Schema, ...icecatalog.CreateTableOpt) (*table.Table, error) {
	<-s.until
	return nil, icecatalog.ErrNoSuchTable
}

func (s slowCatalog) DropTable(context.Context, table.Identifier) error { <-s.until; return nil }

func (s slowCatalog) CreateNamespace(context.Context, table.Identifier, ice.Properties) error {
	<-s.until
	return nil
}
func (s slowCatalog) DropNamespace(context.Context, table.Identifier) error { <-s.until; return nil }
func (s slowCatalog) ListNamespaces(context.Context, table.Identifier) ([]table.Identifier, error) {
	<-s.until
	return nil, nil
}

func (s slowCatalog) ListTables(context.Context, table.Identifier) iter.Seq2[table.Identifier, error] {
	return func(func(table.Identifier, error) bool) { <-s.until }
}

func (s slowCatalog) CheckNamespaceExists(context.Context, table.Identifier) (bool, error) {
	<-s.until
	return false, nil
}

// Every call ends with its context, however deaf the catalog is (rule 25), and says what it was doing.
func TestCallsEndWithTheirContext(t *testing.T) {
	until := make(chan struct{})
	t.Cleanup(func() { close(until) })
	c := catalog.New("c", catalog.TypeREST, slowCatalog{until: until}, wire.FileIO{})
	for name, call := range map[string]func(context.Context) error{
		"list schemas":  func(ctx context.Context) error { _, err := c.Namespaces(ctx); return err },
		"look up":       func(ctx context.Context) error { _, err := c.NamespaceExists(ctx, "ns"); return err },
		"create schema": func(ctx context.Context) error { return c.CreateNamespace(ctx, "ns", true) },
		"drop schema":   func(ctx context.Context) error { return c.DropNamespace(ctx, "ns") },
		"list tables":   func(ctx context.Context) error { _, err := c.Tables(ctx, "ns"); return err },
		"load table":    func(ctx context.Context) error { _, err := c.LoadTable(ctx, "ns", "t"); return err },
		"create table": func(ctx context.Context) error {
			_, err := c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema(t)})
			return err
		},
		"drop table": func(ctx context.Context) error { return c.DropTable(ctx, "ns", "t", false) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := call(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, name)
			require.Less(t, time.Since(start), 2*time.Second)
		})
	}
}

// A writer that holds the database does not hold a statement beyond its deadline.
func TestLockedDatabaseEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	c := icetest.OpenSQLite(t, dir)
	release := holdWriteLock(t, filepath.Join(dir, "catalog.db"))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	require.Error(t, c.CreateNamespace(ctx, "ns", false))
	require.Less(t, time.Since(start), 3*time.Second)
	release()
	require.NoError(t, c.CreateNamespace(context.Background(), "ns2", false))
}

func TestPurgeRemovesTheFiles(t *testing.T) {
	ctx := context.Background()
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	for _, purge := range []bool{true, false} {
		tbl, err := c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: schema(t)})
		require.NoError(t, err)
		files := icetest.Write(t, conn, tbl, "SELECT i FROM range(10) r(i)")
		_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
		require.NoError(t, err)
		require.NoError(t, c.DropTable(ctx, "ns", "t", purge))
		_, err = os.Stat(strings.TrimPrefix(files[0].Path, "file://"))
		require.Equal(t, purge, os.IsNotExist(err))
	}
}

func TestOpenRefuses(t *testing.T) {
	for says, config := range map[string]catalog.Config{
		"no name":          {Type: catalog.TypeSQLite},
		"unknown type":     {Name: "c", Type: "hive"},
		"uri":              {Name: "c", Type: catalog.TypeSQLite, Warehouse: "x"},
		"rest catalog c":   {Name: "c", Type: catalog.TypeREST},
		"needs warehouse":  {Name: "c", Type: catalog.TypeHadoop},
		"sqlite catalog c": {Name: "c", Type: catalog.TypeSQLite, URI: "/dev/null/x/c.db", Warehouse: t.TempDir()},
	} {
		_, err := catalog.Open(context.Background(), config)
		require.ErrorContains(t, err, says)
	}
}
