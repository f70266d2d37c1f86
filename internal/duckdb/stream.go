package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// DuckDB makes chunks of 2,048 rows; a batch of Next gathers chunks up to these sizes.
const (
	batchRows  = 64 << 10
	batchBytes = 1 << 20
)

// Stream is a statement's result while the statement runs: DuckDB computes ahead by about a megabyte
// (streaming_buffer_size) and waits then for Next. It holds its Conn; one goroutine at a time may use it.
type Stream struct {
	conn     *Conn
	ctx      context.Context
	prepared bindings.PreparedStatement
	result   bindings.Result
	options  bindings.ArrowOptions
	schema   *arrow.Schema
	columns  []Column
	err      error // what Next returns from now on; io.EOF at the end
	released bool
}

// Stream runs one statement and streams its result. ctx governs the whole stream, Next included. Close the Stream. DuckDB plans a
// statement that reads files twice for it: before, and when it starts.
func (c *Conn) Stream(ctx context.Context, sql string) (*Stream, error) {
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	prepared, err := c.prepare(ctx, sql)
	if err != nil {
		return nil, err
	}
	s := &Stream{conn: c, ctx: ctx, prepared: prepared}
	if err := s.start(); err != nil {
		s.release()
		return nil, err
	}
	c.stream = s
	return s, nil
}

// Run is Stream for a result of few rows: the statement is planned once, and has run when Run returns, with all its rows in
// memory. Of several statements in one text it runs all and gives the last one's rows; Stream refuses them.
func (c *Conn) Run(ctx context.Context, sql string) (*Stream, error) {
	if err := c.lock(); err != nil {
		return nil, err
	}
	defer c.mu.Unlock()
	s := &Stream{conn: c, ctx: ctx}
	var state bindings.State
	err := interruptible(ctx, c.handle, func() { state = bindings.Query(c.handle, sql, &s.result) })
	if err == nil && state == bindings.StateError {
		err = s.resultError()
	}
	if err == nil {
		err = s.describe()
	}
	if err != nil {
		s.release()
		return nil, err
	}
	c.stream = s
	return s, nil
}

func (s *Stream) start() error {
	var pending bindings.PendingResult
	var state bindings.State
	err := interruptible(s.ctx, s.conn.handle, func() {
		// The other calls make the whole result before they return.
		state = bindings.PendingPreparedStreaming(s.prepared, &pending)
	})
	defer bindings.DestroyPending(&pending)
	if err != nil {
		return err
	}
	if state == bindings.StateError {
		return newError(s.ctx, bindings.ErrorTypeInvalid, bindings.PendingError(pending))
	}
	err = interruptible(s.ctx, s.conn.handle, func() { state = bindings.ExecutePending(pending, &s.result) })
	if err != nil {
		return err
	}
	if state == bindings.StateError {
		return s.resultError()
	}
	return s.describe()
}

// describe finds the result's columns.
func (s *Stream) describe() (err error) {
	n := bindings.ColumnCount(&s.result)
	logical := make([]bindings.LogicalType, n)
	defer func() { destroyTypes(logical) }()
	names := make([]string, n)
	s.columns = make([]Column, n)
	for i := range n {
		names[i] = bindings.ColumnName(&s.result, i)
		logical[i] = bindings.ColumnLogicalType(&s.result, i)
		s.columns[i] = Column{Name: names[i], Type: typeText(logical[i])}
	}
	s.options = bindings.ResultGetArrowOptions(&s.result)
	s.schema, err = newArrowSchema(s.options, logical, names)
	return err
}

func (s *Stream) resultError() error {
	return newError(s.ctx, bindings.ResultErrorType(&s.result), bindings.ResultError(&s.result))
}

// Schema is the schema of the batches. Strings are utf8, never views.
func (s *Stream) Schema() *arrow.Schema { return s.schema }

// Columns are the result's columns with DuckDB's types.
func (s *Stream) Columns() []Column { return s.columns }

// Next returns the next batch, of up to about 64k rows or a megabyte, and io.EOF after the last. The caller releases the
// batch; it stays valid after Close. After an error every further call returns that error.
func (s *Stream) Next() (arrow.RecordBatch, error) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	if s.released && s.err == nil {
		s.err = errors.New("duckdb: read from a closed stream")
	}
	if s.err != nil {
		return nil, s.err
	}
	var parts []arrow.RecordBatch
	defer func() {
		for _, part := range parts {
			part.Release()
		}
	}()
	var rows, bytes int64
	most := int64(batchRows)
	if hasUnion(s.schema.Fields()) {
		most = 1 // arrow-go does not concatenate unions: each chunk is a batch
	}
	for rows < most && bytes < batchBytes {
		part, err := s.fetch()
		if errors.Is(err, io.EOF) {
			s.err = io.EOF
			break
		}
		if err != nil {
			s.err = err
			return nil, err
		}
		if part.NumRows() == 0 {
			part.Release()
			continue
		}
		parts = append(parts, part)
		rows += part.NumRows()
		bytes += batchSize(part)
	}
	if len(parts) == 0 {
		return nil, s.err
	}
	batch, err := concatenate(s.schema, parts, rows)
	if err != nil {
		s.err = fmt.Errorf("duckdb: gather result batches: %w", err)
		return nil, s.err
	}
	return batch, nil
}

// fetch returns one chunk as a record batch, io.EOF after the last.
func (s *Stream) fetch() (arrow.RecordBatch, error) {
	var chunk bindings.DataChunk
	if err := interruptible(s.ctx, s.conn.handle, func() { chunk = bindings.FetchChunk(s.result) }); err != nil {
		return nil, err
	}
	if chunk.Ptr == nil {
		// A failed or interrupted stream also ends in a nil chunk.
		if message := bindings.ResultError(&s.result); message != "" {
			return nil, s.resultError()
		}
		return nil, io.EOF
	}
	defer bindings.DestroyDataChunk(&chunk)
	batch, failure := bindings.DataChunkToArrowArray(s.options, s.schema, chunk)
	if err := fromErrorData(s.ctx, failure); err != nil {
		return nil, fmt.Errorf("duckdb: export a chunk to Arrow: %w", err)
	}
	return batch, nil
}

// Close ends the statement if it still runs, and frees the connection for the next. Closing twice does nothing.
func (s *Stream) Close() error {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.release()
	return nil
}

// release frees what the stream holds. The connection must be locked.
func (s *Stream) release() {
	if s.released {
		return
	}
	s.released = true
	bindings.DestroyArrowOptions(&s.options)
	bindings.DestroyResult(&s.result)
	bindings.DestroyPrepare(&s.prepared)
	if s.conn.stream == s {
		s.conn.stream = nil
	}
}

func batchSize(b arrow.RecordBatch) int64 {
	var n int64
	for _, column := range b.Columns() {
		n += int64(column.Data().SizeInBytes())
	}
	return n
}

// hasUnion says whether a union is among the fields or inside them.
func hasUnion(fields []arrow.Field) bool {
	for _, f := range fields {
		switch t := f.Type.(type) {
		case arrow.UnionType:
			return true
		case arrow.NestedType:
			if hasUnion(t.Fields()) {
				return true
			}
		}
	}
	return false
}

// concatenate makes one batch of several. A single one is passed on as it is.
func concatenate(schema *arrow.Schema, parts []arrow.RecordBatch, rows int64) (arrow.RecordBatch, error) {
	if len(parts) == 1 {
		parts[0].Retain()
		return parts[0], nil
	}
	columns := make([]arrow.Array, schema.NumFields())
	defer func() {
		for _, column := range columns {
			if column != nil {
				column.Release()
			}
		}
	}()
	pieces := make([]arrow.Array, len(parts))
	for i := range columns {
		for j, part := range parts {
			pieces[j] = part.Column(i)
		}
		var err error
		if columns[i], err = array.Concatenate(pieces, memory.DefaultAllocator); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(schema, columns, rows), nil
}
