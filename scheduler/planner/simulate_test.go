package planner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/compare"
)

// simulator runs a distributed plan inside one DuckDB: each task is a query over its share, each stage's output a table
// with the partition as a column. What it shows is that the stages mean what the statement means; files, processes and
// wires are tested elsewhere.
type simulator struct {
	t      *testing.T
	conn   *duckdb.Conn
	binder *bind.Binder
	tables map[string]*bind.Table
	runs   int
	turn   int    // statements that have been checked
	one    bool   // one setting a statement suffices
	dir    string // for shuffle files
	files  bool   // stages exchange real shuffle files instead of tables
}

func newSimulator(t *testing.T) *simulator {
	ctx := context.Background()
	// One thread: what the order of rows decides is the same in every run.
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1, TempDir: t.TempDir(), AllowedDirs: []string{t.TempDir()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	binder := bind.New(1)
	t.Cleanup(func() { _ = binder.Close() })
	return &simulator{t: t, conn: conn, binder: binder, tables: map[string]*bind.Table{}, dir: t.TempDir()}
}

// describe makes every table of the database known to the binder.
func (s *simulator) describe() {
	ctx := context.Background()
	names, err := s.conn.Rows(ctx, "SELECT table_name, estimated_size FROM duckdb_tables() WHERE schema_name = 'main'")
	require.NoError(s.t, err)
	for _, row := range names {
		name, rows := row[0].(string), row[1].(int64)
		columns, types, _, err := s.conn.Describe(ctx, "SELECT * FROM main."+plan.QuoteIdent(name))
		require.NoError(s.t, err)
		table := &bind.Table{Catalog: "serac", Schema: "ns", Name: name, Key: name, Rows: rows, Bytes: rows * 100, SnapshotID: 1}
		for i := range columns {
			typ, err := plan.ParseType(types[i])
			require.NoError(s.t, err)
			table.Columns = append(table.Columns, plan.ScanColumn{FieldID: int32(i + 1), Name: columns[i], Type: typ, Nullable: true})
		}
		s.tables[strings.ToLower(name)] = table
	}
}

// share is a table cut by row number into any number of groups.
type share struct {
	rows int64
	max  int
}

func (s share) Rows() int64  { return s.rows }
func (s share) Bytes() int64 { return s.rows * 1000 }
func (s share) Groups(target int64, minGroups int) []*seracv1.FileGroup {
	n := min(s.max, max(minGroups, int(s.Bytes()/target), 1))
	groups := make([]*seracv1.FileGroup, n)
	for i := range groups {
		groups[i] = &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: fmt.Sprintf("rowid %% %d = %d", n, i), Length: s.Bytes() / int64(n)}}}
	}
	return groups
}

func (s *simulator) bind(sql string) *bind.Bound {
	bound, err := s.binder.Bind(context.Background(), bind.Request{
		SQL: sql, Catalog: "serac", Schema: "ns",
		Resolve: func(_ context.Context, ref bind.Ref) (*bind.Table, error) {
			t, ok := s.tables[strings.ToLower(ref.Parts[len(ref.Parts)-1])]
			if !ok {
				return nil, &bind.NotFoundError{Name: ref.String()}
			}
			return t, nil
		},
	})
	require.NoError(s.t, err, sql)
	return bound
}

// scans are the planned files of a plan's scans: every table is cut into up to five groups.
func (s *simulator) scans(root plan.Node) map[plan.LeafID]planner.ScanFiles {
	scans := map[plan.LeafID]planner.ScanFiles{}
	plan.Walk(root, func(n plan.Node) bool {
		if scan, ok := n.(*plan.IcebergScan); ok {
			scans[scan.Leaf] = share{rows: s.tables[scan.TableKey].Rows, max: 5}
		}
		return true
	})
	return scans
}

// distribute cuts a plan into stages as the scheduler does.
func (s *simulator) distribute(root plan.Node, o planner.Options) (stages []*planner.Stage, whole bool) {
	o.CanShuffle = func(t plan.Type) bool { _, ok := shuffle.Carrier(t); return ok }
	stages, err := planner.Distribute(root, s.scans(root), o)
	var not *planner.NotDistributableError
	if errors.As(err, &not) {
		whole = true
		stages, err = planner.OneTask(root, s.scans(root), not.Reason)
	}
	require.NoError(s.t, err)
	return stages, whole
}

// run runs stages and gives the last one's rows.
func (s *simulator) run(stages []*planner.Stage) (*compare.Result, error) {
	s.runs++
	defer func() {
		for _, stage := range stages[:len(stages)-1] {
			s.exec("DROP TABLE IF EXISTS " + s.output(stage.ID))
		}
		require.NoError(s.t, os.RemoveAll(s.runDir()))
	}()
	var result *compare.Result
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
			if result, err = s.collect(result, query); err != nil {
				return nil, fmt.Errorf("%w\n%s", err, query)
			}
		}
	}
	return result, nil
}

func (s *simulator) query(stage *planner.Stage, task planner.Task) (string, error) {
	return render.SQL(below(stage.Root), render.Options{Leaf: func(n plan.Node) (string, error) { return s.leaf(n, task) }})
}

// runStage runs a stage whose output others read.
func (s *simulator) runStage(stage *planner.Stage, tasks []planner.Task) error {
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

func (s *simulator) output(id plan.StageID) string { return fmt.Sprintf("run%d_stage%d", s.runs, id) }

func (s *simulator) runDir() string { return filepath.Join(s.dir, fmt.Sprintf("run%d", s.runs)) }

func (s *simulator) write(stage *planner.Stage, task int, query string) error {
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
	if s.files {
		dir := filepath.Join(s.runDir(), fmt.Sprintf("stage%d", stage.ID), fmt.Sprintf("task%d", task))
		require.NoError(s.t, os.MkdirAll(dir, 0o755))
		text, err := shuffle.WriteSQL(query, types, keys, w.Partitions, dir)
		if err != nil {
			return err
		}
		return s.conn.Exec(context.Background(), text)
	}
	partition := "0"
	if w.Partitions > 1 {
		partition = fmt.Sprintf("hash(%s) %% %d", strings.Join(keys, ", "), w.Partitions)
	}
	query = fmt.Sprintf("SELECT s.*, CAST(%s AS INTEGER) AS p, %d AS producer FROM (%s) AS s", partition, task, query)
	if task == 0 {
		return s.conn.Exec(context.Background(), "CREATE TEMP TABLE "+s.output(stage.ID)+" AS "+query)
	}
	return s.conn.Exec(context.Background(), "INSERT INTO "+s.output(stage.ID)+" "+query)
}

// read is the SELECT over partitions of a stage's output.
func (s *simulator) read(n *plan.ShuffleRead, in planner.ShuffleInput) (string, error) {
	if s.files {
		pattern := filepath.Join(s.runDir(), fmt.Sprintf("stage%d", in.Stage), "*")
		paths, err := filepath.Glob(filepath.Join(pattern, "all.parquet"))
		if err != nil {
			return "", err
		}
		directories := []string{"p=*"}
		if !in.All {
			directories = nil
			for _, p := range in.Partitions {
				directories = append(directories, fmt.Sprintf("p=%d", p))
			}
		}
		for _, directory := range directories {
			of, err := filepath.Glob(filepath.Join(pattern, directory, "*"))
			if err != nil {
				return "", err
			}
			paths = append(paths, of...)
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
func (s *simulator) leaf(n plan.Node, task planner.Task) (string, error) {
	switch n := n.(type) {
	case *plan.IcebergScan:
		var where []string
		for _, g := range task.Files[n.Leaf] {
			for _, f := range g.Files {
				where = append(where, f.Path)
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

func (s *simulator) exec(sql string) {
	require.NoError(s.t, s.conn.Exec(context.Background(), sql), sql)
}

func (s *simulator) collect(into *compare.Result, query string) (*compare.Result, error) {
	stream, err := s.conn.Stream(context.Background(), query)
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

// setting is a way in which a plan is distributed.
type setting struct {
	planner.Options
	files bool
	// adaptive: stages run while later ones are planned, by the real sizes.
	adaptive bool
}

var settings = []setting{
	{Options: planner.Options{Slots: 4, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: -1}},
	{Options: planner.Options{Slots: 4, ShufflePartitions: 2, TargetTaskSize: 1 << 10, MaxPartitionsPerTask: 1}},
	{Options: planner.Options{Slots: 3, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: 1 << 40}},
	{Options: planner.Options{Slots: 4, ShufflePartitions: 3, TargetTaskSize: 1 << 10, BroadcastThreshold: -1}, files: true},
	{Options: planner.Options{Slots: 2, ShufflePartitions: 1, TargetTaskSize: 1 << 10, BroadcastThreshold: -1, MaxPartitionsPerTask: 1}},
	{Options: planner.Options{Slots: 1, ShufflePartitions: 1, TargetTaskSize: 1 << 20}},
	{adaptive: true, Options: planner.Options{Slots: 4, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: -1, Adaptive: planner.AllAdaptive}.SplitAlways()},
	{adaptive: true, Options: planner.Options{Slots: 3, ShufflePartitions: 2, TargetTaskSize: 1 << 10, BroadcastThreshold: 3000, Adaptive: planner.AllAdaptive}},
}

// settings are those for the next statement: by default two (one for many large statements), in turn; with SERAC_TEST_ALL=1
// all of them.
func (s *simulator) settings() []setting {
	s.turn++
	if os.Getenv("SERAC_ADAPT_ONLY") != "" {
		return settings[6:8]
	}
	if os.Getenv("SERAC_TEST_ALL") != "" {
		return settings
	}
	first := s.turn % len(settings)
	if s.one {
		return settings[first : first+1]
	}
	return []setting{settings[first], settings[(first+1+s.turn%(len(settings)-1))%len(settings)]}
}

// outcome says how a statement was run and compared.
type outcome struct {
	parallel    bool // its largest scan is read by several tasks, in the first setting
	whole       bool // not distributable: in one task
	unspecified bool // the order of rows decides about its answer: not compared by value
}

// check holds the distributed answers against the statement's own (invariant 1), in each of the settings.
func (s *simulator) check(sql string, in ...setting) outcome {
	s.t.Helper()
	bound := s.bind(sql)
	require.NotNil(s.t, bound.Plan, "%s\n%s", bound.Reason, sql)
	want, wantErr := s.collect(nil, sql)
	spread, _ := s.distribute(bound.Plan, settings[0].Options)
	out := outcome{parallel: s.parallel(spread)}
	for _, set := range in {
		s.files = set.files
		var got *compare.Result
		var stages []*planner.Stage
		var err error
		if set.adaptive && !out.whole {
			got, stages, err = s.adapt(bound.Plan, set.Options)
		} else {
			var whole bool
			stages, whole = s.distribute(bound.Plan, set.Options)
			out.whole = out.whole || whole
			got, err = s.run(stages)
		}
		detail := fmt.Sprintf("%+v\n%s\n%s", set, sql, planner.Explain(stages))
		if wantErr != nil {
			require.Error(s.t, err, "the statement fails: %v\n%s", wantErr, detail)
			continue
		}
		if set.files && err != nil && strings.Contains(err.Error(), "BITSTRING_AGG(col, min, max)") {
			continue // docs/limitations.md
		}
		require.NoError(s.t, err, detail)
		got.Names = want.Names // a plan's columns are named c0, c1 ...
		diff := compare.Diff(want, got, order(bound.Plan)...)
		if diff != "" && s.unspecified(bound.Plan, want) {
			out.unspecified = true
			require.Equal(s.t, want.Types, got.Types, detail)
			require.Equal(s.t, len(want.Rows), len(got.Rows), detail)
			continue
		}
		require.Empty(s.t, diff, detail)
	}
	return out
}

// unspecified says whether the plan, undistributed, gives another answer over tables whose rows come in another order:
// LIMIT without ORDER BY, ties, first(), samples and the like. No distribution of it is held to one of the answers.
func (s *simulator) unspecified(root plan.Node, want *compare.Result) bool {
	for seed := range 8 {
		query, err := render.SQL(root, render.Options{Leaf: func(n plan.Node) (string, error) {
			if n, ok := n.(*plan.IcebergScan); ok {
				return scan(n, "true", fmt.Sprintf(" ORDER BY hash(rowid, %d)", seed))
			}
			return "", nil
		}})
		require.NoError(s.t, err)
		got, err := s.collect(nil, query)
		require.NoError(s.t, err)
		got.Names = want.Names
		if diff := compare.Diff(want, got); diff != "" {
			s.t.Logf("the answer is not specified: %s", diff)
			return true
		}
	}
	return false
}

// order gives the output columns by which the rows of a plan come ordered.
func order(root plan.Node) []int {
	columns := allOf(len(root.Schema()))
	for n := root; ; {
		var keys []plan.SortKey
		switch at := n.(type) {
		case *plan.Project:
			for i, c := range columns {
				columns[i] = -1
				if c < 0 {
					continue
				}
				if ref, ok := at.Exprs[c].(*plan.ColumnRef); ok {
					columns[i] = ref.Index
				}
			}
			n = at.Input
			continue
		case *plan.Filter:
			n = at.Input
			continue
		case *plan.Sort:
			keys = at.Keys
		case *plan.Limit:
			if keys = at.Keys; keys == nil {
				n = at.Input
				continue
			}
		}
		var ordered []int
		for _, k := range keys {
			ref, ok := k.Expr.(*plan.ColumnRef)
			if !ok || !slices.Contains(columns, ref.Index) {
				break
			}
			ordered = append(ordered, slices.Index(columns, ref.Index))
		}
		return ordered
	}
}

func allOf(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// parallel says whether the largest scan of the stages is read by several tasks.
func (s *simulator) parallel(stages []*planner.Stage) bool {
	var largest int64
	tasks := 0
	for _, stage := range stages {
		plan.Walk(stage.Root, func(n plan.Node) bool {
			scan, ok := n.(*plan.IcebergScan)
			if !ok || s.tables[scan.TableKey].Rows <= largest {
				return true
			}
			largest = s.tables[scan.TableKey].Rows
			read := map[string]bool{}
			for _, task := range stage.Tasks {
				if groups := task.Files[scan.Leaf]; len(groups) > 0 {
					read[groups[0].Files[0].Path] = true
				}
			}
			tasks = len(read)
			return true
		})
	}
	return tasks > 1
}

// prunedShare is the groups of a table that hold rows for which a condition is true.
type prunedShare struct {
	share
	s            *simulator
	table, where string
}

func (p prunedShare) Groups(_ int64, _ int) []*seracv1.FileGroup {
	// The path of a group's file is the condition that makes the group: one that the table was cut by before.
	var kept []*seracv1.FileGroup
	for n := 1; n <= p.max; n++ {
		for i := range n {
			path := fmt.Sprintf("rowid %% %d = %d", n, i)
			rows, err := p.s.conn.Rows(context.Background(), fmt.Sprintf("SELECT count(*) FROM main.%s WHERE (%s) AND (%s)", plan.QuoteIdent(p.table), path, p.where))
			require.NoError(p.s.t, err)
			if rows[0][0].(int64) > 0 {
				kept = append(kept, &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: path, Length: 1}}})
			}
		}
	}
	return kept
}
