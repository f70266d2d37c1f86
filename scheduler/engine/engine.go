// Package engine is what a front door (Flight SQL today) may ask of the scheduler: sessions, prepared statements and
// executions. Front doors know no plans, no executors and no catalogs.
package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// Engine runs statements for sessions. It is safe for concurrent use.
type Engine interface {
	// NewSession opens a session with the configured defaults. user is for logs and current_user.
	NewSession(user string) *Session
	// Prepare parses and binds a statement without executing anything of it.
	Prepare(ctx context.Context, s *Session, sql string) (*Prepared, error)
	// Execute starts a statement and returns as soon as its result schema is known; it goes on until it ends, its
	// context is done, or Cancel. params replace ? and $n in order; a nil slice means no parameters. The context bounds
	// the whole execution, not only this call.
	Execute(ctx context.Context, s *Session, sql string, params []any) (Execution, error)
	// SubstraitSQL is a serialised Substrait plan as the text of a query, to be prepared and executed like any other; the
	// plan's dynamic parameters are the text's parameters.
	SubstraitSQL(plan []byte) (string, error)
	// Catalogs, Schemas and Tables serve the metadata calls of clients.
	Catalogs(ctx context.Context) ([]string, error)
	Schemas(ctx context.Context, catalog string) ([]string, error)
	Tables(ctx context.Context, catalog, schema string) ([]string, error)
	// TableSchema is the Arrow schema of a table, nullability included.
	TableSchema(ctx context.Context, catalog, schema, table string) (*arrow.Schema, error)
}

// Prepared is what is known of a statement before it runs.
type Prepared struct {
	// IsQuery: the statement returns rows (SELECT, SHOW, DESCRIBE, EXPLAIN ...). Otherwise it is an update and its one
	// result is the number of rows changed.
	IsQuery bool
	// Schema is the result's schema. For an update it is the one column Count BIGINT.
	Schema *arrow.Schema
	// Params is the number of parameters.
	Params int
	// ParamTypes are the parameters' types as far as they are known: nil, or one entry a parameter, nil where unknown.
	ParamTypes []arrow.DataType
}

// State is where an execution stands.
type State string

// The states of an execution.
const (
	Planning  State = "planning"
	Queued    State = "queued" // planned, and waiting for its turn to execute
	Running   State = "running"
	Finished  State = "finished"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Execution is a statement on its way. Close it always; closing before the end cancels it.
type Execution interface {
	// ID names the statement: it is the handle that CancelQuery, PollFlightInfo and logs use.
	ID() string
	IsQuery() bool
	// Schema is the schema of every batch that Next returns.
	Schema() *arrow.Schema
	// Next returns the next batch, which the caller releases, or io.EOF after the last one, or the statement's error. A
	// slow caller slows the executors down. Only one goroutine may call it.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// RowsAffected waits for an update to end and returns its row count; 0 for DDL.
	RowsAffected(ctx context.Context) (int64, error)
	// Progress never blocks.
	Progress() Progress
	// Cancel stops the statement everywhere; it returns at once.
	Cancel()
	// Close releases everything. It waits for nothing but local clean-up.
	Close()
}

// Progress counts what has been done so far.
type Progress struct {
	State                  State
	Stages, StagesDone     int
	Tasks, TasksDone       int
	TasksRunning, Retries  int
	Rows, Bytes            int64 // read from tables so far
	ShuffledRows, Shuffled int64 // written to shuffle so far: rows, bytes
}

// Session is the state that SET and USE change. Its methods are safe for concurrent use.
type Session struct {
	ID   string
	User string

	state sessionState
}
