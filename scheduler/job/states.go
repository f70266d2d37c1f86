package job

import (
	"slices"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// stageState is where a stage stands; see the diagram in doc.go. Stages change state in settle only.
type stageState interface {
	isStageState()
	String() string
}

// stageWaiting: an input lacks output that it must first make (again). Tasks launched earlier may still be running; when they
// are decided late there are none yet.
type stageWaiting struct{}

// stageRunning: the inputs are complete, so pending tasks may be launched.
type stageRunning struct{}

// stageFinished: every task is done.
type stageFinished struct{}

// stageDormant: output is missing, but nobody needs it: every consumer has what it wanted. Nothing is launched.
type stageDormant struct{}

func (stageWaiting) isStageState()  {}
func (stageRunning) isStageState()  {}
func (stageFinished) isStageState() {}
func (stageDormant) isStageState()  {}

func (stageWaiting) String() string  { return "waiting" }
func (stageRunning) String() string  { return "running" }
func (stageFinished) String() string { return "finished" }
func (stageDormant) String() string  { return "dormant" }

// next is the one place that knows a stage's state from the facts.
func (s *stage) next() stageState {
	if s.complete() {
		return stageFinished{}
	}
	if !s.needed {
		return stageDormant{}
	}
	if !s.inputsComplete() {
		return stageWaiting{}
	}
	return stageRunning{}
}

// complete says that every task is done, and that it is known which tasks there are.
func (s *stage) complete() bool { return s.planned && s.missing == 0 }

func (s *stage) inputsComplete() bool {
	return !slices.ContainsFunc(s.inputs, func(in *stage) bool { return !in.complete() })
}

// taskState is where a task stands.
type taskState interface{ isTaskState() }

// taskPending: no attempt is under way and the output is missing.
type taskPending struct{}

// taskRunning: an attempt is on an executor. Attempts of result stages stay here until their last row has arrived.
type taskRunning struct {
	attempt int32
	on      *executor
	// delivering: rows of it have gone to the client, so it cannot be run again.
	delivering bool
}

// taskDone: the output is accepted.
type taskDone struct {
	attempt   int32
	on        *executor
	shuffle   *output             // shuffle stages
	dataFiles []*seracv1.DataFile // write stages
}

func (taskPending) isTaskState()  {}
func (*taskRunning) isTaskState() {}
func (*taskDone) isTaskState()    {}

// jobState is where the job stands.
type jobState interface{ isJobState() }

type jobActive struct{}

type jobSucceeded struct{}

type jobFailed struct{ failure *seracv1.Failure }

func (jobActive) isJobState()    {}
func (jobSucceeded) isJobState() {}
func (*jobFailed) isJobState()   {}
