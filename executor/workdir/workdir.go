package workdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"
)

const (
	prefix     = "executor-"
	lockName   = "lock"
	parentLock = ".executors.lock"
)

// Dir is a locked directory. Close removes it.
type Dir struct {
	path string
	once sync.Once
	lock *os.File
	err  error
}

// Create makes a new directory below parent (which it makes if it is not there) and locks it, after removing directories
// there whose executors are gone. swept counts those. The path is absolute and free of symbolic links.
func Create(parent string) (d *Dir, swept int, err error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, 0, fmt.Errorf("make spill directory: %w", err)
	}
	if parent, err = filepath.Abs(parent); err != nil {
		return nil, 0, fmt.Errorf("spill directory: %w", err)
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return nil, 0, fmt.Errorf("spill directory: %w", err)
	}
	// Between making a directory and locking it nobody may sweep.
	whole, err := lock(filepath.Join(parent, parentLock), true)
	if err != nil {
		return nil, 0, fmt.Errorf("lock spill directory %s: %w", parent, err)
	}
	defer whole.Close()
	swept, err = sweep(parent)
	if err != nil {
		return nil, swept, err
	}
	path := filepath.Join(parent, prefix+uuid.NewString())
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, swept, fmt.Errorf("make executor directory: %w", err)
	}
	own, err := lock(filepath.Join(path, lockName), false)
	if err != nil {
		return nil, swept, errors.Join(fmt.Errorf("lock executor directory %s: %w", path, err), os.RemoveAll(path))
	}
	return &Dir{path: path, lock: own}, swept, nil
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// Sub makes a directory of that name inside and returns its path.
func (d *Dir) Sub(name string) (string, error) {
	path := filepath.Join(d.path, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("make %s directory: %w", name, err)
	}
	return path, nil
}

// Close removes the directory with all that is in it, and gives the lock up. Closing twice does nothing.
func (d *Dir) Close() error {
	d.once.Do(func() {
		// The lock goes last, so that nobody sweeps at the same time.
		d.err = errors.Join(os.RemoveAll(d.path), d.lock.Close())
	})
	return d.err
}

// sweep removes the directories whose locks are free.
func sweep(parent string) (swept int, err error) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return 0, fmt.Errorf("list spill directory: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		path := filepath.Join(parent, entry.Name())
		held, err := lock(filepath.Join(path, lockName), false)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrPermission) {
			continue // its executor lives, or it is not ours
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return swept, fmt.Errorf("lock %s: %w", path, err)
		}
		removeErr := os.RemoveAll(path)
		if held != nil {
			_ = held.Close() // nothing was written to it
		}
		if removeErr != nil {
			return swept, fmt.Errorf("remove what a dead executor left: %w", removeErr)
		}
		swept++
	}
	return swept, nil
}

// lock opens the file, making it if needed, and takes its exclusive lock, which goes with the file's closing or the
// process. With wait it waits for another holder, else it fails with EWOULDBLOCK.
func lock(path string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
