package job

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

var (
	seed  = flag.Uint64("seed", 1, "the first seed of TestRandom")
	seeds = flag.Uint64("seeds", 1500, "the number of seeds of TestRandom")
)

// TestRandom runs random jobs through random events and holds the machine to what must be true in every run.
func TestRandom(t *testing.T) {
	ends := map[string]int{}
	for n := range *seeds {
		seed := *seed + n
		w := newWorld(t, seed)
		ends[w.play()]++
	}
	t.Log(ends)
	require.Greater(t, ends["finished"], 0)
	require.Greater(t, ends["failed"], 0)
}

// world is executors as they really are: they go on with attempts that the machine has given up, and report late.
type world struct {
	t    *testing.T
	rng  *rand.Rand
	seed uint64
	m    *Machine

	alive    map[string]bool // to whether it takes tasks
	attempts map[AttemptID]*simulated
	names    int

	ended     string
	slots     map[AttemptID]bool // launched, and no AttemptOver yet
	written   map[string]bool    // data files reported in FINISHED statuses
	deleted   map[string]bool
	committed map[string]bool
	received  map[AttemptID]bool // result attempts whose rows all arrived while they were current
	made      map[AttemptID]*simulated
	delivered map[taskKey]bool // result tasks of which rows went to the client

	toCome  []Stage              // stages of an open job that have not been added
	open    bool                 // the last of them has not
	tasks   map[plan.StageID]int // how many tasks each stage has
	sized   map[plan.StageID]bool
	results []plan.StageID // told of by ResultTasks
}

type taskKey struct {
	stage plan.StageID
	task  int32
}

type simulated struct {
	id       AttemptID
	executor string
	sink     Sink
	inputs   []*seracv1.ShuffleFile
	// reads are the versions of the outputs that it reads; version is what its own output depends on.
	reads   map[taskKey]string
	version string
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), seed: seed,
		alive: map[string]bool{}, attempts: map[AttemptID]*simulated{},
		slots: map[AttemptID]bool{}, made: map[AttemptID]*simulated{}, written: map[string]bool{}, deleted: map[string]bool{}, committed: map[string]bool{}, received: map[AttemptID]bool{},
		delivered: map[taskKey]bool{}, tasks: map[plan.StageID]int{}, sized: map[plan.StageID]bool{},
	}
	spec := &Spec{ID: "j", MaxAttempts: w.rng.IntN(6), MaxResubmissions: w.rng.IntN(6)}
	n := 1 + w.rng.IntN(5)
	var stages []Stage
	for i := range n {
		stages = append(stages, w.newStage(stages, i == n-1))
	}
	spec.Stages = stages
	if w.open = w.rng.IntN(2) == 0; w.open {
		now := w.rng.IntN(n + 1)
		spec.Open, spec.Stages, w.toCome = true, stages[:now], stages[now:]
	}
	m, err := New(spec)
	require.NoError(t, err)
	w.m = m
	w.actions(m.Start())
	return w
}

// newStage makes a stage that may read those before it; its tasks are known at once or decided late.
func (w *world) newStage(before []Stage, last bool) Stage {
	st := Stage{ID: plan.StageID(10 * (len(before) + 1)), Sink: Shuffle, Indeterminate: w.rng.IntN(3) == 0}
	if last {
		st.Sink = []Sink{Result, Write}[w.rng.IntN(2)]
	}
	tasks := make([]Task, w.rng.IntN(4))
	w.tasks[st.ID] = len(tasks)
	for j, in := range before {
		if w.rng.IntN(3) == 0 && j != len(before)-1 {
			continue
		}
		st.Inputs = append(st.Inputs, in.ID)
		for k := range tasks {
			need := ShuffleNeed{Leaf: plan.LeafID(j), Stage: in.ID}
			if w.rng.IntN(2) == 0 {
				need.Partitions = []int32{int32(k)}
			}
			if w.rng.IntN(3) == 0 {
				from := w.rng.IntN(w.tasks[in.ID] + 1)
				need.Producers = &Range{int32(from), int32(from + w.rng.IntN(w.tasks[in.ID]+1-from))}
			}
			tasks[k].Shuffle = append(tasks[k].Shuffle, need)
		}
	}
	if w.rng.IntN(3) > 0 {
		st.Tasks = tasks
		return st
	}
	called := false
	st.Plan = func(outputs map[plan.StageID]*StageOutput) []Task {
		require.False(w.t, called, "seed %d: stage %d decides its tasks twice", w.seed, st.ID)
		called = true
		require.Len(w.t, outputs, len(st.Inputs))
		for id, o := range outputs {
			require.Equal(w.t, w.tasks[id], o.Tasks)
		}
		return tasks
	}
	return st
}

// addStages brings stages that are still to come, and perhaps says that they were the last; or says of one that nothing to
// come will read it.
func (w *world) addStages() {
	if w.rng.IntN(4) == 0 {
		var unread []plan.StageID
		for _, s := range w.m.stages {
			if s.spec.Sink == Shuffle && !slices.ContainsFunc(w.toCome, func(st Stage) bool { return slices.Contains(st.Inputs, s.spec.ID) }) {
				unread = append(unread, s.spec.ID)
			}
		}
		w.actions(w.m.Step(StagesDropped{Stages: unread}))
		return
	}
	n := w.rng.IntN(len(w.toCome) + 1)
	e := StagesAdded{Stages: w.toCome[:n], Last: n == len(w.toCome) && w.rng.IntN(2) == 0}
	w.toCome = w.toCome[n:]
	w.open = w.ended == "" && !e.Last
	w.actions(w.m.Step(e))
}

func (w *world) play() string {
	// A rough time, then a quiet one: from then on nothing fails, and the job must end.
	rough := w.rng.IntN(150)
	for i := 0; w.ended == ""; i++ {
		require.Less(w.t, i, rough+2000, "seed %d: the job does not end", w.seed)
		w.step(i < rough)
	}
	for range 30 {
		w.step(true) // whatever comes late
	}
	w.final()
	return w.ended
}

func (w *world) step(rough bool) {
	if len(w.alive) == 0 || rough && w.rng.IntN(15) == 0 {
		w.names++
		id := fmt.Sprintf("e%d", 1+w.names%5)
		if _, there := w.alive[id]; !there || w.rng.IntN(4) == 0 {
			w.gone(id)
			w.alive[id] = true
			w.actions(w.m.Step(ExecutorAdded{Executor: id}))
		}
		return
	}
	if w.open && w.ended == "" && w.rng.IntN(12) == 0 {
		w.addStages()
		return
	}
	executor := w.pickExecutor()
	switch p := w.rng.IntN(100); {
	case rough && p < 6:
		w.gone(executor)
		w.actions(w.m.Step(ExecutorLost{Executor: executor, Reason: "chance"}))
	case rough && p < 9:
		w.alive[executor] = false
		w.actions(w.m.Step(ExecutorDraining{Executor: executor}))
	case rough && p == 9 && w.rng.IntN(20) == 0:
		w.actions(w.m.Step(Cancel{Reason: "chance"}))
	case rough && p == 10 && w.rng.IntN(20) == 0:
		w.actions(w.m.Step(Deadline{}))
	case p == 11 && len(w.attempts) > 0:
		ids := w.sorted()
		w.actions(w.m.Step(Preempted{Attempt: ids[w.rng.IntN(len(ids))]}))
	case p < 50:
		w.launch(executor)
	default:
		w.report(rough)
	}
	if !rough && !slices.Contains(slices.Collect(maps.Values(w.alive)), true) {
		id := w.pickExecutor()
		w.gone(id)
		w.actions(w.m.Step(ExecutorLost{Executor: id}))
	}
}

func (w *world) pickExecutor() string {
	ids := slices.Sorted(maps.Keys(w.alive))
	return ids[w.rng.IntN(len(ids))]
}

// gone forgets an executor's attempts, or lets some of them report yet, as if its last words came late.
func (w *world) gone(id string) {
	delete(w.alive, id)
	for _, a := range w.sorted() {
		if w.attempts[a].executor == id && w.rng.IntN(3) > 0 {
			delete(w.attempts, a)
		}
	}
}

func (w *world) sorted() []AttemptID {
	ids := slices.Collect(maps.Keys(w.attempts))
	slices.SortFunc(ids, func(a, b AttemptID) int {
		return slices.Compare([]int32{int32(a.Stage), a.Task, a.Attempt}, []int32{int32(b.Stage), b.Task, b.Attempt})
	})
	return ids
}

func (w *world) launch(executor string) {
	c, ok := w.m.Next()
	stage, task, peeked := w.m.Peek()
	require.Equal(w.t, []any{ok, c.Stage, c.Task}, []any{peeked, stage, task})
	if !ok {
		return
	}
	l, err := w.m.Launch(c.Stage, c.Task, executor)
	if !w.alive[executor] || err != nil {
		require.False(w.t, w.alive[executor], "seed %d: refused: %v", w.seed, err)
		require.Error(w.t, err, "seed %d: launched on an executor that takes no tasks", w.seed)
		return
	}
	id := AttemptOf(l.GetId())
	require.True(w.t, c.Sink != Result || slices.Contains(w.results, c.Stage), "seed %d: launched before its number was told", w.seed)
	require.NotContains(w.t, w.attempts, id, "seed %d: an attempt's number came twice", w.seed)
	require.False(w.t, w.delivered[taskKey{c.Stage, c.Task}], "seed %d: run again after rows went to the client", w.seed)
	w.slots[id] = true
	s := &simulated{id: id, executor: executor, sink: c.Sink, reads: map[taskKey]string{}}
	spec := w.m.byID[c.Stage].spec.Tasks[c.Task]
	require.Len(w.t, l.GetAssignments(), len(spec.Shuffle))
	for i, need := range spec.Shuffle {
		a := l.GetAssignments()[i]
		require.Equal(w.t, int32(need.Leaf), a.GetLeaf())
		seen := map[[2]int32]bool{}
		for _, f := range a.GetShuffle().GetFiles() {
			key := [2]int32{f.GetProducer().GetTask(), f.GetPartition()}
			require.False(w.t, seen[key], "seed %d: partition %v assigned twice", w.seed, key)
			seen[key] = true
			_, there := w.alive[f.GetExecutorId()]
			require.True(w.t, there, "seed %d: assigned a file on a lost executor", w.seed)
			require.True(w.t, need.Partitions == nil || slices.Contains(need.Partitions, f.GetPartition()))
			require.True(w.t, need.Producers == nil || need.Producers.From <= key[0] && key[0] < need.Producers.To)
		}
		// Every task of the simulation writes partitions 0 to 2.
		want := 3 * len(w.m.byID[need.Stage].tasks)
		if need.Producers != nil {
			want = 3 * int(need.Producers.To-need.Producers.From)
		}
		if need.Partitions != nil {
			want /= 3
		}
		require.Len(w.t, seen, want, "seed %d: stage %d task %d must read all of stage %d", w.seed, c.Stage, c.Task, need.Stage)
		for _, f := range a.GetShuffle().GetFiles() {
			p := AttemptOf(f.GetProducer())
			s.reads[taskKey{p.Stage, p.Task}] = w.made[p].version
		}
		s.inputs = append(s.inputs, a.GetShuffle().GetFiles()...)
	}
	s.version = fmt.Sprint(s.reads)
	if w.m.byID[c.Stage].spec.Indeterminate {
		s.version += fmt.Sprint(id.Attempt)
	}
	w.made[id] = s
	w.attempts[id] = s
}

func (w *world) report(rough bool) {
	ids := w.sorted()
	if len(ids) == 0 {
		return
	}
	s := w.attempts[ids[w.rng.IntN(len(ids))]]
	_, there := w.alive[s.executor]
	current := w.m.Current(s.id) && there
	st := &seracv1.TaskStatus{Id: w.m.message(s.id), State: seracv1.TaskState_TASK_STATE_FINISHED}
	switch {
	case rough && w.rng.IntN(4) == 0:
		st.State = seracv1.TaskState_TASK_STATE_FAILED
		st.Failure = &seracv1.Failure{Kind: seracv1.FailureKind(w.rng.IntN(10)), Message: "chance"}
		if k := st.Failure.Kind; (k == seracv1.FailureKind_FAILURE_KIND_STATEMENT || k == seracv1.FailureKind_FAILURE_KIND_DEADLINE) && w.rng.IntN(10) > 0 {
			st.Failure.Kind = seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH
		}
		if len(s.inputs) > 0 {
			st.Failure.ShuffleFile = s.inputs[w.rng.IntN(len(s.inputs))]
		}
		if st.Failure.Kind == seracv1.FailureKind_FAILURE_KIND_HANDED_BACK && current {
			w.alive[s.executor] = false // who hands back is draining
		}
		delete(w.attempts, s.id)
	case rough && w.rng.IntN(4) == 0:
		st.State = seracv1.TaskState_TASK_STATE_RUNNING
	case s.sink == Result:
		if w.rng.IntN(2) == 0 {
			if current {
				w.delivered[taskKey{s.id.Stage, s.id.Task}] = true
			}
			w.actions(w.m.Step(ResultStarted{Attempt: s.id}))
		}
		if w.rng.IntN(2) == 0 {
			if current {
				w.received[s.id] = true
			}
			w.actions(w.m.Step(ResultDone{Attempt: s.id}))
			delete(w.attempts, s.id)
			return
		}
	case s.sink == Write:
		for i := range (int(s.id.Task) + int(s.id.Attempt)) % 3 {
			path := fmt.Sprintf("%v-%d", s.id, i)
			w.written[path] = true
			st.DataFiles = append(st.DataFiles, &seracv1.DataFile{Path: path})
		}
		if w.rng.IntN(5) > 0 {
			delete(w.attempts, s.id) // else it reports once more
		}
	default:
		for p := range int32(3) {
			st.ShuffleFiles = append(st.ShuffleFiles, &seracv1.ShuffleFile{Partition: p, SizeBytes: 1, Path: fmt.Sprintf("/%v/%d", s.id, p)})
		}
		if w.rng.IntN(5) > 0 {
			delete(w.attempts, s.id)
		}
	}
	w.actions(w.m.Step(TaskStatus{Executor: s.executor, Status: st}))
}

func (w *world) actions(actions []Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case CancelTask:
			require.Contains(w.t, w.alive, a.Executor, "seed %d: cancel on a lost executor", w.seed)
		case AttemptOver:
			require.True(w.t, w.slots[a.Attempt], "seed %d: %v: its slot came back twice", w.seed, a.Attempt)
			delete(w.slots, a.Attempt)
		case StageDone:
			o := a.Output
			require.False(w.t, w.sized[o.Stage], "seed %d: stage %d is done twice", w.seed, o.Stage)
			w.sized[o.Stage] = true
			require.Equal(w.t, []any{w.tasks[o.Stage], int64(3 * w.tasks[o.Stage])}, []any{o.Tasks, o.Bytes}, "seed %d", w.seed)
			for p := range int32(3) {
				require.Equal(w.t, slices.Repeat([]int64{1}, o.Tasks), o.ProducerBytes(p), "seed %d", w.seed)
				require.Equal(w.t, int64(o.Tasks), o.Partition(p).Bytes)
			}
		case ResultTasks:
			require.Equal(w.t, w.tasks[a.Stage], a.Tasks)
			require.NotContains(w.t, w.results, a.Stage)
			w.results = append(w.results, a.Stage)
		case DeleteFiles:
			for _, p := range a.Paths {
				w.deleted[p] = true
			}
		case Finished:
			require.Empty(w.t, w.ended, "seed %d: ended twice", w.seed)
			w.ended = "finished"
			for _, f := range a.DataFiles {
				require.False(w.t, w.committed[f.GetPath()], "seed %d: %s counted twice", w.seed, f.GetPath())
				w.committed[f.GetPath()] = true
			}
		case Failed:
			require.Empty(w.t, w.ended, "seed %d: ended twice", w.seed)
			w.ended = "failed"
		case CleanUp:
			for _, id := range a.Executors {
				require.Contains(w.t, w.alive, id, "seed %d: clean up on a lost executor", w.seed)
			}
		}
	}
}

// final checks what must hold once everything is over.
func (w *world) final() {
	require.Empty(w.t, w.slots, "seed %d: slots did not come back", w.seed)
	// Every data file is either committed or handed out for deletion, never both.
	for p := range w.written {
		require.True(w.t, w.committed[p] != w.deleted[p], "seed %d: %s committed %v deleted %v", w.seed, p, w.committed[p], w.deleted[p])
	}
	if w.ended != "finished" {
		return
	}
	require.False(w.t, w.open, "seed %d: ended well while open", w.seed)
	require.Empty(w.t, w.toCome, "seed %d", w.seed)
	// Whoever read a task's output read the same rows, directly and through others.
	read := map[taskKey]string{}
	for _, s := range w.m.stages {
		for i := range s.tasks {
			d, ok := s.tasks[i].state.(*taskDone)
			if !ok {
				continue
			}
			for p, version := range w.made[AttemptID{s.spec.ID, int32(i), d.attempt}].reads {
				if before, there := read[p]; there {
					require.Equal(w.t, before, version, "seed %d: stage %d task %d was read in two versions", w.seed, p.stage, p.task)
				}
				read[p] = version
			}
		}
	}
	// Every task of the sinks counts exactly once.
	for _, s := range w.m.stages {
		if s.spec.Sink == Shuffle {
			continue
		}
		for i := range s.tasks {
			d, ok := s.tasks[i].state.(*taskDone)
			require.True(w.t, ok, "seed %d: stage %d task %d is not done", w.seed, s.spec.ID, i)
			if s.spec.Sink == Result {
				require.True(w.t, w.received[AttemptID{s.spec.ID, int32(i), d.attempt}], "seed %d: not received", w.seed)
			}
		}
	}
}

// TestFailingForever: whatever kinds of failures the attempts end in, without a single success after the producers have
// been made, a job ends.
func TestFailingForever(t *testing.T) {
	for kind := range seracv1.FailureKind_name {
		spec := &Spec{ID: "j", Stages: []Stage{
			{ID: 1, Sink: Shuffle, Tasks: make([]Task, 3)},
			{ID: 2, Sink: Result, Inputs: []plan.StageID{1}, Tasks: []Task{{Shuffle: []ShuffleNeed{{Stage: 1}}}}},
		}}
		m, err := New(spec)
		require.NoError(t, err)
		m.Start()
		steps := 0
		for ; !m.Ended(); steps++ {
			require.Less(t, steps, 200, "%v", seracv1.FailureKind(kind))
			c, ok := m.Next()
			require.True(t, ok)
			m.Step(ExecutorAdded{Executor: fmt.Sprint(steps)})
			l, err := m.Launch(c.Stage, c.Task, fmt.Sprint(steps))
			require.NoError(t, err)
			st := &seracv1.TaskStatus{Id: l.GetId()}
			if c.Stage == 1 {
				st.State = seracv1.TaskState_TASK_STATE_FINISHED
				st.ShuffleFiles = []*seracv1.ShuffleFile{{Path: "x"}}
			} else {
				st.State = seracv1.TaskState_TASK_STATE_FAILED
				st.Failure = &seracv1.Failure{Kind: seracv1.FailureKind(kind)}
				st.Failure.ShuffleFile = l.GetAssignments()[0].GetShuffle().GetFiles()[steps%3]
			}
			m.Step(TaskStatus{Executor: fmt.Sprint(steps), Status: st})
			if kind == int32(seracv1.FailureKind_FAILURE_KIND_HANDED_BACK) && steps > 100 {
				m.Step(Cancel{}) // it ends with the executors, which never run out here
			}
		}
	}
}
