package executor

import (
	"context"
	"fmt"
	"time"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// credentialsTimeout bounds the wait for fresh credentials: the scheduler asks the catalog for them.
const credentialsTimeout = 30 * time.Second

// credentials asks the scheduler for a table's storage configuration as it is now.
func (s *session) credentials(ctx context.Context, id *seracv1.TaskId, table string) (wire.FileIO, error) {
	answer := make(chan *seracv1.Credentials, 1)
	s.mu.Lock()
	s.asked++
	n := s.asked
	s.waiting[n] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, n)
	}()
	s.out.put(&seracv1.AttachRequest{Message: &seracv1.AttachRequest_Credentials{
		Credentials: &seracv1.CredentialsRequest{Id: n, Task: id, Table: table},
	}})
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	select {
	case m := <-answer:
		if m.GetFailure() != nil {
			return wire.FileIO{}, fmt.Errorf("fresh credentials of %s: %w", table, wire.ErrorFrom(m.GetFailure()))
		}
		return wire.UncoverFileIO(m.GetFileIo())
	case <-ctx.Done():
		return wire.FileIO{}, fmt.Errorf("fresh credentials of %s: %w", table, context.Cause(ctx))
	}
}

// answered hands the scheduler's answer to who waits for it.
func (s *session) answered(m *seracv1.Credentials) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer := s.waiting[m.GetId()]; answer != nil {
		delete(s.waiting, m.GetId())
		answer <- m
	}
}
