package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
)

type attachStream = grpc.BidiStreamingServer[seracv1.AttachRequest, seracv1.AttachResponse]

// Attach is the stream that an executor holds for as long as it lives. It ends when the executor goes, when the cluster
// counts it as lost, or when the cluster closes.
func (c *Cluster) Attach(raw attachStream) error {
	stream, err := c.authenticated(raw)
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return c.refusedBy(err)
	}
	register := first.GetRegister()
	if register == nil {
		return status.Error(codes.InvalidArgument, "the first message of an executor must be register")
	}
	e, err := c.register(register)
	if err != nil {
		return err
	}
	received := make(chan error, 1)
	go func() { received <- c.receive(stream, e) }()
	why := c.serve(stream, e, received)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.lose(e, why)
	if why == "" {
		return nil
	}
	return status.Errorf(codes.Aborted, "executor %s counts as lost: %s", e.info.ID, why)
}

// serve sends what is queued until the stream must end, and says why it does.
func (c *Cluster) serve(stream attachStream, e *executor, received <-chan error) (why string) {
	for {
		select {
		case <-e.gone:
			return "the scheduler gave it up"
		case err := <-received:
			return c.streamEnded(e, err)
		case <-e.ready:
			messages, leaving := c.takeQueue(e)
			for _, m := range messages {
				if err := sendSplit(stream, m); err != nil {
					return "its stream broke: " + err.Error()
				}
			}
			if leaving {
				return "the scheduler is shutting down"
			}
		}
	}
}

func (c *Cluster) streamEnded(e *executor, err error) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case errors.Is(err, io.EOF) && e.info.Draining:
		return ""
	case errors.Is(err, io.EOF):
		return "it ended its stream"
	default:
		return "its stream broke: " + status.Convert(err).Message()
	}
}

// register checks an executor and takes it in.
func (c *Cluster) register(r *seracv1.Register) (*executor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.admit(r); err != nil {
		c.emit(ExecutorRefused{ID: r.GetExecutorId(), Address: r.GetFlightAddress(), Reason: status.Convert(err).Message()})
		return nil, err
	}
	e := &executor{
		info: ExecutorInfo{
			ID: r.GetExecutorId(), FlightAddress: r.GetFlightAddress(), HostID: r.GetHostId(), Version: r.GetVersion(),
			Slots: int(r.GetSlots()), MemoryBytes: r.GetMemoryBytes(),
		},
		heard: time.Now(), gone: make(chan struct{}), ready: make(chan struct{}, 1),
		parts: map[attemptKey]*seracv1.TaskStatusPart{}, unanswered: map[attemptKey]time.Time{},
	}
	c.executors[e.info.ID] = e
	i, _ := c.find(e.info.ID)
	c.order = slices.Insert(c.order, i, e)
	c.send(e, outgoing{message: &seracv1.AttachResponse{Message: &seracv1.AttachResponse_Registered{
		Registered: &seracv1.Registered{LeaseMillis: c.o.Lease.Milliseconds()},
	}}})
	c.emit(ExecutorAttached{Executor: e.info})
	for _, run := range c.sortedRuns() {
		c.step(run, job.ExecutorAdded{Executor: e.info.ID})
	}
	c.countTaking()
	c.dispatch()
	return e, nil
}

// admit says why an executor cannot be taken in.
func (c *Cluster) admit(r *seracv1.Register) error {
	refuse := func(code codes.Code, format string, args ...any) error {
		return status.Errorf(code, "executor %q: "+format, append([]any{r.GetExecutorId()}, args...)...)
	}
	if c.closed {
		return status.Error(codes.Unavailable, "the scheduler is shutting down")
	}
	if r.GetExecutorId() == "" {
		return refuse(codes.InvalidArgument, "it has no id")
	}
	if err := checkAddress(r.GetFlightAddress()); err != nil {
		return refuse(codes.InvalidArgument, "its Flight address %q cannot be reached by others: %v", r.GetFlightAddress(), err)
	}
	if r.GetSlots() <= 0 {
		return refuse(codes.InvalidArgument, "it has %d slots", r.GetSlots())
	}
	if c.o.Version != "" && r.GetVersion() != c.o.Version {
		return refuse(codes.FailedPrecondition, "its version is %q, the scheduler's is %q: they must be the same", r.GetVersion(), c.o.Version)
	}
	if missing, unknown := difference(c.o.Extensions, r.GetExtensions()); len(missing)+len(unknown) > 0 {
		return refuse(codes.FailedPrecondition, "its extensions differ from the scheduler's: it lacks [%s], the scheduler lacks [%s]",
			strings.Join(missing, " "), strings.Join(unknown, " "))
	}
	if c.executors[r.GetExecutorId()] != nil {
		return refuse(codes.AlreadyExists, "an executor of this id is attached")
	}
	return nil
}

// checkAddress refuses what is an address for listening and not one to reach somebody at.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return errors.New("it is not host:port")
	case host == "":
		return errors.New("it names no host")
	case port == "" || port == "0":
		return errors.New("it names no port")
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return errors.New("it means every address of the host; advertise the one that others connect to")
	}
	return nil
}

// difference gives what only a has, and what only b has, sorted.
func difference(a, b []string) (onlyA, onlyB []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			onlyA = append(onlyA, x)
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			onlyB = append(onlyB, x)
		}
	}
	slices.Sort(onlyA)
	slices.Sort(onlyB)
	return onlyA, onlyB
}

// receive handles what the executor says until its stream ends.
func (c *Cluster) receive(stream attachStream, e *executor) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := c.handle(e, m); err != nil {
			return err
		}
	}
}

func (c *Cluster) handle(e *executor, m *seracv1.AttachRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.lost {
		return fmt.Errorf("executor %s is lost", e.info.ID) // whatever a lost executor says comes too late
	}
	e.heard = time.Now()
	switch m := m.GetMessage().(type) {
	case *seracv1.AttachRequest_Heartbeat:
		e.info.MemoryUsedBytes, e.info.SpillBytes = m.Heartbeat.GetMemoryUsedBytes(), m.Heartbeat.GetSpillBytes()
		for _, st := range m.Heartbeat.GetRunning() {
			c.status(e, st)
		}
		if m.Heartbeat.GetFreeSlots() > 0 {
			c.checkAnswers(e)
		}
		return nil // nothing to launch because of that
	case *seracv1.AttachRequest_StatusPart:
		key := keyOf(m.StatusPart.GetId())
		parts := e.parts[key]
		if parts == nil {
			parts = &seracv1.TaskStatusPart{}
			e.parts[key] = parts
		}
		parts.DataFiles = append(parts.DataFiles, m.StatusPart.GetDataFiles()...)
		parts.ShuffleFiles = append(parts.ShuffleFiles, m.StatusPart.GetShuffleFiles()...)
		parts.Summaries = append(parts.Summaries, m.StatusPart.GetSummaries()...)
		return nil
	case *seracv1.AttachRequest_Status:
		c.status(e, m.Status)
	case *seracv1.AttachRequest_Credentials:
		c.credentials(e, m.Credentials)
		return nil
	case *seracv1.AttachRequest_Drain:
		c.drain(e)
	case *seracv1.AttachRequest_Register:
		return errors.New("it registered twice")
	default:
		// A newer executor may say more; versions that must not be mixed are refused at registration.
	}
	c.dispatch()
	return nil
}
