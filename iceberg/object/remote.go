package object

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	icebergio "github.com/apache/iceberg-go/io"
	"golang.org/x/sync/errgroup"
)

// partSize is how much one range request asks for: large enough that latency does not count, small enough for many at once.
const partSize = 8 << 20

// download fetches a whole object into a new file, in parallel ranges, and returns its size.
func (s *Store) download(ctx context.Context, io icebergio.IO, location, to string) (size int64, err error) {
	object, err := io.Open(location)
	if err != nil {
		return 0, err
	}
	defer object.Close()
	info, err := object.Stat()
	if err != nil {
		return 0, err
	}
	size = info.Size()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(cap(s.requests))
	for offset := int64(0); offset < size; offset += partSize {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			part, err := s.readRange(groupCtx, object, offset, min(partSize, size-offset))
			if err != nil {
				return err
			}
			_, err = file.WriteAt(part, offset)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return size, context.Cause(ctx)
}

// readRange reads bytes of an object when one of the store's requests is free.
func (s *Store) readRange(ctx context.Context, object icebergio.File, offset, length int64) ([]byte, error) {
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	part := make([]byte, length)
	if err := readFull(object, part, offset); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return part, nil
}

// remoteFooter reads the footer of a remote object: from the cache if the object is there, else by range requests.
func (s *Store) remoteFooter(ctx context.Context, storage Storage, k key) (*metadata.FileMetaData, error) {
	if path, release := s.cached(k); release != nil {
		defer release()
		return ReadLocalFooter(path)
	}
	select {
	case s.requests <- struct{}{}:
		defer func() { <-s.requests }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	object, err := storage.IO.Open(k.location)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	info, err := object.Stat()
	if err != nil {
		return nil, err
	}
	return ReadFooter(object, info.Size())
}

// cached holds the object of a key if it is complete in the cache. release is nil when it is not.
func (s *Store) cached(k key) (path string, release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[k]
	if !ok {
		return "", nil
	}
	select {
	case <-e.made:
	default:
		return "", nil
	}
	e.users++
	if e.place != nil {
		s.released.Remove(e.place)
		s.kept -= e.size
		e.place = nil
	}
	return e.path, func() { s.leave(e) }
}
