package planner

import (
	"fmt"
	"maps"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Options are the session's choices. The zero value of a field means its default.
type Options struct {
	// Slots is the number of task slots in the cluster; 1 when unknown.
	Slots int
	// ShufflePartitions is the number of partitions of a repartitioning exchange; by default as many as slots.
	ShufflePartitions int
	// MaxPartitionsPerTask bounds the units of one task; 0 is unlimited.
	MaxPartitionsPerTask int
	// TargetTaskSize is the bytes of table data a scan's unit should have; default 256 MiB.
	TargetTaskSize int64
	// BroadcastThreshold is the size in bytes, of decoded rows, up to which a join's build side may be sent to every task; default
	// 32 MiB; negative never broadcasts where a partitioned join is possible.
	BroadcastThreshold int64
	// Adaptive says which decisions go by the real sizes of what earlier stages wrote.
	Adaptive Adaptive
	// KeyRanges lets scans be divided by ranges of a key instead of by files, where that saves an exchange.
	KeyRanges bool
	// CanShuffle says whether values of a type survive a shuffle file exactly. Nil means all do.
	CanShuffle func(plan.Type) bool

	// SplitAlways splits every partition that may be, whatever its size: for tests.
	SplitAlways bool
	// RangesAlways divides scans by ranges wherever that is possible, whatever it costs: for tests.
	RangesAlways bool
	// EarlyAlways aggregates below joins wherever that is possible, whatever it costs: for tests.
	EarlyAlways bool
}

const (
	defaultTargetTaskSize     = 256 << 20
	defaultBroadcastThreshold = 32 << 20
	// minUnitSize keeps small scans in few units: cutting below it costs more than it gains.
	minUnitSize = 4 << 20
	// decodedUnits is how many times more decoded bytes than bytes in files are worth a unit.
	decodedUnits = 5
	// replicateThreshold is the size up to which the scans of a build side made of scans alone are read again by every
	// task, instead of the side being a stage of its own.
	replicateThreshold = 2 << 20
)

func (o Options) withDefaults() Options {
	if o.Slots < 1 {
		o.Slots = 1
	}
	if o.ShufflePartitions < 1 {
		o.ShufflePartitions = o.Slots
	}
	if o.TargetTaskSize <= 0 {
		o.TargetTaskSize = defaultTargetTaskSize
	}
	if o.BroadcastThreshold == 0 {
		o.BroadcastThreshold = defaultBroadcastThreshold
	}
	if o.CanShuffle == nil {
		o.CanShuffle = func(plan.Type) bool { return true }
	}
	return o
}

// ScanFiles is a planned scan: it is known what it reads. That of an IcebergScan is a FileScan, that of a leaf of another
// table format a SplitScan.
type ScanFiles interface {
	// Rows and Bytes are those of what the scan reads, of the columns read; before deletes.
	Rows() int64
	Bytes() int64
}

// FileScan is the planned scan of an Iceberg table.
type FileScan interface {
	ScanFiles
	// Groups cuts the files into at least minGroups (where the files can be cut so far) groups of about target bytes. It
	// never returns less than one group: an empty table reads as one group without files (rule 10).
	Groups(target int64, minGroups int) []*seracv1.FileGroup
}

// Stage is a fragment with its tasks.
type Stage struct {
	ID plan.StageID
	// Root is a ShuffleWrite, an IcebergWrite, or (the result stage) any other node.
	Root   plan.Node
	Inputs []plan.StageID
	Tasks  []Task
	// Plan, if not nil, gives the tasks once the inputs have run, in place of Tasks, which are by estimates then. It is a
	// pure function of what the inputs wrote.
	Plan func(inputs map[plan.StageID]*Output) []Task
	// Units is how many pieces the work was cut into before it was packed into tasks.
	Units int
	// Notes say what was decided and why, for EXPLAIN.
	Notes []string
	// Indeterminate: run again, a task may give other rows. Whatever was made of its lost output must be made again too.
	Indeterminate bool
	// Dropped: what would have read the stage has turned out to have no rows; it need not run, or not to its end.
	Dropped bool
	// EstimatedRows and EstimatedBytes are of the stage's output.
	EstimatedRows, EstimatedBytes float64
}

// Task says for each leaf what it reads.
type Task struct {
	Files     map[plan.LeafID][]*seracv1.FileGroup
	Splits    map[plan.LeafID][]*seracv1.Split
	Constants []plan.LeafID
	Shuffle   []ShuffleInput
}

// ShuffleInput assigns partitions of a stage's output to a leaf. All: every partition (broadcast).
type ShuffleInput struct {
	Leaf       plan.LeafID
	Stage      plan.StageID
	Partitions []int32
	All        bool
	// Producers, if not nil, restricts the input to what some of the stage's tasks wrote.
	Producers *Range
}

// Range is the tasks of a stage from From to before To.
type Range struct{ From, To int32 }

// Distribute cuts root into stages; the last one is the statement's root. scans holds what every IcebergScan and
// every leaf of another table format reads. All goes by estimates.
func Distribute(root plan.Node, scans map[plan.LeafID]ScanFiles, options Options) ([]*Stage, error) {
	options.Adaptive = Adaptive{}
	return Adapt(root, scans, options, nil)
}

// Adapt is Distribute while the stages run: where Options.Adaptive says so, it waits for what earlier stages have really
// written. The stages that it gives are all; those that the runtime was not given for want of a reason to wait are at the
// end.
func Adapt(root plan.Node, scans map[plan.LeafID]ScanFiles, options Options, runtime Runtime) ([]*Stage, error) {
	root, err := plan.ImplyFilters(root, selective)
	if err != nil {
		return nil, err
	}
	d := newDistributor(root, scans, options.withDefaults())
	d.runtime = runtime
	p, err := d.root(root)
	if err != nil {
		return nil, err
	}
	d.finish(p)
	return d.stages, nil
}

// OneTask runs root as one task over its scans, without any exchange.
func OneTask(root plan.Node, scans map[plan.LeafID]ScanFiles, note string) ([]*Stage, error) {
	d := newDistributor(root, scans, Options{}.withDefaults())
	u, err := d.readAll(root)
	if err != nil {
		return nil, err
	}
	p := &piece{node: root, units: []unit{u}, notes: []string{note}}
	d.finish(p)
	return d.stages, nil
}

type distributor struct {
	options  Options
	runtime  Runtime
	scans    map[plan.LeafID]ScanFiles
	stages   []*Stage
	nextLeaf plan.LeafID
	ctes     map[int]*bound
	delims   []*delimSet // of the delim joins around whose other side is being distributed, outermost first
	// besides counts the nodes around that have inputs which are not distributed yet.
	besides int
	// scatter holds the leaves whose partitions may be read in parts by several tasks.
	scatter map[plan.LeafID]bool
	// ordered is the sort or limit that gives the statement's rows their order, if there is one: nothing but projections and
	// filters stand above it.
	ordered plan.Node
}

func newDistributor(root plan.Node, scans map[plan.LeafID]ScanFiles, o Options) *distributor {
	d := &distributor{options: o, scans: maps.Clone(scans), ctes: map[int]*bound{}, scatter: map[plan.LeafID]bool{}}
	eachLeaf(root, func(_ plan.Node, id plan.LeafID) { d.nextLeaf = max(d.nextLeaf, id) })
	return d
}

// root distributes a statement's root, which may be a write.
func (d *distributor) root(n plan.Node) (*piece, error) {
	if w, ok := n.(*plan.IcebergWrite); ok {
		return d.write(w)
	}
	d.ordered = orderedBy(n)
	return d.distribute(n)
}

// distribute is the one switch from node kinds to strategies.
func (d *distributor) distribute(n plan.Node) (*piece, error) {
	switch n := n.(type) {
	case *plan.IcebergScan:
		return d.scan(n)
	case *plan.MetadataScan:
		return d.metadataScan(n)
	case *plan.Values:
		return d.values(n)
	case *plan.TableFunction:
		return d.tableFunction(n)
	case *plan.Filter:
		return d.filter(n)
	case *plan.Project:
		return d.project(n)
	case *plan.Unnest:
		return d.unnest(n)
	case *plan.Aggregate:
		return d.aggregate(n)
	case *plan.Join:
		return d.join(n)
	case *plan.Sort:
		return d.sort(n)
	case *plan.Limit:
		return d.limit(n)
	case *plan.Distinct:
		return d.distinct(n)
	case *plan.Window:
		return d.window(n)
	case *plan.SetOp:
		return d.setOp(n)
	case *plan.CTE:
		return d.cte(n)
	case *plan.CTERef:
		return d.cteRef(n)
	case *plan.DelimJoin:
		return d.delimJoin(n)
	case *plan.DelimGet:
		return d.delimGet(n)
	case *plan.RecursiveCTE, *plan.Sample, *plan.WholeStatement:
		return d.single(n)
	case *plan.Extension:
		return d.extension(n)
	case *plan.ShuffleRead, *plan.ShuffleWrite, *plan.IcebergWrite, *plan.IcebergCommit:
		return nil, fmt.Errorf("distribute: %T cannot stand here", n)
	}
	return nil, fmt.Errorf("distribute: no strategy for %T", n)
}
