package cli

import "github.com/spf13/cobra"

func configCommand(o Options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Args: cobra.NoArgs,
		Short: "Print the configuration in force, without secrets",
		Long: "Reads the configuration as the servers do (file, environment, flags), and prints it as TOML, or every fault there\n" +
			"is in it.",
	}
	s := addSettings(cmd, o, "scheduler", "executor", "catalog", "storage", "query")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := s.load()
		if err != nil {
			return err
		}
		return cfg.Write(cmd.OutOrStdout())
	}
	return cmd
}
