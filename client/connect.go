package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// DefaultURL is where `serac serve` listens.
const DefaultURL = "grpc://127.0.0.1:50051"

const defaultPort = "50051"

// Conn is a connection to a server, and a session on it. One statement runs at a time.
type Conn struct {
	client *flightsql.Client
	conn   *grpc.ClientConn
	// header goes with every call: the caller's token, if there is one.
	header metadata.MD
}

// connectTimeout bounds the first exchange with a server.
const connectTimeout = 10 * time.Second

// Connect connects to a server by its URL: grpc://host[:port] in the clear, grpc+tls://host[:port] with TLS, and
// user[:password]@ before the host where the server wants a name. It asks the server something, so that a wrong address
// fails here.
func Connect(ctx context.Context, address string) (*Conn, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not an address like %s", redact(address), DefaultURL)
	}
	var creds credentials.TransportCredentials
	switch u.Scheme {
	case "grpc", "grpc+tcp":
		creds = insecure.NewCredentials()
	case "grpc+tls", "grpcs":
		creds = credentials.NewTLS(nil)
	default:
		return nil, fmt.Errorf("%q: the scheme must be grpc or grpc+tls", redact(address))
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	middleware := flight.CreateClientMiddleware(flight.NewCookieMiddleware())
	conn, err := grpc.NewClient("dns:///"+net.JoinHostPort(u.Hostname(), port),
		grpc.WithTransportCredentials(creds),
		grpc.WithChainUnaryInterceptor(middleware.Unary),
		grpc.WithChainStreamInterceptor(middleware.Stream),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessageBytes)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 20 * time.Second}),
		grpc.WithIdleTimeout(0), // The session lives with the connection.
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", u.Host, err)
	}
	c := &Conn{conn: conn, client: &flightsql.Client{Client: flight.NewClientFromConn(conn, nil), Alloc: memory.DefaultAllocator}}
	if err := c.greet(ctx, u); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("connect to %s: %w", net.JoinHostPort(u.Hostname(), port), cleanError(err))
	}
	return c, nil
}

// maxMessageBytes bounds one message of a result. Servers cut theirs far below; a single wide row may be large.
const maxMessageBytes = 256 << 20

// greet exchanges name and password for a token, where there are some, and opens the session.
func (c *Conn) greet(ctx context.Context, u *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if u.User != nil {
		password, _ := u.User.Password()
		authorized, err := c.client.Client.AuthenticateBasicToken(ctx, u.User.Username(), password)
		if err != nil {
			return err
		}
		c.header, _ = metadata.FromOutgoingContext(authorized)
	}
	_, err := c.client.GetSqlInfo(c.outgoing(ctx), []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName})
	if status.Code(err) == codes.Unimplemented || status.Code(err) == codes.NotFound {
		return nil // It does answer.
	}
	if errors.Is(err, context.DeadlineExceeded) || status.Code(err) == codes.DeadlineExceeded {
		return errors.New("no answer")
	}
	return err
}

func (c *Conn) outgoing(ctx context.Context) context.Context {
	if c.header == nil {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, c.header)
}

// Close ends the session and the connection. A statement that still runs is cancelled by the server.
func (c *Conn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// A server without sessions says so, and a server that is gone says nothing: neither matters any more.
	_, _ = c.client.CloseSession(c.outgoing(ctx), &flight.CloseSessionRequest{})
	return c.conn.Close()
}

// redact leaves the password out of an address.
func redact(address string) string {
	if at := strings.LastIndex(address, "@"); at >= 0 {
		scheme, _, found := strings.Cut(address, "://")
		if !found {
			scheme = "..."
		}
		return scheme + "://***" + address[at:]
	}
	return address
}

// cleanError takes gRPC's dress off an error of the server: a user wants the message.
func cleanError(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch st.Code() {
	case codes.Unavailable:
		return &serverError{code: st.Code(), text: "the server cannot be reached: " + st.Message()}
	case codes.Canceled:
		if st.Message() == context.Canceled.Error() {
			return errCancelled
		}
	}
	return &serverError{code: st.Code(), text: st.Message()}
}

// serverError is a server's message, with the status code that came with it.
type serverError struct {
	code codes.Code
	text string
}

func (e *serverError) Error() string { return e.text }

// errCancelled is a statement's error when it was cancelled from here.
var errCancelled = errors.New("cancelled")
