package manifest

import (
	"context"
	"fmt"
	"strconv"

	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// Manifest is an entry of a manifest list. It is shared: do not change it.
type Manifest struct {
	ice.ManifestFile
	// Summaries are of the partition fields, in the order of the manifest's partition spec.
	Summaries []ice.FieldSummary
}

// Live says that the manifest may hold files of the snapshot.
func (m *Manifest) Live() bool { return m.HasAddedFiles() || m.HasExistingFiles() }

// Source reads manifests of one table through a cache.
type Source struct {
	Cache *Cache
	// Scope is the fingerprint of the storage configuration.
	Scope [32]byte
	// FS opens the storage. It is called when something must be read.
	FS func(context.Context) (icebergio.IO, error)
}

// manifestMemory is about what an entry of a manifest list takes.
const manifestMemory = 700

// List is a snapshot's manifest list.
func (s Source) List(ctx context.Context, snapshot *table.Snapshot) ([]*Manifest, error) {
	load := func(ctx context.Context) ([]*Manifest, int64, error) {
		fs, err := s.FS(ctx)
		if err != nil {
			return nil, 0, err
		}
		files, err := snapshot.Manifests(fs)
		if err != nil {
			return nil, 0, fmt.Errorf("read manifest list %s: %w", snapshot.ManifestList, err)
		}
		out, size := make([]*Manifest, len(files)), int64(0)
		for i, f := range files {
			out[i] = &Manifest{ManifestFile: f, Summaries: f.Partitions()}
			size += int64(manifestMemory + len(f.FilePath()) + valueMemory*len(out[i].Summaries))
		}
		return out, size, nil
	}
	if snapshot.ManifestList == "" { // format version 1 may name its manifests in the metadata, without a list
		list, _, err := load(ctx)
		return list, err
	}
	return get(ctx, s.Cache, Key{Scope: s.Scope, Path: snapshot.ManifestList, Of: "list " + strconv.FormatInt(snapshot.SnapshotID, 10)}, load)
}

// Files are the live files of a data manifest, in its order.
func (s Source) Files(ctx context.Context, m *Manifest) ([]*File, error) {
	// What files inherit comes from the list: a manifest that is in two lists has the same there, unless the table has been
	// upgraded to format version 3 in between and its rows have got ids.
	of := fmt.Sprint("files ", m.PartitionSpecID(), m.SequenceNum(), m.SnapshotID())
	if id := m.FirstRowID(); id != nil {
		of += fmt.Sprint(" ", *id)
	}
	return get(ctx, s.Cache, Key{Scope: s.Scope, Path: m.FilePath(), Length: m.Length(), Of: of}, func(ctx context.Context) ([]*File, int64, error) {
		fs, err := s.FS(ctx)
		if err != nil {
			return nil, 0, err
		}
		files, made := make([]*File, 0, max(0, m.AddedDataFiles())+max(0, m.ExistingDataFiles())), maker{}
		for e, err := range m.Entries(fs, true) {
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return nil, 0, fmt.Errorf("read manifest %s: %w", m.FilePath(), err)
			}
			file := e.DataFile()
			if file.ContentType() != ice.EntryContentData {
				return nil, 0, fmt.Errorf("read manifest %s: it is of data and holds the %s file %s", m.FilePath(), file.ContentType(), file.FilePath())
			}
			task := table.FileScanTask{File: file, Length: file.FileSizeBytes(), FirstRowID: file.FirstRowID()}
			if n := e.SequenceNum(); n >= 0 {
				task.DataSequenceNumber = &n
			}
			files = append(files, made.file(task))
		}
		return files, made.size, nil
	})
}

// Planned is a snapshot with delete files: its data files matched with their deletes.
type Planned struct {
	Files []*File
	// Sequences are the data sequence numbers of the delete files.
	Sequences map[DeleteKey]int64
}

// DeleteKey tells delete files apart: a Puffin file holds several deletion vectors.
type DeleteKey struct {
	Path   string
	Offset int64
}

// KeyOf is the key of a delete file.
func KeyOf(d ice.DataFile) DeleteKey {
	key := DeleteKey{Path: d.FilePath()}
	if offset := d.ContentOffset(); offset != nil {
		key.Offset = *offset
	}
	return key
}

// Matched is a snapshot's data files as match matches them with their deletes, planned for a schema.
func (s Source) Matched(ctx context.Context, snapshot *table.Snapshot, schemaID int, match func(context.Context) ([]table.FileScanTask, map[DeleteKey]int64, error)) (*Planned, error) {
	key := Key{Scope: s.Scope, Path: snapshot.ManifestList, Of: fmt.Sprint("matched ", snapshot.SnapshotID, schemaID)}
	return get(ctx, s.Cache, key, func(ctx context.Context) (*Planned, int64, error) {
		tasks, sequences, err := match(ctx)
		if err != nil {
			return nil, 0, err
		}
		p, made := &Planned{Files: make([]*File, len(tasks)), Sequences: sequences}, maker{}
		deletes := map[ice.DataFile]ice.DataFile{}
		for i, task := range tasks {
			for _, files := range [][]ice.DataFile{task.DeleteFiles, task.EqualityDeleteFiles, task.DeletionVectorFiles} {
				for at, d := range files {
					if deletes[d] == nil {
						bare := ice.DataFileWithoutColumnStats(d)
						deletes[d], deletes[bare] = bare, bare // tasks may share the list
					}
					files[at] = deletes[d]
				}
			}
			p.Files[i] = made.file(task)
		}
		return p, made.size + int64(len(deletes))*fileMemory, nil
	})
}
