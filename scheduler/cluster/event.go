package cluster

import "github.com/seracdb/serac/scheduler/job"

// Event is something that happened in the cluster. Logging is one listener of them.
type Event interface{ isEvent() }

// ExecutorAttached says that an executor has registered.
type ExecutorAttached struct{ Executor ExecutorInfo }

// ExecutorRefused says that a registration was turned down.
type ExecutorRefused struct{ ID, Address, Reason string }

// ExecutorDraining says that an executor takes no further tasks.
type ExecutorDraining struct{ ID string }

// ExecutorLost says that an executor is gone. Reason is empty when it had drained and left.
type ExecutorLost struct{ ID, Reason string }

// JobStarted says that a run has begun.
type JobStarted struct {
	Job           string
	Stages, Tasks int
}

// TaskLaunched says that an attempt was sent to an executor.
type TaskLaunched struct {
	Job      string
	Attempt  job.AttemptID
	Executor string
}

// TaskEnded says that an executor reported the end of an attempt; Err is nil when it finished.
type TaskEnded struct {
	Job      string
	Attempt  job.AttemptID
	Executor string
	Err      error
}

// JobEnded says that a run is over; Err is nil when it finished.
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

// emit logs an event and passes it on.
func (c *Cluster) emit(e Event) {
	c.log(e)
	if c.o.Listener != nil {
		c.o.Listener(e)
	}
}

// log is the listener that writes the log.
func (c *Cluster) log(e Event) {
	l := c.o.Logger
	switch e := e.(type) {
	case ExecutorAttached:
		l.Info("executor attached", "executor", e.Executor.ID, "address", e.Executor.FlightAddress, "slots", e.Executor.Slots, "memory", e.Executor.MemoryBytes)
	case ExecutorRefused:
		l.Warn("executor refused", "executor", e.ID, "address", e.Address, "reason", e.Reason)
	case ExecutorDraining:
		l.Info("executor drains", "executor", e.ID)
	case ExecutorLost:
		if e.Reason == "" {
			l.Info("executor left", "executor", e.ID)
		} else {
			l.Warn("executor lost", "executor", e.ID, "reason", e.Reason)
		}
	case JobStarted:
		l.Debug("job started", "job", e.Job, "stages", e.Stages, "tasks", e.Tasks)
	case TaskLaunched:
		l.Debug("task launched", "job", e.Job, "attempt", e.Attempt, "executor", e.Executor)
	case TaskEnded:
		if e.Err != nil {
			l.Info("task failed", "job", e.Job, "attempt", e.Attempt, "executor", e.Executor, "error", e.Err)
		} else {
			l.Debug("task finished", "job", e.Job, "attempt", e.Attempt, "executor", e.Executor)
		}
	case JobEnded:
		if e.Err != nil {
			l.Info("job failed", "job", e.Job, "error", e.Err, "retries", e.Progress.Retries)
		} else {
			l.Debug("job finished", "job", e.Job, "tasks", e.Progress.TasksDone, "retries", e.Progress.Retries)
		}
	}
}
