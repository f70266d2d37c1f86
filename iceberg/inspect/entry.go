package inspect

import (
	"context"
	"fmt"

	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"
)

// reach says which manifests' entries are rows.
type reach struct {
	all     bool // those of every snapshot, each once; else those of the one snapshot
	deleted bool // also what a manifest notes as deleted
	wants   func(ice.ManifestFile) bool
}

func everyManifest(ice.ManifestFile) bool { return true }

func dataManifest(m ice.ManifestFile) bool { return m.ManifestContent() == ice.ManifestContentData }

func deleteManifest(m ice.ManifestFile) bool {
	return m.ManifestContent() == ice.ManifestContentDeletes
}

// manifests are those in reach, in the order of the snapshots.
func (r reach) manifests(ctx context.Context, t *table.Table, fs icebergio.IO) ([]ice.ManifestFile, error) {
	var snapshots []table.Snapshot
	if r.all {
		snapshots = t.Metadata().Snapshots()
	} else if s := t.CurrentSnapshot(); s != nil {
		snapshots = []table.Snapshot{*s}
	}
	var out []ice.ManifestFile
	seen := map[string]bool{}
	for _, s := range snapshots {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		list, err := s.Manifests(fs)
		if err != nil {
			return nil, fmt.Errorf("read the manifests of snapshot %d: %w", s.SnapshotID, err)
		}
		for _, m := range list {
			if r.wants(m) && !seen[m.FilePath()] {
				seen[m.FilePath()] = true
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// readAhead is how many manifests are read at a time, and held until their turn comes.
const readAhead = 4

// entries calls visit for every entry in reach, in order.
func (r reach) entries(ctx context.Context, t *table.Table, visit func(ice.ManifestEntry) error) error {
	if !r.all && t.CurrentSnapshot() == nil {
		return nil
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return err
	}
	manifests, err := r.manifests(ctx, t, fs)
	if err != nil {
		return err
	}
	for start := 0; start < len(manifests); start += readAhead {
		batch := manifests[start:min(start+readAhead, len(manifests))]
		read := make([][]ice.ManifestEntry, len(batch))
		group, groupCtx := errgroup.WithContext(ctx)
		for i, m := range batch {
			group.Go(func() error {
				for entry, err := range m.Entries(fs, !r.deleted) {
					if err != nil {
						return fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
					}
					if groupCtx.Err() != nil {
						return context.Cause(groupCtx)
					}
					read[i] = append(read[i], entry)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for _, entries := range read {
			for _, entry := range entries {
				if err := visit(entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
