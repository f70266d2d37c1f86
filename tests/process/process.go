package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// binary builds serac once per test run.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("SERAC_TEST_BINARY"); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "serac-test-bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "serac")
	build := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", path, "github.com/seracdb/serac/cmd/serac")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build serac: %w\n%s", err, out)
	}
	return path, nil
})

// RemoveBinary deletes what Binary built; call it at the end of TestMain.
func RemoveBinary() {
	if os.Getenv("SERAC_TEST_BINARY") != "" {
		return
	}
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
}

// Binary is the path of a freshly built serac.
func Binary(tb testing.TB) string {
	tb.Helper()
	path, err := binary()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Process is a running serac.
type Process struct {
	tb   testing.TB
	name string
	cmd  *exec.Cmd
	done chan struct{}

	mu     sync.Mutex
	output bytes.Buffer
	lines  chan string
}

// readyTimeout is how long a process may take until it is ready; the machine may be busy.
const readyTimeout = 60 * time.Second

// Start runs serac with arguments. env adds to the environment as KEY=value. The process is killed when the test ends.
func Start(tb testing.TB, env []string, args ...string) *Process {
	tb.Helper()
	p := &Process{tb: tb, name: args[0], done: make(chan struct{}), lines: make(chan string, 1000)}
	p.cmd = exec.Command(Binary(tb), args...)
	p.cmd.Env = append(os.Environ(), env...)
	r, w := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		tb.Fatalf("start serac %s: %v", strings.Join(args, " "), err)
	}
	go func() {
		scanner := bufio.NewScanner(r)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			p.mu.Lock()
			p.output.WriteString(scanner.Text() + "\n")
			p.mu.Unlock()
			select {
			case p.lines <- scanner.Text():
			default:
			}
		}
	}()
	go func() {
		_ = p.cmd.Wait()
		_ = w.Close()
		close(p.done)
	}()
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Logf("output of serac %s:\n%s", p.name, p.Output())
		}
	})
	return p
}

// Output is what the process has printed so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Await waits for a line that matches and gives its first group.
func (p *Process) Await(pattern string) string {
	p.tb.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(readyTimeout)
	for {
		select {
		case line := <-p.lines:
			if m := re.FindStringSubmatch(line); m != nil {
				return m[len(m)-1]
			}
		case <-p.done:
			p.tb.Fatalf("serac %s ended before it printed %q:\n%s", p.name, pattern, p.Output())
		case <-timeout:
			p.tb.Fatalf("serac %s did not print %q in %s:\n%s", p.name, pattern, readyTimeout, p.Output())
		}
	}
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// PeakMemory is the largest resident memory that the process has had since it was last asked, in bytes. Where the system
// does not tell, the test is skipped.
func (p *Process) PeakMemory(tb testing.TB) int64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		tb.Skip("no /proc: ", err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		tb.Fatalf("memory of process %d: %v", p.PID(), err)
	}
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID()), []byte("5"), 0) // where it may not, the peak is that of all
	return kib << 10
}

// Kill ends the process with SIGKILL and waits for it.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Signal sends a signal.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Stop sends SIGTERM and gives the exit status, or an error when the process does not end in time.
func (p *Process) Stop(timeout time.Duration) (int, error) {
	p.Signal(syscall.SIGTERM)
	return p.Wait(timeout)
}

// Wait waits for the process to end and gives its exit status.
func (p *Process) Wait(timeout time.Duration) (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(timeout):
		return 0, fmt.Errorf("serac %s still runs after %s:\n%s", p.name, timeout, p.Output())
	}
}

// Run runs serac to its end and gives its standard output and standard error.
func Run(tb testing.TB, args ...string) (stdout, stderr string, status int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(tb), args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		status = exit.ExitCode()
	default:
		tb.Fatalf("run serac %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errOut.String(), status
}
