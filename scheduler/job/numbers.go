package job

import (
	"time"

	"github.com/seracdb/serac/plan"
)

// Progress counts what a job has done so far. Output that was lost is taken back.
type Progress struct {
	Stages, StagesDone int
	Tasks, TasksDone   int
	TasksRunning       int
	// Retries counts attempts beyond the first of each task.
	Retries int
	// Rows and Bytes have been read by stages without inputs, that is, from tables.
	Rows, Bytes int64
	// ShuffledRows and Shuffled (bytes) have been written for later stages.
	ShuffledRows, Shuffled int64
}

// StageNumbers are one stage's numbers, as EXPLAIN ANALYZE shows them. Rows, bytes and times are those of the attempts
// that count (accepted, or running now), not of failed ones.
type StageNumbers struct {
	Stage          plan.StageID
	Name, Describe string
	Sink           Sink
	State          string // waiting, running, finished, dormant
	Tasks, Done    int
	Running        int
	// Attempts have been launched in all; Retries are those beyond the first of each task.
	Attempts, Retries         int
	InputRows, InputBytes     int64
	OutputRows, OutputBytes   int64
	ShuffleFetchedBytes       int64
	MinTime, MaxTime, SumTime time.Duration // per task
	FetchTime                 time.Duration // of SumTime: before DuckDB started
}
