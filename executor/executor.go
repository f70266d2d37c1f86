package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/seracdb/serac/executor/flight"
	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/executor/task"
	"github.com/seracdb/serac/executor/workdir"
	"github.com/seracdb/serac/iceberg/object"
	"github.com/seracdb/serac/wire"
)

// Executor is one executor. Make it with New, run it with Run.
type Executor struct {
	o   Options
	log *slog.Logger

	dir      *workdir.Dir
	listener net.Listener
	engine   *task.Engine
	temp     string // DuckDB's spill files
	store    *shuffle.Store
	objects  *object.Store
	pool     *flight.Pool
	server   *flight.Server
	runner   *task.Runner

	life     context.Context // ends with Close
	kill     context.CancelFunc
	shutdown sync.Once
	closeErr error

	mu      sync.Mutex
	session *session      // the attachment, nil between two
	running chan struct{} // closed when Run has returned; nil before Run
}

// New checks the options, makes the executor's directory (removing what executors that died left in SpillDir), opens
// DuckDB and the Flight listener. The caller must Run or Close it.
func New(o Options) (_ *Executor, err error) {
	o.setDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	e := &Executor{o: o, log: o.Logger.With("executor", o.ID), listener: o.Listener}
	e.life, e.kill = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	if err := e.listen(); err != nil {
		return nil, err
	}
	if err := e.open(); err != nil {
		return nil, err
	}
	return e, nil
}

// listen opens the Flight listener and settles the advertised address.
func (e *Executor) listen() error {
	if e.listener == nil {
		l, err := net.Listen("tcp", e.o.ListenAddress)
		if err != nil {
			return fmt.Errorf("listen for flight: %w", err)
		}
		e.listener = l
	}
	if e.o.AdvertiseAddress == "" {
		e.o.AdvertiseAddress = e.listener.Addr().String()
		return checkAdvertised(e.o.AdvertiseAddress)
	}
	return nil
}

// open makes all that tasks work with.
func (e *Executor) open() error {
	dir, swept, err := workdir.Create(e.o.SpillDir)
	if err != nil {
		return err
	}
	e.dir = dir
	if swept > 0 {
		e.log.Info("removed directories of dead executors", "count", swept)
	}
	subs := make(map[string]string)
	for _, name := range []string{"duckdb", "shuffle", "tasks", "objects"} {
		if subs[name], err = dir.Sub(name); err != nil {
			return err
		}
	}
	e.store = shuffle.NewStore(subs["shuffle"])
	if e.objects, err = object.Open(object.Options{Dir: subs["objects"], InPlace: e.o.DataDirs}); err != nil {
		return err
	}
	e.temp = subs["duckdb"]
	e.engine, err = task.OpenEngine(e.life, task.EngineOptions{
		Threads:     e.o.Threads,
		MemoryLimit: e.o.MemoryLimit * 2 / 3,
		TempDir:     e.temp,
		MaxTemp:     e.o.MaxSpillBytes,
		AllowedDirs: slices.Concat([]string{dir.Path()}, e.objects.Dirs(), e.o.Files.Dirs()),
		Logger:      e.log,
	})
	if err != nil {
		return err
	}
	e.pool = flight.NewPool(e.o.Dial)
	e.pool.Authenticate(e.o.Sealer)
	e.runner = &task.Runner{
		Engine: e.engine,
		Store:  e.store,
		Fetcher: &shuffle.Fetcher{
			Remote: e.pool, HostID: e.o.HostID, Concurrency: e.o.FetchConcurrency, Attempts: fetchAttempts, Backoff: fetchBackoff,
		},
		Tables:        wire.NewTables(wire.TablesOptions{}),
		Objects:       e.objects,
		Files:         e.o.Files,
		Formats:       e.o.Formats,
		Dir:           subs["tasks"],
		FlightAddress: e.o.AdvertiseAddress,
		HostID:        e.o.HostID,
		Codec:         e.o.Formats.Codec(),
		Logger:        e.log,
	}
	e.server = flight.NewServer((*results)(e), (*files)(e))
	e.server.Authenticate(e.o.Sealer, e.o.AdvertiseAddress)
	return nil
}

// FlightAddress is the address that the executor advertises.
func (e *Executor) FlightAddress() string { return e.o.AdvertiseAddress }

// Dir is the executor's own directory on disk.
func (e *Executor) Dir() string { return e.dir.Path() }

// OpenConns is the number of open DuckDB connections: one for each running task. Tests look for leaks with it.
func (e *Executor) OpenConns() int { return e.engine.OpenConns() }

// Run serves until ctx ends, attaching to the scheduler again whenever the stream breaks. When ctx ends it drains:
// running tasks have Options.DrainGrace to end and are handed back then, shuffle files stay until their jobs end or
// Options.DrainTimeout has passed. Run returns nil after a drain or a Close, and an error when the executor cannot go on,
// as when the scheduler refuses it. It may be called once.
func (e *Executor) Run(ctx context.Context) error {
	e.mu.Lock()
	if e.running != nil {
		e.mu.Unlock()
		return errors.New("executor: run twice")
	}
	e.running = make(chan struct{})
	e.mu.Unlock()
	defer close(e.running)
	if e.life.Err() != nil {
		return errors.New("executor: closed")
	}
	served := make(chan error, 1)
	go func() { served <- e.server.Serve(e.listener) }()
	runCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case err := <-served:
			served <- err
			stop(err)
		case <-runCtx.Done():
		}
	}()
	err := e.stayAttached(runCtx)
	if cause := context.Cause(runCtx); err == nil && ctx.Err() == nil && e.life.Err() == nil {
		err = cause // the Flight service failed
	}
	e.kill()
	return errors.Join(err, e.cleanUp())
}

// Close stops the executor at once, without a drain, and removes all that it has on disk. It is safe to call it more than
// once, and after Run.
func (e *Executor) Close() error {
	e.kill()
	e.mu.Lock()
	running := e.running
	if running == nil {
		e.running = make(chan struct{}) // no Run from now on
		close(e.running)
	}
	e.mu.Unlock()
	if running != nil {
		<-running
	}
	return e.cleanUp()
}

// cleanUp frees everything; no task is running.
func (e *Executor) cleanUp() error {
	e.shutdown.Do(func() {
		var faults []error
		if e.server != nil {
			e.server.Stop()
		}
		if e.listener != nil {
			if err := e.listener.Close(); !errors.Is(err, net.ErrClosed) {
				faults = append(faults, err)
			}
		}
		if e.pool != nil {
			faults = append(faults, e.pool.Close())
		}
		if e.engine != nil {
			faults = append(faults, e.engine.Close())
		}
		if e.objects != nil {
			faults = append(faults, e.objects.Close())
		}
		if e.dir != nil {
			faults = append(faults, e.dir.Close())
		}
		e.closeErr = errors.Join(faults...)
	})
	return e.closeErr
}

// current is the attachment, nil when there is none.
func (e *Executor) current() *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session
}

func (e *Executor) setSession(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session = s
}

// defaultID names this process.
func defaultID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "executor"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// incarnation is the id of one attachment.
func (e *Executor) incarnation() string { return e.o.ID + "." + uuid.NewString()[:8] }
