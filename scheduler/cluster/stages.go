package cluster

import (
	"context"
	"fmt"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/wire"
)

// stageOutput is what a stage wrote, for those who wait for it.
type stageOutput struct {
	known  chan struct{} // closed when output is set
	output *job.StageOutput
}

// stage is a stage's output, known or not. Cluster.mu is held.
func (r *Run) stage(id plan.StageID) *stageOutput {
	o := r.outputs[id]
	if o == nil {
		o = &stageOutput{known: make(chan struct{})}
		if r.outputs == nil {
			r.outputs = map[plan.StageID]*stageOutput{}
		}
		r.outputs[id] = o
	}
	return o
}

func (r *Run) stageDone(output *job.StageOutput) {
	o := r.stage(output.Stage)
	o.output = output
	close(o.known)
}

// Add brings further stages of a job whose spec is open; last says that no more will come, and the job ends when they have.
// The stages belong to the run from now on. The error is the job's (a *wire.Failure) when it has ended, because of these
// stages perhaps: a stage that is not valid is a fault that fails the job.
func (r *Run) Add(ctx context.Context, stages []job.Stage, last bool) error {
	return r.open(ctx, "add stages", func() {
		if err := checkFragments(stages); err != nil {
			r.c.step(r, job.Fail{Failure: wire.FailureFrom(err)})
			return
		}
		r.c.step(r, job.StagesAdded{Stages: stages, Last: last})
	})
}

// Drop says of shuffle stages that no stage to be added will read them: what nobody else reads either is stopped. The error
// is as that of Add.
func (r *Run) Drop(ctx context.Context, stages ...plan.StageID) error {
	return r.open(ctx, "drop stages", func() { r.c.step(r, job.StagesDropped{Stages: stages}) })
}

// Fail ends the job with an error, if it has not ended yet: no further stages can be made, for one.
func (r *Run) Fail(err error) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if !r.over() {
		r.c.step(r, job.Fail{Failure: wire.FailureFrom(err)})
		r.c.dispatch()
	}
}

// open changes the stages of a job that has not ended.
func (r *Run) open(ctx context.Context, what string, change func()) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s of job %s: %w", what, r.spec.ID, err)
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if !r.over() {
		change()
		r.c.dispatch()
		if !r.over() || r.err == nil {
			return nil
		}
	}
	return r.endedEarly(what)
}

// over says whether the job has ended.
func (r *Run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// endedEarly is the error of what can be done only before the job's end.
func (r *Run) endedEarly(what string) error {
	if r.err != nil {
		return r.err
	}
	return wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "%s: job %s has ended", what, r.spec.ID)
}

// WaitStage waits until a shuffle stage is finished for the first time and returns what it wrote. The stage may be one that
// is added later. The error is the job's (a *wire.Failure) when the job ends first. That ctx ends does not end the job.
// A stage that nobody needs any more is never finished.
func (r *Run) WaitStage(ctx context.Context, stage plan.StageID) (*job.StageOutput, error) {
	r.c.mu.Lock()
	o := r.stage(stage)
	r.c.mu.Unlock()
	select {
	case <-o.known:
		return o.output, nil
	default:
	}
	select {
	case <-o.known:
		return o.output, nil
	case <-r.done:
		select {
		case <-o.known:
			return o.output, nil
		default:
			return nil, r.endedEarly(fmt.Sprintf("wait for stage %d", stage))
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for stage %d of job %s: %w", stage, r.spec.ID, ctx.Err())
	}
}
