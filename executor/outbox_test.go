package executor

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// stuckStream takes so many messages and then no more, until its context ends.
type stuckStream struct {
	grpc.ClientStream
	ctx context.Context

	mu   sync.Mutex
	room int
	sent []*seracv1.AttachRequest
}

func (s *stuckStream) Send(m *seracv1.AttachRequest) error {
	s.mu.Lock()
	if s.room > 0 {
		s.room--
		s.sent = append(s.sent, m)
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	<-s.ctx.Done()
	return s.ctx.Err()
}

func (s *stuckStream) Recv() (*seracv1.AttachResponse, error) {
	<-s.ctx.Done()
	return nil, s.ctx.Err()
}

// TestSchedulerThatDoesNotRead: a stream that takes nothing for as long as the lease is broken off.
func TestSchedulerThatDoesNotRead(t *testing.T) {
	ctx, breakOff := context.WithCancelCause(t.Context())
	defer breakOff(nil)
	stream := &stuckStream{ctx: ctx, room: 2}
	s := newSession(nil, "e", nil)
	for i := range int32(3) {
		s.out.status(&seracv1.TaskStatus{Id: id("j", 0, i)})
	}
	since := time.Now()
	err := s.send(ctx, stream, time.Hour, 100*time.Millisecond, breakOff)
	require.ErrorIs(t, err, errSendStalled)
	require.GreaterOrEqual(t, time.Since(since), 100*time.Millisecond)
	require.Len(t, stream.sent, 2)
	require.Equal(t, int32(0), stream.sent[0].GetStatus().GetId().GetTask(), "statuses go in order")
	require.Equal(t, int32(1), stream.sent[1].GetStatus().GetId().GetTask())
}

// TestOutboxIsEmptiedBeforeTheEnd: what was put before the close is sent, and then the sender ends.
func TestOutboxIsEmptiedBeforeTheEnd(t *testing.T) {
	ctx, breakOff := context.WithCancelCause(t.Context())
	defer breakOff(nil)
	stream := &stuckStream{ctx: ctx, room: 100}
	s := newSession(nil, "e", nil)
	for i := range int32(50) {
		s.out.status(&seracv1.TaskStatus{Id: id("j", 0, i)})
	}
	s.out.drain()
	s.out.close()
	require.NoError(t, s.send(ctx, stream, time.Hour, time.Hour, breakOff))
	require.Len(t, stream.sent, 51)
	require.NotNil(t, stream.sent[50].GetDrain())
}
