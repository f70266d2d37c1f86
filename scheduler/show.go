package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/inspect"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/sql"
)

func textSchema(names ...string) *arrow.Schema {
	fields := make([]arrow.Field, len(names))
	for i, n := range names {
		fields[i] = arrow.Field{Name: n, Type: arrow.BinaryTypes.String, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

var (
	catalogsSchema  = textSchema("catalog_name")
	schemasSchema   = textSchema("schema_name")
	tablesSchema    = textSchema("table_name")
	allTablesSchema = textSchema("catalog_name", "schema_name", "table_name")
	describeSchema  = textSchema("column_name", "column_type", "null", "partition", "comment")
)

func (st *statement) showSchema() *arrow.Schema {
	switch p := st.parsed.(type) {
	case *sql.ShowCatalogs:
		return catalogsSchema
	case *sql.ShowSchemas:
		return schemasSchema
	case *sql.ShowTables:
		if p.All {
			return allTablesSchema
		}
		return tablesSchema
	default:
		return describeSchema
	}
}

// show answers SHOW and DESCRIBE from the catalog.
func (st *statement) show(ctx context.Context) (engine.Execution, error) {
	schema := st.showSchema()
	return st.background(ctx, true, schema, func(ctx context.Context, _ *taskExecution) (rows, int64, error) {
		table, err := st.showRows(ctx)
		if err != nil {
			return nil, 0, catalogError(err)
		}
		return textRows(schema, table), 0, nil
	}), nil
}

func (st *statement) showRows(ctx context.Context) ([][]*string, error) {
	sessionCatalog, sessionSchema := st.session.Namespace()
	switch p := st.parsed.(type) {
	case *sql.ShowCatalogs:
		names, err := st.Catalogs(ctx)
		return column(names, p.Like), err
	case *sql.ShowSchemas:
		name := p.Catalog
		if name == "" {
			name = sessionCatalog
		}
		names, err := st.Schemas(ctx, name)
		return column(names, p.Like), err
	case *sql.ShowTables:
		if p.All {
			return st.allTables(ctx, p.Like)
		}
		catalogName, schema := sessionCatalog, sessionSchema
		if len(p.Schema) > 0 {
			var err error
			if catalogName, schema, err = st.schemaName(p.Schema); err != nil {
				return nil, err
			}
		}
		names, err := st.Tables(ctx, catalogName, schema)
		return column(names, p.Like), err
	case *sql.Describe:
		return st.describe(ctx, p.Table)
	}
	return nil, fmt.Errorf("%T shows nothing", st.parsed)
}

func (st *statement) allTables(ctx context.Context, like *string) ([][]*string, error) {
	catalogs, err := st.Catalogs(ctx)
	if err != nil {
		return nil, err
	}
	var out [][]*string
	for _, name := range catalogs {
		schemas, err := st.Schemas(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, schema := range schemas {
			tables, err := st.Tables(ctx, name, schema)
			if err != nil {
				return nil, err
			}
			for _, row := range column(tables, like) {
				out = append(out, []*string{&name, &schema, row[0]})
			}
		}
	}
	return out, nil
}

func (st *statement) describe(ctx context.Context, name sql.Name) ([][]*string, error) {
	if c, schema, table, err := st.qualify(name); err == nil && c != nil {
		return st.describeFormat(ctx, c, schema, table)
	}
	found, err := st.readable(ctx, name)
	if err != nil {
		return nil, err
	}
	t := found.table
	if found.metadata != "" {
		return describeMetadata(t, found.metadata)
	}
	partitions := map[int32]string{}
	for _, f := range t.PartitionFields() {
		partitions[f.SourceID] = strings.TrimPrefix(partitions[f.SourceID]+", "+f.Transform, ", ")
	}
	out := make([][]*string, 0, len(t.Columns()))
	for _, c := range t.Columns() {
		row := describeColumn(c)
		if p, ok := partitions[c.FieldID]; ok {
			row[3] = &p
		}
		if f, ok := t.Schema().FindFieldByID(int(c.FieldID)); ok && f.Doc != "" {
			row[4] = &f.Doc
		}
		out = append(out, row)
	}
	return out, nil
}

// describeMetadata describes a metadata table of a table: it has neither partitions nor comments.
func describeMetadata(t *catalog.Table, kind string) ([][]*string, error) {
	columns, err := inspect.Columns(t.Iceberg(), kind)
	if err != nil {
		return nil, statementError("%v", err)
	}
	out := make([][]*string, len(columns))
	for i, c := range columns {
		out[i] = describeColumn(c)
	}
	return out, nil
}

// describeColumn is a column's row of DESCRIBE, without what only some tables know.
func describeColumn(c plan.ScanColumn) []*string {
	null := "YES"
	if !c.Nullable {
		null = "NO"
	}
	typeName := c.Type.SQL()
	return []*string{&c.Name, &typeName, &null, nil, nil}
}

// column makes one-column rows of the names that match a LIKE pattern.
func column(names []string, like *string) [][]*string {
	matches := func(string) bool { return true }
	if like != nil {
		matches = engine.Like(*like, 0, true)
	}
	names = slices.Clone(names)
	slices.Sort(names)
	out := make([][]*string, 0, len(names))
	for _, n := range names {
		if matches(n) {
			out = append(out, []*string{&n})
		}
	}
	return out
}

// change runs SET, RESET and USE, which change the session.
func (st *statement) change(ctx context.Context) (engine.Execution, error) {
	return st.background(ctx, false, countSchema, func(ctx context.Context, _ *taskExecution) (rows, int64, error) {
		return nil, 0, st.changeSession(ctx)
	}), nil
}

func (st *statement) changeSession(ctx context.Context) error {
	switch p := st.parsed.(type) {
	case *sql.Set:
		name, err := settingName(p.Name)
		if err != nil {
			return err
		}
		if _, _, err := st.optionsOf(map[string]string{name: p.Value}); err != nil {
			return err
		}
		if _, own := querySettings[name]; !own {
			// DuckDB judges its own settings: a trivial query is bound under the new value.
			if _, err := st.opts.Binder.Bind(ctx, bind.Request{
				SQL: "SELECT 1", Catalog: st.opts.Catalog.Name(), Schema: DefaultSchema, Settings: map[string]string{name: p.Value},
			}); err != nil {
				return bindError(err)
			}
		}
		st.session.Set(name, p.Value)
	case *sql.Reset:
		name, err := settingName(p.Name)
		if err != nil {
			return err
		}
		st.session.Set(name, "")
	case *sql.Use:
		return st.use(ctx, p.Name)
	}
	return nil
}

// use changes the schema; USE of a catalog's name alone goes to its default schema, or to the only one that it has.
func (st *statement) use(ctx context.Context, name sql.Name) error {
	catalogName, schema, err := st.schemaName(name)
	if err != nil {
		return err
	}
	schemas, err := st.Schemas(ctx, catalogName)
	if err != nil {
		return err
	}
	if found, ok := onlyFold(schemas, schema); ok {
		st.session.Use(catalogName, found)
		return nil
	}
	if len(name) > 1 {
		return statementError("schema %s does not exist", name)
	}
	c, err := st.formatCatalog(name[0])
	switch {
	case err != nil:
		return statementError("schema %s does not exist", name)
	case c == nil:
		st.session.Use(st.opts.Catalog.Name(), DefaultSchema)
		return nil
	}
	if schemas, err = c.Schemas(ctx); err != nil {
		return formatError(err)
	}
	schema = DefaultSchema
	if len(schemas) == 1 {
		schema = schemas[0]
	}
	st.session.Use(c.Name, schema)
	return nil
}
