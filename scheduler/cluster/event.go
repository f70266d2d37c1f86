package cluster

import "github.com/seracdb/serac/scheduler/job"

// Event is something that happened in the cluster. Logging is one listener of them.
type Event interface{ isEvent() }

// ExecutorAttached: an executor has registered.
type ExecutorAttached struct{ Executor ExecutorInfo }

// ExecutorRefused: a registration was turned down.
type ExecutorRefused struct{ ID, Address, Reason string }

// ExecutorDraining: an executor takes no further tasks.
type ExecutorDraining struct{ ID string }

// ExecutorLost: an executor is gone. Reason is empty when it had drained and left.
type ExecutorLost struct{ ID, Reason string }

// JobStarted: a run has begun.
type JobStarted struct {
	Job           string
	Stages, Tasks int
}

// TaskLaunched: an attempt was sent to an executor.
type TaskLaunched struct {
	Job      string
	Attempt  job.AttemptID
	Executor string
}

// TaskEnded: an executor reported the end of an attempt; Err is nil when it finished.
type TaskEnded struct {
	Job      string
	Attempt  job.AttemptID
	Executor string
	Err      error
}

// JobEnded: a run is over; Err is nil when it finished.
type JobEnded struct {
	Job      string
	Err      error
	Progress job.Progress
}

func (ExecutorAttached) isEvent() {}
func (ExecutorRefused) isEvent()  {}
func (ExecutorDraining) isEvent() {}
func (ExecutorLost) isEvent()     {}
func (JobStarted) isEvent()       {}
func (TaskLaunched) isEvent()     {}
func (TaskEnded) isEvent()        {}
func (JobEnded) isEvent()         {}
