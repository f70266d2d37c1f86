package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

func TestAppendFiles(t *testing.T) {
	file := func(path string, deletes ...int32) *seracv1.FileScanTask {
		return &seracv1.FileScanTask{Path: path, Deletes: deletes}
	}
	to := &seracv1.FileGroup{}
	one := &seracv1.FileGroup{Files: []*seracv1.FileScanTask{file("a", 0, 1)}, DeleteFiles: []*seracv1.DeleteFile{{Path: "d0"}, {Path: "d1"}}}
	other := &seracv1.FileGroup{Files: []*seracv1.FileScanTask{file("b"), file("c", 0)}, DeleteFiles: []*seracv1.DeleteFile{{Path: "d2"}}}
	wire.AppendFiles(to, one)
	wire.AppendFiles(to, other)
	got := map[string][]string{}
	for _, f := range to.GetFiles() {
		got[f.GetPath()] = nil
		for _, d := range f.GetDeletes() {
			got[f.GetPath()] = append(got[f.GetPath()], to.GetDeleteFiles()[d].GetPath())
		}
	}
	require.Equal(t, map[string][]string{"a": {"d0", "d1"}, "b": nil, "c": {"d2"}}, got)
	require.Equal(t, []int32{0}, other.GetFiles()[1].GetDeletes(), "the group that was appended stays as it was")
}
