package scheduler

import (
	"context"
	"fmt"

	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/cluster"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/scheduler/planner"
)

// launch sets a planned statement's job going. Where the session's adaptive rules may change what comes later, the stages
// are planned again while the job runs, and come to it one after the other.
func (st *statement) launch(ctx context.Context, p *planned, options ...cluster.RunOption) (*cluster.Run, error) {
	options = append(options, cluster.WithCredentials(st.credentials))
	if p.root == nil || len(p.stages) == 1 || st.options.Adaptive == (planner.Adaptive{}) {
		stages, err := st.compile(p.stages)
		if err != nil {
			return nil, err
		}
		return st.opts.Cluster.Run(ctx, job.Spec{ID: st.id, Stages: stages}, options...), nil
	}
	run := st.opts.Cluster.Run(ctx, job.Spec{ID: st.id, Open: true}, options...)
	r := &stageRunner{st: st, ctx: ctx, run: run, outputs: map[plan.StageID]*planner.Output{}}
	p.adapting = make(chan struct{})
	st.goroutines.Go(func() {
		defer close(p.adapting)
		err := st.guarded(func() error {
			stages, err := planner.Adapt(p.root, p.scans, st.plannerOptions(), r)
			if err != nil {
				return err
			}
			p.stages = stages
			return r.start(stages, true)
		})
		if err != nil {
			run.Fail(err) // which changes nothing when it is the job that has failed
		}
	})
	return run, nil
}

// ran are the stages as they ran, once the statement's job is over.
func (p *planned) ran() []*planner.Stage {
	if p.adapting != nil {
		<-p.adapting
	}
	return p.stages
}

// stageRunner is the planner's view of the job under way.
type stageRunner struct {
	st      *statement
	ctx     context.Context
	run     *cluster.Run
	started int
	outputs map[plan.StageID]*planner.Output
}

// start gives the job the stages that it has not got yet.
func (r *stageRunner) start(stages []*planner.Stage, last bool) error {
	var fresh []*planner.Stage
	for _, s := range stages[r.started:] {
		if !s.Dropped {
			fresh = append(fresh, s)
		}
	}
	r.started = len(stages)
	compiled, err := r.st.compile(fresh)
	if err != nil {
		return err
	}
	return r.run.Add(r.ctx, compiled, last)
}

// Output implements planner.Runtime.
func (r *stageRunner) Output(stages []*planner.Stage, id plan.StageID) (*planner.Output, error) {
	if out := r.outputs[id]; out != nil {
		return out, nil
	}
	if err := r.start(stages, false); err != nil {
		return nil, err
	}
	written, err := r.run.WaitStage(r.ctx, id)
	if err != nil {
		return nil, err
	}
	r.outputs[id] = outputOf(written)
	return r.outputs[id], nil
}

// Drop implements planner.Runtime.
func (r *stageRunner) Drop(stages []*planner.Stage) {
	var running []plan.StageID
	for _, s := range stages {
		if int(s.ID) < r.started {
			running = append(running, s.ID)
		}
	}
	// A job that has ended has stopped them already.
	_ = r.run.Drop(r.ctx, running...)
}

// Prune implements planner.Runtime.
func (r *stageRunner) Prune(n *plan.IcebergScan) (planner.ScanFiles, error) {
	t, ok := r.st.tables.byKey(n.TableKey)
	if !ok {
		return nil, fmt.Errorf("plan scan of %s: the table is not pinned", n.TableKey)
	}
	files, err := scan.PlanScan(r.ctx, t, n)
	if err != nil {
		return nil, err
	}
	return scanFiles{files}, nil
}

// outputOf is a stage's output as the planner looks at it.
func outputOf(o *job.StageOutput) *planner.Output {
	out := &planner.Output{Rows: o.Rows, Bytes: o.Bytes, Partitions: make([]int64, len(o.Partitions)), Producers: o.ProducerBytes}
	for i, p := range o.Partitions {
		out.Partitions[i] = p.Bytes
	}
	for _, k := range o.Keys {
		summary := planner.KeySummary{Column: k.Column, Min: k.Min, Max: k.Max, Bloom: k.Bloom}
		if k.Listed {
			summary.Values = append([]*plan.Constant{}, k.Values...)
		}
		out.Keys = append(out.Keys, summary)
	}
	return out
}
