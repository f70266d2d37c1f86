package flightsql

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc/metadata"
)

// Nobody is authenticated: any credential is taken, and none is needed. A user name, where a client gives one, serves
// logs and current_user. Handshake exists for clients that insist on exchanging name and password for a token.

const (
	handshakeMethod = "/arrow.flight.protocol.FlightService/Handshake"
	anonymous       = "anonymous"
	tokenPrefix     = "serac-"
)

func authorization(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if v := md.Get("authorization"); len(v) > 0 {
		return v[0]
	}
	return ""
}

// userOf is the user's name in an authorization header: of Basic, or of a token that Handshake gave out.
func userOf(authorization string) string {
	scheme, value, _ := strings.Cut(authorization, " ")
	switch strings.ToLower(scheme) {
	case "basic":
		// Some clients leave the padding out.
		if raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "= ")); err == nil {
			if name, _, _ := strings.Cut(string(raw), ":"); name != "" {
				return name
			}
		}
	case "bearer":
		if encoded, ok := strings.CutPrefix(value, tokenPrefix); ok {
			if name, err := base64.RawURLEncoding.DecodeString(encoded); err == nil && len(name) > 0 {
				return string(name)
			}
		}
	}
	return anonymous
}

// service adds to the Flight SQL calls what arrow-go's router leaves to plain Flight.
type service struct{ flight.FlightServer }

// Handshake gives everybody a token that holds nothing but the user's name.
func (s *service) Handshake(stream flight.FlightService_HandshakeServer) error {
	token := "Bearer " + tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(userOf(authorization(stream.Context()))))
	// Clients look for it in the header (Java, Go) or the trailer (C++).
	md := metadata.Pairs("authorization", token)
	if err := stream.SendHeader(md); err != nil {
		return err
	}
	stream.SetTrailer(md)
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&flight.HandshakeResponse{ProtocolVersion: req.GetProtocolVersion()}); err != nil {
			return err
		}
	}
}

// ListActions lists what DoAction does.
func (s *service) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	for _, a := range []*flight.ActionType{
		{Type: flightsql.CreatePreparedStatementActionType, Description: "Prepare a statement"},
		{Type: flightsql.ClosePreparedStatementActionType, Description: "Forget a prepared statement"},
		{Type: flight.CancelFlightInfoActionType, Description: "Cancel a statement"},
		{Type: flightsql.CancelQueryActionType, Description: "Cancel a statement (older form)"},
		{Type: flight.SetSessionOptionsActionType, Description: "Change the session's catalog, schema and settings"},
		{Type: flight.GetSessionOptionsActionType, Description: "Show the session's catalog, schema and settings"},
		{Type: flight.CloseSessionActionType, Description: "End the session"},
	} {
		if err := stream.Send(a); err != nil {
			return err
		}
	}
	return nil
}
