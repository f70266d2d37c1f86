package scan_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg/scan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// task is a whole file of so many bytes, with a row group at each offset.
func task(t testing.TB, path string, size int64, offsets ...int64) table.FileScanTask {
	t.Helper()
	b, err := ice.NewDataFileBuilder(*ice.UnpartitionedSpec, ice.EntryContentData, path, ice.ParquetFile, nil, nil, nil, 100, size)
	require.NoError(t, err)
	if len(offsets) > 0 {
		b.SplitOffsets(offsets)
	}
	return table.FileScanTask{File: b.Build(), Length: size}
}

// rowGroups cuts size bytes into n row groups of random sizes and gives their offsets.
func rowGroups(rng *rand.Rand, size int64, n int) []int64 {
	offsets := []int64{4}
	for range n - 1 {
		offsets = append(offsets, 5+rng.Int64N(size-5))
	}
	slices.Sort(offsets)
	return slices.Compact(offsets)
}

// Every byte of every file is in exactly one group, ranges start and end between row groups, the counts keep to their
// limits, and the same files give the same groups.
func TestGroupReadsEverythingOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 400 {
		files := &scan.Files{}
		offsets := map[string][]int64{}
		pieces := 0
		for i := range rng.IntN(12) {
			size := 100 + rng.Int64N(200<<20)
			path := fmt.Sprint("f", i)
			var cuts []int64
			if rng.IntN(4) > 0 {
				cuts = rowGroups(rng, size, 1+rng.IntN(20))
			}
			offsets[path] = cuts
			pieces += max(1, len(cuts))
			files.Tasks = append(files.Tasks, task(t, path, size, cuts...))
		}
		target, minGroups, maxGroups := int64(1)<<(10+rng.IntN(20)), rng.IntN(40), rng.IntN(40)
		groups := scan.Group(files, target, minGroups, maxGroups)

		require.NotEmpty(t, groups)
		if maxGroups > 0 {
			require.LessOrEqual(t, len(groups), maxGroups)
		}
		wanted := minGroups
		if maxGroups > 0 {
			wanted = min(wanted, maxGroups)
		}
		require.GreaterOrEqual(t, len(groups), min(wanted, pieces), "round %d", round)

		ranges := map[string][]*seracv1.FileScanTask{}
		for _, g := range groups {
			if len(files.Tasks) > 0 {
				require.NotEmpty(t, g.Files, "a group reads nothing")
			}
			for _, f := range g.Files {
				ranges[f.Path] = append(ranges[f.Path], f)
			}
		}
		require.Len(t, ranges, len(files.Tasks))
		for _, whole := range files.Tasks {
			path, size := whole.File.FilePath(), whole.File.FileSizeBytes()
			parts := ranges[path]
			slices.SortFunc(parts, func(a, b *seracv1.FileScanTask) int { return cmp.Compare(a.Start, b.Start) })
			at := int64(0)
			for _, p := range parts {
				require.Equal(t, at, p.Start, "gap or overlap in %s", path)
				require.Positive(t, p.Length)
				if at != 0 && len(offsets[path]) > 0 {
					require.Contains(t, offsets[path], at, "%s is cut inside a row group", path)
				}
				at += p.Length
			}
			require.Equal(t, size, at, path)
		}
		again := scan.Group(files, target, minGroups, maxGroups)
		require.Len(t, again, len(groups))
		for i := range groups {
			require.True(t, proto.Equal(groups[i], again[i]))
		}
	}
}

func TestGroupOfNothing(t *testing.T) {
	groups := scan.Group(&scan.Files{}, 1<<20, 8, 0)
	require.Len(t, groups, 1)
	require.Empty(t, groups[0].Files)
}

func TestGroupSizes(t *testing.T) {
	const mib = 1 << 20
	even := func(size int64, n int) []int64 {
		offsets := make([]int64, n)
		for i := range offsets {
			offsets[i] = max(4, size*int64(i)/int64(n))
		}
		return offsets
	}
	cases := map[string]struct {
		tasks                []table.FileScanTask
		target               int64
		minGroups, maxGroups int
		want                 int
	}{
		"one small file":                   {[]table.FileScanTask{task(t, "a", mib, 4)}, 256 * mib, 1, 0, 1},
		"one file, four row groups":        {[]table.FileScanTask{task(t, "a", mib, even(mib, 4)...)}, 256 * mib, 4, 0, 4},
		"more groups than row groups":      {[]table.FileScanTask{task(t, "a", mib, even(mib, 4)...)}, 256 * mib, 9, 0, 4},
		"one row group cannot be split":    {[]table.FileScanTask{task(t, "a", 900*mib, 4)}, 256 * mib, 4, 0, 1},
		"large file by size":               {[]table.FileScanTask{task(t, "a", 1024*mib, even(1024*mib, 16)...)}, 256 * mib, 1, 0, 5}, // 1 GiB and the cost of opening it
		"limited":                          {[]table.FileScanTask{task(t, "a", 1024*mib, even(1024*mib, 16)...)}, 16 * mib, 1, 3, 3},
		"no offsets, small":                {[]table.FileScanTask{task(t, "a", 20*mib)}, 256 * mib, 4, 0, 1},
		"no offsets, large":                {[]table.FileScanTask{task(t, "a", 64*mib)}, 256 * mib, 4, 0, 4},
		"one large row group, small files": {[]table.FileScanTask{task(t, "a", 90*mib, 4), task(t, "b", 10*mib, even(10*mib, 10)...)}, 256 * mib, 4, 0, 4},
		"offsets that make no sense":       {[]table.FileScanTask{task(t, "a", 64*mib, 4, 3, 2)}, 256 * mib, 4, 0, 1},
		"offsets behind the end":           {[]table.FileScanTask{task(t, "a", 64*mib, 4, 100*mib)}, 256 * mib, 4, 0, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			require.Len(t, scan.Group(&scan.Files{Tasks: tc.tasks}, tc.target, tc.minGroups, tc.maxGroups), tc.want)
		})
	}
}

// Groups of many files differ by at most the largest of them.
func TestGroupBalance(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	files := &scan.Files{}
	for i := range 1000 {
		files.Tasks = append(files.Tasks, task(t, fmt.Sprint("f", i), 1<<20+rng.Int64N(7<<20), 4))
	}
	groups := scan.Group(files, 256<<20, 7, 0)
	var sizes []int64
	for _, g := range groups {
		var size int64
		for _, f := range g.Files {
			size += f.Length
		}
		sizes = append(sizes, size)
	}
	require.Less(t, slices.Max(sizes)-slices.Min(sizes), int64(8<<20), "%v", sizes)
}

// Deletes are listed once a group, found by each file that they apply to, with what a reader needs to know of them.
func TestGroupDeletes(t *testing.T) {
	deleteFile := func(path string, content ice.ManifestEntryContent, format ice.FileFormat) *ice.DataFileBuilder {
		b, err := ice.NewDataFileBuilder(*ice.UnpartitionedSpec, content, path, format, nil, nil, nil, 5, 50)
		require.NoError(t, err)
		return b
	}
	position := deleteFile("position", ice.EntryContentPosDeletes, ice.ParquetFile).Build()
	equality := deleteFile("equality", ice.EntryContentEqDeletes, ice.ParquetFile).EqualityFieldIDs([]int{1, 3}).Build()
	vector := func(offset int64, of string) ice.DataFile {
		return deleteFile("puffin", ice.EntryContentPosDeletes, ice.PuffinFile).ContentOffset(offset).ContentSizeInBytes(40).ReferencedDataFile(of).Build()
	}
	a, b, c := task(t, "a", 100, 4), task(t, "b", 100, 4), task(t, "c", 100, 4)
	sequence, firstRowID := int64(7), int64(1000)
	a.DataSequenceNumber, a.FirstRowID = &sequence, &firstRowID
	a.DeleteFiles, a.EqualityDeleteFiles = []ice.DataFile{position}, []ice.DataFile{equality}
	b.DeletionVectorFiles, b.EqualityDeleteFiles = []ice.DataFile{vector(4, "b")}, []ice.DataFile{equality}
	c.DeletionVectorFiles = []ice.DataFile{vector(44, "c")}

	groups := scan.Group(&scan.Files{Tasks: []table.FileScanTask{a, b, c}}, 1<<30, 1, 0)
	require.Len(t, groups, 1)
	want := &seracv1.FileGroup{
		Files: []*seracv1.FileScanTask{
			{Path: "a", SizeBytes: 100, RecordCount: 100, Length: 100, Format: "parquet", SequenceNumber: 7, FirstRowId: &firstRowID, Deletes: []int32{0, 1}},
			{Path: "b", SizeBytes: 100, RecordCount: 100, Length: 100, Format: "parquet", Deletes: []int32{2, 1}},
			{Path: "c", SizeBytes: 100, RecordCount: 100, Length: 100, Format: "parquet", Deletes: []int32{3}},
		},
		DeleteFiles: []*seracv1.DeleteFile{
			{Content: seracv1.DeleteFile_CONTENT_POSITION, Path: "position", SizeBytes: 50, RecordCount: 5},
			{Content: seracv1.DeleteFile_CONTENT_EQUALITY, Path: "equality", SizeBytes: 50, RecordCount: 5, EqualityIds: []int32{1, 3}},
			{Content: seracv1.DeleteFile_CONTENT_DELETION_VECTOR, Path: "puffin", SizeBytes: 50, RecordCount: 5, ContentOffset: 4, ContentSizeBytes: 40, ReferencedDataFile: "b"},
			{Content: seracv1.DeleteFile_CONTENT_DELETION_VECTOR, Path: "puffin", SizeBytes: 50, RecordCount: 5, ContentOffset: 44, ContentSizeBytes: 40, ReferencedDataFile: "c"},
		},
	}
	require.True(t, proto.Equal(want, groups[0]), "%v", groups[0])
}
