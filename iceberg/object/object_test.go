package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	icebergio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/wire"
)

// s3 is an object store in the process, with a count of its requests and a fault to switch on.
type s3 struct {
	io       icebergio.IO
	requests atomic.Int64
	failing  atomic.Bool
	delay    atomic.Int64 // nanoseconds a request
}

func newS3(t *testing.T) *s3 {
	t.Helper()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("wh"))
	s := &s3{}
	fake := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		select {
		case <-time.After(time.Duration(s.delay.Load())):
		case <-r.Context().Done():
		}
		if s.failing.Load() {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var err error
	s.io, err = icebergio.LoadFS(context.Background(), map[string]string{
		"s3.endpoint": server.URL, "s3.region": "us-east-1", "s3.access-key-id": "k", "s3.secret-access-key": "s", "s3.force-virtual-addressing": "false",
	}, "s3://wh")
	require.NoError(t, err)
	return s
}

func (s *s3) put(t *testing.T, location string, content []byte) {
	t.Helper()
	require.NoError(t, s.io.(icebergio.WriteFileIO).WriteFile(location, content))
}

func openStore(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "cache")
	}
	s, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.Empty(t, cached(t, s))
	})
	return s
}

// cached are the names of the files in the cache's directory.
func cached(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.options.Dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(int64(n))).Read(b)
	return b
}

func TestLocalPath(t *testing.T) {
	for location, want := range map[string]string{
		"/wh/a.parquet": "/wh/a.parquet", "file:///wh/a%20b.parquet": "/wh/a b.parquet", "file:/wh/a.parquet": "/wh/a.parquet",
		"file://localhost/wh/x": "/wh/x", "/wh/p=a%20b/x": "/wh/p=a%20b/x", "/wh/a:b": "/wh/a:b", "/wh/../x": "/x",
	} {
		got, isLocal, err := LocalPath(location)
		require.NoError(t, err)
		require.True(t, isLocal, location)
		require.Equal(t, want, got)
	}
	for _, location := range []string{"s3://b/k", "gs://b/k", "abfss://c@a/k"} {
		_, isLocal, err := LocalPath(location)
		require.NoError(t, err)
		require.False(t, isLocal, location)
	}
	_, _, err := LocalPath("file://elsewhere/x")
	require.Error(t, err)
}

func TestLocalFilesAreLinkedOrUsedInPlace(t *testing.T) {
	warehouse := t.TempDir()
	s := openStore(t, Options{InPlace: []string{warehouse + "/open"}})
	require.Equal(t, []string{s.options.Dir, warehouse + "/open"}, s.Dirs())
	for _, name := range []string{"/open/a.parquet", "/closed/b.parquet", "/open/odd[1]*.parquet", "/open-not/c.parquet"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(warehouse+name), 0o755))
		require.NoError(t, os.WriteFile(warehouse+name, []byte(name), 0o600))
		f, err := s.Local(context.Background(), Storage{}, "file://"+warehouse+strings.ReplaceAll(strings.ReplaceAll(name, "[", "%5B"), "]", "%5D"))
		require.NoError(t, err)
		if name == "/open/a.parquet" {
			require.Equal(t, warehouse+name, f.Path)
		} else {
			require.Equal(t, s.options.Dir, filepath.Dir(f.Path), name)
		}
		// It stays when the table's file goes.
		if name != "/open/a.parquet" {
			require.NoError(t, os.Remove(warehouse+name))
		}
		content, err := os.ReadFile(f.Path)
		require.NoError(t, err)
		require.Equal(t, name, string(content))
		f.Release()
		f.Release()
	}
	require.Empty(t, cached(t, s), "links go with their last user")
	_, err := s.Local(context.Background(), Storage{}, warehouse+"/closed/gone.parquet")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, err, wire.ErrStatement)
	_, err = s.Local(context.Background(), Storage{}, warehouse+"/open/gone.parquet")
	require.ErrorIs(t, err, wire.ErrStatement)
	// A symbolic link is followed to the file, so that none gets into the sandbox.
	require.NoError(t, os.WriteFile(warehouse+"/real", []byte("real"), 0o600))
	require.NoError(t, os.Symlink(warehouse+"/real", warehouse+"/link"))
	f, err := s.Local(context.Background(), Storage{}, warehouse+"/link")
	require.NoError(t, err)
	info, err := os.Lstat(f.Path)
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular())
	f.Release()
	_, err = s.Local(context.Background(), Storage{}, warehouse)
	require.ErrorContains(t, err, "not a regular file")
}

func TestRemoteObjectsAreFetchedOnce(t *testing.T) {
	remote := newS3(t)
	content := random(3*partSize + 12345)
	remote.put(t, "s3://wh/t/data/a.parquet", content)
	s := openStore(t, Options{})
	storage := Storage{IO: remote.io, Scope: "me"}
	var wg sync.WaitGroup
	var fetched atomic.Int64
	for range 10 {
		wg.Go(func() {
			f, err := s.Local(context.Background(), storage, "s3://wh/t/data/a.parquet")
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Release()
			fetched.Add(f.Fetched)
			if got, err := os.ReadFile(f.Path); err != nil || !bytes.Equal(got, content) {
				t.Error("other content", err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, len(content), fetched.Load())
	before := remote.requests.Load()
	f, err := s.Local(context.Background(), storage, "s3://wh/t/data/a.parquet")
	require.NoError(t, err)
	require.Zero(t, f.Fetched)
	require.Equal(t, before, remote.requests.Load())
	f.Release()
	// Another's access fetches for itself.
	f, err = s.Local(context.Background(), Storage{IO: remote.io, Scope: "you"}, "s3://wh/t/data/a.parquet")
	require.NoError(t, err)
	require.EqualValues(t, len(content), f.Fetched)
	f.Release()
}

func TestEvictionSparesFilesInUse(t *testing.T) {
	remote := newS3(t)
	s := openStore(t, Options{MaxBytes: 2500})
	storage := Storage{IO: remote.io}
	var held []*File
	for i := range 5 {
		location := fmt.Sprintf("s3://wh/%d", i)
		remote.put(t, location, random(1000+i))
		f, err := s.Local(context.Background(), storage, location)
		require.NoError(t, err)
		held = append(held, f)
	}
	require.Len(t, cached(t, s), 5, "all are in use")
	for i, f := range held {
		got, err := os.ReadFile(f.Path)
		require.NoError(t, err)
		require.Equal(t, random(1000+i), got)
		f.Release()
	}
	require.Len(t, cached(t, s), 2)
	f, err := s.Local(context.Background(), storage, "s3://wh/4")
	require.NoError(t, err)
	require.Zero(t, f.Fetched, "the last released is kept")
	f.Release()
	f, err = s.Local(context.Background(), storage, "s3://wh/0")
	require.NoError(t, err)
	require.EqualValues(t, 1000, f.Fetched)
	f.Release()
}

func TestFailuresAreTyped(t *testing.T) {
	remote := newS3(t)
	s := openStore(t, Options{})
	storage := Storage{IO: remote.io}
	_, err := s.Local(context.Background(), storage, "s3://wh/nothing")
	require.ErrorIs(t, err, wire.ErrStatement)
	require.ErrorIs(t, err, fs.ErrNotExist)
	remote.put(t, "s3://wh/x", random(100))
	remote.failing.Store(true)
	_, err = s.Local(context.Background(), storage, "s3://wh/x")
	require.ErrorIs(t, err, wire.ErrTransport)
	_, err = s.Footer(context.Background(), storage, "s3://wh/x")
	require.ErrorIs(t, err, wire.ErrTransport)
	remote.failing.Store(false)
	f, err := s.Local(context.Background(), storage, "s3://wh/x")
	require.NoError(t, err, "the failure is not remembered")
	f.Release()
	_, err = s.Footer(context.Background(), storage, "s3://wh/x")
	require.ErrorIs(t, err, wire.ErrStatement)
	_, err = s.Local(context.Background(), Storage{}, "s3://wh/x")
	require.ErrorIs(t, err, wire.ErrInternal)
}

func TestCancelLeavesNothing(t *testing.T) {
	remote := newS3(t)
	remote.put(t, "s3://wh/x", random(4*partSize))
	remote.delay.Store(int64(200 * time.Millisecond))
	s := openStore(t, Options{Parallel: 2})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	start := time.Now()
	_, err := s.Local(ctx, Storage{IO: remote.io}, "s3://wh/x")
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, errors.Is(err, wire.ErrTransport))
	require.Less(t, time.Since(start), 2*time.Second)
	// A second caller is not hurt by the first's leaving.
	ctx, cancel = context.WithCancel(context.Background())
	first := make(chan error, 1)
	go func() {
		_, err := s.Local(ctx, Storage{IO: remote.io}, "s3://wh/x")
		first <- err
	}()
	time.AfterFunc(150*time.Millisecond, cancel)
	f, err := s.Local(context.Background(), Storage{IO: remote.io}, "s3://wh/x")
	require.NoError(t, err)
	<-first
	f.Release()
	require.Eventually(t, func() bool { return len(cached(t, s)) == 1 }, 5*time.Second, 10*time.Millisecond)
}

func TestOpenEmptiesOnlyItsOwn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/"+cachePrefix+"7.parquet", nil, 0o600))
	require.NoError(t, os.WriteFile(dir+"/precious", nil, 0o600))
	s, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, []string{"precious"}, cached(t, s))
	require.NoError(t, s.Close())
	_, err = s.Local(context.Background(), Storage{}, dir+"/precious")
	require.ErrorContains(t, err, "closed")
	_, err = Open(Options{Dir: "relative"})
	require.Error(t, err)
}

func TestFooterFetchesNoData(t *testing.T) {
	db, err := duckdb.Open(context.Background(), duckdb.Options{})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(context.Background())
	require.NoError(t, err)
	defer conn.Close()
	path := t.TempDir() + "/x.parquet"
	require.NoError(t, conn.Exec(context.Background(), "COPY (SELECT i, md5(i::VARCHAR) s FROM range(300000) r(i)) TO '"+path+"' (FORMAT parquet, ROW_GROUP_SIZE 4096)"))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	remote := newS3(t)
	remote.put(t, "s3://wh/x.parquet", content)
	s := openStore(t, Options{})
	for _, location := range []string{path, "s3://wh/x.parquet"} {
		footer, err := s.Footer(context.Background(), Storage{IO: remote.io}, location)
		require.NoError(t, err)
		require.EqualValues(t, 300000, footer.GetNumRows())
	}
	require.Empty(t, cached(t, s))
	before := remote.requests.Load()
	_, err = s.Footer(context.Background(), Storage{IO: remote.io}, "s3://wh/x.parquet")
	require.NoError(t, err)
	require.Equal(t, before, remote.requests.Load())
	for _, bad := range [][]byte{nil, []byte("short"), random(1000), []byte("xxxxxxxxxxxxxxxxxxxxxxxx\xff\xff\xff\x7fPAR1"), []byte("PAR1xxxxxxxxxxxx\x04\x00\x00\x00PAR1")} {
		_, err := ReadFooter(bytes.NewReader(bad), int64(len(bad)))
		require.ErrorIs(t, err, errNotParquet, "%q", bad)
	}
}

func TestSparseHoldsWholeChunksOfWantedGroups(t *testing.T) {
	db, err := duckdb.Open(context.Background(), duckdb.Options{Threads: 2})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(context.Background())
	require.NoError(t, err)
	defer conn.Close()
	path := t.TempDir() + "/x.parquet"
	// k is dictionary-encoded and has Bloom filters.
	require.NoError(t, conn.Exec(context.Background(), "COPY (SELECT i, i % 100 AS k, sha256(i::VARCHAR) s, sha256((-i)::VARCHAR) z FROM range(120000) r(i)) TO '"+path+
		"' (FORMAT parquet, ROW_GROUP_SIZE 30720, COMPRESSION uncompressed)"))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	remote := newS3(t)
	remote.put(t, "s3://wh/x.parquet", content)
	s := openStore(t, Options{})
	storage := Storage{IO: remote.io}
	footer, err := s.Footer(context.Background(), storage, "s3://wh/x.parquet")
	require.NoError(t, err)
	require.Equal(t, 4, footer.NumRowGroups())
	before, err := footer.SerializeString(context.Background())
	require.NoError(t, err)
	f, ok, err := s.Sparse(context.Background(), storage, "s3://wh/x.parquet", Need{Footer: footer, RowGroups: []int{1, 3}, Columns: []int{0, 1}})
	require.NoError(t, err)
	require.True(t, ok)
	defer f.Release()
	require.Less(t, f.Fetched, int64(len(content)/10))
	rows, err := conn.Rows(context.Background(), "SELECT count(*), min(i), max(i), sum(k)::BIGINT, min(file_row_number), max(file_row_number) FROM read_parquet('"+f.Path+"')")
	require.NoError(t, err)
	want, err := conn.Rows(context.Background(), "SELECT count(*), min(i), max(i), sum(k)::BIGINT, 0, count(*) - 1 FROM read_parquet('"+path+
		"') WHERE i BETWEEN 30720 AND 61439 OR i >= 92160")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(rows))
	rows, err = conn.Rows(context.Background(), "SELECT count(*) FROM read_parquet('"+f.Path+"') WHERE k = 77")
	require.NoError(t, err)
	require.Equal(t, int64(586), rows[0][0])
	after, err := footer.SerializeString(context.Background())
	require.NoError(t, err)
	require.Equal(t, before, after, "the footer is others' too")
	// The same part again is there; another part is another file.
	again, ok, err := s.Sparse(context.Background(), storage, "s3://wh/x.parquet", Need{Footer: footer, RowGroups: []int{1, 3}, Columns: []int{0, 1}})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, f.Path, again.Path)
	require.Zero(t, again.Fetched)
	again.Release()
	// Nearly all of it, or an object that is there whole: whole.
	_, ok, err = s.Sparse(context.Background(), storage, "s3://wh/x.parquet", Need{Footer: footer, RowGroups: []int{0, 1, 2, 3}, Columns: []int{0, 1, 2, 3}})
	require.NoError(t, err)
	require.False(t, ok)
	whole, err := s.Local(context.Background(), storage, "s3://wh/x.parquet")
	require.NoError(t, err)
	defer whole.Release()
	_, ok, err = s.Sparse(context.Background(), storage, "s3://wh/x.parquet", Need{Footer: footer, RowGroups: []int{2}, Columns: []int{0}})
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = s.Sparse(context.Background(), Storage{}, path, Need{Footer: footer, RowGroups: []int{2}, Columns: []int{0}})
	require.NoError(t, err)
	require.False(t, ok)
}
