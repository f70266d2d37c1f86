package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Result is a statement's result as it arrives. Close it.
type Result struct {
	conn *Conn
	info *flight.FlightInfo
	// isQuery is false when the server says that the statement's one row is a count of changed rows.
	isQuery bool

	ctx    context.Context
	cancel context.CancelFunc
	reader *flight.Reader
	next   int // of info.Endpoint
	first  arrow.RecordBatch

	polls sync.WaitGroup
}

// Execute starts a statement and returns when there is something to read, or the statement has ended. Until then, and
// while the result is read, report hears how far it is, if the server can tell; it may be nil. The context bounds the
// statement and the reading of its result; when it is done, the statement is cancelled on the server.
func (c *Conn) Execute(ctx context.Context, text string, report func(*seracv1.StatementProgress)) (*Result, error) {
	r := &Result{conn: c, isQuery: true}
	r.ctx, r.cancel = context.WithCancel(c.outgoing(ctx))
	if err := r.start(text, report); err != nil {
		r.fail(err)
		return nil, cleanError(err)
	}
	return r, nil
}

func (r *Result) start(text string, report func(*seracv1.StatementProgress)) error {
	poll, err := r.conn.client.ExecutePoll(r.ctx, text, nil)
	switch {
	case status.Code(err) == codes.Unimplemented:
		if r.info, err = r.conn.client.Execute(r.ctx, text); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		r.info = poll.GetInfo()
		progress, ok := progressOf(r.info)
		if ok {
			r.isQuery = progress.GetIsQuery()
		}
		if poll.GetFlightDescriptor() != nil {
			if !ok {
				// Another server's result may not be there before polling is over.
				if err := r.pollToEnd(poll.GetFlightDescriptor()); err != nil {
					return err
				}
			} else if report != nil {
				r.polls.Add(1)
				go r.poll(poll.GetFlightDescriptor(), report)
			}
		}
	}
	r.first, err = r.read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func progressOf(info *flight.FlightInfo) (*seracv1.StatementProgress, bool) {
	p := &seracv1.StatementProgress{}
	if len(info.GetAppMetadata()) == 0 || proto.Unmarshal(info.GetAppMetadata(), p) != nil || p.GetStatementId() == "" {
		return nil, false
	}
	return p, true
}

// poll reports progress until the statement ends. The server lets each poll wait a moment.
func (r *Result) poll(descriptor *flight.FlightDescriptor, report func(*seracv1.StatementProgress)) {
	defer r.polls.Done()
	for {
		poll, err := r.conn.client.ExecutePoll(r.ctx, "", descriptor)
		if err != nil {
			return
		}
		p, ok := progressOf(poll.GetInfo())
		if !ok || p.GetState() != "planning" && p.GetState() != "queued" && p.GetState() != "running" {
			return
		}
		report(p)
	}
}

func (r *Result) pollToEnd(descriptor *flight.FlightDescriptor) error {
	for descriptor != nil {
		poll, err := r.conn.client.ExecutePoll(r.ctx, "", descriptor)
		if err != nil {
			return err
		}
		r.info, descriptor = poll.GetInfo(), poll.GetFlightDescriptor()
	}
	return nil
}

// Schema is the schema of the batches.
func (r *Result) Schema() (*arrow.Schema, error) {
	if r.reader != nil {
		return r.reader.Schema(), nil
	}
	schema, err := flight.DeserializeSchema(r.info.GetSchema(), r.conn.client.Alloc)
	if err != nil {
		return nil, fmt.Errorf("read the result's schema: %w", err)
	}
	return schema, nil
}

// IsQuery says whether the batches are rows, and not the number of rows changed.
func (r *Result) IsQuery() bool { return r.isQuery }

// Next returns the next batch, which the caller releases, or io.EOF after the last.
func (r *Result) Next() (arrow.RecordBatch, error) {
	if batch := r.first; batch != nil {
		r.first = nil
		return batch, nil
	}
	batch, err := r.read()
	if err != nil && !errors.Is(err, io.EOF) {
		r.fail(err)
		err = cleanError(err)
	}
	return batch, err
}

func (r *Result) read() (arrow.RecordBatch, error) {
	for {
		if r.reader == nil {
			if r.next == len(r.info.GetEndpoint()) {
				return nil, io.EOF
			}
			reader, err := r.conn.client.DoGet(r.ctx, r.info.GetEndpoint()[r.next].GetTicket())
			if err != nil {
				return nil, err
			}
			r.reader, r.next = reader, r.next+1
		}
		batch, err := r.reader.Read()
		switch {
		case err == nil:
			batch.Retain()
			return batch, nil
		case !errors.Is(err, io.EOF):
			return nil, err
		case r.next == len(r.info.GetEndpoint()):
			return nil, io.EOF // The reader is kept for its schema.
		}
		r.reader.Release()
		r.reader = nil
	}
}

// Changed reads the result of an update: the number of rows changed, and whether there was one.
func (r *Result) Changed() (n int64, ok bool, err error) {
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return n, ok, nil
		}
		if err != nil {
			return 0, false, err
		}
		if batch.NumCols() == 1 && batch.NumRows() == 1 {
			if column, isInt := batch.Column(0).(*array.Int64); isInt && column.IsValid(0) {
				n, ok = column.Value(0), true
			}
		}
		batch.Release()
	}
}

// cancelTimeout bounds how long the server is waited for when a statement is cancelled.
const cancelTimeout = 5 * time.Second

// fail cancels the statement on the server, if it was it that was given up here, and closes the result.
func (r *Result) fail(err error) {
	if r.ctx.Err() != nil && r.info != nil && status.Code(err) != codes.Unavailable {
		ctx, cancel := context.WithTimeout(r.conn.outgoing(context.Background()), cancelTimeout)
		defer cancel()
		_, _ = r.conn.client.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: r.info})
	}
	r.Close()
}

// Close releases the result. What has not been read is given up, and the server told.
func (r *Result) Close() {
	r.cancel()
	r.polls.Wait()
	if r.first != nil {
		r.first.Release()
		r.first = nil
	}
	if r.reader != nil {
		r.reader.Release()
		r.reader = nil
	}
}
