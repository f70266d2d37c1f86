package executor

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/seracdb/serac/executor/flight"
	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/executor/task"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// A shuffle file whose executor cannot be reached is tried again before its stage is re-made for it.
const (
	fetchAttempts = 3
	fetchBackoff  = 200 * time.Millisecond
)

// results serves the rows of the executor's tasks over Flight.
type results Executor

// ReadResult implements flight.Results.
func (r *results) ReadResult(ctx context.Context, id *seracv1.TaskId, w flight.BatchWriter) error {
	key := task.KeyOf(id)
	if s := (*Executor)(r).current(); s != nil {
		if t := s.find(key); t != nil {
			return t.ReadResult(ctx, w)
		}
	}
	return wire.Failf(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, "this executor runs no task %s", key)
}

// files serves the executor's shuffle files over Flight.
type files Executor

// OpenShuffle implements flight.Files.
func (f *files) OpenShuffle(producer *seracv1.TaskId, partition int) (*os.File, error) {
	file, err := f.store.Find(producer, partition)
	if err != nil {
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, err)
	}
	opened, err := os.Open(file.Path)
	if errors.Is(err, os.ErrNotExist) { // its job ended just now
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH, shuffle.ErrNoFile)
	}
	if err != nil {
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, err)
	}
	return opened, nil
}
