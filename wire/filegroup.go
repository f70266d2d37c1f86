package wire

import (
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// AppendFiles appends a group's files to another, with their deletes: files name those by their positions in the group's
// list, which move. more stays as it is, and shares what is in it.
func AppendFiles(to, more *seracv1.FileGroup) {
	offset := int32(len(to.GetDeleteFiles()))
	to.DeleteFiles = append(to.DeleteFiles, more.GetDeleteFiles()...)
	for _, f := range more.GetFiles() {
		if offset > 0 && len(f.GetDeletes()) > 0 {
			f = proto.CloneOf(f)
			for i := range f.Deletes {
				f.Deletes[i] += offset
			}
		}
		to.Files = append(to.Files, f)
	}
}
