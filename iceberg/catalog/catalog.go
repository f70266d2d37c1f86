package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	ice "github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud" // s3, gs and abfs locations
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/manifest"
	"github.com/seracdb/serac/wire"
)

// Catalog is an open catalog. It is safe for concurrent use.
type Catalog struct {
	name   string
	kind   string
	fileIO wire.FileIO
	ice    icecatalog.Catalog
	close  func() error
	// inline is the size in bytes up to which a table's metadata travels with it, as wire.NewTable takes it.
	inline int
	// known is what has been loaded of tables, nil where that is done anew each time.
	known *known
	// manifests is what has been read of the tables' manifests.
	manifests *manifest.Cache
	// warehouse is where tables go, each to a directory that nothing else ever uses; "": where the catalog puts them.
	warehouse string

	mu        sync.Mutex
	committed map[string]chan struct{} // one slot per table, held by whoever commits
}

// New wraps a catalog of iceberg-go that is open already. kind is one of the types of catalogs or any other name; only
// TypeSQLite and TypeHadoop are known to be done with a commit when their call returns.
func New(name, kind string, below icecatalog.Catalog, fileIO wire.FileIO) *Catalog {
	closeCatalog := func() error { return nil }
	if closer, ok := below.(icecatalog.Closer); ok {
		closeCatalog = closer.Close
	}
	return &Catalog{
		name: name, kind: kind, fileIO: fileIO, ice: below, close: closeCatalog, committed: map[string]chan struct{}{},
		manifests: manifest.NewCache(manifest.DefaultSize),
	}
}

// LockCommits waits until no other commit of this process to the table is under way. Commits of one process would
// otherwise only make each other retry. Call release exactly once.
func (c *Catalog) LockCommits(ctx context.Context, t *Table) (release func(), err error) {
	c.mu.Lock()
	slot, ok := c.committed[t.Key()]
	if !ok {
		slot = make(chan struct{}, 1)
		c.committed[t.Key()] = slot
	}
	c.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other commits to %s: %w", t.Key(), context.Cause(ctx))
	}
}

// Name is the catalog's name in SQL.
func (c *Catalog) Name() string { return c.name }

// Type is sqlite, rest or hadoop.
func (c *Catalog) Type() string { return c.kind }

// Close releases what Open took. Handles of tables stay readable.
func (c *Catalog) Close() error { return c.close() }

// Iceberg is the catalog below, for what this package has no call for.
func (c *Catalog) Iceberg() icecatalog.Catalog { return c.ice }

// namespace splits a schema's name into the parts of an Iceberg namespace: a dot descends, so the namespace a with the
// child b is the schema "a.b" of SQL.
func namespace(schema string) (table.Identifier, error) {
	parts := strings.Split(schema, ".")
	if slices.Contains(parts, "") {
		return nil, fmt.Errorf("%w: schema %q has an empty part", ErrBadName, schema)
	}
	return parts, nil
}

func identifier(schema, name string) (table.Identifier, error) {
	ns, err := namespace(schema)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fmt.Errorf("%w: a table's name is empty", ErrBadName)
	}
	return append(ns, name), nil
}

// maxConcurrentLists bounds the requests in flight while nested namespaces are listed.
const maxConcurrentLists = 8

// Namespaces lists the schemas, nested ones in dotted form, sorted.
func (c *Catalog) Namespaces(ctx context.Context) ([]string, error) {
	all, err := within(ctx, func(ctx context.Context) ([]string, error) {
		var mu sync.Mutex
		seen := map[string]bool{}
		level := []table.Identifier{nil}
		for len(level) > 0 {
			var next []table.Identifier
			g, ctx := errgroup.WithContext(ctx)
			g.SetLimit(maxConcurrentLists)
			for _, parent := range level {
				g.Go(func() error {
					children, err := c.ice.ListNamespaces(ctx, parent)
					if errors.Is(err, icecatalog.ErrNoSuchNamespace) && parent != nil {
						return nil // dropped since it was listed, or the catalog has no nested namespaces
					}
					if err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					for _, child := range children {
						if key := strings.Join(child, "."); !seen[key] {
							seen[key] = true
							next = append(next, child)
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				return nil, err
			}
			if c.kind == TypeSQLite {
				break // it lists descendants of every depth at once
			}
			level = next
		}
		return slices.Sorted(maps.Keys(seen)), nil
	})
	return all, translate(err, "list schemas of catalog", c.name)
}

// NamespaceExists says whether a schema exists.
func (c *Catalog) NamespaceExists(ctx context.Context, schema string) (bool, error) {
	ns, err := namespace(schema)
	if err != nil {
		return false, err
	}
	ok, err := within(ctx, func(ctx context.Context) (bool, error) { return c.ice.CheckNamespaceExists(ctx, ns) })
	return ok, translate(err, "look up schema", c.name+"."+schema)
}

// CreateNamespace creates a schema. With ifNotExists an existing one is no error; otherwise it is ErrNamespaceExists.
func (c *Catalog) CreateNamespace(ctx context.Context, schema string, ifNotExists bool) error {
	ns, err := namespace(schema)
	if err != nil {
		return err
	}
	_, err = within(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.ice.CreateNamespace(ctx, ns, nil)
	})
	err = translate(err, "create schema", c.name+"."+schema)
	if ifNotExists && errors.Is(err, ErrNamespaceExists) {
		return nil
	}
	return err
}

// DropNamespace drops an empty schema: ErrNamespaceNotEmpty when it holds tables, ErrNoNamespace when it is not there.
func (c *Catalog) DropNamespace(ctx context.Context, schema string) error {
	ns, err := namespace(schema)
	if err != nil {
		return err
	}
	_, err = within(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.ice.DropNamespace(ctx, ns)
	})
	return translate(err, "drop schema", c.name+"."+schema)
}

// Tables lists the names of a schema's tables, sorted.
func (c *Catalog) Tables(ctx context.Context, schema string) ([]string, error) {
	ns, err := namespace(schema)
	if err != nil {
		return nil, err
	}
	names, err := within(ctx, func(ctx context.Context) ([]string, error) {
		var names []string
		for ident, err := range c.ice.ListTables(ctx, ns) {
			if err != nil {
				return nil, err
			}
			names = append(names, ident[len(ident)-1])
		}
		slices.Sort(names)
		return names, nil
	})
	return names, translate(err, "list tables of schema", c.name+"."+schema)
}

// LoadTable loads a table as it is now: ErrNoTable or ErrNoNamespace when it is not there.
func (c *Catalog) LoadTable(ctx context.Context, schema, name string) (*Table, error) {
	ident, err := identifier(schema, name)
	if err != nil {
		return nil, err
	}
	return c.load(ctx, ident)
}

// Reload loads the table behind a handle again.
func (c *Catalog) Reload(ctx context.Context, t *Table) (*Table, error) {
	return c.load(ctx, t.ident)
}

// settled repeats a call that does not find a table's metadata file where the catalog says that it is: the table has been purged
// in between. The catalog's next answer is that there is none, or another one of its name.
func settled[T any](call func() (T, error)) (value T, err error) {
	const attempts = 5
	for range attempts {
		if value, err = call(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return value, err
}

func (c *Catalog) load(ctx context.Context, ident table.Identifier) (*Table, error) {
	t, err := within(ctx, func(ctx context.Context) (*Table, error) {
		if t := c.known.get(ctx, ident); t != nil {
			return t, nil
		}
		loaded, err := settled(func() (*table.Table, error) { return c.ice.LoadTable(ctx, ident) })
		if err != nil {
			return nil, err
		}
		t, err := c.handle(ctx, ident, loaded)
		if err == nil {
			c.known.add(t)
		}
		return t, err
	})
	if err != nil {
		return nil, translate(err, "load table", c.qualified(ident))
	}
	return t, nil
}

func (c *Catalog) qualified(ident table.Identifier) string {
	return c.name + "." + strings.Join(ident, ".")
}

// CreateRequest describes a new table.
type CreateRequest struct {
	Namespace, Name string
	Schema          *ice.Schema        // ids are reassigned by the catalog
	PartitionSpec   *ice.PartitionSpec // nil: unpartitioned
	// Properties are table properties. format-version picks the version (2 when absent); it is not kept as a property.
	Properties map[string]string
	Location   string // "": the catalog's choice
}

// The property that picks the format version, and the versions that can be created.
const (
	formatVersionProperty = table.PropertyFormatVersion
	defaultFormatVersion  = 2
	maxFormatVersion      = 3
)

// CreateTable creates an empty table. Errors: ErrTableExists, ErrNoNamespace, or a fault in the request. When ctx ends
// before the catalog has answered, the table may exist or not.
func (c *Catalog) CreateTable(ctx context.Context, r CreateRequest) (*Table, error) {
	ident, err := identifier(r.Namespace, r.Name)
	if err != nil {
		return nil, err
	}
	properties := ice.Properties(maps.Clone(r.Properties))
	if properties == nil {
		properties = ice.Properties{}
	}
	if err := wire.CheckEncryption(properties); err != nil {
		return nil, fmt.Errorf("create table %s: %w", c.qualified(ident), err)
	}
	version, err := formatVersion(properties)
	if err != nil {
		return nil, fmt.Errorf("create table %s: %w", c.qualified(ident), err)
	}
	for _, f := range r.Schema.Fields() {
		if need := iceberg.MinFormatVersion(f.Type); need > version {
			return nil, fmt.Errorf("create table %s: column %s of type %s needs format version %d (set property %s = '%d')",
				c.qualified(ident), f.Name, f.Type, need, formatVersionProperty, need)
		}
	}
	properties[formatVersionProperty] = strconv.Itoa(version)
	opts := []icecatalog.CreateTableOpt{icecatalog.WithProperties(properties)}
	if r.PartitionSpec != nil {
		opts = append(opts, icecatalog.WithPartitionSpec(r.PartitionSpec))
	}
	create := func(ctx context.Context) (*table.Table, error) {
		location, opts := r.Location, slices.Clip(opts)
		if location == "" && c.warehouse != "" {
			if location, err = c.ownLocation(ctx, ident); err != nil {
				return nil, err
			}
		}
		if location != "" {
			opts = append(opts, icecatalog.WithLocation(location))
		}
		return c.ice.CreateTable(ctx, ident, r.Schema, opts...)
	}
	t, err := within(ctx, func(ctx context.Context) (*Table, error) {
		created, err := settled(func() (*table.Table, error) { return create(ctx) })
		if err != nil {
			return nil, err
		}
		return c.handle(ctx, ident, created)
	})
	if errors.Is(err, icecatalog.ErrNoSuchNamespace) {
		return nil, translate(err, "create table in", c.name+"."+r.Namespace)
	}
	if err != nil {
		return nil, translate(err, "create table", c.qualified(ident))
	}
	return t, nil
}

// ownLocation is a directory for a new table that no other table has, had or will have, its namesakes included: a dropped
// table's files stay, and what purges them late must not take those of the next table.
func (c *Catalog) ownLocation(ctx context.Context, ident table.Identifier) (string, error) {
	namespace, name := ident[:len(ident)-1], ident[len(ident)-1]
	properties, err := c.ice.LoadNamespaceProperties(ctx, namespace)
	if err != nil {
		return "", err
	}
	name += "-" + uuid.NewString()[24:]
	if location := properties["location"]; location != "" {
		return strings.TrimRight(location, "/") + "/" + name, nil
	}
	return strings.TrimRight(c.warehouse, "/") + "/" + strings.Join(namespace, ".") + ".db/" + name, nil
}

func formatVersion(properties ice.Properties) (int, error) {
	text, ok := properties[formatVersionProperty]
	if !ok {
		return defaultFormatVersion, nil
	}
	version, err := strconv.Atoi(text)
	if err != nil || version < 1 || version > maxFormatVersion {
		return 0, fmt.Errorf("property %s is %q: expected 1, 2 or 3", formatVersionProperty, text)
	}
	return version, nil
}

// DropTable drops a table: ErrNoTable when it is not there. With purge its data, delete, manifest and metadata files go
// too; without, they stay.
func (c *Catalog) DropTable(ctx context.Context, schema, name string, purge bool) error {
	ident, err := identifier(schema, name)
	if err != nil {
		return err
	}
	_, err = within(ctx, func(ctx context.Context) (struct{}, error) {
		purger, ok := c.ice.(icecatalog.PurgeableTable)
		if !ok || !purge {
			return struct{}{}, c.ice.DropTable(ctx, ident)
		}
		return settled(func() (struct{}, error) { return struct{}{}, purger.PurgeTable(ctx, ident) })
	})
	return translate(err, "drop table", c.qualified(ident))
}

// FS opens the storage of a table's files. The FileIO lives as long as ctx may (object store clients keep it), so give
// it one that outlives the statement.
func (t *Table) FS(ctx context.Context) (icebergio.IO, error) { return t.ice.FS(ctx) }

// Synchronous says that a commit call of the catalog leaves nothing on its way when it returns: after an error, what
// the table holds then is what came of it. A server may still be at work on a request whose answer was lost.
func (c *Catalog) Synchronous() bool { return c.kind == TypeSQLite || c.kind == TypeHadoop }

// CommitTable submits a commit to the catalog once; package commit is its caller. returned is false when ctx ended
// before the catalog answered.
func (c *Catalog) CommitTable(ctx context.Context, ident table.Identifier, requirements []table.Requirement, updates []table.Update) (metadata table.Metadata, location string, returned bool, err error) {
	type answer struct {
		metadata table.Metadata
		location string
		err      error
	}
	a, err := within(ctx, func(ctx context.Context) (answer, error) {
		metadata, location, err := c.ice.CommitTable(ctx, ident, requirements, updates)
		return answer{metadata, location, err}, nil
	})
	if err != nil {
		return nil, "", false, err
	}
	return a.metadata, a.location, true, a.err
}
