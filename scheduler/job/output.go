package job

import (
	"cmp"
	"slices"
	"strings"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// output is the shuffle files of one task, packed: a job may have millions of them. Files are sorted by partition.
type output struct {
	files  []outputFile
	dir    string // what all paths begin with
	names  string // the rest of each path, one after the other
	flight string
	host   string
}

// outputFile is one partition's file; its name ends at nameEnd in output.names.
type outputFile struct {
	rows, bytes int64
	partition   int32
	nameEnd     uint32
}

// packOutput keeps what a FINISHED status says of its files. on interns the addresses, which are the same for all tasks
// of an executor.
func packOutput(files []*seracv1.ShuffleFile, on *executor) *output {
	if len(files) == 0 {
		return &output{}
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *seracv1.ShuffleFile) int { return cmp.Compare(a.GetPartition(), b.GetPartition()) })
	o := &output{files: make([]outputFile, len(files)), dir: files[0].GetPath()}
	for _, f := range files[1:] {
		o.dir = o.dir[:commonPrefix(o.dir, f.GetPath())]
	}
	var names strings.Builder
	for i, f := range files {
		names.WriteString(f.GetPath()[len(o.dir):])
		o.files[i] = outputFile{rows: f.GetRows(), bytes: f.GetSizeBytes(), partition: f.GetPartition(), nameEnd: uint32(names.Len())}
	}
	o.dir, o.names = strings.Clone(o.dir), names.String()
	if on.flight != files[0].GetFlightAddress() {
		on.flight = files[0].GetFlightAddress()
	}
	if on.host != files[0].GetHostId() {
		on.host = files[0].GetHostId()
	}
	o.flight, o.host = on.flight, on.host
	return o
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// find is the position of a partition's file; false when the task wrote nothing of it.
func (o *output) find(partition int32) (int, bool) {
	return slices.BinarySearchFunc(o.files, partition, func(f outputFile, p int32) int { return cmp.Compare(f.partition, p) })
}

// message is file i as consumers are told of it.
func (o *output) message(i int, producer *seracv1.TaskId, executor string) *seracv1.ShuffleFile {
	f, start := o.files[i], uint32(0)
	if i > 0 {
		start = o.files[i-1].nameEnd
	}
	return &seracv1.ShuffleFile{
		Producer: producer, Partition: f.partition, SizeBytes: f.bytes, Rows: f.rows, ExecutorId: executor,
		FlightAddress: o.flight, HostId: o.host, Path: o.dir + o.names[start:f.nameEnd],
	}
}

// fileRef names a file of a stage's output: the file's position within its task's output.
type fileRef struct {
	partition  int32
	task, file int32
}

// outputIndex is all files of a finished stage, sorted by partition, then task.
type outputIndex []fileRef

func (s *stage) buildIndex() outputIndex {
	n := 0
	for t := range s.tasks {
		n += len(s.tasks[t].state.(*taskDone).shuffle.files)
	}
	index := make(outputIndex, 0, n)
	for t := range s.tasks {
		for i, f := range s.tasks[t].state.(*taskDone).shuffle.files {
			index = append(index, fileRef{partition: f.partition, task: int32(t), file: int32(i)})
		}
	}
	slices.SortStableFunc(index, func(a, b fileRef) int { return cmp.Compare(a.partition, b.partition) })
	return index
}

// partition is the part of the index that holds one partition's files.
func (x outputIndex) partition(p int32) outputIndex {
	from, _ := slices.BinarySearchFunc(x, p, func(f fileRef, p int32) int { return cmp.Compare(f.partition, p) })
	x = x[from:]
	to, _ := slices.BinarySearchFunc(x, p+1, func(f fileRef, p int32) int { return cmp.Compare(f.partition, p) })
	return x[:to]
}

// producers is the part of one partition's files that the tasks of a range wrote.
func (x outputIndex) producers(r *Range) outputIndex {
	if r == nil {
		return x
	}
	at := func(task int32) int {
		i, _ := slices.BinarySearchFunc(x, task, func(f fileRef, t int32) int { return cmp.Compare(f.task, t) })
		return i
	}
	return x[at(r.From):at(r.To)]
}

// reads calls f for every file that a need covers. Only for needs of finished stages.
func (m *Machine) reads(need ShuffleNeed, f func(producer *stage, ref fileRef)) {
	p := m.byID[need.Stage]
	if p.index == nil {
		p.index = p.buildIndex()
	}
	if need.Partitions == nil {
		for _, ref := range p.index {
			if need.Producers.covers(ref.task) {
				f(p, ref)
			}
		}
		return
	}
	for _, partition := range need.Partitions {
		for _, ref := range p.index.partition(partition).producers(need.Producers) {
			f(p, ref)
		}
	}
}
