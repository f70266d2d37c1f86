// Command serac is the whole of Serac in one binary: a server on one machine, a scheduler and executors on many, and a
// SQL client.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := root().ExecuteContext(ctx); err != nil {
		if !errors.Is(err, errReported) {
			fmt.Fprintln(os.Stderr, "serac:", err)
		}
		os.Exit(1)
	}
}

// errReported ends the process with status 1 when the command has said itself what went wrong.
var errReported = errors.New("failed")

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "serac",
		Short:         "A distributed SQL engine for Apache Iceberg",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	cmd.AddCommand(serveCommand(), schedulerCommand(), executorCommand(), sqlCommand(), configCommand(), versionCommand())
	return cmd
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "serac", version) },
	}
}
