package scheduler

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/sql"
	"github.com/seracdb/serac/wire"
)

// pinned holds the one version of each table that a statement reads and writes (rule 17).
type pinned struct {
	catalog *catalog.Catalog
	// renewals joins requests for one table's credentials.
	renewals singleflight.Group
	mu       sync.Mutex
	tables   map[string]*catalog.Table // by its name, by its key in plans, and by other spellings of its name
	// formats are the tables of other formats, by the same, with the catalog in the name.
	formats map[string]*formatTable
}

func newPinned(c *catalog.Catalog) *pinned {
	return &pinned{catalog: c, tables: map[string]*catalog.Table{}, formats: map[string]*formatTable{}}
}

// table resolves the name of an Iceberg table, of one to three parts. Names are looked up as written, then without regard
// to case.
func (st *statement) table(ctx context.Context, parts []string) (*catalog.Table, error) {
	c, schema, name, err := st.qualify(parts)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return nil, c.readOnly("table " + sql.Name(parts).String())
	}
	spelled := nameKey(schema, name)
	if t, ok := st.tables.byKey(spelled); ok {
		return t, nil
	}
	// Tables of one statement are loaded at the same time: a catalog behind a network takes its time for each.
	t, err := st.opts.Catalog.LoadTable(ctx, schema, name)
	if errors.Is(err, catalog.ErrNoTable) || errors.Is(err, catalog.ErrNoNamespace) {
		if found, foundName, ok := ignoringCase(ctx, st.opts.Catalog.Namespaces, st.opts.Catalog.Tables, schema, name); ok {
			t, err = st.opts.Catalog.LoadTable(ctx, found, foundName)
		}
	}
	if err != nil {
		return nil, catalogError(err)
	}
	st.tables.mu.Lock()
	defer st.tables.mu.Unlock()
	// A table that is pinned by now, by this or another spelling of its name, must have one version.
	if same, ok := st.tables.tables[nameKey(joinSchema(t.Identifier()), t.Name())]; ok {
		t = same
	}
	st.tables.add(t)
	st.tables.tables[spelled] = t
	return t, nil
}

// nameKey tells names apart that have dots in them.
func nameKey(schema, name string) string { return schema + "\x00" + name }

// add adds a table under its own name and its key. p is locked.
func (p *pinned) add(t *catalog.Table) {
	p.tables[nameKey(joinSchema(t.Identifier()), t.Name())] = t
	p.tables[tableKey(t)] = t
}

// ignoringCase finds the one schema and table whose names differ in case alone.
func ignoringCase(
	ctx context.Context, listSchemas func(context.Context) ([]string, error), listTables func(context.Context, string) ([]string, error),
	schema, name string,
) (foundSchema, foundName string, ok bool) {
	schemas, err := listSchemas(ctx)
	if err != nil {
		return "", "", false
	}
	if foundSchema, ok = onlyFold(schemas, schema); !ok {
		return "", "", false
	}
	tables, err := listTables(ctx, foundSchema)
	if err != nil {
		return "", "", false
	}
	foundName, ok = onlyFold(tables, name)
	return foundSchema, foundName, ok
}

// onlyFold finds the one name that equals want but for case; the exact spelling wins.
func onlyFold(names []string, want string) (string, bool) {
	found, n := "", 0
	for _, name := range names {
		if name == want {
			return name, true
		}
		if strings.EqualFold(name, want) {
			found, n = name, n+1
		}
	}
	return found, n == 1
}

// qualify gives the catalog (nil: Iceberg's), the schema and the name that a name of one to three parts stands for.
func (st *statement) qualify(parts []string) (c *FormatCatalog, schema, name string, err error) {
	catalogName, schema := st.session.Namespace()
	switch len(parts) {
	case 1:
	case 2:
		schema = parts[0]
	case 3:
		catalogName, schema = parts[0], parts[1]
	default:
		return nil, "", "", statementError("table name %s: expected one to three parts", strings.Join(parts, "."))
	}
	c, err = st.formatCatalog(catalogName)
	return c, schema, parts[len(parts)-1], err
}

// tableKey names one version of a table in plans and fragments: its name and a mark of its metadata file.
func tableKey(t *catalog.Table) string {
	mark := fnv.New32a()
	mark.Write([]byte(t.MetadataLocation()))
	return fmt.Sprintf("%s@%08x", t.Key(), mark.Sum32())
}

// byKey finds a pinned table by its key in a plan, or by its name.
func (p *pinned) byKey(key string) (*catalog.Table, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.tables[key]
	return t, ok
}

// wireTables are the tables that a fragment names, as they travel: each once, however many scans name it (rule 4), and
// read-only unless the fragment itself writes to it.
func (p *pinned) wireTables(root plan.Node) ([]*wire.Table, error) {
	var out []*wire.Table
	seen := map[string]*wire.Table{}
	var visit func(n plan.Node) error
	visit = func(n plan.Node) error {
		key, writes := "", false
		switch n := n.(type) {
		case *plan.IcebergScan:
			key = n.TableKey
		case *plan.MetadataScan:
			key = n.TableKey
		case *plan.IcebergWrite:
			key, writes = n.TableKey, true
		}
		if key != "" && seen[key] == nil {
			t, ok := p.byKey(key)
			if !ok {
				return errors.New("table " + key + " is not pinned")
			}
			w := *t.Wire()
			w.Key, w.ReadOnly = key, true
			seen[key] = &w
			out = append(out, &w)
		}
		if writes {
			seen[key].ReadOnly = false
		}
		for _, c := range n.Children() {
			if err := visit(c); err != nil {
				return err
			}
		}
		return nil
	}
	return out, visit(root)
}

// joinSchema is the schema's part of a table's identifier.
func joinSchema(identifier []string) string {
	return strings.Join(identifier[1:len(identifier)-1], ".")
}

// pin adds a table that the statement itself has made.
func (p *pinned) pin(t *catalog.Table) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(t)
}

// credentials is the storage configuration of a pinned table as the catalog vends it now (rule 18). Tasks that ask at the same
// time share an answer.
func (st *statement) credentials(ctx context.Context, key string) (wire.FileIO, error) {
	t, ok := st.tables.byKey(key)
	if !ok {
		return wire.FileIO{}, errors.New("table " + key + " is not pinned")
	}
	fresh, err, _ := st.tables.renewals.Do(key, func() (any, error) {
		fresh, err := st.opts.Catalog.Reload(ctx, t)
		if err != nil {
			return nil, err
		}
		if fresh.Iceberg().Metadata().TableUUID() != t.Iceberg().Metadata().TableUUID() {
			return nil, errors.New("table " + key + " was dropped and created again")
		}
		return fresh.Storage(), nil
	})
	if err != nil {
		return wire.FileIO{}, err
	}
	return fresh.(wire.FileIO), nil
}
