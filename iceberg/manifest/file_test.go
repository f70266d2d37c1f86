package manifest

import (
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
)

// The compact statistics say what iceberg-go's maps say, of files with different columns one after the other.
func TestColumnsAreWhatTheManifestSays(t *testing.T) {
	type numbers = map[int]int64
	type bounds = map[int][]byte
	cases := []struct {
		sizes, values, nulls, nans numbers
		lower, upper               bounds
	}{
		{numbers{1: 10, 5: 20}, numbers{1: 3, 5: 3}, numbers{1: 0, 5: 3}, numbers{5: 1}, bounds{1: {1, 2}}, bounds{1: {9}, 5: {8, 8, 8}}},
		{numbers{5: 7}, nil, nil, nil, nil, nil}, // fewer than before
		{nil, nil, nil, nil, nil, nil},
		{nil, numbers{2: 4, 9: 1}, nil, nil, bounds{9: {1}, 2: {}}, bounds{2: {3}}}, // others
	}
	var tasks []table.FileScanTask
	for _, c := range cases {
		b, err := ice.NewDataFileBuilder(*ice.UnpartitionedSpec, ice.EntryContentData, "p", ice.ParquetFile, nil, nil, nil, 3, 99)
		require.NoError(t, err)
		file := b.ColumnSizes(c.sizes).ValueCounts(c.values).NullValueCounts(c.nulls).NaNValueCounts(c.nans).
			LowerBoundValues(c.lower).UpperBoundValues(c.upper).Build()
		tasks = append(tasks, table.FileScanTask{File: file, Length: 99})
	}
	number := func(of numbers, id int) int64 {
		if n, ok := of[id]; ok {
			return n
		}
		return -1
	}
	for i, f := range FilesOf(tasks) {
		c := cases[i]
		for id := range 12 {
			got := f.Column(id)
			require.Equal(t, []int64{number(c.sizes, id), number(c.values, id), number(c.nulls, id), number(c.nans, id)},
				[]int64{got.Size, got.Values, got.Nulls, got.NaNs}, "file %d, field %d", i, id)
			require.Equal(t, string(c.lower[id]), string(got.Lower))
			require.Equal(t, string(c.upper[id]), string(got.Upper))
			require.Equal(t, len(c.lower[id]) == 0, got.Lower == nil)
		}
		require.Equal(t, c.sizes != nil, f.Sized())
		require.Empty(t, f.Task.File.LowerBoundValues(), "statistics are held once")
		require.Equal(t, "p", f.Task.File.FilePath())
	}
}
