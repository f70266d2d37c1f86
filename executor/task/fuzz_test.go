package task

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// FuzzLeafAssignment puts a launch's parts together, as they arrive.
func FuzzLeafAssignment(f *testing.F) {
	files := &seracv1.TaskLaunchPart{Assignments: []*seracv1.LeafAssignment{
		filesOf(1, &seracv1.FileGroup{
			Files: []*seracv1.FileScanTask{{Path: "a", Deletes: []int32{0}, Residual: 1}}, DeleteFiles: []*seracv1.DeleteFile{{Path: "d"}},
			Residuals: []*seracv1.Residual{{Conjuncts: 2, Remaining: []int32{1}}},
		}),
		{Leaf: 2, What: &seracv1.LeafAssignment_Shuffle{Shuffle: &seracv1.ShuffleInput{Files: []*seracv1.ShuffleFile{{Partition: 1}}}}},
		{Leaf: 3, What: &seracv1.LeafAssignment_Constant{Constant: &seracv1.ConstantInput{}}},
		{Leaf: 4},
	}}
	b, err := proto.Marshal(files)
	require.NoError(f, err)
	f.Add(b, b)
	f.Add(b, []byte{})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		launch, part := &seracv1.TaskLaunch{}, &seracv1.TaskLaunchPart{}
		if proto.Unmarshal(first, launch) != nil || proto.Unmarshal(second, part) != nil {
			return
		}
		count := func(all []*seracv1.LeafAssignment) (n int) {
			for _, a := range all {
				n += len(a.GetFiles().GetFiles()) + len(a.GetShuffle().GetFiles())
			}
			return n
		}
		want := count(launch.GetAssignments()) + count(part.GetAssignments())
		if AddAssignments(launch, part.GetAssignments()) != nil {
			return
		}
		require.Equal(t, want, count(launch.GetAssignments()), "each file is assigned, and once")
		require.NotNil(t, New(launch, nil).Metrics())
	})
}
