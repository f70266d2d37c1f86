package flight

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/executor/shuffle"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

type fakeFiles struct{ store *shuffle.Store }

func (f fakeFiles) OpenShuffle(producer *seracv1.TaskId, partition int) (*os.File, error) {
	file, err := f.store.Find(producer, partition)
	if err != nil {
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, err)
	}
	return os.Open(file.Path)
}

type fakeResults func(ctx context.Context, id *seracv1.TaskId, w BatchWriter) error

func (f fakeResults) ReadResult(ctx context.Context, id *seracv1.TaskId, w BatchWriter) error {
	return f(ctx, id, w)
}

// serve starts a service and returns its address.
func serve(t *testing.T, results Results, files Files) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := NewServer(results, files)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		require.NoError(t, <-served)
	})
	return l.Addr().String()
}

func newPool(t *testing.T) *Pool {
	p := NewPool(nil)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestShuffleFile(t *testing.T) {
	store := shuffle.NewStore(t.TempDir())
	producer := &seracv1.TaskId{JobId: "../../job *", Stage: 1, Task: 2, Attempt: 1}
	dir, err := store.Begin(producer)
	require.NoError(t, err)
	content := bytes.Repeat([]byte("0123456789"), 300_000)
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.NoError(t, store.Commit(producer, []shuffle.File{{Partition: 3, Path: path, Rows: 1, Bytes: int64(len(content))}}))

	address := serve(t, nil, fakeFiles{store})
	pool := newPool(t)
	var got bytes.Buffer
	file := &seracv1.ShuffleFile{Producer: producer, Partition: 3, FlightAddress: address}
	require.NoError(t, pool.ReadShuffle(t.Context(), file, &got))
	require.True(t, bytes.Equal(content, got.Bytes()))

	file.Partition = 4
	err = pool.ReadShuffle(t.Context(), file, &got)
	require.ErrorIs(t, err, wire.ErrShuffleFetch)
	require.NotErrorIs(t, err, wire.ErrTransport)

	file.Partition = 3
	full := errors.New("disk full")
	err = pool.ReadShuffle(t.Context(), file, failingWriter{full})
	require.ErrorIs(t, err, shuffle.ErrWrite)
	require.ErrorIs(t, err, full)

	require.NoError(t, store.EndJob(producer.JobId))
	require.ErrorIs(t, pool.ReadShuffle(t.Context(), file, &got), wire.ErrShuffleFetch)
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestStalledExecutor: an executor that accepts connections and says nothing is unreachable, after a while.
func TestStalledExecutor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s := NewServer(nil, hangingFiles{t.Context()})
	go s.Serve(l)
	defer s.Stop()
	pool := newPool(t)
	pool.stall = 100 * time.Millisecond
	file := &seracv1.ShuffleFile{Producer: &seracv1.TaskId{JobId: "j"}, FlightAddress: l.Addr().String()}
	err = pool.ReadShuffle(t.Context(), file, io.Discard)
	require.ErrorIs(t, err, wire.ErrTransport)
	require.ErrorContains(t, err, "sends nothing")
}

type hangingFiles struct{ ctx context.Context }

func (f hangingFiles) OpenShuffle(*seracv1.TaskId, int) (*os.File, error) {
	select {
	case <-f.ctx.Done():
	case <-time.After(time.Second):
	}
	return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "too late")
}

// TestExecutorComesBack: an executor that was away is reached soon after it is back at its address.
func TestExecutorComesBack(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	pool := newPool(t)
	file := &seracv1.ShuffleFile{Producer: &seracv1.TaskId{JobId: "j"}, FlightAddress: address}
	for range 5 {
		require.ErrorIs(t, pool.ReadShuffle(t.Context(), file, io.Discard), wire.ErrTransport)
	}
	l, err = net.Listen("tcp", address)
	require.NoError(t, err)
	s := NewServer(nil, fakeFiles{shuffle.NewStore(t.TempDir())})
	go s.Serve(l)
	defer s.Stop()
	require.Eventually(t, func() bool {
		return errors.Is(pool.ReadShuffle(t.Context(), file, io.Discard), wire.ErrShuffleFetch)
	}, 3*time.Second, 50*time.Millisecond)
}

func schemaOf(fields ...arrow.Field) *arrow.Schema { return arrow.NewSchema(fields, nil) }

// fetch reads a whole result; the largest message is checked through the batches' sizes.
func fetch(t *testing.T, address string, id *seracv1.TaskId) (*arrow.Schema, []arrow.RecordBatch, error) {
	pool := newPool(t)
	conn, done, err := pool.get(address)
	require.NoError(t, err)
	defer done()
	stream, err := (&Pool{}).doGet(t.Context(), conn, "", &seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Result{Result: id}})
	require.NoError(t, err)
	reader, err := arrowflight.NewRecordReader(stream)
	if err != nil {
		return nil, nil, err
	}
	defer reader.Release()
	var out []arrow.RecordBatch
	for reader.Next() {
		b := reader.RecordBatch()
		b.Retain()
		out = append(out, b)
	}
	return reader.Schema(), out, reader.Err()
}

func TestResult(t *testing.T) {
	schema := schemaOf(arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true})
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	// 1,000 rows, one of them far larger than the others together.
	for i := range 1000 {
		text := strings.Repeat("x", 5000)
		if i == 777 {
			text = strings.Repeat("y", 9<<20)
		}
		builder.Field(0).(*array.StringBuilder).Append(text)
		list := builder.Field(1).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.Int64Builder).Append(int64(i))
	}
	batch := builder.NewRecordBatch()
	defer batch.Release()
	address := serve(t, fakeResults(func(ctx context.Context, id *seracv1.TaskId, w BatchWriter) error {
		switch id.JobId {
		case "rows":
			if err := w.Start(schema); err != nil {
				return err
			}
			return w.Write(batch)
		case "empty":
			return w.Start(schema)
		case "midway":
			if err := w.Start(schema); err != nil {
				return err
			}
			part := batch.NewSlice(0, 10)
			defer part.Release()
			if err := w.Write(part); err != nil {
				return err
			}
		}
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED, errors.New("out of memory"))
	}), nil)

	got, batches, err := fetch(t, address, &seracv1.TaskId{JobId: "rows"})
	require.NoError(t, err)
	require.True(t, schema.Equal(got))
	row := int64(0)
	for _, b := range batches {
		if b.NumRows() > 1 {
			require.LessOrEqual(t, size(b), int64(batchBytes), "batches are small")
		}
		for i := range int(b.NumRows()) {
			list := b.Column(1).(*array.List)
			from, _ := list.ValueOffsets(i)
			require.Equal(t, row, list.ListValues().(*array.Int64).Value(int(from)))
			if row == 777 {
				require.Len(t, b.Column(0).(*array.String).Value(i), 9<<20)
			}
			row++
		}
	}
	require.Equal(t, int64(1000), row)

	got, batches, err = fetch(t, address, &seracv1.TaskId{JobId: "empty"})
	require.NoError(t, err)
	require.True(t, schema.Equal(got))
	require.Empty(t, batches)

	_, batches, err = fetch(t, address, &seracv1.TaskId{JobId: "midway"})
	require.Len(t, batches, 1)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED, wire.KindOf(err), "an error in mid-stream keeps its kind")

	_, _, err = fetch(t, address, &seracv1.TaskId{JobId: "none"})
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED, wire.KindOf(err))
}

// TestBackPressure: a reader that does not read holds the writer up.
func TestBackPressure(t *testing.T) {
	schema := schemaOf(arrow.Field{Name: "s", Type: arrow.BinaryTypes.String})
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	builder.Field(0).(*array.StringBuilder).Append(strings.Repeat("x", 100_000))
	batch := builder.NewRecordBatch()
	defer batch.Release()
	var mu sync.Mutex
	written, gone := 0, make(chan struct{})
	address := serve(t, fakeResults(func(ctx context.Context, _ *seracv1.TaskId, w BatchWriter) error {
		defer close(gone)
		if err := w.Start(schema); err != nil {
			return err
		}
		for {
			if err := w.Write(batch); err != nil {
				return err
			}
			mu.Lock()
			written++
			mu.Unlock()
		}
	}), nil)
	conn, done, err := newPool(t).get(address)
	require.NoError(t, err)
	defer done()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = (&Pool{}).doGet(ctx, conn, "", &seracv1.FlightTicket{Ticket: &seracv1.FlightTicket_Result{Result: &seracv1.TaskId{}}})
	require.NoError(t, err)
	time.Sleep(300 * time.Millisecond)
	mu.Lock()
	require.Less(t, written, 100, "10 MB ahead of a reader that has read nothing")
	mu.Unlock()
	cancel()
	<-gone
}
