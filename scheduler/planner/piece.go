package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// A piece is a fragment under construction and the units it can be run in.
type piece struct {
	node  plan.Node
	units []unit
	// hash, if not nil, are the output columns by whose hash the units were made: rows with equal values there are in the
	// same unit, and unit i holds partition i of len(units).
	hash []int
	// cut, if not nil, are the scans' columns by whose ranges the units were made: all scans but those that every unit reads whole.
	cut origin
	// from, if not nil, is the stage that the piece does nothing but read: whoever wants its rows in another way may read it
	// again.
	from *sharedStage
	// rows and bytes estimate the output. dropped is the part of the rows that conditions have taken out, by estimate.
	rows, bytes, dropped float64
	notes                []string
}

// A unit assigns to leaves what they read. Leaves it does not name read nothing.
type unit map[plan.LeafID]reads

type reads struct {
	files      []*seracv1.FileGroup
	splits     []*seracv1.Split // nil: not a leaf of splits
	constant   bool
	stage      plan.StageID
	partitions []int32
	all        bool
	// producers, if not nil, restricts the read to what a range of the stage's tasks wrote. Such reads are not merged.
	producers *Range
	bytes     float64
}

// merge gives the unit that reads what both read. Units of one fragment either read different things of a leaf or the
// same (replicated) thing whole.
func (u unit) merge(o unit) unit {
	m := maps.Clone(u)
	for leaf, r := range o {
		have, both := m[leaf]
		switch {
		case !both:
			m[leaf] = r
		case have.all || have.constant:
		case len(have.files) > 0 && len(r.files) > 0 && have.files[0] == r.files[0]:
			// replicated
		case len(have.splits) > 0 && len(r.splits) > 0 && have.splits[0] == r.splits[0]:
			// replicated
		case have.splits != nil:
			have.splits = append(slices.Clip(have.splits), r.splits...)
			have.bytes += r.bytes
			m[leaf] = have
		default:
			have.files = append(slices.Clip(have.files), r.files...)
			have.partitions = append(slices.Clip(have.partitions), r.partitions...)
			have.bytes += r.bytes
			m[leaf] = have
		}
	}
	return m
}

func (u unit) bytes() float64 {
	var total float64
	for _, r := range u {
		total += r.bytes
	}
	return total
}

func mergeAll(units []unit) unit {
	m := unit{}
	for _, u := range units {
		m = m.merge(u)
	}
	return m
}

// isSingle: the piece runs in one task, so any operator may stand on it.
func (p *piece) isSingle() bool { return len(p.units) == 1 }

// over is the piece with a node put on top that keeps the rows' places.
func (p *piece) over(n plan.Node) *piece {
	return &piece{node: n, units: p.units, hash: p.hash, cut: p.cut, rows: p.rows, bytes: p.bytes, dropped: p.dropped, notes: p.notes}
}

func (p *piece) note(format string, args ...any) *piece {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.notes, text) {
		p.notes = append(slices.Clip(p.notes), text)
	}
	return p
}

// sharedStage is the output of a stage that several leaves may read.
type sharedStage struct {
	stage       plan.StageID
	out         plan.Schema
	partitions  int
	keys        []plan.Expr
	rows, bytes float64
	dropped     float64
	// producers is how many tasks wrote the stage; 0: as many as it has by estimate.
	producers int
}

// canExchange says whether rows of a schema survive an exchange.
func (d *distributor) canExchange(s plan.Schema) bool {
	return !slices.ContainsFunc(s, func(c plan.Column) bool { return !d.options.CanShuffle(c.Type) })
}

// exchange ends p as a stage that hashes its rows on keys into n partitions. Without keys (rows without columns have none
// to give) there is one partition.
func (d *distributor) exchange(p *piece, keys []plan.Expr, n int) (*sharedStage, error) {
	return d.exchangeSummarized(p, keys, n, nil)
}

// exchangeSummarized is exchange, with a summary asked for of some output columns (Output.Keys).
func (d *distributor) exchangeSummarized(p *piece, keys []plan.Expr, n int, summarize []int) (*sharedStage, error) {
	for _, c := range p.node.Schema() {
		if !d.options.CanShuffle(c.Type) {
			return nil, &NotDistributableError{Reason: fmt.Sprintf("values of type %s cannot cross an exchange", c.Type)}
		}
	}
	if n == 1 || len(keys) == 0 {
		n, keys = 1, nil
	}
	root := &plan.ShuffleWrite{Input: p.node, Keys: keys, Partitions: n, Summarize: summarize}
	id := d.addStage(p, root)
	return &sharedStage{stage: id, out: p.node.Schema(), partitions: n, keys: keys, rows: p.rows, bytes: p.bytes, dropped: p.dropped}, nil
}

// read is a new leaf over a stage's output, a unit per partition.
func (d *distributor) read(s *sharedStage) *piece {
	leaf := d.newRead(s, false)
	units := make([]unit, s.partitions)
	for i := range units {
		units[i] = unit{leaf.Leaf: {stage: s.stage, partitions: []int32{int32(i)}, bytes: s.bytes / float64(s.partitions)}}
	}
	return &piece{node: leaf, units: units, rows: s.rows, bytes: s.bytes, dropped: s.dropped}
}

// readBroadcast is a piece and a unit that read all of a stage's output wherever they stand.
func (d *distributor) readBroadcast(s *sharedStage) (*piece, unit) {
	leaf := d.newRead(s, true)
	return &piece{node: leaf, rows: s.rows, bytes: s.bytes, dropped: s.dropped}, unit{leaf.Leaf: {stage: s.stage, all: true}}
}

func (d *distributor) newRead(s *sharedStage, broadcast bool) *plan.ShuffleRead {
	d.nextLeaf++
	return &plan.ShuffleRead{
		Leaf: d.nextLeaf, Stage: s.stage, Broadcast: broadcast, Out: s.out,
		EstimatedRows: int64(s.rows), EstimatedBytes: int64(s.bytes),
	}
}

// repartition hashes p's rows on keys, output columns or expressions over them. It always gives ShufflePartitions units, or
// one when there are no keys.
func (d *distributor) repartition(p *piece, keys []plan.Expr) (*piece, error) {
	if p.isSingle() && (d.options.ShufflePartitions == 1 || len(keys) == 0) {
		return p, nil // all rows are in one place already
	}
	p, err := d.spread(p)
	if err != nil {
		return nil, err
	}
	s, err := d.exchange(p, keys, d.options.ShufflePartitions)
	if err != nil {
		return nil, err
	}
	r := d.read(s)
	if cols, ok := columnRefs(keys); ok && len(cols) > 0 {
		r.hash = cols
	}
	return r, nil
}

// gather brings p's rows into one task.
func (d *distributor) gather(p *piece) (*piece, error) {
	if p.isSingle() {
		return p, nil
	}
	s, err := d.exchange(p, nil, 1)
	if err != nil {
		return nil, err
	}
	return d.read(s), nil
}

func (d *distributor) addStage(p *piece, root plan.Node) plan.StageID {
	id := plan.StageID(len(d.stages))
	stage := &Stage{
		ID: id, Root: root, Units: len(p.units), Notes: p.notes, EstimatedRows: p.rows, EstimatedBytes: p.bytes,
		Tasks: d.packTasks(p.units), Plan: d.latePlan(p.units), Indeterminate: !determinate(root),
	}
	if scanned := d.scanned(root); len(p.units) == 1 && scanned > 0 {
		stage.Notes = append(slices.Clip(stage.Notes), fmt.Sprintf("scan: %s, read by one task", plan.BytesText(scanned)))
	}
	eachLeaf(root, func(n plan.Node, _ plan.LeafID) {
		if r, ok := n.(*plan.ShuffleRead); ok && !slices.Contains(stage.Inputs, r.Stage) {
			stage.Inputs = append(stage.Inputs, r.Stage)
		}
	})
	slices.Sort(stage.Inputs)
	d.stages = append(d.stages, stage)
	return id
}

// scanned is the size of the scans of a fragment.
func (d *distributor) scanned(root plan.Node) float64 {
	var total float64
	eachLeaf(root, func(n plan.Node, id plan.LeafID) {
		switch n.(type) {
		case *plan.IcebergScan, *plan.Extension:
			total += float64(d.scans[id].Bytes())
		}
	})
	return total
}

// finish makes the root piece the last stage.
func (d *distributor) finish(p *piece) { d.addStage(p, p.node) }

// NotDistributableError says why a plan must run whole in one task.
type NotDistributableError struct{ Reason string }

func (e *NotDistributableError) Error() string { return "the plan cannot be distributed: " + e.Reason }

// columnRefs gives the columns if all of exprs are plain references.
func columnRefs(exprs []plan.Expr) ([]int, bool) {
	cols := make([]int, len(exprs))
	for i, e := range exprs {
		ref, ok := e.(*plan.ColumnRef)
		if !ok {
			return nil, false
		}
		cols[i] = ref.Index
	}
	return cols, true
}

// eachLeaf visits the leaves that assignments address.
func eachLeaf(n plan.Node, visit func(plan.Node, plan.LeafID)) {
	switch n := n.(type) {
	case *plan.IcebergScan:
		visit(n, n.Leaf)
	case *plan.MetadataScan:
		visit(n, n.Leaf)
	case *plan.Values:
		visit(n, n.Leaf)
	case *plan.ShuffleRead:
		visit(n, n.Leaf)
	case *plan.TableFunction:
		if n.Input == nil {
			visit(n, n.Leaf)
		}
	case *plan.Extension:
		if id, ok := n.Leaf(); ok {
			visit(n, id)
		}
	}
	for _, c := range n.Children() {
		eachLeaf(c, visit)
	}
}
