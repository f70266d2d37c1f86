package flightsql

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	"golang.org/x/sync/errgroup"

	"github.com/seracdb/serac/scheduler/engine"
)

// tableType is the only type of table there is.
const tableType = "TABLE"

// metadataInfo answers GetFlightInfo for a metadata command: the command itself is the ticket.
func metadataInfo(schema *arrow.Schema, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return &flight.FlightInfo{
		Schema:           flight.SerializeSchema(schema, alloc),
		FlightDescriptor: desc,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: desc.GetCmd()}}},
		TotalRecords:     -1,
		TotalBytes:       -1,
	}, nil
}

// texts streams rows of text under a schema whose columns are all text.
func texts(ctx context.Context, schema *arrow.Schema, rows [][]string) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(alloc, schema)
	defer b.Release()
	for _, row := range rows {
		for i, text := range row {
			b.Field(i).(*array.StringBuilder).Append(text)
		}
	}
	return streamOf(ctx, b.NewRecordBatch())
}

// GetFlightInfoCatalogs describes the list of catalogs.
func (f *frontDoor) GetFlightInfoCatalogs(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.Catalogs, desc)
}

// DoGetCatalogs lists the catalogs, sorted.
func (f *frontDoor) DoGetCatalogs(ctx context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	names, err := f.catalogs(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	rows := make([][]string, len(names))
	for i, name := range names {
		rows[i] = []string{name}
	}
	return texts(ctx, schema_ref.Catalogs, rows)
}

// catalogs are those that a filter lets through. No filter (nil) is every catalog; the empty one is what is in no
// catalog, which is nothing.
func (f *frontDoor) catalogs(ctx context.Context, filter *string) ([]string, error) {
	all, err := f.s.engine.Catalogs(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return filter != nil && name != *filter })
	slices.Sort(all)
	return all, nil
}

// like matches names against a pattern of Flight SQL and JDBC. No pattern (nil) matches every name.
func like(pattern *string) func(name string) bool {
	if pattern == nil {
		return func(string) bool { return true }
	}
	return engine.Like(*pattern, '\\', false)
}

// schemas are the sorted [catalog, schema] pairs that the filters let through.
func (f *frontDoor) schemas(ctx context.Context, catalog, pattern *string) ([][]string, error) {
	catalogs, err := f.catalogs(ctx, catalog)
	if err != nil {
		return nil, err
	}
	matches := like(pattern)
	var rows [][]string
	for _, c := range catalogs {
		names, err := f.s.engine.Schemas(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(slices.Values(names)) {
			if matches(name) {
				rows = append(rows, []string{c, name})
			}
		}
	}
	return rows, nil
}

// GetFlightInfoSchemas describes the list of schemas.
func (f *frontDoor) GetFlightInfoSchemas(_ context.Context, _ flightsql.GetDBSchemas, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.DBSchemas, desc)
}

// DoGetDBSchemas lists the schemas, sorted by catalog and name.
func (f *frontDoor) DoGetDBSchemas(ctx context.Context, cmd flightsql.GetDBSchemas) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	rows, err := f.schemas(ctx, cmd.GetCatalog(), cmd.GetDBSchemaFilterPattern())
	if err != nil {
		return nil, nil, err
	}
	return texts(ctx, schema_ref.DBSchemas, rows)
}

// GetFlightInfoTables describes the list of tables.
func (f *frontDoor) GetFlightInfoTables(_ context.Context, cmd flightsql.GetTables, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if cmd.GetIncludeSchema() {
		return metadataInfo(schema_ref.TablesWithIncludedSchema, desc)
	}
	return metadataInfo(schema_ref.Tables, desc)
}

// DoGetTables lists the tables, sorted by catalog, schema and name.
func (f *frontDoor) DoGetTables(ctx context.Context, cmd flightsql.GetTables) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	rows, err := f.tables(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	if !cmd.GetIncludeSchema() {
		return texts(ctx, schema_ref.Tables, rows)
	}
	schemas := f.tableSchemas(ctx, rows)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	b := array.NewRecordBuilder(alloc, schema_ref.TablesWithIncludedSchema)
	defer b.Release()
	for i, row := range rows {
		for j, text := range row {
			b.Field(j).(*array.StringBuilder).Append(text)
		}
		b.Field(4).(*array.BinaryBuilder).Append(flight.SerializeSchema(schemas[i], alloc))
	}
	return streamOf(ctx, b.NewRecordBatch())
}

func (f *frontDoor) tables(ctx context.Context, cmd flightsql.GetTables) ([][]string, error) {
	if types := cmd.GetTableTypes(); len(types) > 0 && !slices.Contains(types, tableType) {
		return nil, nil
	}
	schemas, err := f.schemas(ctx, cmd.GetCatalog(), cmd.GetDBSchemaFilterPattern())
	if err != nil {
		return nil, err
	}
	matches := like(cmd.GetTableNameFilterPattern())
	var rows [][]string
	for _, s := range schemas {
		names, err := f.s.engine.Tables(ctx, s[0], s[1])
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(slices.Values(names)) {
			if matches(name) {
				rows = append(rows, []string{s[0], s[1], name, tableType})
			}
		}
	}
	return rows, nil
}

// tableSchemas loads the tables' schemas, several at a time. A table that cannot be loaded (it has just been dropped, or
// its metadata is broken) has no columns: one such table must not hide all others from a client.
func (f *frontDoor) tableSchemas(ctx context.Context, rows [][]string) []*arrow.Schema {
	schemas := make([]*arrow.Schema, len(rows))
	var g errgroup.Group
	g.SetLimit(8)
	for i, row := range rows {
		g.Go(func() error {
			schema, err := f.s.engine.TableSchema(ctx, row[0], row[1], row[2])
			if err != nil {
				f.s.o.Logger.Warn("flight sql: schema of a table cannot be read", "table", row[:3], "error", err)
				schema = arrow.NewSchema(nil, nil)
			}
			schemas[i] = schema
			return nil
		})
	}
	_ = g.Wait()
	return schemas
}

// GetFlightInfoTableTypes describes the list of table types.
func (f *frontDoor) GetFlightInfoTableTypes(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.TableTypes, desc)
}

// DoGetTableTypes lists the table types.
func (f *frontDoor) DoGetTableTypes(ctx context.Context) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return texts(ctx, schema_ref.TableTypes, [][]string{{tableType}})
}

// Iceberg tables have no keys: what asks for them gets no rows.

func noRows(ctx context.Context, schema *arrow.Schema) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(alloc, schema)
	defer b.Release()
	return streamOf(ctx, b.NewRecordBatch())
}

// GetFlightInfoPrimaryKeys describes no keys.
func (f *frontDoor) GetFlightInfoPrimaryKeys(_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.PrimaryKeys, desc)
}

// DoGetPrimaryKeys returns no keys.
func (f *frontDoor) DoGetPrimaryKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(ctx, schema_ref.PrimaryKeys)
}

// GetFlightInfoExportedKeys describes no keys.
func (f *frontDoor) GetFlightInfoExportedKeys(_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.ExportedKeys, desc)
}

// DoGetExportedKeys returns no keys.
func (f *frontDoor) DoGetExportedKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(ctx, schema_ref.ExportedKeys)
}

// GetFlightInfoImportedKeys describes no keys.
func (f *frontDoor) GetFlightInfoImportedKeys(_ context.Context, _ flightsql.TableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.ImportedKeys, desc)
}

// DoGetImportedKeys returns no keys.
func (f *frontDoor) DoGetImportedKeys(ctx context.Context, _ flightsql.TableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(ctx, schema_ref.ImportedKeys)
}

// GetFlightInfoCrossReference describes no keys.
func (f *frontDoor) GetFlightInfoCrossReference(_ context.Context, _ flightsql.CrossTableRef, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.CrossReference, desc)
}

// DoGetCrossReference returns no keys.
func (f *frontDoor) DoGetCrossReference(ctx context.Context, _ flightsql.CrossTableRef) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	return noRows(ctx, schema_ref.CrossReference)
}
