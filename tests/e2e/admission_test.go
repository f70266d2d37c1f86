package e2e

import (
	"context"
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
	_, err := other.Execute(context.Background(), work("too many"))
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "busy")
	// What has nothing to execute does not wait.
	other.Query("EXPLAIN SELECT 1")
	other.Query("SHOW TABLES")
	other.Query("SET timeout_secs = 200")
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
	_, err = other.Run(context.Background(), "EXPLAIN ANALYZE "+work("timed out"))
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
