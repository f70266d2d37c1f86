package cluster

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/seracdb/serac/wire"
)

// Options configure a Cluster. The zero value of a field means its default.
type Options struct {
	// Version is the build's version; an executor of another version is refused. Empty: not compared.
	Version string
	// Extensions are the full names of the extension messages that plans may hold; an executor must know the same.
	Extensions []string
	// Sealer authenticates executors and their messages; nil: nobody does.
	Sealer *wire.Sealer
	// Lease is how long an executor may stay silent before it counts as lost: three or four heartbeats. Default 20 s.
	Lease time.Duration
	// NoExecutorTimeout is how long a job waits when no executor takes tasks. Default 30 s.
	NoExecutorTimeout time.Duration
	// HoldBackBytes and HoldBackTime bound how much, and how long, of a result task's rows are kept before the first of
	// them goes to the client. Until then a lost executor costs a silent re-run. Defaults 4 MiB, 1 s.
	HoldBackBytes int64
	HoldBackTime  time.Duration
	// StatusGrace is how long a result task whose rows have all arrived waits for the executor's FINISHED status, which brings
	// its metrics. Default 50 ms.
	StatusGrace time.Duration
	// Dial connects to an executor's Flight service. Default: TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Logger gets what the cluster has to say; nil: slog.Default().
	Logger *slog.Logger
	// Listener hears of every Event, after the log. It is called in order, under the cluster's lock: it must be quick and
	// must not call the cluster.
	Listener func(Event)
}

func (o Options) withDefaults() Options {
	if o.Lease == 0 {
		o.Lease = 20 * time.Second
	}
	if o.NoExecutorTimeout == 0 {
		o.NoExecutorTimeout = 30 * time.Second
	}
	if o.HoldBackBytes == 0 {
		o.HoldBackBytes = 4 << 20
	}
	if o.HoldBackTime == 0 {
		o.HoldBackTime = time.Second
	}
	if o.StatusGrace == 0 {
		o.StatusGrace = 50 * time.Millisecond
	}
	if o.Dial == nil {
		var d net.Dialer
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
