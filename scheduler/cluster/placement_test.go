package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
)

// placing is a cluster with executors e1, e2 ... of so many slots, and no streams.
func placing(slots ...int) *Cluster {
	c := &Cluster{executors: map[string]*executor{}}
	for i, n := range slots {
		id := fmt.Sprint("e", i+1)
		c.executors[id] = &executor{info: ExecutorInfo{ID: id, Slots: n}}
		c.order = append(c.order, c.executors[id])
	}
	return c
}

func (c *Cluster) used() (used []int) {
	for i := range len(c.executors) {
		used = append(used, c.executors[fmt.Sprint("e", i+1)].info.TasksRunning)
	}
	return used
}

// fill places n tasks and counts them as running.
func (c *Cluster) fill(n int, t job.Candidate) {
	for i := range n {
		t.Task = int32(i)
		if e := c.place(t); e != nil {
			e.info.TasksRunning++
		}
	}
}

func TestPlacementSpreads(t *testing.T) {
	c := placing(4, 4, 4)
	c.fill(3, job.Candidate{})
	require.Equal(t, []int{1, 1, 1}, c.used())
	c.fill(3, job.Candidate{File: "the same file"})
	require.Equal(t, []int{2, 2, 2}, c.used())
	c.fill(100, job.Candidate{})
	require.Equal(t, []int{4, 4, 4}, c.used(), "never more than the slots")

	// By the part of the slots, not by their number.
	c = placing(80, 40)
	c.fill(60, job.Candidate{})
	require.InDelta(t, 40, c.used()[0], 2)
}

func TestPlacementPrefers(t *testing.T) {
	prefer := func(shares ...job.Share) job.Candidate { return job.Candidate{Prefer: shares} }
	c := placing(4, 4)
	// Among equals, where more of the input is.
	require.Equal(t, "e2", c.place(prefer(job.Share{Executor: "e2", Bytes: 60, Of: 100}, job.Share{Executor: "e1", Bytes: 40, Of: 100})).info.ID)
	// A bit more input does not outweigh load, most of the input does.
	c.executors["e2"].info.TasksRunning = 2
	require.Equal(t, "e1", c.place(prefer(job.Share{Executor: "e2", Bytes: 60, Of: 100}, job.Share{Executor: "e1", Bytes: 40, Of: 100})).info.ID)
	require.Equal(t, "e2", c.place(prefer(job.Share{Executor: "e2", Bytes: 90, Of: 100}, job.Share{Executor: "e1", Bytes: 10, Of: 100})).info.ID)
	// Not where there is no slot, or no executor any more.
	c.executors["e2"].info.TasksRunning = 4
	require.Equal(t, "e1", c.place(prefer(job.Share{Executor: "e2", Bytes: 90, Of: 100}, job.Share{Executor: "e9", Bytes: 10, Of: 100})).info.ID)

	// The executor where it failed is the last choice, but better than none.
	c = placing(4, 4)
	c.executors["e1"].info.TasksRunning = 3
	avoid := job.Candidate{Avoid: "e2", Prefer: []job.Share{{Executor: "e2", Bytes: 100, Of: 100}}}
	require.Equal(t, "e1", c.place(avoid).info.ID)
	c.executors["e1"].info.TasksRunning = 4
	require.Equal(t, "e2", c.place(avoid).info.ID)
	c.executors["e2"].info.Draining = true
	require.Nil(t, c.place(avoid))
}

// TestPlacementRemembersFiles: the same file goes to the same executor as long as load allows; different ones are spread.
func TestPlacementRemembersFiles(t *testing.T) {
	c := placing(4, 4, 4, 4)
	counts := map[string]int{}
	for i := range 400 {
		file := job.Candidate{File: fmt.Sprint("s3://bucket/data/", i, ".parquet")}
		first := c.place(file).info.ID
		counts[first]++
		require.Equal(t, first, c.place(file).info.ID)
	}
	for id, n := range counts {
		require.InDelta(t, 100, n, 50, id)
	}
}

// TestFairness: a small job is not kept waiting by a large one that came first.
func TestFairness(t *testing.T) {
	b := newBench(t, Options{})
	b.start("e1", 2, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			go func() {
				time.Sleep(2 * time.Millisecond)
				x.work(l)
			}()
		}
	})
	ctx := testContext(t)
	large := b.c.Run(ctx, spec("large", stage(1, 300, "write f")))
	b.eventually("the large job is under way", func() bool { return large.Progress().TasksDone > 2 })
	for i := range 3 {
		_, err := b.c.Run(ctx, spec(fmt.Sprint("small", i), stage(1, 3, "shuffle 1"), stage(2, 2, "write g", 1))).Wait(ctx)
		require.NoError(t, err)
	}
	require.Less(t, large.Progress().TasksDone, 150)
	_, err := large.Wait(ctx)
	require.NoError(t, err)
}

// splitAll is the messages of a launch.
func splitAll(t *testing.T, l *seracv1.TaskLaunch, limit int) (first *seracv1.TaskLaunch, parts []*seracv1.TaskLaunchPart) {
	t.Helper()
	require.NoError(t, split(l, limit, func(m *seracv1.AttachResponse) error {
		if first == nil {
			first = m.GetLaunch()
			return nil
		}
		parts = append(parts, m.GetLaunchPart())
		return nil
	}))
	return first, parts
}

func TestSplit(t *testing.T) {
	const limit = 10_000
	l := &seracv1.TaskLaunch{Id: &seracv1.TaskId{JobId: "j", Stage: 1, Task: 2, Attempt: 3}, Fragment: make([]byte, 3000), Settings: map[string]string{"TimeZone": "UTC"}}
	group := &seracv1.FileGroup{}
	for i := range 50 {
		group.DeleteFiles = append(group.DeleteFiles, &seracv1.DeleteFile{Path: fmt.Sprint("delete-", i)})
	}
	for i := range 500 {
		f := &seracv1.FileScanTask{Path: fmt.Sprint("s3://bucket/warehouse/ns/table/data/file-", i, ".parquet"), SizeBytes: 1 << 30}
		if i%3 == 0 {
			f.Deletes = []int32{int32(i % 50), int32((i + 7) % 50)}
		}
		if i > 100 {
			f.Residual = int32(i % 4) // 0: none
		}
		group.Files = append(group.Files, f)
	}
	group.Residuals = []*seracv1.Residual{{Conjuncts: 90, Remaining: []int32{1}}, {Conjuncts: 90}, {Conjuncts: 90, Remaining: slices.Repeat([]int32{7}, 80)}}
	input := &seracv1.ShuffleInput{}
	for i := range 400 {
		input.Files = append(input.Files, &seracv1.ShuffleFile{Path: fmt.Sprint("/spill/", i), ExecutorId: "e1"})
	}
	l.Assignments = []*seracv1.LeafAssignment{
		{Leaf: 1, What: &seracv1.LeafAssignment_Files{Files: group}},
		{Leaf: 2, What: &seracv1.LeafAssignment_Constant{Constant: &seracv1.ConstantInput{}}},
		{Leaf: 3, What: &seracv1.LeafAssignment_Shuffle{Shuffle: input}},
		{Leaf: 4, What: &seracv1.LeafAssignment_Files{Files: &seracv1.FileGroup{}}},
	}
	before := proto.Clone(l)
	first, parts := splitAll(t, l, limit)
	require.True(t, proto.Equal(before, l), "the launch itself is shared and stays")
	require.Equal(t, int32(len(parts)), first.GetParts())
	require.Greater(t, len(parts), 3)
	require.LessOrEqual(t, proto.Size(first), limit+100)
	require.True(t, proto.Equal(l.GetId(), first.GetId()))
	require.Equal(t, l.GetSettings(), first.GetSettings())

	// Put together again: every file once, in order, with its own delete files and residual.
	type file struct {
		path     string
		deletes  []string
		residual *seracv1.Residual
	}
	read := func(a *seracv1.LeafAssignment) (files []file) {
		for _, f := range a.GetFiles().GetFiles() {
			x := file{path: f.GetPath()}
			for _, d := range f.GetDeletes() {
				x.deletes = append(x.deletes, a.GetFiles().GetDeleteFiles()[d].GetPath())
			}
			if r := f.GetResidual(); r != 0 {
				x.residual = a.GetFiles().GetResiduals()[r-1]
			}
			files = append(files, x)
		}
		for _, f := range a.GetShuffle().GetFiles() {
			files = append(files, file{path: f.GetPath()})
		}
		return files
	}
	got := map[int32][]file{}
	for _, a := range first.GetAssignments() {
		got[a.GetLeaf()] = append(got[a.GetLeaf()], read(a)...)
	}
	for _, p := range parts {
		require.LessOrEqual(t, proto.Size(p), limit+100)
		require.True(t, proto.Equal(l.GetId(), p.GetId()))
		seen := map[int32]bool{}
		for _, a := range p.GetAssignments() {
			require.False(t, seen[a.GetLeaf()], "a leaf once in a message")
			seen[a.GetLeaf()] = true
			got[a.GetLeaf()] = append(got[a.GetLeaf()], read(a)...)
		}
	}
	require.Len(t, got, 4)
	for _, a := range l.GetAssignments() {
		require.Equal(t, read(a), got[a.GetLeaf()])
	}

	// A fragment that takes all the room goes alone.
	l.Fragment = make([]byte, 2*limit)
	first, parts = splitAll(t, l, limit)
	require.Empty(t, first.GetAssignments())
	require.NotEmpty(t, parts[0].GetAssignments())
	// A small one stays whole.
	first, parts = splitAll(t, l, 1<<20)
	require.Same(t, l, first)
	require.Empty(t, parts)
}

// TestLargeLaunch: an assignment far beyond gRPC's message limit arrives.
func TestLargeLaunch(t *testing.T) {
	b := newBench(t, Options{})
	got := make(chan *seracv1.TaskLaunch, 1)
	b.start("e1", 1, func(x *fake, _ *seracv1.Register) {
		x.onLaunch = func(x *fake, l *seracv1.TaskLaunch) {
			got <- l
			x.work(l)
		}
	})
	group := &seracv1.FileGroup{}
	for i := range 40_000 {
		group.Files = append(group.Files, &seracv1.FileScanTask{Path: fmt.Sprintf("s3://bucket/warehouse/namespace/table/data/%0100d.parquet", i)})
	}
	s := stage(1, 1, "write f")
	s.Tasks[0].Assignments = []*seracv1.LeafAssignment{{Leaf: 1, What: &seracv1.LeafAssignment_Files{Files: group}}}
	ctx := testContext(t)
	_, err := b.c.Run(ctx, spec("w", s)).Wait(ctx)
	require.NoError(t, err)
	n := 0
	for _, a := range (<-got).GetAssignments() {
		n += len(a.GetFiles().GetFiles())
	}
	require.Equal(t, 40_000, n)
}

// BenchmarkDispatch: tasks a second through the whole cluster, with streams and machine, on 1000 executors.
func BenchmarkDispatch(b *testing.B) {
	bench := newBench(b, Options{})
	for i := range 1000 {
		bench.start(fmt.Sprint("e", i), 4)
	}
	n := 0
	for b.Loop() {
		n++
		s := spec(fmt.Sprint("j", n), stage(1, 20_000, "shuffle 1"), stage(plan.StageID(2), 1, "write f", 1))
		ctx := testContext(b)
		if _, err := bench.c.Run(ctx, s).Wait(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(20_001*n)/b.Elapsed().Seconds(), "tasks/s")
}
