package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	icebergio "github.com/apache/iceberg-go/io"

	"github.com/seracdb/serac/wire"
)

// Renew asks for a table's storage configuration as it is now, by the table's key in the fragment.
type Renew func(ctx context.Context, table string) (wire.FileIO, error)

// storage is a table's storage for as long as a task runs: when vended credentials are about to expire, the scheduler is asked
// for others, and what is opened or read from then on goes through these (rule 18). It is an icebergio.IO that can write. It is
// safe for concurrent use.
type storage struct {
	ctx      context.Context // of the task
	tables   *wire.Tables
	table    string
	location string
	renew    Renew // nil: what came is all there is

	mu      sync.Mutex
	fileIO  wire.FileIO
	renewAt time.Time // zero: never
	io      icebergio.IO
	version int // counts renewals
}

// newStorage is the storage of a table that the fragment describes.
func newStorage(ctx context.Context, tables *wire.Tables, described *wire.Table, location string, renew Renew) *storage {
	s := &storage{ctx: ctx, tables: tables, table: described.Key, location: location, renew: renew}
	s.take(described.FileIO)
	return s
}

// take makes a configuration the present one. s is locked, or not shared yet.
func (s *storage) take(fileIO wire.FileIO) {
	s.fileIO, s.renewAt, s.io = fileIO, time.Time{}, nil
	s.version++
	expires, ok := fileIO.Expires()
	if ok && s.renew != nil {
		// Early enough for what is under way, and not so early that short-lived credentials are renewed all the time.
		s.renewAt = expires.Add(-min(maxRenewAhead, time.Until(expires)/3))
	}
}

// maxRenewAhead is how long before they expire credentials are renewed at most.
const maxRenewAhead = 5 * time.Minute

// current is the configuration and the storage that are good now.
func (s *storage) current() (wire.FileIO, icebergio.IO, int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.renewAt.IsZero() && time.Now().After(s.renewAt) {
		fresh, err := s.renew(s.ctx, s.table)
		expires, _ := s.fileIO.Expires()
		switch {
		case err == nil:
			s.take(fresh)
		case time.Now().Before(expires):
			s.renewAt = time.Now().Add(min(time.Second, time.Until(expires)/2)) // they still serve; ask again soon
		default:
			return wire.FileIO{}, nil, 0, fmt.Errorf("credentials of %s have expired, and there are no others: %w", s.table, err)
		}
	}
	if s.io == nil {
		opened, err := s.tables.Opener().Open(s.ctx, s.fileIO, s.location)
		if err != nil {
			return wire.FileIO{}, nil, 0, err
		}
		s.io = opened
	}
	return s.fileIO, s.io, s.version, nil
}

// Open opens a file whose reads outlive the credentials it was opened with.
func (s *storage) Open(name string) (icebergio.File, error) {
	_, below, version, err := s.current()
	if err != nil {
		return nil, err
	}
	f, err := below.Open(name)
	if err != nil {
		return nil, err
	}
	if s.renew == nil {
		return f, nil
	}
	return &renewedFile{File: f, storage: s, name: name, version: version}, nil
}

// Remove removes a file.
func (s *storage) Remove(name string) error {
	_, below, _, err := s.current()
	if err != nil {
		return err
	}
	return below.Remove(name)
}

func (s *storage) writer() (icebergio.WriteFileIO, error) {
	_, below, _, err := s.current()
	if err != nil {
		return nil, err
	}
	w, ok := below.(icebergio.WriteFileIO)
	if !ok {
		return nil, errors.New("the storage cannot be written to")
	}
	return w, nil
}

// Create begins a new file.
func (s *storage) Create(name string) (icebergio.FileWriter, error) {
	w, err := s.writer()
	if err != nil {
		return nil, err
	}
	return w.Create(name)
}

// WriteFile writes a small file.
func (s *storage) WriteFile(name string, p []byte) error {
	w, err := s.writer()
	if err != nil {
		return err
	}
	return w.WriteFile(name, p)
}

// renewedFile opens its file again when the credentials have changed.
type renewedFile struct {
	icebergio.File
	storage *storage
	name    string

	mu      sync.Mutex
	version int
	old     []icebergio.File // reads may still go through these
}

var _ io.ReaderAt = (*renewedFile)(nil)

func (f *renewedFile) ReadAt(p []byte, offset int64) (int, error) {
	file, err := f.present()
	if err != nil {
		return 0, err
	}
	return file.ReadAt(p, offset)
}

func (f *renewedFile) present() (icebergio.File, error) {
	_, below, version, err := f.storage.current()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if version != f.version {
		again, err := below.Open(f.name)
		if err != nil {
			return nil, err
		}
		f.old = append(f.old, f.File)
		f.File, f.version = again, version
	}
	return f.File, nil
}

// Close closes the file, however often it was opened.
func (f *renewedFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.File.Close()
	for _, o := range f.old {
		err = errors.Join(err, o.Close())
	}
	return err
}
