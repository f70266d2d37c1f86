package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/server"
	"github.com/seracdb/serac/tests/process"
)

// inProcess runs `serac serve` inside the test, where its goroutines and files can be counted.
func inProcess(t *testing.T, dataDir string) (cluster *process.Cluster, conns func() int, stop func()) {
	t.Helper()
	cfg := config.Default()
	cfg.Scheduler.FlightSQLPort = 0
	both, err := server.NewBoth(context.Background(), cfg, server.Options{DataDir: dataDir, Version: "test"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- both.Serve(ctx) }()
	return &process.Cluster{Address: both.FlightSQLAddress()}, both.OpenConns, func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// counts are what a process holds.
type counts struct {
	goroutines, files int
	spilled           []string
}

func count(t *testing.T, spill string) counts {
	c := counts{goroutines: runtime.NumGoroutine()}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		c.files = len(fds)
	}
	_ = filepath.WalkDir(spill, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".parquet") {
			c.spilled = append(c.spilled, path)
		}
		return nil
	})
	return c
}

// TestNothingLeaks: two clients, twenty small queries at once, a long one cancelled, a client that goes away in the middle
// of a result. Afterwards goroutines, open files, DuckDB connections and shuffle files are as before.
func TestNothingLeaks(t *testing.T) {
	dataDir := t.TempDir()
	cluster, conns, stop := inProcess(t, dataDir)
	defer stop()
	setUp := cluster.Connect(t)
	setUp.Query("CREATE SCHEMA l")
	setUp.Query("USE l")
	setUp.Query("CREATE TABLE t AS SELECT i, 'v' || i AS s FROM range(100000) r(i)")
	setUp.Query("INSERT INTO t SELECT i, 'v' || i FROM range(100000, 200000) r(i)")

	work := func() {
		clients := []*process.Client{cluster.Connect(t), cluster.Connect(t)}
		for _, c := range clients {
			c.Query("USE l")
			c.Query("SET distribution_threshold = '0B'")
			c.Query("SET target_task_size = '64KB'")
		}
		var wg sync.WaitGroup
		errs := make(chan error, 100)
		for i := range 20 {
			wg.Go(func() {
				result, err := clients[i%2].Run(context.Background(), fmt.Sprintf("SELECT count(*) FROM t WHERE i %% 20 = %d", i))
				if err == nil && result.Rows[0][0].Text != "10000" {
					err = fmt.Errorf("query %d: got %s", i, result.Rows[0][0])
				}
				errs <- err
			})
		}
		// A long statement, cancelled by its client.
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := clients[0].Run(ctx, "SELECT count(*) FROM t a, t b WHERE hash(a.i, b.i) % 7 = 0")
			took := time.Since(start)
			if err == nil {
				errs <- fmt.Errorf("cancelled query: no error after %s", took)
			} else if took > 10*time.Second {
				errs <- fmt.Errorf("cancelled query: %w after %s", err, took)
			}
		})
		// A large result whose client leaves after the first batch.
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			info, err := clients[1].Execute(ctx, "SELECT a.i, a.s, b.s FROM t a JOIN t b ON a.i % 1000 = b.i % 1000")
			if err != nil {
				errs <- err
				return
			}
			reader, err := clients[1].DoGet(ctx, info.Endpoint[0].Ticket)
			if err != nil {
				errs <- err
				return
			}
			reader.Next()
			cancel()
			reader.Release()
		})
		wg.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		for _, c := range clients {
			require.NoError(t, c.Close())
		}
	}
	spill := filepath.Join(dataDir, "spill")
	for range 3 { // pools and caches fill up, as far as chance has queries meet
		work()
	}
	before := settle(t, spill, counts{})
	for range 3 {
		work()
	}
	after := settle(t, spill, before)
	require.LessOrEqual(t, after.goroutines, before.goroutines+5, "goroutines")
	require.LessOrEqual(t, after.files, before.files+5, "open files")
	require.Empty(t, after.spilled, "shuffle files")
	require.Zero(t, conns(), "DuckDB connections")
}

// settle waits until the counts are no higher than a goal, or have not fallen for a while.
func settle(t *testing.T, spill string, goal counts) counts {
	lowest, since := count(t, spill), time.Now()
	for {
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
		c := count(t, spill)
		if len(c.spilled) == 0 && c.goroutines <= goal.goroutines && c.files <= goal.files {
			return c
		}
		if c.goroutines < lowest.goroutines || c.files < lowest.files || len(c.spilled) < len(lowest.spilled) {
			lowest, since = c, time.Now()
		}
		if time.Since(since) > 2*time.Second {
			return c
		}
	}
}
