package duckdb

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Conn is one connection. It runs one statement at a time: a call waits for the call before it, and while a Stream is
// open every other call fails (a second statement would cut the stream short without an error).
// A context that ends during a call interrupts DuckDB at once; the call then returns an Error of kind Interrupted.
type Conn struct {
	db     *DB
	handle bindings.Connection

	mu     sync.Mutex // held for the length of each call
	stream *Stream    // the open stream
	closed bool
}

var (
	errConnClosed = errors.New("duckdb: the connection is closed")
	errStreaming  = errors.New("duckdb: the connection still streams a result")
)

// lock waits for the running call and checks that the connection can take another.
func (c *Conn) lock() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errConnClosed
	}
	if c.stream != nil {
		c.mu.Unlock()
		return errStreaming
	}
	return nil
}

// Close closes the connection and its stream, if one is open. Closing twice does nothing.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	if c.stream != nil {
		c.stream.release()
	}
	c.closed = true
	bindings.Disconnect(&c.handle)
	c.db.conns.Add(-1)
	return nil
}

// Exec runs one or more statements and drops their results.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	if err := c.lock(); err != nil {
		return err
	}
	defer c.mu.Unlock()
	var result bindings.Result
	var state bindings.State
	if err := interruptible(ctx, c.handle, func() { state = bindings.Query(c.handle, sql, &result) }); err != nil {
		return err
	}
	defer bindings.DestroyResult(&result)
	if state == bindings.StateError {
		return newError(ctx, bindings.ResultErrorType(&result), bindings.ResultError(&result))
	}
	return nil
}

// Text runs one statement whose result is one row with one VARCHAR, and returns it ("" for NULL).
func (c *Conn) Text(ctx context.Context, sql string) (string, error) {
	rows, err := c.Rows(ctx, sql)
	if err != nil {
		return "", err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return "", fmt.Errorf("duckdb: a single value was expected, got %d rows", len(rows))
	}
	switch v := rows[0][0].(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		return "", fmt.Errorf("duckdb: a VARCHAR was expected, got %T", v)
	}
}

// Rows runs one statement and returns all its rows as Go values; see Value for how. It is for small results.
func (c *Conn) Rows(ctx context.Context, sql string) ([][]any, error) {
	stream, err := c.Run(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return stream.rows()
}

// Glob is the files that a pattern of DuckDB's matches, as far as the connection may look: the first limit of them.
func (c *Conn) Glob(ctx context.Context, pattern string, limit int) ([]string, error) {
	rows, err := c.Rows(ctx, fmt.Sprintf("SELECT file FROM glob(%s) LIMIT %d", quote(pattern), limit))
	if err != nil {
		return nil, err
	}
	files := make([]string, len(rows))
	for i, row := range rows {
		files[i], _ = row[0].(string)
	}
	return files, nil
}

// Column is a column of a statement's result.
type Column struct {
	Name string
	Type string // as DuckDB reads it in a CAST
}

// Describe binds one statement, without running it, and returns its result columns: their names, their types as DuckDB
// reads them in a CAST, and the Arrow schema that Stream would have.
func (c *Conn) Describe(ctx context.Context, sql string) (names, types []string, schema *arrow.Schema, err error) {
	if err := c.lock(); err != nil {
		return nil, nil, nil, err
	}
	defer c.mu.Unlock()
	prepared, err := c.prepare(ctx, sql)
	if err != nil {
		return nil, nil, nil, err
	}
	defer bindings.DestroyPrepare(&prepared)
	n := bindings.PreparedStatementColumnCount(prepared)
	logical := make([]bindings.LogicalType, n)
	defer func() { destroyTypes(logical) }()
	for i := range n {
		names = append(names, bindings.PreparedStatementColumnName(prepared, i))
		logical[i] = bindings.PreparedStatementColumnLogicalType(prepared, i)
		types = append(types, typeText(logical[i]))
	}
	schema, err = c.arrowSchema(logical, names)
	if err != nil {
		return nil, nil, nil, err
	}
	return names, types, schema, nil
}

// prepare prepares one statement. The connection must be locked.
func (c *Conn) prepare(ctx context.Context, sql string) (bindings.PreparedStatement, error) {
	var prepared bindings.PreparedStatement
	var state bindings.State
	if err := interruptible(ctx, c.handle, func() { state = bindings.Prepare(c.handle, sql, &prepared) }); err != nil {
		return prepared, err
	}
	if state == bindings.StateError {
		err := newError(ctx, bindings.ErrorTypeInvalid, bindings.PrepareError(prepared))
		bindings.DestroyPrepare(&prepared)
		return prepared, err
	}
	return prepared, nil
}
