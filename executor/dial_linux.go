package executor

import (
	"context"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deadPeer is how long sent bytes may stay unacknowledged before a connection counts as broken. Without it a scheduler
// whose host is gone would be noticed after the kernel's quarter of an hour of retransmissions.
const deadPeer = 20 * time.Second

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if controlErr := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
		}); controlErr != nil {
			return controlErr
		}
		return err
	}}
	return d.DialContext(ctx, "tcp", address)
}
