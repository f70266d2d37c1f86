package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// newTable makes the table ns.t (id BIGINT, name VARCHAR) in a catalog of its own.
func newTable(t *testing.T) (*catalog.Catalog, *catalog.Table) {
	t.Helper()
	dir := t.TempDir()
	c, err := catalog.Open(t.Context(), catalog.Config{
		Name: "c", Type: catalog.TypeSQLite, URI: filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.CreateNamespace(t.Context(), "ns", false))
	_, err = c.Iceberg().CreateTable(t.Context(), table.Identifier{"ns", "t"}, ice.NewSchema(0,
		ice.NestedField{ID: 1, Name: "id", Type: ice.PrimitiveTypes.Int64},
		ice.NestedField{ID: 2, Name: "name", Type: ice.PrimitiveTypes.String},
	))
	require.NoError(t, err)
	handle, err := c.LoadTable(t.Context(), "ns", "t")
	require.NoError(t, err)
	return c, handle
}

var tableColumns = []plan.ScanColumn{
	{FieldID: 1, Name: "id", Type: plan.T(plan.BigInt), Nullable: true},
	{FieldID: 2, Name: "name", Type: plan.T(plan.Varchar), Nullable: true},
}

// appendRows appends n rows by iceberg-go, and returns the table as it is then.
func appendRows(t *testing.T, c *catalog.Catalog, handle *catalog.Table, n int) *catalog.Table {
	t.Helper()
	schema, err := table.SchemaToArrowSchema(handle.Schema(), nil, true, false)
	require.NoError(t, err)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for i := range n {
		builder.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%2 == 0 {
			builder.Field(1).(*array.StringBuilder).Append("even")
		} else {
			builder.Field(1).(*array.StringBuilder).AppendNull()
		}
	}
	batch := builder.NewRecordBatch()
	defer batch.Release()
	rows := array.NewTableFromRecords(schema, []arrow.RecordBatch{batch})
	defer rows.Release()
	_, err = handle.Iceberg().AppendTable(t.Context(), rows, int64(n), nil)
	require.NoError(t, err)
	handle, err = c.LoadTable(t.Context(), "ns", "t")
	require.NoError(t, err)
	return handle
}

func scanOf(handle *catalog.Table, leaf plan.LeafID) *plan.IcebergScan {
	s := &plan.IcebergScan{Leaf: leaf, TableKey: handle.Wire().Key, Columns: tableColumns, EstimatedRows: -1, EstimatedBytes: -1}
	if snapshot := handle.Iceberg().CurrentSnapshot(); snapshot != nil {
		s.SnapshotID = snapshot.SnapshotID
	}
	return s
}

func groups(t *testing.T, handle *catalog.Table, s *plan.IcebergScan, n int) []*seracv1.FileGroup {
	t.Helper()
	planned, err := scan.Plan(t.Context(), handle, s.SnapshotID, s.Columns, nil)
	require.NoError(t, err)
	return scan.Group(planned, 0, n, n)
}

func fileGroup(leaf int32, group *seracv1.FileGroup) *seracv1.LeafAssignment {
	return &seracv1.LeafAssignment{Leaf: leaf, What: &seracv1.LeafAssignment_Files{Files: group}}
}

// TestScanShuffleAggregate: scan, shuffle, aggregate and result on two executors, with the table's files in a directory
// that DuckDB may read, and in one that it may not.
func TestScanShuffleAggregate(t *testing.T) {
	c, handle := newTable(t)
	for range 3 {
		handle = appendRows(t, c, handle, 1000)
	}
	warehouse := filepath.Dir(filepath.Dir(handle.Iceberg().Location()))
	for name, dirs := range map[string][]string{"in place": {warehouse}, "linked": nil} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t)
			nodes := []*node{start(t, s, func(o *Options) { o.DataDirs = dirs }), start(t, s, func(o *Options) { o.DataDirs = dirs; o.HostID = "far" })}
			scanned := scanOf(handle, 1)
			var files []*seracv1.ShuffleFile
			for i, group := range groups(t, handle, scanned, 3) {
				n := nodes[i%2]
				task := id("j", 0, int32(i))
				n.launchOn(handle, task, &plan.ShuffleWrite{Input: scanned, Keys: []plan.Expr{col(1, plan.T(plan.Varchar))}, Partitions: 2}, fileGroup(1, group))
				m := n.awaitFinished(task)
				require.Equal(t, int64(1000), m.GetMetrics().GetInputRows())
				files = append(files, m.GetShuffleFiles()...)
			}
			read := &plan.ShuffleRead{Leaf: 1, Out: scanned.Schema(), EstimatedRows: -1, EstimatedBytes: -1}
			counts := &plan.Aggregate{Input: read, Groups: []plan.Expr{col(1, plan.T(plan.Varchar))}, Calls: []plan.AggregateCall{
				{Name: "count_star", Of: plan.T(plan.BigInt)},
			}}
			got := map[string]int64{}
			for p := range int32(2) {
				var mine []*seracv1.ShuffleFile
				for _, f := range files {
					if f.GetPartition() == p {
						mine = append(mine, f)
					}
				}
				task := id("j", 1, p)
				n := nodes[p]
				n.launch(task, counts, shuffled(1, mine...))
				n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
				require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
					for i := range int(b.NumRows()) {
						got[b.Column(0).ValueStr(i)] += b.Column(1).(*array.Int64).Value(i)
					}
					return nil
				}))
			}
			require.Equal(t, map[string]int64{"even": 1500, array.NullValueStr: 1500}, got)
		})
	}
}

// TestEmptyTable: a table without a snapshot, and a scan that is not assigned, have no rows.
func TestEmptyTable(t *testing.T) {
	_, handle := newTable(t)
	n := start(t, newScheduler(t))
	root := &plan.Aggregate{Input: scanOf(handle, 1), Calls: []plan.AggregateCall{{Name: "count_star", Of: plan.T(plan.BigInt)}}}
	for i, assignments := range [][]*seracv1.LeafAssignment{nil, {fileGroup(1, &seracv1.FileGroup{})}} {
		task := id("j", 0, int32(i))
		n.launchOn(handle, task, root, assignments...)
		n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
		require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
			require.Equal(t, int64(0), b.Column(0).(*array.Int64).Value(0))
			return nil
		}))
		require.Equal(t, int64(1), n.awaitFinished(task).GetMetrics().GetOutputRows(), "a global aggregate has its row")
	}
}

// launchOn launches a fragment over a table.
func (a *attachment) launchOn(handle *catalog.Table, id *seracv1.TaskId, root plan.Node, assignments ...*seracv1.LeafAssignment) {
	a.t.Helper()
	a.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{
		Id: id, Fragment: encode(a.t, root, handle.Wire()), Assignments: assignments,
	}}})
}

// partitionedTable makes the table ns.p (id BIGINT NOT NULL, name VARCHAR), partitioned by bucket[4](id) and name.
func partitionedTable(t *testing.T, c *catalog.Catalog) *catalog.Table {
	t.Helper()
	schema := ice.NewSchema(0,
		ice.NestedField{ID: 1, Name: "id", Type: ice.PrimitiveTypes.Int64, Required: true},
		ice.NestedField{ID: 2, Name: "name", Type: ice.PrimitiveTypes.String},
	)
	spec := ice.NewPartitionSpec(
		ice.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "id_bucket", Transform: ice.BucketTransform{NumBuckets: 4}},
		ice.PartitionField{SourceIDs: []int{2}, FieldID: 1001, Name: "name", Transform: ice.IdentityTransform{}},
	)
	handle, err := c.CreateTable(t.Context(), catalog.CreateRequest{Namespace: "ns", Name: "p", Schema: schema, PartitionSpec: &spec})
	require.NoError(t, err)
	return handle
}

func writeOf(handle *catalog.Table, input plan.Node) *plan.IcebergWrite {
	spec := handle.Spec()
	return &plan.IcebergWrite{
		Input: input, TableKey: handle.Wire().Key, Columns: handle.Columns(), SpecID: int32(spec.ID()), Partition: handle.PartitionFields(),
	}
}

// idsAndNames makes n rows of an id and one of three names.
func idsAndNames(n int64) plan.Node {
	bigintType := plan.T(plan.BigInt)
	return &plan.Project{Input: numbers(1, n), Exprs: []plan.Expr{
		col(0, bigintType),
		&plan.Cast{Arg: &plan.Call{Name: "%", Args: []plan.Expr{col(0, bigintType), bigint(3)}, Of: bigintType}, To: plan.T(plan.Varchar)},
	}}
}

func dataFilesOf(t *testing.T, handle *catalog.Table) []string {
	t.Helper()
	var out []string
	root := strings.TrimPrefix(handle.Location(), "file://")
	require.NoError(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".parquet") {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// TestWriteCommitScan writes a partitioned table by two tasks, commits what they report, and scans it again.
func TestWriteCommitScan(t *testing.T) {
	c, _ := newTable(t)
	handle := partitionedTable(t, c)
	n := start(t, newScheduler(t))
	var files []*seracv1.DataFile
	for i := range int32(2) {
		task := id("w", 0, i)
		n.launchOn(handle, task, writeOf(handle, idsAndNames(600)), constant(1))
		done := n.awaitFinished(task)
		require.Equal(t, int64(600), done.GetMetrics().GetOutputRows())
		require.Len(t, done.GetDataFiles(), 12, "4 buckets by 3 names")
		files = append(files, done.GetDataFiles()...)
	}
	require.Len(t, dataFilesOf(t, handle), 24)
	_, err := commit.Append(t.Context(), c, handle, commit.Request{CommitID: "w", Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	handle, err = c.LoadTable(t.Context(), "ns", "p")
	require.NoError(t, err)

	s := &plan.IcebergScan{Leaf: 1, TableKey: handle.Wire().Key, SnapshotID: handle.SnapshotID(), Columns: handle.Columns(), EstimatedRows: -1, EstimatedBytes: -1}
	root := &plan.Aggregate{Input: s, Groups: []plan.Expr{col(1, plan.T(plan.Varchar))}, Calls: []plan.AggregateCall{
		{Name: "count_star", Of: plan.T(plan.BigInt)}, {Name: "max", Args: []plan.Expr{col(0, plan.T(plan.BigInt))}, Of: plan.T(plan.BigInt)},
	}}
	task := id("r", 0, 0)
	n.launchOn(handle, task, root, fileGroup(1, groups(t, handle, s, 1)[0]))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	got := map[string][2]int64{}
	require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
		for i := range int(b.NumRows()) {
			got[b.Column(0).ValueStr(i)] = [2]int64{b.Column(1).(*array.Int64).Value(i), b.Column(2).(*array.Int64).Value(i)}
		}
		return nil
	}))
	require.Equal(t, map[string][2]int64{"0": {400, 597}, "1": {400, 598}, "2": {400, 599}}, got)
	n.awaitFinished(task)
	require.Empty(t, n.diskUse())
}

// TestFailedWriteLeavesNothing: a NULL in a required column, and a cancel, leave no file in the table's location.
func TestFailedWriteLeavesNothing(t *testing.T) {
	c, _ := newTable(t)
	handle := partitionedTable(t, c)
	n := start(t, newScheduler(t))
	bigintType := plan.T(plan.BigInt)
	withNull := &plan.Project{Input: numbers(1, 1000), Exprs: []plan.Expr{
		&plan.Call{Name: "nullif", Args: []plan.Expr{col(0, bigintType), bigint(999)}, Of: bigintType},
		&plan.Constant{Value: "x", Of: plan.T(plan.Varchar)},
	}}
	task := id("w", 0, 0)
	n.launchOn(handle, task, writeOf(handle, withNull), constant(1))
	f := n.awaitFailure(task)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_STATEMENT, f.GetKind(), f.GetMessage())
	require.Contains(t, f.GetMessage(), "id")

	task = id("w", 0, 1)
	n.launchOn(handle, task, writeOf(handle, idsAndNames(1<<40)), constant(1))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_RUNNING)
	time.Sleep(200 * time.Millisecond)
	n.cancel(task)
	require.Equal(t, seracv1.FailureKind_FAILURE_KIND_CANCELLED, n.awaitFailure(task).GetKind())
	require.Empty(t, dataFilesOf(t, handle))
	require.Empty(t, n.diskUse())
}

// TestReadOnlyTableIsNotWritten: a fragment that writes to a table which came as one to read fails, and leaves no file.
func TestReadOnlyTableIsNotWritten(t *testing.T) {
	_, handle := newTable(t)
	n := start(t, newScheduler(t))
	described := *handle.Wire()
	described.ReadOnly = true
	task := id("j", 0, 0)
	n.send(&seracv1.AttachResponse{Message: &seracv1.AttachResponse_Launch{Launch: &seracv1.TaskLaunch{
		Id: task, Fragment: encode(t, writeOf(handle, idsAndNames(10)), &described),
		Assignments: []*seracv1.LeafAssignment{constant(1)},
	}}})
	require.Contains(t, n.awaitFailure(task).GetMessage(), wire.ErrReadOnly.Error())
	require.NoDirExists(t, filepath.Join(handle.Iceberg().Location(), "data"))
}
