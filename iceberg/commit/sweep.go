package commit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	icebergio "github.com/apache/iceberg-go/io"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
)

// Sweep removes the data files that a statement wrote and did not commit: those that an executor had put in place when
// it was lost, which no status names (rule 24). keep are the committed ones. It lists the table's data location, so call
// it only when something was lost, and never while an attempt may still write. It returns how many files it removed.
func Sweep(ctx context.Context, t *catalog.Table, statement string, keep []string) (int, error) {
	store, err := t.FS(ctx)
	if err != nil {
		return 0, err
	}
	lister, ok := store.(icebergio.ListableIO)
	if !ok {
		return 0, fmt.Errorf("sweep %s: its storage cannot be listed", t.Name())
	}
	kept := make(map[string]bool, len(keep))
	for _, k := range keep {
		kept[path.Base(k)] = true
	}
	var left []string
	prefix := iceberg.DataFilePrefix(statement)
	root := iceberg.DataLocation(t.Location(), t.Properties())
	err = lister.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing was written yet, or somebody else removed it
		case err != nil:
			return err
		}
		if name := path.Base(p); !d.IsDir() && strings.HasPrefix(name, prefix) && !kept[name] {
			left = append(left, p)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("sweep %s: list %s: %w", t.Name(), root, err)
	}
	return len(left), DeleteFiles(ctx, store, left)
}
