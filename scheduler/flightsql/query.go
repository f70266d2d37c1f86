package flightsql

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

var alloc = memory.DefaultAllocator

// GetFlightInfoStatement starts a statement. It waits for an update to end; see the package's doc.
func (f *frontDoor) GetFlightInfoStatement(ctx context.Context, cmd flightsql.StatementQuery, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return nil, err
	}
	return f.flightInfo(ctx, cmd.GetQuery(), nil, desc)
}

// GetSchemaStatement tells a statement's schema without running it.
func (f *frontDoor) GetSchemaStatement(ctx context.Context, cmd flightsql.StatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	return f.schemaOf(ctx, cmd.GetQuery())
}

func (f *frontDoor) schemaOf(ctx context.Context, text string) (*flight.SchemaResult, error) {
	p, err := f.s.engine.Prepare(ctx, sessionOf(ctx).Session, text)
	if err != nil {
		return nil, err
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(p.Schema, alloc)}, nil
}

// DoGetStatement fetches the result of a started statement, once.
func (f *frontDoor) DoGetStatement(ctx context.Context, ticket flightsql.StatementQueryTicket) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	st, err := f.s.statements.get(string(ticket.GetStatementHandle()))
	if err != nil {
		return nil, nil, err
	}
	return f.s.fetch(ctx, st)
}

// DoPutCommandStatementUpdate runs a statement to its end and returns how many rows it changed, -1 for a query.
func (f *frontDoor) DoPutCommandStatementUpdate(ctx context.Context, cmd flightsql.StatementUpdate) (int64, error) {
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return 0, err
	}
	return f.update(ctx, cmd.GetQuery(), nil)
}

func (f *frontDoor) flightInfo(ctx context.Context, text string, params [][]any, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	st, err := f.s.start(ctx, sessionOf(ctx).Session, text, params)
	if err != nil {
		return nil, err
	}
	if !st.isQuery {
		select {
		case <-st.ended:
			if st.err != nil {
				st.abandon(st.err)
				return nil, st.err
			}
		case <-ctx.Done():
			st.abandon(errGone)
			return nil, ctx.Err()
		}
	}
	return f.infoOf(st, desc)
}

func (f *frontDoor) update(ctx context.Context, text string, params [][]any) (int64, error) {
	st, err := f.s.start(ctx, sessionOf(ctx).Session, text, params)
	if err != nil {
		return 0, err
	}
	st.claim()
	stop := context.AfterFunc(ctx, func() { st.stop(errGone) })
	st.discard()
	stop()
	if st.err != nil {
		return 0, st.err
	}
	if st.isQuery {
		return -1, nil
	}
	return st.changed, nil
}

// infoOf describes a started statement: one endpoint, to be fetched over the same connection.
func (f *frontDoor) infoOf(st *statement, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	ticket, err := flightsql.CreateStatementQueryTicket([]byte(st.id))
	if err != nil {
		return nil, status.Errorf(codes.Internal, "make a ticket: %v", err)
	}
	info := &flight.FlightInfo{
		Schema:           flight.SerializeSchema(st.schema, alloc),
		FlightDescriptor: desc,
		Endpoint:         []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
		TotalRecords:     -1,
		TotalBytes:       -1,
	}
	if info.AppMetadata, err = proto.Marshal(progressOf(st)); err != nil {
		return nil, status.Errorf(codes.Internal, "describe progress: %v", err)
	}
	return info, nil
}

func progressOf(st *statement) *seracv1.StatementProgress {
	p := st.progress()
	return &seracv1.StatementProgress{
		StatementId: st.id, State: string(p.State), IsQuery: st.isQuery,
		Stages: int32(p.Stages), StagesDone: int32(p.StagesDone),
		Tasks: int32(p.Tasks), TasksDone: int32(p.TasksDone), TasksRunning: int32(p.TasksRunning), Retries: int32(p.Retries),
		Rows: p.Rows, Bytes: p.Bytes, ShuffledRows: p.ShuffledRows, ShuffledBytes: p.Shuffled,
	}
}

func noTransaction(id []byte) error {
	if len(id) == 0 {
		return nil
	}
	return errTransactions
}

var errTransactions = status.Error(codes.Unimplemented, "transactions are not supported: every statement commits by itself")

// quoteIdent quotes a name for SQL.
func quoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteText quotes a text for SQL.
func quoteText(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }
