package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seracdb/serac/client"
)

func sqlCommand(o Options) *cobra.Command {
	var url, text, file, format string
	cmd := &cobra.Command{
		Use: "sql", Args: cobra.NoArgs,
		Short: "Run SQL on a server, from the command line, a file, or interactively",
		Long: "Connects to a server and runs SQL. With -c or -f, or when standard input is no terminal, it runs the given\n" +
			"statements one after the other, stops at the first that fails, and exits with status 1. Otherwise it is a\n" +
			"shell. Ctrl-C cancels the running statement on the server.",
		Example: "  serac sql\n  serac sql -c 'SELECT 42'\n  serac sql -f report.sql --format csv > report.csv",
	}
	cmd.Flags().StringVar(&url, "url", client.DefaultURL, "the server: grpc://[user[:password]@]host:port, or grpc+tls://")
	cmd.Flags().StringVarP(&text, "command", "c", "", "run these statements")
	cmd.Flags().StringVarP(&file, "file", "f", "", "run the statements of this file (-: standard input)")
	cmd.Flags().StringVar(&format, "format", string(client.Table), "how to print results: table, csv, tsv or json")
	cmd.MarkFlagsMutuallyExclusive("command", "file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := client.ParseFormat(format)
		if err != nil {
			return fmt.Errorf("--format: %w", err)
		}
		// Servers drain at these signals. Here, Ctrl-C cancels a statement while one runs, and otherwise both end the
		// process as they do any other.
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		ctx := context.WithoutCancel(cmd.Context())

		interactive := !cmd.Flags().Changed("command") && file == "" && term.IsTerminal(int(os.Stdin.Fd()))
		if !interactive && !cmd.Flags().Changed("command") {
			if text, err = readScript(file); err != nil {
				return err
			}
		}
		conn, err := client.Connect(ctx, url)
		if err != nil {
			return err
		}
		session := &client.Session{
			Conn: conn, Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Format: f,
			Color: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "", Progress: term.IsTerminal(int(os.Stderr.Fd())),
		}
		if interactive {
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "serac", o.Version, "- \\help for help")
			return errors.Join(session.RunShell(ctx), conn.Close())
		}
		err = session.RunScript(ctx, text)
		var script *client.ScriptError
		if errors.As(err, &script) && file == "" {
			err = script.Err // The line tells nothing about a text on the command line.
		}
		return errors.Join(err, conn.Close())
	}
	return cmd
}

func readScript(file string) (string, error) {
	if file == "" || file == "-" {
		text, err := io.ReadAll(os.Stdin)
		return string(text), err
	}
	text, err := os.ReadFile(file)
	return string(text), err
}
