package executor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// renewal is what a task that asked for credentials has got.
type renewal struct {
	fileIO wire.FileIO
	err    error
}

// ask lets a task ask for a table's credentials, and gives the request that goes to the scheduler.
func ask(ctx context.Context, t *testing.T, s *session, task *seracv1.TaskId, table string) (*seracv1.CredentialsRequest, <-chan renewal) {
	t.Helper()
	got := make(chan renewal, 1)
	go func() {
		fileIO, err := s.credentials(ctx, task, table)
		got <- renewal{fileIO, err}
	}()
	var request *seracv1.CredentialsRequest
	require.Eventually(t, func() bool {
		m, _ := s.out.take()
		request = m.GetCredentials()
		return request != nil
	}, 10*time.Second, time.Millisecond)
	return request, got
}

func received(t *testing.T, got <-chan renewal) renewal {
	t.Helper()
	select {
	case r := <-got:
		return r
	case <-time.After(10 * time.Second):
		require.FailNow(t, "no answer has come")
		return renewal{}
	}
}

func vended(token string) wire.FileIO {
	return wire.NewFileIO(map[string]string{"s3.session-token": token})
}

// nobodyWaits says that no request is left behind.
func nobodyWaits(t *testing.T, s *session) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.waiting)
}

// TestCredentialsGoToWhoAsked: answers may come in any order, and each goes to the task whose request it names.
func TestCredentialsGoToWhoAsked(t *testing.T) {
	s := newSession(nil, "e", nil)
	first, gotFirst := ask(t.Context(), t, s, id("j", 0, 0), "ns.orders@1")
	second, gotSecond := ask(t.Context(), t, s, id("j", 0, 1), "ns.lines@2")
	require.NotEqual(t, first.GetId(), second.GetId())
	require.Equal(t, int32(0), first.GetTask().GetTask())
	require.Equal(t, "ns.orders@1", first.GetTable())
	require.Equal(t, int32(1), second.GetTask().GetTask())
	require.Equal(t, "ns.lines@2", second.GetTable())

	s.answered(&seracv1.Credentials{Id: second.GetId() + 100, FileIo: vended("nobody's").Covered()})
	s.answered(&seracv1.Credentials{Id: second.GetId(), FileIo: vended("of lines").Covered()})
	s.answered(&seracv1.Credentials{Id: first.GetId(), FileIo: vended("of orders").Covered()})
	s.answered(&seracv1.Credentials{Id: first.GetId(), FileIo: vended("said twice").Covered()})
	r := received(t, gotFirst)
	require.NoError(t, r.err)
	require.Equal(t, map[string]string{"s3.session-token": "of orders"}, r.fileIO.Reveal())
	r = received(t, gotSecond)
	require.NoError(t, r.err)
	require.Equal(t, map[string]string{"s3.session-token": "of lines"}, r.fileIO.Reveal())
	nobodyWaits(t, s)
}

// TestCredentialsThatAreNotGiven: the scheduler's failure keeps its kind, what cannot be read is an error that shows nothing
// of it, and a task that ends waits no longer.
func TestCredentialsThatAreNotGiven(t *testing.T) {
	s := newSession(nil, "e", nil)
	request, got := ask(t.Context(), t, s, id("j", 0, 0), "ns.orders@1")
	s.answered(&seracv1.Credentials{
		Id: request.GetId(), Failure: wire.FailureFrom(wire.Failf(seracv1.FailureKind_FAILURE_KIND_STATEMENT, "the table was dropped")),
	})
	r := received(t, got)
	require.ErrorContains(t, r.err, "ns.orders@1")
	require.ErrorContains(t, r.err, "the table was dropped")
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_STATEMENT, wire.KindOf(r.err))

	request, got = ask(t.Context(), t, s, id("j", 0, 0), "ns.orders@1")
	broken := vended("a-token").Covered()
	s.answered(&seracv1.Credentials{Id: request.GetId(), FileIo: broken[:len(broken)-3]})
	r = received(t, got)
	require.Error(t, r.err)
	require.NotContains(t, r.err.Error(), "a-token")

	ctx, cancel := context.WithCancelCause(t.Context())
	request, got = ask(ctx, t, s, id("j", 0, 0), "ns.orders@1")
	ended := errors.New("the task was cancelled")
	cancel(ended)
	require.ErrorIs(t, received(t, got).err, ended)
	s.answered(&seracv1.Credentials{Id: request.GetId(), FileIo: vended("late").Covered()})
	nobodyWaits(t, s)
}
