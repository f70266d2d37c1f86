package scan

import (
	"context"
	"fmt"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// deleteSequences are the data sequence numbers of a snapshot's delete files. iceberg-go's tasks name the deletes of each
// file without them; with them a reader tells by one comparison which deletes apply to which of many files. Nothing is read
// when no task has deletes.
func deleteSequences(ctx context.Context, t *table.Table, snapshot *table.Snapshot, tasks []table.FileScanTask) (map[deleteKey]int64, error) {
	wanted := map[deleteKey]bool{}
	for _, task := range tasks {
		for _, deletes := range [][]ice.DataFile{task.DeleteFiles, task.EqualityDeleteFiles, task.DeletionVectorFiles} {
			for _, d := range deletes {
				wanted[keyOf(d)] = true
			}
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	manifests, err := snapshot.Manifests(fs)
	if err != nil {
		return nil, err
	}
	found := make(map[deleteKey]int64, len(wanted))
	for _, m := range manifests {
		if m.ManifestContent() != ice.ManifestContentDeletes || len(found) == len(wanted) {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				return nil, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			if key := keyOf(e.DataFile()); wanted[key] {
				found[key] = e.SequenceNum()
			}
		}
	}
	for key := range wanted {
		if _, ok := found[key]; !ok {
			return nil, fmt.Errorf("delete file %s is in no manifest of snapshot %d", key.path, snapshot.SnapshotID)
		}
	}
	return found, nil
}

func keyOf(d ice.DataFile) deleteKey {
	key := deleteKey{path: d.FilePath()}
	if d.ContentOffset() != nil {
		key.offset = *d.ContentOffset()
	}
	return key
}
