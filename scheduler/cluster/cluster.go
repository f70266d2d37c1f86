package cluster

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
)

// Cluster is the executors that are attached now and the jobs that run on them. It is safe for concurrent use.
type Cluster struct {
	seracv1.UnimplementedSchedulerServiceServer
	o Options

	// goroutines counts all of the cluster's own: the ticker, result pulls, orphan callbacks.
	goroutines sync.WaitGroup
	stop       chan struct{} // closed by Close

	mu        sync.Mutex
	closed    bool
	executors map[string]*executor
	order     []*executor // the same, sorted by id
	// idleSince is when the last executor that takes tasks went away; zero while there is one.
	idleSince time.Time
	// onSlots is called when slots may have come or gone, which slotsChanged has an element for.
	onSlots      func()
	slotsChanged chan struct{}
	runs         map[string]*Run
	late         lateRuns
	turn         uint64 // counts launches, for fairness between jobs
}

// ExecutorInfo describes an attached executor.
type ExecutorInfo struct {
	ID            string
	FlightAddress string
	HostID        string
	Version       string
	Slots         int
	MemoryBytes   int64
	Draining      bool
	// TasksRunning are the attempts launched and not over.
	TasksRunning int
	// As of the last heartbeat.
	MemoryUsedBytes, SpillBytes int64
}

var errClosed = errors.New("the cluster is closed")

// New makes a cluster without executors. Close it.
func New(o Options) *Cluster {
	c := &Cluster{
		o: o.withDefaults(), stop: make(chan struct{}), executors: map[string]*executor{}, idleSince: time.Now(),
		runs: map[string]*Run{}, onSlots: func() {}, slotsChanged: make(chan struct{}, 1),
	}
	c.goroutines.Add(1)
	go c.tick()
	return c
}

// Register adds the service that executors dial to a gRPC server.
func (c *Cluster) Register(r grpc.ServiceRegistrar) { seracv1.RegisterSchedulerServiceServer(r, c) }

// Executors are the attached executors, sorted by id.
func (c *Cluster) Executors() []ExecutorInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	infos := make([]ExecutorInfo, len(c.order))
	for i, e := range c.order {
		infos[i] = e.info
	}
	return infos
}

// Slots is the number of tasks that the attached executors can run at once; draining ones do not count.
func (c *Cluster) Slots() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slots()
}

// OnSlots has f called soon after Slots has changed, one call at a time. Close waits for a call under way. f may call the
// cluster.
func (c *Cluster) OnSlots(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onSlots = f
}

func (c *Cluster) slots() int {
	n := 0
	for _, e := range c.order {
		if !e.info.Draining {
			n += e.info.Slots
		}
	}
	return n
}

// Close fails all runs, ends all executors' streams, and returns when the cluster's goroutines have ended.
func (c *Cluster) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.stop)
		for _, r := range c.sortedRuns() {
			c.step(r, job.Cancel{Reason: "the scheduler is shutting down"})
			r.release(errClosed)
		}
		for _, e := range c.order {
			e.leaving = true
			e.wake()
		}
	}
	c.mu.Unlock()
	c.goroutines.Wait()
}

// tick looks at the clock now and then: at leases, at results that nobody reads, and at jobs that wait for any executor at all.
// It also tells of changes of the slots, without the lock.
func (c *Cluster) tick() {
	defer c.goroutines.Done()
	every := max(time.Millisecond, min(c.o.Lease/8, c.o.NoExecutorTimeout/8, time.Second))
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-c.slotsChanged:
			c.mu.Lock()
			f := c.onSlots
			c.mu.Unlock()
			f()
		case now := <-ticker.C:
			c.mu.Lock()
			c.expire(now)
			c.countIdle(now)
			c.giveUp(now)
			c.mu.Unlock()
		}
	}
}

// expire counts executors as lost that have been silent for a lease, or have not read for very long.
func (c *Cluster) expire(now time.Time) {
	for _, e := range slices.Clone(c.order) {
		if e.stuck {
			c.lose(e, "it does not read: "+strconv.Itoa(len(e.queue))+" messages wait for it")
		}
		if silent := now.Sub(e.heard); silent > c.o.Lease {
			c.lose(e, "it was silent for "+silent.Round(time.Millisecond).String())
		}
	}
}

// giveUp fails jobs that have waited too long for an executor that takes tasks.
func (c *Cluster) giveUp(now time.Time) {
	if c.idleSince.IsZero() {
		return
	}
	for _, r := range c.sortedRuns() {
		since := c.idleSince
		if r.started.After(since) {
			since = r.started
		}
		if r.active == 0 && now.Sub(since) >= c.o.NoExecutorTimeout {
			c.step(r, job.Fail{Failure: &seracv1.Failure{
				Kind:    seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED,
				Message: "no executor is attached that takes tasks; waited " + c.o.NoExecutorTimeout.String(),
			}})
		}
	}
}

// lose is the one place that counts an executor as lost. Why is for people; empty for one that had drained and left.
func (c *Cluster) lose(e *executor, why string) {
	if e.lost {
		return
	}
	e.lost = true
	delete(c.executors, e.info.ID)
	if i, there := c.find(e.info.ID); there {
		c.order = slices.Delete(c.order, i, i+1)
	}
	close(e.gone)
	c.emit(ExecutorLost{ID: e.info.ID, Reason: why})
	for _, r := range c.sortedRuns() {
		r.settleResults()
		c.step(r, job.ExecutorLost{Executor: e.info.ID, Reason: why})
	}
	e.closeFlight()
	c.countTaking()
	c.dispatch()
}

// countTaking keeps idleSince when executors have come, gone or begun to drain.
func (c *Cluster) countTaking() {
	select {
	case c.slotsChanged <- struct{}{}:
	default:
	}
	for _, e := range c.order {
		if !e.info.Draining {
			c.idleSince = time.Time{}
			return
		}
	}
	if c.idleSince.IsZero() {
		c.idleSince = time.Now()
	}
}

// drain stops an executor from getting tasks.
func (c *Cluster) drain(e *executor) {
	if e.info.Draining {
		return
	}
	e.info.Draining = true
	c.emit(ExecutorDraining{ID: e.info.ID})
	for _, r := range c.sortedRuns() {
		c.step(r, job.ExecutorDraining{Executor: e.info.ID})
	}
	c.countTaking()
}

// find is the place of an id in order.
func (c *Cluster) find(id string) (int, bool) {
	return slices.BinarySearchFunc(c.order, id, func(e *executor, id string) int { return strings.Compare(e.info.ID, id) })
}

func (c *Cluster) sortedRuns() []*Run {
	all := make([]*Run, 0, len(c.runs))
	for _, r := range c.runs {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Run) int { return strings.Compare(a.spec.ID, b.spec.ID) })
	return all
}

// background runs f in a goroutine that Close waits for.
func (c *Cluster) background(f func()) {
	c.goroutines.Add(1)
	go func() {
		defer c.goroutines.Done()
		f()
	}()
}
