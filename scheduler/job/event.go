package job

import (
	"fmt"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// AttemptID names one attempt at one task of a job.
type AttemptID struct {
	Stage   plan.StageID
	Task    int32 // position in Stage.Tasks
	Attempt int32 // from 1
}

// String is stage.task.attempt.
func (a AttemptID) String() string { return fmt.Sprintf("%d.%d.%d", a.Stage, a.Task, a.Attempt) }

// AttemptOf reads the id of an attempt from its message; the job's id is not part of it.
func AttemptOf(id *seracv1.TaskId) AttemptID {
	return AttemptID{Stage: plan.StageID(id.GetStage()), Task: id.GetTask(), Attempt: id.GetAttempt()}
}

// Event is something that happened to a job.
type Event interface{ isEvent() }

// ExecutorAdded says that an executor takes tasks. An id that was lost may come back: it is a new executor then, without
// anything of what the lost one held.
type ExecutorAdded struct{ Executor string }

// ExecutorDraining says that an executor takes no further tasks. What it runs and holds stays good until it is lost.
type ExecutorDraining struct{ Executor string }

// ExecutorLost says that an executor is gone, with all that it ran and held. Reason is for people.
type ExecutorLost struct{ Executor, Reason string }

// TaskStatus is an executor's report on an attempt, complete: the files that travelled ahead of it in parts are in it.
// The machine keeps the data files and the metrics of a FINISHED status.
type TaskStatus struct {
	Executor string
	Status   *seracv1.TaskStatus
}

// ResultStarted says that the first rows of a result attempt are about to go to the client. From then on a loss of the
// attempt is the statement's failure, for the rows cannot be taken back. Ask Current first.
type ResultStarted struct{ Attempt AttemptID }

// ResultDone says that all rows of a result attempt have reached the scheduler; the executor is not needed any more.
type ResultDone struct{ Attempt AttemptID }

// Preempted says that an attempt gives its slot to a task that must go first. It is stopped and its task run again later,
// at no cost.
type Preempted struct{ Attempt AttemptID }

// StagesAdded brings further stages of an open job, which come after all others. Last says that no more will: the job is as
// one that was never open from then on. Stages that are not valid, and a job that is not open, are a fault of ours, which
// ends the job.
type StagesAdded struct {
	Stages []Stage
	Last   bool
}

// StagesDropped names shuffle stages of an open job that no stage yet to come will read. What is not read by other stages
// either is stopped. Without it a stage of an open job runs to its end in case it is read.
type StagesDropped struct{ Stages []plan.StageID }

// Cancel ends the job at somebody's wish.
type Cancel struct{ Reason string }

// Deadline ends the job because its time is up.
type Deadline struct{}

// Fail ends the job with a failure found outside of it, such as having no executor at all.
type Fail struct{ Failure *seracv1.Failure }

func (ExecutorAdded) isEvent()    {}
func (ExecutorDraining) isEvent() {}
func (ExecutorLost) isEvent()     {}
func (TaskStatus) isEvent()       {}
func (ResultStarted) isEvent()    {}
func (ResultDone) isEvent()       {}
func (Preempted) isEvent()        {}
func (StagesAdded) isEvent()      {}
func (StagesDropped) isEvent()    {}
func (Cancel) isEvent()           {}
func (Deadline) isEvent()         {}
func (Fail) isEvent()             {}

// Action is something that the surroundings must do for a job.
type Action interface{ isAction() }

// CancelTask stops an attempt on an executor; the executor removes what the attempt wrote.
type CancelTask struct {
	Executor string
	Attempt  AttemptID
}

// AttemptOver says that an attempt's slot is free, whatever became of it. Every Launch is followed by exactly one.
type AttemptOver struct {
	Executor string
	Attempt  AttemptID
}

// StageDone says that a shuffle stage is finished, with what it wrote. It comes once for each, however often the stage loses
// output afterwards; not for a stage that nobody needs any more.
type StageDone struct{ Output *StageOutput }

// ResultTasks says how many tasks a result stage has, as soon as that is known of it and of all result stages before it. It
// comes once for each, in the order of the stages, before any of the tasks is launched.
type ResultTasks struct {
	Stage plan.StageID
	Tasks int
}

// DeleteFiles names data files that no commit will ever name: those of superseded attempts and of failed jobs.
type DeleteFiles struct{ Paths []string }

// Finished ends the job well. It comes once, and no Failed does.
type Finished struct {
	// DataFiles are those of the write stages, each accepted attempt's once, in stage and task order.
	DataFiles []*seracv1.DataFile
	// Abandoned are attempts of write stages whose executor was lost while they ran: they may have left data files that
	// nobody listed.
	Abandoned []AttemptID
}

// Failed ends the job badly. It comes once, and no Finished does.
type Failed struct {
	Failure *seracv1.Failure
	// Abandoned: as in Finished.
	Abandoned []AttemptID
}

// CleanUp tells the executors that held anything of the job, sorted, that it has ended.
type CleanUp struct{ Executors []string }

func (CancelTask) isAction()  {}
func (AttemptOver) isAction() {}
func (StageDone) isAction()   {}
func (ResultTasks) isAction() {}
func (DeleteFiles) isAction() {}
func (Finished) isAction()    {}
func (Failed) isAction()      {}
func (CleanUp) isAction()     {}
