package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// Entry is one write.
type Entry struct {
	// Statement is the statement's id, which is the commit's as well, and marks its data files.
	Statement string `json:"statement"`
	// Schema and Table name the table, TableUUID says which one of that name.
	Schema    string `json:"schema"`
	Table     string `json:"table"`
	TableUUID string `json:"table-uuid"`
	// Created says that the statement has made the table.
	Created bool `json:"created"`
}

// Journal is a process's notes. A nil Journal keeps none. It is safe for concurrent use.
type Journal struct {
	dir  string
	lock *os.File
}

const (
	parentLock = ".lock"
	lockName   = "lock"
	suffix     = ".json"
)

// Open opens a journal of its own in the directory, which is made if it is not there, and takes over the notes of
// processes that are gone: those are returned, and stay noted until End. Processes that live keep theirs.
func Open(parent string) (j *Journal, left []Entry, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open journal of writes: %w", err)
		}
	}()
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, nil, err
	}
	// One process at a time looks at the others.
	whole, err := flock(filepath.Join(parent, parentLock), 0)
	if err != nil {
		return nil, nil, err
	}
	defer whole.Close()
	others, err := os.ReadDir(parent)
	if err != nil {
		return nil, nil, err
	}
	j = &Journal{dir: filepath.Join(parent, uuid.NewString())}
	if err := os.Mkdir(j.dir, 0o755); err != nil {
		return nil, nil, err
	}
	if j.lock, err = flock(filepath.Join(j.dir, lockName), syscall.LOCK_NB); err != nil {
		return nil, nil, err
	}
	for _, other := range others {
		if !other.IsDir() {
			continue
		}
		entries, err := j.takeOver(filepath.Join(parent, other.Name()))
		if err != nil {
			return nil, nil, errors.Join(err, j.Close())
		}
		left = append(left, entries...)
	}
	return j, left, nil
}

// takeOver moves the notes of another process here, if it is gone.
func (j *Journal) takeOver(dir string) ([]Entry, error) {
	lock, err := flock(filepath.Join(dir, lockName), syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil // it lives
	}
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, n := range names {
		if !strings.HasSuffix(n.Name(), suffix) {
			continue
		}
		path := filepath.Join(dir, n.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var e Entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := os.Rename(path, filepath.Join(j.dir, n.Name())); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, os.RemoveAll(dir)
}

// Begin notes a write. No file of it may be written before.
func (j *Journal) Begin(e Entry) error {
	if j == nil {
		return nil
	}
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("note a write: %w", err)
	}
	// Renamed into place, so that a note is there whole or not.
	temporary := filepath.Join(j.dir, e.Statement+".new")
	if err := os.WriteFile(temporary, text, 0o644); err != nil {
		return fmt.Errorf("note a write: %w", err)
	}
	if err := os.Rename(temporary, j.path(e.Statement)); err != nil {
		return fmt.Errorf("note a write: %w", err)
	}
	return nil
}

// End forgets a write that is committed, or of which nothing is left.
func (j *Journal) End(statement string) error {
	if j == nil {
		return nil
	}
	if err := os.Remove(j.path(statement)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forget a write: %w", err)
	}
	return nil
}

func (j *Journal) path(statement string) string { return filepath.Join(j.dir, statement+suffix) }

// Close gives the journal up; notes that are still in it are for the next process.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	notes, err := filepath.Glob(filepath.Join(j.dir, "*"+suffix))
	if err == nil && len(notes) == 0 {
		err = os.RemoveAll(j.dir)
	}
	return errors.Join(err, j.lock.Close())
}

// flock opens a file, making it if need be, and takes its exclusive lock, which ends with the process at the latest.
func flock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close() // nothing was written to it
		return nil, err
	}
	return f, nil
}
