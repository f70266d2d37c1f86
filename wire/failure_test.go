package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// across sends an error through its message.
func across(t *testing.T, err error) error {
	t.Helper()
	b, marshalErr := proto.Marshal(FailureFrom(err))
	require.NoError(t, marshalErr)
	m := &seracv1.Failure{}
	require.NoError(t, proto.Unmarshal(b, m))
	return ErrorFrom(m)
}

// acrossGRPC sends an error as the error of a call.
func acrossGRPC(t *testing.T, err error) error {
	t.Helper()
	s, ok := status.FromError(err)
	require.True(t, ok)
	b, marshalErr := proto.Marshal(s.Proto())
	require.NoError(t, marshalErr)
	p := s.Proto()
	proto.Reset(p)
	require.NoError(t, proto.Unmarshal(b, p))
	return status.FromProto(p).Err()
}

func TestKindsCrossProcesses(t *testing.T) {
	require.Len(t, sentinels, len(seracv1.FailureKind_name)-1, "each kind has a sentinel")
	for kind, s := range sentinels {
		for name, err := range map[string]error{
			"fail":  Fail(kind, errors.New("why")),
			"failf": Failf(kind, "why"),
			"deep":  fmt.Errorf("stage 3: %w", Fail(kind, errors.New("why"))),
		} {
			require.ErrorIs(t, err, s, name)
			require.Equal(t, kind, KindOf(err))
			arrived := across(t, err)
			require.ErrorIs(t, arrived, s, name)
			require.Equal(t, err.Error(), arrived.Error())
			require.ErrorIs(t, across(t, across(t, err)), s)
			called := acrossGRPC(t, err)
			require.Equal(t, kind, KindOf(called), "%s %s over gRPC", kind, name)
			require.ErrorIs(t, across(t, called), s)
			require.Equal(t, err.Error(), across(t, called).Error(), "no rpc error: code = ... around it")
			for other, o := range sentinels {
				if other != kind {
					require.NotErrorIs(t, arrived, o)
				}
			}
		}
		require.Equal(t, kind, KindOf(fmt.Errorf("x: %w", s)), "a sentinel by itself")
	}
}

func TestClassification(t *testing.T) {
	const (
		transport = seracv1.FailureKind_FAILURE_KIND_TRANSPORT
		internal  = seracv1.FailureKind_FAILURE_KIND_INTERNAL
		cancelled = seracv1.FailureKind_FAILURE_KIND_CANCELLED
		deadline  = seracv1.FailureKind_FAILURE_KIND_DEADLINE
		exhausted = seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED
	)
	for _, c := range []struct {
		err  error
		kind seracv1.FailureKind
	}{
		{nil, seracv1.FailureKind_FAILURE_KIND_UNSPECIFIED},
		{errors.New("x"), internal},
		{context.Canceled, cancelled},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), deadline},
		{status.Error(codes.Canceled, "x"), cancelled},
		{fmt.Errorf("x: %w", status.Error(codes.DeadlineExceeded, "x")), deadline},
		{status.Error(codes.Unavailable, "x"), transport},
		{status.Error(codes.ResourceExhausted, "x"), exhausted},
		{status.Error(codes.Unimplemented, "x"), internal},
		{status.Error(codes.InvalidArgument, "x"), internal},
		{io.ErrUnexpectedEOF, transport},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, transport},
		{net.ErrClosed, transport},
		{&Failure{Kind: 99, Message: "from a newer version"}, internal},
	} {
		require.Equal(t, c.kind, KindOf(c.err), "%v", c.err)
	}
	require.Nil(t, FailureFrom(nil))
	require.NoError(t, ErrorFrom(nil))
	require.NoError(t, Fail(internal, nil))
	require.ErrorIs(t, ErrorFrom(&seracv1.Failure{Kind: 99}), ErrInternal)
	require.ErrorIs(t, ErrorFrom(&seracv1.Failure{Kind: cancelled}), context.Canceled)
	require.ErrorIs(t, ErrorFrom(&seracv1.Failure{Kind: deadline}), context.DeadlineExceeded)
}

func TestTheSourceKnowsBest(t *testing.T) {
	inner := Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, errors.New("bad cast"))
	require.ErrorIs(t, Fail(seracv1.FailureKind_FAILURE_KIND_INTERNAL, fmt.Errorf("task: %w", inner)), ErrStatement)
	require.ErrorIs(t, Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "x: %w", io.EOF), io.EOF)
}

func TestFetchFailuresNameTheFile(t *testing.T) {
	file := &seracv1.ShuffleFile{Producer: &seracv1.TaskId{JobId: "j", Stage: 2, Task: 5}, Partition: 7, ExecutorId: "e1"}
	err := FailFetch(file, status.Error(codes.Unavailable, "gone"))
	require.ErrorIs(t, err, ErrShuffleFetch)
	require.NotErrorIs(t, err, ErrTransport)
	for _, arrived := range []error{across(t, err), across(t, acrossGRPC(t, err)), across(t, fmt.Errorf("stage 4: %w", err))} {
		var f *Failure
		require.ErrorAs(t, arrived, &f)
		require.True(t, proto.Equal(file, f.ShuffleFile))
		require.Contains(t, f.Error(), "partition 7 of stage 2 task 5 from executor e1")
	}
	require.ErrorIs(t, FailFetch(file, context.Canceled), ErrCancelled, "a cancelled task is no lost file")
	require.NotErrorIs(t, FailFetch(file, context.Canceled), ErrShuffleFetch)
	require.NoError(t, FailFetch(file, nil))
}

func TestLongMessagesAreCut(t *testing.T) {
	long := Failf(seracv1.FailureKind_FAILURE_KIND_STATEMENT, "%s", strings.Repeat("é\xff", 100_000))
	m := FailureFrom(long)
	require.True(t, utf8.ValidString(m.GetMessage()))
	require.ErrorIs(t, across(t, long), ErrStatement)
	require.LessOrEqual(t, proto.Size(status.Convert(acrossGRPC(t, long)).Proto()), MaxMessage)
	require.Equal(t, "short: é 100%", Cut("short: é 100%"))
	for _, text := range []string{strings.Repeat("x", 100_000), strings.Repeat("é", 100_000), strings.Repeat("%", 100_000), strings.Repeat("x\xff", 100_000)} {
		got := Cut(text)
		require.LessOrEqual(t, len(url.PathEscape(got)), MaxMessage)
		require.Greater(t, len(got), MaxMessage/4)
		require.True(t, strings.HasSuffix(got, cutMark))
	}
}
