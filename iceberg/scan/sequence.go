package scan

import (
	"context"
	"fmt"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/manifest"
)

// deleteSequences are the data sequence numbers of the tasks' delete files. iceberg-go's tasks name the deletes of each
// file without them; with them a reader tells by one comparison which deletes apply to which of many files. Nothing is read
// when no task has deletes.
func (s *source) deleteSequences(ctx context.Context, list []*manifest.Manifest, tasks []table.FileScanTask) (map[manifest.DeleteKey]int64, error) {
	wanted := map[manifest.DeleteKey]bool{}
	for _, task := range tasks {
		for _, deletes := range [][]ice.DataFile{task.DeleteFiles, task.EqualityDeleteFiles, task.DeletionVectorFiles} {
			for _, d := range deletes {
				wanted[manifest.KeyOf(d)] = true
			}
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	fs, err := s.manifests.FS(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[manifest.DeleteKey]int64, len(wanted))
	for _, m := range list {
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
			if key := manifest.KeyOf(e.DataFile()); wanted[key] {
				found[key] = e.SequenceNum()
			}
		}
	}
	for key := range wanted {
		if _, ok := found[key]; !ok {
			return nil, fmt.Errorf("delete file %s is in no manifest of snapshot %d", key.Path, s.snapshot.SnapshotID)
		}
	}
	return found, nil
}
