package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler"
	"github.com/seracdb/serac/scheduler/bind"
	"github.com/seracdb/serac/scheduler/cluster"
	"github.com/seracdb/serac/scheduler/flightsql"
	"github.com/seracdb/serac/scheduler/journal"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/wire"
)

// Options are what a process gets beside its configuration.
type Options struct {
	// DataDir is where the embedded catalog and its warehouse are, unless the configuration says otherwise.
	DataDir string
	Version string
	Logger  *slog.Logger
	// Formats are the table formats beside Iceberg. Scheduler and executors must have the same.
	Formats []format.Format
	// OnAttach, if not nil, is called each time an executor has attached to its scheduler.
	OnAttach func()
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.Default()
	}
	return o.Logger
}

// missedHeartbeats is how many heartbeats an executor may miss before it counts as lost.
const missedHeartbeats = 4

// Scheduler is a scheduler process: the front door, the engine and the executors' service.
type Scheduler struct {
	catalog *catalog.Catalog
	formats []scheduler.FormatCatalog
	binder  *bind.Binder
	cluster *cluster.Cluster
	engine  *scheduler.Scheduler
	journal *journal.Journal
	front   *flightsql.Server

	clients, executors net.Listener
	control            *grpc.Server

	// drainTimeout is how long statements may go on once the process has been told to stop.
	drainTimeout time.Duration

	// cutOff are the writes of schedulers that were killed, and patience is how long their executors may still be at them.
	cutOff     []journal.Entry
	patience   time.Duration
	recovering sync.WaitGroup
	stop       context.CancelFunc // of the recovery; nil before Serve
}

// link is how scheduler and executor of one process reach each other; nil for the network.
type link struct {
	listener net.Listener
	dial     func(ctx context.Context, address string) (net.Conn, error)
}

// NewScheduler opens the catalog and listens. The caller must Serve or Close it.
func NewScheduler(ctx context.Context, cfg *config.Config, o Options) (*Scheduler, error) {
	return newScheduler(ctx, cfg, o, nil)
}

func newScheduler(ctx context.Context, cfg *config.Config, o Options, inProcess *link) (_ *Scheduler, err error) {
	s := &Scheduler{drainTimeout: time.Duration(cfg.Scheduler.DrainTimeoutSecs) * time.Second}
	defer func() {
		if err != nil {
			_ = s.Close() // err says why
		}
	}()
	if s.clients, err = listen("scheduler.flight_sql_port", cfg.Scheduler.FlightSQLHost, cfg.Scheduler.FlightSQLPort); err != nil {
		return nil, err
	}
	sealer, err := newSealer(cfg.Cluster)
	if err != nil {
		return nil, err
	}
	formats, err := format.NewSet(o.Formats...)
	if err != nil {
		return nil, err
	}
	clusterOptions := cluster.Options{
		Sealer:  sealer,
		Version: o.Version, Extensions: formats.Registry().Names(), Logger: o.Logger,
		Lease: missedHeartbeats * time.Duration(cfg.Executor.HeartbeatIntervalSecs) * time.Second,
	}
	if inProcess != nil {
		s.executors, clusterOptions.Dial = inProcess.listener, inProcess.dial
	} else if s.executors, err = listen("scheduler.executor_port", cfg.Scheduler.ExecutorHost, cfg.Scheduler.ExecutorPort); err != nil {
		return nil, err
	}
	if inProcess == nil {
		warnOpen(o.logger(), sealer, "scheduler.executor_host", cfg.Scheduler.ExecutorHost)
	}
	if s.catalog, err = OpenCatalog(ctx, cfg, o.DataDir); err != nil {
		return nil, err
	}
	if s.formats, err = openFormats(ctx, formats, cfg.Catalogs); err != nil {
		return nil, err
	}
	if err := s.openJournal(cfg, o); err != nil {
		return nil, err
	}
	if inProcess == nil {
		s.patience = clusterOptions.Lease
	}
	s.binder = bind.New(2 * runtime.GOMAXPROCS(0))
	if s.binder.Files, err = cfg.Query.Files(); err != nil {
		return nil, err
	}
	s.cluster = cluster.New(clusterOptions)
	s.engine = scheduler.New(scheduler.Options{
		Catalog: s.catalog, Formats: formats, FormatCatalogs: s.formats, Cluster: s.cluster, Binder: s.binder, Journal: s.journal, Logger: o.Logger,
		MaxRunning: cfg.Scheduler.MaxRunningStatements, MaxQueued: cfg.Scheduler.MaxQueuedStatements,
		CanShuffle: func(t plan.Type) bool { _, ok := shuffle.Carrier(t); return ok },
		Query: scheduler.QueryOptions{
			Timeout:               time.Duration(cfg.Query.TimeoutSecs) * time.Second,
			DistributionThreshold: int64(cfg.Query.DistributionThreshold),
			TargetTaskSize:        int64(cfg.Query.TargetTaskSize),
			BroadcastThreshold:    int64(cfg.Query.BroadcastThreshold),
			ShufflePartitions:     cfg.Query.ShufflePartitions,
			MaxPartitionsPerTask:  cfg.Query.MaxPartitionsPerTask,
			KeyRanges:             cfg.Query.KeyRanges,
			MaxResultRows:         cfg.Query.MaxResultRows,
			Adaptive: planner.Adaptive{
				Coalesce: cfg.Query.AdaptiveCoalesce, Broadcast: cfg.Query.AdaptiveBroadcast, Empty: cfg.Query.AdaptiveEmpty,
				Skew: cfg.Query.AdaptiveSkew, Filters: cfg.Query.JoinFilters,
			},
		},
	})
	s.front = flightsql.New(s.engine, flightsql.Options{Version: o.Version, Logger: o.Logger})
	s.control = grpc.NewServer(grpc.MaxRecvMsgSize(maxControlMessage))
	s.cluster.Register(s.control)
	return s, nil
}

// openJournal opens the journal of writes in the data directory.
func (s *Scheduler) openJournal(cfg *config.Config, o Options) (err error) {
	s.journal, s.cutOff, err = journal.Open(filepath.Join(o.DataDir, "writes"))
	if err != nil && cfg.Catalog.Type != catalog.TypeSQLite {
		// A scheduler of another catalog may have no disk to write to.
		o.logger().Warn("writes that are cut off will leave files behind", "error", err)
		return nil
	}
	return err
}

// maxControlMessage bounds what an executor may send in one message; senders split well below it.
const maxControlMessage = 4 << 20

// FlightSQLAddress is where clients connect.
func (s *Scheduler) FlightSQLAddress() string { return s.clients.Addr().String() }

// ExecutorAddress is where executors connect.
func (s *Scheduler) ExecutorAddress() string { return s.executors.Addr().String() }

// Executors is the number of attached executors.
func (s *Scheduler) Executors() int { return len(s.cluster.Executors()) }

// Serve serves until ctx ends, then drains: running statements may end, new ones are refused.
func (s *Scheduler) Serve(ctx context.Context) error {
	return errors.Join(s.serve(ctx), s.Close())
}

// serve is Serve without closing what the statements have needed, executors among it.
func (s *Scheduler) serve(ctx context.Context) error {
	var recovery context.Context
	recovery, s.stop = context.WithCancel(ctx)
	s.recovering.Go(func() {
		if len(s.cutOff) == 0 {
			return
		}
		select {
		case <-time.After(s.patience):
			s.engine.Recover(recovery, s.cutOff)
		case <-recovery.Done():
		}
	})
	failed := make(chan error, 2)
	go func() { failed <- s.front.Serve(s.clients) }()
	go func() { failed <- s.control.Serve(s.executors) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drainTimeout)
	defer cancel()
	s.front.Shutdown(drain)
	return nil
}

// Close stops everything at once. It may be called more than once.
func (s *Scheduler) Close() error {
	var errs []error
	if s.front != nil {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		s.front.Shutdown(done)
	}
	if s.cluster != nil {
		s.cluster.Close()
	}
	if s.engine != nil {
		s.engine.Close()
	}
	if s.control != nil {
		s.control.Stop()
	}
	for _, l := range []net.Listener{s.clients, s.executors} {
		if l != nil {
			if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if s.stop != nil {
		s.stop()
	}
	s.recovering.Wait()
	errs = append(errs, s.journal.Close())
	s.journal = nil
	if s.binder != nil {
		errs = append(errs, s.binder.Close())
		s.binder = nil
	}
	if s.catalog != nil {
		errs = append(errs, s.catalog.Close())
		s.catalog = nil
	}
	for _, c := range s.formats {
		errs = append(errs, c.Close())
	}
	s.formats = nil
	return errors.Join(errs...)
}

// listen opens a port and names the setting when it is taken.
func listen(setting, host string, port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for %s: %w", setting, err)
	}
	return l, nil
}

// OpenCatalog opens the configured catalog; the embedded one lives under dataDir.
func OpenCatalog(ctx context.Context, cfg *config.Config, dataDir string) (*catalog.Catalog, error) {
	c := catalog.Config{
		Name: cfg.Catalog.Name, Type: cfg.Catalog.Type, URI: cfg.Catalog.URI, Warehouse: cfg.Catalog.Warehouse,
		FileIO: fileIO(cfg.Storage), Properties: catalogProperties(cfg.Catalog), InlineMetadata: int(cfg.Scheduler.InlineMetadataLimit),
		ManifestCache: int64(cfg.Scheduler.ManifestCacheLimit),
	}
	if c.ManifestCache == 0 {
		c.ManifestCache = -1 // nothing is kept
	}
	if c.InlineMetadata == 0 {
		c.InlineMetadata = -1 // never
	}
	if c.Type == catalog.TypeSQLite {
		if c.URI == "" {
			c.URI = filepath.Join(dataDir, "catalog.db")
		}
		if c.Warehouse == "" {
			c.Warehouse = filepath.Join(dataDir, "warehouse")
		}
	}
	opened, err := catalog.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Type == catalog.TypeSQLite {
		if err := opened.CreateNamespace(ctx, scheduler.DefaultSchema, true); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
	}
	return opened, nil
}

// catalogProperties are a REST catalog's further properties in iceberg-go's keys.
func catalogProperties(c config.Catalog) map[string]wire.Secret {
	properties := map[string]wire.Secret{}
	for name, value := range map[string]string{
		"credential": c.Credential.Reveal(), "token": c.Token.Reveal(), "scope": c.Scope, "oauth2-server-uri": c.OAuth2ServerURI,
	} {
		if value != "" {
			properties[name] = wire.NewSecret(value)
		}
	}
	return properties
}

// fileIO is the storage configuration in iceberg-go's keys.
func fileIO(s config.Storage) wire.FileIO {
	keys := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			keys[key] = value
		}
	}
	set("s3.endpoint", s.S3Endpoint)
	set("s3.region", s.S3Region)
	set("s3.access-key-id", s.S3AccessKey.Reveal())
	set("s3.secret-access-key", s.S3SecretKey.Reveal())
	if s.S3Endpoint != "" && !s.S3PathStyle {
		set("s3.force-virtual-addressing", "true")
	}
	return wire.NewFileIO(keys)
}
