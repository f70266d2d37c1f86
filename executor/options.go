package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/internal/fileaccess"
	"github.com/seracdb/serac/wire"
)

// Options say how an executor runs. Zero values mean the defaults given with each field; New refuses what cannot work,
// naming every fault at once.
type Options struct {
	// ID names the executor to people; default: the host's name and the process id. The id it registers under is the ID
	// with a suffix that is new for each attachment.
	ID string
	// SchedulerAddress is host:port of the scheduler's gRPC service. Required.
	SchedulerAddress string
	// Dial opens connections to the scheduler and to other executors; nil: TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Sealer authenticates what the scheduler says, and what others fetch here; nil: nobody does.
	Sealer *wire.Sealer
	// ListenAddress is host:port of the Flight service; default 127.0.0.1:0. Ignored with a Listener.
	ListenAddress string
	// Listener, if not nil, is what the Flight service accepts from. The executor closes it.
	Listener net.Listener
	// AdvertiseAddress is host:port as others reach the Flight service; default: the listener's own address, which must
	// then name a host. A host of 0.0.0.0 or :: is refused.
	AdvertiseAddress string
	// Slots is how many tasks run at once; default: the number of CPUs. Further tasks wait their turn. A task whose result
	// streams takes none: it may wait for its reader for very long, and the scheduler counts it unless it does.
	Slots int
	// MemoryLimit is the budget in bytes for the executor's DuckDB; default 1 GiB. DuckDB is given two thirds of it as
	// its memory_limit, because its resident set goes beyond that limit by about half.
	MemoryLimit int64
	// SpillDir holds all that the executor puts on disk, in a directory of its own that dies with it. Required. Several
	// executors may share it. Its path must not contain glob characters.
	SpillDir string
	// DataDirs are local directories that hold tables: DuckDB may read and write there, and nowhere else outside the
	// executor's own directory.
	DataDirs []string
	// Files is what statements may read by functions that read files; the zero Policy is nothing.
	Files fileaccess.Policy
	// MaxSpillBytes bounds DuckDB's own temporary files; 0: DuckDB's default (90 % of the free disk).
	MaxSpillBytes int64
	// HeartbeatInterval is how often the scheduler hears from an idle executor; default 5 s, and never more than a third
	// of the lease that the scheduler grants.
	HeartbeatInterval time.Duration
	// Threads is DuckDB's number of threads; default: the number of CPUs.
	Threads int
	// HostID names the host: executors of one host read each other's shuffle files in place. Default: the host's name
	// and boot id.
	HostID string
	// Version is told to the scheduler.
	Version string
	// Formats are the table formats beside Iceberg; the scheduler must have the same. Nil: none.
	Formats *format.Set
	// FetchConcurrency bounds the files that one task fetches at once; default 8.
	FetchConcurrency int
	// DrainGrace is how long running tasks may go on once Run's context ends, before they are handed back; default 10 s.
	DrainGrace time.Duration
	// DrainTimeout is how long shuffle files are kept after that for jobs that have not ended; default 60 s.
	DrainTimeout time.Duration
	// OnAttach, if not nil, is called each time the scheduler has taken the executor in. It must return soon.
	OnAttach func()
	// Logger takes the executor's log; default slog.Default().
	Logger *slog.Logger
}

func (o *Options) setDefaults() {
	if o.ListenAddress == "" {
		o.ListenAddress = "127.0.0.1:0"
	}
	for i, dir := range o.DataDirs {
		if abs, err := filepath.Abs(dir); err == nil {
			o.DataDirs[i] = abs
		}
	}
	if o.Slots == 0 {
		o.Slots = runtime.GOMAXPROCS(0)
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = 1 << 30
	}
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = 5 * time.Second
	}
	if o.FetchConcurrency == 0 {
		o.FetchConcurrency = 8
	}
	if o.DrainGrace == 0 {
		o.DrainGrace = 10 * time.Second
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 60 * time.Second
	}
	if o.ID == "" {
		o.ID = defaultID()
	}
	if o.HostID == "" {
		o.HostID = hostID()
	}
	if o.Formats == nil {
		o.Formats = &format.Set{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

func (o *Options) validate() error {
	var faults []error
	if o.SchedulerAddress == "" {
		faults = append(faults, errors.New("the scheduler's address is missing"))
	}
	if o.SpillDir == "" {
		faults = append(faults, errors.New("the spill directory is missing"))
	}
	if strings.ContainsAny(o.SpillDir, `*?[]{}\`) {
		faults = append(faults, fmt.Errorf("spill directory %q: glob characters are not allowed in its path", o.SpillDir))
	}
	if o.AdvertiseAddress != "" {
		if err := checkAdvertised(o.AdvertiseAddress); err != nil {
			faults = append(faults, err)
		}
	}
	for _, n := range []struct {
		what  string
		value int64
	}{
		{"slots", int64(o.Slots)}, {"threads", int64(o.Threads)}, {"memory limit", o.MemoryLimit},
		{"heartbeat interval", int64(o.HeartbeatInterval)}, {"fetch concurrency", int64(o.FetchConcurrency)},
		{"drain grace", int64(o.DrainGrace)}, {"drain timeout", int64(o.DrainTimeout)},
	} {
		if n.value < 0 {
			faults = append(faults, fmt.Errorf("%s must not be negative", n.what))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("executor options: %w", errors.Join(faults...))
	}
	return nil
}

// checkAdvertised refuses an address that others cannot dial.
func checkAdvertised(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("advertised address %q: %w", address, err)
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		return fmt.Errorf("advertised address %q names no host that others can reach", address)
	}
	if port == "" || port == "0" {
		return fmt.Errorf("advertised address %q names no port", address)
	}
	return nil
}
