package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// An executor gets fresh credentials for an attempt that runs, and a failure for one that does not or when there are none.
func TestRule18ExecutorsAskForCredentials(t *testing.T) {
	b := newBench(t, Options{})
	launched := make(chan *seracv1.TaskLaunch, 1)
	answers := make(chan *seracv1.Credentials, 4)
	x := b.start("e1", 1, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(_ *fake, l *seracv1.TaskLaunch) { launched <- l }
		x.onCredentials = func(m *seracv1.Credentials) { answers <- m }
	})
	ctx := testContext(t)
	run := b.c.Run(ctx, spec("w", stage(1, 1, "write f")), WithCredentials(func(_ context.Context, table string) (wire.FileIO, error) {
		if table != "t" {
			return wire.FileIO{}, errors.New("no such table")
		}
		return wire.NewFileIO(map[string]string{"s3.access-key-id": "fresh"}), nil
	}))
	l := <-launched
	ask := func(n int64, id *seracv1.TaskId, table string) *seracv1.Credentials {
		x.send(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Credentials{
			Credentials: &seracv1.CredentialsRequest{Id: n, Task: id, Table: table},
		}})
		m := <-answers
		require.Equal(t, n, m.GetId())
		return m
	}
	m := ask(1, l.GetId(), "t")
	require.Nil(t, m.GetFailure())
	require.NotContains(t, string(m.GetFileIo()), "fresh")
	got, err := wire.UncoverFileIO(m.GetFileIo())
	require.NoError(t, err)
	require.Equal(t, "fresh", got.Reveal()["s3.access-key-id"])
	require.Contains(t, ask(2, l.GetId(), "u").GetFailure().GetMessage(), "no such table")
	require.NotNil(t, ask(3, &seracv1.TaskId{JobId: "other"}, "t").GetFailure())
	x.work(l)
	_, err = run.Wait(ctx)
	require.NoError(t, err)
	require.NotNil(t, ask(4, l.GetId(), "t").GetFailure(), "it does not run any more")
}
