package write

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	icebergio "github.com/apache/iceberg-go/io"
	"github.com/google/uuid"
	"github.com/twmb/murmur3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/object"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// maxMoving is how many files are moved at once.
const maxMoving = 8

// Move moves the files to their final names under the table's data location and returns them with those names. storage
// may be nil when the location is on local disk. When Move fails it deletes what it had moved; a failure of storage is
// transport and may be tried again by writing anew.
func (w *Writer) Move(ctx context.Context, storage icebergio.IO, files []*seracv1.DataFile) ([]*seracv1.DataFile, error) {
	out := make([]*seracv1.DataFile, len(files))
	var mu sync.Mutex
	var moved []string
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxMoving)
	for i, f := range files {
		location := w.location(f)
		out[i] = proto.CloneOf(f)
		out[i].Path = location
		group.Go(func() error {
			if groupCtx.Err() != nil {
				return context.Cause(groupCtx)
			}
			// Named before it is moved: what a failed move leaves of it goes too.
			mu.Lock()
			moved = append(moved, location)
			mu.Unlock()
			if err := move(groupCtx, storage, f.GetPath(), location); err != nil {
				return fmt.Errorf("move a data file to %s: %w", location, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() == nil {
			kind := seracv1.FailureKind_FAILURE_KIND_TRANSPORT
			if errors.Is(err, syscall.ENOSPC) {
				kind = seracv1.FailureKind_FAILURE_KIND_RESOURCES_EXHAUSTED
			}
			err = wire.Fail(kind, err)
		}
		return nil, errors.Join(err, Delete(context.WithoutCancel(ctx), storage, moved))
	}
	return out, nil
}

// location is a new name for a file: under its partition's directory, unique by itself.
func (w *Writer) location(f *seracv1.DataFile) string {
	base := iceberg.DataLocation(w.table.Location, w.table.Properties)
	name := uuid.NewString() + ".parquet"
	if w.table.Statement != "" {
		name = iceberg.DataFilePrefix(w.table.Statement) + name
	}
	parts := []string{base}
	if strings.EqualFold(w.table.Properties["write.object-storage.enabled"], "true") {
		parts = append(parts, hashPath(name))
	}
	for _, p := range w.partitions {
		text := "null"
		if value, ok := f.GetPartition()[p.FieldID]; ok {
			if v, err := iceberg.DecodeValue(p.result, value); err == nil {
				text = p.transform.ToHumanStrType(p.source.field.Iceberg, v)
			}
		}
		parts = append(parts, plainName(p.Name)+"="+plainName(text))
	}
	return strings.Join(append(parts, name), "/")
}

// plainName is a text that every file system, object store and URI takes as it is; what else is in it becomes "_". The
// directory is for people: the file's own name is unique.
func plainName(s string) string {
	const longest = 64
	out := make([]byte, 0, min(len(s), longest))
	for i := 0; i < len(s) && i < longest; i++ {
		c := s[i]
		if c != '-' && c != '.' && c != '_' && c != ':' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			c = '_'
		}
		if c == ':' {
			c = '-'
		}
		out = append(out, c)
	}
	if text := string(out); text != "" && text != "." && text != ".." {
		return text
	}
	return "_"
}

// hashPath spreads files over an object store's key space, as other writers of Iceberg do.
func hashPath(name string) string {
	bits := fmt.Sprintf("%020b", murmur3.Sum32([]byte(name))&(1<<20-1))
	return bits[:4] + "/" + bits[4:8] + "/" + bits[8:12] + "/" + bits[12:]
}

func move(ctx context.Context, storage icebergio.IO, from, location string) error {
	path, isLocal, err := object.LocalPath(location)
	if err != nil {
		return err
	}
	if isLocal {
		return moveLocal(from, path)
	}
	target, ok := storage.(icebergio.WriteFileIO)
	if !ok {
		return errors.New("the storage cannot be written to")
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := target.Create(location)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, &contextReader{ctx, in}); err != nil {
		return errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Remove(from)
}

// contextReader stops a copy when its context ends.
type contextReader struct {
	ctx context.Context
	in  io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(p)
}

func moveLocal(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	// Another file system: copied under a name that nobody reads, then renamed, so that the file is there whole or not.
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	temporary := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".tmp")
	out, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(temporary, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return os.Remove(from)
}

// Delete removes data files by their locations: those of an attempt that failed after Move, or that was superseded. Files
// that are not there are no error.
func Delete(ctx context.Context, storage icebergio.IO, locations []string) error {
	var remote []string
	var failures []error
	for _, location := range locations {
		path, isLocal, err := object.LocalPath(location)
		switch {
		case err != nil:
			failures = append(failures, err)
		case !isLocal:
			remote = append(remote, location)
		default:
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failures = append(failures, err)
			}
		}
	}
	if len(remote) > 0 {
		if bulk, ok := storage.(icebergio.BulkRemovableIO); ok {
			_, err := bulk.DeleteFiles(ctx, remote)
			failures = append(failures, err)
		} else if storage == nil {
			failures = append(failures, errors.New("delete data files: no storage was given"))
		} else {
			for _, location := range remote {
				if err := storage.Remove(location); err != nil && !errors.Is(err, fs.ErrNotExist) {
					failures = append(failures, err)
				}
			}
		}
	}
	return errors.Join(failures...)
}
