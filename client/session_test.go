package client_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/client"
	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/server"
)

// serve runs Serac in this process, on a free port, and returns its URL.
func serve(t *testing.T) string {
	t.Helper()
	cfg := config.Default()
	cfg.Scheduler.FlightSQLPort = 0
	both, err := server.NewBoth(context.Background(), cfg, server.Options{
		DataDir: t.TempDir(), Version: "test", Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- both.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return "grpc://" + both.FlightSQLAddress()
}

func session(t *testing.T, url string, f client.Format) (*client.Session, *strings.Builder) {
	t.Helper()
	conn, err := client.Connect(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	out := &strings.Builder{}
	return &client.Session{Conn: conn, Out: out, Err: os.Stderr, Format: f}, out
}

func TestStatements(t *testing.T) {
	url := serve(t)
	ctx := context.Background()
	s, out := session(t, url, client.CSV)
	require.NoError(t, s.RunScript(ctx, `
		-- two statements; and a comment
		CREATE TABLE t (k BIGINT NOT NULL, v VARCHAR);
		INSERT INTO t VALUES (1, 'one; two'), (2, NULL);
		SELECT * FROM t ORDER BY k;`))
	require.Equal(t, "k,v\n1,one; two\n2,\n", out.String())

	err := s.RunScript(ctx, "SELECT 1;\n\nSELECT\n  nonsense;\nSELECT 2")
	var script *client.ScriptError
	require.ErrorAs(t, err, &script)
	require.Equal(t, 3, script.Line)
	require.ErrorContains(t, err, "nonsense")
	require.NotContains(t, err.Error(), "rpc error")
	require.NotContains(t, out.String(), "2\n2\n", "nothing runs after an error")
	require.ErrorContains(t, s.RunScript(ctx, "SELECT 'open"), "has no end")

	out.Reset()
	s.Format = client.Table
	require.NoError(t, s.RunScript(ctx, "INSERT INTO t SELECT 3, 'x' WHERE false; INSERT INTO t VALUES (3, 'x'); CREATE SCHEMA s; SELECT count(*) AS n FROM t"))
	lines := strings.Split(out.String(), "\n")
	require.Regexp(t, `^0 rows changed \(\d+\.\d{3} s\)$`, lines[0])
	require.Regexp(t, `^1 row changed \(`, lines[1])
	require.Regexp(t, `^OK \(`, lines[2])
	require.Equal(t, []string{" n", "---", " 3"}, lines[3:6])
	require.Regexp(t, `^\(1 row, \d+\.\d{3} s\)$`, lines[6])

	// The session is the connection's: USE holds here, and nowhere else.
	out.Reset()
	s.Format = client.TSV
	require.NoError(t, s.RunScript(ctx, "USE s; CREATE TABLE here (x INT); SHOW TABLES"))
	require.Contains(t, out.String(), "here\n")
	other, otherOut := session(t, url, client.TSV)
	require.NoError(t, other.Run(ctx, "SHOW TABLES"))
	require.NotContains(t, otherOut.String(), "here")
}

func TestLargeResult(t *testing.T) {
	s, out := session(t, serve(t), client.TSV)
	require.NoError(t, s.Run(context.Background(), "SELECT i FROM range(300000) r(i) ORDER BY i"))
	require.Equal(t, 300001, strings.Count(out.String(), "\n"))
	require.True(t, strings.HasSuffix(out.String(), "\n299998\n299999\n"))
}

func TestInterruptCancelsOnTheServer(t *testing.T) {
	s, out := session(t, serve(t), client.TSV)
	interrupts := make(chan os.Signal, 1)
	s.Interrupts = interrupts
	for name, text := range map[string]string{
		"before the first row":  "SELECT count(*) FROM range(1000000000000) r(i) WHERE i % 7 = 3",
		"while the rows arrive": "SELECT i FROM range(1000000000000) r(i)",
	} {
		t.Run(name, func(t *testing.T) {
			out.Reset()
			done := make(chan error, 1)
			go func() { done <- s.Run(context.Background(), text) }()
			time.Sleep(300 * time.Millisecond)
			interrupts <- os.Interrupt
			select {
			case err := <-done:
				require.EqualError(t, err, "cancelled")
			case <-time.After(5 * time.Second):
				t.Fatal("it goes on")
			}
			// The slots are free again.
			out.Reset()
			require.NoError(t, s.Run(context.Background(), "SELECT 1 AS one"))
			require.Equal(t, "one\n1\n", out.String())
		})
	}
}

func TestConnectErrors(t *testing.T) {
	for url, want := range map[string]string{
		"127.0.0.1:1":                  "not an address",
		"http://127.0.0.1:1":           "scheme",
		"grpc://u:hunter2@127.0.0.1:1": "connect to 127.0.0.1:1: the server cannot be reached",
		"ftp://u:hunter2@h":            "scheme",
	} {
		_, err := client.Connect(context.Background(), url)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
