package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
)

// onePlace is a server that executes one statement at a time and lets three wait.
func onePlace(t *testing.T) *process.Cluster {
	cluster := process.Serve(t, t.TempDir(), "SERAC_SCHEDULER__MAX_RUNNING_STATEMENTS=1", "SERAC_SCHEDULER__MAX_QUEUED_STATEMENTS=3")
	fillBig(cluster.Connect(t))
	return cluster
}

// start starts a query without fetching it.
func start(t *testing.T, c *process.Client, sql string) *flight.FlightInfo {
	t.Helper()
	info, err := c.Execute(context.Background(), sql)
	require.NoError(t, err)
	return info
}

// await reads a result to its end and gives the error it ends with.
func await(c *process.Client, info *flight.FlightInfo) error {
	reader, err := c.DoGet(context.Background(), info.Endpoint[0].Ticket)
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
	}
	return reader.Err()
}

func stateOf(t *testing.T, info *flight.FlightInfo) string {
	t.Helper()
	var p seracv1.StatementProgress
	require.NoError(t, proto.Unmarshal(info.AppMetadata, &p))
	return p.State
}

func cancelIt(t *testing.T, c *process.Client, info *flight.FlightInfo) {
	t.Helper()
	_, err := c.CancelFlightInfo(context.Background(), &flight.CancelFlightInfoRequest{Info: info})
	require.NoError(t, err)
}

// TestStatementsTakeTurns: with one place, a session's flood does not keep another session's statement from its turn; a full
// queue refuses; what waits is seen to wait, can be cancelled, obeys its timeout and goes with its client.
func TestStatementsTakeTurns(t *testing.T) {
	cluster := onePlace(t)
	connect := func() *process.Client {
		c := cluster.Connect(t)
		c.Query("USE loss")
		return c
	}
	endlessly, flood, other := connect(), connect(), connect()
	busy := start(t, endlessly, endless["join"])
	require.Equal(t, "running", stateOf(t, busy))

	// In turn. Each takes long enough for the order of the ends to be that of the starts.
	work := func(name string) string {
		return fmt.Sprintf("SELECT '%s', count(*) FROM big a, big b WHERE a.i < 300 AND hash(a.i, b.i) %% 7 = 0", name)
	}
	var mu sync.Mutex
	var ends []string
	var wg sync.WaitGroup
	for _, s := range []struct {
		c    *process.Client
		name string
	}{{flood, "flood 1"}, {flood, "flood 2"}, {other, "other"}} {
		info := start(t, s.c, work(s.name))
		require.Equal(t, "queued", stateOf(t, info))
		wg.Go(func() {
			err := await(s.c, info)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(s.name, err)
			}
			ends = append(ends, s.name)
		})
	}
	// One more is refused, before it is planned: nobody has looked for its tables.
	for _, sql := range []string{work("too many"), "SELECT * FROM nowhere", "INSERT INTO nowhere SELECT 1", "CREATE TABLE n AS FROM nowhere", "EXPLAIN ANALYZE FROM nowhere"} {
		_, err := other.Run(context.Background(), sql)
		require.Equal(t, codes.Unavailable, status.Code(err), "%s: %v", sql, err)
		require.ErrorContains(t, err, "busy", sql)
	}
	// What has nothing to execute does not wait.
	other.Query("EXPLAIN SELECT 1")
	other.Query("SHOW TABLES")
	other.Query("SET timeout_secs = 200")
	other.Query("CREATE TABLE without AS SELECT 1 AS i WITH NO DATA")
	require.ErrorContains(t, func() error { _, err := other.Run(context.Background(), "SELECT * FROM nowhere"); return err }(), "busy")
	require.Empty(t, ends)
	cancelIt(t, endlessly, busy)
	wg.Wait()
	require.Equal(t, []string{"flood 1", "other", "flood 2"}, ends)

	// Cancelled, timed out and left while they wait.
	busy = start(t, endlessly, endless["join"])
	require.Equal(t, "running", stateOf(t, busy))
	waits := start(t, other, work("cancelled"))
	cancelIt(t, other, waits)
	require.Equal(t, codes.Canceled, status.Code(await(other, waits)))
	other.Query("SET timeout_secs = 1")
	require.ErrorContains(t, await(other, start(t, other, work("timed out"))), "timeout_secs")
	_, err := other.Run(context.Background(), "EXPLAIN ANALYZE "+work("timed out"))
	require.ErrorContains(t, err, "timeout_secs")
	left := connect()
	for range 3 {
		start(t, left, work("left"))
	}
	_, err = flood.Execute(context.Background(), work("no room"))
	require.ErrorContains(t, err, "busy")
	require.NoError(t, left.Close())
	var last *flight.FlightInfo
	require.Eventually(t, func() bool { last, err = flood.Execute(context.Background(), work("room")); return err == nil }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, "queued", stateOf(t, last))
	cancelIt(t, endlessly, busy)
	require.NoError(t, await(flood, last))
	idle(t, cluster, "after all")
	cluster.Stop()
}

// poll starts an update, or asks how it is.
func poll(t *testing.T, c *process.Client, sql string, before *flight.PollInfo) *flight.PollInfo {
	t.Helper()
	now, err := c.ExecutePoll(context.Background(), sql, before.GetFlightDescriptor())
	require.NoError(t, err)
	return now
}

// TestWaitingWrites: a table is not made before its statement's turn, and the wait is no part of the time that EXPLAIN ANALYZE
// shows.
func TestWaitingWrites(t *testing.T) {
	cluster := onePlace(t)
	endlessly, other := cluster.Connect(t), cluster.Connect(t)
	endlessly.Query("USE loss")
	other.Query("USE loss")
	busy := start(t, endlessly, endless["join"])
	const create, repeat = "CREATE TABLE made AS SELECT 1 AS i", "CREATE TABLE big AS SELECT 1 AS i"
	making := poll(t, other, create, nil)
	require.Eventually(t, func() bool {
		making = poll(t, other, create, making)
		return stateOf(t, making.GetInfo()) == "queued"
	}, 20*time.Second, time.Millisecond)
	_, err := other.Run(context.Background(), repeat)
	require.ErrorContains(t, err, "already exists", "it need not wait to be told")
	began := time.Now()
	var analyzed *compare.Result
	var wg sync.WaitGroup
	wg.Go(func() {
		analyzed, err = other.Run(context.Background(), "EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO big SELECT 1")
	})
	time.Sleep(700 * time.Millisecond)
	require.NotContains(t, fmt.Sprint(other.Query("SHOW TABLES").Rows), "made")
	waited := time.Since(began)
	cancelIt(t, endlessly, busy)
	wg.Wait()
	total := time.Since(began)
	require.NoError(t, err)
	var shown struct{ Seconds float64 }
	require.NoError(t, json.Unmarshal([]byte(analyzed.Rows[0][0].Text), &shown))
	require.Positive(t, shown.Seconds)
	require.Less(t, shown.Seconds+waited.Seconds(), total.Seconds()+0.1)
	for making.GetFlightDescriptor() != nil {
		making = poll(t, other, create, making)
	}
	require.Equal(t, "1", other.Value("SELECT count(*) FROM made"))
	cluster.Stop()
}

// TestNewExecutorsBringPlaces: those who wait need not wait for somebody's end when an executor comes.
func TestNewExecutorsBringPlaces(t *testing.T) {
	cluster := process.Distributed(t, t.TempDir(), 1, "SERAC_EXECUTOR__SLOTS=1")
	c := cluster.Connect(t)
	const endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range, b.range) % 7 = 0"
	var all []*flight.FlightInfo
	for range 4 {
		all = append(all, start(t, c, endless))
		require.Equal(t, "running", stateOf(t, all[len(all)-1]))
	}
	waits := poll(t, c, endless, nil)
	require.Equal(t, "queued", stateOf(t, waits.GetInfo()))
	cluster.AddExecutor()
	require.Eventually(t, func() bool {
		waits = poll(t, c, endless, waits)
		return stateOf(t, waits.GetInfo()) == "running"
	}, 20*time.Second, time.Millisecond)
	for _, info := range append(all, waits.GetInfo()) {
		cancelIt(t, c, info)
	}
	cluster.Stop()
}

// TestUnfetchedResultsHoldNobodyUp: clients that never fetch, or stop in the middle, do not keep the only place.
func TestUnfetchedResultsHoldNobodyUp(t *testing.T) {
	cluster := onePlace(t)
	never, stops, other := cluster.Connect(t), cluster.Connect(t), cluster.Connect(t)
	for _, c := range []*process.Client{never, stops, other} {
		c.Query("USE loss")
	}
	const large = "SELECT a.i, b.i, md5((a.i + b.i)::VARCHAR) FROM big a, big b"
	start(t, never, large)
	info := start(t, stops, large)
	reader, err := stops.DoGet(context.Background(), info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer reader.Release()
	require.True(t, reader.Next())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for range 5 {
		result, err := other.Run(ctx, "SELECT count(*) FROM big")
		require.NoError(t, err)
		require.Len(t, result.Rows, 1)
	}
	require.True(t, reader.Next(), "it goes on when its client does")
}
