package planner

import (
	"maps"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Ranges of keys. A scan may be divided between units by the values of a column instead of by its files: then rows with equal
// values are in one unit without an exchange. Files that hold values of several ranges are read by several tasks, each of which
// keeps the rows of its own; where a table's files follow its key, as those of most facts do that come in by time or by number,
// few do. Two scans that are divided at the same values meet in the same units.

// KeySpan is where the values of a column lie in a file.
type KeySpan struct {
	// Low and High are the least and the greatest value, or bounds of them; High is below Low when all are NULL.
	Low, High int64
	// Bytes is the file's share of the scan's bytes, Rows its rows and Nulls how many of them have no value.
	Bytes, Rows, Nulls int64
}

// KeyRangeScan is a FileScan that can be divided by values of its columns.
type KeyRangeScan interface {
	FileScan
	// KeySpans says for each file where a column's values lie; false where that is not known.
	KeySpans(column plan.ScanColumn) ([]KeySpan, bool)
	// KeyRanges divides the rows at cuts, which ascend: group i has the values from cuts[i-1] on and before cuts[i], the first
	// one also the rows without a value.
	KeyRanges(column plan.ScanColumn, cuts []int64) []*seracv1.FileGroup
}

// divided is a piece in the units of a division; of is the piece's part of it.
func (d *distributor) divided(p *piece, of origin, by *division) *piece {
	rest := maps.Clone(p.units[0])
	for leaf := range of {
		delete(rest, leaf)
	}
	out := *p
	out.hash, out.from, out.cut = nil, nil, of
	out.units = make([]unit, len(by.cuts)+1)
	for i := range out.units {
		out.units[i] = maps.Clone(rest)
	}
	for leaf, c := range of {
		scan := d.scans[leaf].(KeyRangeScan)
		groups := scan.KeyRanges(c.scan.Columns[c.index], by.cuts)
		var length float64
		for _, g := range groups {
			length += groupLength(g)
		}
		for i, g := range groups {
			out.units[i][leaf] = reads{files: groups[i : i+1], bytes: float64(scan.Bytes()) * groupLength(g) / max(length, 1)}
		}
	}
	return &out
}

// togetherByRanges is a piece whose rows with equal values of some columns are in one unit, if its scans can be divided by one
// of the columns for less than an exchange of so many bytes takes.
func (d *distributor) togetherByRanges(p *piece, cols []int, exchanged float64) (*piece, bool) {
	if !d.options.KeyRanges || p.isSingle() {
		return nil, false
	}
	var best *division
	for _, col := range cols {
		of := d.originOf(p, col)
		if of == nil {
			continue
		}
		if p.cut != nil && p.cut.same(of) {
			return p, true
		}
		if by := d.divide(of); by != nil && (best == nil || by.again < best.again) {
			best = by
		}
	}
	if best == nil || best.keys < p.rows*0.01 && !d.options.RangesAlways {
		return nil, false
	}
	parallel := d.parallel(len(best.cuts) + 1)
	exchange := d.writeTime(exchanged, len(p.units)) + readCost*exchanged/parallel
	if readCost*best.again/parallel > exchange && !d.options.RangesAlways {
		return nil, false
	}
	return d.divided(p, best.of, best).note("rows are read by %s", best.describe()), true
}

// byRanges joins both sides where they are read, each divided by the same ranges of a key, if that takes less time than the
// other ways.
func (j *joining) byRanges() (*piece, bool) {
	by, left := j.division(j.left, j.right, func(s side, col int) origin { return j.d.originOf(j.at(s), col) })
	if by == nil {
		return nil, false
	}
	right := origin{}
	for leaf, c := range by.of {
		if _, ok := left[leaf]; !ok {
			right[leaf] = c
		}
	}
	l, r := j.d.divided(j.left, left, by), j.d.divided(j.right, right, by)
	units := make([]unit, len(l.units))
	for i := range units {
		units[i] = l.units[i].merge(r.units[i])
	}
	p := j.put(l, r, units, nil)
	p.cut = by.of
	return p.note("join: both sides are read by %s", by.describe()), true
}

// likelyByRanges says, before the sides are distributed, whether byRanges will join them.
func (j *joining) likelyByRanges() bool {
	by, _ := j.division(j.guess(leftSide), j.guess(rightSide), func(s side, col int) origin {
		if p := j.at(s); p != nil {
			return j.d.originOf(p, col)
		}
		return j.d.likelyOrigin(j.n.Children()[s], col)
	})
	return by != nil
}

// division is the one that joins both sides for the least, and the left side's part of it; nil if another way is cheaper.
func (j *joining) division(left, right *piece, originOf func(side, int) origin) (best *division, ofLeft origin) {
	if !j.d.options.KeyRanges {
		return nil, nil
	}
	for i := range j.leftKeys {
		l, okLeft := j.leftKeys[i].(*plan.ColumnRef)
		r, okRight := j.rightKeys[i].(*plan.ColumnRef)
		if !okLeft || !okRight {
			continue
		}
		of, right := originOf(leftSide, l.Index), originOf(rightSide, r.Index)
		if of == nil || right == nil {
			continue
		}
		both := maps.Clone(of)
		maps.Copy(both, right)
		if len(both) < len(of)+len(right) {
			continue
		}
		if by := j.d.divide(both); by != nil && (best == nil || by.again < best.again) {
			best, ofLeft = by, of
		}
	}
	if best == nil || !j.d.options.RangesAlways && !j.worthRanges(best, left, right) {
		return nil, nil
	}
	return best, ofLeft
}

// delimByRanges keeps a delim join whole in each of the ranges by which its keys' side and all that the other side reads of
// large tables can be divided.
func (d *distributor) delimByRanges(n *plan.DelimJoin, in *piece, other plan.Node) (*piece, bool) {
	if !d.options.KeyRanges {
		return nil, false
	}
	all, err := d.readAll(other)
	if err != nil {
		return nil, false
	}
	left, right := in.node, other
	if n.Flipped {
		left, right = right, left
	}
	p := &piece{node: n.WithChildren([]plan.Node{left, right}), rows: in.rows, bytes: in.bytes, notes: in.notes}
	for _, u := range in.units {
		p.units = append(p.units, u.merge(all))
	}
	join := p.node.(*plan.DelimJoin)
	for _, key := range n.Keys {
		f := newFollowing(func(join *plan.Join, s side) bool { return d.everywhere(p, join, s) })
		if !f.delimJoin(join, key) {
			continue
		}
		by := d.divide(f.to)
		if by == nil {
			continue
		}
		var whole float64 // what each task reads of the other side's tables
		for leaf, r := range all {
			if _, ok := by.of[leaf]; !ok {
				whole += r.bytes
			}
		}
		cost := readCost * by.again / d.parallel(len(by.cuts)+1)
		if (whole > replicateThreshold || cost > d.exchangeCost(in)+2*stageCost) && !d.options.RangesAlways {
			continue
		}
		return d.divided(p, by.of, by).sized().note("correlated subquery: it and the outer rows are read by %s", by.describe()), true
	}
	return nil, false
}
