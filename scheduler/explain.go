package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/cluster"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/job"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/scheduler/sql"
)

var explainSchema = textSchema("plan")

// explain shows the plan, the stages and why something runs in one task; with ANALYZE it runs the statement and adds
// what came of it.
func (st *statement) explain(ctx context.Context, p *sql.Explain) (engine.Execution, error) {
	if p.Format == sql.ExplainSubstrait {
		return st.explainSubstrait(ctx, p)
	}
	return st.background(ctx, true, explainSchema, func(ctx context.Context, e *taskExecution) (rows, int64, error) {
		if p.Analyze {
			if err := st.room(); err != nil {
				return nil, 0, err
			}
		}
		x, err := st.explained(ctx, p.Statement)
		if err != nil {
			return nil, 0, err
		}
		if p.Analyze {
			if err := x.analyze(ctx, e, st); err != nil {
				return nil, 0, err
			}
		}
		text, err := x.render(p.Format)
		if err != nil {
			return nil, 0, err
		}
		return textRows(explainSchema, explainRows(text, p.Format)), 0, nil
	}), nil
}

// explainRows is a row per line of the text; JSON is one row.
func explainRows(text, format string) [][]*string {
	if format == sql.ExplainJSON {
		return [][]*string{{&text}}
	}
	var lines [][]*string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, []*string{&line})
	}
	return lines
}

// explanation is what EXPLAIN shows.
type explanation struct {
	undistributed plan.Node
	planned       *planned
	bound         *bind.Bound
	write         *preparedWrite
	analyzed      *analysis
}

// analysis is what ANALYZE adds.
type analysis struct {
	stages  []job.StageNumbers
	rows    int64
	elapsed time.Duration
}

// of are the numbers of a stage; nil when it was given up before it began.
func (a *analysis) of(id plan.StageID) *job.StageNumbers {
	for i := range a.stages {
		if a.stages[i].Stage == id {
			return &a.stages[i]
		}
	}
	return nil
}

func (st *statement) explained(ctx context.Context, of sql.Statement) (*explanation, error) {
	switch of := of.(type) {
	case *sql.Query:
		bound, err := st.bind(ctx, of.Text)
		if err != nil {
			return nil, err
		}
		p, err := st.plan(ctx, bound, nil)
		if err != nil {
			return nil, err
		}
		return &explanation{undistributed: bound.Plan, planned: p, bound: bound}, nil
	case *sql.Insert:
		w, err := st.planInsert(ctx, of)
		if err != nil {
			return nil, err
		}
		return &explanation{planned: w.planned, write: w}, nil
	}
	return nil, statementError("EXPLAIN is for queries and INSERT")
}

func (x *explanation) analyze(ctx context.Context, e *taskExecution, st *statement) error {
	place, err := e.enter(ctx, st)
	if err != nil {
		return err
	}
	defer place.Leave()
	start := time.Now()
	x.analyzed = &analysis{}
	if x.write != nil {
		if x.analyzed.rows, err = st.runInsert(ctx, e, place, x.write); err != nil {
			return err
		}
	} else {
		run, err := st.launch(ctx, x.planned, cluster.WithSchema(x.bound.Arrow))
		if err != nil {
			return err
		}
		defer run.Cancel()
		e.follow(run)
		for {
			batch, err := run.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			x.analyzed.rows += batch.NumRows()
			batch.Release()
		}
	}
	x.analyzed.elapsed = time.Since(start)
	x.planned.stages = x.planned.ran()
	e.mu.Lock()
	defer e.mu.Unlock()
	x.analyzed.stages = e.run.Stages()
	return nil
}

func (x *explanation) render(format string) (string, error) {
	if format == sql.ExplainJSON {
		out, err := json.MarshalIndent(x.document(), "", "  ")
		return string(out), err
	}
	var b strings.Builder
	if x.planned.why != "" {
		fmt.Fprintf(&b, "Runs whole in one task: %s\n\n", x.planned.why)
	} else if x.undistributed != nil && len(x.planned.stages) > 1 { // a single stage is the plan
		fmt.Fprintf(&b, "Plan\n%s\n", indent(plan.Explain(x.undistributed)))
	}
	b.WriteString(planner.Explain(x.planned.stages))
	fmt.Fprintf(&b, "\nPlanned in %s; scans %s\n", elapsed(x.planned.planning), planner.SizeText(x.planned.scanned))
	if a := x.analyzed; a != nil {
		fmt.Fprintf(&b, "Ran in %s; rows: %d\n\n", elapsed(a.elapsed), a.rows)
		b.WriteString(stageTable(a.stages))
	}
	return b.String(), nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

// stageTable shows the actual numbers of each stage.
func stageTable(stages []job.StageNumbers) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s %-34s %6s %7s %12s %12s %12s %12s %10s %10s\n",
		"stage", "output", "tasks", "retries", "rows in", "bytes in", "rows out", "bytes out", "time", "slowest")
	for _, s := range stages {
		fmt.Fprintf(&b, "%-6d %-34s %6d %7d %12d %12s %12d %12s %10s %10s\n", s.Stage, s.Describe, s.Tasks, s.Retries, s.InputRows,
			planner.SizeText(s.InputBytes), s.OutputRows, planner.SizeText(s.OutputBytes), elapsed(s.SumTime), elapsed(s.MaxTime))
	}
	return b.String()
}

type explainDocument struct {
	Why             string         `json:"one_task_because,omitempty"`
	Plan            string         `json:"plan,omitempty"`
	Stages          []explainStage `json:"stages"`
	ScannedBytes    int64          `json:"scanned_bytes"`
	PlanningSeconds float64        `json:"planning_seconds"`
	Seconds         float64        `json:"seconds,omitempty"`
	Rows            *int64         `json:"rows,omitempty"`
}

type explainStage struct {
	ID             int32             `json:"id"`
	Output         string            `json:"output"`
	Tasks          int               `json:"tasks"`
	Units          int               `json:"units"`
	Inputs         []plan.StageID    `json:"inputs,omitempty"`
	Notes          []string          `json:"notes,omitempty"`
	EstimatedRows  float64           `json:"estimated_rows"`
	EstimatedBytes float64           `json:"estimated_bytes"`
	Fragment       string            `json:"fragment"`
	Actual         *job.StageNumbers `json:"actual,omitempty"`
}

func (x *explanation) document() explainDocument {
	doc := explainDocument{
		Why: x.planned.why, ScannedBytes: x.planned.scanned, PlanningSeconds: x.planned.planning.Seconds(),
	}
	if x.undistributed != nil {
		doc.Plan = plan.Explain(x.undistributed)
	}
	for _, s := range x.planned.stages {
		e := explainStage{
			ID: int32(s.ID), Output: s.Describe(), Tasks: len(s.Tasks), Units: s.Units, Inputs: s.Inputs, Notes: s.Notes,
			EstimatedRows: s.EstimatedRows, EstimatedBytes: s.EstimatedBytes, Fragment: plan.Explain(s.Root),
		}
		if x.analyzed != nil {
			e.Actual = x.analyzed.of(s.ID)
		}
		doc.Stages = append(doc.Stages, e)
	}
	if a := x.analyzed; a != nil {
		doc.Seconds, doc.Rows = a.elapsed.Seconds(), &a.rows
	}
	return doc
}
