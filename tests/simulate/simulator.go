package simulate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/planner"
)

// Simulator plans and runs statements over the tables of one DuckDB. It is not safe for concurrent use.
type Simulator struct {
	// Conn is the database that holds the tables and runs the tasks.
	Conn *duckdb.Conn
	// Tables are what the binder knows, by name in lower case. A test may change their sizes.
	Tables map[string]*bind.Table

	binder *bind.Binder
	runs   int
	dir    string // for shuffle files
	files  bool   // stages exchange real shuffle files instead of tables
}

// New opens an empty database, closed when the test ends.
func New(tb testing.TB) *Simulator {
	tb.Helper()
	ctx := context.Background()
	// One thread: what the order of rows decides is the same in every run.
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1, TempDir: tb.TempDir(), AllowedDirs: []string{tb.TempDir()}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	binder := bind.New(1)
	tb.Cleanup(func() { _ = binder.Close() })
	return &Simulator{Conn: conn, binder: binder, Tables: map[string]*bind.Table{}, dir: tb.TempDir()}
}

// Describe makes every table of the database known to the binder.
func (s *Simulator) Describe() error {
	ctx := context.Background()
	names, err := s.Conn.Rows(ctx, "SELECT table_name, estimated_size FROM duckdb_tables() WHERE schema_name = 'main'")
	if err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	for _, row := range names {
		name, rows := row[0].(string), row[1].(int64)
		columns, types, _, err := s.Conn.Describe(ctx, "SELECT * FROM main."+plan.QuoteIdent(name))
		if err != nil {
			return fmt.Errorf("describe %s: %w", name, err)
		}
		table := &bind.Table{Catalog: "serac", Schema: "ns", Name: name, Key: name, Rows: rows, Bytes: rows * 100, SnapshotID: 1}
		for i := range columns {
			typ, err := plan.ParseType(types[i])
			if err != nil {
				return fmt.Errorf("describe %s.%s: %w", name, columns[i], err)
			}
			table.Columns = append(table.Columns, plan.ScanColumn{FieldID: int32(i + 1), Name: columns[i], Type: typ, Nullable: true})
		}
		s.Tables[strings.ToLower(name)] = table
	}
	return nil
}

// Bind plans a query as the scheduler does, over stand-ins for the tables.
func (s *Simulator) Bind(sql string) (*bind.Bound, error) {
	return s.binder.Bind(context.Background(), bind.Request{
		SQL: sql, Catalog: "serac", Schema: "ns",
		Resolve: func(_ context.Context, ref bind.Ref) (*bind.Table, error) {
			t, ok := s.Tables[strings.ToLower(ref.Parts[len(ref.Parts)-1])]
			if !ok {
				return nil, &bind.NotFoundError{Name: ref.String()}
			}
			return t, nil
		},
	})
}

// Share is a table cut by row number into at most Max groups, each a condition that stands as a file's path.
type Share struct {
	Count int64
	Max   int
}

// Rows is the table's.
func (s Share) Rows() int64 { return s.Count }

// Bytes makes a row 1,000 bytes.
func (s Share) Bytes() int64 { return s.Count * 1000 }

// Groups cuts the table.
func (s Share) Groups(target int64, minGroups int) []*seracv1.FileGroup {
	n := min(s.Max, max(minGroups, int(s.Bytes()/target), 1))
	groups := make([]*seracv1.FileGroup, n)
	for i := range groups {
		groups[i] = &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: fmt.Sprintf("rowid %% %d = %d", n, i), Length: s.Bytes() / int64(n)}}}
	}
	return groups
}

// scans are the planned files of a plan's scans: every table is cut into up to five groups.
func (s *Simulator) scans(root plan.Node) map[plan.LeafID]planner.ScanFiles {
	scans := map[plan.LeafID]planner.ScanFiles{}
	plan.Walk(root, func(n plan.Node) bool {
		if scan, ok := n.(*plan.IcebergScan); ok {
			scans[scan.Leaf] = Share{Count: s.Tables[scan.TableKey].Rows, Max: 5}
		}
		return true
	})
	return scans
}

// Distribute cuts a plan into stages as the scheduler does.
func (s *Simulator) Distribute(root plan.Node, o planner.Options) (stages []*planner.Stage, whole bool, err error) {
	o.CanShuffle = func(t plan.Type) bool { _, ok := shuffle.Carrier(t); return ok }
	stages, err = planner.Distribute(root, s.scans(root), o)
	var not *planner.NotDistributableError
	if errors.As(err, &not) {
		whole = true
		stages, err = planner.OneTask(root, s.scans(root), not.Reason)
	}
	if err != nil {
		return nil, whole, fmt.Errorf("distribute: %w", err)
	}
	return stages, whole, nil
}
