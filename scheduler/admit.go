package scheduler

import (
	"context"
	"time"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/admission"
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/wire"
)

// A statement that has a job takes a place before the job starts, and leaves it when the job is over; a query leaves it
// earlier when its rows wait for its client. So clients that do not fetch hold nobody up; when such a client reads on, its
// query goes on without a place. Planning takes none: a statement's errors, and a query's schema, are known at once. Only
// CREATE TABLE AS has a part that needs the place: from its turn on there is a table. A statement that finds the queue full
// is refused before it is planned. SHOW, SET, DDL and EXPLAIN have no job.

// fetchPatience is how long a query's rows may wait for its client before it leaves its place.
const fetchPatience = 250 * time.Millisecond

// placesPerSlot is how many statements execute at once for each slot of the executors, unless the options say otherwise:
// one whose tasks run, and others whose tasks are ready when a slot is free.
const placesPerSlot = 4

// newGate makes the gate that all statements with a job pass.
func (s *Scheduler) newGate() *admission.Gate {
	gate := admission.New(func() int {
		if s.opts.MaxRunning > 0 {
			return s.opts.MaxRunning
		}
		return max(s.opts.Cluster.Slots(), 1) * placesPerSlot
	}, s.opts.MaxQueued)
	s.opts.Cluster.OnSlots(gate.Serve)
	return gate
}

// room is an error when there is no room to wait for a place: then a statement need not be planned.
func (st *statement) room() error {
	if st.gate.Full() {
		return st.busy()
	}
	return nil
}

// place asks for a place.
func (st *statement) place() (*admission.Place, error) {
	p, err := st.gate.Ask(st.session.ID)
	if err != nil {
		return nil, st.busy()
	}
	return p, nil
}

func (st *statement) busy() error {
	return wire.Failf(seracv1.FailureKind_FAILURE_KIND_BUSY,
		"the scheduler is busy: %d statements execute and %d wait already (scheduler.max_queued_statements); send the statement again later",
		st.gate.Taken(), st.gate.Waiting())
}

// enter waits for a place. The caller leaves it.
func (e *taskExecution) enter(ctx context.Context, st *statement) (*admission.Place, error) {
	p, err := st.place()
	if err != nil {
		return nil, err
	}
	e.setState(engine.Queued)
	defer e.setState(engine.Running)
	select {
	case <-p.Admitted():
		return p, nil
	case <-ctx.Done():
		p.Leave()
		return nil, context.Cause(ctx)
	}
}

func (e *taskExecution) setState(s engine.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = s
}
