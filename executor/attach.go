package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

const (
	registerTimeout = 10 * time.Second
	minRetry        = 100 * time.Millisecond
	maxRetry        = 5 * time.Second
	// maxReceive is generous: a launch that is too large breaks the stream, and would again on the next executor.
	maxReceive = 32 << 20
)

// stayAttached attaches to the scheduler, again and again, until ctx ends. It returns an error only when attaching again
// cannot help.
func (e *Executor) stayAttached(ctx context.Context) error {
	retry := minRetry
	for {
		since := time.Now()
		err := e.attach(ctx)
		if ctx.Err() != nil || e.life.Err() != nil {
			return nil
		}
		if refused(err) {
			return fmt.Errorf("the scheduler at %s refuses this executor: %w", e.o.SchedulerAddress, err)
		}
		if time.Since(since) > 2*maxRetry {
			retry = minRetry
		}
		wait := retry/2 + rand.N(retry)
		e.log.Warn("not attached to the scheduler", "address", e.o.SchedulerAddress, "error", err, "retry_in", wait)
		select {
		case <-ctx.Done():
			return nil
		case <-e.life.Done():
			return nil
		case <-time.After(wait):
		}
		retry = min(2*retry, maxRetry)
	}
}

// refused says that the scheduler has looked at the registration and does not want it.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return true
	default:
		return false
	}
}

// attach registers and serves one attachment. It returns the stream's error when it broke, and nil after a drain.
// All tasks of the attachment have ended then, and its shuffle files are gone: the scheduler counts them as lost.
func (e *Executor) attach(ctx context.Context) error {
	conn, err := e.dialScheduler()
	if err != nil {
		return err
	}
	defer conn.Close()
	// The stream outlives ctx: a drain goes over it.
	streamCtx, breakOff := context.WithCancelCause(e.life)
	defer breakOff(nil)
	id := e.incarnation()
	stream, lease, err := e.register(ctx, streamCtx, conn, id, breakOff)
	if err != nil {
		return err
	}
	s := newSession(e, id, e.log.With("incarnation", id))
	e.setSession(s)
	defer e.setSession(nil)
	s.log.Info("attached to the scheduler", "address", e.o.SchedulerAddress, "lease", lease)
	if e.o.OnAttach != nil {
		e.o.OnAttach()
	}

	heartbeat := e.o.HeartbeatInterval
	if lease > 0 {
		heartbeat = min(heartbeat, lease/3)
	}
	received := make(chan error, 1)
	sent := make(chan error, 1)
	go func() { received <- s.receive(stream) }()
	go func() { sent <- s.send(streamCtx, stream, heartbeat, lease, breakOff) }()
	drained := make(chan struct{})
	drainCtx, stopDrain := context.WithCancel(streamCtx)
	go func() {
		defer close(drained)
		select {
		case <-ctx.Done():
			s.drain(drainCtx, e.o.DrainGrace, e.o.DrainTimeout)
			s.out.close() // send ends when all is sent
		case <-drainCtx.Done():
		}
	}()

	select {
	case err = <-received:
		breakOff(nil)
		<-sent //nolint:errcheck // it ended because of the break
	case err = <-sent:
		if err == nil {
			// Drained, and said all: let the scheduler take notice before the connection goes.
			_ = stream.CloseSend()
			select {
			case <-received: //nolint:errcheck // all is said, however the stream ends
			case <-time.After(time.Second):
				breakOff(nil)
				<-received //nolint:errcheck // it ended because of the break
			}
		} else {
			breakOff(nil)
			<-received //nolint:errcheck // it ended because of the break
		}
	}
	stopDrain()
	<-drained
	s.end()
	if errors.Is(err, io.EOF) {
		err = errors.New("the scheduler ended the stream")
	}
	return err
}

func (e *Executor) dialScheduler() (*grpc.ClientConn, error) {
	dial := e.o.Dial
	if dial == nil {
		dial = dialTCP
	}
	conn, err := grpc.NewClient("passthrough:///"+e.o.SchedulerAddress,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceive)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: minRetry, Multiplier: 2, MaxDelay: maxRetry},
			MinConnectTimeout: registerTimeout,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("dial scheduler: %w", err)
	}
	return conn, nil
}

var errNotRegistered = errors.New("the scheduler did not answer the registration")

// register opens the stream and introduces the executor; lease is what the scheduler grants.
func (e *Executor) register(ctx, streamCtx context.Context, conn *grpc.ClientConn, id string, breakOff context.CancelCauseFunc) (stream seracv1.SchedulerService_AttachClient, lease time.Duration, err error) {
	timeout := time.AfterFunc(registerTimeout, func() { breakOff(errNotRegistered) })
	defer timeout.Stop()
	// Before there are tasks, the end of ctx needs no drain.
	stop := context.AfterFunc(ctx, func() { breakOff(context.Cause(ctx)) })
	defer stop()
	stream, err = seracv1.NewSchedulerServiceClient(conn).Attach(streamCtx)
	if err != nil {
		return nil, 0, fmt.Errorf("attach: %w", err)
	}
	if stream, err = e.authenticated(stream, id); err != nil {
		return nil, 0, err
	}
	err = stream.Send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Register{Register: &seracv1.Register{
		ExecutorId:    id,
		FlightAddress: e.o.AdvertiseAddress,
		Slots:         int32(e.o.Slots),
		MemoryBytes:   e.o.MemoryLimit,
		Version:       e.o.Version,
		HostId:        e.o.HostID,
		Extensions:    e.o.Formats.Registry().Names(),
	}}})
	if err != nil && !errors.Is(err, io.EOF) { // after EOF, Recv has the reason
		return nil, 0, fmt.Errorf("register: %w", err)
	}
	answer, err := stream.Recv()
	if err != nil {
		if errors.Is(context.Cause(streamCtx), errNotRegistered) {
			return nil, 0, errNotRegistered
		}
		if errors.Is(err, wire.ErrSeal) {
			return nil, 0, status.Error(codes.Unauthenticated, err.Error())
		}
		return nil, 0, err
	}
	registered := answer.GetRegistered()
	if registered == nil {
		return nil, 0, fmt.Errorf("register: the scheduler answered with %T", answer.GetMessage())
	}
	return stream, time.Duration(registered.GetLeaseMillis()) * time.Millisecond, nil
}
