package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
			scans[scan.Leaf] = keyed{Share{Count: s.Tables[scan.TableKey].Rows, Max: 5}, s, scan.TableKey}
		}
		return true
	})
	return scans
}

// keyed is a Share that can be cut by the values of its columns as well.
type keyed struct {
	Share
	s     *Simulator
	table string
}

// KeySpans says where the values of a column lie, as if the table were one file.
func (k keyed) KeySpans(column plan.ScanColumn) ([]planner.KeySpan, bool) {
	switch column.Type.Kind {
	case plan.Integer, plan.BigInt, plan.Date, plan.Timestamp:
	default:
		return nil, false
	}
	name := plan.QuoteIdent(column.Name)
	key := keyOf(name, column.Type)
	rows, err := k.s.Conn.Rows(context.Background(), fmt.Sprintf("SELECT min(%[1]s)::BIGINT, max(%[1]s)::BIGINT, count(*) - count(%[2]s) FROM main.%[3]s", key, name, plan.QuoteIdent(k.table)))
	if err != nil || rows[0][0] == nil {
		return nil, false
	}
	return []planner.KeySpan{{
		Low: rows[0][0].(int64), High: rows[0][1].(int64), Bytes: k.Bytes(), Rows: k.Count, Nulls: rows[0][2].(int64),
	}}, true
}

// KeyRanges cuts the table.
func (k keyed) KeyRanges(column plan.ScanColumn, cuts []int64) []*seracv1.FileGroup {
	groups := make([]*seracv1.FileGroup, len(cuts)+1)
	for i := range groups {
		r := &seracv1.KeyRange{FieldId: column.FieldID, Nulls: i == 0}
		if i > 0 {
			r.From = &cuts[i-1]
		}
		if i < len(cuts) {
			r.Before = &cuts[i]
		}
		groups[i] = &seracv1.FileGroup{Files: []*seracv1.FileScanTask{{Path: wholeTable, Length: k.Bytes() / int64(len(groups)), KeyRange: r}}}
	}
	return groups
}

// wholeTable is the path of a table that is one group.
const wholeTable = "rowid % 1 = 0"

// inRange is a range of keys as a condition over a scan's columns.
func inRange(r *seracv1.KeyRange, columns []plan.ScanColumn) string {
	at := slices.IndexFunc(columns, func(c plan.ScanColumn) bool { return c.FieldID == r.FieldId })
	name := plan.QuoteIdent(columns[at].Name)
	key := keyOf(name, columns[at].Type)
	conds := []string{"true"}
	if r.From != nil {
		conds = append(conds, fmt.Sprintf("%s >= %d", key, r.GetFrom()))
	}
	if r.Before != nil {
		conds = append(conds, fmt.Sprintf("%s < %d", key, r.GetBefore()))
	}
	in := name + " IS NOT NULL AND " + strings.Join(conds, " AND ")
	if r.Nulls {
		in += " OR " + name + " IS NULL"
	}
	return in
}

// keyOf is a column's value as a key.
func keyOf(column string, of plan.Type) string {
	switch of.Kind {
	case plan.Date:
		return "(" + column + " - DATE '1970-01-01')"
	case plan.Timestamp:
		return "epoch_us(" + column + ")"
	default:
		return column
	}
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
