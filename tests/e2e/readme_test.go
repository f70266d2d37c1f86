package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/scheduler/sql"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// TestREADME runs the README's statements and then its program, which sends a Substrait plan.
func TestREADME(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	block := func(language string) string {
		m := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1)
		require.Len(t, m, 1, language)
		return m[0][1]
	}
	dataDir := t.TempDir()
	cluster := process.Serve(t, dataDir)
	client := cluster.Connect(t)
	statements, err := sql.Split(block("sql"))
	require.NoError(t, err)
	for _, statement := range statements {
		_, err := client.Run(context.Background(), statement)
		require.NoError(t, err, statement)
	}

	program := block("go")
	require.Contains(t, program, `"127.0.0.1:50051"`)
	query := regexp.MustCompile(`const query = "(.*)"`).FindStringSubmatch(program)
	require.NotNil(t, query)
	var want [][]string
	db := reference.Open(t, openCatalog(t, dataDir), "shop", 2)
	for _, row := range db.Query(strings.ReplaceAll(query[1], "shop.orders", "orders")).Rows {
		want = append(want, []string{row[0].String(), row[1].String()})
	}
	require.Len(t, want, 3)
	check := func(t *testing.T, out []byte) {
		t.Helper()
		var got [][]string
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			got = append(got, strings.Fields(strings.Trim(line, "[]")))
		}
		require.Equal(t, want, got)
	}
	t.Run("go", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(program, "127.0.0.1:50051", cluster.Address)), 0o600))
		run := exec.Command("go", "run", file)
		run.Dir = filepath.Join("..", "..") // the module that has what it imports
		var log strings.Builder
		run.Stderr = &log
		out, err := run.Output()
		require.NoError(t, err, log.String())
		check(t, out)
	})
	t.Run("python", func(t *testing.T) {
		python := pythonWith(t, "adbc_driver_flightsql.dbapi")
		require.Contains(t, string(page), "`cursor.execute(serialized)`")
		plan := &substraitpb.Plan{}
		require.NoError(t, protojson.Unmarshal([]byte(client.Value("EXPLAIN (FORMAT SUBSTRAIT_JSON) "+query[1])), plan))
		serialized, err := proto.Marshal(plan)
		require.NoError(t, err)
		run := exec.Command(python, "-c", `
import sys
import adbc_driver_flightsql.dbapi
with adbc_driver_flightsql.dbapi.connect(sys.argv[1], autocommit=True) as connection, connection.cursor() as cursor:
    serialized = sys.stdin.buffer.read()
    cursor.execute(serialized)
    for row in cursor.fetchall():
        print(*row)
`, "grpc://"+cluster.Address)
		run.Stdin = strings.NewReader(string(serialized))
		var log strings.Builder
		run.Stderr = &log
		out, err := run.Output()
		require.NoError(t, err, log.String())
		check(t, out)
	})
}
