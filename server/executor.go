package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/executor"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/iceberg/catalog"
)

// NewExecutor makes an executor that dials the configured scheduler.
func NewExecutor(cfg *config.Config, o Options) (*executor.Executor, error) {
	e, err := executorOptions(cfg, o)
	if err != nil {
		return nil, err
	}
	e.SchedulerAddress = cfg.Executor.Scheduler
	if e.Sealer, err = newSealer(cfg.Cluster); err != nil {
		return nil, err
	}
	warnOpen(o.logger(), e.Sealer, "executor.flight_host", cfg.Executor.FlightHost)
	if e.Listener, err = listen("executor.flight_port", cfg.Executor.FlightHost, cfg.Executor.FlightPort); err != nil {
		return nil, err
	}
	var x *executor.Executor
	if e.AdvertiseAddress, err = cfg.Executor.Advertise(e.Listener.Addr().String()); err == nil {
		x, err = executor.New(e)
	}
	if err != nil {
		_ = e.Listener.Close() // err says why
		return nil, err
	}
	return x, nil
}

func executorOptions(cfg *config.Config, o Options) (executor.Options, error) {
	formats, err := format.NewSet(o.Formats...)
	if err != nil {
		return executor.Options{}, err
	}
	e := executor.Options{
		Formats:           formats,
		HostID:            cfg.Executor.HostID,
		Slots:             cfg.Executor.Slots,
		Threads:           cfg.Executor.Slots,
		MemoryLimit:       int64(cfg.Executor.MemoryLimit),
		SpillDir:          cfg.Executor.SpillDir,
		HeartbeatInterval: time.Duration(cfg.Executor.HeartbeatIntervalSecs) * time.Second,
		Version:           o.Version,
		Logger:            o.Logger,
		OnAttach:          o.OnAttach,
	}
	if e.Files, err = cfg.Query.Files(); err != nil {
		return e, err
	}
	if e.SpillDir == "" {
		e.SpillDir = filepath.Join(os.TempDir(), "serac-spill")
	}
	if e.MemoryLimit == 0 {
		e.MemoryLimit = machineMemory() / 2
	}
	if dir, ok := localWarehouse(cfg, o); ok {
		e.DataDirs = []string{dir}
	}
	return e, nil
}

// localWarehouse is the directory of a warehouse on local disk.
func localWarehouse(cfg *config.Config, o Options) (string, bool) {
	w := cfg.Catalog.Warehouse
	switch {
	case w == "" && o.DataDir != "":
		w = filepath.Join(o.DataDir, "warehouse")
	case w == "":
		return "", false
	case strings.HasPrefix(w, "file://"):
		w = strings.TrimPrefix(w, "file://")
	case strings.Contains(w, "://"):
		return "", false
	case cfg.Catalog.Type == catalog.TypeREST && !filepath.IsAbs(w):
		return "", false // the server's name of it
	}
	abs, err := filepath.Abs(w)
	return abs, err == nil
}

// Both is a scheduler and an executor in one process. They speak the same protocols as apart, over memory.
type Both struct {
	*Scheduler
	executor *executor.Executor
}

// pipeBuffer is the size of the in-memory connections between the two halves, in bytes.
const pipeBuffer = 1 << 20

// Addresses of the in-memory connections; they name no network.
const (
	schedulerPipe = "scheduler.internal:1"
	executorPipe  = "executor.internal:1"
)

// NewBoth makes the process behind `serac serve`.
func NewBoth(ctx context.Context, cfg *config.Config, o Options) (*Both, error) {
	control, results := bufconn.Listen(pipeBuffer), bufconn.Listen(pipeBuffer)
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		switch address {
		case schedulerPipe:
			return control.DialContext(ctx)
		case executorPipe:
			return results.DialContext(ctx)
		}
		return nil, fmt.Errorf("dial %s: this process has no executors but its own", address)
	}
	e, err := executorOptions(cfg, o)
	if err != nil {
		return nil, err
	}
	s, err := newScheduler(ctx, cfg, o, &link{listener: control, dial: dial})
	if err != nil {
		return nil, err
	}
	if e.Sealer, err = newSealer(cfg.Cluster); err != nil {
		_ = s.Close() // err says why
		return nil, err
	}
	if cfg.Executor.SpillDir == "" {
		e.SpillDir = filepath.Join(o.DataDir, "spill")
	}
	e.SchedulerAddress, e.Dial = schedulerPipe, dial
	e.Listener, e.AdvertiseAddress = results, executorPipe
	x, err := executor.New(e)
	if err != nil {
		_ = s.Close() // err says why
		return nil, err
	}
	return &Both{Scheduler: s, executor: x}, nil
}

// Serve serves until ctx ends, then drains the statements first and the executor after them.
func (b *Both) Serve(ctx context.Context) error {
	executorCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	ran := make(chan error, 1)
	go func() {
		ran <- b.executor.Run(executorCtx)
		fail() // nothing could run any more
	}()
	err := b.Scheduler.serve(ctx)
	stop()
	runErr := <-ran // it has nothing left to drain
	return errors.Join(err, runErr, b.Close())
}

// OpenConns is the number of DuckDB connections open for tasks; tests look for leaks with it.
func (b *Both) OpenConns() int { return b.executor.OpenConns() }

// Close stops both at once.
func (b *Both) Close() error {
	return errors.Join(b.executor.Close(), b.Scheduler.Close())
}

// machineMemory is the memory in bytes that this process may use: the container's limit or the machine's.
func machineMemory() int64 {
	limit := int64(1<<63 - 1)
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(path); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				limit = min(limit, n)
			}
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
				if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
					limit = min(limit, kib<<10)
				}
			}
		}
	}
	if limit == 1<<63-1 {
		// Neither is known (not Linux): a modest guess per processor.
		return int64(runtime.NumCPU()) << 30
	}
	return limit
}
