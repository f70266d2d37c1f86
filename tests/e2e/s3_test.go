package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// s3 is an object store in the test's process that lets only one access key in.
type s3 struct {
	backend gofakes3.Backend
	url     string
}

const (
	s3Key    = "AKIASERACTESTS"
	s3Secret = "s3cret-of-the-tests/+x"
)

func startS3(t *testing.T) *s3 {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("lake"))
	inner := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential="+s3Key+"/") {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>InvalidAccessKeyId</Code><Message>The access key does not exist.</Message></Error>`)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &s3{backend: backend, url: server.URL}
}

// env is the configuration of a warehouse in the store.
func (s *s3) env(key, secret string) []string {
	return []string{
		"SERAC_CATALOG__WAREHOUSE=s3://lake/wh", "SERAC_STORAGE__S3_ENDPOINT=" + s.url, "SERAC_STORAGE__S3_REGION=us-east-1",
		"SERAC_STORAGE__S3_ALLOW_HTTP=true", "SERAC_STORAGE__S3_ACCESS_KEY=" + key, "SERAC_STORAGE__S3_SECRET_KEY=" + secret,
		"SERAC_LOG__LEVEL=debug", "AWS_EC2_METADATA_DISABLED=true",
	}
}

// objects are the keys that end so.
func (s *s3) objects(t *testing.T, suffix string) []string {
	t.Helper()
	list, err := s.backend.ListBucket("lake", nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	var keys []string
	for _, o := range list.Contents {
		if strings.HasSuffix(o.Key, suffix) {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// notConfigured takes the storage out of an executor's configuration.
var notConfigured = []string{"SERAC_STORAGE__S3_ENDPOINT=", "SERAC_STORAGE__S3_ACCESS_KEY=", "SERAC_STORAGE__S3_SECRET_KEY=", "SERAC_CATALOG__WAREHOUSE="}

// TestObjectStorage has a warehouse on S3: statements on two executors that have no storage configured at all, because
// the credentials come with the tables.
func TestObjectStorage(t *testing.T) {
	store := startS3(t)
	dataDir := t.TempDir()
	cluster := process.Distributed(t, dataDir, 0, store.env(s3Key, s3Secret)...)
	cluster.AddExecutor(notConfigured...)
	cluster.AddExecutor(notConfigured...)
	client := cluster.Connect(t)
	client.Query("CREATE SCHEMA o")
	client.Query("USE o")
	distributeAlways(client)
	client.Query("CREATE TABLE t (i BIGINT NOT NULL, s VARCHAR, d DATE)")
	for k := range 3 {
		client.Query(fmt.Sprintf("INSERT INTO t SELECT i, 'v' || i, DATE '2024-01-01' + (i %% 40)::INT FROM range(%d, %d) r(i)", k*10000, (k+1)*10000))
	}
	client.Query("CREATE TABLE p (i BIGINT, s VARCHAR, d DATE) PARTITIONED BY (month(d), bucket(3, i))")
	require.Equal(t, "30000", client.Value("INSERT INTO p SELECT * FROM t"))
	client.Query("CREATE TABLE c PARTITIONED BY (k) AS SELECT i % 7 AS k, count(*) AS n FROM p GROUP BY ALL")
	for _, threshold := range []string{"0B", "128MB"} {
		client.Query("SET distribution_threshold = '" + threshold + "'")
		require.Equal(t, "30000", client.Value("SELECT count(*) FROM t JOIN p USING (i, s, d)"))
		require.Equal(t, "10", client.Value("SELECT count(*) FROM p WHERE d = DATE '2024-02-03' AND i < 433"))
		require.Equal(t, "30000", client.Value("SELECT sum(n)::BIGINT FROM c"))
	}
	require.Len(t, store.objects(t, ".parquet"), 3+6+7, "files: one an INSERT; two months by three buckets; seven values")
	before := len(store.objects(t, ""))
	_, err := client.Run(context.Background(), "INSERT INTO p SELECT i, error('no'), d FROM t")
	require.ErrorContains(t, err, "no")
	require.Len(t, store.objects(t, ""), before, "a write that failed leaves nothing")

	client.Query("DROP TABLE p")
	require.Len(t, store.objects(t, ""), before, "DROP TABLE leaves the files")
	client.Query("DROP TABLE c PURGE")
	require.Len(t, store.objects(t, ".parquet"), 3+6, "DROP TABLE PURGE does not")
	cluster.Stop()
	hidesSecret(t, s3Secret, cluster)
}

// TestWrongCredentials: statements fail soon, say why, and keep the secret to themselves.
func TestWrongCredentials(t *testing.T) {
	store := startS3(t)
	dataDir := t.TempDir()
	good := process.Distributed(t, dataDir, 1, store.env(s3Key, s3Secret)...)
	client := good.Connect(t)
	client.Query("CREATE TABLE t AS SELECT i FROM range(10) r(i)")
	good.Stop()

	const wrong = "wr0ng-secret/of+tests"
	cluster := process.Distributed(t, dataDir, 1, store.env("AKIAWRONG", wrong)...)
	client = cluster.Connect(t)
	for _, sql := range []string{"SELECT * FROM t", "INSERT INTO t SELECT 1", "CREATE TABLE u (i INT)", "CREATE TABLE u AS SELECT 1 AS x", "EXPLAIN SELECT * FROM t"} {
		start := time.Now()
		_, err := client.Run(context.Background(), sql)
		require.ErrorContains(t, err, "InvalidAccessKeyId", sql)
		require.NotContains(t, err.Error(), wrong, sql)
		require.Less(t, time.Since(start), 15*time.Second, sql)
	}
	cluster.Stop()
	hidesSecret(t, wrong, cluster)
	hidesSecret(t, s3Secret, good)
}

// hidesSecret says that no process printed a secret.
func hidesSecret(t *testing.T, secret string, cluster *process.Cluster) {
	t.Helper()
	for _, p := range append(cluster.Executors, cluster.Server) {
		require.NotEmpty(t, p.Output())
		require.False(t, strings.Contains(p.Output(), secret), "a process printed the secret")
	}
}
