package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
)

// A Substrait plan becomes the text of a query, and from there on is a statement like any other.

func (f *frontDoor) substraitText(cmd flightsql.StatementSubstraitPlan) (string, error) {
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return "", err
	}
	return f.s.engine.SubstraitSQL(cmd.GetPlan().Plan)
}

// GetFlightInfoSubstraitPlan starts a plan; see GetFlightInfoStatement.
func (f *frontDoor) GetFlightInfoSubstraitPlan(ctx context.Context, cmd flightsql.StatementSubstraitPlan, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	text, err := f.substraitText(cmd)
	if err != nil {
		return nil, err
	}
	return f.flightInfo(ctx, text, nil, desc)
}

// GetSchemaSubstraitPlan tells a plan's schema without running it.
func (f *frontDoor) GetSchemaSubstraitPlan(ctx context.Context, cmd flightsql.StatementSubstraitPlan, _ *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	text, err := f.substraitText(cmd)
	if err != nil {
		return nil, err
	}
	return f.schemaOf(ctx, text)
}

// DoPutCommandSubstraitPlan runs a plan to its end. Plans are queries: they change no rows, and the count is -1.
func (f *frontDoor) DoPutCommandSubstraitPlan(ctx context.Context, cmd flightsql.StatementSubstraitPlan) (int64, error) {
	text, err := f.substraitText(cmd)
	if err != nil {
		return 0, err
	}
	return f.update(ctx, text, nil)
}

// PollFlightInfoSubstraitPlan starts a plan; see PollFlightInfoStatement.
func (f *frontDoor) PollFlightInfoSubstraitPlan(ctx context.Context, cmd flightsql.StatementSubstraitPlan, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	text, err := f.substraitText(cmd)
	if err != nil {
		return nil, err
	}
	return f.pollStart(ctx, text, desc)
}

// CreatePreparedSubstraitPlan binds a plan and executes nothing of it.
func (f *frontDoor) CreatePreparedSubstraitPlan(ctx context.Context, req flightsql.ActionCreatePreparedSubstraitPlanRequest) (flightsql.ActionCreatePreparedStatementResult, error) {
	if err := noTransaction(req.GetTransactionId()); err != nil {
		return flightsql.ActionCreatePreparedStatementResult{}, err
	}
	text, err := f.s.engine.SubstraitSQL(req.GetPlan().Plan)
	if err != nil {
		return flightsql.ActionCreatePreparedStatementResult{}, err
	}
	return f.prepare(ctx, text)
}
