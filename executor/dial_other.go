//go:build !linux

package executor

import (
	"context"
	"net"
)

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}
