package e2e

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// orphans are data files in the warehouse that no table holds.
func orphans(t *testing.T, c *catalog.Catalog, dataDir string) []string {
	t.Helper()
	ctx := context.Background()
	var held []string
	schemas, err := c.Namespaces(ctx)
	require.NoError(t, err)
	for _, schema := range schemas {
		tables, err := c.Tables(ctx, schema)
		require.NoError(t, err)
		for _, table := range tables {
			files, err := reference.FilesOf(c, schema, table)
			if err != nil {
				_, err = c.LoadTable(ctx, schema, table)
				require.ErrorIs(t, err, catalog.ErrNoTable) // dropped since it was listed: it holds nothing
			}
			held = append(held, files...)
		}
	}
	return slices.DeleteFunc(dataFiles(t, dataDir), func(path string) bool { return slices.Contains(held, path) })
}

// spilled are the files that executors still have on disk, but for their locks.
func spilled(dataDir string) []string {
	var files []string
	_ = filepath.WalkDir(process.SpillDir(dataDir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, "lock") {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// clean waits until nothing is left over: no files outside of tables, none in spill directories.
func clean(t *testing.T, c *catalog.Catalog, dataDir string) {
	t.Helper()
	var left []string
	for start := time.Now(); time.Since(start) < 10*time.Second; time.Sleep(100 * time.Millisecond) {
		if left = append(orphans(t, c, dataDir), spilled(dataDir)...); len(left) == 0 {
			return
		}
	}
	require.Empty(t, left, "files are left over")
}

const faultyInsert = `INSERT INTO target SELECT x.i * 10 + y.i, md5((x.i + y.i)::VARCHAR) FROM big x, (VALUES (0),(1),(2),(3),(4)) y(i)`

// faultySystem is a scheduler, two executors, and tables for faultyInsert, which has been run once and took so long.
func faultySystem(t *testing.T) (cluster *process.Cluster, client *process.Client, c *catalog.Catalog, dataDir string, took time.Duration) {
	t.Helper()
	dataDir = t.TempDir()
	cluster = process.Distributed(t, dataDir, 2)
	client = cluster.Connect(t)
	fillBig(client)
	distributeAlways(client)
	client.Query("CREATE TABLE target (i BIGINT, h VARCHAR)")
	start := time.Now()
	client.Query(faultyInsert)
	return cluster, client, openCatalog(t, dataDir), dataDir, time.Since(start)
}

// background runs a statement and says how it ended.
func background(c *process.Client, sql string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.Run(context.Background(), sql)
		done <- err
	}()
	return done
}

// TestExecutorFallsSilent stops an executor with SIGSTOP, which keeps its connections open: the statement goes on
// without it once its lease is over, and what the executor still does when it wakes up changes nothing.
func TestExecutorFallsSilent(t *testing.T) {
	cluster, client, catalog, dataDir, took := faultySystem(t)
	done := background(client, faultyInsert)
	time.Sleep(took / 4)
	victim := cluster.Executors[1]
	victim.Signal(syscall.SIGSTOP)
	stopped := time.Now()
	require.NoError(t, <-done)
	require.Less(t, time.Since(stopped), 30*time.Second)
	time.Sleep(time.Until(stopped.Add(6 * time.Second))) // its lease is four heartbeats of a second
	victim.Signal(syscall.SIGCONT)
	victim.Await(`(ready.*attached)`)
	require.Equal(t, "2000000", client.Value("SELECT count(*) FROM target"))
	require.Equal(t, "1000000", client.Value("SELECT count(DISTINCT i) FROM target"))
	clean(t, catalog, dataDir)
	cluster.Stop()
}

// TestExecutorDrains stops executors with SIGTERM under an INSERT and under a query: the statements do not notice.
func TestExecutorDrains(t *testing.T) {
	cluster, client, catalog, dataDir, took := faultySystem(t)
	for _, sql := range []string{faultyInsert, "SELECT count(DISTINCT x.i + y.i) FROM big x JOIN big y ON x.i % 5000 = y.i % 5000"} {
		done := background(client, sql)
		time.Sleep(took / 3)
		status, err := cluster.Executors[0].Stop(30 * time.Second)
		require.NoError(t, err)
		require.Equal(t, 0, status)
		require.NoError(t, <-done, sql)
		cluster.Executors = cluster.Executors[1:]
		cluster.AddExecutor()
	}
	require.Equal(t, "2000000", client.Value("SELECT count(*) FROM target"))
	clean(t, catalog, dataDir)
	cluster.Stop()
}

// TestSchedulerKilled kills the scheduler under writes: executors stop their work, drop their files, and attach to the
// scheduler that comes next at the same address, which removes what was written and not committed.
func TestSchedulerKilled(t *testing.T) {
	cluster, client, catalog, dataDir, took := faultySystem(t)
	for _, sql := range []string{faultyInsert, strings.Replace(faultyInsert, "INSERT INTO target", "CREATE TABLE made AS", 1)} {
		done := background(client, sql)
		time.Sleep(took / 2)
		cluster.RestartScheduler(syscall.SIGKILL)
		require.Error(t, <-done)
		client = cluster.Connect(t)
		client.Query("USE loss")
		distributeAlways(client)
		require.Equal(t, "1000000", client.Value("SELECT count(*) FROM target"))
		clean(t, catalog, dataDir)
	}
	require.Eventually(t, func() bool {
		_, err := client.Run(context.Background(), "SELECT * FROM made")
		return err != nil && strings.Contains(err.Error(), "does not exist")
	}, 10*time.Second, 100*time.Millisecond, "the table that was not filled is gone")
	cluster.Stop()
}

// TestServeStopsInTime stops `serac serve` under clients: one that reads, one that does not, statements that run.
func TestServeStopsInTime(t *testing.T) {
	dataDir := t.TempDir()
	// Each of the three statements below has a slot: none must wait until another one's long task is over.
	cluster := process.Serve(t, dataDir, "SERAC_SCHEDULER__DRAIN_TIMEOUT_SECS=2", "SERAC_EXECUTOR__SLOTS=3")
	client := cluster.Connect(t)
	fillBig(client)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	errs := make(chan error, 3)
	for _, sql := range []string{"SELECT count(*) FROM big a, big b WHERE hash(a.i, b.i) % 7 = 0", "CREATE TABLE made AS SELECT a.i FROM big a, big b WHERE hash(a.i, b.i) % 100000 = 0"} {
		c := cluster.Connect(t)
		c.Query("USE loss")
		go func() {
			_, err := c.Run(ctx, sql)
			errs <- err
		}()
	}
	// One that has begun to read a large result and stalls.
	info, err := client.Execute(ctx, "SELECT a.i, md5(b.i::VARCHAR) FROM big a, big b WHERE a.i % 100 = b.i % 100")
	require.NoError(t, err)
	reader, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer reader.Release()
	require.True(t, reader.Next())
	time.Sleep(time.Second)
	start := time.Now()
	status, err := cluster.Server.Stop(60 * time.Second)
	require.NoError(t, err)
	require.Equal(t, 0, status)
	require.Less(t, time.Since(start), 15*time.Second)
	for range 2 {
		require.ErrorContains(t, <-errs, "shutting down")
	}
	require.Empty(t, spilled(dataDir))
	require.Empty(t, orphans(t, openCatalog(t, dataDir), dataDir))
}
