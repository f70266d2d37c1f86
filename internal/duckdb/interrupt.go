package duckdb

import (
	"context"
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// DuckDB clears its interrupt flag when a statement starts, and a statement may be several inside. So a done context
// goes on interrupting until the call is back: often at first, then less so.
const (
	firstInterruptPause = time.Millisecond
	lastInterruptPause  = 50 * time.Millisecond
)

// interruptible runs call, and interrupts the connection for as long as call runs after ctx is done. It returns
// when call has returned and no further interrupt can come. A context that is done before the start skips the call.
func interruptible(ctx context.Context, conn bindings.Connection, call func()) error {
	if ctx.Err() != nil {
		return interrupted(context.Cause(ctx))
	}
	if ctx.Done() == nil {
		call()
		return nil
	}
	returned, quiet := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(quiet)
		for pause := firstInterruptPause; ; pause = min(2*pause, lastInterruptPause) {
			select {
			case <-returned:
				return
			default:
				bindings.Interrupt(conn)
			}
			select {
			case <-returned:
				return
			case <-time.After(pause):
			}
		}
	})
	call()
	close(returned)
	if !stop() {
		<-quiet // an interrupt after this would hit the connection's next statement
	}
	return nil
}
