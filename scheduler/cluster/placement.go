package cluster

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/seracdb/serac/scheduler/job"
)

// dispatch launches tasks as long as there are free slots and tasks that may run. The job with the fewest running tasks
// goes first, then the one that has waited longest since its last launch: a small job does not wait for a large one to
// end, and equal jobs take turns.
func (c *Cluster) dispatch() {
	if c.closed {
		return
	}
	slots := c.slots()
	for c.anyFree() {
		r := c.nextRun(slots)
		if r == nil {
			return
		}
		candidate, _ := r.m.Next() // costs more than Peek: not when there is no slot
		e := c.place(candidate)
		if e == nil {
			return
		}
		c.launch(r, candidate, e)
	}
	c.makeWay()
}

func (c *Cluster) anyFree() bool {
	return slices.ContainsFunc(c.order, func(e *executor) bool { return e.free() > 0 })
}

// nextRun is the run whose turn it is; nil when none has a task to launch. slots is the number that all executors have.
func (c *Cluster) nextRun(slots int) *Run {
	var best *Run
	for _, r := range c.runs {
		if best != nil && (r.active > best.active || r.active == best.active && r.turn >= best.turn) {
			continue
		}
		if stage, task, ok := r.m.Peek(); ok && r.near(job.AttemptID{Stage: stage, Task: task}, slots) {
			best = r
		}
	}
	return best
}

// place chooses the executor for a task: one of those that are loaded least, to within one task, and among them
//
//  1. not the one where the task's last attempt failed, unless it is the only one with a free slot,
//  2. the one that holds the largest part of the task's shuffle input,
//  3. the one that always gets this file, for the sake of its cache (rendezvous hashing).
//
// An executor that holds most of the shuffle input is taken even if others are loaded less.
func (c *Cluster) place(t job.Candidate) *executor {
	least, leastAll := -1.0, -1.0
	for _, e := range c.order {
		if e.free() <= 0 {
			continue
		}
		load := e.load()
		if leastAll < 0 || load < leastAll {
			leastAll = load
		}
		if e.info.ID != t.Avoid && (least < 0 || load < least) {
			least = load
		}
	}
	avoided := least < 0 // the avoided executor must do
	if avoided {
		least = leastAll
	}
	eligible := func(e *executor) bool { return e.free() > 0 && (avoided || e.info.ID != t.Avoid) }
	for i, share := range t.Prefer {
		e := c.executors[share.Executor]
		if e == nil || !eligible(e) || share.Bytes == 0 {
			continue
		}
		if most := i == 0 && share.Bytes*3 >= share.Of*2; most || e.level(least) {
			return e
		}
	}
	var best *executor
	var bestScore uint64
	seed := rendezvousSeed(t)
	for _, e := range c.order {
		if !eligible(e) || !e.level(least) {
			continue
		}
		if score := e.rendezvous(seed); best == nil || score > bestScore || score == bestScore && e.info.ID < best.info.ID {
			best, bestScore = e, score
		}
	}
	return best
}

// level says whether the executor is loaded no more than the least loaded one, to within one task.
func (e *executor) level(least float64) bool { return e.load() < least+1/float64(e.info.Slots)-1e-9 }

// rendezvousSeed is what a task brings to its scores: its file, so that the same file scores the same way every time. Tasks
// without a file are spread by their stage and number.
func rendezvousSeed(t job.Candidate) uint64 {
	h := fnv.New64a()
	if t.File != "" {
		_, _ = h.Write([]byte(t.File))
	} else {
		_, _ = h.Write([]byte{byte(t.Stage), byte(t.Task), byte(t.Task >> 8), byte(t.Task >> 16)})
	}
	return h.Sum64()
}

// rendezvous scores a task's seed on the executor. It is called for every executor at every launch.
func (e *executor) rendezvous(seed uint64) uint64 {
	if e.seed == 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(e.info.ID))
		e.seed = h.Sum64() | 1
	}
	// The two hashes are mixed, or the order of the executors would be alike for all tasks.
	x := seed ^ e.seed
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// launch starts a task on an executor that has a free slot.
func (c *Cluster) launch(r *Run, t job.Candidate, e *executor) {
	l, err := r.m.Launch(t.Stage, t.Task, e.info.ID)
	if err != nil {
		// The machine and the cluster disagree about an executor or a task: a fault of ours, which must not become a
		// busy loop.
		c.step(r, job.Fail{Failure: internal(err)})
		return
	}
	c.turn++
	r.turn = c.turn
	r.active++
	e.info.TasksRunning++
	e.unanswered[keyOf(l.GetId())] = time.Now()
	c.emit(TaskLaunched{Job: r.spec.ID, Attempt: job.AttemptOf(l.GetId()), Executor: e.info.ID})
	c.send(e, outgoing{launch: l})
}

// makeWay breaks the one deadlock that slots can run into: a result task must run again whose turn it is, while later
// result tasks of the same job hold slots, waiting for their turn. The last of them gives way.
func (c *Cluster) makeWay() {
	for _, r := range c.runs {
		stage, task, ok := r.m.Peek()
		if !ok {
			continue
		}
		if a, ok := r.lastResultAfter(job.AttemptID{Stage: stage, Task: task}); ok {
			c.step(r, job.Preempted{Attempt: a})
			c.dispatch() // ends: every round has one running result task less
			return
		}
	}
}
