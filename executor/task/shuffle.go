package task

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// writeShuffle runs the query into shuffle files. They stay in the store until the job ends, and go when the attempt
// fails.
func (a *attempt) writeShuffle(ctx context.Context, root *plan.ShuffleWrite, sql string) (status *seracv1.TaskStatus, err error) {
	types := root.Input.Schema().Types()
	columns := make([]string, len(types))
	for i := range columns {
		columns[i] = shuffle.Column(i)
	}
	keys := make([]string, len(root.Keys))
	for i, k := range root.Keys {
		if keys[i], err = render.Expr(k, columns); err != nil {
			return nil, fmt.Errorf("render shuffle key: %w", err)
		}
	}
	by := shuffle.Partitioning{Keys: keys, Partitions: root.Partitions}
	if root.Partition != nil {
		if by.Number, err = render.Expr(root.Partition, columns); err != nil {
			return nil, fmt.Errorf("render shuffle partition: %w", err)
		}
	}
	if root.Partitions > maxOpenPartitions {
		return nil, fmt.Errorf("shuffle write: %d partitions, at most %d are possible", root.Partitions, maxOpenPartitions)
	}
	id := a.task.ID()
	dir, err := a.Store.Begin(id)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Store.Discard(id))
		}
	}()
	copySQL, err := shuffle.WriteSQL(sql, types, by, dir)
	if err != nil {
		return nil, err
	}
	rows, err := a.conn.Rows(ctx, copySQL)
	if err != nil {
		return nil, err
	}
	files, empty, err := shuffle.ParseStats(rows)
	if err != nil {
		return nil, err
	}
	for _, path := range empty {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove empty shuffle file: %w", err)
		}
	}
	summaries, err := a.summarize(ctx, root, files)
	if err != nil {
		return nil, fmt.Errorf("summarise shuffle output: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := a.Store.Commit(id, files); err != nil {
		return nil, err
	}
	status = a.status(seracv1.TaskState_TASK_STATE_FINISHED)
	status.Summaries = summaries
	for _, f := range files {
		a.task.outputRows.Add(f.Rows)
		a.task.outputBytes.Add(f.Bytes)
		status.ShuffleFiles = append(status.ShuffleFiles, &seracv1.ShuffleFile{
			Producer: id, Partition: int32(f.Partition), SizeBytes: f.Bytes, Rows: f.Rows, ExecutorId: a.executorID,
			FlightAddress: a.FlightAddress, HostId: a.HostID, Path: f.Path,
		})
	}
	return status, nil
}
