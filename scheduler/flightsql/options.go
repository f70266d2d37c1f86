package flightsql

import (
	"log/slog"
	"time"
)

// Options configure a Server. The zero value of a field means its default.
type Options struct {
	// Version is the server's version as clients see it. Default "unknown".
	Version string
	// UnfetchedTTL is how long a statement that has ended is kept for a client to fetch it. Default 2 minutes.
	UnfetchedTTL time.Duration
	// UnclaimedTTL is how long a query goes on that no client fetches or polls: one that was cancelled when its FlightInfo
	// was on its way to the client, for example, which nobody hears of. Default 30 seconds, at most UnfetchedTTL.
	UnclaimedTTL time.Duration
	// DisconnectGrace is how long a statement goes on that nobody is fetching after the connection that started it has
	// ended, so that another connection may take it over. Default 1 second.
	DisconnectGrace time.Duration
	// SessionIdle is how long a session is kept for its cookie after its last connection has ended. Default 1 hour.
	SessionIdle time.Duration
	// PollWait is how long PollFlightInfo waits for news before it reports the same again. Default 250 ms.
	PollWait time.Duration
	// MaxMessageBytes bounds the record batches sent: larger ones are cut by rows. Default 2 MiB, below the 4 MiB that
	// gRPC clients accept by default.
	MaxMessageBytes int64
	// Logger gets one line a failed call. Default slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Version == "" {
		o.Version = "unknown"
	}
	if o.UnfetchedTTL == 0 {
		o.UnfetchedTTL = 2 * time.Minute
	}
	if o.UnclaimedTTL == 0 {
		o.UnclaimedTTL = min(30*time.Second, o.UnfetchedTTL)
	}
	if o.DisconnectGrace == 0 {
		o.DisconnectGrace = time.Second
	}
	if o.SessionIdle == 0 {
		o.SessionIdle = time.Hour
	}
	if o.PollWait == 0 {
		o.PollWait = 250 * time.Millisecond
	}
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = 2 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
