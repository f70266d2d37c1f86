package flightsql

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seracdb/serac/scheduler/engine"
)

// statement is one execution between the call that starts it and the one that fetches it. A goroutine of its own (pump)
// is the only caller of the execution's Next, and closes the execution when it is through.
type statement struct {
	id      string
	isQuery bool
	schema  *arrow.Schema
	exec    engine.Execution
	ctx     context.Context
	cancel  context.CancelCauseFunc

	// batches is a queue of one, so that a client that does not read stops the engine. It is closed at the end, after err
	// and changed have been set.
	batches chan arrow.RecordBatch
	err     error
	changed int64 // rows changed by an update

	// ready is closed when there is something to fetch: the first batch, or the end.
	ready chan struct{}
	// ended is closed when the execution has been closed.
	ended chan struct{}

	mu      sync.Mutex
	fetched bool
	last    engine.Progress // once ended
	expiry  *time.Timer
}

// pump moves the execution's batches into the queue.
func (st *statement) pump() {
	defer close(st.ended)
	var once sync.Once
	ready := func() { once.Do(func() { close(st.ready) }) }
	defer ready()
	st.err = st.pumpBatches(ready)
	if st.err != nil {
		if cause := context.Cause(st.ctx); cause != nil {
			st.err = cause
		}
	} else if !st.isQuery {
		st.changed, st.err = st.exec.RowsAffected(st.ctx)
	}
	close(st.batches)
	progress := st.exec.Progress()
	st.exec.Close()
	st.mu.Lock()
	st.last = progress
	st.mu.Unlock()
}

func (st *statement) pumpBatches(ready func()) error {
	for {
		batch, err := st.exec.Next(st.ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		batch, err = withSchema(batch, st.schema)
		if err != nil {
			return err
		}
		if batch.NumRows() == 0 {
			batch.Release()
			continue
		}
		// An update is through when its count is: so nothing of it waits for a reader.
		select {
		case st.batches <- batch:
			ready()
		case <-st.ctx.Done():
			batch.Release()
			return context.Cause(st.ctx)
		}
	}
}

// withSchema gives a batch the schema that was promised: clients compare the stream's with the FlightInfo's, down to
// nullability and metadata.
func withSchema(batch arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	if batch.Schema().Equal(schema) && batch.Schema().Metadata().Equal(schema.Metadata()) {
		return batch, nil
	}
	defer batch.Release()
	if int(batch.NumCols()) != schema.NumFields() {
		return nil, status.Errorf(codes.Internal, "the result has %d columns, but %d were announced", batch.NumCols(), schema.NumFields())
	}
	for i, f := range schema.Fields() {
		if got := batch.Column(i).DataType(); !arrow.TypeEqual(got, f.Type) {
			return nil, status.Errorf(codes.Internal, "column %d of the result has type %s, but %s was announced", i+1, got, f.Type)
		}
	}
	return array.NewRecordBatch(schema, batch.Columns(), batch.NumRows()), nil
}

// stop cancels the statement for a reason; an ended one stays as it is. It waits for nothing.
func (st *statement) stop(reason error) {
	st.cancel(reason)
	st.exec.Cancel()
}

// claim takes the right to fetch the result; only one caller gets it.
func (st *statement) claim() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.fetched {
		return false
	}
	st.fetched = true
	if st.expiry != nil {
		st.expiry.Stop()
	}
	return true
}

// abandon cancels the statement unless somebody has begun to fetch it.
func (st *statement) abandon(reason error) {
	if st.claim() {
		st.stop(reason)
		st.discard()
	}
}

// discard releases what nobody will fetch.
func (st *statement) discard() {
	for batch := range st.batches {
		batch.Release()
	}
}

func (st *statement) progress() engine.Progress {
	select {
	case <-st.ended:
		st.mu.Lock()
		defer st.mu.Unlock()
		return st.last
	default:
		return st.exec.Progress()
	}
}

// statements are those that run or are remembered.
type statements struct {
	o Options

	mu     sync.Mutex
	closed bool
	byID   map[string]*statement
	busy   map[*statement]struct{} // not ended
	idle   chan struct{}           // closed and replaced when busy becomes empty
}

func newStatements(o Options) *statements {
	return &statements{o: o, byID: map[string]*statement{}, busy: map[*statement]struct{}{}, idle: make(chan struct{})}
}

// start runs a statement of a session. The context bounds only the time until the result's schema is known. With several
// rows of parameters the statement runs once for each, and the results follow each other.
func (s *Server) start(ctx context.Context, session *engine.Session, text string, params [][]any) (*statement, error) {
	select {
	case <-s.draining:
		return nil, errNotStarted
	default:
	}
	stCtx, cancel := context.WithCancelCause(s.base)
	gone := context.AfterFunc(ctx, func() { cancel(errGone) })
	exec, err := s.execute(stCtx, session, text, params)
	if err != nil {
		if cause := context.Cause(stCtx); cause != nil {
			err = cause
		}
		gone()
		cancel(nil)
		return nil, err
	}
	st := &statement{
		id: exec.ID(), isQuery: exec.IsQuery(), schema: exec.Schema(), exec: exec, ctx: stCtx, cancel: cancel,
		batches: make(chan arrow.RecordBatch, 1), ready: make(chan struct{}), ended: make(chan struct{}),
	}
	if !s.statements.add(st) {
		gone()
		cancel(errShutdown)
		exec.Close()
		return nil, errNotStarted
	}
	conn := connectionOf(ctx)
	conn.add(st)
	if st.isQuery {
		s.statements.expireAfter(st, s.o.UnclaimedTTL, false)
	}
	go func() {
		st.pump()
		cancel(nil)
		conn.remove(st)
		s.statements.end(st)
	}()
	if !gone() {
		st.stop(errGone)
	}
	return st, nil
}

func (s *Server) execute(ctx context.Context, session *engine.Session, text string, params [][]any) (engine.Execution, error) {
	if len(params) <= 1 {
		var row []any
		if len(params) == 1 {
			row = params[0]
		}
		return s.engine.Execute(ctx, session, text, row)
	}
	return newSequence(ctx, s.engine, session, text, params)
}

func (r *statements) add(st *statement) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.byID[st.id] = st
	r.busy[st] = struct{}{}
	return true
}

// end notes that a statement's execution is over. It is remembered for a while, so that a late fetch, poll or cancel gets
// an answer, and then forgotten, with what was not fetched of it.
func (r *statements) end(st *statement) {
	r.unbusy(st)
	r.expireAfter(st, r.o.UnfetchedTTL, true)
}

// polled notes that a client still asks for a statement: it has its time before it again.
func (st *statement) polled(ttl time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	select {
	case <-st.ended:
		return // it has another time to live
	default:
	}
	if !st.fetched && st.expiry != nil && st.expiry.Stop() {
		st.expiry.Reset(ttl)
	}
}

// expireAfter ends a statement that nobody has begun to fetch after the time. Statements that are over are forgotten.
func (r *statements) expireAfter(st *statement, after time.Duration, over bool) {
	r.mu.Lock()
	closed := r.closed
	r.mu.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.expiry != nil {
		st.expiry.Stop()
	}
	if closed {
		return
	}
	st.expiry = time.AfterFunc(after, func() {
		if over {
			r.mu.Lock()
			delete(r.byID, st.id)
			r.mu.Unlock()
		}
		st.abandon(errUnfetched)
	})
}

func (r *statements) unbusy(st *statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, st)
	if len(r.busy) == 0 {
		close(r.idle)
		r.idle = make(chan struct{})
	}
}

func (r *statements) get(id string) (*statement, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if st, ok := r.byID[id]; ok {
		return st, nil
	}
	return nil, status.Errorf(codes.NotFound, "no such statement: it was never started, or it is long over")
}

// wait waits until no statement runs, or the context is done.
func (r *statements) wait(ctx context.Context) {
	for {
		r.mu.Lock()
		idle, busy := r.idle, len(r.busy)
		r.mu.Unlock()
		if busy == 0 {
			return
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return
		}
	}
}

// close cancels and forgets all statements, and waits until their executions are closed.
func (r *statements) close() {
	r.mu.Lock()
	r.closed = true
	all := r.byID
	r.byID = map[string]*statement{}
	r.mu.Unlock()
	for _, st := range all {
		st.stop(errShutdown)
		st.abandon(errShutdown)
	}
	for _, st := range all {
		<-st.ended
	}
}
