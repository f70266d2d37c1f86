package customformat_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestREADME runs the page: every sh block, in order, and each text block is the output of the sh block before it.
func TestREADME(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	dir := t.TempDir()
	text := strings.NewReplacer("csv-demo/", dir+"/", "50061", freePort(t), "50060", freePort(t)).Replace(string(page))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var last string
	ran, compared := 0, 0
	for _, block := range regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		kind, body := block[1], block[2]
		if kind == "text" {
			require.Equal(t, body, last)
			compared++
			continue
		}
		ran++
		cmd := exec.CommandContext(ctx, "bash", "-e", "-c", body)
		cmd.Dir = filepath.Join("..", "..")
		var out, log bytes.Buffer
		cmd.Stdout = &out
		if regexp.MustCompile(`/serac (scheduler|executor) `).MatchString(body) {
			serve(t, cmd, body)
			continue
		}
		cmd.Stderr = &log
		require.NoError(t, cmd.Run(), "%s\n%s", body, &log)
		last = out.String()
		if strings.Contains(body, "EXPLAIN") {
			require.Contains(t, last, "2 tasks from 2 units")
		}
	}
	require.Equal(t, 10, ran)
	require.Equal(t, 2, compared)
}

// serve starts a process of the page and waits until it is ready. It ends with the test.
func serve(t *testing.T, cmd *exec.Cmd, body string) {
	t.Helper()
	cmd.Args[len(cmd.Args)-1] = "exec " + body
	log, err := os.CreateTemp(t.TempDir(), "log")
	require.NoError(t, err)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = log.Close()
	})
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(log.Name())
		return err == nil && strings.Contains(string(text), "msg=ready")
	}, time.Minute, 50*time.Millisecond, body)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}
