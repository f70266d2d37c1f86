// Package cli is the commands of the serac binary: servers, the SQL client, and what tells about them. It is a package of
// its own so that a binary with further table formats built in is a main of a few lines; examples/customformat has one.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seracdb/serac/format"
)

// Options are what a binary is built with.
type Options struct {
	// Version is what the binary calls itself.
	Version string
	// Formats are the table formats beside Iceberg. Scheduler and executors must have the same.
	Formats []format.Format
}

// Main runs the command that the process's arguments name, and ends the process.
func Main(o Options) {
	os.Exit(run(o))
}

func run(o Options) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := root(o).ExecuteContext(ctx); err != nil {
		if !errors.Is(err, errReported) {
			fmt.Fprintln(os.Stderr, "serac:", err)
		}
		return 1
	}
	return 0
}

// errReported ends the process with status 1 when the command has said itself what went wrong.
var errReported = errors.New("failed")

func root(o Options) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "serac",
		Short:         "A distributed SQL engine for Apache Iceberg",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       o.Version,
	}
	cmd.AddCommand(serveCommand(o), schedulerCommand(o), executorCommand(o), sqlCommand(o), configCommand(o), versionCommand(o))
	return cmd
}

func versionCommand(o Options) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "serac", o.Version) },
	}
}
