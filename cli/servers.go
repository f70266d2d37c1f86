package cli

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/server"
)

// settings are the flags of a server command: where its configuration comes from.
type settings struct {
	options       Options
	file, dataDir string
	set           func() map[string]string
}

func addSettings(cmd *cobra.Command, o Options, sections ...string) *settings {
	s := &settings{options: o}
	cmd.Flags().StringVar(&s.file, "config", "", "configuration file (TOML)")
	cmd.Flags().StringVar(&s.dataDir, "data-dir", "./serac-data", "directory of the embedded catalog and its warehouse")
	s.set = config.Flags(cmd.Flags(), append(sections, "log")...)
	return s
}

// load reads the configuration and starts the log.
func (s *settings) load() (*config.Config, server.Options, error) {
	cfg, err := config.Load(config.Source{File: s.file, Environ: os.Environ(), Set: s.set()})
	if err != nil {
		return nil, server.Options{}, fmt.Errorf("configuration:\n%w", err)
	}
	log := newLogger(cfg.Log)
	slog.SetDefault(log)
	return cfg, server.Options{DataDir: s.dataDir, Version: s.options.Version, Formats: s.options.Formats, Logger: log}, nil
}

func newLogger(c config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(strings.ToUpper(c.Level))); err != nil {
		level = slog.LevelInfo // Validate lets no other level through
	}
	return loggerAt(level, c)
}

// ready logs that a process serves now, whatever the level: scripts and supervisors wait for the line.
func ready(c config.Log, attributes ...any) {
	loggerAt(slog.LevelInfo, c).Info("ready", attributes...)
}

func loggerAt(level slog.Level, c config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

func serveCommand(o Options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Args: cobra.NoArgs,
		Short: "Run a scheduler and an executor in one process, with an embedded catalog",
		Long: "Runs everything in one process: tables live under the data directory (or in the configured catalog), and\n" +
			"Flight SQL clients such as `serac sql` connect to port 50051. SIGTERM or Ctrl-C lets running statements end.",
	}
	s := addSettings(cmd, o, "scheduler", "executor", "cluster", "catalog", "storage", "query")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, options, err := s.load()
		if err != nil {
			return err
		}
		both, err := server.NewBoth(cmd.Context(), cfg, options)
		if err != nil {
			return err
		}
		ready(cfg.Log, "flight_sql", "grpc://"+both.FlightSQLAddress())
		return both.Serve(cmd.Context())
	}
	return cmd
}

func schedulerCommand(o Options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "scheduler", Args: cobra.NoArgs,
		Short: "Run a scheduler, which clients and executors connect to",
	}
	s := addSettings(cmd, o, "scheduler", "cluster", "catalog", "storage", "query")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, options, err := s.load()
		if err != nil {
			return err
		}
		scheduler, err := server.NewScheduler(cmd.Context(), cfg, options)
		if err != nil {
			return err
		}
		ready(cfg.Log, "flight_sql", "grpc://"+scheduler.FlightSQLAddress(), "executors", scheduler.ExecutorAddress())
		return scheduler.Serve(cmd.Context())
	}
	return cmd
}

func executorCommand(o Options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "executor", Args: cobra.NoArgs,
		Short: "Run an executor, which registers with a scheduler and runs its tasks",
	}
	s := addSettings(cmd, o, "executor", "cluster", "storage", "query")
	var address string
	cmd.Flags().StringVar(&address, "scheduler", "", "the scheduler's host:port for executors (same as --executor.scheduler)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if address != "" {
			s.set()["executor.scheduler"] = address
		}
		cfg, options, err := s.load()
		if err != nil {
			return err
		}
		options.OnAttach = func() { ready(cfg.Log, "attached", cfg.Executor.Scheduler) }
		e, err := server.NewExecutor(cfg, options)
		if err != nil {
			return err
		}
		return e.Run(cmd.Context())
	}
	return cmd
}
