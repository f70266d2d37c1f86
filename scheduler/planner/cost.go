package planner

import (
	"github.com/seracdb/serac/plan"
)

// What work on rows costs, in the time that it takes to read their decoded bytes from a file. Where a join has the choice,
// these say what takes less time until its last task has finished.
const (
	writeCost = 3 // a shuffle file
	readCost  = 1 // a shuffle file or a scan's columns
	buildCost = 2 // a join's hash table
	probeCost = 1
	// stageCost is what a stage more takes, in bytes.
	stageCost = 4 << 20
)

// parallel is how many tasks can work on units at the same time.
func (d *distributor) parallel(units int) float64 {
	return float64(max(1, min(units, d.options.Slots)))
}

// exchangeCost is the time of a stage that writes a piece to shuffle files.
func (d *distributor) exchangeCost(p *piece) float64 { return d.writeTime(p.bytes, len(p.units)) }

// writeTime is the time of a stage that writes so many bytes in so many units.
func (d *distributor) writeTime(bytes float64, units int) float64 {
	return stageCost + writeCost*bytes/d.parallel(units)
}

// worthBroadcast says whether sending a side to every task takes less time than partitioning both: not so where the other side
// has few units, which would do all the work, or where every task would build a table of what is hardly the smaller side.
func (j *joining) worthBroadcast(s side) bool {
	small, large := j.at(s), j.guess(s.other())
	if len(j.leftKeys) == 0 || !j.d.canExchange(large.node.Schema()) || !j.d.canExchange(small.node.Schema()) {
		return true
	}
	return j.broadcastCost(small, large) <= j.partitionedCost(s, small, large)
}

// broadcastCost is the time of a join of which every task reads the small side.
func (j *joining) broadcastCost(small, large *piece) float64 {
	cost := (readCost+buildCost)*small.bytes + probeCost*large.bytes/j.d.parallel(len(large.units))
	if small.from != nil {
		return cost
	}
	if _, _, replicated := j.d.replicated(small); !replicated {
		cost += j.d.exchangeCost(small)
	}
	return cost
}

// partitionedCost is the time of a join of which both sides, the small one at s, are partitioned on the keys.
func (j *joining) partitionedCost(s side, small, large *piece) float64 {
	cost := ((readCost+buildCost)*small.bytes + (readCost+probeCost)*large.bytes) / j.d.parallel(j.d.options.ShufflePartitions)
	if !j.partitionedAs(small, j.keys(s)) {
		cost += j.d.exchangeCost(small)
	}
	if !j.partitionedAs(large, j.keys(s.other())) {
		cost += j.d.exchangeCost(large)
	}
	return cost
}

// minRangesShare is the part of the larger side that the smaller one must have for both to be read by ranges: a smaller one's
// keys, known before the larger one is read, drop most of it.
const minRangesShare = 0.01

// worthRanges says whether joining both sides by a division of their scans takes less time than the other ways.
func (j *joining) worthRanges(by *division, left, right *piece) bool {
	s, small, large := rightSide, right, left
	if left.bytes < right.bytes {
		s, small, large = leftSide, left, right
	}
	if small.bytes < minRangesShare*large.bytes {
		return false
	}
	ranges := (readCost*by.again + buildCost*small.bytes + probeCost*large.bytes) / j.d.parallel(len(by.cuts)+1)
	if mayBroadcast(j.n, s) && j.d.options.BroadcastThreshold >= 0 && small.bytes <= float64(j.d.options.BroadcastThreshold) &&
		ranges > j.broadcastCost(small, large) {
		return false
	}
	return ranges <= j.partitionedCost(s, small, large)
}

// guess is a side; before it is distributed, what it is likely to be.
func (j *joining) guess(s side) *piece {
	if p := j.at(s); p != nil {
		return p
	}
	n := j.n.Children()[s]
	units := 1
	if j.d.spreads(n) {
		units = j.d.options.Slots
	}
	return &piece{node: n, units: make([]unit, units), bytes: j.d.weight(n)}
}

// cheapToRepeat says whether every task reading a fragment's tables for itself takes less time than one stage reading them for
// all: so it is where nothing is left out of what is read.
func (d *distributor) cheapToRepeat(p *piece) bool {
	if d.options.BroadcastThreshold < 0 || p.bytes > float64(d.options.BroadcastThreshold) {
		return false
	}
	var work float64
	whole := true
	plan.Walk(p.node, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.IcebergScan:
			work += readCost * decoded(n, d.scans[n.Leaf])
			whole = whole && n.Filter == nil
		case *plan.Extension:
			whole = false // what its rows cost is not known
		case *plan.Join:
			whole = whole && n.Kind == plan.Inner && len(n.Conds) > 0
			work += probeCost * p.bytes
		case *plan.Filter, *plan.ShuffleRead:
			whole = false
		}
		return whole
	})
	return whole && work <= work/d.parallel(len(p.units))+d.exchangeCost(p)+readCost*p.bytes
}

// spreads says whether a node's rows are likely to be read by several tasks: a guess, before it is distributed.
func (d *distributor) spreads(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.IcebergScan:
		p, err := d.scan(n)
		return err == nil && !p.isSingle()
	case *plan.Filter:
		return d.spreads(n.Input)
	case *plan.Project:
		return d.spreads(n.Input)
	case *plan.Join:
		switch n.Kind {
		case plan.Inner:
			return d.spreads(n.Left) || d.spreads(n.Right)
		case plan.Left, plan.LeftSemi, plan.LeftAnti, plan.Mark, plan.Single:
			return d.spreads(n.Left)
		case plan.Right, plan.RightSemi, plan.RightAnti:
			return d.spreads(n.Right)
		case plan.Full:
		}
	}
	return false
}
