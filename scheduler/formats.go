package scheduler

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/scheduler/sql"
	"github.com/seracdb/serac/wire"
)

// FormatCatalog is a catalog of another table format. Statements only read its tables.
type FormatCatalog struct {
	Name string // in SQL
	Type string // the format's name
	format.Catalog
}

func (c *FormatCatalog) readOnly(what string) error {
	return statementError("%s: catalog %s is of table format %s, which can only be read", what, c.Name, c.Type)
}

// formatCatalog finds the catalog of a name; nil is the Iceberg catalog.
func (s *Scheduler) formatCatalog(name string) (*FormatCatalog, error) {
	if strings.EqualFold(name, s.opts.Catalog.Name()) {
		return nil, nil
	}
	names := fmt.Sprintf("%q", s.opts.Catalog.Name())
	for i := range s.opts.FormatCatalogs {
		c := &s.opts.FormatCatalogs[i]
		if strings.EqualFold(name, c.Name) {
			return c, nil
		}
		names += fmt.Sprintf(", %q", c.Name)
	}
	return nil, statementError("catalog %q does not exist: there is %s", name, names)
}

// formatError types the errors of formats: names that are wrong and tables that are broken are the statement's fault.
func formatError(err error) error {
	if errors.Is(err, format.ErrNoSchema) || errors.Is(err, format.ErrNoTable) {
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
	}
	return format.Failure(err)
}

// formatTable is a table of another format, at one version.
type formatTable struct {
	format.Table
	catalog, schema, name string
	// key names the version in plans.
	key string
	// columns have their positions, from 1, for field ids.
	columns []plan.ScanColumn
}

// formatTable loads a table of another format, or gives the version that the statement has loaded already. Names are
// looked up as written, then without regard to case.
func (st *statement) formatTable(ctx context.Context, c *FormatCatalog, schema, name string) (*formatTable, error) {
	p := st.tables
	spelled := nameKey(c.Name, nameKey(schema, name))
	if t, ok := p.formatByKey(spelled); ok {
		return t, nil
	}
	loaded, err := c.Load(ctx, schema, name)
	if errors.Is(err, format.ErrNoTable) || errors.Is(err, format.ErrNoSchema) {
		if foundSchema, found, ok := ignoringCase(ctx, c.Schemas, c.Tables, schema, name); ok {
			schema, name = foundSchema, found
			loaded, err = c.Load(ctx, schema, name)
		}
	}
	if err != nil {
		return nil, formatError(fmt.Errorf("load table %s: %w", sql.Name{c.Name, schema, name}, err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.formats[nameKey(c.Name, nameKey(schema, name))]
	if !ok {
		t = newFormatTable(c, schema, name, loaded)
	}
	p.formats[spelled], p.formats[nameKey(c.Name, nameKey(schema, name))], p.formats[t.key] = t, t, t
	return t, nil
}

func newFormatTable(c *FormatCatalog, schema, name string, loaded format.Table) *formatTable {
	mark := fnv.New32a()
	mark.Write([]byte(loaded.Version()))
	t := &formatTable{
		Table: loaded, catalog: c.Name, schema: schema, name: name,
		key: fmt.Sprintf("%s.%s.%s@%08x", c.Name, schema, name, mark.Sum32()),
	}
	for i, column := range loaded.Columns() {
		t.columns = append(t.columns, plan.ScanColumn{
			FieldID: int32(i + 1), Name: column.Name, Type: column.Type, Nullable: column.Nullable,
		})
	}
	return t
}

// resolveFormat is resolve for a table of another format.
func (st *statement) resolveFormat(ctx context.Context, c *FormatCatalog, schema, name string) (*bind.Table, error) {
	t, err := st.formatTable(ctx, c, schema, name)
	if err != nil {
		return nil, err
	}
	return &bind.Table{
		Catalog: t.catalog, Schema: t.schema, Name: t.name, Key: t.key, Columns: t.columns, Rows: t.Rows(), Bytes: t.Bytes(),
	}, nil
}

func (st *statement) describeFormat(ctx context.Context, c *FormatCatalog, schema, name string) ([][]*string, error) {
	t, err := st.formatTable(ctx, c, schema, name)
	if err != nil {
		return nil, err
	}
	out := make([][]*string, len(t.columns))
	for i, c := range t.columns {
		out[i] = describeColumn(c)
	}
	return out, nil
}

// formatByKey finds a pinned table of another format by its key in a plan, or by its name.
func (p *pinned) formatByKey(key string) (*formatTable, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.formats[key]
	return t, ok
}

// size is the size of a pinned table in bytes; -1 when unknown.
func (p *pinned) size(key string) int64 {
	if t, ok := p.byKey(key); ok {
		return t.Bytes()
	}
	if t, ok := p.formatByKey(key); ok {
		return t.Bytes()
	}
	return -1
}

// plan has the format plan a scan: the leaf that stands for it, and its splits.
func (t *formatTable) plan(ctx context.Context, s *plan.IcebergScan) (plan.Node, planner.ScanFiles, error) {
	request := format.Scan{Leaf: s.Leaf, Columns: make([]int, len(s.Columns)), Filter: s.Filter}
	for i, c := range s.Columns {
		request.Columns[i] = int(c.FieldID) - 1
	}
	planned, err := t.Plan(ctx, request)
	if err != nil {
		return nil, nil, formatError(err)
	}
	if err := checkLeaf(planned.Leaf, s); err != nil {
		return nil, nil, err
	}
	out := formatScan{rows: t.Rows()}
	for i, split := range planned.Splits {
		message, err := anypb.New(split.Message)
		if err != nil {
			return nil, nil, fmt.Errorf("split %d: %w", i, err)
		}
		out.splits = append(out.splits, &seracv1.Split{Message: message, Rows: split.Rows, SizeBytes: split.Bytes})
		out.bytes += split.Bytes
		out.splitRows += split.Rows
	}
	return &plan.Extension{Impl: planned.Leaf}, out, nil
}

// checkLeaf holds a leaf against what was asked for: a wrong one would give wrong rows, or fail far from its cause.
func checkLeaf(leaf plan.ExtensionLeaf, s *plan.IcebergScan) error {
	if leaf == nil {
		return errors.New("the table format gave no leaf")
	}
	if leaf.LeafID() != s.Leaf {
		return fmt.Errorf("the table format gave leaf %d, and %d was asked for", leaf.LeafID(), s.Leaf)
	}
	got, want := leaf.Schema(nil), s.Schema()
	if len(got) != len(want) {
		return fmt.Errorf("the table format's leaf has %d columns, and %d were asked for", len(got), len(want))
	}
	for i := range want {
		if !got[i].Type.Equal(want[i].Type) {
			return fmt.Errorf("column %s of the table format's leaf has type %s, and %s was asked for", want[i].Name, got[i].Type, want[i].Type)
		}
	}
	return nil
}

// formatScan fits a format's splits to the planner.
type formatScan struct {
	splits                 []*seracv1.Split
	rows, splitRows, bytes int64
}

// Rows are those of the splits, or, where the splits do not say, of the table.
func (f formatScan) Rows() int64 {
	if f.splitRows > 0 || len(f.splits) == 0 {
		return f.splitRows
	}
	return max(f.rows, 0)
}

func (f formatScan) Bytes() int64 { return f.bytes }

// Groups keeps the splits' order. Splits without a size count as one byte.
func (f formatScan) Groups(target int64, minGroups int) [][]*seracv1.Split {
	var total int64
	for _, s := range f.splits {
		total += max(s.GetSizeBytes(), 1)
	}
	if minGroups > 1 {
		target = min(target, total/int64(minGroups))
	}
	groups := [][]*seracv1.Split{{}}
	var size int64
	for _, s := range f.splits {
		last := len(groups) - 1
		if bytes := max(s.GetSizeBytes(), 1); len(groups[last]) > 0 && size+bytes > target {
			groups, size = append(groups, []*seracv1.Split{s}), bytes
		} else {
			groups[last], size = append(groups[last], s), size+bytes
		}
	}
	return groups
}
