package job

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Sink is where a stage's rows go.
type Sink uint8

// The sinks.
const (
	Shuffle Sink = iota + 1 // files that tasks of later stages read
	Result                  // streams that the scheduler fetches for the client, in task order
	Write                   // data files for the scheduler to commit
)

// String names the sink.
func (s Sink) String() string {
	switch s {
	case Shuffle:
		return "shuffle"
	case Result:
		return "result"
	case Write:
		return "write"
	default:
		return fmt.Sprintf("Sink(%d)", uint8(s))
	}
}

// The defaults of a Spec.
const (
	DefaultMaxAttempts      = 4
	DefaultMaxResubmissions = 10
)

// Spec describes a job. The messages and slices in it are not changed once a machine or a run has been made of it.
type Spec struct {
	// ID names the job in the whole cluster; never used twice.
	ID string
	// Stages in an order in which a stage stands after its inputs. Earlier stages are launched first.
	Stages []Stage
	// Open says that the stages are a beginning, none perhaps: StagesAdded brings the others. An open job does not succeed.
	Open bool
	// MaxAttempts is how many attempts of a task may fail for reasons that another attempt may cure, the first included;
	// 0: DefaultMaxAttempts.
	MaxAttempts int
	// MaxResubmissions is how often a finished stage may lose output and be run again, and how often one task may lose
	// its output; 0: DefaultMaxResubmissions.
	MaxResubmissions int
}

// Stage is one fragment, run by one or more tasks. A stage without tasks is finished from the start.
type Stage struct {
	ID plan.StageID
	// Name and Describe are for people: EXPLAIN, progress, logs. Free of secrets.
	Name, Describe string
	Sink           Sink
	// Inputs are the stages whose shuffle output the tasks read. All of them end before a task of this stage starts.
	Inputs []plan.StageID
	Tasks  []Task
	// Plan, when not nil, decides the tasks late, and Tasks is empty. It is called once, when all inputs are finished for
	// the first time, with what each of them wrote; until then the stage has no tasks, and afterwards those, whatever is
	// lost. It must be quick, depend on its argument alone and leave it as it is. It may give no task at all.
	Plan func(outputs map[plan.StageID]*StageOutput) []Task
	// Indeterminate: another attempt at a task may write other rows, or the same rows to other partitions: random(), a
	// LIMIT without an order, a key that is a sum of floating point numbers. When output of such a stage must be made
	// again, everything that was made from the lost output is made again too; else one consumer would have read rows
	// that another one misses.
	Indeterminate bool
	// Fragment is a serialized seracv1.Fragment, the same for all tasks.
	Fragment []byte
	// Settings are the DuckDB settings that the statement's meaning depends on.
	Settings map[string]string
}

// Task says what one task of a stage reads. A leaf that is in neither list reads nothing.
type Task struct {
	// Assignments are known from the start: file groups and constants.
	Assignments []*seracv1.LeafAssignment
	// Shuffle is resolved when the task is launched.
	Shuffle []ShuffleNeed
}

// ShuffleNeed is what one leaf reads of an earlier stage's output: the given partitions as written by the given tasks of
// that stage.
type ShuffleNeed struct {
	Leaf       plan.LeafID
	Stage      plan.StageID
	Partitions []int32 // nil: all partitions; empty but not nil: none
	Producers  *Range  // nil: all tasks
}

// Range is the tasks From <= task < To of a stage. Several consumers share a large partition by the tasks that wrote it.
type Range struct{ From, To int32 }

// covers says whether a task is in the range; every task is in none.
func (r *Range) covers(task int32) bool { return r == nil || r.From <= task && task < r.To }

// Validate reports every fault of the spec at once.
func (s *Spec) Validate() error {
	var faults []error
	if s.ID == "" {
		faults = append(faults, errors.New("no id"))
	}
	if len(s.Stages) == 0 && !s.Open {
		faults = append(faults, errors.New("no stages"))
	}
	if s.MaxAttempts < 0 || s.MaxResubmissions < 0 {
		faults = append(faults, fmt.Errorf("negative limit: %d attempts, %d resubmissions", s.MaxAttempts, s.MaxResubmissions))
	}
	if faults = append(faults, checkStages(s.Stages, map[plan.StageID]Sink{})...); len(faults) > 0 {
		return fmt.Errorf("job %q: %w", s.ID, errors.Join(faults...))
	}
	return nil
}

// checkStages finds the faults of stages that come after those in sinks, and adds them there.
func checkStages(stages []Stage, sinks map[plan.StageID]Sink) (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for i := range stages {
		st := &stages[i]
		if _, ok := sinks[st.ID]; ok {
			fault("stage %d: its id is taken", st.ID)
			continue
		}
		if st.Sink != Shuffle && st.Sink != Result && st.Sink != Write {
			fault("stage %d: unknown sink %v", st.ID, st.Sink)
		}
		for _, in := range st.Inputs {
			switch sink, ok := sinks[in]; {
			case !ok:
				fault("stage %d: its input %d is not an earlier stage", st.ID, in)
			case sink != Shuffle:
				fault("stage %d: its input %d has sink %v", st.ID, in, sink)
			}
		}
		if st.Plan != nil && len(st.Tasks) > 0 {
			fault("stage %d: it has %d tasks and is to decide them late", st.ID, len(st.Tasks))
		}
		faults = append(faults, checkTasks(st, st.Tasks)...)
		sinks[st.ID] = st.Sink
	}
	return faults
}

func checkTasks(st *Stage, tasks []Task) (faults []error) {
	for t := range tasks {
		for _, need := range tasks[t].Shuffle {
			if !slices.Contains(st.Inputs, need.Stage) {
				faults = append(faults, fmt.Errorf("stage %d: task %d reads stage %d, which is not among its inputs", st.ID, t, need.Stage))
			}
			if r := need.Producers; r != nil && (r.From < 0 || r.From > r.To) {
				faults = append(faults, fmt.Errorf("stage %d: task %d reads what tasks %d to %d of stage %d wrote", st.ID, t, r.From, r.To, need.Stage))
			}
		}
	}
	return faults
}
