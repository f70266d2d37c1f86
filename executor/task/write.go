package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seracdb/serac/iceberg/write"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// cleanUpTimeout bounds what an attempt that was stopped may still spend on deleting its files from the table's storage.
const cleanUpTimeout = 30 * time.Second

// writeData runs the query into data files of the table. Until the status is reported they are this attempt's to delete;
// from then on they are the scheduler's.
func (a *attempt) writeData(ctx context.Context, root *plan.IcebergWrite, sql string) (*seracv1.TaskStatus, error) {
	t, err := a.table(ctx, root.TableKey)
	if err != nil {
		return nil, err
	}
	described := a.fragment.Tables[root.TableKey]
	if described.ReadOnly {
		return nil, fmt.Errorf("write to %s: %w", root.TableKey, wire.ErrReadOnly)
	}
	spec := t.Metadata().PartitionSpecByID(int(root.SpecID))
	if spec == nil {
		return nil, fmt.Errorf("table %s has no partition spec %d", root.TableKey, root.SpecID)
	}
	writer, err := write.New(root, write.Table{
		Schema: t.Schema(), Spec: spec, Location: t.Location(), FormatVersion: t.Metadata().Version(), Properties: t.Properties(),
		Statement: a.task.ID().GetJobId(),
	})
	if err != nil {
		return nil, err
	}
	io := newStorage(context.WithoutCancel(ctx), a.Tables, described, t.Location(), a.task.renew)
	dir := filepath.Join(a.dir, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	copySQL, err := writer.CopySQL(sql, dir)
	if err != nil {
		return nil, err
	}
	rows, err := a.conn.Rows(ctx, copySQL)
	if err != nil {
		return nil, err
	}
	local, err := writer.Collect(rows)
	if err != nil {
		return nil, err
	}
	files, err := writer.Move(ctx, io, local)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		paths := make([]string, len(files))
		for i, f := range files {
			paths[i] = f.GetPath()
		}
		cleanUp, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
		defer cancel()
		return nil, errors.Join(err, write.Delete(cleanUp, io, paths))
	}
	status := a.status(seracv1.TaskState_TASK_STATE_FINISHED)
	status.DataFiles = files
	for _, f := range files {
		a.task.outputRows.Add(f.GetRecordCount())
		a.task.outputBytes.Add(f.GetSizeBytes())
	}
	return status, nil
}
