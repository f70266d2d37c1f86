package wire

import (
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// AppendFiles appends a group's files to another, with their deletes and residuals: files name those by their positions in
// the group's lists, which move. more stays as it is, and shares what is in it.
func AppendFiles(to, more *seracv1.FileGroup) {
	deletes, residuals := int32(len(to.GetDeleteFiles())), int32(len(to.GetResiduals()))
	to.DeleteFiles = append(to.DeleteFiles, more.GetDeleteFiles()...)
	to.Residuals = append(to.Residuals, more.GetResiduals()...)
	for _, f := range more.GetFiles() {
		if deletes > 0 && len(f.GetDeletes()) > 0 || residuals > 0 && f.GetResidual() != 0 {
			f = proto.CloneOf(f)
			for i := range f.Deletes {
				f.Deletes[i] += deletes
			}
			switch r := f.Residual; {
			case r < 0 || int(r) > len(more.GetResiduals()):
				f.Residual = -1 // no reader takes it, nor must it take another group's
			case r > 0:
				f.Residual += residuals
			}
		}
		to.Files = append(to.Files, f)
	}
}
