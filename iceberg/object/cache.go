package object

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

var errNoSpace = syscall.ENOSPC

// key names a cached object.
type key struct {
	scope, location string
	part            string // of the object; "" is the whole
}

// entry is a cached object: being made, in use, or released.
type entry struct {
	key     key
	path    string
	size    int64 // what it counts in the cache; 0 for links, which go with their last user
	link    bool
	users   int           // callers that hold or await it
	made    chan struct{} // closed when path, size and err are final
	err     error
	fetched int64
	cancel  context.CancelFunc // stops the making when nobody waits any more
	place   *list.Element      // in Store.released; nil while in use
}

// file returns the cached object of a key, made by linking the local file source if that is not "", else by fetch, which
// writes the file at path and returns its size. Callers of the same key share one making. It goes on when the
// caller that started it leaves, and stops when all have.
func (s *Store) file(ctx context.Context, k key, fetch func(ctx context.Context, path string) (int64, error), source string) (*File, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errors.New("object cache: closed")
	}
	e, ok := s.entries[k]
	if !ok {
		makeCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s.names++
		e = &entry{
			key: k, made: make(chan struct{}), cancel: cancel,
			path: filepath.Join(s.options.Dir, fmt.Sprintf("%s%d.parquet", cachePrefix, s.names)),
		}
		s.entries[k] = e
		go s.make(makeCtx, e, fetch, source)
	}
	e.users++
	if e.place != nil {
		s.released.Remove(e.place)
		s.kept -= e.size
		e.place = nil
	}
	s.mu.Unlock()

	select {
	case <-e.made:
	case <-ctx.Done():
		s.leave(e)
		return nil, fmt.Errorf("open %s: %w", k.location, context.Cause(ctx))
	}
	if e.err != nil {
		s.leave(e)
		return nil, storageFailure(ctx, "open", k.location, e.err)
	}
	f := &File{Path: e.path, release: func() { s.leave(e) }}
	if !ok {
		f.Fetched = e.fetched
	}
	return f, nil
}

func (s *Store) make(ctx context.Context, e *entry, fetch func(context.Context, string) (int64, error), source string) {
	defer e.cancel()
	var err error
	if source != "" {
		e.link, e.size, err = linkOrCopy(source, e.path)
	} else {
		e.size, err = fetch(ctx, e.path)
		e.fetched = e.size
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		e.err = err
		os.Remove(e.path)
		// The next caller tries again; those who wait get this error.
		if s.entries[e.key] == e {
			delete(s.entries, e.key)
		}
	}
	close(e.made)
}

// leave is one user less.
func (s *Store) leave(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.users--
	if e.users > 0 {
		return
	}
	select {
	case <-e.made:
	default:
		// Nobody waits any more. A caller that comes now starts anew.
		e.cancel()
		if s.entries[e.key] == e {
			delete(s.entries, e.key)
		}
		go s.discard(e)
		return
	}
	if e.err != nil {
		return
	}
	if e.link || s.closed {
		s.drop(e)
		return
	}
	e.place = s.released.PushFront(e)
	s.kept += e.size
	for s.kept > s.options.MaxBytes {
		oldest := s.released.Back()
		victim := s.released.Remove(oldest).(*entry)
		victim.place = nil
		s.kept -= victim.size
		s.drop(victim)
	}
}

// drop removes an entry that nobody uses. The store must be locked.
func (s *Store) drop(e *entry) {
	if s.entries[e.key] == e {
		delete(s.entries, e.key)
	}
	os.Remove(e.path)
}

// discard removes what an abandoned making leaves.
func (s *Store) discard(e *entry) {
	<-e.made
	os.Remove(e.path)
}

// linkOrCopy makes to the same file as from, or a copy of it where the file system cannot link. A copy counts its size.
func linkOrCopy(from, to string) (link bool, size int64, err error) {
	info, err := os.Stat(from)
	if err != nil {
		return false, 0, err
	}
	if !info.Mode().IsRegular() {
		return false, 0, errors.New("not a regular file")
	}
	// The link is to the file that a symbolic link leads to, never to the symbolic link.
	target, err := filepath.EvalSymlinks(from)
	if err != nil {
		return false, 0, err
	}
	if os.Link(target, to) == nil {
		return true, 0, nil
	}
	in, err := os.Open(target)
	if err != nil {
		return false, 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false, 0, err
	}
	if size, err = io.Copy(out, in); err != nil {
		return false, 0, errors.Join(err, out.Close())
	}
	return false, size, out.Close()
}
