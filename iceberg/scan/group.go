package scan

import (
	"cmp"
	"container/heap"
	"slices"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

const (
	// fileOverhead is what opening a file costs, as bytes read: it keeps many tiny files from looking free.
	fileOverhead = 64 << 10
	// blindSplit is the smallest piece that a file without split offsets is cut into. Where its row groups are is
	// unknown then, and small pieces would mostly be empty.
	blindSplit = 16 << 20
)

// Group divides files into the units that tasks read, of about targetBytes each, at least minGroups when the files can be
// split that far and at most maxGroups (0: no limit). Every split is in exactly one group, and the same files give the
// same groups. No files give one group with none (rule 10).
//
// Files are split between row groups; a reader maps a range of bytes to the row groups whose midpoint lies in it, so the
// ranges of a file, which meet and cover it, read every row once whatever the row groups turn out to be.
func Group(files *Files, targetBytes int64, minGroups, maxGroups int) []*seracv1.FileGroup {
	if len(files.Tasks) == 0 {
		return []*seracv1.FileGroup{{}}
	}
	pieces := make([]piece, len(files.Tasks))
	var total int64
	for i, task := range files.Tasks {
		pieces[i] = wholePiece(i, task, files.weight(i))
		total += pieces[i].weight
	}
	count := groupCount(total, targetBytes, minGroups, maxGroups)
	pieces = split(pieces, (total+int64(count)-1)/int64(count), count)
	return pack(files, pieces, min(count, len(pieces)))
}

// weight is the bytes that a task reads, by the manifests.
func (f *Files) weight(i int) int64 {
	if i < len(f.weights) {
		return f.weights[i]
	}
	return f.Tasks[i].File.FileSizeBytes()
}

func groupCount(total, target int64, minGroups, maxGroups int) int {
	count := int64(1)
	if target > 0 {
		count = (total + target - 1) / target
	}
	count = max(count, int64(minGroups), 1)
	if maxGroups > 0 {
		count = min(count, int64(maxGroups))
	}
	return int(count)
}

// piece is a range of a file's atoms: the smallest parts it may be cut into.
type piece struct {
	file   int
	cuts   []int64 // where the atoms start, and the end of the last one
	weight int64
	whole  int64 // weight of the whole file
	size   int64 // size of the whole file
}

func wholePiece(file int, task table.FileScanTask, weight int64) piece {
	size := task.File.FileSizeBytes()
	weight += fileOverhead
	return piece{file: file, cuts: atoms(task), weight: weight, whole: weight, size: size}
}

// atoms are the cuts of a file, from 0 to its size.
func atoms(task table.FileScanTask) []int64 {
	size := task.File.FileSizeBytes()
	whole := []int64{0, size}
	if task.File.FileFormat() != ice.ParquetFile {
		return whole
	}
	offsets := task.File.SplitOffsets()
	if len(offsets) == 0 {
		n := size / blindSplit
		if n < 2 {
			return whole
		}
		cuts := make([]int64, n+1)
		for i := range cuts {
			// Not size*i/n: that overflows.
			cuts[i] = int64(i)*(size/n) + min(int64(i), size%n)
		}
		return cuts
	}
	cuts := make([]int64, 0, len(offsets)+1)
	for i, offset := range offsets {
		if i == 0 {
			offset = 0 // the first row group starts behind the magic bytes
		} else if offset <= cuts[i-1] || offset >= size {
			return whole // not what offsets must be: leave the file alone
		}
		cuts = append(cuts, offset)
	}
	return append(cuts, size)
}

func (p piece) splittable() bool { return len(p.cuts) > 2 }

// part is p from its atom i up to its atom j.
func (p piece) part(i, j int) piece {
	out := p
	out.cuts = p.cuts[i : j+1]
	length := p.cuts[j] - p.cuts[i]
	out.weight = max(1, int64(float64(p.whole)*(float64(length)/float64(max(p.size, 1)))))
	return out
}

// split cuts pieces heavier than target into parts of about target, then the heaviest ones in two until there are count.
func split(pieces []piece, target int64, count int) []piece {
	var out []piece
	for _, p := range pieces {
		out = append(out, cut(p, target)...)
	}
	if len(out) >= count {
		return out
	}
	h := make(heaviest, 0, len(out))
	var done []piece
	for _, p := range out {
		if p.splittable() {
			h = append(h, p)
		} else {
			done = append(done, p)
		}
	}
	heap.Init(&h)
	for len(h) > 0 && len(h)+len(done) < count {
		p := heap.Pop(&h).(piece)
		for _, half := range cut(p, (p.weight+1)/2) {
			if half.splittable() {
				heap.Push(&h, half)
			} else {
				done = append(done, half)
			}
		}
	}
	return append(done, h...)
}

// cut divides a piece into parts of at most about target. Parts end at the atom boundary nearest to their share, so that
// they come out even.
func cut(p piece, target int64) []piece {
	if p.weight <= target || !p.splittable() {
		return []piece{p}
	}
	n := int(min((p.weight+target-1)/max(target, 1), int64(len(p.cuts)-1)))
	start, end := p.cuts[0], p.cuts[len(p.cuts)-1]
	parts := make([]piece, 0, n)
	from := 0
	for k := 1; k <= n; k++ {
		to := len(p.cuts) - 1
		if k < n {
			ideal := start + int64(float64(end-start)*float64(k)/float64(n))
			to, _ = slices.BinarySearch(p.cuts, ideal)
			if to > 0 && ideal-p.cuts[to-1] < p.cuts[to]-ideal {
				to--
			}
			// Leave an atom for this part and one for each part to come.
			to = min(max(to, from+1), len(p.cuts)-1-(n-k))
		}
		parts = append(parts, p.part(from, to))
		from = to
	}
	return parts
}

// heaviest is a heap of pieces, the heaviest first.
type heaviest []piece

func (h heaviest) Len() int { return len(h) }
func (h heaviest) Less(i, j int) bool {
	return compareWeight(h[i], h[j]) < 0
}
func (h heaviest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heaviest) Push(x any)   { *h = append(*h, x.(piece)) }
func (h *heaviest) Pop() any {
	old := *h
	p := old[len(old)-1]
	*h = old[:len(old)-1]
	return p
}

// compareWeight orders by weight, heaviest first, then by place, so that the order is total.
func compareWeight(a, b piece) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), comparePlace(a, b))
}

func comparePlace(a, b piece) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.cuts[0], b.cuts[0]))
}

// load is a group being filled.
type load struct {
	weight int64
	index  int
	pieces []piece
}

type lightest []*load

func (h lightest) Len() int { return len(h) }
func (h lightest) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].weight, h[j].weight), cmp.Compare(h[i].index, h[j].index)) < 0
}
func (h lightest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *lightest) Push(x any)   { *h = append(*h, x.(*load)) }
func (h *lightest) Pop() any {
	old := *h
	l := old[len(old)-1]
	*h = old[:len(old)-1]
	return l
}

// pack puts each piece, the heaviest first, into the lightest group.
func pack(files *Files, pieces []piece, count int) []*seracv1.FileGroup {
	slices.SortFunc(pieces, compareWeight)
	loads := make([]*load, count)
	h := make(lightest, count)
	for i := range loads {
		loads[i] = &load{index: i}
		h[i] = loads[i]
	}
	for _, p := range pieces {
		l := h[0]
		l.weight += p.weight
		l.pieces = append(l.pieces, p)
		heap.Fix(&h, 0)
	}
	groups := make([]*seracv1.FileGroup, count)
	for i, l := range loads {
		groups[i] = fileGroup(files, l.pieces)
	}
	return groups
}

// fileGroup is the message of a group: its pieces in the files' order, those that meet joined.
func fileGroup(files *Files, pieces []piece) *seracv1.FileGroup {
	slices.SortFunc(pieces, comparePlace)
	b := newGroupBuilder(files)
	last := -1
	for _, p := range pieces {
		start, length := p.cuts[0], p.cuts[len(p.cuts)-1]-p.cuts[0]
		if n := len(b.group.Files); p.file == last && b.group.Files[n-1].Start+b.group.Files[n-1].Length == start {
			b.group.Files[n-1].Length += length
			continue
		}
		b.add(p.file, start, length)
		last = p.file
	}
	return b.group
}
