package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/executor/task"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// scheduler is the other end of an executor's stream, driven by a test.
type scheduler struct {
	seracv1.UnimplementedSchedulerServiceServer
	t        *testing.T
	address  string
	server   *grpc.Server
	attached chan *attachment
	refuse   error
}

// attachment is one executor that has registered.
type attachment struct {
	t        *testing.T
	register *seracv1.Register
	stream   seracv1.SchedulerService_AttachServer
	cut      chan struct{} // close it to end the stream

	mu         sync.Mutex
	changed    chan struct{}
	statuses   map[task.Key][]*seracv1.TaskStatus
	parts      map[task.Key]*seracv1.TaskStatusPart
	heartbeats []*seracv1.Heartbeat
	draining   bool
	gone       bool
	largest    int
}

func newScheduler(t *testing.T) *scheduler {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &scheduler{t: t, address: l.Addr().String(), attached: make(chan *attachment, 16)}
	s.serve(l)
	t.Cleanup(func() { s.server.Stop() })
	return s
}

func (s *scheduler) serve(l net.Listener) {
	s.server = grpc.NewServer()
	seracv1.RegisterSchedulerServiceServer(s.server, s)
	go s.server.Serve(l)
}

func (s *scheduler) Attach(stream seracv1.SchedulerService_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if s.refuse != nil {
		return s.refuse
	}
	a := &attachment{
		t: s.t, register: first.GetRegister(), stream: stream, cut: make(chan struct{}), changed: make(chan struct{}),
		statuses: map[task.Key][]*seracv1.TaskStatus{}, parts: map[task.Key]*seracv1.TaskStatusPart{},
	}
	err = stream.Send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Registered{
		Registered: &seracv1.Registered{LeaseMillis: 20_000},
	}})
	if err != nil {
		return err
	}
	s.attached <- a
	ended := make(chan error, 1)
	go func() { ended <- a.receive() }()
	select {
	case <-a.cut:
		return status.Error(codes.Unavailable, "cut off by the test")
	case err := <-ended:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

func (a *attachment) receive() error {
	defer a.update(func() { a.gone = true })
	for {
		m, err := a.stream.Recv()
		if err != nil {
			return err
		}
		a.update(func() {
			a.largest = max(a.largest, proto.Size(m))
			switch m := m.GetMessage().(type) {
			case *seracv1.AttachRequest_Status:
				key := task.KeyOf(m.Status.GetId())
				if part := a.parts[key]; part != nil {
					m.Status.DataFiles = append(m.Status.DataFiles, part.GetDataFiles()...)
					m.Status.ShuffleFiles = append(m.Status.ShuffleFiles, part.GetShuffleFiles()...)
					m.Status.Summaries = append(m.Status.Summaries, part.GetSummaries()...)
				}
				a.statuses[key] = append(a.statuses[key], m.Status)
			case *seracv1.AttachRequest_StatusPart:
				key := task.KeyOf(m.StatusPart.GetId())
				if a.parts[key] == nil {
					a.parts[key] = &seracv1.TaskStatusPart{}
				}
				proto.Merge(a.parts[key], m.StatusPart)
			case *seracv1.AttachRequest_Heartbeat:
				a.heartbeats = append(a.heartbeats, m.Heartbeat)
			case *seracv1.AttachRequest_Drain:
				a.draining = true
			}
		})
	}
}

func (a *attachment) update(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// await waits until cond, which is called under the lock, holds.
func (a *attachment) await(what string, cond func() bool) {
	a.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		a.mu.Lock()
		ok, changed := cond(), a.changed
		a.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			require.FailNow(a.t, "timed out waiting for "+what)
		}
	}
}

// awaitState waits for a status of that state, or for the end of the attempt, and returns it.
func (a *attachment) awaitState(id *seracv1.TaskId, state seracv1.TaskState) *seracv1.TaskStatus {
	a.t.Helper()
	var found *seracv1.TaskStatus
	a.await(fmt.Sprintf("%s of %s", state, task.KeyOf(id)), func() bool {
		for _, s := range a.statuses[task.KeyOf(id)] {
			if s.GetState() == state || s.GetState() >= seracv1.TaskState_TASK_STATE_FINISHED {
				found = s
				return true
			}
		}
		return false
	})
	require.Equal(a.t, state, found.GetState(), "failure: %v", found.GetFailure())
	return found
}

func (a *attachment) awaitFinished(id *seracv1.TaskId) *seracv1.TaskStatus {
	a.t.Helper()
	return a.awaitState(id, seracv1.TaskState_TASK_STATE_FINISHED)
}

// overLocked says whether the attempt has ended, or the executor has. a is locked.
func (a *attachment) overLocked(id *seracv1.TaskId) bool {
	for _, s := range a.statuses[task.KeyOf(id)] {
		if s.GetState() >= seracv1.TaskState_TASK_STATE_FINISHED {
			return true
		}
	}
	return a.gone
}

func (a *attachment) over(id *seracv1.TaskId) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.overLocked(id)
}

func (a *attachment) awaitFailure(id *seracv1.TaskId) *seracv1.Failure {
	a.t.Helper()
	var found *seracv1.TaskStatus
	a.await("the end of "+task.KeyOf(id).String(), func() bool {
		for _, s := range a.statuses[task.KeyOf(id)] {
			if s.GetState() >= seracv1.TaskState_TASK_STATE_FINISHED {
				found = s
				return true
			}
		}
		return false
	})
	require.Equal(a.t, seracv1.TaskState_TASK_STATE_FAILED, found.GetState())
	return found.GetFailure()
}

func (a *attachment) send(m *seracv1.AttachResponse) {
	a.t.Helper()
	require.NoError(a.t, a.stream.Send(m))
}

func (a *attachment) launch(id *seracv1.TaskId, root plan.Node, assignments ...*seracv1.LeafAssignment) {
	a.t.Helper()
	a.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{
		Id: id, Fragment: encode(a.t, root), Assignments: assignments,
	}}})
}

func (a *attachment) cancel(id *seracv1.TaskId) {
	a.t.Helper()
	a.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Cancel{Cancel: &seracv1.TaskCancel{Id: id}}})
}

func (a *attachment) jobEnd(job string) {
	a.t.Helper()
	a.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_JobEnd{JobEnd: &seracv1.JobEnd{JobId: job}}})
}

func encode(t *testing.T, root plan.Node, tables ...*wire.Table) []byte {
	t.Helper()
	b, err := codec.EncodeFragment(root, tables)
	require.NoError(t, err)
	return b
}

// node is a running executor.
type node struct {
	*Executor
	*attachment
	stop func() error // ends Run's context and waits for Run
}

// start runs an executor on s, and checks at the end of the test that nothing of it is left.
func start(t *testing.T, s *scheduler, change ...func(*Options)) *node {
	t.Helper()
	o := Options{
		ID: "e", SchedulerAddress: s.address, Slots: 2, Threads: 2, MemoryLimit: 512 << 20, SpillDir: t.TempDir(),
		HeartbeatInterval: 50 * time.Millisecond, DrainGrace: 200 * time.Millisecond, DrainTimeout: 200 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&o)
	}
	e, err := New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	var once sync.Once
	var runErr error
	n := &node{Executor: e, stop: func() error {
		once.Do(func() { cancel(); runErr = <-ran })
		return runErr
	}}
	t.Cleanup(func() {
		require.NoError(t, n.stop())
		require.NoError(t, e.Close())
		require.Zero(t, e.OpenConns())
		require.NoDirExists(t, e.Dir())
	})
	n.attachment = s.next(t)
	return n
}

// next is the next executor to attach.
func (s *scheduler) next(t *testing.T) *attachment {
	t.Helper()
	select {
	case a := <-s.attached:
		return a
	case <-time.After(20 * time.Second):
		require.FailNow(t, "no executor attached")
		return nil
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil { // a log after the test's end is a panic
		w.t.Logf("%s", p[:len(p)-1])
	}
	return len(p), nil
}

// diskUse lists the files of the executor but for DuckDB's and the lock.
func (n *node) diskUse() []string {
	var out []string
	for _, sub := range []string{"tasks", "shuffle"} {
		_ = filepath.WalkDir(filepath.Join(n.Dir(), sub), func(path string, entry os.DirEntry, err error) error {
			if err == nil && path != filepath.Join(n.Dir(), sub) {
				out = append(out, path)
			}
			return nil
		})
	}
	return out
}

// result fetches a task's rows. onBatch may stop it early.
func (n *node) result(ctx context.Context, id *seracv1.TaskId, onBatch func(arrow.RecordBatch) error) error {
	conn, err := grpc.NewClient("passthrough:///"+n.FlightAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ticket, err := proto.Marshal(&seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Result{Result: id}})
	if err != nil {
		return err
	}
	stream, err := arrowflight.NewFlightServiceClient(conn).DoGet(ctx, &arrowflight.Ticket{Ticket: ticket})
	if err != nil {
		return err
	}
	reader, err := arrowflight.NewRecordReader(stream)
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		if onBatch != nil {
			if err := onBatch(reader.RecordBatch()); err != nil {
				return err
			}
		}
	}
	return reader.Err()
}

var errEnough = errors.New("enough")
