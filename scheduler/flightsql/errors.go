package flightsql

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// Why a statement was cancelled by this package.
var (
	errGone       = cancelled("the statement was cancelled: the client went away")
	errAsked      = cancelled("the statement was cancelled by the client")
	errUnfetched  = cancelled("the statement was cancelled: nobody fetched its result in time")
	errShutdown   = cancelled("the statement was cancelled: the server is shutting down")
	errNotStarted = status.Error(codes.Unavailable, "the server is shutting down")
)

func cancelled(text string) error {
	return wire.Fail(seracv1.FailureKind_FAILURE_KIND_CANCELLED, errors.New(text))
}

// statusOf is a failure as clients get it. Its code follows the failure's kind, never its text.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	var failure *wire.Failure
	if !errors.As(err, &failure) {
		if st, ok := status.FromError(err); ok {
			return status.Error(st.Code(), wire.Cut(st.Message()))
		}
	}
	return status.Error(wire.Code(wire.KindOf(err)), wire.Cut(err.Error()))
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// guardUnary and guardStream turn a panic into an error of its call, give every error its code, and log it.

func (s *Server) guardUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() { err = s.guard(info.FullMethod, err, recover()) }()
	return handler(ctx, req)
}

func (s *Server) guardStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() { err = s.guard(info.FullMethod, err, recover()) }()
	return handler(srv, stream)
}

func (s *Server) guard(method string, err error, panicked any) error {
	if panicked != nil {
		// The value of a panic may hold anything, so it stays out of the log as well as out of the answer.
		s.o.Logger.Error("flight sql: panic", "method", method, "type", fmt.Sprintf("%T", panicked), "stack", string(debug.Stack()))
		return status.Error(codes.Internal, "internal error")
	}
	err = statusOf(err)
	if err != nil {
		s.o.Logger.Debug("flight sql: call failed", "method", method, "code", status.Code(err).String(), "error", status.Convert(err).Message())
	}
	return err
}
