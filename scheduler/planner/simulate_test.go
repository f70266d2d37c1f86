package planner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/tpch"
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
}

func newSimulator(t *testing.T) *simulator {
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 2, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	binder := bind.New(1)
	t.Cleanup(func() { _ = binder.Close() })
	return &simulator{t: t, conn: conn, binder: binder, tables: map[string]*bind.Table{}}
}

// describe makes every table of the database known to the binder.
func (s *simulator) describe() {
	ctx := context.Background()
	names, err := s.conn.Rows(ctx, "SELECT table_name, estimated_size FROM duckdb_tables()")
	require.NoError(s.t, err)
	for _, row := range names {
		name, rows := row[0].(string), row[1].(int64)
		columns, types, _, err := s.conn.Describe(ctx, "SELECT * FROM "+plan.QuoteIdent(name))
		require.NoError(s.t, err)
		table := &bind.Table{Catalog: "serac", Schema: "main", Name: name, Key: name, Rows: rows, Bytes: rows * 100, SnapshotID: 1}
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
		SQL: sql, Catalog: "serac", Schema: "main",
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

// run distributes a plan and runs its stages.
func (s *simulator) run(root plan.Node, o planner.Options) (*compare.Result, []*planner.Stage) {
	scans := map[plan.LeafID]planner.ScanFiles{}
	plan.Walk(root, func(n plan.Node) bool {
		if scan, ok := n.(*plan.IcebergScan); ok {
			scans[scan.Leaf] = share{rows: s.tables[scan.TableKey].Rows, max: 5}
		}
		return true
	})
	stages, err := planner.Distribute(root, scans, o)
	require.NoError(s.t, err)
	s.runs++
	var result *compare.Result
	for i, stage := range stages {
		last := i == len(stages)-1
		for k, task := range stage.Tasks {
			query, err := render.SQL(below(stage.Root), render.Options{Leaf: func(n plan.Node) (string, error) { return s.leaf(n, task) }})
			require.NoError(s.t, err)
			if last {
				result = s.collect(result, query)
				continue
			}
			s.exec(s.write(stage, k, query))
		}
	}
	for _, stage := range stages[:len(stages)-1] {
		s.exec("DROP TABLE " + s.output(stage.ID))
	}
	return result, stages
}

func below(root plan.Node) plan.Node {
	if w, ok := root.(*plan.ShuffleWrite); ok {
		return w.Input
	}
	return root
}

func (s *simulator) output(id plan.StageID) string { return fmt.Sprintf("run%d_stage%d", s.runs, id) }

func (s *simulator) write(stage *planner.Stage, task int, query string) string {
	w := stage.Root.(*plan.ShuffleWrite)
	columns := make([]string, len(w.Schema()))
	for i := range columns {
		columns[i] = fmt.Sprintf("s.c%d", i)
	}
	partition := "0"
	if w.Partitions > 1 {
		keys := make([]string, len(w.Keys))
		for i, k := range w.Keys {
			key, err := render.Expr(k, columns)
			require.NoError(s.t, err)
			keys[i] = key
		}
		partition = fmt.Sprintf("hash(%s) %% %d", strings.Join(keys, ", "), w.Partitions)
	}
	query = fmt.Sprintf("SELECT s.*, CAST(%s AS INTEGER) AS p FROM (%s) AS s", partition, query)
	if task == 0 {
		return "CREATE TEMP TABLE " + s.output(stage.ID) + " AS " + query
	}
	return "INSERT INTO " + s.output(stage.ID) + " " + query
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
		columns := make([]string, len(n.Columns))
		for i, c := range n.Columns {
			columns[i] = fmt.Sprintf("%s AS c%d", plan.QuoteIdent(c.Name), i)
		}
		if len(columns) == 0 {
			columns = []string{"NULL AS c0"}
		}
		if len(where) == 0 {
			where = []string{"false"}
		}
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(columns, ", "), plan.QuoteIdent(n.TableKey), strings.Join(where, " OR ")), nil
	case *plan.ShuffleRead:
		for _, in := range task.Shuffle {
			if in.Leaf != n.Leaf {
				continue
			}
			columns := make([]string, len(n.Out))
			for i := range columns {
				columns[i] = fmt.Sprintf("c%d", i)
			}
			if len(columns) == 0 {
				columns = []string{"NULL AS c0"}
			}
			query := "SELECT " + strings.Join(columns, ", ") + " FROM " + s.output(in.Stage)
			if !in.All {
				query += " WHERE p IN (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(in.Partitions), " ", ", "), "[]") + ")"
			}
			return query, nil
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

func (s *simulator) collect(into *compare.Result, query string) *compare.Result {
	stream, err := s.conn.Stream(context.Background(), query)
	require.NoError(s.t, err, query)
	defer stream.Close()
	if into == nil {
		into = compare.New(stream.Schema())
	}
	for {
		batch, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return into
		}
		require.NoError(s.t, err, query)
		into.Add(batch)
		batch.Release()
	}
}

// settings are the ways in which a plan is distributed.
var settings = []planner.Options{
	{Slots: 1, ShufflePartitions: 1, TargetTaskSize: 1 << 20},
	{Slots: 4, ShufflePartitions: 2, TargetTaskSize: 1 << 10, MaxPartitionsPerTask: 1},
	{Slots: 4, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: -1},
	{Slots: 3, ShufflePartitions: 7, TargetTaskSize: 1 << 10, BroadcastThreshold: 1 << 40},
}

// check holds the distributed answers against the undistributed plan run as one task (invariant 1).
func (s *simulator) check(sql string, order ...int) (stages []*planner.Stage) {
	s.t.Helper()
	bound := s.bind(sql)
	require.NotNil(s.t, bound.Plan, "%s\n%s", bound.Reason, sql)
	want := s.collect(nil, sql)
	for _, o := range settings {
		var got *compare.Result
		got, stages = s.run(bound.Plan, o)
		got.Names = want.Names // a plan's columns are named c0, c1 ...
		require.Empty(s.t, compare.Diff(want, got, order...), "%+v\n%s\n%s", o, sql, planner.Explain(stages))
	}
	return stages
}

func TestTPCHDistributed(t *testing.T) {
	s := newSimulator(t)
	require.NoError(t, tpch.CreateIn(context.Background(), s.conn.Exec, 0.01))
	s.describe()
	for n := 1; n <= tpch.Queries; n++ {
		t.Run(fmt.Sprintf("q%02d", n), func(t *testing.T) {
			s.t = t
			s.check(tpch.Query(n))
		})
	}
}
