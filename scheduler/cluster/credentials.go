package cluster

import (
	"context"
	"time"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// credentialsTimeout bounds the catalog's answer.
const credentialsTimeout = 30 * time.Second

// WithCredentials answers executors that ask for a table's storage configuration as it is now, because what came with the
// fragment expires. table is the table's key in the fragment.
func WithCredentials(f func(ctx context.Context, table string) (wire.FileIO, error)) RunOption {
	return func(o *runOptions) { o.credentials = f }
}

// credentials answers an executor's request, for an attempt that runs, in a goroutine: the catalog may take its time.
func (c *Cluster) credentials(e *executor, m *seracv1.CredentialsRequest) {
	answer := func(a *seracv1.Credentials) {
		a.Id = m.GetId()
		c.send(e, outgoing{message: &seracv1.AttachResponse{Message: &seracv1.AttachResponse_Credentials{Credentials: a}}})
	}
	key := keyOf(m.GetTask())
	r := c.runs[key.job]
	if r == nil || r.m == nil || !r.m.Current(key.attempt) || r.o.credentials == nil {
		answer(&seracv1.Credentials{Failure: wire.FailureFrom(wire.Failf(seracv1.FailureKind_FAILURE_KIND_CANCELLED,
			"task %s/%v does not run, or its tables have no credentials", key.job, key.attempt))})
		return
	}
	c.background(func() {
		ctx, cancel := context.WithTimeout(r.fetching, credentialsTimeout)
		defer cancel()
		a := &seracv1.Credentials{}
		fileIO, err := r.o.credentials(ctx, m.GetTable())
		if err != nil {
			a.Failure = wire.FailureFrom(err)
		} else {
			a.FileIo = fileIO.Covered()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		answer(a)
	})
}
