package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/compare"
)

// run runs stages and gives the last one's rows, those of its tasks one after the other.
func (s *Simulator) run(stages []*planner.Stage) (*compare.Result, error) {
	results, err := s.RunTasks(stages)
	if err != nil {
		return nil, err
	}
	for _, more := range results[1:] {
		results[0].Rows = append(results[0].Rows, more.Rows...)
	}
	return results[0], nil
}

// RunTasks runs stages and gives the rows of each of the last one's tasks.
func (s *Simulator) RunTasks(stages []*planner.Stage) (results []*compare.Result, err error) {
	s.runs++
	defer func() {
		for _, stage := range stages[:len(stages)-1] {
			err = errors.Join(err, s.exec("DROP TABLE IF EXISTS "+s.output(stage.ID)))
		}
		err = errors.Join(err, os.RemoveAll(s.runDir()))
	}()
	for i, stage := range stages {
		if i < len(stages)-1 {
			if err := s.runStage(stage, stage.Tasks); err != nil {
				return nil, err
			}
			continue
		}
		for _, task := range stage.Tasks {
			query, err := s.query(stage, task)
			if err != nil {
				return nil, err
			}
			result, err := s.collect(nil, query)
			if err != nil {
				return nil, fmt.Errorf("%w\n%s", err, query)
			}
			results = append(results, result)
		}
	}
	return results, nil
}

func (s *Simulator) query(stage *planner.Stage, task planner.Task) (string, error) {
	return render.SQL(below(stage.Root), render.Options{Leaf: func(n plan.Node) (string, error) { return s.leaf(n, task) }})
}

// runStage runs a stage whose output others read.
func (s *Simulator) runStage(stage *planner.Stage, tasks []planner.Task) error {
	for k, task := range tasks {
		query, err := s.query(stage, task)
		if err != nil {
			return err
		}
		if err := s.write(stage, k, query); err != nil {
			return fmt.Errorf("stage %d: %w\n%s", stage.ID, err, query)
		}
	}
	return nil
}

func below(root plan.Node) plan.Node {
	if w, ok := root.(*plan.ShuffleWrite); ok {
		return w.Input
	}
	return root
}

func (s *Simulator) output(id plan.StageID) string { return fmt.Sprintf("run%d_stage%d", s.runs, id) }

func (s *Simulator) runDir() string { return filepath.Join(s.dir, fmt.Sprintf("run%d", s.runs)) }

func (s *Simulator) write(stage *planner.Stage, task int, query string) error {
	w := stage.Root.(*plan.ShuffleWrite)
	types := w.Schema().Types()
	columns := make([]string, len(types))
	for i := range columns {
		columns[i] = shuffle.Column(i)
	}
	keys := make([]string, len(w.Keys))
	for i, k := range w.Keys {
		key, err := render.Expr(k, columns)
		if err != nil {
			return err
		}
		keys[i] = key
	}
	by := shuffle.Partitioning{Keys: keys, Partitions: w.Partitions}
	if w.Partition != nil {
		number, err := render.Expr(w.Partition, columns)
		if err != nil {
			return err
		}
		by.Number = number
	}
	if s.files {
		dir := filepath.Join(s.runDir(), fmt.Sprintf("stage%d", stage.ID), fmt.Sprintf("task%d", task))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		text, err := shuffle.WriteSQL(query, types, by, dir)
		if err != nil {
			return err
		}
		return s.exec(text)
	}
	partition := "0"
	switch {
	case w.Partition != nil:
		partition = by.Number
	case w.Partitions > 1:
		partition = fmt.Sprintf("hash(%s) %% %d", strings.Join(keys, ", "), w.Partitions)
	}
	query = fmt.Sprintf("SELECT s.*, CAST(%s AS INTEGER) AS p, %d AS producer FROM (%s) AS s", partition, task, query)
	if task == 0 {
		return s.exec("CREATE TEMP TABLE " + s.output(stage.ID) + " AS " + query)
	}
	return s.exec("INSERT INTO " + s.output(stage.ID) + " " + query)
}

// read is the SELECT over partitions of a stage's output.
func (s *Simulator) read(n *plan.ShuffleRead, in planner.ShuffleInput) (string, error) {
	if s.files {
		paths, err := s.paths(in)
		if err != nil {
			return "", err
		}
		if len(paths) == 0 {
			return render.Empty(n.Out.Types()), nil
		}
		return shuffle.ReadSQL(n.Out.Types(), paths)
	}
	columns := make([]string, len(n.Out))
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d", i)
	}
	if len(columns) == 0 {
		columns = []string{"NULL AS c0"}
	}
	query := "SELECT " + strings.Join(columns, ", ") + " FROM " + s.output(in.Stage)
	if in.Producers != nil {
		query += fmt.Sprintf(" WHERE producer >= %d AND producer < %d AND p = %d", in.Producers.From, in.Producers.To, in.Partitions[0])
	} else if !in.All {
		query += " WHERE p IN (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(in.Partitions), " ", ", "), "[]") + ")"
	}
	return query, nil
}

// paths are the files that an input reads.
func (s *Simulator) paths(in planner.ShuffleInput) ([]string, error) {
	parts := []string{"all.parquet"}
	if in.All {
		parts = append(parts, "p=*/*")
	}
	for _, p := range in.Partitions {
		parts = append(parts, fmt.Sprintf("p=%d/*", p))
	}
	stage := filepath.Join(s.runDir(), fmt.Sprintf("stage%d", in.Stage))
	var paths []string
	for _, part := range parts {
		of, err := filepath.Glob(filepath.Join(stage, "*", part))
		if err != nil {
			return nil, err
		}
		for _, path := range of {
			task, _, _ := strings.Cut(strings.TrimPrefix(path, stage+"/task"), "/")
			producer, err := strconv.Atoi(task)
			if err != nil {
				return nil, err
			}
			if r := in.Producers; r == nil || int32(producer) >= r.From && int32(producer) < r.To {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}

// scan is the SELECT over rows of a table. What the scan's filter drops is dropped, as pruning may.
func scan(n *plan.IcebergScan, where, orderBy string) (string, error) {
	columns := make([]string, len(n.Columns))
	names := make([]string, len(n.Columns))
	for i, c := range n.Columns {
		names[i] = plan.QuoteIdent(c.Name)
		columns[i] = fmt.Sprintf("%s AS c%d", names[i], i)
	}
	if len(columns) == 0 {
		columns = []string{"NULL AS c0"}
	}
	query := fmt.Sprintf("SELECT %s FROM main.%s WHERE (%s)", strings.Join(columns, ", "), plan.QuoteIdent(n.TableKey), where)
	if n.Filter != nil {
		filter, err := render.Expr(n.Filter, names)
		if err != nil {
			return "", err
		}
		query += " AND (" + filter + ")"
	}
	return query + orderBy, nil
}

// leaf is what a task reads of a leaf: nothing, unless it is assigned something.
func (s *Simulator) leaf(n plan.Node, task planner.Task) (string, error) {
	switch n := n.(type) {
	case *plan.IcebergScan:
		var where []string
		for _, g := range task.Files[n.Leaf] {
			for _, f := range g.Files {
				part := f.Path
				if r := f.KeyRange; r != nil {
					part = "(" + part + " AND (" + inRange(r, n.Columns) + "))"
				}
				where = append(where, part)
			}
		}
		if len(where) == 0 {
			where = []string{"false"}
		}
		return scan(n, strings.Join(where, " OR "), "")
	case *plan.ShuffleRead:
		for _, in := range task.Shuffle {
			if in.Leaf != n.Leaf {
				continue
			}
			return s.read(n, in)
		}
		return render.Empty(n.Out.Types()), nil
	case *plan.Values:
		if slices.Contains(task.Constants, n.Leaf) {
			return "", nil
		}
		return render.Empty(n.Out.Types()), nil
	case *plan.TableFunction:
		if slices.Contains(task.Constants, n.Leaf) {
			return "", nil
		}
		return render.Empty(n.Out.Types()), nil
	}
	return "", fmt.Errorf("%T is no leaf", n)
}

func (s *Simulator) exec(sql string) error { return s.Conn.Exec(context.Background(), sql) }

// Run runs a query as it stands.
func (s *Simulator) Run(query string) (*compare.Result, error) { return s.collect(nil, query) }

func (s *Simulator) collect(into *compare.Result, query string) (*compare.Result, error) {
	stream, err := s.Conn.Stream(context.Background(), query)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	if into == nil {
		into = compare.New(stream.Schema())
	}
	for {
		batch, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return into, nil
		}
		if err != nil {
			return nil, err
		}
		into.Add(batch)
		batch.Release()
	}
}
