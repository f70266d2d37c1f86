package object

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	icebergio "github.com/apache/iceberg-go/io"
	lru "github.com/hashicorp/golang-lru/v2"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

const (
	defaultMaxBytes = 10 << 30
	defaultParallel = 16
	maxFooters      = 256
	// cachePrefix begins the names of the cache's files, so that emptying a directory at the start can take nothing else.
	cachePrefix = "serac-object-"
)

// Options says where a Store keeps its files.
type Options struct {
	// Dir is the cache's directory, absolute; it belongs to the Store, which removes at the start what an earlier one
	// left. DuckDB must be allowed to read it.
	Dir string
	// MaxBytes bounds what the cache keeps of released files; files in use may go beyond it. 0: 10 GiB.
	MaxBytes int64
	// InPlace are absolute directories whose files DuckDB may read where they are. Local files elsewhere are hard-linked
	// into Dir, or copied when Dir is on another file system: a sandboxed DuckDB must not be opened to directories that a
	// table's metadata names, and a symbolic link would lead it out of its sandbox.
	InPlace []string
	// Parallel is the number of range requests in flight for the whole Store; 0: 16.
	Parallel int
}

// Storage is where a table's remote objects are read from.
type Storage struct {
	// IO reads remote objects; it may be nil for tables on local disk.
	IO icebergio.IO
	// Scope names whose access IO has: cached objects are shared among equal scopes only, so that one user's
	// credentials never serve another's read (rule 5). It holds no secret; a fingerprint does.
	Scope string
}

// Store is the executor's cache of objects. It is safe for concurrent use.
type Store struct {
	options  Options
	requests chan struct{} // holds one token a range request in flight
	footers  *lru.Cache[key, *metadata.FileMetaData]

	mu       sync.Mutex
	entries  map[key]*entry
	released *list.List // of *entry, the most recently used at the front
	kept     int64      // bytes of the released entries
	names    int64
	closed   bool
}

// Open makes the cache's directory and empties it of an earlier Store's files.
func Open(o Options) (*Store, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if !filepath.IsAbs(o.Dir) || !plainToDuckDB(o.Dir) {
		return nil, fmt.Errorf("object cache: directory %q must be absolute and free of *?[]{}\\", o.Dir)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("object cache: %w", err)
	}
	footers, err := lru.New[key, *metadata.FileMetaData](maxFooters)
	if err != nil {
		return nil, fmt.Errorf("object cache: %w", err)
	}
	s := &Store{
		options: o, requests: make(chan struct{}, o.Parallel), footers: footers,
		entries: make(map[key]*entry), released: list.New(),
	}
	if err := s.empty(); err != nil {
		return nil, fmt.Errorf("object cache: %w", err)
	}
	return s, nil
}

// Dirs are the directories that DuckDB must be allowed to read.
func (s *Store) Dirs() []string { return append([]string{s.options.Dir}, s.options.InPlace...) }

// File is an object as a local file. It stays as it is until Release.
type File struct {
	// Path is the local file.
	Path string
	// Fetched is how many bytes were fetched from storage for this call; 0 when the object was there.
	Fetched int64

	release func()
	once    sync.Once
}

// Release lets the file go: the cache may now evict it. Releasing twice does nothing.
func (f *File) Release() {
	if f.release != nil {
		f.once.Do(f.release)
	}
}

// Local makes the object at location (a URI, or a plain path) a local file. A failure of storage is transport and may
// be tried again; an object that is not there is the statement's.
func (s *Store) Local(ctx context.Context, storage Storage, location string) (*File, error) {
	path, isLocal, err := LocalPath(location)
	if err != nil {
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
	}
	if isLocal {
		if within(path, s.options.InPlace) && plainToDuckDB(path) {
			if _, err := os.Stat(path); err != nil {
				return nil, storageFailure(ctx, "open", location, err)
			}
			return &File{Path: path}, nil
		}
		return s.file(ctx, key{location: path}, func(context.Context, string) (int64, error) { return 0, nil }, path)
	}
	if storage.IO == nil {
		return nil, wire.Failf(seracv1.FailureKind_FAILURE_KIND_INTERNAL, "open %s: no storage was given", location)
	}
	fetch := func(ctx context.Context, to string) (int64, error) { return s.download(ctx, storage.IO, location, to) }
	return s.file(ctx, key{scope: storage.Scope, location: location}, fetch, "")
}

// Footer reads the Parquet footer of the object. Of a remote object that is not in the cache no more than the footer is
// fetched.
func (s *Store) Footer(ctx context.Context, storage Storage, location string) (*metadata.FileMetaData, error) {
	path, isLocal, err := LocalPath(location)
	if err != nil {
		return nil, wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
	}
	k := key{scope: storage.Scope, location: location}
	if isLocal {
		k = key{location: path}
	}
	if footer, ok := s.footers.Get(k); ok {
		return footer, nil
	}
	var footer *metadata.FileMetaData
	if isLocal {
		footer, err = ReadLocalFooter(path)
	} else {
		footer, err = s.remoteFooter(ctx, storage, k)
	}
	if err != nil {
		return nil, storageFailure(ctx, "read the footer of", location, err)
	}
	s.footers.Add(k, footer)
	return footer, nil
}

// ReadLocalFooter reads the Parquet footer of a local file.
func ReadLocalFooter(path string) (*metadata.FileMetaData, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return ReadFooter(f, info.Size())
}

// Close removes the cache's files. Files that are still in use become unreadable by name.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return s.empty()
}

func (s *Store) empty() error {
	entries, err := os.ReadDir(s.options.Dir)
	if err != nil {
		return err
	}
	var failures []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), cachePrefix) {
			failures = append(failures, os.Remove(filepath.Join(s.options.Dir, e.Name())))
		}
	}
	return errors.Join(failures...)
}

// storageFailure types an error of reading an object.
func storageFailure(ctx context.Context, doing, location string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s %s: %w", doing, location, err)
	switch {
	case ctx.Err() != nil:
		return err // the context's error has a kind of its own
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotParquet):
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_STATEMENT, err)
	case errors.Is(err, errNoSpace):
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED, err)
	default:
		return wire.Fail(seracv1.FailureKind_FAILURE_KIND_TRANSPORT, err)
	}
}
