package simulate

import (
	"context"
	"errors"
	"fmt"

	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/compare"
)

// running is a planner.Runtime in the simulator: stages run when somebody waits for one of them.
type running struct {
	s       *Simulator
	outputs map[plan.StageID]*planner.Output
	started int
}

// adapt plans and runs a statement at the same time, as the scheduler does.
func (s *Simulator) adapt(root plan.Node, o planner.Options) (result *compare.Result, stages []*planner.Stage, err error) {
	s.runs++
	o.CanShuffle = func(t plan.Type) bool { _, ok := shuffle.Carrier(t); return ok }
	r := &running{s: s, outputs: map[plan.StageID]*planner.Output{}}
	stages, err = planner.Adapt(root, s.scans(root), o, r)
	defer func() {
		for id := range r.outputs {
			err = errors.Join(err, s.exec("DROP TABLE IF EXISTS "+s.output(id)))
		}
	}()
	var not *planner.NotDistributableError
	if errors.As(err, &not) {
		stages, err = planner.OneTask(root, s.scans(root), not.Reason)
		r.started = 0
	}
	if err != nil {
		return nil, stages, err
	}
	last := stages[len(stages)-1]
	if err := r.runTo(stages[:len(stages)-1]); err != nil {
		return nil, stages, err
	}
	for _, task := range r.tasks(last) {
		query, err := s.query(last, task)
		if err != nil {
			return nil, stages, err
		}
		if result, err = s.collect(result, query); err != nil {
			return nil, stages, fmt.Errorf("%w\n%s", err, query)
		}
	}
	return result, stages, nil
}

func (r *running) tasks(s *planner.Stage) []planner.Task {
	if s.Plan != nil {
		return s.Plan(r.outputs)
	}
	return s.Tasks
}

func (r *running) runTo(stages []*planner.Stage) error {
	for ; r.started < len(stages); r.started++ {
		s := stages[r.started]
		if s.Dropped {
			continue
		}
		if err := r.s.runStage(s, r.tasks(s)); err != nil {
			return err
		}
		out, err := r.s.outputOf(s)
		if err != nil {
			return err
		}
		r.outputs[s.ID] = out
	}
	return nil
}

func (r *running) Output(stages []*planner.Stage, id plan.StageID) (*planner.Output, error) {
	if err := r.runTo(stages); err != nil {
		return nil, err
	}
	return r.outputs[id], nil
}

func (r *running) Drop([]*planner.Stage) {}

// Prune leaves out the groups of a table without a wanted row.
func (r *running) Prune(n *plan.IcebergScan) (planner.ScanFiles, error) {
	names := make([]string, len(n.Columns))
	for i, c := range n.Columns {
		names[i] = plan.QuoteIdent(c.Name)
	}
	where, err := render.Expr(n.Filter, names)
	if err != nil {
		return nil, err
	}
	return r.s.prune(n.TableKey, where)
}

// outputOf measures a stage's output table; 100 bytes are a row.
func (s *Simulator) outputOf(stage *planner.Stage) (*planner.Output, error) {
	const width = 100
	w := stage.Root.(*plan.ShuffleWrite)
	out := &planner.Output{Partitions: make([]int64, w.Partitions)}
	byProducer := map[int32][]int64{}
	rows, err := s.Conn.Rows(context.Background(), "SELECT p::BIGINT, producer::BIGINT, count(*) FROM "+s.output(stage.ID)+" GROUP BY ALL")
	if err != nil {
		return nil, fmt.Errorf("measure stage %d: %w", stage.ID, err)
	}
	for _, row := range rows {
		p, producer, n := int32(row[0].(int64)), int32(row[1].(int64)), row[2].(int64)
		out.Rows += n
		out.Bytes += n * width
		out.Partitions[p] += n * width
		for int(producer) >= len(byProducer[p]) {
			byProducer[p] = append(byProducer[p], 0)
		}
		byProducer[p][producer] += n * width
	}
	out.Producers = func(p int32) []int64 { return byProducer[p] }
	for _, c := range w.Summarize {
		k, ok, err := s.summary(stage, c)
		if err != nil {
			return nil, fmt.Errorf("summarise stage %d: %w", stage.ID, err)
		}
		if ok {
			out.Keys = append(out.Keys, k)
		}
	}
	return out, nil
}

func (s *Simulator) summary(stage *planner.Stage, c int) (k planner.KeySummary, ok bool, err error) {
	of := stage.Root.Schema()[c].Type
	if of.Kind != plan.Integer && of.Kind != plan.BigInt && of.Kind != plan.Varchar {
		return k, false, nil
	}
	rows, err := s.Conn.Rows(context.Background(), fmt.Sprintf("SELECT DISTINCT c%d FROM %s WHERE c%d IS NOT NULL ORDER BY 1", c, s.output(stage.ID), c))
	if err != nil {
		return k, false, err
	}
	k = planner.KeySummary{Column: c, Values: []*plan.Constant{}}
	for _, row := range rows {
		k.Values = append(k.Values, &plan.Constant{Value: row[0], Of: of})
	}
	if len(k.Values) > 0 {
		k.Min, k.Max = k.Values[0], k.Values[len(k.Values)-1]
	}
	if len(k.Values) > 20 { // a range only
		k.Values = nil
	}
	return k, true, nil
}

// prunedShare is a table of which only some groups are read.
type prunedShare struct {
	keyed
	kept []*seracv1.FileGroup
}

// Groups are the kept ones, whatever the target: a table is cut once, before it is pruned.
func (p prunedShare) Groups(int64, int) []*seracv1.FileGroup { return p.kept }

// prune gives the groups of a table that hold rows for which a condition is true.
func (s *Simulator) prune(table, where string) (prunedShare, error) {
	p := prunedShare{keyed: keyed{Share{Count: s.Tables[table].Rows, Max: 5}, s, table}}
	// The path of a group's file is the condition that makes the group: one of those that the table can have been cut by.
	for n := 1; n <= p.Max; n++ {
		for i := range n {
			path := fmt.Sprintf("rowid %% %d = %d", n, i)
			rows, err := s.Conn.Rows(context.Background(), fmt.Sprintf("SELECT count(*) FROM main.%s WHERE (%s) AND (%s)", plan.QuoteIdent(table), path, where))
			if err != nil {
				return p, fmt.Errorf("prune %s: %w", table, err)
			}
			if rows[0][0].(int64) > 0 {
				p.kept = append(p.kept, &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: path, Length: 1}}})
			}
		}
	}
	return p, nil
}
