package executor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// partBytes is the size that statuses are cut down to.
const partBytes = 512 << 10

// outbox holds what is to be said to the scheduler, in order. It never blocks a task; what it holds is bounded by the
// number of tasks, which have a few statuses each.
type outbox struct {
	mu     sync.Mutex
	queue  []*seracv1.AttachRequest
	closed bool
	signal chan struct{} // has room for one
}

func newOutbox() *outbox { return &outbox{signal: make(chan struct{}, 1)} }

func (o *outbox) put(messages ...*seracv1.AttachRequest) {
	o.mu.Lock()
	o.queue = append(o.queue, messages...)
	o.mu.Unlock()
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.signal <- struct{}{}:
	default:
	}
}

// close says that nothing more comes.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.wake()
}

// take is the next message, nil when there is none now; more is false when none will ever come.
func (o *outbox) take() (m *seracv1.AttachRequest, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		return nil, !o.closed
	}
	m = o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	return m, true
}

func (o *outbox) drain() {
	o.put(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Drain{Drain: &seracv1.Drain{}}})
}

// status queues a status; a large one goes in parts.
func (o *outbox) status(s *seracv1.TaskStatus) { o.put(split(s)...) }

// split cuts the files and summaries of a status into parts that go before it, so that no message is much larger than partBytes.
func split(s *seracv1.TaskStatus) []*seracv1.AttachRequest {
	whole := func(s *seracv1.TaskStatus) *seracv1.AttachRequest {
		return &seracv1.AttachRequest{Message: &seracv1.AttachRequest_Status{Status: s}}
	}
	if proto.Size(s) <= partBytes {
		return []*seracv1.AttachRequest{whole(s)}
	}
	var out []*seracv1.AttachRequest
	part, size := &seracv1.TaskStatusPart{Id: s.GetId()}, 0
	flush := func() {
		if size > 0 {
			out = append(out, &seracv1.AttachRequest{Message: &seracv1.AttachRequest_StatusPart{StatusPart: part}})
			part, size = &seracv1.TaskStatusPart{Id: s.GetId()}, 0
		}
	}
	for _, f := range s.GetDataFiles() {
		if n := proto.Size(f); size+n > partBytes {
			flush()
		}
		part.DataFiles = append(part.DataFiles, f)
		size += proto.Size(f)
	}
	for _, f := range s.GetShuffleFiles() {
		if n := proto.Size(f); size+n > partBytes {
			flush()
		}
		part.ShuffleFiles = append(part.ShuffleFiles, f)
		size += proto.Size(f)
	}
	for _, k := range s.GetSummaries() {
		if n := proto.Size(k); size+n > partBytes {
			flush()
		}
		part.Summaries = append(part.Summaries, k)
		size += proto.Size(k)
	}
	flush()
	return append(out, whole(&seracv1.TaskStatus{
		Id: s.GetId(), State: s.GetState(), Metrics: s.GetMetrics(), Failure: s.GetFailure(),
	}))
}

// send says on the stream what is in the outbox, and heartbeats, until the outbox is closed and empty or the stream
// breaks. A scheduler that takes nothing for as long as its own lease is as good as gone.
func (s *session) send(ctx context.Context, stream seracv1.SchedulerService_AttachClient, heartbeat, lease time.Duration, breakOff context.CancelCauseFunc) error {
	if lease <= 0 {
		lease = 4 * heartbeat
	}
	say := func(m *seracv1.AttachRequest) error {
		stalled := time.AfterFunc(lease, func() { breakOff(errSendStalled) })
		defer stalled.Stop()
		if err := stream.Send(m); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return fmt.Errorf("send to the scheduler: %w", err)
		}
		return nil
	}
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		m, more := s.out.take()
		if m != nil {
			if err := say(m); err != nil {
				return err
			}
			continue
		}
		if !more {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.out.signal:
		case <-ticker.C:
			if err := say(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Heartbeat{Heartbeat: s.heartbeat()}}); err != nil {
				return err
			}
		}
	}
}
