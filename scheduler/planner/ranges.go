package planner

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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

const (
	// maxNullShare is the part of a column's rows that may be NULL: they are all in one range.
	maxNullShare = 0.05
	// minKeys is how many values a range must have room for: few values come out uneven.
	minKeys = 64
	// nearCut is how far from its even place a cut may be moved to where fewer files lie across, in parts of a range.
	nearCut = 0.2
)

// division is how pieces are divided by a key.
type division struct {
	of   origin
	cuts []int64
	// again is the decoded bytes that are read by more than one unit, once for each unit but the first.
	again float64
	// keys is at most how many values there are.
	keys float64
}

// divide finds cuts for scans that are to be divided at the same values; nil where that is not possible, or not worth it.
func (d *distributor) divide(of origin) *division {
	if !d.options.KeyRanges || len(of) == 0 {
		return nil
	}
	var spans []weighed
	var bytes, size float64
	for _, leaf := range slices.Sorted(maps.Keys(of)) {
		c := of[leaf]
		scan, ok := d.scans[leaf].(KeyRangeScan)
		if !ok {
			return nil
		}
		files, ok := scan.KeySpans(c.scan.Columns[c.index])
		if !ok {
			return nil
		}
		width := decoded(c.scan, scan) / max(1, float64(scan.Bytes()))
		bytes += float64(scan.Bytes())
		size += decoded(c.scan, scan)
		var rows, nulls int64
		for _, f := range files {
			rows, nulls = rows+f.Rows, nulls+f.Nulls
			if f.Low <= f.High {
				spans = append(spans, weighed{low: f.Low, high: f.High, weight: float64(f.Bytes) * width})
			}
		}
		if float64(nulls) > maxNullShare*float64(rows) && !d.options.RangesAlways {
			return nil
		}
	}
	if len(spans) == 0 {
		return nil
	}
	n := max(d.minGroups(max(bytes, size/decodedUnits)), int(math.Ceil(bytes/float64(d.options.TargetTaskSize))))
	low, high := spans[0].low, spans[0].high
	for _, s := range spans {
		low, high = min(low, s.low), max(high, s.high)
	}
	keys := float64(high) - float64(low) + 1
	least := float64(minKeys)
	if d.options.RangesAlways {
		n, least = d.options.Slots, 1
	}
	if n < 2 || keys < least*float64(n) {
		return nil
	}
	out := &division{of: of, keys: keys}
	out.cuts, out.again = cutEvenly(spans, n)
	if len(out.cuts) == 0 {
		return nil
	}
	return out
}

// weighed is a range of values with what lies in it, evenly.
type weighed struct {
	low, high int64
	weight    float64
}

func (w weighed) density() float64 { return w.weight / (float64(w.high) - float64(w.low) + 1) }

// edge is a value at which a span begins, or before which it has ended.
type edge struct {
	at              int64
	density, across float64 // what is added to both there
}

// place is a value with what lies before it, and the weight of the spans that lie across it.
type place struct {
	at             int64
	before, across float64
}

// cutEvenly gives up to n-1 values that divide what lies in spans into about equal parts, and the weight of what lies across
// them.
func cutEvenly(spans []weighed, n int) (cuts []int64, across float64) {
	edges := make([]edge, 0, 2*len(spans))
	var total float64
	for _, s := range spans {
		total += s.weight
		edges = append(edges, edge{at: s.low, density: s.density(), across: s.weight})
		end := int64(math.MaxInt64) // no value comes after it, so nothing is cut there
		if s.high < end {
			end = s.high + 1
		}
		edges = append(edges, edge{at: end, density: -s.density(), across: -s.weight})
	}
	// At one value spans end before others begin: neither lies across it.
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.across, b.across)) })
	var places []place
	var before, density, open, begun float64 // begun: the part of open that begins at this very value
	next := 1
	step := total / float64(n)
	for i, e := range edges {
		if i > 0 && e.at > edges[i-1].at {
			end := before + density*(float64(e.at)-float64(edges[i-1].at))
			for ; next < n && end > before && end >= float64(next)*step; next++ {
				at := edges[i-1].at + int64((float64(next)*step-before)/density)
				if at > edges[i-1].at && at < e.at {
					places = append(places, place{at: at, before: float64(next) * step, across: open})
				}
			}
			before, begun = end, 0
		}
		if e.across < 0 {
			open += e.across
		}
		places = append(places, place{at: e.at, before: before, across: max(0, open-begun)})
		if e.across > 0 {
			open, begun = open+e.across, begun+e.across
		}
		density += e.density
	}
	first := 0
	for k := 1; k < n; k++ {
		even := float64(k) * step
		for first < len(places) && places[first].before < even-nearCut*step {
			first++
		}
		best := -1
		for i := first; i < len(places) && places[i].before <= even+nearCut*step; i++ {
			p := places[i]
			if len(cuts) > 0 && p.at <= cuts[len(cuts)-1] || p.at <= edges[0].at || p.at == math.MaxInt64 {
				continue
			}
			if best < 0 || p.across < places[best].across ||
				p.across == places[best].across && math.Abs(p.before-even) < math.Abs(places[best].before-even) {
				best = i
			}
		}
		if best >= 0 {
			cuts = append(cuts, places[best].at)
			across += places[best].across
		}
	}
	return cuts, across
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

// describe names the columns of a division.
func (by *division) describe() string {
	var names []string
	for _, leaf := range slices.Sorted(maps.Keys(by.of)) {
		c := by.of[leaf]
		if name := c.scan.Columns[c.index].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("%d ranges of %s", len(by.cuts)+1, strings.Join(names, ", "))
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
	if cost := readCost * best.again / parallel; cost > d.writeTime(exchanged, len(p.units))+readCost*exchanged/parallel && !d.options.RangesAlways {
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
		f := &following{everywhere: func(join *plan.Join, s side) bool { return d.everywhere(p, join, s) }, to: origin{}, whole: map[plan.LeafID]bool{}}
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
