package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What Flight SQL has and Serac has not answers Unimplemented and says so in a user's words.

var errIngest = status.Error(codes.Unimplemented, "bulk ingestion is not supported: use INSERT INTO")

// BeginTransaction is not supported.
func (f *frontDoor) BeginTransaction(context.Context, flightsql.ActionBeginTransactionRequest) ([]byte, error) {
	return nil, errTransactions
}

// EndTransaction is not supported.
func (f *frontDoor) EndTransaction(context.Context, flightsql.ActionEndTransactionRequest) error {
	return errTransactions
}

// BeginSavepoint is not supported.
func (f *frontDoor) BeginSavepoint(context.Context, flightsql.ActionBeginSavepointRequest) ([]byte, error) {
	return nil, errTransactions
}

// EndSavepoint is not supported.
func (f *frontDoor) EndSavepoint(context.Context, flightsql.ActionEndSavepointRequest) error {
	return errTransactions
}

// DoPutCommandStatementIngest is not supported.
func (f *frontDoor) DoPutCommandStatementIngest(context.Context, flightsql.StatementIngest, flight.MessageReader) (int64, error) {
	return 0, errIngest
}

// RenewFlightEndpoint is not supported: endpoints do not expire while their statement runs.
func (f *frontDoor) RenewFlightEndpoint(context.Context, *flight.RenewFlightEndpointRequest) (*flight.FlightEndpoint, error) {
	return nil, status.Error(codes.Unimplemented, "endpoints cannot be renewed: fetch them once")
}
