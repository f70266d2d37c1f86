package shuffle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

func entries(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if path != dir {
			n++
		}
		return err
	}))
	return n
}

// put writes a file of an attempt into the store.
func put(t *testing.T, s *Store, id *seracv1.TaskId, content string) File {
	t.Helper()
	dir, err := s.Begin(id)
	require.NoError(t, err)
	f := File{Partition: 1, Path: filepath.Join(dir, "f"), Rows: 1, Bytes: int64(len(content))}
	require.NoError(t, os.WriteFile(f.Path, []byte(content), 0o600))
	require.NoError(t, s.Commit(id, []File{f}))
	return f
}

func TestStoreGivesDiskBack(t *testing.T) {
	root := t.TempDir()
	s := NewStore(root)
	first := &seracv1.TaskId{JobId: "a", Stage: 1, Attempt: 1}
	second := &seracv1.TaskId{JobId: "a", Stage: 1, Attempt: 2}
	other := &seracv1.TaskId{JobId: "../b", Stage: 1, Attempt: 1}
	put(t, s, first, "1")
	put(t, s, second, "22")
	put(t, s, other, "333")
	jobs, bytes := s.Usage()
	require.Equal(t, 2, jobs)
	require.Equal(t, int64(6), bytes)
	require.Equal(t, 2, len(dirNames(t, root)), "no job's name leads out of the store")
	_, err := s.Begin(first)
	require.Error(t, err, "an attempt writes once")

	require.NoError(t, s.Discard(first))
	_, err = s.Find(first, 1)
	require.ErrorIs(t, err, ErrNoFile)
	_, err = s.Find(second, 1)
	require.NoError(t, err)
	_, err = s.Find(second, 2)
	require.ErrorIs(t, err, ErrNoFile)
	require.NoError(t, s.Discard(&seracv1.TaskId{JobId: "never"}))

	require.NoError(t, s.EndJob("a"))
	require.NoError(t, s.EndJob("a"))
	require.Equal(t, 1, len(dirNames(t, root)))
	require.Error(t, s.Commit(second, nil), "the job is over")
	require.NoError(t, s.Clear())
	require.Zero(t, entries(t, root))
	jobs, bytes = s.Usage()
	require.Zero(t, jobs)
	require.Zero(t, bytes)
}

func TestDiscardOfTheLastAttemptEndsTheJob(t *testing.T) {
	s := NewStore(t.TempDir())
	id := &seracv1.TaskId{JobId: "a"}
	_, err := s.Begin(id)
	require.NoError(t, err)
	require.NoError(t, s.Discard(id))
	jobs, _ := s.Usage()
	require.Zero(t, jobs)
	require.Zero(t, entries(t, s.root))
}

func dirNames(t *testing.T, dir string) []string {
	es, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := make([]string, len(es))
	for i, e := range es {
		names[i] = e.Name()
	}
	return names
}

type fakeRemote func(ctx context.Context, file *seracv1.ShuffleFile, w io.Writer) error

func (f fakeRemote) ReadShuffle(ctx context.Context, file *seracv1.ShuffleFile, w io.Writer) error {
	return f(ctx, file, w)
}

func TestFetchLinksOnOneHost(t *testing.T) {
	s := NewStore(t.TempDir())
	f := put(t, s, &seracv1.TaskId{JobId: "a"}, "content")
	fetcher := &Fetcher{HostID: "h", Concurrency: 2, Remote: fakeRemote(func(context.Context, *seracv1.ShuffleFile, io.Writer) error {
		return errors.New("not needed")
	})}
	dir := t.TempDir()
	file := &seracv1.ShuffleFile{HostId: "h", Path: f.Path, SizeBytes: f.Bytes}
	var fetched atomic.Int64
	paths, err := fetcher.Fetch(t.Context(), []*seracv1.ShuffleFile{file, file}, dir, "leaf1_", &fetched)
	require.NoError(t, err)
	require.Zero(t, fetched.Load())
	require.NoError(t, s.EndJob("a"), "the producer's file may go")
	for _, path := range paths {
		require.Equal(t, dir, filepath.Dir(path))
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "content", string(got))
	}
	require.NotEqual(t, paths[0], paths[1])
}

func TestFetchRemote(t *testing.T) {
	content := bytes.Repeat([]byte("x"), 1000)
	file := &seracv1.ShuffleFile{
		Producer: &seracv1.TaskId{Stage: 3, Task: 4}, Partition: 5, ExecutorId: "e1", HostId: "other", Path: "/nowhere", SizeBytes: 1000,
	}
	fail := func(kind seracv1.FailureKind) error { return wire.Fail(kind, errors.New("says the remote")) }
	for name, c := range map[string]struct {
		remote  func(try int, w io.Writer) error
		is      error
		tries   int
		fetched int64
	}{
		"well": {func(_ int, w io.Writer) error { _, err := w.Write(content); return err }, nil, 1, 1000},
		"in the end": {func(try int, w io.Writer) error {
			w.Write(content[:try])
			if try < 3 {
				return fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT)
			}
			w.Write(content[try:])
			return nil
		}, nil, 3, 1000},
		"never":            {func(int, io.Writer) error { return fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT) }, wire.ErrShuffleFetch, 3, 0},
		"gone":             {func(int, io.Writer) error { return fail(seracv1.FailureKind_FAILURE_KIND_SHUFFLE_FETCH) }, wire.ErrShuffleFetch, 1, 0},
		"too short":        {func(_ int, w io.Writer) error { w.Write(content[:999]); return nil }, wire.ErrShuffleFetch, 3, 0},
		"cancelled there":  {func(int, io.Writer) error { return fail(seracv1.FailureKind_FAILURE_KIND_CANCELLED) }, wire.ErrShuffleFetch, 1, 0},
		"cannot be stored": {func(int, io.Writer) error { return errors.Join(ErrWrite, errors.New("no space")) }, wire.ErrTransport, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			f := &Fetcher{HostID: "h", Concurrency: 1, Attempts: 3, Backoff: time.Millisecond, Remote: fakeRemote(func(_ context.Context, _ *seracv1.ShuffleFile, w io.Writer) error {
				tries++
				return c.remote(tries, w)
			})}
			dir := t.TempDir()
			var fetched atomic.Int64
			paths, err := f.Fetch(t.Context(), []*seracv1.ShuffleFile{file}, dir, "", &fetched)
			require.Equal(t, c.tries, tries)
			require.Equal(t, c.fetched, fetched.Load())
			if c.is == nil {
				require.NoError(t, err)
				got, err := os.ReadFile(paths[0])
				require.NoError(t, err)
				require.Equal(t, content, got)
				return
			}
			require.ErrorIs(t, err, c.is)
			require.Zero(t, entries(t, dir), "nothing half-fetched stays")
			if errors.Is(c.is, wire.ErrShuffleFetch) {
				var failure *wire.Failure
				require.ErrorAs(t, err, &failure)
				require.Same(t, file, failure.ShuffleFile)
			}
		})
	}
}

func TestFetchStopsWithItsTask(t *testing.T) {
	reason := wire.Fail(seracv1.FailureKind_FAILURE_KIND_HANDED_BACK, errors.New("draining"))
	ctx, cancel := context.WithCancelCause(t.Context())
	f := &Fetcher{HostID: "h", Concurrency: 1, Attempts: 3, Backoff: time.Hour, Remote: fakeRemote(func(ctx context.Context, _ *seracv1.ShuffleFile, w io.Writer) error {
		cancel(reason)
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, ctx.Err())
	})}
	_, err := f.Fetch(ctx, []*seracv1.ShuffleFile{{SizeBytes: 1}}, t.TempDir(), "", nil)
	require.ErrorIs(t, err, wire.ErrHandedBack)
}
