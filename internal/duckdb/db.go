package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// DB is an in-memory DuckDB database. It is safe for concurrent use; each statement runs on a Conn of its own.
type DB struct {
	handle bindings.Database
	conns  atomic.Int64
	mu     sync.Mutex // guards closed
	closed bool
	types  typeResolver
}

// Open opens a new in-memory database. Close it.
func Open(ctx context.Context, o Options) (*DB, error) {
	statements, err := o.statements()
	if err != nil {
		return nil, err
	}
	if o.TempDir != "" {
		if err := os.MkdirAll(o.TempDir, 0o700); err != nil {
			return nil, fmt.Errorf("make duckdb's temporary directory: %w", err)
		}
	}
	var config bindings.Config
	if bindings.CreateConfig(&config) == bindings.StateError {
		return nil, errors.New("open duckdb: cannot create its configuration")
	}
	defer bindings.DestroyConfig(&config)
	if bindings.SetConfig(config, "duckdb_api", "serac") == bindings.StateError {
		return nil, errors.New("open duckdb: cannot set duckdb_api")
	}
	db := &DB{}
	var message string
	if bindings.OpenExt("", &db.handle, config, &message) == bindings.StateError {
		bindings.Close(&db.handle)
		return nil, fmt.Errorf("open duckdb: %s", tidy(message))
	}
	if err := db.setUp(ctx, o, statements); err != nil {
		return nil, errors.Join(fmt.Errorf("open duckdb: %w", err), db.Close())
	}
	return db, nil
}

func (db *DB) setUp(ctx context.Context, o Options, statements []string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Types of registered functions are resolved before the sandbox closes; they need nothing that it closes, but a
	// failure then is plainly the function's.
	if err := db.registerScalars(ctx, conn, append([]ScalarFunction{average()}, o.Register...)); err != nil {
		return err
	}
	for _, statement := range statements {
		if err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Conn opens a new connection. The caller closes it.
func (db *DB) Conn(ctx context.Context) (*Conn, error) {
	if ctx.Err() != nil {
		return nil, interrupted(context.Cause(ctx))
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, errors.New("duckdb: the database is closed")
	}
	c := &Conn{db: db}
	if bindings.Connect(db.handle, &c.handle) == bindings.StateError {
		bindings.Disconnect(&c.handle)
		return nil, errors.New("duckdb: cannot connect")
	}
	db.conns.Add(1)
	return c, nil
}

// OpenConns is the number of connections that have been opened and not closed; tests look for leaks with it.
func (db *DB) OpenConns() int { return int(db.conns.Load()) }

// Close closes the database. Its memory goes when its last connection is closed; running statements end first.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	db.types.close()
	bindings.Close(&db.handle)
	return nil
}
