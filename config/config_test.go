package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite docs/configuration.md")

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "serac.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestDefaultsAreValidAndAsDocumented(t *testing.T) {
	c := Default()
	require.NoError(t, c.Validate())
	require.Equal(t, 50051, c.Scheduler.FlightSQLPort)
	require.Equal(t, 50050, c.Scheduler.ExecutorPort)
	require.Equal(t, 50052, c.Executor.FlightPort)
	require.Equal(t, 5, c.Executor.HeartbeatIntervalSecs)
	require.Equal(t, 300, c.Query.TimeoutSecs)
	require.Equal(t, Bytes(128_000_000), c.Query.DistributionThreshold)
	require.Equal(t, Bytes(256_000_000), c.Query.TargetTaskSize)
	require.Equal(t, int64(0), c.Query.MaxResultRows)
	require.Equal(t, "127.0.0.1", c.Scheduler.FlightSQLHost)
}

func TestLaterSourcesWin(t *testing.T) {
	file := writeFile(t, "[query]\ntimeout_secs = 1\nmax_result_rows = 1\nshuffle_partitions = 1\n[storage]\ns3_path_style = false\n")
	src := Source{
		File:    file,
		Environ: []string{"SERAC_QUERY__MAX_RESULT_ROWS=2", "SERAC_QUERY__SHUFFLE_PARTITIONS=2", "SERAC_HOME=/x", "PATH=/bin"},
		Set:     map[string]string{"query.shuffle_partitions": "3", "query.target_task_size": "1.5MiB"},
	}
	c, err := Load(src)
	require.NoError(t, err)
	require.Equal(t, 1, c.Query.TimeoutSecs)
	require.Equal(t, int64(2), c.Query.MaxResultRows)
	require.Equal(t, 3, c.Query.ShufflePartitions)
	require.Equal(t, Bytes(3<<19), c.Query.TargetTaskSize)
	require.False(t, c.Storage.S3PathStyle)
	require.Equal(t, "serac", c.Catalog.Name, "untouched keys keep their default")
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
	file := writeFile(t, strings.Join([]string{
		`stray = 1`,
		`[query]`, `timeout = 1`, `timeout_secs = "soon"`, `target_task_size = "many"`,
		`[storage]`, `s3_secret_key = "hunter2"`, `s3_endpoint = "http://h:9000"`,
		`[catalogue]`, `name = "x"`,
		`[catalog]`, `type = "paper"`,
	}, "\n"))
	_, err := Load(Source{
		File:    file,
		Environ: []string{"SERAC_QUERY__TIMEOUT=1", "SERAC_SCHEDULER__FLIGHT_SQL_PORT=70000", "SERAC_query__timeout_secs=1", "SERAC_NO__SUCH__THING=1"},
		Set:     map[string]string{"query.shuffle_partitions": "-1"},
	})
	require.Error(t, err)
	for _, want := range []string{
		"stray: keys stand in sections",
		"query.timeout: unknown key", `query.timeout_secs: "soon" is not a whole number`, `query.target_task_size: "many" is not a size`,
		"[catalogue]: unknown section", `catalog.type: "paper" is none of sqlite, rest, hadoop`,
		"SERAC_QUERY__TIMEOUT: unknown key", "scheduler.flight_sql_port: 70000 is not a port",
		"SERAC_query__timeout_secs: unknown key", "SERAC_NO__SUCH__THING: unknown key",
		"query.shuffle_partitions: -1 is negative",
		"s3_access_key and s3_secret_key must be set together", "has no TLS",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter2")
}

func TestFaultsOfOneKey(t *testing.T) {
	for want, set := range map[string]map[string]string{
		"query.shuffle_partitions: 4097 is more than 4096": {"query.shuffle_partitions": "4097"},
		"query.target_task_size: must be more than 0":      {"query.target_task_size": "0"},
		"catalog.uri: must not carry credentials":          {"catalog.type": "rest", "catalog.uri": "https://user:hunter2@catalog.example.org"},
		"storage.s3_endpoint: must not carry credentials":  {"storage.s3_endpoint": "https://user:hunter2@s3.example.org"},
		"catalog.token: is for catalogs of type rest":      {"catalog.token": "hunter2"},
		"one of them is enough": {
			"catalog.type": "rest", "catalog.uri": "https://h", "catalog.token": "hunter2", "catalog.credential": "hunter2",
		},
	} {
		_, err := Load(Source{Set: set})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestBrokenFileNeverQuotesASecret(t *testing.T) {
	_, err := Load(Source{File: writeFile(t, "[storage]\ns3_secret_key = hunter2\n")})
	require.ErrorContains(t, err, "line 2")
	require.NotContains(t, err.Error(), "hunter2")
	_, err = Load(Source{File: writeFile(t, "[storage]\ns3_secret_key = 1234567\n")})
	require.ErrorContains(t, err, "storage.s3_secret_key")
	require.NotContains(t, err.Error(), "1234567")
	_, err = Load(Source{File: "/does/not/exist"})
	require.ErrorContains(t, err, "read configuration")
}

func TestSecretsNeverPrint(t *testing.T) {
	c, err := Load(Source{Environ: []string{"SERAC_STORAGE__S3_ACCESS_KEY=hunter1", "SERAC_STORAGE__S3_SECRET_KEY=hunter2"}})
	require.NoError(t, err)
	require.Equal(t, "hunter2", c.Storage.S3SecretKey.Reveal())
	var out strings.Builder
	require.NoError(t, c.Write(&out))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, c.Storage.S3SecretKey)
		fmt.Fprintf(&out, verb, *c)
		fmt.Fprintf(&out, verb, c)
		fmt.Fprintf(&out, verb, &c.Storage)
	}
	j, err := json.Marshal(c)
	require.NoError(t, err)
	out.Write(j)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", c, "secret", c.Storage.S3SecretKey)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "config", c, "secret", c.Storage.S3SecretKey)
	require.NotContains(t, out.String(), "hunter")
	require.NotContains(t, out.String(), "68756e746572", "nor in hexadecimal")
	require.Contains(t, out.String(), `s3_secret_key = "<redacted>"`)
}

func TestPrintedConfigurationLoads(t *testing.T) {
	c, err := Load(Source{Set: map[string]string{"query.timeout_secs": "7", "executor.memory_limit": "3GiB", "executor.spill_dir": `a"b`}})
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, c.Write(&out))
	again, err := Load(Source{File: writeFile(t, out.String())})
	require.NoError(t, err)
	require.Equal(t, c, again)
}

func TestFlags(t *testing.T) {
	fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
	set := Flags(fs, "query", "storage")
	require.Nil(t, fs.Lookup("executor.slots"))
	require.Contains(t, fs.FlagUsages(), "Seconds after which a statement is cancelled")
	require.NoError(t, fs.Parse([]string{"--query.timeout_secs=9", "--storage.s3_allow_http", "--storage.s3_secret_key", "hunter2"}))
	require.Equal(t, map[string]string{"query.timeout_secs": "9", "storage.s3_allow_http": "true", "storage.s3_secret_key": "hunter2"}, set())
	require.NotContains(t, fs.Lookup("storage.s3_secret_key").Value.String(), "hunter2")
	_, err := Load(Source{Set: set()})
	require.ErrorContains(t, err, "must be set together")
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "4096": 4096, "128MB": 128e6, "128mb": 128e6, "1 KiB": 1024, "1.5GiB": 3 << 29, "2B": 2, "9TB": 9e12, "1tib": 1 << 40,
	} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseBytes(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again, got.String())
	}
	for _, text := range []string{"", "MB", "-1MB", "1.2.3MB", "1e3", "inf", "nan", "0x10", "9999999TB", "9223372036854775808", "1 PB"} {
		_, err := ParseBytes(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "128MB", Bytes(128e6).String())
	require.Equal(t, "3MiB", Bytes(3<<20).String())
	require.Equal(t, "1001", Bytes(1001).String())
}

func TestAdvertise(t *testing.T) {
	for _, c := range []struct{ url, listen, want, fault string }{
		{"", "127.0.0.1:7", "127.0.0.1:7", ""},
		{"grpc://host:9", "0.0.0.0:7", "host:9", ""},
		{"host:9", "0.0.0.0:7", "host:9", ""},
		{"grpc://[::1]:9", "[::]:7", "[::1]:9", ""},
		{"", "0.0.0.0:7", "", "must be set"},
		{"", "[::]:7", "", "must be set"},
		{"", ":7", "", "must be set"},
		{"grpc://0.0.0.0:9", "127.0.0.1:7", "", "wildcard"},
		{"[::]:9", "127.0.0.1:7", "", "wildcard"},
		{"host", "127.0.0.1:7", "", "is not grpc://host:port"},
		{":9", "127.0.0.1:7", "", "is not grpc://host:port"},
		{"host:0", "127.0.0.1:7", "", "is not grpc://host:port"},
		{"http://host:1", "127.0.0.1:7", "", "is not grpc://host:port"},
	} {
		got, err := Executor{AdvertiseURL: c.url}.Advertise(c.listen)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, c)
			continue
		}
		require.NoError(t, err, c)
		require.Equal(t, c.want, got)
	}
	_, err := Load(Source{Set: map[string]string{"executor.flight_host": "0.0.0.0"}})
	require.ErrorContains(t, err, "executor.advertise_url: must be set")
}

func TestEveryKeyIsDocumented(t *testing.T) {
	for _, s := range Sections() {
		require.NotEmpty(t, s.Doc, s.Name)
		for _, k := range s.Keys {
			require.NotEmpty(t, k.Name)
			require.NotEmpty(t, k.Doc, k.Path())
		}
	}
	const path = "../docs/configuration.md"
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(Markdown()), 0o644))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, Markdown(), string(text), "run `go test ./config -rewrite`")
}
