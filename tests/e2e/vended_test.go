package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/wire"
)

// vendor is a REST catalog of one table, ns.t, and the object store that it lies in. With each load of the table it gives out
// an access key that the store takes for a short time.
type vendor struct {
	life  time.Duration
	delay atomic.Int64 // of each request for a data file, in nanoseconds
	store string       // the object store's URL
	uri   string       // the catalog's

	mu      sync.Mutex
	expires map[string]time.Time
	// late are the requests with keys that had expired; all of them were refused.
	late, served, vended atomic.Int64
}

// ownKey is the catalog's, which never expires and no other process has.
const ownKey = "AKIAOWN"

var keyOf = regexp.MustCompile(`Credential=([^/]+)/`)

func startVendor(t *testing.T, life time.Duration) *vendor {
	t.Helper()
	v := &vendor{life: life, expires: map[string]time.Time{}}
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("lake"))
	inner := gofakes3.New(backend).Server()
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := ""
		if m := keyOf.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
			key = m[1]
		}
		v.mu.Lock()
		good := key == ownKey || time.Now().Before(v.expires[key])
		v.mu.Unlock()
		if !good {
			v.late.Add(1)
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Message>The token has expired.</Message></Error>`)
			return
		}
		if key != ownKey {
			v.served.Add(1)
			if strings.HasSuffix(r.URL.Path, ".parquet") {
				time.Sleep(time.Duration(v.delay.Load()))
			}
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(store.Close)
	v.store = store.URL

	c, err := catalog.Open(t.Context(), catalog.Config{
		Name: "own", Type: catalog.TypeSQLite, URI: filepath.Join(t.TempDir(), "own.db"), Warehouse: "s3://lake/wh",
		FileIO: wire.NewFileIO(map[string]string{
			"s3.endpoint": v.store, "s3.region": "us-east-1", "s3.access-key-id": ownKey, "s3.secret-access-key": "own",
		}),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.CreateNamespace(t.Context(), "ns", false))
	_, err = c.CreateTable(t.Context(), catalog.CreateRequest{Namespace: "ns", Name: "t", Schema: ice.NewSchema(0,
		ice.NestedField{ID: 1, Name: "k", Type: ice.PrimitiveTypes.Int64}, ice.NestedField{ID: 2, Name: "v", Type: ice.PrimitiveTypes.String},
	)})
	require.NoError(t, err)
	v.uri = v.serve(t, c)
	return v
}

// serve is the catalog's REST interface, as far as statements over an existing table need it.
func (v *vendor) serve(t *testing.T, c *catalog.Catalog) string {
	answer := func(w http.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	fail := func(w http.ResponseWriter, status int, kind string, err error) {
		answer(w, status, map[string]any{"error": map[string]any{"message": err.Error(), "type": kind, "code": status}})
	}
	ident := table.Identifier{"ns", "t"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/v1")
		switch {
		case path == "/config":
			answer(w, http.StatusOK, map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}})
		case path == "/namespaces" && r.URL.Query().Get("parent") == "":
			answer(w, http.StatusOK, map[string]any{"namespaces": [][]string{{"ns"}}})
		case path == "/namespaces/ns":
			answer(w, http.StatusOK, map[string]any{"namespace": []string{"ns"}, "properties": map[string]string{}})
		case path == "/namespaces/ns/tables/t" && r.Method == http.MethodGet:
			loaded, err := c.Iceberg().LoadTable(r.Context(), ident)
			if err != nil {
				fail(w, http.StatusInternalServerError, "Failure", err)
				return
			}
			answer(w, http.StatusOK, map[string]any{"metadata-location": loaded.MetadataLocation(), "metadata": loaded.Metadata(), "config": v.vend()})
		case path == "/namespaces/ns/tables/t" && r.Method == http.MethodPost:
			var request struct {
				Requirements table.Requirements `json:"requirements"`
				Updates      table.Updates      `json:"updates"`
			}
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
				fail(w, http.StatusBadRequest, "BadRequestException", err)
				return
			}
			metadata, location, err := c.Iceberg().CommitTable(r.Context(), ident, request.Requirements, request.Updates)
			if err != nil {
				fail(w, http.StatusConflict, "CommitFailedException", err)
				return
			}
			answer(w, http.StatusOK, map[string]any{"metadata-location": location, "metadata": metadata})
		default:
			fail(w, http.StatusNotFound, "NoSuchTableException", fmt.Errorf("not found: %s %s", r.Method, path))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (v *vendor) vend() map[string]string {
	n := v.vended.Add(1)
	key, expires := fmt.Sprintf("AKIA%d", n), time.Now().Add(v.life)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.expires[key] = expires
	return map[string]string{
		"s3.endpoint": v.store, "s3.region": "us-east-1", "s3.access-key-id": key, "s3.secret-access-key": "vended-secret",
		"s3.session-token": "vended-token", "s3.session-token-expires-at-ms": fmt.Sprint(expires.UnixMilli()),
	}
}

// TestRule18StatementsOutlastTheirCredentials: statements that take longer than the keys live that a REST catalog vends, with
// everything distributed, read and write what they should.
func TestRule18StatementsOutlastTheirCredentials(t *testing.T) {
	v := startVendor(t, 2*time.Second)
	cluster := process.Distributed(t, t.TempDir(), 2, "SERAC_CATALOG__TYPE=rest", "SERAC_CATALOG__URI="+v.uri, "SERAC_LOG__LEVEL=debug",
		"AWS_EC2_METADATA_DISABLED=true")
	client := cluster.Connect(t)
	client.Query("USE ns")
	distributeAlways(client)
	for i := range 8 { // files, so that there are tasks
		client.Query(fmt.Sprintf("INSERT INTO t SELECT i, 'row ' || i FROM range(%d, %d) r(i)", i*1000, (i+1)*1000))
	}
	client.Query("SET target_task_size = '1kB'")
	v.delay.Store(int64(700 * time.Millisecond))
	outlasts := func(sql string) string {
		t.Helper()
		vended, begun := v.vended.Load(), time.Now()
		value := client.Value(sql)
		require.Greater(t, time.Since(begun), v.life, "%s was too fast to show anything", sql)
		require.Greater(t, v.vended.Load(), vended+1, "others were vended meanwhile")
		return value
	}
	require.Equal(t, "31996000", outlasts("SELECT sum(k)::BIGINT FROM t"))
	require.Equal(t, "8000", outlasts("INSERT INTO t SELECT k + 8000, v FROM t"))
	v.delay.Store(0)
	require.Equal(t, "16000", client.Value("SELECT count(DISTINCT k) FROM t"))
	require.Zero(t, v.late.Load(), "requests with keys that had expired")
	require.NotZero(t, v.served.Load())
	cluster.Stop()
	for _, secret := range []string{"vended-secret", "vended-token"} {
		hidesSecret(t, secret, cluster)
	}
}
