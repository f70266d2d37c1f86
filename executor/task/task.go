package task

import (
	"fmt"
	"sync/atomic"
	"time"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// Task is one attempt, from its launch to its end. Its exported methods are safe for concurrent use.
type Task struct {
	launch  *seracv1.TaskLaunch
	renew   Renew
	created time.Time
	started atomic.Int64 // nanoseconds since created; 0: not yet
	ended   atomic.Int64

	inputRows, inputBytes, outputRows, outputBytes, fetchedBytes, fetchMicros atomic.Int64

	result *result
}

// New is the task of a launch, with the assignments of all its parts in it. renew gets fresh credentials of its tables; nil:
// there are none.
func New(launch *seracv1.TaskLaunch, renew Renew) *Task {
	return &Task{launch: launch, renew: renew, created: time.Now(), result: newResult()}
}

// ID names the attempt.
func (t *Task) ID() *seracv1.TaskId { return t.launch.GetId() }

// Metrics are the attempt's numbers so far.
func (t *Task) Metrics() *seracv1.TaskMetrics {
	m := &seracv1.TaskMetrics{
		InputRows:           t.inputRows.Load(),
		InputBytes:          t.inputBytes.Load(),
		OutputRows:          t.outputRows.Load(),
		OutputBytes:         t.outputBytes.Load(),
		ShuffleFetchedBytes: t.fetchedBytes.Load(),
		FetchMicros:         t.fetchMicros.Load(),
	}
	if started := t.started.Load(); started != 0 {
		until := t.ended.Load()
		if until == 0 {
			until = int64(time.Since(t.created))
		}
		m.ElapsedMicros = (until - started) / int64(time.Microsecond)
	}
	return m
}

func (t *Task) begin() { t.started.Store(max(int64(time.Since(t.created)), 1)) }
func (t *Task) end()   { t.ended.Store(int64(time.Since(t.created))) }

// Key is an attempt's id as a map key.
type Key struct {
	Job                  string
	Stage, Task, Attempt int32
}

// KeyOf is the key of an id.
func KeyOf(id *seracv1.TaskId) Key {
	return Key{id.GetJobId(), id.GetStage(), id.GetTask(), id.GetAttempt()}
}

// ID is the key's id.
func (k Key) ID() *seracv1.TaskId {
	return &seracv1.TaskId{JobId: k.Job, Stage: k.Stage, Task: k.Task, Attempt: k.Attempt}
}

// String is job/stage.task.attempt.
func (k Key) String() string { return fmt.Sprintf("%s/%d.%d.%d", k.Job, k.Stage, k.Task, k.Attempt) }

// AddAssignments puts the assignments of a launch's part to those that came before: files of one leaf add up.
func AddAssignments(launch *seracv1.TaskLaunch, more []*seracv1.LeafAssignment) error {
	byLeaf := make(map[int32]*seracv1.LeafAssignment, len(launch.GetAssignments()))
	for _, a := range launch.GetAssignments() {
		byLeaf[a.GetLeaf()] = a
	}
	for _, a := range more {
		have := byLeaf[a.GetLeaf()]
		if have == nil {
			launch.Assignments = append(launch.Assignments, a)
			byLeaf[a.GetLeaf()] = a
			continue
		}
		switch {
		case have.GetFiles() != nil && a.GetFiles() != nil:
			wire.AppendFiles(have.GetFiles(), a.GetFiles())
		case have.GetShuffle() != nil && a.GetShuffle() != nil:
			have.GetShuffle().Files = append(have.GetShuffle().Files, a.GetShuffle().GetFiles()...)
		case have.GetSplits() != nil && a.GetSplits() != nil:
			have.GetSplits().Splits = append(have.GetSplits().Splits, a.GetSplits().GetSplits()...)
		default:
			return fmt.Errorf("leaf %d is assigned twice, as %T and as %T", a.GetLeaf(), have.GetWhat(), a.GetWhat())
		}
	}
	return nil
}
