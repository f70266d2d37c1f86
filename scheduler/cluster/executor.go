package cluster

import (
	"context"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
)

// maxQueue is how many messages may wait for an executor's stream. Launches are bounded by its slots; cancels and job
// ends are small. An executor that lets this fill up does not read any more.
const maxQueue = 4096

// executor is one attachment of an executor. Its fields are guarded by Cluster.mu, except where said.
type executor struct {
	info    ExecutorInfo
	heard   time.Time // when the last message came
	lost    bool
	stuck   bool          // its queue was full
	leaving bool          // the scheduler ends the stream once the queue is empty
	gone    chan struct{} // closed when lost

	queue []outgoing
	// ready has an element when the queue may not be empty.
	ready chan struct{}

	// parts are the files of statuses still to come.
	parts map[attemptKey]*seracv1.TaskStatusPart

	// unanswered are the launches, with their times, that the executor has not yet said anything about.
	unanswered map[attemptKey]time.Time

	// seed is the hash of the id, for placement; 0: not computed yet.
	seed uint64

	// idle counts those of its result attempts that wait for a reader; see Cluster.countIdle.
	idle int

	conn *grpc.ClientConn // to its Flight service; nil until needed
}

// outgoing is a message for an executor; a launch is split by the sender.
type outgoing struct {
	message *seracv1.AttachResponse
	launch  *seracv1.TaskLaunch
}

// attemptKey names an attempt among all jobs.
type attemptKey struct {
	job     string
	attempt job.AttemptID
}

func keyOf(id *seracv1.TaskId) attemptKey { return attemptKey{id.GetJobId(), job.AttemptOf(id)} }

// free is how many tasks may still be launched.
func (e *executor) free() int {
	if e.lost || e.info.Draining {
		return 0
	}
	return e.info.Slots - e.used()
}

// used is how many slots are taken. Results that wait for a reader take none, or clients that do not read would bring
// everything to a halt; but each still takes memory, so only so many are left out.
func (e *executor) used() int { return e.info.TasksRunning - min(e.idle, maxIdle*e.info.Slots) }

// maxIdle is how many results may wait for their readers beside each slot's task.
const maxIdle = 4

// load is the used part of the slots.
func (e *executor) load() float64 { return float64(e.used()) / float64(e.info.Slots) }

func (e *executor) wake() {
	select {
	case e.ready <- struct{}{}:
	default:
	}
}

// send queues a message. It never blocks. An executor whose queue is full counts as lost at the next tick, not here, in
// the middle of a step.
func (c *Cluster) send(e *executor, m outgoing) {
	if e.lost || e.stuck {
		return
	}
	if len(e.queue) >= maxQueue {
		e.stuck = true
		return
	}
	e.queue = append(e.queue, m)
	e.wake()
}

// checkAnswers counts an executor as lost that has free slots, as it says, and yet has not begun with a task that it was
// sent a lease ago: it reads no more, or has lost the task.
func (c *Cluster) checkAnswers(e *executor) {
	for key, sent := range e.unanswered {
		if waits := time.Since(sent); waits > c.o.Lease {
			c.lose(e, fmt.Sprintf("it has free slots and has not begun with task %s/%v, launched %v ago", key.job, key.attempt, waits.Round(time.Millisecond)))
			return
		}
	}
}

// takeQueue empties the queue for the sender; leaving says that nothing will follow.
func (c *Cluster) takeQueue(e *executor) (messages []outgoing, leaving bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	messages, e.queue = e.queue, nil
	return messages, e.leaving
}

// connectTimeout bounds one attempt to connect to an executor's Flight service. Without it a host that drops packets would
// cost each of its results 20 s before they are made elsewhere.
const connectTimeout = 5 * time.Second

// reconnect is short: an executor that cannot be reached at all is noticed by its lease.
var reconnect = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: connectTimeout}

// flightClient connects to the executor's Flight service, once.
func (c *Cluster) flightClient(e *executor) (flight.FlightServiceClient, error) {
	if e.lost {
		return nil, fmt.Errorf("executor %s is lost", e.info.ID)
	}
	if e.conn == nil {
		conn, err := grpc.NewClient("passthrough:///"+e.info.FlightAddress,
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return c.o.Dial(ctx, address) }),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: connectTimeout}),
			// One row may be large; the executor cuts batches of more than one row to about 1 MiB.
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
		if err != nil {
			return nil, fmt.Errorf("connect to executor %s at %s: %w", e.info.ID, e.info.FlightAddress, err)
		}
		e.conn = conn
	}
	return flight.NewFlightServiceClient(e.conn), nil
}

func (e *executor) closeFlight() {
	if e.conn != nil {
		_ = e.conn.Close() // what was still using it ends with an error of its own
		e.conn = nil
	}
}
