package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/sql"
)

// ddl runs in the background, so that a slow catalog holds nobody up and Cancel reaches it (rule 25).
func (st *statement) ddl(ctx context.Context) (engine.Execution, error) {
	return st.background(ctx, false, countSchema, func(ctx context.Context, _ *taskExecution) (rows, int64, error) {
		return nil, 0, catalogError(st.runDDL(ctx))
	}), nil
}

func (st *statement) runDDL(ctx context.Context) error {
	c := st.opts.Catalog
	switch p := st.parsed.(type) {
	case *sql.CreateSchema:
		name, err := st.ownSchema(p.Name)
		if err != nil {
			return err
		}
		return c.CreateNamespace(ctx, name, p.IfNotExists)
	case *sql.DropSchema:
		return st.dropSchema(ctx, p)
	case *sql.CreateTable:
		if p.OrReplace {
			return statementError("CREATE OR REPLACE TABLE is not supported: drop the table first")
		}
		columns, err := ddlColumns(p.Columns)
		if err != nil {
			return err
		}
		request, err := st.createRequest(p.Name, columns, p.TableOptions)
		if err != nil {
			return err
		}
		_, err = c.CreateTable(ctx, request)
		if p.IfNotExists && errors.Is(err, catalog.ErrTableExists) {
			return nil
		}
		return err
	case *sql.DropTable:
		t, err := st.table(ctx, p.Name)
		if p.IfExists && (errors.Is(err, catalog.ErrNoTable) || errors.Is(err, catalog.ErrNoNamespace)) {
			return nil
		}
		if err != nil {
			return err
		}
		return c.DropTable(ctx, joinSchema(t.Identifier()), t.Name(), p.Purge)
	}
	return fmt.Errorf("%T is no DDL", st.parsed)
}

func (st *statement) dropSchema(ctx context.Context, p *sql.DropSchema) error {
	c := st.opts.Catalog
	name, err := st.ownSchema(p.Name)
	if err != nil {
		return err
	}
	if p.Cascade {
		tables, err := c.Tables(ctx, name)
		if err != nil && !(p.IfExists && errors.Is(err, catalog.ErrNoNamespace)) {
			return err
		}
		for _, t := range tables {
			if err := c.DropTable(ctx, name, t, false); err != nil && !errors.Is(err, catalog.ErrNoTable) {
				return err
			}
		}
	}
	err = c.DropNamespace(ctx, name)
	if p.IfExists && errors.Is(err, catalog.ErrNoNamespace) {
		return nil
	}
	return err
}

// schemaName is the catalog and the schema that [catalog.]schema names.
func (st *statement) schemaName(name sql.Name) (catalogName, schema string, err error) {
	catalogName, _ = st.session.Namespace()
	switch len(name) {
	case 1:
	case 2:
		catalogName = name[0]
	default:
		return "", "", statementError("schema name %s: expected one or two parts", name)
	}
	c, err := st.formatCatalog(catalogName)
	switch {
	case err != nil:
		return "", "", err
	case c != nil:
		catalogName = c.Name
	default:
		catalogName = st.opts.Catalog.Name()
	}
	return catalogName, name[len(name)-1], nil
}

// ownSchema is the schema that a name stands for, which must be in the Iceberg catalog.
func (st *statement) ownSchema(name sql.Name) (string, error) {
	catalogName, schema, err := st.schemaName(name)
	if err != nil {
		return "", err
	}
	if c, _ := st.formatCatalog(catalogName); c != nil {
		return "", c.readOnly("schema " + name.String())
	}
	return schema, nil
}

// createRequest is what the catalog is asked for a new table.
func (st *statement) createRequest(name sql.Name, columns []iceberg.ColumnDef, o sql.TableOptions) (r catalog.CreateRequest, err error) {
	c, ns, table, err := st.qualify(name)
	if err != nil {
		return r, err
	}
	if c != nil {
		return r, c.readOnly("table " + name.String())
	}
	schema, err := iceberg.NewSchema(columns)
	if err != nil {
		return r, statementError("create table %s: %w", name, err)
	}
	var spec *ice.PartitionSpec
	if len(o.PartitionedBy) > 0 {
		terms := make([]iceberg.PartitionTerm, len(o.PartitionedBy))
		for i, t := range o.PartitionedBy {
			terms[i] = iceberg.PartitionTerm{Transform: t.Transform, Column: strings.Join(t.Column, ".")}
			if t.Param > 0 {
				terms[i].Transform = fmt.Sprintf("%s[%d]", t.Transform, t.Param)
			}
		}
		if spec, err = iceberg.NewPartitionSpec(schema, terms); err != nil {
			return r, statementError("create table %s: %w", name, err)
		}
	}
	properties := maps.Clone(o.Properties)
	if o.Comment != "" {
		if properties == nil {
			properties = map[string]string{}
		}
		properties["comment"] = o.Comment
	}
	return catalog.CreateRequest{
		Namespace: ns, Name: table, Schema: schema, PartitionSpec: spec, Properties: properties, Location: o.Location,
	}, nil
}

// ddlColumns are the columns of a CREATE TABLE in terms of the plan's types.
func ddlColumns(columns []sql.Column) ([]iceberg.ColumnDef, error) {
	defs := make([]iceberg.ColumnDef, len(columns))
	for i, c := range columns {
		if c.Default != "" {
			return nil, statementError("column %s: DEFAULT is not supported", c.Name)
		}
		t, err := plan.ParseType(c.TypeText)
		if err != nil {
			return nil, statementError("column %s: %w", c.Name, err)
		}
		stored, err := iceberg.IcebergType(t, func() int { return 0 })
		if err != nil {
			return nil, statementError("column %s: %w", c.Name, err)
		}
		defs[i] = iceberg.ColumnDef{Name: c.Name, Iceberg: refine(stored, c.Type), Nullable: !c.NotNull, Doc: c.Comment}
	}
	return defs, nil
}

// refine adds what the plan's types do not say: which nested fields are required, their comments, the length of fixed.
func refine(t ice.Type, declared sql.Type) ice.Type {
	switch t := t.(type) {
	case *ice.ListType:
		out := *t
		out.Element, out.ElementRequired = refine(t.Element, *declared.Elem), declared.ElemRequired
		return &out
	case *ice.MapType:
		out := *t
		out.KeyType, out.ValueType = refine(t.KeyType, *declared.Key), refine(t.ValueType, *declared.Elem)
		out.ValueRequired = declared.ElemRequired
		return &out
	case *ice.StructType:
		out := *t
		out.FieldList = slices.Clone(t.FieldList)
		for i, f := range declared.Fields {
			field := &out.FieldList[i]
			field.Type, field.Required, field.Doc = refine(field.Type, f.Type), f.NotNull, f.Comment
		}
		return &out
	}
	if declared.FixedLength > 0 {
		return ice.FixedTypeOf(declared.FixedLength)
	}
	return t
}
