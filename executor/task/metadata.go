package task

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seracdb/serac/iceberg/inspect"
	"github.com/seracdb/serac/plan"
)

// metadataScan writes the rows of a metadata table to a file of the attempt's directory and reads them from there.
func (a *attempt) metadataScan(ctx context.Context, n *plan.MetadataScan) (string, error) {
	t, err := a.table(ctx, n.TableKey)
	if err != nil {
		return "", err
	}
	path := filepath.Join(a.dir, fmt.Sprintf("leaf%d.parquet", n.Leaf))
	rows, err := inspect.WriteParquet(ctx, inspect.Input{Table: t, Kind: n.Kind, SnapshotID: n.SnapshotID, Columns: n.Columns}, path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", n.TableKey, err)
	}
	a.task.inputRows.Add(rows)
	if info, err := os.Stat(path); err == nil {
		a.task.inputBytes.Add(info.Size())
	}
	return inspect.SQL(n.Columns, path), nil
}
