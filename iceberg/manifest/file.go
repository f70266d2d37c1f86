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

	values []value
	stats  stats
}

// value is a partition field's.
type value struct {
	field int
	read  any    // as iceberg-go reads it, nil for NULL
	bytes []byte // its single-value bytes, nil where it has none
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

// Value is a partition field's value as iceberg-go reads it, nil for NULL. ok is false when the file has none.
func (f *File) Value(fieldID int) (read any, ok bool) {
	for _, v := range f.values {
		if v.field == fieldID {
			return v.read, true
		}
	}
	return nil, false
}

// ValueBytes is a partition field's value as single-value bytes, nil for NULL. ok is false when the file has none, or one of
// a kind that has no such bytes.
func (f *File) ValueBytes(fieldID int) (value []byte, ok bool) {
	for _, v := range f.values {
		if v.field == fieldID {
			return v.bytes, v.read == nil || v.bytes != nil
		}
	}
	return nil, false
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
	places map[int]int // of the ids in fields
	size   int64
}

func (m *maker) file(task table.FileScanTask) *File {
	f := &File{stats: m.stats(task.File)}
	if partition := task.File.Partition(); len(partition) > 0 {
		f.values = make([]value, 0, len(partition))
		for id, v := range partition {
			f.values = append(f.values, value{field: id, read: v, bytes: valueBytes(v)})
		}
	}
	task.File = ice.DataFileWithoutColumnStats(task.File)
	f.Task = task
	m.size += f.memory()
	return f
}

// FileMemory is about what a file of 16 columns takes in a cache, in bytes.
const FileMemory = 2 << 10

// What a file takes besides what is counted: iceberg-go's own object and ours, and a partition value in both.
const (
	fileMemory  = 900
	valueMemory = 150
)

func (f *File) memory() int64 {
	size := fileMemory + len(f.Task.File.FilePath()) + valueMemory*len(f.values) +
		8*(len(f.stats.counts)+len(f.Task.DeleteFiles)*2+len(f.Task.EqualityDeleteFiles)*2+len(f.Task.DeletionVectorFiles)*2) +
		4*len(f.stats.ends) + len(f.stats.bounds)
	return int64(size)
}

// stats makes the compact form of a file's statistics.
func (m *maker) stats(file ice.DataFile) stats {
	counts := [countsOf]map[int]int64{sizeOf: file.ColumnSizes(), valuesOf: file.ValueCounts(), nullsOf: file.NullValueCounts(), nansOf: file.NaNValueCounts()}
	bounds := [2]map[int][]byte{file.LowerBoundValues(), file.UpperBoundValues()}
	if !m.knows(counts, bounds) {
		m.learn(counts, bounds)
	}
	n := len(m.fields)
	s := stats{fields: m.fields, counts: make([]int64, n*countsOf), ends: make([]int32, 0, 2*n)}
	for i := range s.counts {
		s.counts[i] = -1
	}
	for i, of := range counts {
		for id, count := range of {
			s.counts[m.places[id]*countsOf+i] = max(count, -1)
		}
	}
	total := 0
	for _, of := range bounds {
		for _, b := range of {
			total += len(b)
		}
	}
	s.bounds = make([]byte, 0, total)
	for _, id := range m.fields {
		for _, of := range bounds {
			s.bounds = append(s.bounds, of[int(id)]...)
			s.ends = append(s.ends, int32(len(s.bounds)))
		}
	}
	return s
}

// knows says whether the fields of the file before are enough.
func (m *maker) knows(counts [countsOf]map[int]int64, bounds [2]map[int][]byte) bool {
	for _, of := range counts {
		for id := range of {
			if _, ok := m.places[id]; !ok {
				return false
			}
		}
	}
	for _, of := range bounds {
		for id := range of {
			if _, ok := m.places[id]; !ok {
				return false
			}
		}
	}
	return true
}

// learn makes the fields those that any statistic is about.
func (m *maker) learn(counts [countsOf]map[int]int64, bounds [2]map[int][]byte) {
	m.places = map[int]int{}
	for _, of := range counts {
		for id := range of {
			m.places[id] = 0
		}
	}
	for _, of := range bounds {
		for id := range of {
			m.places[id] = 0
		}
	}
	m.fields = make([]int32, 0, len(m.places))
	for i, id := range slices.Sorted(maps.Keys(m.places)) {
		m.fields = append(m.fields, int32(id))
		m.places[id] = i
	}
}

// valueBytes are the single-value bytes of a partition value as iceberg-go reads it from a manifest.
func valueBytes(v any) []byte {
	var lit ice.Literal
	switch v := v.(type) {
	case nil:
		return nil
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
		return []byte(v)
	case []byte:
		return append([]byte{}, v...)
	case uuid.UUID:
		return v[:]
	default:
		return nil
	}
	b, err := lit.MarshalBinary()
	if err != nil {
		return nil
	}
	return b
}
