package cluster

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
)

// Run is a job on its way. Its methods are safe for concurrent use, but only one goroutine may call Next.
type Run struct {
	c    *Cluster
	spec job.Spec
	o    runOptions
}

// Outcome is what a job that ended well leaves behind.
type Outcome struct {
	// DataFiles are those of the write stages, each task's once, in stage and task order.
	DataFiles []*seracv1.DataFile
	// Stages are the final numbers.
	Stages []job.StageNumbers
}

// RunOption changes how a job runs.
type RunOption func(*runOptions)

type runOptions struct {
	schema  *arrow.Schema
	orphans func(paths []string)
}

// WithSchema gives the schema that every result stream must have: types and nullability by position, and names. Without
// it the first stream decides.
func WithSchema(s *arrow.Schema) RunOption { return func(o *runOptions) { o.schema = s } }

// WithOrphans is told of data files that no commit may name and that nobody else deletes: those of superseded attempts,
// and all of them when the job fails. It is called in its own goroutine, possibly more than once and after the job's end.
func WithOrphans(f func(paths []string)) RunOption { return func(o *runOptions) { o.orphans = f } }

// Run starts a job and returns at once. When ctx is done the job is cancelled (or fails with DEADLINE, when that is the
// reason). The spec belongs to the run from now on. A spec that is not valid makes a run that has failed.
func (c *Cluster) Run(ctx context.Context, spec job.Spec, options ...RunOption) *Run {
	r := &Run{c: c, spec: spec}
	for _, o := range options {
		o(&r.o)
	}
	return r
}

// ID is the job's id.
func (r *Run) ID() string { return r.spec.ID }

// Next returns the next batch of the result stages' rows, in stage and task order. The caller releases it. It returns
// io.EOF after the last row of a job that ended well, and the job's error otherwise. A slow caller slows the executors
// down.
func (r *Run) Next(ctx context.Context) (arrow.RecordBatch, error) { return nil, errClosed }

// Wait waits for the job's end and returns what it left behind, or its error. A job with result stages ends only when
// its rows are fetched: call Next.
func (r *Run) Wait(ctx context.Context) (*Outcome, error) { return nil, errClosed }

// Progress never blocks for long.
func (r *Run) Progress() job.Progress { return job.Progress{} }

// Stages are the numbers of each stage so far.
func (r *Run) Stages() []job.StageNumbers { return nil }

// Cancel ends the job with CANCELLED, if it has not ended yet, and gives up rows that Next has not returned. It returns
// at once and may be called more than once.
func (r *Run) Cancel() {}
