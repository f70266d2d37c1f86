package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	ice "github.com/apache/iceberg-go"
	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/hadoop"
	"github.com/apache/iceberg-go/catalog/rest"
	icesql "github.com/apache/iceberg-go/catalog/sql"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/seracdb/serac/iceberg/manifest"
	"github.com/seracdb/serac/wire"
)

// The types of catalogs.
const (
	TypeSQLite = "sqlite"
	TypeREST   = "rest"
	TypeHadoop = "hadoop"
)

// Config says which catalog to open.
type Config struct {
	Name string // its name in SQL
	Type string // sqlite, rest or hadoop
	// URI is the path of the database file (sqlite; its folder is made if need be), or the server's base URL (rest).
	URI string
	// Warehouse is where tables go whose location nobody says: a path or URL. For rest it names the server's warehouse.
	Warehouse string
	// InlineMetadata is the size in bytes up to which a table's metadata travels to executors with it; 0 is
	// wire.DefaultInlineMetadata, negative: it never does.
	InlineMetadata int
	// ManifestCache is the memory in bytes for what has been read of the tables' manifests; 0 is manifest.DefaultSize,
	// negative: nothing is kept.
	ManifestCache int64
	// FileIO is the storage configuration: keys s3.*, gcs.*, adls.*, client.region. It may hold secrets.
	FileIO wire.FileIO
	// Properties are further properties of the catalog itself, such as credential, token, scope or oauth2-server-uri of
	// a REST catalog. They may hold secrets and never leave the scheduler.
	Properties map[string]wire.Secret
}

// opened is a catalog of iceberg-go and what belongs to it.
type opened struct {
	cat   icecatalog.Catalog
	close func() error
	known *known // nil: tables are loaded each time
}

// Open opens a catalog. For sqlite and a local warehouse it makes what is not there yet.
func Open(ctx context.Context, config Config) (*Catalog, error) {
	if config.Name == "" {
		return nil, errors.New("open catalog: it has no name")
	}
	open := map[string]func(context.Context, Config) (opened, error){
		TypeSQLite: openSQLite, TypeREST: openREST, TypeHadoop: openHadoop,
	}[config.Type]
	if open == nil {
		return nil, fmt.Errorf("open catalog %s: unknown type %q (sqlite, rest or hadoop)", config.Name, config.Type)
	}
	o, err := within(ctx, func(ctx context.Context) (opened, error) { return open(ctx, config) })
	if err != nil {
		return nil, fmt.Errorf("open %s catalog %s: %w", config.Type, config.Name, err)
	}
	c := New(config.Name, config.Type, o.cat, config.FileIO)
	c.close, c.inline, c.known = o.close, config.InlineMetadata, o.known
	if config.ManifestCache < 0 {
		c.manifests = nil
	} else if config.ManifestCache > 0 {
		c.manifests = manifest.NewCache(config.ManifestCache)
	}
	if config.Type == TypeSQLite {
		if c.warehouse, err = localDirectory(config.Warehouse); err != nil {
			return nil, errors.Join(err, o.close())
		}
	}
	return c, nil
}

// properties are the catalog's properties as iceberg-go takes them: storage and catalog keys in one map.
func properties(config Config) ice.Properties {
	props := ice.Properties(config.FileIO.Reveal())
	for name, value := range config.Properties {
		props[name] = value.Reveal()
	}
	return props
}

// sqlitePragmas make concurrent commits wait for each other instead of failing: immediate transactions take the write
// lock at their start, and a writer waits up to ten seconds for it.
const sqlitePragmas = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_txlock=immediate"

func openSQLite(_ context.Context, config Config) (opened, error) {
	if config.URI == "" || config.Warehouse == "" {
		return opened{}, errors.New("a sqlite catalog needs uri (the database file) and warehouse")
	}
	warehouse, err := localDirectory(config.Warehouse)
	if err != nil {
		return opened{}, err
	}
	path := strings.TrimPrefix(config.URI, "file:")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return opened{}, fmt.Errorf("make the folder of the database: %w", err)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+sqlitePragmas)
	if err != nil {
		return opened{}, fmt.Errorf("open the database: %w", err)
	}
	props := properties(config)
	props["warehouse"] = warehouse
	props["init_catalog_tables"] = "true"
	cat, err := icesql.NewCatalog(config.Name, db, icesql.SQLite, props)
	if err != nil {
		return opened{}, errors.Join(fmt.Errorf("database %s: %w", path, err), db.Close())
	}
	return opened{
		cat: cat, close: func() error { return errors.Join(cat.Close(), db.Close()) }, known: newKnown(sqliteLocation(db, config.Name)),
	}, nil
}

func openHadoop(_ context.Context, config Config) (opened, error) {
	if config.Warehouse == "" {
		return opened{}, errors.New("a hadoop catalog needs warehouse")
	}
	warehouse, err := localDirectory(config.Warehouse)
	if err != nil {
		return opened{}, err
	}
	cat, err := hadoop.NewCatalog(config.Name, warehouse, properties(config))
	if err != nil {
		return opened{}, err
	}
	return opened{cat: cat, close: cat.Close}, nil
}

func openREST(ctx context.Context, config Config) (opened, error) {
	if config.URI == "" {
		return opened{}, errors.New("a rest catalog needs uri")
	}
	captureStorage()
	props := properties(config)
	opts := []rest.Option{rest.WithAdditionalProps(props)}
	if config.Warehouse != "" {
		opts = append(opts, rest.WithWarehouseLocation(config.Warehouse))
	}
	if credential := props["credential"]; credential != "" {
		opts = append(opts, rest.WithCredential(credential))
	}
	if token := props["token"]; token != "" {
		opts = append(opts, rest.WithOAuthToken(token))
	}
	if scope := props["scope"]; scope != "" {
		opts = append(opts, rest.WithScope(scope))
	}
	if text := props["oauth2-server-uri"]; text != "" {
		uri, err := url.Parse(text)
		if err != nil {
			return opened{}, errors.New("oauth2-server-uri is not a URL")
		}
		opts = append(opts, rest.WithAuthURI(uri))
	}
	cat, err := rest.NewCatalog(ctx, config.Name, config.URI, opts...)
	if err != nil {
		return opened{}, err
	}
	return opened{cat: cat, close: cat.Close}, nil
}

// localDirectory makes a local warehouse's folder and gives its absolute path; other locations pass through.
func localDirectory(location string) (string, error) {
	path, local := strings.CutPrefix(location, "file://")
	if !local {
		if strings.Contains(location, "://") {
			return location, nil
		}
		path = location
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("warehouse %s: %w", location, err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", fmt.Errorf("make the warehouse: %w", err)
	}
	return path, nil
}
