package job

import (
	"time"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// metrics are a task's numbers: those of its current or accepted attempt.
type metrics struct {
	inputRows, inputBytes, outputRows, outputBytes, fetchedBytes, elapsed, fetch int64
}

func metricsOf(m *seracv1.TaskMetrics) metrics {
	return metrics{
		inputRows: m.GetInputRows(), inputBytes: m.GetInputBytes(), outputRows: m.GetOutputRows(), outputBytes: m.GetOutputBytes(),
		fetchedBytes: m.GetShuffleFetchedBytes(), elapsed: m.GetElapsedMicros(), fetch: m.GetFetchMicros(),
	}
}

// totals are the sums over a stage's tasks.
type totals metrics

// record replaces a task's numbers and keeps the stage's sums right.
func (s *stage) record(t *task, now metrics) {
	was := t.metrics
	t.metrics = now
	s.total.inputRows += now.inputRows - was.inputRows
	s.total.inputBytes += now.inputBytes - was.inputBytes
	s.total.outputRows += now.outputRows - was.outputRows
	s.total.outputBytes += now.outputBytes - was.outputBytes
	s.total.fetchedBytes += now.fetchedBytes - was.fetchedBytes
	s.total.elapsed += now.elapsed - was.elapsed
	s.total.fetch += now.fetch - was.fetch
}

// Progress is what has been done so far.
func (m *Machine) Progress() Progress {
	p := Progress{Stages: len(m.stages)}
	for _, s := range m.stages {
		p.Tasks += len(s.tasks)
		p.TasksDone += len(s.tasks) - s.missing
		p.TasksRunning += s.running
		p.Retries += s.retries
		if s.complete() {
			p.StagesDone++
		}
		if len(s.inputs) == 0 {
			p.Rows += s.total.inputRows
			p.Bytes += s.total.inputBytes
		}
		if s.spec.Sink == Shuffle {
			p.ShuffledRows += s.total.outputRows
			p.Shuffled += s.total.outputBytes
		}
	}
	return p
}

// StageNumbers are the numbers of each stage, in the spec's order. It looks at every task.
func (m *Machine) StageNumbers() []StageNumbers {
	numbers := make([]StageNumbers, len(m.stages))
	for i, s := range m.stages {
		n := StageNumbers{
			Stage: s.spec.ID, Name: s.spec.Name, Describe: s.spec.Describe, Sink: s.spec.Sink, State: s.state.String(),
			Tasks: len(s.tasks), Done: len(s.tasks) - s.missing, Running: s.running, Attempts: s.attempts, Retries: s.retries,
			InputRows: s.total.inputRows, InputBytes: s.total.inputBytes,
			OutputRows: s.total.outputRows, OutputBytes: s.total.outputBytes, ShuffleFetchedBytes: s.total.fetchedBytes,
			SumTime: micros(s.total.elapsed), FetchTime: micros(s.total.fetch),
		}
		for t := range s.tasks {
			if s.isPending(int32(t)) {
				continue
			}
			d := micros(s.tasks[t].metrics.elapsed)
			if n.MinTime == 0 || d < n.MinTime {
				n.MinTime = d
			}
			n.MaxTime = max(n.MaxTime, d)
		}
		numbers[i] = n
	}
	return numbers
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
