package commit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	icecatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// createTable creates ns.<name> with the columns id BIGINT NOT NULL and s VARCHAR.
func createTable(t testing.TB, c *catalog.Catalog, name string, terms []iceberg.PartitionTerm, properties map[string]string) *catalog.Table {
	t.Helper()
	schema, err := iceberg.NewSchema([]iceberg.ColumnDef{
		{Name: "id", Type: plan.T(plan.BigInt)},
		{Name: "s", Type: plan.T(plan.Varchar), Nullable: true},
	})
	require.NoError(t, err)
	spec, err := iceberg.NewPartitionSpec(schema, terms)
	require.NoError(t, err)
	tbl, err := c.CreateTable(context.Background(), catalog.CreateRequest{
		Namespace: "ns", Name: name, Schema: schema, PartitionSpec: spec, Properties: properties,
	})
	require.NoError(t, err)
	return tbl
}

// ids are the ids that iceberg-go's own reader finds in the current snapshot.
func ids(t testing.TB, tbl *catalog.Table) map[int64]int {
	t.Helper()
	_, batches, err := tbl.Iceberg().Scan(table.WithSelectedFields("id")).ToArrowRecords(context.Background())
	require.NoError(t, err)
	out := map[int64]int{}
	for batch, err := range batches {
		require.NoError(t, err)
		column := batch.Column(0).(interface{ Value(int) int64 })
		for i := range int(batch.NumRows()) {
			out[column.Value(i)]++
		}
		batch.Release()
	}
	return out
}

func reload(t testing.TB, c *catalog.Catalog, tbl *catalog.Table) *catalog.Table {
	t.Helper()
	fresh, err := c.Reload(context.Background(), tbl)
	require.NoError(t, err)
	return fresh
}

func TestAppendMakesOneSnapshotWithItsID(t *testing.T) {
	for _, version := range []string{"1", "2", "3"} {
		t.Run("v"+version, func(t *testing.T) {
			ctx := context.Background()
			c, conn := icetest.SQLite(t), icetest.DuckDB(t)
			tbl := createTable(t, c, "t", []iceberg.PartitionTerm{{Column: "id", Transform: "bucket[3]"}}, map[string]string{"format-version": version})
			files := icetest.Write(t, conn, tbl, "SELECT i, 'x' || i FROM range(100) r(i)")
			require.Len(t, files, 3)

			result, err := commit.Append(ctx, c, tbl, commit.Request{
				CommitID: "one", Files: files, Operation: commit.OpAppend, Summary: map[string]string{"serac.statement-id": "q1"},
			})
			require.NoError(t, err)
			require.False(t, result.Found)

			tbl = reload(t, c, tbl)
			require.Equal(t, result.SnapshotID, tbl.SnapshotID())
			require.Equal(t, result.MetadataLocation, tbl.MetadataLocation())
			require.Equal(t, int64(100), tbl.Rows())
			summary := tbl.Iceberg().CurrentSnapshot().Summary
			require.Equal(t, table.OpAppend, summary.Operation)
			require.Equal(t, "one", summary.Properties[commit.SummaryKey])
			require.Equal(t, "q1", summary.Properties["serac.statement-id"])
			require.Equal(t, "3", summary.Properties["total-data-files"])
			got := ids(t, tbl)
			require.Len(t, got, 100)

			// The same commit again, from the old handle and from the new one: nothing happens.
			for range 2 {
				again, err := commit.Append(ctx, c, tbl, commit.Request{CommitID: "one", Files: files, Operation: commit.OpAppend})
				require.NoError(t, err)
				require.True(t, again.Found)
				require.Equal(t, result.SnapshotID, again.SnapshotID)
			}
			require.Len(t, reload(t, c, tbl).Iceberg().Metadata().Snapshots(), 1)
		})
	}
}

func TestAppendOfNothingMakesNoSnapshot(t *testing.T) {
	c := icetest.SQLite(t)
	tbl := createTable(t, c, "t", nil, nil)
	result, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: "none", Operation: commit.OpAppend})
	require.NoError(t, err)
	require.Zero(t, result.SnapshotID)
	require.Empty(t, reload(t, c, tbl).Iceberg().Metadata().Snapshots())
}

// Twenty commits through five catalogs on one warehouse, which know nothing of each other, all from the same old handle.
func TestConcurrentAppendsAreAllThereOnce(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		concurrentAppends(t, 20, func() *catalog.Catalog { return icetest.OpenSQLite(t, dir) })
	})
	t.Run("hadoop", func(t *testing.T) {
		dir := t.TempDir()
		concurrentAppends(t, 20, func() *catalog.Catalog {
			c, err := catalog.Open(context.Background(), catalog.Config{Name: "c", Type: catalog.TypeHadoop, Warehouse: dir})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
			return c
		})
	})
}

func concurrentAppends(t *testing.T, commits int, open func() *catalog.Catalog) {
	ctx := context.Background()
	c := open()
	require.NoError(t, c.CreateNamespace(ctx, "ns", false))
	conn := icetest.DuckDB(t)
	tbl := createTable(t, c, "t", nil, nil)
	files := make([][]*seracv1.DataFile, commits)
	for i := range files {
		files[i] = icetest.Write(t, conn, tbl, fmt.Sprintf("SELECT %d + i, NULL::VARCHAR FROM range(10) r(i)", i*10))
	}
	catalogs := []*catalog.Catalog{c}
	for range 4 {
		catalogs = append(catalogs, open())
	}
	var wg sync.WaitGroup
	errs := make([]error, commits)
	for i := range commits {
		wg.Go(func() {
			request := commit.Request{CommitID: fmt.Sprint("commit-", i), Files: files[i], Operation: commit.OpAppend}
			_, errs[i] = commit.Append(ctx, catalogs[i%len(catalogs)], tbl, request)
			if errs[i] == nil && i%3 == 0 { // a scheduler that asks twice
				_, errs[i] = commit.Append(ctx, catalogs[(i+1)%len(catalogs)], tbl, request)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	tbl = reload(t, c, tbl)
	require.Len(t, tbl.Iceberg().Metadata().Snapshots(), commits)
	got := ids(t, tbl)
	require.Len(t, got, commits*10)
	for id, n := range got {
		require.Equal(t, 1, n, "id %d", id)
	}
	// Attempts that lost left no manifests behind: one manifest and one list a commit.
	manifests, err := filepath.Glob(filepath.Join(strings.TrimPrefix(tbl.Location(), "file://"), "metadata", "*.avro"))
	require.NoError(t, err)
	require.Len(t, manifests, 2*commits)
}

// faultyCatalog fails commits in chosen ways.
type faultyCatalog struct {
	icecatalog.Catalog
	commits atomic.Int32
	// after runs after the commit below has gone through and says what the caller hears; nil lets the answer pass.
	after func(n int32) error
	// before runs instead of the commit when it returns an error.
	before func(n int32) error
	// load fails loads.
	load func() error
}

func (f *faultyCatalog) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	if f.load != nil {
		if err := f.load(); err != nil {
			return nil, err
		}
	}
	return f.Catalog.LoadTable(ctx, ident)
}

func (f *faultyCatalog) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	n := f.commits.Add(1)
	if f.before != nil {
		if err := f.before(n); err != nil {
			return nil, "", err
		}
	}
	metadata, location, err := f.Catalog.CommitTable(ctx, ident, reqs, updates)
	if err == nil && f.after != nil {
		if err := f.after(n); err != nil {
			return nil, "", err
		}
	}
	return metadata, location, err
}

func faulty(t testing.TB, kind string) (*faultyCatalog, *catalog.Catalog, *catalog.Table, []*seracv1.DataFile) {
	t.Helper()
	c := icetest.SQLite(t)
	f := &faultyCatalog{Catalog: c.Iceberg()}
	tbl := createTable(t, c, "t", nil, nil)
	files := icetest.Write(t, icetest.DuckDB(t), tbl, "SELECT i, NULL::VARCHAR FROM range(10) r(i)")
	return f, catalog.New("c", kind, f, wire.FileIO{}), tbl, files
}

// The catalog commits and then says that it failed: the commit is found, not made again.
func TestUnknownOutcomeIsLookedUp(t *testing.T) {
	for _, kind := range []string{catalog.TypeREST, catalog.TypeSQLite} {
		for name, lost := range map[string]error{
			"connection lost": io.ErrUnexpectedEOF,
			"conflict":        table.ErrCommitFailed, // a proxy that sends the request twice
			"requirement":     errors.New("requirement failed: branch \"main\" has changed"),
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				f, c, tbl, files := faulty(t, kind)
				f.after = func(int32) error { return lost }
				result, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
				require.NoError(t, err)
				require.True(t, result.Found)
				require.EqualValues(t, 1, f.commits.Load())
				require.Len(t, ids(t, reload(t, c, tbl)), 10)
				require.Len(t, reload(t, c, tbl).Iceberg().Metadata().Snapshots(), 1)
			})
		}
	}
}

// A request that arrives late, after the retry: only one of them may succeed.
func TestLateRequestDoesNotCommitTwice(t *testing.T) {
	f, _, tbl, files := faulty(t, catalog.TypeREST)
	type request struct {
		reqs    []table.Requirement
		updates []table.Update
	}
	var late request
	g := &delayingCatalog{faultyCatalog: f, keep: func(reqs []table.Requirement, updates []table.Update) { late = request{reqs, updates} }}
	c := catalog.New("c", catalog.TypeREST, g, wire.FileIO{})
	result, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	require.False(t, result.Found)
	_, _, err = f.Catalog.CommitTable(context.Background(), table.Identifier{"ns", "t"}, late.reqs, late.updates)
	require.Error(t, err)
	require.Len(t, reload(t, c, tbl).Iceberg().Metadata().Snapshots(), 1)
}

// delayingCatalog loses the first request on its way and keeps it.
type delayingCatalog struct {
	*faultyCatalog
	keep func([]table.Requirement, []table.Update)
	once atomic.Bool
}

func (d *delayingCatalog) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if d.once.CompareAndSwap(false, true) {
		d.keep(reqs, updates)
		return nil, "", io.ErrUnexpectedEOF
	}
	return d.faultyCatalog.CommitTable(ctx, ident, reqs, updates)
}

func TestTransientFaultsAreRetried(t *testing.T) {
	f, c, tbl, files := faulty(t, catalog.TypeREST)
	f.before = func(n int32) error {
		if n <= 2 {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	result, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	require.False(t, result.Found)
	require.Len(t, ids(t, reload(t, c, tbl)), 10)
}

// A server that never answers leaves the outcome open; a local catalog that fails has not committed.
func TestLastingFaults(t *testing.T) {
	for kind, unknown := range map[string]bool{catalog.TypeREST: true, catalog.TypeSQLite: false} {
		t.Run(kind, func(t *testing.T) {
			f, c, tbl, files := faulty(t, kind)
			f.before = func(int32) error { return io.ErrUnexpectedEOF }
			_, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.Equal(t, unknown, errors.Is(err, commit.ErrUnknownOutcome))
			require.ErrorContains(t, err, "c.ns.t")
		})
	}
}

// The catalog commits, loses the answer, and cannot be asked either.
func TestOutcomeThatCannotBeLookedUp(t *testing.T) {
	f, c, tbl, files := faulty(t, catalog.TypeREST)
	var down atomic.Bool
	f.after = func(int32) error { down.Store(true); return io.ErrUnexpectedEOF }
	f.load = func() error {
		if down.Load() {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
	_, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
	require.ErrorIs(t, err, commit.ErrUnknownOutcome)
	down.Store(false)
	result, err := commit.Append(context.Background(), c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	require.True(t, result.Found)
}

// A statement that is cancelled while its commit is under way ends as what became of the commit.
func TestCancelDuringCommit(t *testing.T) {
	f, c, tbl, files := faulty(t, catalog.TypeSQLite)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.before = func(int32) error { cancel(); return nil }
	f.after = func(int32) error { return io.ErrUnexpectedEOF }
	result, err := commit.Append(ctx, c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
	require.NoError(t, err)
	require.True(t, result.Found)

	f, c, tbl, files = faulty(t, catalog.TypeSQLite)
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	f.before = func(int32) error { cancel(); return io.ErrUnexpectedEOF }
	_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, commit.ErrUnknownOutcome)
	require.Empty(t, reload(t, c, tbl).Iceberg().Metadata().Snapshots())

	ctx, cancel = context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: "y", Files: files, Operation: commit.OpAppend})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTableDroppedOrRecreated(t *testing.T) {
	ctx := context.Background()
	c := icetest.SQLite(t)
	tbl := createTable(t, c, "t", nil, nil)
	files := icetest.Write(t, icetest.DuckDB(t), tbl, "SELECT 1::BIGINT, 'a'")
	request := commit.Request{CommitID: "x", Files: files, Operation: commit.OpAppend}
	require.NoError(t, c.DropTable(ctx, "ns", "t", false))
	_, err := commit.Append(ctx, c, tbl, request)
	require.ErrorIs(t, err, catalog.ErrNoTable)
	createTable(t, c, "t", nil, nil)
	_, err = commit.Append(ctx, c, tbl, request)
	require.ErrorIs(t, err, commit.ErrConflict)
}

func TestFilesThatDoNotFit(t *testing.T) {
	ctx := context.Background()
	c := icetest.SQLite(t)
	tbl := createTable(t, c, "t", []iceberg.PartitionTerm{{Column: "id", Transform: "bucket[4]"}}, nil)
	good := icetest.Write(t, icetest.DuckDB(t), tbl, "SELECT 1::BIGINT, 'a'")[0]
	cases := map[string]struct {
		change func(*seracv1.DataFile)
		says   string
	}{
		"no path":                 {func(f *seracv1.DataFile) { f.Path = "" }, "path"},
		"no size":                 {func(f *seracv1.DataFile) { f.SizeBytes = 0 }, "size"},
		"negative count":          {func(f *seracv1.DataFile) { f.RecordCount = -1 }, "record count"},
		"unknown spec":            {func(f *seracv1.DataFile) { f.SpecId = 7 }, "spec 7"},
		"unknown partition field": {func(f *seracv1.DataFile) { f.Partition[1999] = []byte{0, 0, 0, 0} }, "1999"},
		"bad partition value":     {func(f *seracv1.DataFile) { f.Partition[1000] = []byte{1} }, "id_bucket_4"},
		"unknown column":          {func(f *seracv1.DataFile) { f.ValueCounts[99] = 1 }, "field 99"},
		"bad bound":               {func(f *seracv1.DataFile) { f.LowerBounds[1] = []byte{1, 2} }, "bound of id"},
		"bound of no column":      {func(f *seracv1.DataFile) { f.UpperBounds[99] = []byte{1, 2} }, "field 99"},
		"NULL in required column": {func(f *seracv1.DataFile) { f.NullValueCounts[1] = 2 }, "required column id"},
		"no partition value":      {func(f *seracv1.DataFile) { delete(f.Partition, 1000) }, "column id is required"},
		"negative null count":     {func(f *seracv1.DataFile) { f.NullValueCounts[2] = -1 }, "null count of field 2 is -1"},
		"other schema":            {func(f *seracv1.DataFile) { f.SchemaId = 5 }, "schema 5"},
		"other format version":    {func(f *seracv1.DataFile) { f.FormatVersion = 3 }, "format version 3"},
		"elsewhere":               {func(f *seracv1.DataFile) { f.Path = "/etc/passwd" }, "data location"},
		"the table beside":        {func(f *seracv1.DataFile) { f.Path = tbl.Location() + "2/data/x.parquet" }, "data location"},
		"its metadata":            {func(f *seracv1.DataFile) { f.Path = tbl.MetadataLocation() }, "data location"},
		"out of its directory":    {func(f *seracv1.DataFile) { f.Path = tbl.Location() + "/data/../metadata/x" }, "data location"},
		"split offsets":           {func(f *seracv1.DataFile) { f.SplitOffsets = []int64{4, f.SizeBytes} }, "split offsets"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bad := proto.Clone(good).(*seracv1.DataFile)
			tc.change(bad)
			_, err := commit.Append(ctx, c, tbl, commit.Request{CommitID: name, Files: []*seracv1.DataFile{bad}, Operation: commit.OpAppend})
			require.ErrorIs(t, err, commit.ErrBadFile)
			require.ErrorContains(t, err, tc.says)
			require.Equal(t, err, fmt.Errorf("commit to c.ns.t: %w", commit.Check(tbl, []*seracv1.DataFile{bad})), "checked before, and alike")
			var file *commit.FileError
			require.ErrorAs(t, err, &file)
			require.Equal(t, bad.Path, file.Path)
		})
	}
	_, err := commit.Append(ctx, c, tbl, commit.Request{CommitID: "twice", Files: []*seracv1.DataFile{good, good}, Operation: commit.OpAppend})
	require.ErrorIs(t, err, commit.ErrBadFile)
	require.ErrorIs(t, commit.Check(tbl, []*seracv1.DataFile{good, good}), commit.ErrBadFile)
	require.NoError(t, commit.Check(tbl, []*seracv1.DataFile{good}))
	require.Empty(t, reload(t, c, tbl).Iceberg().Metadata().Snapshots(), "nothing was committed")
	_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: "good", Files: []*seracv1.DataFile{good}, Operation: commit.OpAppend})
	require.NoError(t, err)
}

func TestOverwriteReplacesEverything(t *testing.T) {
	ctx := context.Background()
	for _, version := range []string{"2", "3"} {
		t.Run("v"+version, func(t *testing.T) {
			c, conn := icetest.SQLite(t), icetest.DuckDB(t)
			empty := createTable(t, c, "t", nil, map[string]string{"format-version": version})
			first := icetest.Write(t, conn, empty, "SELECT i, 'old' FROM range(10) r(i)")
			_, err := commit.Append(ctx, c, empty, commit.Request{CommitID: "1", Files: first, Operation: commit.OpAppend})
			require.NoError(t, err)
			tbl := reload(t, c, empty)

			second := icetest.Write(t, conn, tbl, "SELECT 100 + i, 'new' FROM range(5) r(i)")
			_, err = commit.Append(ctx, c, empty, commit.Request{CommitID: "2", Files: second, Operation: commit.OpOverwrite})
			require.ErrorIs(t, err, commit.ErrConflict, "the handle is older than the first commit")
			result, err := commit.Append(ctx, c, tbl, commit.Request{CommitID: "2", Files: second, Operation: commit.OpOverwrite})
			require.NoError(t, err)
			tbl = reload(t, c, tbl)
			require.Equal(t, result.SnapshotID, tbl.SnapshotID())
			require.Equal(t, map[int64]int{100: 1, 101: 1, 102: 1, 103: 1, 104: 1}, ids(t, tbl))
			require.Equal(t, int64(5), tbl.Rows())

			_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: "3", Operation: commit.OpOverwrite})
			require.NoError(t, err)
			require.Empty(t, ids(t, reload(t, c, tbl)))
		})
	}
}

// Only a statement's own files are deleted at an executor's word.
func TestOwnFiles(t *testing.T) {
	tbl := createTable(t, icetest.SQLite(t), "t", nil, nil)
	data := tbl.Location() + "/data/"
	mine := []string{data + "s1-a.parquet", data + "k=1/s1-b.parquet"}
	others := []string{data + "s2-a.parquet", data + "s1-x/../s2-a.parquet", tbl.MetadataLocation(), "/etc/s1-passwd", data + "s1-/", ""}
	own, rest := commit.Own(tbl, "s1", append(others, mine...))
	require.Equal(t, mine, own)
	require.Equal(t, others, rest)
}

func TestDeleteFiles(t *testing.T) {
	ctx := context.Background()
	c := icetest.SQLite(t)
	tbl := createTable(t, c, "t", nil, nil)
	files := icetest.Write(t, icetest.DuckDB(t), tbl, "SELECT 1::BIGINT, 'a'")
	fs, err := tbl.FS(ctx)
	require.NoError(t, err)
	paths := []string{files[0].Path, files[0].Path + ".missing"}
	require.NoError(t, commit.DeleteFiles(ctx, fs, paths))
	_, err = fs.Open(files[0].Path)
	require.Error(t, err)
	require.NoError(t, commit.DeleteFiles(ctx, fs, paths))

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, commit.DeleteFiles(cancelled, fs, paths), context.Canceled)
}
