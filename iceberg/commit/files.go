package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	icebergio "github.com/apache/iceberg-go/io"
	"golang.org/x/sync/errgroup"
)

// maxConcurrentDeletes bounds the requests in flight while files are removed.
const maxConcurrentDeletes = 16

// DeleteFiles removes files of a failed or superseded attempt, by their paths. Files that are not there are no error. It
// goes on after a failure and returns all of them joined; a done context stops it.
func DeleteFiles(ctx context.Context, io icebergio.IO, paths []string) error {
	var mu sync.Mutex
	var failures []error
	var g errgroup.Group
	g.SetLimit(maxConcurrentDeletes)
	for _, path := range paths {
		if err := context.Cause(ctx); err != nil {
			failures = append(failures, err)
			break
		}
		g.Go(func() error {
			if err := io.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, fmt.Errorf("delete %s: %w", path, err))
			}
			return nil
		})
	}
	_ = g.Wait() // failures are in the list
	return errors.Join(failures...)
}
