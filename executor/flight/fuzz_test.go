package flight

import (
	"context"
	"errors"
	"os"
	"testing"

	arrowflight "github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/executor/shuffle"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// nobody reads what is sent.
type nobody struct {
	grpc.ServerStream
	ctx  context.Context
	sent int
}

func (n *nobody) Context() context.Context             { return n.ctx }
func (n *nobody) Send(m *arrowflight.FlightData) error { n.sent += len(m.GetDataBody()); return nil }

// FuzzFlightTicket asks with any ticket: there is nothing to get, and nothing outside the store's folder is opened.
func FuzzFlightTicket(f *testing.F) {
	outside := f.TempDir() + "/outside"
	require.NoError(f, os.WriteFile(outside, []byte("secret"), 0o600))
	id := &seracv1.TaskId{JobId: "j", Stage: 1, Task: 2, Attempt: 3}
	for _, m := range []*seracv1.FlightTicket{
		{},
		{Ticket: &seracv1.FlightTicket_Result{Result: id}},
		{Ticket: &seracv1.FlightTicket_Shuffle{Shuffle: &seracv1.ShuffleFile{Producer: id, Partition: 1, Path: outside}}},
		{Ticket: &seracv1.FlightTicket_Shuffle{Shuffle: &seracv1.ShuffleFile{Producer: &seracv1.TaskId{JobId: "../.."}, Path: outside}}},
	} {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(b)
	}
	results := fakeResults(func(context.Context, *seracv1.TaskId, BatchWriter) error {
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_INTERNAL, errors.New("no such task"))
	})
	s := NewServer(results, fakeFiles{shuffle.NewStore(f.TempDir())})
	f.Fuzz(func(t *testing.T, b []byte) {
		stream := &nobody{ctx: t.Context()}
		err := s.DoGet(&arrowflight.Ticket{Ticket: b}, stream)
		require.Error(t, err)
		require.NotZero(t, wire.KindOf(err))
		require.Zero(t, stream.sent)
	})
}
