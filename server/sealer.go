package server

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/wire"
)

// newSealer is what authenticates the cluster's messages; nil without a secret.
func newSealer(c config.Cluster) (*wire.Sealer, error) {
	secret := c.Secret.Reveal()
	if c.SecretFile != "" {
		b, err := os.ReadFile(c.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("cluster.secret_file: %w", err)
		}
		if secret = strings.TrimSpace(string(b)); secret == "" {
			return nil, fmt.Errorf("cluster.secret_file: %s is empty", c.SecretFile)
		}
	}
	return wire.NewSealer(wire.NewSecret(secret)), nil
}

// warnOpen says that others than this host's processes reach an address at which nobody is authenticated.
func warnOpen(log *slog.Logger, sealer *wire.Sealer, setting, host string) {
	if sealer != nil || isLoopback(host) {
		return
	}
	log.Warn("there is no cluster secret (cluster.secret): whoever reaches this address can take part in the cluster", "setting", setting, "host", host)
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
