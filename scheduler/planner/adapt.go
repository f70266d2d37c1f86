package planner

import (
	"slices"

	"github.com/seracdb/serac/plan"
)

// A join that goes by real sizes: its smaller side becomes a stage at once, the other side is planned while that runs, and
// then the join is decided. Nothing else changes: the finished side is a piece that reads the stage, of known size.

// adapts says whether it is worth finishing a side of the join before deciding on it.
func (j *joining) adapts() bool {
	a := j.d.options.Adaptive
	return j.d.runtime != nil && (a.Broadcast || a.Empty || a.Filters) && len(j.leftKeys) > 0
}

// adaptive distributes both sides, one of them finished. done is the join's piece when nothing is left to decide.
func (j *joining) adaptive() (done *piece, err error) {
	first := j.firstSide()
	if err := j.besides(first); err != nil {
		return nil, err
	}
	early := j.worthFinishing(first) && (!j.at(first).isSingle() || j.d.spreads(j.n.Children()[first.other()])) && !j.likelyByRanges()
	var s *sharedStage
	if early {
		if s, err = j.finish(first); err != nil {
			return nil, err
		}
	}
	before := len(j.d.stages)
	if err := j.distribute(first.other()); err != nil {
		return nil, err
	}
	others := j.d.stages[before:]
	if !early && !(j.left.isSingle() && j.right.isSingle()) {
		if p, ok := j.byRanges(); ok {
			return p, nil
		}
	}
	// Where both sides are in one place already no exchange is needed at all, and nothing to wait for.
	if !early && j.worthFinishing(first) && !j.at(first.other()).isSingle() {
		if s, err = j.finish(first); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, nil
	}
	out, err := j.d.runtime.Output(j.d.stages, s.stage)
	if err != nil {
		return nil, err
	}
	done = j.learn(first, s, out)
	if done != nil {
		j.d.drop(others)
	}
	return done, nil
}

// drop gives up stages that nothing will read.
func (d *distributor) drop(stages []*Stage) {
	for _, s := range stages {
		s.Dropped = true
	}
	if len(stages) > 0 {
		d.runtime.Drop(stages)
	}
}

// learn puts what is known of a finished side to use.
func (j *joining) learn(finished side, s *sharedStage, out *Output) *piece {
	a := j.d.options.Adaptive
	certain := j.d.certain(s.stage)
	if a.Empty && certain && out.Rows == 0 && j.emptyWithout(finished) {
		return j.d.empty(j.n.Schema()).note("join: a side has no rows")
	}
	p := j.d.read(s)
	if a.Broadcast {
		s.measured(out)
		p.rows, p.bytes, p.dropped = s.rows, s.bytes, s.dropped
		p = p.note("join: a side that was estimated at %s has %s", plan.BytesText(j.at(finished).bytes), plan.BytesText(p.bytes))
	}
	if s.partitions > 1 {
		if cols, plain := columnRefs(s.keys); plain {
			p.hash = cols
		}
	}
	p.from = s
	j.set(finished, p)
	if a.Filters && certain && j.dropsUnmatched(finished.other()) {
		j.filter(finished, out)
	}
	return nil
}

// firstSide is the side to finish first: the smaller one, unless only the other could be sent to every task.
func (j *joining) firstSide() side {
	left, right := j.d.weight(j.n.Left), j.d.weight(j.n.Right)
	first, size := rightSide, left
	if left < right {
		first, size = leftSide, right
	}
	other := first.other()
	if !mayBroadcast(j.n, first) && mayBroadcast(j.n, other) && size <= float64(j.d.options.BroadcastThreshold) {
		return other
	}
	return first
}

// worthFinishing says whether a side should become a stage: not what every task may as well read for itself, nor what is
// where the join wants it already.
func (j *joining) worthFinishing(s side) bool {
	p := j.at(s)
	_, _, replicated := j.d.replicated(p)
	switch {
	case mayBroadcast(j.n, s) && j.fits(s) && replicated:
		return false
	case len(p.units) == j.d.options.ShufflePartitions && p.hash != nil && j.onKeys(p.hash, s):
		return false
	}
	return j.d.canExchange(p.node.Schema())
}

// onKeys says whether columns are all keys of a side: rows that meet agree in them.
func (j *joining) onKeys(columns []int, s side) bool {
	return !slices.ContainsFunc(columns, func(col int) bool {
		return !slices.ContainsFunc(j.keys(s), func(k plan.Expr) bool {
			ref, ok := k.(*plan.ColumnRef)
			return ok && ref.Index == col
		})
	})
}

// finish makes a side a stage: in one partition where by estimate it will be sent to every task, else partitioned on the
// join's keys.
func (j *joining) finish(s side) (*sharedStage, error) {
	p, keys, partitions := j.at(s), j.keys(s), j.d.options.ShufflePartitions
	if j.fits(s) && mayBroadcast(j.n, s) && j.worthBroadcast(s) {
		partitions = 1
	}
	var summarize []int
	if j.d.options.Adaptive.Filters && j.dropsUnmatched(s.other()) {
		for _, k := range keys {
			if ref, ok := k.(*plan.ColumnRef); ok {
				summarize = append(summarize, ref.Index)
			}
		}
	}
	return j.d.exchangeSummarized(p, keys, partitions, summarize)
}

// emptyWithout says whether the join has no rows when a side has none.
func (j *joining) emptyWithout(s side) bool {
	switch j.n.Kind {
	case plan.Inner, plan.LeftSemi, plan.RightSemi:
		return true
	case plan.Left, plan.LeftAnti, plan.Single, plan.Mark:
		return s == leftSide
	case plan.Right, plan.RightAnti:
		return s == rightSide
	case plan.Full:
		return false
	}
	return false
}

// dropsUnmatched says whether rows of a side without a partner have no part in the result.
func (j *joining) dropsUnmatched(s side) bool {
	switch j.n.Kind {
	case plan.Inner, plan.LeftSemi, plan.RightSemi:
		return true
	case plan.Left, plan.LeftAnti, plan.Single:
		return s == rightSide
	case plan.Right, plan.RightAnti:
		return s == leftSide
	case plan.Full, plan.Mark: // one NULL on the right side changes every mark
		return false
	}
	return false
}

// empty is a piece without rows.
func (d *distributor) empty(out plan.Schema) *piece {
	d.nextLeaf++
	return &piece{node: &plan.Values{Leaf: d.nextLeaf, Out: out}, units: []unit{{d.nextLeaf: {constant: true}}}}
}

// distributeBesides distributes a node while others, which do not need it to be finished, have not been started yet.
func (d *distributor) distributeBesides(n plan.Node) (*piece, error) {
	d.besides++
	defer func() { d.besides-- }()
	return d.distribute(n)
}

// measure waits for a stage and puts its real size in place of the estimate.
func (d *distributor) measure(s *sharedStage) error {
	if d.runtime == nil || !d.options.Adaptive.Broadcast {
		return nil
	}
	out, err := d.runtime.Output(d.stages, s.stage)
	if err != nil {
		return err
	}
	s.measured(out)
	return nil
}

// regroup is repartition for an operator with one input. Where nothing else is left to be started, it waits for the stage, and
// reads little as one unit: then what follows needs no further exchange.
func (d *distributor) regroup(in *piece, keys []plan.Expr) (*piece, error) {
	p, err := d.repartition(in, keys)
	limit := d.options.MaxPartitionsPerTask
	if err != nil || p.isSingle() || d.runtime == nil || !d.options.Adaptive.Coalesce || d.besides > 0 || limit > 0 && limit < len(p.units) {
		return p, err
	}
	out, err := d.runtime.Output(d.stages, p.node.(*plan.ShuffleRead).Stage)
	if err != nil {
		return nil, err
	}
	p.rows, p.bytes = out.size()
	if p.bytes > minShuffleTask {
		return p, nil
	}
	p.units, p.hash = []unit{mergeAll(p.units)}, nil
	return p.note("%s in all: read by one task", plan.BytesText(p.bytes)), nil
}

// certain says whether a stage gives the same rows however often it and its inputs run: only then may a decision that
// its rows are gone from go by what it wrote the first time.
func (d *distributor) certain(id plan.StageID) bool {
	s := d.stages[id]
	return !s.Indeterminate && !slices.ContainsFunc(s.Inputs, func(in plan.StageID) bool { return !d.certain(in) })
}

// weight is a first guess at the bytes that a node gives, good enough to tell which side of a join to finish first.
func (d *distributor) weight(n plan.Node) float64 {
	switch n := n.(type) {
	case *plan.IcebergScan:
		files, ok := d.scans[n.Leaf]
		if !ok {
			return 0
		}
		bytes := decoded(n, files)
		if n.Filter != nil {
			bytes *= selectivity(n.Filter)
		}
		return bytes
	case *plan.Extension:
		if leaf, ok := n.Leaf(); ok && d.scans[leaf] != nil {
			return float64(d.scans[leaf].Bytes())
		}
	case *plan.CTERef:
		if once := d.ctes[n.Index]; once != nil {
			return once.bytes()
		}
	case *plan.DelimGet:
		if set := d.boundDelim(); set != nil {
			return set.bytes()
		}
	case *plan.Filter:
		w := d.weight(n.Input)
		if s, ok := n.Input.(*plan.IcebergScan); !ok || s.Filter == nil {
			w *= selectivity(n.Cond)
		}
		return w
	case *plan.Aggregate:
		return d.weight(n.Input) * 0.2
	case *plan.Join:
		switch n.Kind {
		case plan.LeftSemi, plan.LeftAnti, plan.Mark, plan.Single:
			return d.weight(n.Left)
		case plan.RightSemi, plan.RightAnti:
			return d.weight(n.Right)
		case plan.Inner, plan.Left, plan.Right, plan.Full:
			return max(d.weight(n.Left), d.weight(n.Right))
		}
	}
	var total float64
	for _, c := range n.Children() {
		total += d.weight(c)
	}
	return total
}
