package commit

import (
	"context"
	"fmt"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/catalog"
)

// stageOverwrite replaces every file of the base. The head is asserted explicitly, which makes the commit a
// compare-and-swap: iceberg-go does not look for concurrent deletes here.
func stageOverwrite(ctx context.Context, tx *table.Transaction, base *catalog.Table, files []ice.DataFile, summary ice.Properties) error {
	current := base.Iceberg().CurrentSnapshot()
	if current == nil {
		if len(files) == 0 {
			return nil
		}
		return stageAppend(ctx, tx, base, files, summary)
	}
	if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
		return err
	}
	fs, err := base.FS(ctx)
	if err != nil {
		return err
	}
	manifests, err := current.Manifests(fs)
	if err != nil {
		return err
	}
	var data, deletes []ice.DataFile
	for _, m := range manifests {
		for e, err := range m.Entries(fs, true) {
			if err != nil {
				return fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			if e.DataFile().ContentType() == ice.EntryContentData {
				data = append(data, e.DataFile())
			} else {
				deletes = append(deletes, e.DataFile())
			}
		}
	}
	return tx.ReplaceFiles(ctx, data, files, deletes, summary, table.WithoutAutoNameMapping())
}
