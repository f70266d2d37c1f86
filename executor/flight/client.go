package flight

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/seracdb/serac/executor/shuffle"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// minPing is how often clients may ping; they ping at pingInterval on connections with calls.
const (
	minPing      = 5 * time.Second
	pingInterval = 10 * time.Second
)

// Pool holds one connection for each executor that was talked to. It is safe for concurrent use.
type Pool struct {
	dial func(ctx context.Context, address string) (net.Conn, error)
	idle time.Duration // how long an unused connection is kept
	// stall is how long a shuffle file may give no bytes before its executor counts as unreachable.
	stall time.Duration

	sealer *wire.Sealer

	mu     sync.Mutex
	conns  map[string]*pooled
	closed bool
}

type pooled struct {
	conn  *grpc.ClientConn
	users int
	used  time.Time
}

// NewPool makes an empty pool. dial opens connections; nil: TCP.
func NewPool(dial func(ctx context.Context, address string) (net.Conn, error)) *Pool {
	if dial == nil {
		dial = func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}
	}
	return &Pool{dial: dial, idle: 5 * time.Minute, stall: 30 * time.Second, conns: map[string]*pooled{}}
}

// Authenticate seals the tickets of all calls from now on; call it before the first.
func (p *Pool) Authenticate(s *wire.Sealer) { p.sealer = s }

// ErrPoolClosed is what calls through a closed pool fail with.
var ErrPoolClosed = errors.New("the pool of flight connections is closed")

// get is the connection to address; the caller calls done once it has no more calls on it.
func (p *Pool) get(address string) (conn *grpc.ClientConn, done func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrPoolClosed
	}
	c := p.conns[address]
	if c == nil {
		p.dropIdle()
		// Executors come back on their old addresses: their connections must not wait out a long backoff.
		retry := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}
		conn, err := grpc.NewClient("passthrough:///"+address,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(p.dial),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: 5 * time.Second}),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxMessageBytes)),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingInterval, Timeout: pingInterval}),
		)
		if err != nil {
			return nil, nil, fmt.Errorf("connect to executor %s: %w", address, err)
		}
		c = &pooled{conn: conn}
		p.conns[address] = c
	}
	c.users++
	var once sync.Once
	return c.conn, func() {
		once.Do(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			c.users--
			c.used = time.Now()
		})
	}, nil
}

// dropIdle closes connections to executors that nobody has talked to for a while. p is locked.
func (p *Pool) dropIdle() {
	for address, c := range p.conns {
		if c.users == 0 && time.Since(c.used) > p.idle {
			_ = c.conn.Close() // nobody uses it
			delete(p.conns, address)
		}
	}
}

// Close closes all connections, which ends the calls on them.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var faults []error
	for address, c := range p.conns {
		faults = append(faults, c.conn.Close())
		delete(p.conns, address)
	}
	return errors.Join(faults...)
}

var errStalled = errors.New("the executor sends nothing")

// ReadShuffle implements shuffle.Remote: it reads the file from the executor at its address.
func (p *Pool) ReadShuffle(ctx context.Context, file *seracv1.ShuffleFile, w io.Writer) error {
	conn, done, err := p.get(file.GetFlightAddress())
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(p.stall, func() { cancel(errStalled) })
	defer stall.Stop()
	stream, err := p.doGet(ctx, conn, file.GetFlightAddress(), &seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Shuffle{Shuffle: file}})
	if err != nil {
		return transport(ctx, err)
	}
	for {
		data, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return transport(ctx, err)
		}
		stall.Reset(p.stall)
		if _, err := w.Write(data.GetDataBody()); err != nil {
			return fmt.Errorf("%w: %w", shuffle.ErrWrite, err)
		}
	}
}

// transport is a call's error: what the executor said, else that the executor could not be talked to.
func transport(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		err = errStalled
	}
	f := wire.FailureFrom(err)
	switch f.GetKind() {
	case seracv1.FailureKind_FAILURE_KIND_CANCELLED, seracv1.FailureKind_FAILURE_KIND_DEADLINE:
		// Not this call's doing, or its caller sees so from ctx.
		f.Kind = seracv1.FailureKind_FAILURE_KIND_TRANSPORT
	}
	if errors.Is(err, errStalled) {
		f.Kind = seracv1.FailureKind_FAILURE_KIND_TRANSPORT
	}
	return wire.ErrorFrom(f)
}

func (p *Pool) doGet(ctx context.Context, conn *grpc.ClientConn, address string, ticket *seracv1.FlightTicket) (arrowflight.FlightService_DoGetClient, error) {
	raw, err := wire.EncodeTicket(p.sealer, address, ticket)
	if err != nil {
		return nil, err
	}
	return arrowflight.NewFlightServiceClient(conn).DoGet(ctx, &arrowflight.Ticket{Ticket: raw})
}
