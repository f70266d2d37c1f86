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

// Files keep their residuals; a position that was none does not become one.
func TestAppendFilesWithResiduals(t *testing.T) {
	file := func(path string, residual int32, deletes ...int32) *seracv1.FileScanTask {
		return &seracv1.FileScanTask{Path: path, Residual: residual, Deletes: deletes}
	}
	residual := func(remaining ...int32) *seracv1.Residual {
		return &seracv1.Residual{Conjuncts: 3, Remaining: remaining}
	}
	to := &seracv1.FileGroup{}
	wire.AppendFiles(to, &seracv1.FileGroup{Files: []*seracv1.FileScanTask{file("a", 0), file("b", 2, 0), file("c", 1)},
		Residuals: []*seracv1.Residual{residual(), residual(1)}, DeleteFiles: []*seracv1.DeleteFile{{Path: "d0"}}})
	other := &seracv1.FileGroup{Files: []*seracv1.FileScanTask{file("d", 1), file("e", 0, 0), file("f", -1), file("g", 2)},
		Residuals: []*seracv1.Residual{residual(0, 2)}, DeleteFiles: []*seracv1.DeleteFile{{Path: "d1"}}}
	wire.AppendFiles(to, other)
	wire.AppendFiles(to, &seracv1.FileGroup{Files: []*seracv1.FileScanTask{file("h", 0)}})
	got := map[string]any{}
	for _, f := range to.GetFiles() {
		if r := f.GetResidual(); r > 0 && int(r) <= len(to.GetResiduals()) {
			got[f.GetPath()] = to.GetResiduals()[r-1].GetRemaining()
		} else {
			got[f.GetPath()] = r
		}
	}
	require.Equal(t, map[string]any{
		"a": int32(0), "b": []int32{1}, "c": []int32(nil), "d": []int32{0, 2}, "e": int32(0), "f": int32(-1), "g": int32(-1), "h": int32(0),
	}, got)
	require.Equal(t, "d1", to.GetDeleteFiles()[to.GetFiles()[4].GetDeletes()[0]].GetPath())
	require.EqualValues(t, 1, other.GetFiles()[0].GetResidual(), "the group that was appended stays as it was")
}
