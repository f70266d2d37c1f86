package job

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Machine is the state of one job. It is not safe for concurrent use. Make it with New, call Start once, then Step for
// every event, and Next and Launch while there are free slots.
type Machine struct {
	spec   Spec // without its stages
	state  jobState
	stages []*stage // those of the spec, then those added
	byID   map[plan.StageID]*stage
	// open: further stages may come.
	open bool
	// results is the number of leading stages whose ResultTasks have been told, as far as they are result stages.
	results int

	executors map[string]*executor
	// unfinished counts the result and write stages that are not finished.
	unfinished int
	abandoned  []AttemptID
	// actions of the step under way.
	actions []Action
}

type stage struct {
	spec   *Stage // the machine's own; Tasks come late when Plan is not nil
	at     int32  // position in Machine.stages
	state  stageState
	tasks  []task
	inputs []*stage
	// consumers read this stage's output.
	consumers []*stage

	planned bool // it is known which tasks there are
	stable  bool // see StageOutput.Stable
	dropped bool // no stage to come reads it
	output  *StageOutput
	keys    keyMerger // summaries of the tasks accepted so far; until there is output

	missing       int  // tasks that are not done
	running       int  // tasks with an attempt under way
	needed        bool // somebody wants the missing tasks done
	resubmissions int
	// tainted: output of an indeterminate stage was lost, and what was made from it has not been given up yet.
	tainted bool

	// Every pending task stands in again or in tasks[fresh:]; entries whose task is not pending are skipped.
	again       []int32
	againSorted bool
	fresh       int32

	index outputIndex // of a finished shuffle stage; nil: not built

	attempts int // launched
	retries  int // of them, beyond each task's first
	total    totals
}

type task struct {
	state     taskState
	launches  int32 // attempts launched so far; the last one's number
	failures  uint8 // attempts that failed and count
	exhausted uint8 // of them, those of kinds that are tried only twice
	losses    uint8 // accepted outputs lost
	refetches uint8 // attempts that failed over a file which had been given up already
	// summarized: its summaries are in stage.keys.
	summarized bool
	avoid      *executor
	metrics    metrics
}

// executor is one incarnation of an executor, as far as this job has to do with it.
type executor struct {
	id       string
	lost     bool
	draining bool
	touched  bool // was sent a task
	running  map[taskRef]struct{}
	outputs  []taskRef // shuffle tasks that were accepted from it; entries may be out of date
	// unfetchable counts, per producing stage, the files of it that consumers could not fetch from here.
	unfetchable  map[*stage]int
	flight, host string // as last reported, shared by all outputs
}

// takes says whether tasks may be launched on the executor.
func (e *executor) takes() bool { return e != nil && !e.lost && !e.draining }

type taskRef struct {
	stage *stage
	task  int32
}

func compareRefs(a, b taskRef) int {
	return cmp.Or(cmp.Compare(a.stage.at, b.stage.at), cmp.Compare(a.task, b.task))
}

// New makes the machine of a job, or says what is wrong with its spec. The machine keeps what the spec points to.
func New(spec *Spec) (*Machine, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	m := &Machine{
		spec: *spec, state: jobActive{}, open: spec.Open,
		byID:      make(map[plan.StageID]*stage, len(spec.Stages)),
		executors: map[string]*executor{},
	}
	m.spec.Stages = nil
	for i := range spec.Stages {
		m.addStage(spec.Stages[i])
	}
	return m, nil
}

// Start sets the machine going. A job without any task ends here.
func (m *Machine) Start() []Action {
	m.settle()
	return m.take()
}

// Writes says whether the job has a write stage so far.
func (m *Machine) Writes() bool {
	return slices.ContainsFunc(m.stages, func(s *stage) bool { return s.spec.Sink == Write })
}

// Step applies an event and returns what must be done, in order. Events that come too late, or name what the machine
// does not know, change nothing.
func (m *Machine) Step(e Event) []Action {
	if _, active := m.state.(jobActive); !active {
		m.afterEnd(e)
		return m.take()
	}
	switch e := e.(type) {
	case ExecutorAdded:
		m.executorLost(ExecutorLost{Executor: e.Executor, Reason: "it came back as a new one"})
		m.executors[e.Executor] = &executor{id: e.Executor, running: map[taskRef]struct{}{}}
	case ExecutorDraining:
		if x := m.executors[e.Executor]; x != nil {
			x.draining = true
		}
	case ExecutorLost:
		m.executorLost(e)
	case TaskStatus:
		m.taskStatus(e)
	case ResultStarted:
		if _, r := m.current(e.Attempt); r != nil {
			r.delivering = true
		}
	case ResultDone:
		if ref, r := m.current(e.Attempt); r != nil && ref.stage.spec.Sink == Result {
			m.done(ref, r, &taskDone{attempt: r.attempt, on: r.on})
		}
	case Preempted:
		if ref, r := m.current(e.Attempt); r != nil && !r.delivering {
			m.act(CancelTask{Executor: r.on.id, Attempt: e.Attempt})
			m.again(ref)
		}
	case StagesAdded:
		m.stagesAdded(e)
	case StagesDropped:
		m.stagesDropped(e)
	case Cancel:
		m.fail(&seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_CANCELLED, Message: e.Reason})
	case Deadline:
		m.fail(&seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_DEADLINE, Message: "the statement's time is up"})
	case Fail:
		m.fail(e.Failure)
	}
	return m.take()
}

func (m *Machine) take() []Action {
	a := m.actions
	m.actions = nil
	return a
}

func (m *Machine) act(a Action) { m.actions = append(m.actions, a) }

// Current says whether an attempt is under way: launched, and neither over nor superseded.
func (m *Machine) Current(a AttemptID) bool {
	_, r := m.current(a)
	return r != nil
}

// Trim gives back, once the job is over, all memory but what late reports on write stages need. Numbers are gone then.
func (m *Machine) Trim() {
	if !m.Ended() {
		return
	}
	for _, s := range m.stages {
		if s.spec.Sink != Write {
			s.tasks = nil
		}
		s.index, s.again, s.output, s.keys = nil, nil, nil, keyMerger{}
		s.spec = &Stage{ID: s.spec.ID, Sink: s.spec.Sink}
	}
	m.executors = nil
}

// Ended says whether the job is over.
func (m *Machine) Ended() bool {
	_, active := m.state.(jobActive)
	return !active
}

// lookup finds a task; the stage is nil when there is none.
func (m *Machine) lookup(id plan.StageID, t int32) (taskRef, *task) {
	s := m.byID[id]
	if s == nil || t < 0 || int(t) >= len(s.tasks) {
		return taskRef{}, nil
	}
	return taskRef{stage: s, task: t}, &s.tasks[t]
}

// current finds the attempt if it is the one that its task is running.
func (m *Machine) current(a AttemptID) (taskRef, *taskRunning) {
	ref, t := m.lookup(a.Stage, a.Task)
	if t == nil {
		return ref, nil
	}
	if r, ok := t.state.(*taskRunning); ok && r.attempt == a.Attempt {
		return ref, r
	}
	return ref, nil
}

// done accepts a running attempt's output.
func (m *Machine) done(ref taskRef, r *taskRunning, d *taskDone) {
	s := ref.stage
	s.tasks[ref.task].state = d
	s.running--
	s.missing--
	m.over(ref, r)
	if d.shuffle != nil {
		r.on.outputs = append(r.on.outputs, ref)
	}
	if s.missing == 0 {
		m.settle()
	}
}

// over gives back the slot of an attempt.
func (m *Machine) over(ref taskRef, r *taskRunning) {
	delete(r.on.running, ref)
	m.act(AttemptOver{Executor: r.on.id, Attempt: AttemptID{ref.stage.spec.ID, ref.task, r.attempt}})
}

// again makes a task pending that was running or done. The caller settles if the stage's facts changed.
func (m *Machine) again(ref taskRef) {
	s, t := ref.stage, &ref.stage.tasks[ref.task]
	switch st := t.state.(type) {
	case *taskRunning:
		s.running--
		m.over(ref, st)
	case *taskDone:
		s.missing++
		s.index = nil
	}
	s.record(t, metrics{})
	t.state = taskPending{}
	s.again = append(s.again, ref.task)
	s.againSorted = false
}

// settle brings every stage's state in line with the facts, and ends the job when nothing is left to do. Whether output
// is needed follows from the end: what is missing of the result and write stages is, and what a stage that is needed and
// not finished reads. In an open job a stage that has never been finished is needed too: who reads it may come yet.
func (m *Machine) settle() {
	for {
		m.findNeeded()
		if i := slices.IndexFunc(m.stages, func(s *stage) bool { return s.needed && s.tainted }); i >= 0 {
			m.stages[i].tainted = false
			m.giveUpConsumers(m.stages[i])
		} else if !m.decideTasks() {
			break
		}
		if m.Ended() {
			return
		}
	}
	for _, s := range m.stages {
		s.state = s.next()
		if _, dormant := s.state.(stageDormant); dormant && s.running > 0 {
			m.cancelRunning(s)
		}
		m.stageDone(s)
	}
	m.tellResults()
	if m.unfinished == 0 && !m.open {
		m.succeed()
	}
}

func (m *Machine) findNeeded() {
	m.unfinished = 0
	for _, s := range slices.Backward(m.stages) {
		s.needed = s.spec.Sink != Shuffle || m.open && !s.dropped && s.output == nil
		for _, c := range s.consumers {
			s.needed = s.needed || c.needed && !c.complete()
		}
		if s.spec.Sink != Shuffle && !s.complete() {
			m.unfinished++
		}
	}
}

// cancelRunning stops a stage's attempts, which nobody needs any more.
func (m *Machine) cancelRunning(s *stage) {
	for t := range s.tasks {
		if r, ok := s.tasks[t].state.(*taskRunning); ok {
			if !r.on.lost {
				m.act(CancelTask{Executor: r.on.id, Attempt: AttemptID{s.spec.ID, int32(t), r.attempt}})
			}
			m.again(taskRef{s, int32(t)})
		}
	}
}

// succeed ends the job well.
func (m *Machine) succeed() {
	for _, s := range m.stages {
		if s.running > 0 {
			m.cancelRunning(s)
		}
	}
	m.state = jobSucceeded{}
	m.act(Finished{DataFiles: m.dataFiles(), Abandoned: m.abandoned})
	m.act(CleanUp{Executors: m.touched()})
}

// fail ends the job badly: stops what runs, and gives up all data files.
func (m *Machine) fail(f *seracv1.Failure) {
	if f == nil {
		f = &seracv1.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_INTERNAL, Message: "failed without saying why"}
	}
	for _, s := range m.stages {
		if s.running > 0 {
			m.cancelRunning(s)
		}
	}
	m.state = &jobFailed{failure: f}
	m.act(Failed{Failure: f, Abandoned: m.abandoned})
	m.orphan(m.dataFiles())
	m.act(CleanUp{Executors: m.touched()})
}

// orphan hands data files out for deletion.
func (m *Machine) orphan(files []*seracv1.DataFile) {
	if len(files) == 0 {
		return
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.GetPath()
	}
	m.act(DeleteFiles{Paths: paths})
}

func (m *Machine) dataFiles() []*seracv1.DataFile {
	var files []*seracv1.DataFile
	for _, s := range m.stages {
		if s.spec.Sink != Write {
			continue
		}
		for t := range s.tasks {
			if d, ok := s.tasks[t].state.(*taskDone); ok {
				files = append(files, d.dataFiles...)
			}
		}
	}
	return files
}

func (m *Machine) touched() []string {
	var ids []string
	for id, x := range m.executors {
		if x.touched && !x.lost {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// taskText names a task for people.
func (m *Machine) taskText(ref taskRef) string {
	return fmt.Sprintf("stage %d task %d", ref.stage.spec.ID, ref.task)
}
