package scan

import (
	"context"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"golang.org/x/sync/errgroup"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/manifest"
	"github.com/seracdb/serac/plan"
)

// source is a snapshot whose files are planned.
type source struct {
	table     *catalog.Table
	snapshot  *table.Snapshot
	schema    *ice.Schema // that it is planned with
	options   []table.ScanOption
	manifests manifest.Source
}

const (
	// maxConcurrentReads bounds the manifests of a scan that are read at once: each is a request to the storage.
	maxConcurrentReads = 16
	// matchedShare is the part of the cache that a snapshot with delete files may take. Then it is matched whole, and kept;
	// of a larger one, only what the filter leaves is matched, each time.
	matchedShare = 2
)

// files are the files that may hold a row for which the filter is true, and the sequence numbers of their delete files.
func (s *source) files(ctx context.Context, columns []plan.ScanColumn, filter plan.Expr) ([]*manifest.File, map[manifest.DeleteKey]int64, error) {
	list, err := s.manifests.List(ctx, s.snapshot)
	if err != nil {
		return nil, nil, err
	}
	live, matched, count := list[:0:0], false, int64(0)
	for _, m := range list {
		if !m.Live() {
			continue
		}
		if m.ManifestContent() == ice.ManifestContentDeletes {
			matched = true
			continue
		}
		live = append(live, m)
		count += int64(max(0, m.AddedDataFiles())) + int64(max(0, m.ExistingDataFiles()))
	}
	if matched && count*manifest.FileMemory > s.manifests.Cache.Limit()/matchedShare {
		return s.matchedNow(ctx, list, columns, filter)
	}
	prune, err := newPruner(s.table.Iceberg().Metadata(), s.schema, Predicate(s.table.Iceberg().Metadata(), s.schema, columns, filter))
	if err != nil {
		return nil, nil, err
	}
	if matched {
		planned, err := s.manifests.Matched(ctx, s.snapshot, s.schema.ID, func(ctx context.Context) ([]table.FileScanTask, map[manifest.DeleteKey]int64, error) {
			return s.match(ctx, list, ice.AlwaysTrue{})
		})
		if err != nil {
			return nil, nil, err
		}
		return prune.files(nil, planned.Files), planned.Sequences, nil
	}
	files, err := s.unmatched(ctx, live, prune)
	return files, nil, err
}

// unmatched are the files of data manifests that a filter leaves, where nothing is deleted.
func (s *source) unmatched(ctx context.Context, live []*manifest.Manifest, prune *pruner) ([]*manifest.File, error) {
	read := make([][]*manifest.File, len(live))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxConcurrentReads)
	for i, m := range live {
		if !prune.manifest(m) {
			continue
		}
		g.Go(func() (err error) {
			read[i], err = s.manifests.Files(ctx, m)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var kept []*manifest.File
	for _, files := range read {
		kept = prune.files(kept, files)
	}
	return kept, nil
}

// files appends the files that may hold a matching row. Files without rows are left out.
func (p *pruner) files(kept, files []*manifest.File) []*manifest.File {
	for _, f := range files {
		if f.Task.File.Count() > 0 && p.file(f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// match has iceberg-go plan the snapshot's files with their deletes.
func (s *source) match(ctx context.Context, list []*manifest.Manifest, predicate ice.BooleanExpression) ([]table.FileScanTask, map[manifest.DeleteKey]int64, error) {
	split, err := s.table.Iceberg().Scan(append(s.options[:len(s.options):len(s.options)], table.WithRowFilter(predicate))...).PlanFiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	tasks := wholeFiles(split)
	sequences, err := s.deleteSequences(ctx, list, tasks)
	return tasks, sequences, err
}

// matchedNow plans without the cache: iceberg-go prunes.
func (s *source) matchedNow(ctx context.Context, list []*manifest.Manifest, columns []plan.ScanColumn, filter plan.Expr) ([]*manifest.File, map[manifest.DeleteKey]int64, error) {
	tasks, sequences, err := s.match(ctx, list, s.usablePredicate(list, columns, filter))
	if err != nil {
		return nil, nil, err
	}
	return manifest.FilesOf(tasks), sequences, nil
}

// wholeFiles undoes the splits that iceberg-go makes by the table's read.split.target-size: Group splits by what the
// statement needs.
func wholeFiles(split []table.FileScanTask) []table.FileScanTask {
	whole := make([]table.FileScanTask, 0, len(split))
	for _, task := range split {
		if task.Start != 0 {
			continue // a further piece of the file before it
		}
		task.Length = task.File.FileSizeBytes()
		whole = append(whole, task)
	}
	return whole
}

// usablePredicate is Predicate, less the columns whose partition summaries iceberg-go would be wrong to trust.
func (s *source) usablePredicate(list []*manifest.Manifest, columns []plan.ScanColumn, filter plan.Expr) ice.BooleanExpression {
	meta := s.table.Iceberg().Metadata()
	unusable := promotedFields(meta)
	for id := range doubtful(meta, s.schema, list) {
		unusable[id] = true
	}
	predicate, _ := convert(s.schema, columns, filter, unusable)
	return predicate
}
