package flightsql

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxPrepared bounds the statements that one session may hold prepared: clients that never close theirs exist.
const maxPrepared = 4096

// prepared is a statement that a client has prepared. Preparing binds it and runs nothing of it; each execution binds it
// anew, so that it sees the tables as they are then.
type prepared struct {
	text    string
	params  int
	isQuery bool
	schema  *arrow.Schema
	session *clientSession

	mu     sync.Mutex
	values [][]any // bound last; nil: none
}

// parameters are the rows to run the statement with, which what was prepared has been checked against.
func (p *prepared) parameters() ([][]any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.checked(p.values)
}

func (p *prepared) checked(values [][]any) ([][]any, error) {
	if p.params == 0 && (len(values) == 0 || len(values[0]) == 0) {
		return nil, nil
	}
	if len(values) == 0 {
		return nil, invalid("the statement has %d parameters, and no values are bound to them", p.params)
	}
	if got := len(values[0]); got != p.params {
		return nil, invalid("the statement has %d parameters, and %d values are bound", p.params, got)
	}
	return values, nil
}

type preparedStatements struct {
	mu       sync.Mutex
	byHandle map[string]*prepared
	count    map[*clientSession]int
}

func newPreparedStatements() *preparedStatements {
	return &preparedStatements{byHandle: map[string]*prepared{}, count: map[*clientSession]int{}}
}

func (r *preparedStatements) add(p *prepared) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[p.session] >= maxPrepared {
		return nil, status.Errorf(codes.ResourceExhausted, "the session holds %d prepared statements: close some", maxPrepared)
	}
	handle := uuid.NewString()
	r.byHandle[handle] = p
	r.count[p.session]++
	return []byte(handle), nil
}

func (r *preparedStatements) get(handle []byte) (*prepared, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.byHandle[string(handle)]; ok {
		return p, nil
	}
	return nil, status.Error(codes.NotFound, "no such prepared statement: it was closed, or its session has ended")
}

func (r *preparedStatements) remove(handle []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.byHandle[string(handle)]; ok {
		delete(r.byHandle, string(handle))
		if r.count[p.session]--; r.count[p.session] == 0 {
			delete(r.count, p.session)
		}
	}
}

// dropSession forgets a session's statements.
func (r *preparedStatements) dropSession(s *clientSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count[s] == 0 {
		return
	}
	delete(r.count, s)
	for handle, p := range r.byHandle {
		if p.session == s {
			delete(r.byHandle, handle)
		}
	}
}

// CreatePreparedStatement binds a statement and executes nothing of it.
func (f *frontDoor) CreatePreparedStatement(ctx context.Context, req flightsql.ActionCreatePreparedStatementRequest) (flightsql.ActionCreatePreparedStatementResult, error) {
	if err := noTransaction(req.GetTransactionId()); err != nil {
		return flightsql.ActionCreatePreparedStatementResult{}, err
	}
	return f.prepare(ctx, req.GetQuery())
}

func (f *frontDoor) prepare(ctx context.Context, text string) (flightsql.ActionCreatePreparedStatementResult, error) {
	var none flightsql.ActionCreatePreparedStatementResult
	session := sessionOf(ctx)
	p, err := f.s.engine.Prepare(ctx, session.Session, text)
	if err != nil {
		return none, err
	}
	handle, err := f.s.prepared.add(&prepared{
		text: text, params: p.Params, isQuery: p.IsQuery, schema: p.Schema, session: session,
	})
	if err != nil {
		return none, err
	}
	isUpdate := !p.IsQuery
	return flightsql.ActionCreatePreparedStatementResult{
		Handle: handle, DatasetSchema: p.Schema, ParameterSchema: parameterSchema(p.Params, p.ParamTypes), IsUpdate: &isUpdate,
	}, nil
}

// parameterSchema describes the parameters, or is nil when there are some and nothing is known of their types: a client
// then sends values of whatever types it has. Where only some are known, the others show as text.
func parameterSchema(count int, types []arrow.DataType) *arrow.Schema {
	known := count == 0
	fields := make([]arrow.Field, count)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprint("$", i+1), Type: arrow.BinaryTypes.String, Nullable: true}
		if i < len(types) && types[i] != nil {
			fields[i].Type, known = widest(types[i]), true
		}
	}
	if !known {
		return nil
	}
	return arrow.NewSchema(fields, nil)
}

// widest is the type that a client is told of a parameter: values of any type can be bound, and clients in languages of few
// types, Go's database/sql among them, have no other integers than those of 64 bits.
func widest(t arrow.DataType) arrow.DataType {
	switch {
	case arrow.IsSignedInteger(t.ID()):
		return arrow.PrimitiveTypes.Int64
	case arrow.IsUnsignedInteger(t.ID()):
		return arrow.PrimitiveTypes.Uint64
	case arrow.IsFloating(t.ID()):
		return arrow.PrimitiveTypes.Float64
	}
	return t
}

// ClosePreparedStatement forgets a prepared statement. What it has started goes on.
func (f *frontDoor) ClosePreparedStatement(_ context.Context, req flightsql.ActionClosePreparedStatementRequest) error {
	f.s.prepared.remove(req.GetPreparedStatementHandle())
	return nil
}

// DoPutPreparedStatementQuery binds parameters, in place of those bound before.
func (f *frontDoor) DoPutPreparedStatementQuery(_ context.Context, cmd flightsql.PreparedStatementQuery, r flight.MessageReader, _ flight.MetadataWriter) ([]byte, error) {
	p, err := f.s.prepared.get(cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	values, err := readParameters(r)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values = values
	return cmd.GetPreparedStatementHandle(), nil
}

// GetFlightInfoPreparedStatement starts a prepared statement; see GetFlightInfoStatement.
func (f *frontDoor) GetFlightInfoPreparedStatement(ctx context.Context, cmd flightsql.PreparedStatementQuery, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	p, err := f.s.prepared.get(cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	params, err := p.parameters()
	if err != nil {
		return nil, err
	}
	return f.flightInfo(withSession(ctx, p.session), p.text, params, desc)
}

// GetSchemaPreparedStatement tells the schema known when the statement was prepared.
func (f *frontDoor) GetSchemaPreparedStatement(_ context.Context, cmd flightsql.PreparedStatementQuery, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	p, err := f.s.prepared.get(cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	return &flight.SchemaResult{Schema: flight.SerializeSchema(p.schema, alloc)}, nil
}

// DoGetPreparedStatement runs a prepared statement and streams its result, for clients that use the command as a ticket.
func (f *frontDoor) DoGetPreparedStatement(ctx context.Context, cmd flightsql.PreparedStatementQuery) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	p, err := f.s.prepared.get(cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, nil, err
	}
	params, err := p.parameters()
	if err != nil {
		return nil, nil, err
	}
	st, err := f.s.start(ctx, p.session.Session, p.text, params)
	if err != nil {
		return nil, nil, err
	}
	return f.s.fetch(ctx, st)
}

// DoPutPreparedStatementUpdate runs a prepared statement once for each row of parameters and returns how many rows were
// changed in all. Parameters may come with the call or have been bound before.
func (f *frontDoor) DoPutPreparedStatementUpdate(ctx context.Context, cmd flightsql.PreparedStatementUpdate, r flight.MessageReader) (int64, error) {
	p, err := f.s.prepared.get(cmd.GetPreparedStatementHandle())
	if err != nil {
		return 0, err
	}
	values, err := readParameters(r)
	if err != nil {
		return 0, err
	}
	if values == nil {
		values, err = p.parameters()
	} else if len(values) == 0 {
		return 0, nil
	} else {
		values, err = p.checked(values)
	}
	if err != nil {
		return 0, err
	}
	return f.update(withSession(ctx, p.session), p.text, values)
}
