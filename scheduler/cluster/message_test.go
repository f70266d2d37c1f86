package cluster

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// sizes notes how large the messages are that a client of gRPC receives.
type sizes struct {
	mu      sync.Mutex
	largest int
	count   int
	bytes   int
}

func (s *sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (s *sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (s *sizes) HandleConn(context.Context, stats.ConnStats)                       {}
func (s *sizes) HandleRPC(_ context.Context, r stats.RPCStats) {
	if in, ok := r.(*stats.InPayload); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.largest, s.count, s.bytes = max(s.largest, in.Length), s.count+1, s.bytes+in.Length
	}
}

// peak watches the heap while f runs and gives how far it went beyond what it was before, in bytes. Garbage is collected soon
// meanwhile, so that what is left of it does not count for much.
func peak(f func()) (most int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before := heap()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				most = max(most, heap()-before)
			}
		}
	}()
	defer func() {
		close(stop)
		<-done
	}()
	f()
	return most
}

// TestRule27LargeGroupStreams: a group of 100,000 files and more reaches its executor in messages below 1 MiB, over the real stream,
// and what the scheduler needs for that beside the group itself does not grow with it.
func TestRule27LargeGroupStreams(t *testing.T) {
	const files, limit = 200_000, 1 << 20 // so many that what grows with them would show
	seen := &sizes{}
	b := newBench(t, Options{})
	got := 0
	x := b.start("e1", 1, func(x *fake, _ *seracv1.Register) {
		x.dial = append(x.dial, grpc.WithStatsHandler(seen))
		x.onPart = func(assignments []*seracv1.LeafAssignment) {
			for _, a := range assignments {
				for _, f := range a.GetFiles().GetFiles() {
					require.Equal(t, pathOf(got), f.GetPath(), "in order, each once")
					got++
				}
			}
		}
	})
	group := &seracv1.FileGroup{}
	for i := range files {
		group.Files = append(group.Files, &seracv1.FileScanTask{
			Path: pathOf(i), SizeBytes: 256<<20 + int64(i), RecordCount: 1_250_000, Length: 256<<20 + int64(i), SequenceNumber: int64(i), Format: "parquet",
		})
	}
	s := stage(1, 1, "write f")
	s.Tasks[0].Assignments = []*seracv1.LeafAssignment{{Leaf: 1, What: &seracv1.LeafAssignment_Files{Files: group}}}
	ctx := testContext(t)
	extra := peak(func() {
		_, err := b.c.Run(ctx, spec("w", s)).Wait(ctx)
		require.NoError(t, err)
	})
	require.Equal(t, files, got)
	x.kill()
	t.Logf("%d messages, %d bytes in all, the largest %d; %d bytes of heap beside the group", seen.count, seen.bytes, seen.largest, extra)
	require.LessOrEqual(t, seen.largest, limit)
	require.Less(t, extra, int64(seen.bytes)*3/4, "scheduler and executor together, with the messages on their way")
}

func pathOf(i int) string {
	return fmt.Sprintf("s3://analytics-production-eu-central-1/warehouse/commerce.db/order_line_items/data/ship_month=2024-%02d/%05d-431-0f3c5c1e-9f1e-4c8e-8c9e-%012d-00001.parquet", i%12+1, i%1000, i)
}
