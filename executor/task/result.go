package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// BatchWriter takes a result: its schema once, then its batches, which stay the task's.
type BatchWriter interface {
	Start(schema *arrow.Schema) error
	Write(batch arrow.RecordBatch) error
}

// result hands an attempt's rows from the attempt, which pulls them out of DuckDB, to the one reader that may come.
type result struct {
	claims chan *reader  // the reader, once
	done   chan struct{} // closed when all rows are written, or the attempt is over
	once   sync.Once
	err    error // set before done is closed

	mu      sync.Mutex
	claimed bool
}

// reader is whoever fetches the result.
type reader struct {
	w   BatchWriter
	ctx context.Context

	mu    sync.Mutex
	taken bool // by the attempt, which uses w from then on
	left  bool // before the attempt took it
}

// take says whether the reader is still there; w is the attempt's then, until the result is done.
func (r *reader) take() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = !r.left
	return r.taken
}

// leave says whether the reader may go at once, since the attempt does not use w.
func (r *reader) leave() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = !r.taken
	return r.left
}

func newResult() *result { return &result{claims: make(chan *reader, 1), done: make(chan struct{})} }

// end ends the result; only the first end counts.
func (r *result) end(err error) { r.once.Do(func() { r.err = err; close(r.done) }) }

var errReaderGone = errors.New("the reader of the result went away")

// ReadResult writes the rows of an attempt to w, as soon as it has any, and returns when all are written, or with the
// attempt's error. It can be called once. The end of ctx cancels the attempt.
func (t *Task) ReadResult(ctx context.Context, w BatchWriter) error {
	r := t.result
	r.mu.Lock()
	if r.claimed {
		r.mu.Unlock()
		return wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "the result of task %s has been read before", KeyOf(t.ID()))
	}
	r.claimed = true
	r.mu.Unlock()
	me := &reader{w: w, ctx: ctx}
	r.claims <- me
	select {
	case <-r.done:
	case <-ctx.Done():
		if me.leave() {
			return ctx.Err()
		}
		<-r.done // the attempt has noticed too
	}
	return r.err
}

// Abandon ends the result of an attempt that will not run (again): whoever waits for its rows gets err.
func (t *Task) Abandon(err error) { t.result.end(err) }

// streamResult runs the query and gives its rows to the reader, as fast as that takes them.
func (a *attempt) streamResult(ctx context.Context, root plan.Node, sql string) (*seracv1.TaskStatus, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	open := a.conn.Stream
	if a.fewRows(root) {
		open = a.conn.Run
	}
	stream, err := open(ctx, resultSQL(root.Schema(), sql))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	a.report(a.status(seracv1.TaskState_TASK_STATE_STREAMING))
	var to *reader
	select {
	case to = <-a.task.result.claims:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !to.take() {
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, errReaderGone)
	}
	// A reader that goes away stops DuckDB, also in the middle of a batch.
	stop := context.AfterFunc(to.ctx, func() { cancel(errReaderGone) })
	defer stop()
	err = a.send(to.w, stream)
	if errors.Is(context.Cause(ctx), errReaderGone) {
		// Whoever cancels a statement says so on the scheduler's stream as well. All that is known here is a connection.
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, errReaderGone)
	}
	if err != nil {
		return nil, err
	}
	a.task.result.end(nil)
	return a.status(seracv1.TaskState_TASK_STATE_FINISHED), nil
}

// mostRows is how many rows are not worth being streamed. DuckDB hands out 2,048 at a time; a quarter of them is held at once
// even where rows are long.
const mostRows = 512

// fewRows says that a plan gives so few rows.
func (a *attempt) fewRows(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.WholeStatement:
		return n.MaxRows > 0 && n.MaxRows <= mostRows
	case *plan.Limit:
		count, constant := n.Count.(*plan.Constant)
		rows, ok := int64(0), false
		if constant && !n.Percent {
			rows, ok = count.Value.(int64)
		}
		return ok && rows <= mostRows || a.fewRows(n.Input)
	case *plan.Aggregate:
		return len(n.Groups) == 0 && len(n.Sets) == 0 || len(n.Sets) == 0 && a.fewRows(n.Input)
	case *plan.Project, *plan.Filter, *plan.Sort:
		return a.fewRows(n.Children()[0])
	case *plan.ShuffleRead:
		for _, as := range a.task.launch.GetAssignments() {
			if plan.LeafID(as.GetLeaf()) == n.Leaf {
				var rows int64
				for _, f := range as.GetShuffle().GetFiles() {
					rows += f.GetRows()
				}
				return rows <= mostRows
			}
		}
	}
	return false
}

// batches is a stream of DuckDB.
type batches interface {
	Schema() *arrow.Schema
	Next() (arrow.RecordBatch, error)
}

func (a *attempt) send(w BatchWriter, from batches) error {
	if err := w.Start(from.Schema()); err != nil {
		return err
	}
	for {
		batch, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a.task.outputRows.Add(batch.NumRows())
		a.task.outputBytes.Add(batchBytes(batch))
		err = w.Write(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

func batchBytes(b arrow.RecordBatch) int64 {
	var n int64
	for _, column := range b.Columns() {
		n += int64(column.Data().SizeInBytes())
	}
	return n
}

// resultSQL gives the columns of a query (c0, c1, ...) the names and types that the result was announced with.
func resultSQL(schema plan.Schema, sql string) string {
	columns := make([]string, len(schema))
	for i, c := range schema {
		// Qualified: a result's column may be named as another column of the query.
		columns[i] = fmt.Sprintf("r.c%d", i)
		if castable(c.Type) {
			columns[i] = fmt.Sprintf("CAST(r.c%d AS %s)", i, c.Type.SQL())
		}
		if c.Name != "" {
			columns[i] += " AS " + plan.QuoteIdent(c.Name)
		}
	}
	if len(columns) == 0 {
		columns = []string{"*"}
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM (" + sql + ") AS r"
}

// castable says whether DuckDB parses the type's name: not where a struct's fields have no names.
func castable(t plan.Type) bool {
	if t.Kind == plan.Invalid {
		return false
	}
	for _, inner := range []*plan.Type{t.Key, t.Elem} {
		if inner != nil && !castable(*inner) {
			return false
		}
	}
	for _, f := range t.Fields {
		if f.Name == "" || !castable(f.Type) {
			return false
		}
	}
	return true
}
