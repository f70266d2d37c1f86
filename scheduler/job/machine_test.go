package job

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// TestScripts runs testdata/*.txt. A script reads as documentation; its commands are
//
//	job [attempts=N] [resubmissions=N] [open]   defines the job and starts it; one line per stage:
//	  ID SINK tasks=N [reads=ID ...] [indeterminate]   task i reads partition i of stage ID; reads=ID* reads all its partitions
//	  ID SINK tasks=late [reads=ID ...]   decides its tasks late: one for each non-empty partition of its first input
//	  ID SINK tasks=split reads=ID        the same, but two for each partition that more than one task wrote, half of them each
//	stages [last]                        adds stages to an open job, written as above
//	drop ID...                           stages that no stage to come reads
//	step                                 one event per line, with the actions that follow from it:
//	  add | drain EXECUTOR
//	  lose EXECUTOR [reason]
//	  launch STAGE.TASK EXECUTOR           prints the attempt and what it was assigned
//	  launch-all EXECUTOR...               launches whatever may be launched, on one executor after the other
//	  running | streaming ATTEMPT EXECUTOR
//	  finished ATTEMPT EXECUTOR [parts=P,P] [files=F,F] [rows=N] [micros=N]
//	  failed ATTEMPT EXECUTOR KIND [file=ATTEMPT/PARTITION] [files=F,F] [message]
//	  started | received ATTEMPT           the first row goes to the client; the last has arrived at the scheduler
//	  preempt ATTEMPT
//	  cancel | deadline
//	next                                 the task to launch next, and where it would like to run
//	state                                the job, its stages and tasks
//	numbers                              progress and stage numbers
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	t *testing.T
	m *Machine
	// open: the job was open at first. Only then StageDone is printed.
	open bool
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	switch d.Cmd {
	case "job":
		spec := &Spec{ID: "j"}
		s.open = false
		for _, a := range d.CmdArgs {
			if a.Key == "open" {
				spec.Open, s.open = true, true
				continue
			}
			n, err := strconv.Atoi(a.Vals[0])
			require.NoError(t, err)
			switch a.Key {
			case "attempts":
				spec.MaxAttempts = n
			case "resubmissions":
				spec.MaxResubmissions = n
			}
		}
		for line := range strings.Lines(d.Input) {
			spec.Stages = append(spec.Stages, parseStage(t, strings.Fields(line)))
		}
		m, err := New(spec)
		if err != nil {
			return err.Error() + "\n"
		}
		s.m = m
		s.actions(&out, m.Start())
	case "stages":
		e := StagesAdded{Last: len(d.CmdArgs) > 0}
		for line := range strings.Lines(d.Input) {
			e.Stages = append(e.Stages, parseStage(t, strings.Fields(line)))
		}
		s.actions(&out, s.m.Step(e))
		if out.Len() == 0 {
			return "ok\n"
		}
	case "drop":
		var e StagesDropped
		for _, a := range d.CmdArgs {
			id, err := strconv.Atoi(a.Key)
			require.NoError(t, err)
			e.Stages = append(e.Stages, plan.StageID(id))
		}
		s.actions(&out, s.m.Step(e))
		if out.Len() == 0 {
			return "ok\n"
		}
	case "step":
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			if err := s.event(&out, line); err != nil {
				fmt.Fprintf(&out, "%s: %v\n", line, err)
			}
		}
		if out.Len() == 0 {
			return "ok\n"
		}
	case "next":
		c, ok := s.m.Next()
		if !ok {
			return "nothing\n"
		}
		fmt.Fprintf(&out, "%d.%d", c.Stage, c.Task)
		for _, p := range c.Prefer {
			fmt.Fprintf(&out, " prefer %s (%d of %d bytes)", p.Executor, p.Bytes, p.Of)
		}
		if c.File != "" {
			fmt.Fprintf(&out, " file %s", c.File)
		}
		if c.Avoid != "" {
			fmt.Fprintf(&out, " avoid %s", c.Avoid)
		}
		out.WriteString("\n")
	case "state":
		s.state(&out)
	case "numbers":
		fmt.Fprintf(&out, "%+v\n", s.m.Progress())
		for _, n := range s.m.StageNumbers() {
			fmt.Fprintf(&out, "%d %s: attempts %d retries %d, in %d rows %d bytes, out %d rows %d bytes, time %v %v %v\n", n.Stage, n.State,
				n.Attempts, n.Retries, n.InputRows, n.InputBytes, n.OutputRows, n.OutputBytes, n.MinTime, n.MaxTime, n.SumTime)
		}
	default:
		t.Fatalf("unknown command %q", d.Cmd)
	}
	return out.String()
}

func parseStage(t *testing.T, words []string) Stage {
	id, err := strconv.Atoi(words[0])
	require.NoError(t, err)
	st := Stage{ID: plan.StageID(id), Sink: map[string]Sink{"shuffle": Shuffle, "result": Result, "write": Write}[words[1]]}
	for _, w := range words[2:] {
		if w == "indeterminate" {
			st.Indeterminate = true
			continue
		}
		key, value, _ := strings.Cut(w, "=")
		if value == "late" || value == "split" {
			st.Plan = func(outputs map[plan.StageID]*StageOutput) []Task {
				return lateTasks(outputs[st.Inputs[0]], value == "split")
			}
			continue
		}
		all := strings.HasSuffix(value, "*")
		n, err := strconv.Atoi(strings.TrimSuffix(value, "*"))
		require.NoError(t, err)
		switch key {
		case "tasks":
			st.Tasks = make([]Task, n)
		case "reads":
			st.Inputs = append(st.Inputs, plan.StageID(n))
			for i := range st.Tasks {
				need := ShuffleNeed{Leaf: plan.LeafID(len(st.Inputs)), Stage: plan.StageID(n)}
				if !all {
					need.Partitions = []int32{int32(i)}
				}
				st.Tasks[i].Shuffle = append(st.Tasks[i].Shuffle, need)
			}
		default:
			t.Fatalf("unknown word %q", w)
		}
	}
	if st.Plan != nil {
		return st
	}
	if len(st.Inputs) == 0 {
		for i := range st.Tasks {
			st.Tasks[i].Assignments = []*seracv1.LeafAssignment{{Leaf: 9, What: &seracv1.LeafAssignment_Files{
				Files: &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: fmt.Sprintf("t%d.parquet", i)}}}}}}
		}
	}
	return st
}

// lateTasks reads each partition that has rows in a task of its own, or in two.
func lateTasks(in *StageOutput, split bool) (tasks []Task) {
	for p, size := range in.Partitions {
		if size.Rows == 0 {
			continue
		}
		need := ShuffleNeed{Leaf: 1, Stage: in.Stage, Partitions: []int32{int32(p)}}
		if half := int32(in.Tasks / 2); split && half > 0 {
			low, high := need, need
			low.Producers, high.Producers = &Range{0, half}, &Range{half, int32(in.Tasks)}
			tasks = append(tasks, Task{Shuffle: []ShuffleNeed{low}}, Task{Shuffle: []ShuffleNeed{high}})
			continue
		}
		tasks = append(tasks, Task{Shuffle: []ShuffleNeed{need}})
	}
	return tasks
}

func printOutput(out *strings.Builder, o *StageOutput) {
	fmt.Fprintf(out, "stage %d wrote %d rows, %d bytes in %d tasks; partitions", o.Stage, o.Rows, o.Bytes, o.Tasks)
	for p := range o.Partitions {
		fmt.Fprintf(out, " %v", o.ProducerBytes(int32(p)))
	}
	if !o.Stable {
		out.WriteString(", may change")
	}
	for _, k := range o.Keys {
		fmt.Fprintf(out, "; c%d %s %d rows %d nulls", k.Column, k.Type, k.Rows, k.Nulls)
		if k.Min != nil {
			fmt.Fprintf(out, " %v..%v", k.Min.Value, k.Max.Value)
		}
		if k.Listed {
			out.WriteString(" in")
			for _, v := range k.Values {
				fmt.Fprintf(out, " %v", v.Value)
			}
		}
		if k.Bloom != nil {
			fmt.Fprintf(out, " bloom of %d bytes", len(k.Bloom))
		}
	}
	out.WriteString("\n")
}

func (s *script) event(out *strings.Builder, line string) error {
	w := strings.Fields(line)
	switch w[0] {
	case "add":
		s.actions(out, s.m.Step(ExecutorAdded{Executor: w[1]}))
	case "drain":
		s.actions(out, s.m.Step(ExecutorDraining{Executor: w[1]}))
	case "lose":
		s.actions(out, s.m.Step(ExecutorLost{Executor: w[1], Reason: strings.Join(w[2:], " ")}))
	case "launch":
		var a AttemptID
		if _, err := fmt.Sscanf(w[1], "%d.%d", &a.Stage, &a.Task); err != nil {
			return err
		}
		return s.launch(out, a, w[2])
	case "launch-all":
		for i := 0; ; i++ {
			c, ok := s.m.Next()
			if !ok {
				return nil
			}
			if err := s.launch(out, AttemptID{Stage: c.Stage, Task: c.Task}, w[1+i%(len(w)-1)]); err != nil {
				return err
			}
		}
	case "running", "streaming", "finished", "failed":
		st, err := parseStatus(w)
		if err != nil {
			return err
		}
		s.actions(out, s.m.Step(TaskStatus{Executor: w[2], Status: st}))
	case "started", "received":
		a, err := parseAttempt(w[1])
		if err != nil {
			return err
		}
		if w[0] == "started" {
			s.actions(out, s.m.Step(ResultStarted{Attempt: a}))
		} else {
			s.actions(out, s.m.Step(ResultDone{Attempt: a}))
		}
	case "preempt":
		a, err := parseAttempt(w[1])
		if err != nil {
			return err
		}
		s.actions(out, s.m.Step(Preempted{Attempt: a}))
	case "cancel":
		s.actions(out, s.m.Step(Cancel{Reason: "the client asked for it"}))
	case "deadline":
		s.actions(out, s.m.Step(Deadline{}))
	default:
		return fmt.Errorf("unknown event")
	}
	return nil
}

func (s *script) launch(out *strings.Builder, a AttemptID, executor string) error {
	l, err := s.m.Launch(a.Stage, a.Task, executor)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "launch %v on %s:", AttemptOf(l.GetId()), executor)
	for _, as := range l.GetAssignments() {
		for _, f := range as.GetFiles().GetFiles() {
			fmt.Fprintf(out, " %s", f.GetPath())
		}
		if sh := as.GetShuffle(); sh != nil {
			fmt.Fprintf(out, " leaf %d [", as.GetLeaf())
			for i, f := range sh.GetFiles() {
				if i > 0 {
					out.WriteString(" ")
				}
				fmt.Fprintf(out, "%v/%d@%s", AttemptOf(f.GetProducer()), f.GetPartition(), f.GetExecutorId())
			}
			out.WriteString("]")
		}
	}
	out.WriteString("\n")
	return nil
}

func parseAttempt(w string) (AttemptID, error) {
	var a AttemptID
	_, err := fmt.Sscanf(w, "%d.%d.%d", &a.Stage, &a.Task, &a.Attempt)
	return a, err
}

func parseStatus(w []string) (*seracv1.TaskStatus, error) {
	a, err := parseAttempt(w[1])
	if err != nil {
		return nil, err
	}
	id := func(a AttemptID) *seracv1.TaskId {
		return &seracv1.TaskId{JobId: "j", Stage: int32(a.Stage), Task: a.Task, Attempt: a.Attempt}
	}
	st := &seracv1.TaskStatus{Id: id(a), State: seracv1.TaskState(seracv1.TaskState_value["TASK_STATE_"+strings.ToUpper(w[0])])}
	rest := w[3:]
	if w[0] == "failed" {
		st.Failure = &seracv1.Failure{Kind: seracv1.FailureKind(seracv1.FailureKind_value["FAILURE_KIND_"+w[3]])}
		rest = w[4:]
	}
	for _, x := range rest {
		key, value, ok := strings.Cut(x, "=")
		if !ok {
			st.Failure.Message = strings.TrimSpace(st.Failure.Message + " " + x)
			continue
		}
		switch key {
		case "parts":
			for p := range strings.SplitSeq(value, ",") {
				n, err := strconv.Atoi(p)
				if err != nil {
					return nil, err
				}
				st.ShuffleFiles = append(st.ShuffleFiles, &seracv1.ShuffleFile{Partition: int32(n), SizeBytes: 100, Rows: 10,
					FlightAddress: w[2] + ":1", HostId: "h", Path: fmt.Sprintf("/spill/%s/%v/p%d.parquet", w[2], a, n)})
			}
		case "files":
			for f := range strings.SplitSeq(value, ",") {
				st.DataFiles = append(st.DataFiles, &seracv1.DataFile{Path: f})
			}
		case "rows", "micros":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, err
			}
			if st.Metrics == nil {
				st.Metrics = &seracv1.TaskMetrics{}
			}
			if key == "micros" {
				st.Metrics.ElapsedMicros = n
			} else {
				st.Metrics.InputRows, st.Metrics.InputBytes, st.Metrics.OutputRows, st.Metrics.OutputBytes = n, 8*n, n/2, 4*n
			}
		case "file":
			at, p, _ := strings.Cut(value, "/")
			producer, err := parseAttempt(at)
			if err != nil {
				return nil, err
			}
			n, err := strconv.Atoi(p)
			if err != nil {
				return nil, err
			}
			st.Failure.ShuffleFile = &seracv1.ShuffleFile{Producer: id(producer), Partition: int32(n)}
		default:
			return nil, fmt.Errorf("unknown word %q", x)
		}
	}
	return st, nil
}

func (s *script) actions(out *strings.Builder, actions []Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case CancelTask:
			fmt.Fprintf(out, "cancel %v on %s\n", a.Attempt, a.Executor)
		case AttemptOver, ResultTasks: // TestRandom counts them
		case StageDone:
			if s.open {
				printOutput(out, a.Output)
			}
		case DeleteFiles:
			fmt.Fprintf(out, "delete %s\n", strings.Join(a.Paths, " "))
		case Finished:
			out.WriteString("finished")
			for _, f := range a.DataFiles {
				out.WriteString(" " + f.GetPath())
			}
			abandoned(out, a.Abandoned)
			out.WriteString("\n")
		case Failed:
			fmt.Fprintf(out, "failed %s: %s", kindName(a.Failure.GetKind()), a.Failure.GetMessage())
			abandoned(out, a.Abandoned)
			out.WriteString("\n")
		case CleanUp:
			fmt.Fprintf(out, "clean up %s\n", strings.Join(a.Executors, " "))
		default:
			s.t.Fatalf("unknown action %T", a)
		}
	}
}

func abandoned(out *strings.Builder, attempts []AttemptID) {
	if len(attempts) > 0 {
		fmt.Fprintf(out, " (abandoned %v)", attempts)
	}
}

func (s *script) state(out *strings.Builder) {
	switch st := s.m.state.(type) {
	case jobActive:
		out.WriteString("active\n")
	case jobSucceeded:
		out.WriteString("succeeded\n")
	case *jobFailed:
		fmt.Fprintf(out, "failed %s\n", kindName(st.failure.GetKind()))
	}
	for _, st := range s.m.stages {
		fmt.Fprintf(out, "stage %d %s:", st.spec.ID, st.state)
		for t := range st.tasks {
			if t > 0 {
				out.WriteString(",")
			}
			switch ts := st.tasks[t].state.(type) {
			case taskPending:
				out.WriteString(" pending")
			case *taskRunning:
				fmt.Fprintf(out, " running %d@%s", ts.attempt, ts.on.id)
				if ts.delivering {
					out.WriteString(" delivering")
				}
			case *taskDone:
				fmt.Fprintf(out, " done %d@%s", ts.attempt, ts.on.id)
			}
		}
		out.WriteString("\n")
	}
}
