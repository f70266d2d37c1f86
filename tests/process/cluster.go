package process

import (
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Cluster is a running system that clients can connect to.
type Cluster struct {
	// Address is host:port of the front door.
	Address string
	// Server is the serve or scheduler process.
	Server *Process
	// Executors are the executor processes; none with Serve.
	Executors []*Process

	tb      testing.TB
	dataDir string
	control string
	env     []string
}

// heartbeat keeps the loss of an executor from taking longer than tests should wait.
const heartbeat = "SERAC_EXECUTOR__HEARTBEAT_INTERVAL_SECS=1"

// SpillDir is where the executors of a cluster put their files.
func SpillDir(dataDir string) string { return filepath.Join(dataDir, "spill") }

func spill(dataDir string) string { return "SERAC_EXECUTOR__SPILL_DIR=" + SpillDir(dataDir) }

// Serve starts scheduler and executor in one process. env holds configuration as SERAC_SECTION__KEY=value.
func Serve(tb testing.TB, dataDir string, env ...string) *Cluster {
	tb.Helper()
	env = append([]string{"SERAC_SCHEDULER__FLIGHT_SQL_PORT=0", spill(dataDir), heartbeat}, env...)
	p := Start(tb, env, "serve", "--data-dir", dataDir)
	c := &Cluster{tb: tb, Server: p, dataDir: dataDir}
	c.Address = p.Await(`ready.*flight_sql=(?:grpc://)?([^ ]+)`)
	return c
}

// Distributed starts a scheduler and executors as processes of their own.
func Distributed(tb testing.TB, dataDir string, executors int, env ...string) *Cluster {
	tb.Helper()
	env = append([]string{
		"SERAC_SCHEDULER__FLIGHT_SQL_PORT=0", "SERAC_SCHEDULER__EXECUTOR_PORT=0", "SERAC_EXECUTOR__FLIGHT_PORT=0", spill(dataDir), heartbeat,
	}, env...)
	p := Start(tb, env, "scheduler", "--data-dir", dataDir)
	c := &Cluster{tb: tb, Server: p, dataDir: dataDir, env: env}
	line := p.Await(`(ready.*flight_sql=.*)`)
	if _, err := fmt.Sscanf(field(line, "flight_sql"), "%s", &c.Address); err != nil {
		tb.Fatalf("ready line %q: %v", line, err)
	}
	c.control = field(line, "executors")
	for range executors {
		c.AddExecutor()
	}
	return c
}

// AddExecutor starts one more executor process and waits until it is attached.
func (c *Cluster) AddExecutor(env ...string) *Process {
	c.tb.Helper()
	p := c.StartExecutor(env...)
	p.Await(`(ready.*attached)`)
	c.Executors = append(c.Executors, p)
	return p
}

// StartExecutor starts one more executor process, which may not get to attach.
func (c *Cluster) StartExecutor(env ...string) *Process {
	c.tb.Helper()
	return Start(c.tb, append(append([]string{}, c.env...), env...), "executor", "--scheduler", c.control, "--data-dir", c.dataDir)
}

// RestartScheduler ends the scheduler with a signal and starts it again at the same addresses. It waits until the
// executors are attached again.
func (c *Cluster) RestartScheduler(signal syscall.Signal) {
	c.tb.Helper()
	c.Server.Signal(signal)
	if _, err := c.Server.Wait(30 * time.Second); err != nil {
		c.tb.Fatal(err)
	}
	env := append([]string{}, c.env...)
	for key, address := range map[string]string{"FLIGHT_SQL": c.Address, "EXECUTOR": c.control} {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			c.tb.Fatal(err)
		}
		env = append(env, "SERAC_SCHEDULER__"+key+"_PORT="+port)
	}
	c.Server = Start(c.tb, env, "scheduler", "--data-dir", c.dataDir)
	c.Server.Await(`(ready.*flight_sql=.*)`)
	for _, e := range c.Executors {
		e.Await(`(ready.*attached)`)
	}
}

// Stop stops everything with SIGTERM and reports a process that does not go in time.
func (c *Cluster) Stop() {
	c.tb.Helper()
	for _, p := range append(c.Executors, c.Server) {
		if status, err := p.Stop(30 * time.Second); err != nil || status != 0 {
			c.tb.Errorf("stop serac %s: status %d, %v\n%s", p.name, status, err, p.Output())
		}
	}
}
