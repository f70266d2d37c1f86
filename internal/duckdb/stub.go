package duckdb

import (
	"context"
	"errors"
	"fmt"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// StubColumn is a column of a stub table.
type StubColumn struct {
	Name string
	Type string // as DuckDB reads it in a CAST
}

// StubResolver says what stands behind a key: the table's columns and the number of rows that join ordering should
// assume. It is called while a statement is bound, from any goroutine; its error is the statement's.
type StubResolver func(key string) (columns []StubColumn, cardinality uint64, err error)

type stubScan struct {
	db      *DB
	name    string
	resolve StubResolver
}

// RegisterStubScan registers a table function of one VARCHAR argument, the key of a table. Statements over it can be
// bound, optimised and serialised, with projections pushed into it; running one is an error. A view over it,
// CREATE VIEW c.ns.t AS SELECT * FROM iceberg_scan('c.ns.t'), stands for the table.
func (db *DB) RegisterStubScan(name string, resolve StubResolver) error {
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	key, err := db.types.resolve(context.Background(), db, "VARCHAR")
	if err != nil {
		return err
	}
	f := bindings.CreateTableFunction()
	defer bindings.DestroyTableFunction(&f)
	bindings.TableFunctionSetName(f, name)
	bindings.TableFunctionAddParameter(f, key)
	bind, init, scan := stubCallbacks()
	bindings.TableFunctionSetBind(f, bind)
	bindings.TableFunctionSetInit(f, init)
	bindings.TableFunctionSetFunction(f, scan)
	bindings.TableFunctionSupportsProjectionPushdown(f, true)
	bindings.TableFunctionSetExtraInfo(f, newExtra(&stubScan{db: db, name: name, resolve: resolve}), releaseExtra())
	if bindings.RegisterTableFunction(conn.handle, f) == bindings.StateError {
		return fmt.Errorf("register stub table function %q: duckdb refused it", name)
	}
	return nil
}

func (s *stubScan) bind(info bindings.BindInfo) error {
	argument := bindings.BindGetParameter(info, 0)
	defer bindings.DestroyValue(&argument)
	if bindings.IsNullValue(argument) {
		return errors.New(s.name + ": the key is NULL")
	}
	key := bindings.GetVarchar(argument)
	columns, cardinality, err := s.resolve(key)
	if err != nil {
		return err
	}
	if len(columns) == 0 {
		return fmt.Errorf("%s: table %q has no columns", s.name, key)
	}
	for _, column := range columns {
		t, err := s.db.types.resolve(context.Background(), s.db, column.Type)
		if err != nil {
			return fmt.Errorf("column %q of %q: %w", column.Name, key, err)
		}
		bindings.BindAddResultColumn(info, column.Name, t)
	}
	// Never exact: an exact 0 would let the optimiser drop the table from the plan.
	bindings.BindSetCardinality(info, bindings.IdxT(cardinality), false)
	return nil
}
