package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/seracdb/serac/iceberg/write"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

// EngineOptions say how the shared DuckDB is opened.
type EngineOptions struct {
	Threads     int
	MemoryLimit int64    // bytes, DuckDB's memory_limit
	TempDir     string   // its spill files go into a directory of their own in here
	MaxTemp     int64    // bytes of spill files; 0: DuckDB's default
	AllowedDirs []string // what DuckDB may read and write
	Logger      *slog.Logger
}

// maxOpenPartitions is the number of partitions that a partitioned COPY keeps one open file for; with more, a partition
// would have several files.
const maxOpenPartitions = 4096

// Engine is the DuckDB that all tasks of an executor share. After a fault of DuckDB's own it is replaced by a new one, for
// the old one refuses all further statements. It is safe for concurrent use.
type Engine struct {
	o       EngineOptions
	filters *filters

	mu         sync.Mutex
	db         *duckdb.DB
	generation int
	retired    []*duckdb.DB
	closed     bool
}

var errEngineClosed = errors.New("the executor's DuckDB is closed")

// OpenEngine opens DuckDB. Close it.
func OpenEngine(ctx context.Context, o EngineOptions) (*Engine, error) {
	e := &Engine{o: o, filters: newFilters()}
	var err error
	e.db, err = e.open(ctx)
	return e, err
}

func (e *Engine) open(ctx context.Context) (*duckdb.DB, error) {
	e.generation++
	return duckdb.Open(ctx, duckdb.Options{
		Threads:      e.o.Threads,
		MemoryLimit:  e.o.MemoryLimit,
		TempDir:      filepath.Join(e.o.TempDir, fmt.Sprint(e.generation)),
		MaxTempBytes: e.o.MaxTemp,
		AllowedDirs:  e.o.AllowedDirs,
		Sandbox:      true,
		Settable:     duckdb.SessionSettings,
		Settings:     map[string]string{"partitioned_write_max_open_files": fmt.Sprint(maxOpenPartitions)},
		Register:     append(write.Functions(), e.filters.function()),
	})
}

// Conn opens a connection with a statement's settings on it. The caller closes it.
func (e *Engine) Conn(ctx context.Context, settings map[string]string) (*duckdb.Conn, error) {
	db, err := e.current(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	for name, value := range settings {
		if !slices.Contains(duckdb.SessionSettings, strings.ToLower(name)) {
			return nil, errors.Join(fmt.Errorf("setting %q cannot be set for a task", name), conn.Close())
		}
		if err := conn.Exec(ctx, "SET SESSION "+name+" = "+plan.QuoteString(value)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

func (e *Engine) current(ctx context.Context) (*duckdb.DB, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errEngineClosed
	}
	if e.db == nil {
		db, err := e.open(ctx)
		if err != nil {
			return nil, err
		}
		e.db = db
	}
	return e.db, nil
}

// Observe looks at an error of a task: after a fault of DuckDB itself the next task gets a new one.
func (e *Engine) Observe(err error) {
	if !duckdb.IsInternal(err) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.db == nil || e.closed {
		return
	}
	e.o.Logger.Error("DuckDB failed and is replaced", "error", err)
	// Its memory goes with its last connection.
	if closeErr := e.db.Close(); closeErr != nil {
		e.o.Logger.Error("close DuckDB", "error", closeErr)
	}
	e.retired = append(e.retired, e.db)
	e.db = nil
}

// OpenConns is the number of open connections; tests look for leaks with it.
func (e *Engine) OpenConns() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, db := range e.retired {
		n += db.OpenConns()
	}
	if e.db != nil {
		n += e.db.OpenConns()
	}
	return n
}

// Close closes DuckDB. No task may be running.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	if e.db == nil {
		return nil
	}
	return e.db.Close()
}
