package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/util"
	"google.golang.org/grpc/status"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

func (r *Run) fetchMore() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.fetchMoreLocked()
}

// fetchMoreLocked starts pulling the streams whose turn is near. Cluster.mu is held.
func (r *Run) fetchMoreLocked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := &r.results
	if q.ended != nil || r.c.closed {
		return
	}
	for i := q.current; i < min(q.current+ahead, len(q.tasks)); i++ {
		s := q.tasks[i].stream
		if s == nil || s.fetching || s.ended {
			continue
		}
		s.fetching, s.waits = true, time.Time{}
		client, err := r.c.flightClient(s.executor)
		ctx, stop := context.WithCancel(r.fetching)
		s.stop = stop
		r.c.background(func() {
			defer stop()
			if err == nil {
				err = r.pull(ctx, client, s)
			}
			r.pulled(s, err)
		})
	}
}

// pull fetches an attempt's rows to their end. It waits while enough of them are held.
func (r *Run) pull(ctx context.Context, client flight.FlightServiceClient, s *stream) error {
	ticket, err := wire.EncodeTicket(r.c.o.Sealer, s.executor.info.FlightAddress,
		&seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Result{Result: r.taskID(s.attempt)}})
	if err != nil {
		return fmt.Errorf("make the ticket of result %v: %w", s.attempt, err)
	}
	get, err := client.DoGet(ctx, &flight.Ticket{Ticket: ticket})
	if err != nil {
		return fetchError(s, err)
	}
	reader, err := flight.NewRecordReader(get)
	if err != nil {
		return fetchError(s, err)
	}
	defer reader.Release()
	schema, err := r.schemaFor(reader.Schema())
	if err != nil {
		return fmt.Errorf("result %v of executor %s: %w", s.attempt, s.executor.info.ID, err)
	}
	for reader.Next() {
		b, err := renamed(reader.RecordBatch(), schema)
		if err != nil {
			return fmt.Errorf("result %v of executor %s: %w", s.attempt, s.executor.info.ID, err)
		}
		if !r.push(ctx, s, b) {
			b.Release()
			return ctx.Err()
		}
	}
	if err := reader.Err(); err != nil {
		return fetchError(s, err)
	}
	return nil
}

// fetchError is why a result could not be fetched. The executor's own failures keep their text; what went wrong on the way
// says where.
func fetchError(s *stream, err error) error {
	switch kind := wire.KindOf(err); kind {
	case seracv1.FailureKind_FAILURE_KIND_TRANSPORT, seracv1.FailureKind_FAILURE_KIND_CANCELLED, seracv1.FailureKind_FAILURE_KIND_INTERNAL:
		return wire.Failf(kind, "fetch result %v from executor %s: %s", s.attempt, s.executor.info.ID, status.Convert(err).Message())
	default:
		return err
	}
}

// push hands a batch over to Next, and waits for room first. False: the stream was dropped.
func (r *Run) push(ctx context.Context, s *stream, b arrow.RecordBatch) bool {
	for {
		r.mu.Lock()
		if ctx.Err() != nil {
			r.mu.Unlock()
			return false
		}
		if s.bytes < r.c.o.HoldBackBytes {
			if s.since.IsZero() {
				s.since = time.Now()
			}
			s.batches = append(s.batches, b)
			s.bytes += util.TotalRecordSize(b)
			s.waits = time.Time{}
			r.results.notify()
			r.mu.Unlock()
			return true
		}
		if s.waits.IsZero() {
			s.waits = time.Now()
		}
		changed := r.results.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// pulled reports the end of a pull: all rows have come, or the attempt has failed as far as the scheduler can see.
func (r *Run) pulled(s *stream, err error) {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.m.Current(s.attempt) {
		return // dropped
	}
	if err != nil {
		r.settleResults()
		c.step(r, job.TaskStatus{Executor: s.executor.info.ID, Status: &seracv1.TaskStatus{
			Id: r.taskID(s.attempt), State: seracv1.TaskState_TASK_STATE_FAILED, Failure: wire.FailureFrom(err),
		}})
		// The executor may not know yet that nobody reads any more.
		c.send(s.executor, outgoing{message: &seracv1.AttachResponse{Message: &seracv1.AttachResponse_Cancel{
			Cancel: &seracv1.TaskCancel{Id: r.taskID(s.attempt)},
		}}})
		c.dispatch()
		return
	}
	r.mu.Lock()
	s.ended = true
	reported := s.reported
	r.results.notify()
	r.mu.Unlock()
	if reported {
		c.step(r, job.ResultDone{Attempt: s.attempt})
		c.dispatch()
		return
	}
	time.AfterFunc(c.o.StatusGrace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.step(r, job.ResultDone{Attempt: s.attempt})
		c.dispatch()
	})
}

// schemaFor compares a stream's schema with the announced one and returns the one of the batches that go out.
func (r *Run) schemaFor(got *arrow.Schema) (*arrow.Schema, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.results.schema == nil {
		r.results.schema = r.o.schema
	}
	want := r.results.schema
	if want == nil {
		r.results.schema = got
		return got, nil
	}
	if want.NumFields() != got.NumFields() {
		return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "it has %d columns, announced were %d", got.NumFields(), want.NumFields())
	}
	for i := range want.NumFields() {
		if w, g := want.Field(i), got.Field(i); !arrow.TypeEqual(storage(w.Type), storage(g.Type)) {
			return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "column %d (%s) is %s, announced was %s", i, w.Name, g.Type, w.Type)
		}
	}
	return want, nil
}

// renamed is the batch under another schema of the same types; the caller owns it. A null in a column that was announced
// to have none is an error.
func renamed(b arrow.RecordBatch, schema *arrow.Schema) (arrow.RecordBatch, error) {
	for i := range schema.NumFields() {
		if f := schema.Field(i); !f.Nullable && b.Column(i).NullN() > 0 {
			return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "column %d (%s) has a NULL, announced was NOT NULL", i, f.Name)
		}
	}
	columns := make([]arrow.Array, b.NumCols())
	for i, column := range b.Columns() {
		if x, ok := column.(array.ExtensionArray); ok && schema.Field(i).Type.ID() != arrow.EXTENSION {
			column = x.Storage()
		}
		columns[i] = column
	}
	return array.NewRecordBatch(schema, columns, b.NumRows()), nil
}

// storage is the type that a column travels as. DuckDB marks a GEOMETRY or a BIGNUM as an extension in the field's metadata
// alone, and a reader of Arrow IPC turns it into an extension type when it knows that.
func storage(t arrow.DataType) arrow.DataType {
	if x, ok := t.(arrow.ExtensionType); ok {
		return x.StorageType()
	}
	return t
}
