package commit

import (
	"context"
	"fmt"

	ice "github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

// repairEmptyBounds puts right what iceberg-go 0.7.0 gets wrong about the empty text as a partition value: as the lower
// bound of a manifest's partition values it is written as no bound at all, which means that all values are NULL, and
// every reader would prune the manifest for any other value. The manifest list, which nobody refers to yet, is written
// again with the bound.
func (a *attempt) repairEmptyBounds(ctx context.Context) error {
	if a.snapshot == nil || a.snapshot.ManifestList == "" {
		return nil
	}
	meta := a.base.Iceberg().Metadata()
	if !hasTextPartitions(meta) {
		return nil
	}
	fs, err := a.base.FS(ctx)
	if err != nil {
		return err
	}
	snapshot := table.Snapshot{SnapshotID: a.snapshot.ID, ManifestList: a.snapshot.ManifestList}
	manifests, err := snapshot.Manifests(fs)
	if err != nil {
		return err
	}
	repaired := false
	for i, m := range manifests {
		if m.SnapshotID() != a.snapshot.ID {
			continue
		}
		fixed, err := withEmptyBounds(fs, meta, m)
		if err != nil {
			return fmt.Errorf("manifest %s: %w", m.FilePath(), err)
		}
		if fixed != nil {
			manifests[i], repaired = fixed, true
		}
	}
	if !repaired {
		return nil
	}
	firstRowID := int64(0)
	if a.snapshot.FirstRowID != nil {
		firstRowID = *a.snapshot.FirstRowID
		for i, m := range manifests {
			// All row ids assigned by this list are assigned again, in the same order and so to the same values.
			if id := m.FirstRowID(); id != nil && *id >= firstRowID {
				manifests[i] = withPartitions(m, m.Partitions())
			}
		}
	}
	wfs, ok := fs.(icebergio.WriteFileIO)
	if !ok {
		return table.ErrWriteIORequired
	}
	out, err := wfs.Create(a.snapshot.ManifestList)
	if err != nil {
		return err
	}
	if err := ice.WriteManifestList(meta.Version(), out, a.snapshot.ID, a.snapshot.ParentID, &a.snapshot.SequenceNumber, firstRowID, manifests); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}

func hasTextPartitions(meta table.Metadata) bool {
	for _, spec := range meta.PartitionSpecs() {
		if len(textFields(meta.CurrentSchema(), spec)) > 0 {
			return true
		}
	}
	return false
}

// textFields are the positions of a spec's fields whose values are texts.
func textFields(schema *ice.Schema, spec ice.PartitionSpec) []int {
	var out []int
	for i, f := range spec.Fields() {
		source, ok := schema.FindFieldByID(f.SourceID())
		if !ok {
			continue
		}
		switch f.Transform.ResultType(source.Type).(type) {
		case ice.StringType, ice.BinaryType:
			out = append(out, i)
		}
	}
	return out
}

// withEmptyBounds is a manifest with the bounds that its summaries lack, nil when they lack none.
func withEmptyBounds(fs icebergio.IO, meta table.Metadata, m ice.ManifestFile) (ice.ManifestFile, error) {
	spec := meta.PartitionSpecByID(int(m.PartitionSpecID()))
	if spec == nil {
		return nil, fmt.Errorf("the table has no partition spec %d", m.PartitionSpecID())
	}
	summaries := append([]ice.FieldSummary(nil), m.Partitions()...)
	repaired := false
	for _, at := range textFields(meta.CurrentSchema(), *spec) {
		if at >= len(summaries) || summaries[at].LowerBound != nil {
			continue
		}
		empty, err := holdsEmpty(fs, m, spec.Field(at).FieldID)
		if err != nil {
			return nil, err
		}
		if !empty {
			continue
		}
		summaries[at].LowerBound = &[]byte{}
		if summaries[at].UpperBound == nil {
			summaries[at].UpperBound = &[]byte{}
		}
		repaired = true
	}
	if !repaired {
		return nil, nil
	}
	return withPartitions(m, summaries), nil
}

// holdsEmpty says whether a file of the manifest has the empty text for a partition field.
func holdsEmpty(fs icebergio.IO, m ice.ManifestFile, fieldID int) (bool, error) {
	for e, err := range m.Entries(fs, false) {
		if err != nil {
			return false, err
		}
		value := e.DataFile().Partition()[fieldID]
		if lit, ok := value.(ice.Literal); ok {
			value = lit.Any()
		}
		switch v := value.(type) {
		case string:
			if v == "" {
				return true, nil
			}
		case []byte:
			if len(v) == 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// withPartitions is a manifest with other summaries of its partitions, and without a first row id, which the writer of the
// list assigns.
func withPartitions(m ice.ManifestFile, summaries []ice.FieldSummary) ice.ManifestFile {
	return ice.NewManifestFile(m.Version(), m.FilePath(), m.Length(), m.PartitionSpecID(), m.SnapshotID()).
		Content(m.ManifestContent()).
		SequenceNum(m.SequenceNum(), m.MinSequenceNum()).
		AddedFiles(m.AddedDataFiles()).ExistingFiles(m.ExistingDataFiles()).DeletedFiles(m.DeletedDataFiles()).
		AddedRows(m.AddedRows()).ExistingRows(m.ExistingRows()).DeletedRows(m.DeletedRows()).
		Partitions(summaries).KeyMetadata(m.KeyMetadata()).Build()
}
