package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cluster is a scheduler and its executors, each a process of its own.
type cluster struct {
	address   string
	processes []*exec.Cmd
}

func startCluster(ctx context.Context, binary, dataDir string, executors int) (*cluster, error) {
	c := &cluster{}
	ready, err := c.start(ctx, dataDir, "flight_sql=", binary, "scheduler", "--data-dir", dataDir,
		"--scheduler.flight_sql_port=0", "--scheduler.executor_port=0")
	if err != nil {
		return nil, err
	}
	c.address = value(ready, "flight_sql")
	for range executors {
		if _, err := c.start(ctx, dataDir, "attached", binary, "executor", "--scheduler", value(ready, "executors"),
			"--data-dir", dataDir, "--executor.flight_port=0"); err != nil {
			c.stop()
			return nil, err
		}
	}
	return c, nil
}

// start runs a process, its log in the data directory, and waits for a line with a word in it.
func (c *cluster) start(ctx context.Context, dataDir, word, binary string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start %s: %w", args[0], err)
	}
	c.processes = append(c.processes, cmd)
	log, err := os.Create(filepath.Join(dataDir, fmt.Sprintf("%s-%d.log", args[0], cmd.Process.Pid)))
	if err != nil {
		return "", err
	}
	found := make(chan string, 1)
	go func() {
		defer log.Close()
		lines := bufio.NewReader(io.TeeReader(out, log))
		for {
			line, err := lines.ReadString('\n')
			if strings.Contains(line, word) {
				select {
				case found <- strings.TrimSpace(line):
				default:
				}
			}
			if err != nil {
				close(found)
				return
			}
		}
	}()
	select {
	case line, ok := <-found:
		if !ok {
			text, _ := os.ReadFile(log.Name())
			return "", fmt.Errorf("%s did not start:\n%s", args[0], text)
		}
		return line, nil
	case <-time.After(time.Minute):
		return "", fmt.Errorf("%s did not start within a minute", args[0])
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// stop ends all processes, executors first, and waits for them.
func (c *cluster) stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		_ = c.processes[i].Process.Signal(syscall.SIGTERM)
		_ = c.processes[i].Wait()
	}
}

// value is the value of key in a line of key=value pairs.
func value(line, key string) string {
	_, rest, _ := strings.Cut(line, key+"=")
	text, _, _ := strings.Cut(rest, " ")
	return strings.TrimPrefix(strings.Trim(text, `"`), "grpc://")
}
