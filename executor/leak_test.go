package executor

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leakCheck fails the test when it leaves goroutines of Serac or gRPC, or open files, behind. Call it first: it looks
// after all other clean-ups.
func leakCheck(t *testing.T) {
	files := openFiles(t)
	t.Cleanup(func() {
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if goroutines() == "" && openFiles(t) <= files {
				return
			}
		}
		require.Empty(t, goroutines(), "goroutines are left")
		require.LessOrEqual(t, openFiles(t), files, "files are left open")
	})
}

// goroutines lists those that run Serac's or gRPC's code, but for the test's own.
func goroutines() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(g, "executor.leakCheck") || strings.Contains(g, "testing.tRunner") {
			continue
		}
		if strings.Contains(g, "github.com/seracdb/serac") || strings.Contains(g, "google.golang.org/grpc") {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(entries)
}
