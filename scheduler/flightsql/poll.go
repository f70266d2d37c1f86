package flightsql

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seracdb/serac/scheduler/engine"
)

// PollFlightInfoStatement starts a statement and returns at once, an update too. The answer's descriptor is for the
// polls that follow.
//
// A poll has no descriptor, and so says that polling is over, once there is something to fetch: a result streams, and
// cannot be complete before it is fetched. A client that wants to see progress while it fetches goes on polling with the
// last descriptor it has.
func (f *frontDoor) PollFlightInfoStatement(ctx context.Context, cmd flightsql.StatementQuery, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return nil, err
	}
	return f.pollStart(ctx, cmd.GetQuery(), desc)
}

func (f *frontDoor) pollStart(ctx context.Context, text string, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	st, err := f.s.start(ctx, sessionOf(ctx).Session, text, nil)
	if err != nil {
		return nil, err
	}
	return f.pollInfo(st, desc)
}

// PollFlightInfoPreparedStatement starts a prepared statement; see PollFlightInfoStatement.
func (f *frontDoor) PollFlightInfoPreparedStatement(ctx context.Context, cmd flightsql.PreparedStatementQuery, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	p, err := f.s.prepared.get(cmd.GetPreparedStatementHandle())
	if err != nil {
		return nil, err
	}
	params, err := p.parameters()
	if err != nil {
		return nil, err
	}
	st, err := f.s.start(ctx, p.session.Session, p.text, params)
	if err != nil {
		return nil, err
	}
	return f.pollInfo(st, desc)
}

// PollFlightInfo waits a moment for news of a started statement, and returns its error if it has failed.
func (f *frontDoor) PollFlightInfo(ctx context.Context, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	ticket, err := flightsql.GetStatementQueryTicket(&flight.Ticket{Ticket: desc.GetCmd()})
	if err != nil {
		return nil, invalid("PollFlightInfo: the descriptor is neither a statement nor one that an earlier poll returned")
	}
	st, err := f.s.statements.get(string(ticket.GetStatementHandle()))
	if err != nil {
		return nil, err
	}
	st.polled(f.s.o.UnclaimedTTL)
	defer st.polled(f.s.o.UnclaimedTTL)
	wait := time.NewTimer(f.s.o.PollWait)
	defer wait.Stop()
	ready := st.ready
	select {
	case <-ready:
		ready = nil // A client that polls on while it fetches is not to spin: it waits for the end, or the time.
	default:
	}
	select {
	case <-ready:
	case <-st.ended:
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-st.ended:
		if st.err != nil {
			return nil, st.err
		}
	default:
	}
	return f.pollInfo(st, desc)
}

func (f *frontDoor) pollInfo(st *statement, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	info, err := f.infoOf(st, desc)
	if err != nil {
		return nil, err
	}
	poll := &flight.PollInfo{Info: info}
	if p, ok := fraction(st.progress()); ok {
		poll.Progress = &p
	}
	select {
	case <-st.ended:
		return poll, nil
	default:
	}
	if st.isQuery {
		select {
		case <-st.ready:
			return poll, nil
		default:
		}
	}
	poll.FlightDescriptor = &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: info.Endpoint[0].Ticket.Ticket}
	return poll, nil
}

// fraction is progress between 0 and 1, if it can be told.
func fraction(p engine.Progress) (float64, bool) {
	switch {
	case p.State == engine.Finished:
		return 1, true
	case p.Tasks > 0:
		return float64(p.TasksDone) / float64(p.Tasks), true
	}
	return 0, false
}

// CancelFlightInfo cancels a statement by the ticket in its FlightInfo. CancelQuery, its older form, comes here too.
func (f *frontDoor) CancelFlightInfo(ctx context.Context, req *flight.CancelFlightInfoRequest) (flight.CancelFlightInfoResult, error) {
	result, err := f.cancel(ctx, req.GetInfo())
	return flight.CancelFlightInfoResult{Status: result}, err
}

func (f *frontDoor) cancel(ctx context.Context, info *flight.FlightInfo) (flight.CancelStatus, error) {
	for _, e := range info.GetEndpoint() {
		ticket, err := flightsql.GetStatementQueryTicket(e.GetTicket())
		if err != nil {
			continue
		}
		st, err := f.s.statements.get(string(ticket.GetStatementHandle()))
		if err != nil {
			return flight.CancelStatusUnspecified, err
		}
		select {
		case <-st.ended:
			return flight.CancelStatusNotCancellable, nil
		default:
		}
		st.stop(errAsked)
		wait := time.NewTimer(time.Second)
		defer wait.Stop()
		select {
		case <-st.ended:
			if st.err == nil { // It had ended before the cancellation reached it.
				return flight.CancelStatusNotCancellable, nil
			}
			return flight.CancelStatusCancelled, nil
		case <-wait.C:
			return flight.CancelStatusCancelling, nil
		case <-ctx.Done():
			return flight.CancelStatusUnspecified, ctx.Err()
		}
	}
	return flight.CancelStatusUnspecified, status.Error(codes.InvalidArgument, "the FlightInfo names no statement")
}
