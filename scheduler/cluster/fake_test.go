package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

// bench is a cluster and the fake executors of a test, connected in memory.
type bench struct {
	t       testing.TB
	c       *Cluster
	server  *grpc.Server
	address *bufconn.Listener

	mu       sync.Mutex
	flights  map[string]*bufconn.Listener
	events   []Event
	orphans  []string
	launched int
}

func newBench(t testing.TB, o Options) *bench {
	checkGoroutines(t)
	b := &bench{t: t, flights: map[string]*bufconn.Listener{}, address: bufconn.Listen(1 << 20)}
	if o.Lease == 0 {
		o.Lease = 10 * time.Second
	}
	o.Logger = slog.New(slog.DiscardHandler)
	o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		b.mu.Lock()
		l := b.flights[address]
		b.mu.Unlock()
		if l == nil {
			return nil, fmt.Errorf("connection refused: %s", address)
		}
		return l.DialContext(ctx)
	}
	o.Listener = func(e Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, ok := e.(TaskLaunched); ok {
			b.launched++
		}
		b.events = append(b.events, e)
	}
	b.c = New(o)
	b.server = grpc.NewServer()
	b.c.Register(b.server)
	go func() { _ = b.server.Serve(b.address) }()
	t.Cleanup(func() {
		b.c.Close()
		b.server.Stop()
	})
	return b
}

// checkGoroutines fails the test if goroutines of ours are left at its end. Register it first, so that it runs last.
func checkGoroutines(t testing.TB) {
	t.Cleanup(func() {
		var stacks string
		for range 100 {
			buffer := make([]byte, 1<<20)
			buffer = buffer[:runtime.Stack(buffer, true)]
			var ours []string
			for g := range strings.SplitSeq(string(buffer), "\n\n") {
				if strings.Contains(g, "serac/scheduler/cluster") && !strings.Contains(g, "checkGoroutines") && !strings.Contains(g, "testing.tRunner") {
					ours = append(ours, g)
				}
			}
			if stacks = strings.Join(ours, "\n\n"); stacks == "" {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Errorf("goroutines are left:\n%s", stacks)
	})
}

func (b *bench) orphaned() RunOption {
	return WithOrphans(func(paths []string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.orphans = append(b.orphans, paths...)
	})
}

func (b *bench) eventually(what string, f func() bool) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return f()
	}, 5*time.Second, 2*time.Millisecond, what)
}

// fake is an executor. What a task does stands in its fragment:
//
//	shuffle N      writes N partitions
//	write PATH     writes a data file PATH-stage.task.attempt
//	result N       streams the numbers task*1000 ... of N rows, one batch each
//
// unless the test takes launches into its own hands.
type fake struct {
	b      *bench
	id     string
	conn   *grpc.ClientConn
	stream seracv1.SchedulerService_AttachClient
	flight *grpc.Server
	stop   context.CancelFunc
	silent atomic.Bool  // no heartbeats any more
	free   atomic.Int32 // what its heartbeats say of free slots
	done   chan struct{}
	wg     sync.WaitGroup

	// onLaunch, if not nil, is called instead of working; set before start.
	onLaunch      func(x *fake, l *seracv1.TaskLaunch)
	onCredentials func(*seracv1.Credentials)
	// onPart, if not nil, takes the assignments of each message of a launch, which are not kept then.
	onPart func([]*seracv1.LeafAssignment)
	dial   []grpc.DialOption // further ones, of the connection to the scheduler
	// onGet, if not nil, serves a result.
	onGet func(x *fake, id *seracv1.TaskId, w *flight.Writer) error

	sendMu sync.Mutex
	mu     sync.Mutex
	tasks  map[attemptKey]*seracv1.TaskLaunch
	ended  []string
	cancel []job.AttemptID
	err    error // of the stream
	sent   int   // batches written to results
}

func (b *bench) start(id string, slots int, change ...func(*fake, *seracv1.Register)) *fake {
	x, err := b.tryStart(id, slots, change...)
	require.NoError(b.t, err)
	return x
}

func (b *bench) tryStart(id string, slots int, change ...func(*fake, *seracv1.Register)) (*fake, error) {
	address := id + ":1"
	l := bufconn.Listen(1 << 16)
	x := &fake{b: b, id: id, done: make(chan struct{}), tasks: map[attemptKey]*seracv1.TaskLaunch{}}
	register := &seracv1.Register{ExecutorId: id, FlightAddress: address, Slots: int32(slots), MemoryBytes: 1 << 30, HostId: "host"}
	for _, f := range change {
		f(x, register)
	}
	x.flight = grpc.NewServer()
	flight.RegisterFlightServiceServer(x.flight, &fakeFlight{x: x})
	go func() { _ = x.flight.Serve(l) }()
	b.mu.Lock()
	b.flights[address] = l
	b.mu.Unlock()

	conn, err := grpc.NewClient("passthrough:///scheduler", append(x.dial, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.address.DialContext(ctx) }))...)
	require.NoError(b.t, err)
	ctx, stop := context.WithCancel(context.Background())
	x.conn, x.stop = conn, stop
	b.t.Cleanup(x.kill)
	x.stream, err = seracv1.NewSchedulerServiceClient(conn).Attach(ctx)
	require.NoError(b.t, err)
	x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Register{Register: register}})
	answer, err := x.stream.Recv()
	if err != nil {
		close(x.done)
		return nil, err
	}
	lease := time.Duration(answer.GetRegistered().GetLeaseMillis()) * time.Millisecond
	require.Equal(b.t, b.c.o.Lease, lease)
	x.wg.Go(func() {
		for {
			select {
			case <-x.done:
				return
			case <-time.After(lease / 4):
				if !x.silent.Load() {
					x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Heartbeat{Heartbeat: &seracv1.Heartbeat{MemoryUsedBytes: 7, FreeSlots: x.free.Load()}}})
				}
			}
		}
	})
	x.wg.Go(x.receive)
	return x, nil
}

// kill ends the executor as kill -9 does.
func (x *fake) kill() {
	x.stop()
	x.flight.Stop()
	_ = x.conn.Close()
	x.wg.Wait()
}

func (x *fake) send(m *seracv1.AttachRequest) {
	x.sendMu.Lock()
	defer x.sendMu.Unlock()
	_ = x.stream.Send(m)
}

func (x *fake) receive() {
	defer close(x.done)
	parts := map[attemptKey]*seracv1.TaskLaunch{}
	missing := map[attemptKey]int32{}
	for {
		m, err := x.stream.Recv()
		if err != nil {
			x.mu.Lock()
			x.err = err
			x.mu.Unlock()
			return
		}
		if x.onPart != nil {
			x.onPart(m.GetLaunch().GetAssignments())
			x.onPart(m.GetLaunchPart().GetAssignments())
			if m.GetLaunch() != nil {
				m.GetLaunch().Assignments = nil
			}
			if m.GetLaunchPart() != nil {
				m.GetLaunchPart().Assignments = nil
			}
		}
		switch m := m.GetMessage().(type) {
		case *seracv1.AttachResponse_Launch:
			key := keyOf(m.Launch.GetId())
			if m.Launch.GetParts() > 0 {
				parts[key], missing[key] = m.Launch, m.Launch.GetParts()
				continue
			}
			x.launch(m.Launch)
		case *seracv1.AttachResponse_LaunchPart:
			key := keyOf(m.LaunchPart.GetId())
			parts[key].Assignments = append(parts[key].Assignments, m.LaunchPart.GetAssignments()...)
			if missing[key]--; missing[key] == 0 {
				x.launch(parts[key])
			}
		case *seracv1.AttachResponse_Cancel:
			x.mu.Lock()
			x.cancel = append(x.cancel, job.AttemptOf(m.Cancel.GetId()))
			x.mu.Unlock()
		case *seracv1.AttachResponse_Credentials:
			x.onCredentials(m.Credentials)
		case *seracv1.AttachResponse_JobEnd:
			x.mu.Lock()
			x.ended = append(x.ended, m.JobEnd.GetJobId())
			x.mu.Unlock()
		}
	}
}

func (x *fake) launch(l *seracv1.TaskLaunch) {
	x.mu.Lock()
	x.tasks[keyOf(l.GetId())] = l
	x.mu.Unlock()
	if x.onLaunch != nil {
		x.onLaunch(x, l)
		return
	}
	x.work(l)
}

// work does what a task's fragment says.
func (x *fake) work(l *seracv1.TaskLaunch) {
	var kind, rest string
	_, err := fmt.Sscan(string(l.GetFragment()), &kind, &rest)
	require.NoError(x.b.t, err)
	switch kind {
	case "shuffle":
		var n int32
		_, _ = fmt.Sscan(rest, &n)
		st := &seracv1.TaskStatus{Id: l.GetId(), State: seracv1.TaskState_TASK_STATE_FINISHED, Metrics: &seracv1.TaskMetrics{InputRows: 10, OutputRows: 5, ElapsedMicros: 100}}
		for p := range n {
			st.ShuffleFiles = append(st.ShuffleFiles, &seracv1.ShuffleFile{
				Producer: l.GetId(), Partition: p, SizeBytes: 10, Rows: 1, ExecutorId: x.id, FlightAddress: x.id + ":1", HostId: "host", Path: fmt.Sprint("/spill/", p),
			})
		}
		x.status(st)
	case "write":
		x.status(&seracv1.TaskStatus{Id: l.GetId(), State: seracv1.TaskState_TASK_STATE_FINISHED,
			DataFiles: []*seracv1.DataFile{{Path: rest + "-" + job.AttemptOf(l.GetId()).String()}}})
	case "result":
		x.status(&seracv1.TaskStatus{Id: l.GetId(), State: seracv1.TaskState_TASK_STATE_STREAMING})
	}
}

func (x *fake) status(st *seracv1.TaskStatus) {
	x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Status{Status: st}})
}

func (x *fake) fail(id *seracv1.TaskId, kind seracv1.FailureKind, message string) {
	x.status(&seracv1.TaskStatus{Id: id, State: seracv1.TaskState_TASK_STATE_FAILED, Failure: &seracv1.Failure{Kind: kind, Message: message}})
}

func (x *fake) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.tasks)
}

type fakeFlight struct {
	flight.BaseFlightServer
	x *fake
}

var numbers = arrow.NewSchema([]arrow.Field{{Name: "c0", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

func (f *fakeFlight) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	var t seracv1.FlightTicket
	if err := proto.Unmarshal(ticket.GetTicket(), &t); err != nil {
		return err
	}
	id := t.GetResult()
	f.x.mu.Lock()
	l := f.x.tasks[keyOf(id)]
	f.x.mu.Unlock()
	if l == nil {
		return wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "no task %v", id)
	}
	w := flight.NewRecordWriter(stream, ipc.WithSchema(numbers))
	get := f.x.onGet
	if get == nil {
		get = func(x *fake, id *seracv1.TaskId, w *flight.Writer) error {
			var n int64
			_, _ = fmt.Sscanf(string(l.GetFragment()), "result %d", &n)
			for i := range n {
				if err := x.write(w, int64(id.GetTask())*1000+i, 1); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err := get(f.x, id, w); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	f.x.status(&seracv1.TaskStatus{Id: id, State: seracv1.TaskState_TASK_STATE_FINISHED, Metrics: &seracv1.TaskMetrics{OutputRows: 3, ElapsedMicros: 50}})
	return nil
}

// write sends a batch of n rows, all of them v.
func (x *fake) write(w *flight.Writer, v int64, n int) error {
	builder := array.NewInt64Builder(memory.DefaultAllocator)
	defer builder.Release()
	values := make([]int64, n)
	for i := range values {
		values[i] = v
	}
	builder.AppendValues(values, nil)
	column := builder.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(numbers, []arrow.Array{column}, int64(n))
	defer batch.Release()
	if err := w.Write(batch); err != nil {
		return err
	}
	x.mu.Lock()
	x.sent++
	x.mu.Unlock()
	return nil
}

// stage makes a stage of n tasks with a fragment; it reads partition i of each input in task i, or all with one task.
func stage(id plan.StageID, n int, fragment string, inputs ...plan.StageID) job.Stage {
	s := job.Stage{ID: id, Inputs: inputs, Fragment: []byte(fragment), Tasks: make([]job.Task, n)}
	switch {
	case strings.HasPrefix(fragment, "shuffle"):
		s.Sink = job.Shuffle
	case strings.HasPrefix(fragment, "write"):
		s.Sink = job.Write
	default:
		s.Sink = job.Result
	}
	for i := range s.Tasks {
		for j, in := range inputs {
			need := job.ShuffleNeed{Leaf: plan.LeafID(j), Stage: in}
			if n > 1 {
				need.Partitions = []int32{int32(i)}
			}
			s.Tasks[i].Shuffle = append(s.Tasks[i].Shuffle, need)
		}
	}
	return s
}

func spec(id string, stages ...job.Stage) job.Spec { return job.Spec{ID: id, Stages: stages} }

// readAll reads a run to its end.
func readAll(ctx context.Context, r *Run) (values []int64, err error) {
	for {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return values, err
		}
		values = append(values, b.Column(0).(*array.Int64).Int64Values()...)
		b.Release()
	}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
