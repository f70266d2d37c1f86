package planner

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Where scans are cut that are divided by ranges of a key (ranges.go).

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
