package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/wire"
)

// vendor gives out access keys that an object store in the test's process takes until they expire.
type vendor struct {
	url  string
	life time.Duration

	mu       sync.Mutex
	expires  map[string]time.Time
	vended   int
	rejected atomic.Int64
}

var accessKey = regexp.MustCompile(`Credential=([^/]+)/`)

func newVendor(t *testing.T, life time.Duration) *vendor {
	t.Helper()
	v := &vendor{life: life, expires: map[string]time.Time{}}
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("lake"))
	inner := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := accessKey.FindStringSubmatch(r.Header.Get("Authorization"))
		v.mu.Lock()
		good := m != nil && time.Now().Before(v.expires[m[1]])
		v.mu.Unlock()
		if !good {
			v.rejected.Add(1)
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Message>The token has expired.</Message></Error>`)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	v.url = server.URL
	return v
}

func (v *vendor) vend() wire.FileIO {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.vended++
	key, expires := fmt.Sprintf("AKIA%d", v.vended), time.Now().Add(v.life)
	v.expires[key] = expires
	return wire.NewFileIO(map[string]string{
		"s3.endpoint": v.url, "s3.region": "us-east-1", "s3.access-key-id": key, "s3.secret-access-key": "secret",
		"s3.session-token": "token", "s3.session-token-expires-at-ms": fmt.Sprint(expires.UnixMilli()),
	})
}

// A file that is read, and files that are written, for longer than the credentials live: the task asks for others in time, and
// the store never sees expired ones.
func TestRule18CredentialsAreRenewedInARunningTask(t *testing.T) {
	v := newVendor(t, 1500*time.Millisecond)
	described := &wire.Table{Key: "t", FileIO: v.vend()}
	asked := 0
	s := newStorage(t.Context(), wire.NewTables(wire.TablesOptions{}), described, "s3://lake/t", func(_ context.Context, table string) (wire.FileIO, error) {
		require.Equal(t, "t", table)
		asked++
		return v.vend(), nil
	})
	text := []byte("rows and rows")
	require.NoError(t, s.WriteFile("s3://lake/t/0", text))
	f, err := s.Open("s3://lake/t/0")
	require.NoError(t, err)
	for until, n := time.Now().Add(4*v.life), 1; time.Now().Before(until); n++ {
		got := make([]byte, 4)
		_, err := f.(io.ReaderAt).ReadAt(got, 9)
		require.NoError(t, err)
		require.Equal(t, "rows", string(got))
		w, err := s.Create(fmt.Sprintf("s3://lake/t/%d", n))
		require.NoError(t, err)
		_, err = w.Write(text)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		time.Sleep(100 * time.Millisecond)
	}
	require.NoError(t, f.Close())
	require.Zero(t, v.rejected.Load())
	require.GreaterOrEqual(t, asked, 3)
	require.LessOrEqual(t, asked, 12, "not at each use")
}

// A task that starts with credentials that have expired asks first; when there are none, the error says so.
func TestRule18ExpiredBeforeTheStart(t *testing.T) {
	v := newVendor(t, 50*time.Millisecond)
	described := &wire.Table{Key: "t", FileIO: v.vend()}
	time.Sleep(60 * time.Millisecond)
	v.life = time.Minute
	s := newStorage(t.Context(), wire.NewTables(wire.TablesOptions{}), described, "s3://lake/t", func(context.Context, string) (wire.FileIO, error) { return v.vend(), nil })
	require.NoError(t, s.WriteFile("s3://lake/t/0", []byte("x")))
	require.NoError(t, s.Remove("s3://lake/t/0"))
	require.Zero(t, v.rejected.Load())

	gone := errors.New("the catalog is down")
	s = newStorage(t.Context(), wire.NewTables(wire.TablesOptions{}), described, "s3://lake/t", func(context.Context, string) (wire.FileIO, error) { return wire.FileIO{}, gone })
	_, err := s.Open("s3://lake/t/0")
	require.ErrorIs(t, err, gone)
	require.ErrorContains(t, err, "expired")
	require.NotContains(t, err.Error(), "secret")
}
