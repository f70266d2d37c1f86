package scan

import (
	"strings"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg/manifest"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// groupBuilder writes a group's message; a delete file that applies to several of its files is written once, and so is a
// residual.
type groupBuilder struct {
	group     *seracv1.FileGroup
	files     *Files
	deletes   map[manifest.DeleteKey]int32
	residuals map[int32]int32 // of the files', to the group's
}

func newGroupBuilder(files *Files) groupBuilder {
	return groupBuilder{group: &seracv1.FileGroup{}, files: files, deletes: map[manifest.DeleteKey]int32{}, residuals: map[int32]int32{}}
}

// add appends a range of a file. Statistics stay behind: executors do not need them.
func (b *groupBuilder) add(file int, start, length int64) {
	task := b.files.Tasks[file]
	out := &seracv1.FileScanTask{
		Path:        task.File.FilePath(),
		SizeBytes:   task.File.FileSizeBytes(),
		RecordCount: task.File.Count(),
		SpecId:      task.File.SpecID(),
		Start:       start,
		Length:      length,
		FirstRowId:  task.FirstRowID,
		Format:      strings.ToLower(string(task.File.FileFormat())),
	}
	if task.DataSequenceNumber != nil {
		out.SequenceNumber = *task.DataSequenceNumber
	}
	if file < len(b.files.constants) {
		out.Constants = b.files.constants[file]
	}
	if file < len(b.files.residual) {
		out.Residual = b.residual(b.files.residual[file])
	}
	for _, d := range task.DeleteFiles {
		out.Deletes = append(out.Deletes, b.delete(d, seracv1.DeleteFile_CONTENT_POSITION))
	}
	for _, d := range task.DeletionVectorFiles {
		out.Deletes = append(out.Deletes, b.delete(d, seracv1.DeleteFile_CONTENT_DELETION_VECTOR))
	}
	for _, d := range task.EqualityDeleteFiles {
		out.Deletes = append(out.Deletes, b.delete(d, seracv1.DeleteFile_CONTENT_EQUALITY))
	}
	b.group.Files = append(b.group.Files, out)
}

// residual is a residual of the files as the group's files name it.
func (b *groupBuilder) residual(of int32) int32 {
	if of == 0 {
		return 0
	}
	at, ok := b.residuals[of]
	if !ok {
		b.group.Residuals = append(b.group.Residuals, b.files.residuals[of-1])
		at = int32(len(b.group.Residuals))
		b.residuals[of] = at
	}
	return at
}

// delete is the position of a delete file in the group's list.
func (b *groupBuilder) delete(d ice.DataFile, content seracv1.DeleteFile_Content) int32 {
	key := manifest.KeyOf(d)
	if at, ok := b.deletes[key]; ok {
		return at
	}
	out := &seracv1.DeleteFile{
		Content:        content,
		Path:           d.FilePath(),
		SizeBytes:      d.FileSizeBytes(),
		SpecId:         d.SpecID(),
		SequenceNumber: b.files.sequences[key],
		ContentOffset:  key.Offset,
		RecordCount:    d.Count(),
	}
	for _, id := range d.EqualityFieldIDs() {
		out.EqualityIds = append(out.EqualityIds, int32(id))
	}
	if d.ContentSizeInBytes() != nil {
		out.ContentSizeBytes = *d.ContentSizeInBytes()
	}
	if d.ReferencedDataFile() != nil {
		out.ReferencedDataFile = *d.ReferencedDataFile()
	}
	at := int32(len(b.group.DeleteFiles))
	b.group.DeleteFiles = append(b.group.DeleteFiles, out)
	b.deletes[key] = at
	return at
}
