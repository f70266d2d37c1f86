package manifest

import (
	"maps"
	"slices"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"
)

// File is a live data file of a snapshot. It is shared: do not change it.
type File struct {
	// Task is the whole file with the deletes that apply to it. Its File has no column statistics: those are below.
	Task table.FileScanTask
	// Partition are the values of the partition fields by field id, as iceberg-go reads them; nil for NULL.
	Partition map[int]any

	values map[int][]byte // Partition as single-value bytes, where there are any
	stats  stats
}

// Column is what the manifest says of a column in a file. Counts and the size are -1 where it does not say, bounds nil.
type Column struct {
	Size, Values, Nulls, NaNs int64
	// Lower and Upper are single-value bytes. Empty bounds count as none: iceberg-go does not tell them apart.
	Lower, Upper []byte
}

// statistics of a field, in this order, and the bounds behind them.
const (
	sizeOf = iota
	valuesOf
	nullsOf
	nansOf
	countsOf // how many there are
)

// stats are the statistics of a file's columns without maps, of which iceberg-go makes seven for a file.
type stats struct {
	fields []int32 // sorted; shared by the files of a manifest that have the same
	counts []int64 // countsOf for each field
	ends   []int32 // of each field's lower and upper bound in bounds
	bounds []byte
}

// Column is what the manifest says of a column by its field id.
func (f *File) Column(id int) Column {
	s := &f.stats
	at, ok := slices.BinarySearch(s.fields, int32(id))
	if !ok {
		return Column{Size: -1, Values: -1, Nulls: -1, NaNs: -1}
	}
	n := s.counts[at*countsOf : (at+1)*countsOf]
	c := Column{Size: n[sizeOf], Values: n[valuesOf], Nulls: n[nullsOf], NaNs: n[nansOf]}
	start := int32(0)
	if at > 0 {
		start = s.ends[2*at-1]
	}
	if end := s.ends[2*at]; end > start {
		c.Lower = s.bounds[start:end:end]
		start = end
	}
	if end := s.ends[2*at+1]; end > start {
		c.Upper = s.bounds[start:end:end]
	}
	return c
}

// Sized says whether the manifest knows the sizes of the file's columns.
func (f *File) Sized() bool {
	for at := range f.stats.fields {
		if f.stats.counts[at*countsOf+sizeOf] >= 0 {
			return true
		}
	}
	return false
}

// Value is a partition field's value as single-value bytes, nil for NULL. ok is false for a field that the file has no
// value of, and for a value of a kind that has no such bytes.
func (f *File) Value(fieldID int) (value []byte, ok bool) {
	v, ok := f.Partition[fieldID]
	if !ok || v == nil {
		return nil, ok
	}
	value, ok = f.values[fieldID]
	return value, ok
}

// FilesOf are planned tasks as Files.
func FilesOf(tasks []table.FileScanTask) []*File {
	var m maker
	out := make([]*File, len(tasks))
	for i, task := range tasks {
		out[i] = m.file(task)
	}
	return out
}

// maker makes Files of what iceberg-go reads, sharing what is the same in many.
type maker struct {
	fields []int32
	size   int64
}

func (m *maker) file(task table.FileScanTask) *File {
	f := &File{Partition: task.File.Partition(), stats: m.stats(task.File)}
	if len(f.Partition) > 0 {
		f.values = make(map[int][]byte, len(f.Partition))
		for id, v := range f.Partition {
			if b, ok := valueBytes(v); ok {
				f.values[id] = b
			}
		}
	}
	task.File = ice.DataFileWithoutColumnStats(task.File)
	f.Task = task
	m.size += f.memory()
	return f
}

// FileMemory is about what a file of 16 columns takes in a cache, in bytes.
const FileMemory = 2 << 10

// What a file takes besides what is counted: iceberg-go's own object, ours, and a partition value in its two maps.
const (
	fileMemory  = 900
	valueMemory = 150
)

func (f *File) memory() int64 {
	size := fileMemory + len(f.Task.File.FilePath()) + valueMemory*len(f.Partition) +
		8*(len(f.stats.counts)+len(f.Task.DeleteFiles)*2+len(f.Task.EqualityDeleteFiles)*2+len(f.Task.DeletionVectorFiles)*2) +
		4*len(f.stats.ends) + len(f.stats.bounds)
	return int64(size)
}

// stats makes the compact form of a file's statistics.
func (m *maker) stats(file ice.DataFile) stats {
	sizes, values, nulls, nans := file.ColumnSizes(), file.ValueCounts(), file.NullValueCounts(), file.NaNValueCounts()
	lower, upper := file.LowerBoundValues(), file.UpperBoundValues()
	fields := m.sharedFields(sizes, values, nulls, nans, lower, upper)
	s := stats{fields: fields, counts: make([]int64, 0, len(fields)*countsOf), ends: make([]int32, 0, 2*len(fields))}
	total := 0
	for _, id := range fields {
		total += len(lower[int(id)]) + len(upper[int(id)])
	}
	s.bounds = make([]byte, 0, total)
	for _, field := range fields {
		id := int(field)
		for _, counts := range []map[int]int64{sizes, values, nulls, nans} {
			n, ok := counts[id]
			if !ok || n < 0 {
				n = -1
			}
			s.counts = append(s.counts, n)
		}
		for _, bounds := range []map[int][]byte{lower, upper} {
			s.bounds = append(s.bounds, bounds[id]...)
			s.ends = append(s.ends, int32(len(s.bounds)))
		}
	}
	return s
}

// sharedFields are the ids that any statistic is about: those of the file before, if they are the same.
func (m *maker) sharedFields(sizes, values, nulls, nans map[int]int64, lower, upper map[int][]byte) []int32 {
	all := make(map[int]struct{}, len(m.fields))
	for _, counts := range []map[int]int64{sizes, values, nulls, nans} {
		for id := range counts {
			all[id] = struct{}{}
		}
	}
	for _, bounds := range []map[int][]byte{lower, upper} {
		for id := range bounds {
			all[id] = struct{}{}
		}
	}
	if len(all) == len(m.fields) {
		same := true
		for _, id := range m.fields {
			if _, ok := all[int(id)]; !ok {
				same = false
				break
			}
		}
		if same {
			return m.fields
		}
	}
	fields := make([]int32, 0, len(all))
	for _, id := range slices.Sorted(maps.Keys(all)) {
		fields = append(fields, int32(id))
	}
	m.fields = fields
	return fields
}

// valueBytes are the single-value bytes of a partition value as iceberg-go reads it from a manifest.
func valueBytes(v any) ([]byte, bool) {
	var lit ice.Literal
	switch v := v.(type) {
	case nil:
		return nil, false
	case ice.Literal:
		lit = v
	case bool:
		lit = ice.NewLiteral(v)
	case int32:
		lit = ice.NewLiteral(v)
	case int64:
		lit = ice.NewLiteral(v)
	case float32:
		lit = ice.NewLiteral(v)
	case float64:
		lit = ice.NewLiteral(v)
	case ice.Date:
		lit = ice.NewLiteral(v)
	case ice.Time:
		lit = ice.NewLiteral(v)
	case ice.Timestamp:
		lit = ice.NewLiteral(v)
	case ice.TimestampNano:
		lit = ice.NewLiteral(v)
	case ice.Decimal:
		lit = ice.NewLiteral(v)
	case string:
		return []byte(v), true
	case []byte:
		return append([]byte{}, v...), true
	case uuid.UUID:
		return v[:], true
	default:
		return nil, false
	}
	b, err := lit.MarshalBinary()
	return b, err == nil
}
