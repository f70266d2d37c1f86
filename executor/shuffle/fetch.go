package shuffle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// Remote reads a shuffle file from the executor that has it.
type Remote interface {
	// ReadShuffle writes the file's bytes to w. An error of w comes back as it is, wrapped in ErrWrite.
	ReadShuffle(ctx context.Context, file *seracv1.ShuffleFile, w io.Writer) error
}

// ErrWrite marks errors of the writer that Remote.ReadShuffle was given.
var ErrWrite = errors.New("write fetched file")

// Fetcher brings shuffle files into a directory of the task that reads them. Files of the same host are linked, so that
// they stay while they are read and DuckDB needs no access to other executors' directories; all others are copied from
// their executor. It is safe for concurrent use.
type Fetcher struct {
	Remote Remote
	// HostID is this host's name; files with the same are looked for in the file system first.
	HostID string
	// Concurrency bounds the files that one Fetch brings at once.
	Concurrency int
	// Attempts is how often a remote read is tried, Backoff the wait after the first failure; it doubles.
	Attempts int
	Backoff  time.Duration
}

// Fetch brings the files into dir, an existing directory, under names that begin with prefix, and returns their paths in
// the same order. fetched counts the bytes that came over the network, as they come; it may be nil. A file that cannot be
// had fails it with wire.ErrShuffleFetch and the file; a full disk with wire.ErrResourcesExhausted; the end of ctx with
// its cause.
func (f *Fetcher) Fetch(ctx context.Context, files []*seracv1.ShuffleFile, dir, prefix string, fetched *atomic.Int64) ([]string, error) {
	if fetched == nil {
		fetched = new(atomic.Int64)
	}
	paths := make([]string, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(f.Concurrency, 1))
	for i, file := range files {
		paths[i] = filepath.Join(dir, fmt.Sprintf("%s%d.parquet", prefix, i))
		group.Go(func() error { return f.fetchOne(ctx, file, paths[i], fetched) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return paths, nil
}

func (f *Fetcher) fetchOne(ctx context.Context, file *seracv1.ShuffleFile, target string, fetched *atomic.Int64) error {
	if file.GetHostId() != "" && file.GetHostId() == f.HostID && file.GetPath() != "" {
		done, err := takeLocal(ctx, file, target)
		if done || err != nil {
			return err
		}
	}
	backoff := f.Backoff
	for try := 1; ; try++ {
		err := f.readRemote(ctx, file, target, fetched)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, ErrWrite) {
			return fmt.Errorf("fetch shuffle file: %w", diskFailure(err))
		}
		if try >= f.Attempts || !errors.Is(err, wire.ErrTransport) {
			// What the other side calls it (cancelled, say) is not what it is for this task.
			return wire.FailFetch(file, &wire.Failure{Kind: seracv1.FailureKind_FAILURE_KIND_TRANSPORT, Message: err.Error()})
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(backoff):
		}
		backoff *= 2
	}
}

func (f *Fetcher) readRemote(ctx context.Context, file *seracv1.ShuffleFile, target string, fetched *atomic.Int64) error {
	out, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	counted := &counter{w: out, total: fetched}
	err = f.Remote.ReadShuffle(ctx, file, counted)
	if closeErr := out.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("%w: %w", ErrWrite, closeErr)
	}
	if err == nil && counted.n != file.GetSizeBytes() {
		err = wire.Failf(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, "got %d bytes of %d", counted.n, file.GetSizeBytes())
	}
	if err != nil {
		fetched.Add(-counted.n)
		os.Remove(target)
	}
	return err
}

type counter struct {
	w     io.Writer
	n     int64
	total *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.total.Add(int64(n))
	return n, err
}

// takeLocal links or copies a file of this host. It is not done when the file is not there, or not what it should be:
// another host may go by the same name, or another user's files may be closed to us.
func takeLocal(ctx context.Context, file *seracv1.ShuffleFile, target string) (done bool, err error) {
	info, err := os.Stat(file.GetPath())
	if err != nil || !info.Mode().IsRegular() || info.Size() != file.GetSizeBytes() {
		return false, nil
	}
	if os.Link(file.GetPath(), target) == nil {
		return true, nil
	}
	in, err := os.Open(file.GetPath())
	if err != nil {
		return false, nil
	}
	defer in.Close()
	out, err := os.Create(target)
	if err != nil {
		return false, fmt.Errorf("copy shuffle file: %w", diskFailure(err))
	}
	n, err := io.Copy(out, &cancellable{ctx, in})
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(target)
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, fmt.Errorf("copy shuffle file: %w", diskFailure(err))
	}
	if n != file.GetSizeBytes() {
		os.Remove(target)
		return false, nil
	}
	return true, nil
}

// cancellable stops a copy when its context ends.
type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// diskFailure marks an error of the local disk: a full one is a resource that ran out, and another executor may have it.
func diskFailure(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED, err)
	}
	return wire.Fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, err)
}
