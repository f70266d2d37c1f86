package executor

import (
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/executor/shuffle"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// said is a stream on which the scheduler said a few messages.
type said struct {
	grpc.ClientStream
	messages []*seracv1.AttachResponse
}

func (s *said) Send(*seracv1.AttachRequest) error { return nil }
func (s *said) Recv() (*seracv1.AttachResponse, error) {
	if len(s.messages) == 0 {
		return nil, io.EOF
	}
	m := s.messages[0]
	s.messages = s.messages[1:]
	return m, nil
}

// FuzzAttachResponse says any two messages to an executor that has no slot: it queues launches, answers, and lets go of
// all when the session ends.
func FuzzAttachResponse(f *testing.F) {
	id := &seracv1.TaskId{JobId: "j", Stage: 1, Task: 2, Attempt: 3}
	constant := []*seracv1.LeafAssignment{{Leaf: 1, What: &seracv1.LeafAssignment_Constant{Constant: &seracv1.ConstantInput{}}}}
	var seeds [][]byte
	for _, m := range []*seracv1.AttachResponse{
		{},
		{Message: &seracv1.AttachResponse_Registered{Registered: &seracv1.Registered{LeaseMillis: 1}}},
		{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{Id: id, Fragment: []byte("f"), Assignments: constant, Parts: 1}}},
		{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{Id: id, Parts: -1}}},
		{Message: &seracv1.AttachResponse_LaunchPart{LaunchPart: &seracv1.TaskLaunchPart{Id: id, Assignments: constant}}},
		{Message: &seracv1.AttachResponse_Cancel{Cancel: &seracv1.TaskCancel{Id: id}}},
		{Message: &seracv1.AttachResponse_JobEnd{JobEnd: &seracv1.JobEnd{JobId: "j"}}},
	} {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		seeds = append(seeds, b)
	}
	for _, first := range seeds {
		for _, second := range seeds {
			f.Add(first, second)
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		stream := &said{}
		for _, b := range [][]byte{first, second} {
			m := &seracv1.AttachResponse{}
			if proto.Unmarshal(b, m) != nil {
				return
			}
			stream.messages = append(stream.messages, m)
		}
		s := newSession(&Executor{store: shuffle.NewStore(t.TempDir())}, "x", slog.New(slog.DiscardHandler))
		require.ErrorIs(t, s.receive(stream), io.EOF)
		s.end()
		require.Empty(t, s.queue)
		require.Zero(t, s.busy)
	})
}
