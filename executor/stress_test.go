package executor

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// TestNothingIsLeft runs many tasks of all kinds, cancels some at random moments, and loses its scheduler in between:
// no goroutine, connection, open file or file on disk may be left.
func TestNothingIsLeft(t *testing.T) {
	leakCheck(t)
	s := newScheduler(t)
	n := start(t, s, func(o *Options) { o.Slots = 4 })
	other := start(t, s, func(o *Options) { o.HostID = "far" })
	for round := range 3 {
		var wg sync.WaitGroup
		job := "job" + string(rune('a'+round))
		source := id(job, 9, 0)
		other.launch(source, shuffleRoot(50_000, 4), constant(1))
		files := other.awaitFinished(source).GetShuffleFiles()
		var all []*seracv1.TaskId
		for i := range int32(24) {
			task := id(job, 0, i)
			all = append(all, task)
			switch i % 4 {
			case 0:
				n.launch(task, shuffleRoot(200_000, 4), constant(1))
			case 1:
				n.launch(task, aggregateRoot(), shuffled(5, files...))
			case 2:
				n.launch(task, numbers(1, 2_000_000), constant(1))
			case 3:
				n.launch(task, whole("SELECT no_such_column", plan.Column{Name: "n", Type: plan.T(plan.BigInt)}))
			}
			if i%4 == 1 || i%4 == 2 {
				wg.Go(func() {
					// Read it as soon as it streams, sometimes only its beginning; it may never come to stream.
					deadline := time.Now().Add(10 * time.Second)
					for time.Now().Before(deadline) {
						ctx, cancel := context.WithCancel(context.Background())
						err := n.result(ctx, task, func(arrow.RecordBatch) error {
							if rand.N(4) == 0 {
								return errEnough
							}
							return nil
						})
						cancel()
						if err == nil || errors.Is(err, errEnough) || n.over(task) {
							return
						}
						time.Sleep(5 * time.Millisecond)
					}
				})
			}
			if rand.N(3) == 0 {
				time.Sleep(time.Duration(rand.N(20)) * time.Millisecond)
				n.cancel(task)
			}
		}
		if round == 1 {
			time.Sleep(50 * time.Millisecond)
			close(n.cut)
			wg.Wait()
			n.attachment = s.next(t)
		} else {
			for _, task := range all {
				n.await("the end of "+task.String(), func() bool { return n.overLocked(task) })
			}
			wg.Wait()
			n.jobEnd(job)
		}
		other.jobEnd(job)
		require.Eventually(t, func() bool { return len(n.diskUse())+len(other.diskUse()) == 0 }, 3*time.Second, 10*time.Millisecond)
		require.Zero(t, n.OpenConns())
	}
}
