package flightsql_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	adbcflightsql "github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-adbc/go/adbc/validation"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/stretchr/testify/suite"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/scheduler"
	"github.com/seracdb/serac/server"
)

// The validation suite of ADBC's drivers, over ADBC's Flight SQL driver, against the whole system.

// adbcQuirks tells the suite what Serac can do.
type adbcQuirks struct {
	url  string
	mem  *memory.CheckedAllocator
	stop func()
}

func (q *adbcQuirks) SetupDriver(t *testing.T) adbc.Driver {
	cfg := config.Default()
	cfg.Scheduler.FlightSQLPort = 0
	both, err := server.NewBoth(context.Background(), cfg, server.Options{
		DataDir: t.TempDir(), Version: "1.2.3", Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- both.Serve(ctx) }()
	q.stop = func() {
		cancel()
		require.NoError(t, <-served)
	}
	q.url = "grpc+tcp://" + both.FlightSQLAddress()
	q.mem = memory.NewCheckedAllocator(memory.DefaultAllocator)
	return adbcflightsql.NewDriver(q.mem)
}

func (q *adbcQuirks) TearDownDriver(t *testing.T, _ adbc.Driver) {
	q.stop()
	q.mem.AssertSize(t, 0)
}

func (q *adbcQuirks) DatabaseOptions() map[string]string {
	return map[string]string{adbc.OptionKeyURI: q.url}
}

func (q *adbcQuirks) CreateSampleTable(name string, r arrow.RecordBatch) error {
	types := map[arrow.Type]string{arrow.INT64: "BIGINT", arrow.STRING: "VARCHAR"}
	columns := make([]string, r.NumCols())
	for i, f := range r.Schema().Fields() {
		columns[i] = f.Name + " " + types[f.Type.ID()]
	}
	if err := q.update("CREATE TABLE " + name + " (" + strings.Join(columns, ", ") + ")"); err != nil {
		return err
	}
	rows := make([]string, r.NumRows())
	for i := range rows {
		values := make([]string, r.NumCols())
		for j, column := range r.Columns() {
			switch {
			case column.IsNull(i):
				values[j] = "NULL"
			case column.DataType().ID() == arrow.STRING:
				values[j] = "'" + column.(*array.String).Value(i) + "'"
			default:
				values[j] = column.ValueStr(i)
			}
		}
		rows[i] = "(" + strings.Join(values, ", ") + ")"
	}
	return q.update("INSERT INTO " + name + " VALUES " + strings.Join(rows, ", "))
}

func (q *adbcQuirks) update(text string) error {
	db, err := adbcflightsql.NewDriver(memory.DefaultAllocator).NewDatabase(q.DatabaseOptions())
	if err != nil {
		return err
	}
	conn, err := db.Open(context.Background())
	if err != nil {
		return err
	}
	return errors.Join(update(conn, text), conn.Close(), db.Close())
}

func update(conn adbc.Connection, text string) error {
	stmt, err := conn.NewStatement()
	if err != nil {
		return err
	}
	if err := stmt.SetSqlQuery(text); err != nil {
		return err
	}
	_, err = stmt.ExecuteUpdate(context.Background())
	return errors.Join(err, stmt.Close())
}

func (q *adbcQuirks) DropTable(conn adbc.Connection, name string) error {
	return update(conn, "DROP TABLE IF EXISTS "+name)
}

func (q *adbcQuirks) Alloc() memory.Allocator            { return q.mem }
func (q *adbcQuirks) Catalog() string                    { return "serac" }
func (q *adbcQuirks) DBSchema() string                   { return scheduler.DefaultSchema }
func (q *adbcQuirks) BindParameter(i int) string         { return fmt.Sprintf("$%d", i+1) }
func (q *adbcQuirks) SupportsBulkIngest(string) bool     { return false }
func (q *adbcQuirks) SupportsConcurrentStatements() bool { return true }
func (q *adbcQuirks) SupportsCurrentCatalogSchema() bool { return true }

func (q *adbcQuirks) SupportsErrorIngestIncompatibleSchema() bool { return false }
func (q *adbcQuirks) SupportsExecuteSchema() bool                 { return true }
func (q *adbcQuirks) SupportsGetSetOptions() bool                 { return true }
func (q *adbcQuirks) SupportsPartitionedData() bool               { return true }
func (q *adbcQuirks) SupportsStatistics() bool                    { return false }
func (q *adbcQuirks) SupportsTransactions() bool                  { return false }

// The suite asks for the parameters of SELECT $1, $2, whose types nobody knows; see TestPreparedParameterTypes for others.
func (q *adbcQuirks) SupportsGetParameterSchema() bool      { return false }
func (q *adbcQuirks) SupportsDynamicParameterBinding() bool { return true }

func (q *adbcQuirks) GetMetadata(code adbc.InfoCode) any {
	switch code {
	case adbc.InfoDriverName:
		return "ADBC Flight SQL Driver - Go"
	case adbc.InfoDriverVersion, adbc.InfoDriverArrowVersion:
		return "(unknown or development build)"
	case adbc.InfoDriverADBCVersion:
		return adbc.AdbcVersion1_1_0
	case adbc.InfoVendorName:
		return "Serac"
	case adbc.InfoVendorVersion:
		return "1.2.3"
	case adbc.InfoVendorArrowVersion:
		return arrow.PkgVersion
	}
	return nil
}

func (q *adbcQuirks) SampleTableSchemaMetadata(string, arrow.DataType) arrow.Metadata {
	return arrow.Metadata{}
}

func TestADBC(t *testing.T) {
	q := &adbcQuirks{}
	suite.Run(t, &validation.DatabaseTests{Quirks: q})
	suite.Run(t, &validation.ConnectionTests{Quirks: q})
	suite.Run(t, &validation.StatementTests{Quirks: q})
}

// TestPreparedParameterTypes: what is prepared says which types its parameters have, where the statement does.
func TestPreparedParameterTypes(t *testing.T) {
	q := &adbcQuirks{}
	driver := q.SetupDriver(t)
	defer q.stop()
	db, err := driver.NewDatabase(q.DatabaseOptions())
	require.NoError(t, err)
	conn, err := db.Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, update(conn, "CREATE TABLE params (i INTEGER, d DECIMAL(10,2), day DATE)"))
	decimal := &arrow.Decimal128Type{Precision: 10, Scale: 2}
	for text, want := range map[string][]arrow.DataType{
		"SELECT * FROM params WHERE d < $2 AND i = $1":            {arrow.PrimitiveTypes.Int64, decimal},
		"SELECT i FROM params WHERE day > ? LIMIT ?":              {arrow.FixedWidthTypes.Date32, arrow.PrimitiveTypes.Int64},
		"INSERT INTO params VALUES (?, ?, ?)":                     {arrow.PrimitiveTypes.Int64, decimal, arrow.FixedWidthTypes.Date32},
		"INSERT INTO params (day, i) VALUES ($2, $1)":             {arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Date32},
		"CREATE TABLE other AS SELECT i FROM params WHERE i < $1": {arrow.PrimitiveTypes.Int64},
		"SELECT 1": {},
	} {
		stmt, err := conn.NewStatement()
		require.NoError(t, err)
		require.NoError(t, stmt.SetSqlQuery(text))
		require.NoError(t, stmt.Prepare(t.Context()), text)
		schema, err := stmt.GetParameterSchema()
		require.NoError(t, err, text)
		got := []arrow.DataType{}
		for _, f := range schema.Fields() {
			got = append(got, f.Type)
		}
		require.Equal(t, want, got, text)
		require.NoError(t, stmt.Close())
	}
	require.NoError(t, conn.Close())
	require.NoError(t, db.Close())
}
