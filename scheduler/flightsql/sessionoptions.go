package flightsql

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/session"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// The options that are not settings.
const (
	optionCatalog = "catalog"
	optionSchema  = "schema"
)

// SetSessionOptions changes the session as USE and SET do. An option without a value is reset.
func (f *frontDoor) SetSessionOptions(ctx context.Context, req *flight.SetSessionOptionsRequest) (*flight.SetSessionOptionsResult, error) {
	s := sessionOf(ctx)
	result := &flight.SetSessionOptionsResult{Errors: map[string]*flight.SetSessionOptionsResultError{}}
	fail := func(name string, code pb.SetSessionOptionsResult_ErrorValue) {
		result.Errors[name] = &flight.SetSessionOptionsResultError{Value: code}
	}
	catalog, _ := s.Namespace()
	for _, name := range optionOrder(req.GetSessionOptions()) {
		value, isSet, ok := optionText(req.GetSessionOptions()[name])
		if !ok {
			fail(name, flight.SetSessionOptionsResultErrorInvalidValue)
			continue
		}
		switch {
		case name == optionCatalog:
			known, err := f.s.engine.Catalogs(ctx)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(known, value) {
				fail(name, flight.SetSessionOptionsResultErrorInvalidValue)
				continue
			}
			if catalog != value {
				catalog = value
				s.Use(catalog, "")
			}
		case name == optionSchema:
			known, err := f.s.engine.Schemas(ctx, catalog)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(known, value) {
				fail(name, flight.SetSessionOptionsResultErrorInvalidValue)
				continue
			}
			s.Use(catalog, value)
		default:
			text := "RESET " + quoteIdent(name)
			if isSet {
				text = "SET " + quoteIdent(name) + " = " + quoteText(value)
			}
			if _, err := f.update(ctx, text, nil); err != nil {
				f.s.o.Logger.Debug("flight sql: session option refused", "option", name, "error", err)
				fail(name, flight.SetSessionOptionsResultErrorInvalidValue)
			}
		}
	}
	return result, nil
}

// optionOrder is the options' names, the catalog before the schema that is looked for in it.
func optionOrder(options map[string]*flight.SessionOptionValue) []string {
	names := make([]string, 0, len(options))
	for name := range options {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// optionText is an option's value as SET takes it. isSet is false for an empty value, which resets the option.
func optionText(v *flight.SessionOptionValue) (text string, isSet, ok bool) {
	switch o := v.GetOptionValue().(type) {
	case nil:
		return "", false, true
	case *pb.SessionOptionValue_StringValue:
		return o.StringValue, true, true
	case *pb.SessionOptionValue_BoolValue:
		return strconv.FormatBool(o.BoolValue), true, true
	case *pb.SessionOptionValue_Int64Value:
		return strconv.FormatInt(o.Int64Value, 10), true, true
	case *pb.SessionOptionValue_DoubleValue:
		return strconv.FormatFloat(o.DoubleValue, 'g', -1, 64), true, true
	case *pb.SessionOptionValue_StringListValue_:
		return strings.Join(o.StringListValue.GetValues(), ","), true, true
	}
	return "", false, false
}

// GetSessionOptions shows the catalog, the schema and the settings that differ from the configuration, all as text.
func (f *frontDoor) GetSessionOptions(ctx context.Context, _ *flight.GetSessionOptionsRequest) (*flight.GetSessionOptionsResult, error) {
	s := sessionOf(ctx)
	catalog, schema := s.Namespace()
	values := map[string]any{optionCatalog: catalog, optionSchema: schema}
	for name, value := range s.Settings() {
		values[name] = value
	}
	options, err := flight.NewSessionOptionValues(values)
	if err != nil {
		return nil, fmt.Errorf("describe session: %w", err)
	}
	return &flight.GetSessionOptionsResult{SessionOptions: options}, nil
}

// CloseSession ends the session; the connection's next call opens a new one.
func (f *frontDoor) CloseSession(ctx context.Context, _ *flight.CloseSessionRequest) (*flight.CloseSessionResult, error) {
	f.s.sessions.end(sessionOf(ctx))
	if _, err := session.GetIncomingCookieByName(ctx, cookieName); err == nil {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("set-cookie", (&http.Cookie{Name: cookieName, Value: "gone", MaxAge: -1}).String()))
	}
	return &flight.CloseSessionResult{Status: flight.CloseSessionResultClosed}, nil
}
