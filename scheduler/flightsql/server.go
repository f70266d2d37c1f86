package flightsql

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/seracdb/serac/scheduler/engine"
)

// Server serves Flight SQL. Make it with New, run it with Serve, end it with Shutdown.
type Server struct {
	o          Options
	engine     engine.Engine
	grpc       *grpc.Server
	sessions   *sessions
	statements *statements
	prepared   *preparedStatements

	// base ends when the server does; every statement's context descends from it.
	base     context.Context
	stop     context.CancelCauseFunc
	draining chan struct{}
	drain    sync.Once
}

// maxRequestBytes bounds one message of a client: a statement's text, or a batch of parameters.
const maxRequestBytes = 16 << 20

// New makes a server over an engine. The engine outlives it.
func New(e engine.Engine, o Options) *Server {
	s := &Server{o: o.withDefaults(), engine: e, draining: make(chan struct{})}
	s.base, s.stop = context.WithCancelCause(context.Background())
	s.prepared = newPreparedStatements()
	s.statements = newStatements(s.o)
	s.sessions = newSessions(e, s.o.SessionIdle, s.prepared.dropSession)
	s.grpc = grpc.NewServer(
		grpc.StatsHandler(connectionTracker{s}),
		grpc.ChainUnaryInterceptor(s.guardUnary, s.sessions.unary),
		grpc.ChainStreamInterceptor(s.guardStream, s.sessions.stream),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		// A client whose machine or network has gone is noticed by pings, since its TCP connection stays open.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	front := &frontDoor{s: s}
	front.Alloc = memory.DefaultAllocator
	front.registerSQLInfo()
	flight.RegisterFlightServiceServer(s.grpc, &service{FlightServer: flightsql.NewFlightServer(front)})
	return s
}

// Serve accepts connections until Shutdown, and then returns nil. It owns the listener.
func (s *Server) Serve(l net.Listener) error { return s.grpc.Serve(l) }

// Shutdown refuses new statements, waits for those that run to end and be fetched until the context is done, cancels
// the rest, and closes all connections.
func (s *Server) Shutdown(ctx context.Context) {
	s.drain.Do(func() { close(s.draining) })
	s.statements.wait(ctx)
	s.stop(errShutdown)
	s.statements.close()
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
		s.grpc.Stop()
		<-done
	}
	s.sessions.close()
}

// frontDoor answers the Flight SQL calls. It is apart from Server to keep them out of the package's interface.
type frontDoor struct {
	flightsql.BaseServer
	s *Server
}
