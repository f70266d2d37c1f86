package flightsql

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/session"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/seracdb/serac/scheduler/engine"
)

// A call's session is the one its cookie names, or else the one of its connection and caller. Every answer to a call
// without a known cookie sets one. So SET and USE hold for a client's connection, whether it keeps cookies or not; a
// client that does keep them finds its session again after its connection was replaced, and can share it between several.

// clientSession is a session and what keeps it alive.
type clientSession struct {
	*engine.Session
	id string

	// Under sessions.mu:
	connections int
	cookieSeen  bool // the client keeps cookies, and may come back over another connection
	expiry      *time.Timer
	closed      bool
}

// connection is one client's gRPC connection.
type connection struct {
	// Under sessions.mu:
	byCaller map[string]*clientSession // by the authorization header: a proxy may carry several callers
	uses     map[*clientSession]struct{}

	mu         sync.Mutex
	statements map[*statement]struct{}
}

func (c *connection) add(st *statement) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.statements[st] = struct{}{}
}

func (c *connection) remove(st *statement) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.statements, st)
}

type sessions struct {
	engine engine.Engine
	idle   time.Duration
	onDrop func(*clientSession)

	mu   sync.Mutex
	byID map[string]*clientSession
}

func newSessions(e engine.Engine, idle time.Duration, onDrop func(*clientSession)) *sessions {
	return &sessions{engine: e, idle: idle, onDrop: onDrop, byID: map[string]*clientSession{}}
}

type (
	connectionKey struct{}
	sessionKey    struct{}
)

func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

func sessionOf(ctx context.Context) *clientSession { return ctx.Value(sessionKey{}).(*clientSession) }

func withSession(ctx context.Context, s *clientSession) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// cookieName is that of Arrow's own stateful sessions.
const cookieName = session.StatefulSessionCookieName

// attach finds or opens the session of a call.
func (r *sessions) attach(ctx context.Context) context.Context {
	conn := connectionOf(ctx)
	caller := authorization(ctx)
	cookie, cookieErr := session.GetIncomingCookieByName(ctx, cookieName)
	r.mu.Lock()
	defer r.mu.Unlock()
	if cookieErr == nil {
		if s, ok := r.byID[cookie.Value]; ok {
			s.cookieSeen = true
			r.use(conn, s)
			return withSession(ctx, s)
		}
	}
	s := conn.byCaller[caller]
	if s == nil || s.closed {
		s = &clientSession{Session: r.engine.NewSession(userOf(caller)), id: uuid.NewString()}
		r.byID[s.id] = s
		conn.byCaller[caller] = s
		r.use(conn, s)
	}
	_ = grpc.SetHeader(ctx, metadata.Pairs("set-cookie", (&http.Cookie{Name: cookieName, Value: s.id}).String()))
	return withSession(ctx, s)
}

// use notes that a connection uses a session.
func (r *sessions) use(conn *connection, s *clientSession) {
	if _, ok := conn.uses[s]; ok {
		return
	}
	conn.uses[s] = struct{}{}
	s.connections++
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
}

// disconnect lets go of a connection's sessions.
func (r *sessions) disconnect(conn *connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range conn.uses {
		if s.connections--; s.connections > 0 || s.closed {
			continue
		}
		if !s.cookieSeen {
			r.drop(s)
			continue
		}
		s.expiry = time.AfterFunc(r.idle, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if s.connections == 0 {
				r.drop(s)
			}
		})
	}
	clear(conn.uses)
	clear(conn.byCaller)
}

func (r *sessions) drop(s *clientSession) {
	if s.closed {
		return
	}
	s.closed = true
	delete(r.byID, s.id)
	if s.expiry != nil {
		s.expiry.Stop()
	}
	r.onDrop(s)
}

// end closes a session at its client's wish. Calls that are still running in it go on.
func (r *sessions) end(s *clientSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(s)
}

func (r *sessions) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.byID {
		r.drop(s)
	}
}

func (r *sessions) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return handler(r.attach(ctx), req)
}

func (r *sessions) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.FullMethod == handshakeMethod {
		return handler(srv, stream)
	}
	return handler(srv, &sessionStream{ServerStream: stream, ctx: r.attach(stream.Context())})
}

type sessionStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *sessionStream) Context() context.Context { return s.ctx }

// connectionTracker tells connections apart, and hears of their end.
type connectionTracker struct{ s *Server }

// TagConn gives every call of a connection the connection.
func (connectionTracker) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{
		byCaller: map[string]*clientSession{}, uses: map[*clientSession]struct{}{}, statements: map[*statement]struct{}{},
	})
}

// HandleConn ends what a connection that has ended leaves behind.
func (t connectionTracker) HandleConn(ctx context.Context, event stats.ConnStats) {
	if _, ok := event.(*stats.ConnEnd); !ok {
		return
	}
	conn := connectionOf(ctx)
	t.s.sessions.disconnect(conn)
	conn.mu.Lock()
	defer conn.mu.Unlock()
	for st := range conn.statements {
		time.AfterFunc(t.s.o.DisconnectGrace, func() { st.abandon(errGone) })
	}
}

// TagRPC does nothing.
func (connectionTracker) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC does nothing.
func (connectionTracker) HandleRPC(context.Context, stats.RPCStats) {}
