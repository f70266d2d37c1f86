package bench

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	ice "github.com/apache/iceberg-go"
	icecodec "github.com/apache/iceberg-go/codec"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/simulate"
	"github.com/seracdb/serac/tests/tpch"
	"github.com/seracdb/serac/wire"
)

// BenchmarkCodec prints what plans and file tasks take on the wire, and how long both ways last. Run it with
// `make bench-codec`.
func BenchmarkCodec(b *testing.B) {
	benchmarkFragments(b)
	benchmarkFileTasks(b)
}

// cost is what a call takes, in nanoseconds: by the clock, and of all threads' processor time (the collector's is in it,
// other programs' is not).
type cost struct{ elapsed, processor float64 }

func (c cost) plus(o cost) cost { return cost{c.elapsed + o.elapsed, c.processor + o.processor} }

// per is the cost of each of n things, as "elapsed (processor)".
func (c cost) per(n int) string {
	return fmt.Sprintf("%.0f (%.0f)", c.elapsed/float64(n), c.processor/float64(n))
}

// perCall is what f takes: the least of three rounds. (testing.Benchmark would wait for the benchmark that calls it.)
func perCall(f func()) cost {
	const round = 30 * time.Millisecond
	f() // warm
	least := cost{math.Inf(1), math.Inf(1)}
	for range 3 {
		calls, start, used := 0.0, time.Now(), processorTime()
		for time.Since(start) < round {
			f()
			calls++
		}
		least.elapsed = min(least.elapsed, float64(time.Since(start).Nanoseconds())/calls)
		least.processor = min(least.processor, float64((processorTime()-used).Nanoseconds())/calls)
	}
	return least
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// largeTables are the rows of TPC-H's tables at scale factor 1; the planner sees them, and no data are made.
var largeTables = map[string]int64{
	"region": 5, "nation": 25, "supplier": 10_000, "part": 200_000, "partsupp": 800_000, "customer": 150_000, "orders": 1_500_000, "lineitem": 6_001_215,
}

// benchmarkFragments encodes and decodes all stages of each TPC-H query, as for 8 slots, with the tables that each names.
func benchmarkFragments(b *testing.B) {
	s := simulate.New(b)
	for _, t := range tpch.Tables() {
		require.NoError(b, s.Conn.Exec(b.Context(), t.CreateSQL(t.Name)))
	}
	require.NoError(b, s.Describe())
	for name, rows := range largeTables {
		s.Tables[name].Rows, s.Tables[name].Bytes = rows, rows*100
	}
	fmt.Printf("ns: elapsed (of processors)\n%-6s %10s %6s %12s %12s %16s %16s\n", "query", "fragments", "nodes", "bytes/fragm.", "bytes/node", "encode ns/node", "decode ns/node")
	var all sum
	for n := 1; n <= tpch.Queries; n++ {
		bound, err := s.Bind(tpch.Query(n))
		require.NoError(b, err)
		require.NotNil(b, bound.Plan, bound.Reason)
		stages, _, err := s.Distribute(bound.Plan, planner.Options{Slots: 8})
		require.NoError(b, err)
		one := measureStages(b, stages)
		one.print(fmt.Sprintf("q%02d", n))
		all.add(one)
	}
	all.print("all")
}

// sum is what the fragments of some queries take.
type sum struct {
	fragments, nodes, bytes int
	encode, decode          cost
}

func (s *sum) add(o sum) {
	s.fragments += o.fragments
	s.nodes += o.nodes
	s.bytes += o.bytes
	s.encode, s.decode = s.encode.plus(o.encode), s.decode.plus(o.decode)
}

func (s *sum) print(label string) {
	fmt.Printf("%-6s %10d %6d %12d %12d %16s %16s\n", label, s.fragments, s.nodes, s.bytes/s.fragments, s.bytes/s.nodes, s.encode.per(s.nodes), s.decode.per(s.nodes))
}

func measureStages(b *testing.B, stages []*planner.Stage) sum {
	b.Helper()
	var s sum
	var tables [][]*wire.Table
	var encoded [][]byte
	for _, stage := range stages {
		named := map[string]bool{}
		plan.Walk(stage.Root, func(n plan.Node) bool {
			s.nodes++
			if scan, ok := n.(*plan.IcebergScan); ok {
				named[scan.TableKey] = true
			}
			return true
		})
		var of []*wire.Table
		for _, t := range tpch.Tables() {
			if named[t.Name] {
				of = append(of, wireTable(t.Name))
			}
		}
		f, err := codec.EncodeFragment(stage.Root, of)
		require.NoError(b, err)
		tables, encoded = append(tables, of), append(encoded, f)
		s.bytes += len(f)
		s.fragments++
	}
	s.encode = perCall(func() {
		for i, stage := range stages {
			if _, err := codec.EncodeFragment(stage.Root, tables[i]); err != nil {
				b.Fatal(err)
			}
		}
	})
	s.decode = perCall(func() {
		for _, f := range encoded {
			if _, err := codec.DecodeFragment(f); err != nil {
				b.Fatal(err)
			}
		}
	})
	return s
}

// wireTable is a table whose metadata is read from its location.
func wireTable(name string) *wire.Table {
	return &wire.Table{
		Key: name, Identifier: []string{"serac", "tpch", name}, FormatVersion: 2, ReadOnly: true,
		MetadataLocation: "s3://analytics-production-eu-central-1/warehouse/tpch.db/" + name + "/metadata/00007-0f3c5c1e-9f1e-4c8e-8c9e-000000000000.metadata.json",
		FileIO:           wire.NewFileIO(map[string]string{"s3.region": "eu-central-1", "s3.access-key-id": "k", "s3.secret-access-key": "s"}),
	}
}

// benchmarkFileTasks writes the file tasks of a scan, from iceberg-go's planned files to bytes and back to messages, and
// the same files through iceberg-go's own codec, which keeps their statistics.
func benchmarkFileTasks(b *testing.B) {
	schema := wideSchema()
	spec := ice.NewPartitionSpec()
	fmt.Printf("\n%-34s %8s %12s %16s %16s\n", "file tasks, 16 columns", "files", "bytes/file", "encode ns/file", "decode ns/file")
	for _, n := range []int{1, 1_000, 100_000} {
		files := &scan.Files{}
		for i := range n {
			files.Tasks = append(files.Tasks, wideTask(b, i, spec))
		}
		line := func(name string, bytes int, encode, decode cost) {
			fmt.Printf("%-34s %8d %12d %16s %16s\n", name, n, bytes/n, encode.per(n), decode.per(n))
		}
		line(measureGroup(b, files))
		line(measureTasks(b, files, spec, schema))
	}
}

func measureGroup(b *testing.B, files *scan.Files) (name string, bytes int, encode, decode cost) {
	b.Helper()
	toBytes := func() []byte {
		groups := scan.Group(files, 1<<62, 1, 1)
		encoded, err := proto.Marshal(groups[0])
		if err != nil {
			b.Fatal(err)
		}
		return encoded
	}
	encoded := toBytes()
	encode = perCall(func() { toBytes() })
	decode = perCall(func() {
		if err := proto.Unmarshal(encoded, &seracv1.FileGroup{}); err != nil {
			b.Fatal(err)
		}
	})
	group := &seracv1.FileGroup{}
	require.NoError(b, proto.Unmarshal(encoded, group))
	require.Len(b, group.GetFiles(), len(files.Tasks))
	return "Serac, a FileGroup", len(encoded), encode, decode
}

func measureTasks(b *testing.B, files *scan.Files, spec ice.PartitionSpec, schema *ice.Schema) (name string, bytes int, encode, decode cost) {
	b.Helper()
	encoded := make([][]byte, len(files.Tasks))
	encodeAll := func() {
		var err error
		for i, task := range files.Tasks {
			if encoded[i], err = icecodec.EncodeFileScanTask(task, spec, schema, 2); err != nil {
				b.Fatal(err)
			}
		}
	}
	encode = perCall(encodeAll)
	decode = perCall(func() {
		for _, task := range encoded {
			if _, err := icecodec.DecodeFileScanTask(task, spec, schema, 2); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, task := range encoded {
		bytes += len(task)
	}
	return "iceberg-go, EncodeFileScanTask", bytes, encode, decode
}

func wideSchema() *ice.Schema {
	fields := make([]ice.NestedField, 16)
	for i := range fields {
		fields[i] = ice.NestedField{ID: i + 1, Name: fmt.Sprintf("column_%d", i), Type: ice.PrimitiveTypes.String}
	}
	return ice.NewSchema(0, fields...)
}

// wideTask reads a whole data file, named as other writers name theirs, with statistics of each of its 16 columns.
func wideTask(b *testing.B, i int, spec ice.PartitionSpec) table.FileScanTask {
	b.Helper()
	path := fmt.Sprintf("s3://analytics-production-eu-central-1/warehouse/commerce.db/order_line_items/data/ship_month=2024-%02d/customer_bucket=%d/"+
		"%05d-431-0f3c5c1e-9f1e-4c8e-8c9e-%012d-00001.parquet", i%12+1, i%16, i%1000, i)
	size := 256<<20 + int64(i)
	file, err := ice.NewDataFileBuilder(spec, ice.EntryContentData, path, ice.ParquetFile, nil, nil, nil, 1_250_000+int64(i), size)
	require.NoError(b, err)
	counts, bounds := map[int]int64{}, map[int][]byte{}
	for id := 1; id <= 16; id++ {
		counts[id], bounds[id] = int64(1_250_000+i), []byte("sixteen bytes..!")
	}
	sequence := int64(123_456)
	return table.FileScanTask{
		File: file.ColumnSizes(counts).ValueCounts(counts).NullValueCounts(counts).LowerBoundValues(bounds).UpperBoundValues(bounds).
			SplitOffsets([]int64{4, 128 << 20}).Build(),
		Length: size, DataSequenceNumber: &sequence,
	}
}
