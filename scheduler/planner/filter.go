package planner

import (
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Join filters. A finished side of a join knows which keys a row of the other side must have to find a partner. A filter
// that says so is put as near to the other side's scans as its column can be followed: there it prunes files (on the
// scheduler), row groups and rows (in DuckDB), before rows are exchanged.

// bloomGain is how many times more rows the filtered side must have for a Bloom filter, which is tested row by row.
const bloomGain = 2

// filter puts what the finished side knows of its keys on the other side.
func (j *joining) filter(finished side, out *Output) {
	other := finished.other()
	p := j.at(other)
	for i, key := range j.keys(finished) {
		ref, ok := key.(*plan.ColumnRef)
		target, plain := j.keys(other)[i].(*plan.ColumnRef)
		if !ok || !plain || !j.matchesEqual(finished, key) {
			continue
		}
		k := slices.IndexFunc(out.Keys, func(k KeySummary) bool { return k.Column == ref.Index })
		if k < 0 {
			continue
		}
		summary := out.Keys[k]
		if summary.Values == nil && summary.Min == nil {
			continue // nothing is known
		}
		if p.rows <= bloomGain*float64(out.Rows) {
			summary.Bloom = nil
		}
		p = j.d.filtered(p, target, summary, j.canBroadcast(finished))
	}
	j.set(other, p)
}

// matchesEqual says whether the key's condition is =, which no NULL fulfils.
func (j *joining) matchesEqual(s side, key plan.Expr) bool {
	for _, c := range j.n.Conds {
		if s == leftSide && c.Left == key || s == rightSide && c.Right == key {
			return c.Op == plan.Equal
		}
	}
	return false
}

// admits says of a value whether it may be among those summarized, without the Bloom filter: what statistics can be asked.
func (k KeySummary) admits(value plan.Expr) plan.Expr {
	switch {
	case k.Values == nil:
		return &plan.Between{Arg: value, Low: k.Min, High: k.Max, LowInclusive: true, HighInclusive: true}
	case len(k.Values) == 0: // NULLs alone
		return &plan.Constant{Value: false, Of: plan.T(plan.Boolean)}
	}
	in := &plan.Operator{Op: plan.OpIn, Args: []plan.Expr{value}, Of: plan.T(plan.Boolean)}
	for _, v := range k.Values {
		in.Args = append(in.Args, v)
	}
	return in
}

// condition is admits with the Bloom filter.
func (k KeySummary) condition(value plan.Expr) plan.Expr {
	if k.Values != nil || len(k.Bloom) == 0 {
		return k.admits(value)
	}
	return &plan.Conjunction{Args: []plan.Expr{k.admits(value), &plan.Call{Name: "serac_bloom", Of: plan.T(plan.Boolean), Args: []plan.Expr{
		&plan.Call{Name: "hash", Args: []plan.Expr{value}, Of: plan.T(plan.UBigInt)},
		&plan.Constant{Value: k.Bloom, Of: plan.T(plan.Blob)},
	}}}}
}

func (k KeySummary) describe() string {
	switch {
	case len(k.Values) > 0:
		return "a list of " + count(len(k.Values), "key")
	case len(k.Bloom) > 0:
		return "a range of keys and a Bloom filter"
	}
	return "a range of keys"
}

// filtered is p without rows whose column is not among the summarized keys. Where the rows meet the keys in the same task, DuckDB's
// own join filters drop them as they are read, for less than a list or a Bloom filter costs there: then only files are left out,
// and row groups by the keys' range if it is narrower than the column's.
func (d *distributor) filtered(p *piece, column *plan.ColumnRef, keys KeySummary, meetHere bool) *piece {
	f := &filtering{d: d, keys: keys, rows: keys, units: p.units}
	if meetHere {
		f.rows.Bloom = nil
		if len(keys.Values) > 0 {
			f.rows.Values = nil
		}
	}
	f.none = f.rows.Values == nil && len(f.rows.Bloom) == 0 && (keys.Min == nil || !d.narrows(p, column.Index, keys))
	out := p.over(f.push(p.node, column.Index, column.Of))
	out.units = f.units
	switch {
	case f.none && f.pruned:
		out = out.note("join: files without a partner are not read, by %s", keys.describe())
	case f.none:
		return p
	default:
		out = out.note("join: rows without a partner are dropped before by %s", f.rows.describe())
	}
	return out.scale(0.5)
}

// wideRange is the part of a column's range from which on the range of the keys is not worth being asked of every row.
const wideRange = 0.9

// narrows says whether the range of the keys leaves out much of the range in which a column's values lie. Where that is not
// known, it may.
func (d *distributor) narrows(p *piece, col int, keys KeySummary) bool {
	low, okLow := keys.Min.Value.(int64)
	high, okHigh := keys.Max.Value.(int64)
	if !okLow || !okHigh {
		return true
	}
	for leaf, c := range d.likelyOrigin(p.node, col) {
		scan, ok := d.scans[leaf].(KeyRangeScan)
		if !ok {
			continue
		}
		spans, ok := scan.KeySpans(c.scan.Columns[c.index])
		if !ok || len(spans) == 0 {
			continue
		}
		from, to := spans[0].Low, spans[0].High
		for _, s := range spans {
			from, to = min(from, s.Low), max(to, s.High)
		}
		if float64(min(high, to))-float64(max(low, from)) > wideRange*(float64(to)-float64(from)) {
			return false
		}
	}
	return true
}

type filtering struct {
	d *distributor
	// keys prune files, rows are asked of row groups and rows; none: nothing is.
	keys, rows KeySummary
	none       bool
	pruned     bool // files have been left out
	units      []unit
}

// push puts the condition on the column col of n, as far down as the column is passed on unchanged by operators that the
// dropped rows mean nothing to.
func (f *filtering) push(n plan.Node, col int, of plan.Type) plan.Node {
	switch n := n.(type) {
	case *plan.IcebergScan:
		return f.scan(n, col, of)
	case *plan.Filter:
		m := *n
		m.Input = f.push(n.Input, col, of)
		return &m
	case *plan.Project:
		if ref, ok := n.Exprs[col].(*plan.ColumnRef); ok && !anyVolatile(n.Exprs) {
			m := *n
			m.Input = f.push(n.Input, ref.Index, of)
			return &m
		}
	case *plan.Join:
		left := len(n.Left.Schema())
		switch {
		case n.Positional || n.AsOf:
		case col < left && (n.Kind == plan.Inner || n.Kind == plan.Left || n.Kind == plan.LeftSemi || n.Kind == plan.LeftAnti || n.Kind == plan.Single || n.Kind == plan.Mark):
			m := *n
			m.Left = f.push(n.Left, col, of)
			return &m
		case n.Kind == plan.RightSemi || n.Kind == plan.RightAnti:
			m := *n
			m.Right = f.push(n.Right, col, of)
			return &m
		case col >= left && (n.Kind == plan.Inner || n.Kind == plan.Right):
			m := *n
			m.Right = f.push(n.Right, col-left, of)
			return &m
		}
	case *plan.Aggregate:
		// A group goes as a whole.
		if col < len(n.Groups) && len(n.Sets) == 0 {
			if ref, ok := n.Groups[col].(*plan.ColumnRef); ok {
				m := *n
				m.Input = f.push(n.Input, ref.Index, of)
				return &m
			}
		}
	}
	if f.none {
		return n
	}
	return &plan.Filter{Input: n, Cond: f.rows.condition(&plan.ColumnRef{Index: col, Of: of})}
}

// scan filters a scan, and leaves out the files that hold nothing of what is wanted.
func (f *filtering) scan(n *plan.IcebergScan, col int, of plan.Type) plan.Node {
	column := &plan.ColumnRef{Index: col, Of: of}
	with := func(cond plan.Expr) *plan.IcebergScan {
		m := *n
		m.Filter = cond
		if n.Filter != nil {
			m.Filter = &plan.Conjunction{Args: []plan.Expr{n.Filter, cond}}
		}
		return &m
	}
	// Pruning only saves work: what cannot be planned again is read as it was planned first.
	var kept FileScan
	if files, err := f.d.runtime.Prune(with(f.keys.admits(column))); err == nil {
		f.pruned = f.pruned || files.Bytes() < f.d.scans[n.Leaf].Bytes()
		if !f.none { // a scan's files are those of its filter
			f.d.scans[n.Leaf] = files
		}
		kept, _ = files.(FileScan)
	}
	if f.none {
		f.keep(n.Leaf, kept, len(plan.SplitConjunction(n.Filter)))
		return n
	}
	m := with(f.rows.admits(column))
	f.keep(n.Leaf, kept, len(plan.SplitConjunction(m.Filter)))
	return &plan.Filter{Input: m, Cond: f.rows.condition(column)}
}

// keep takes out of the units' reads of a leaf all files that are not among the given ones (nil: none), and makes the
// residuals of the others ones of the leaf's filter as it is now, with so many conjuncts.
func (f *filtering) keep(leaf plan.LeafID, files FileScan, conjuncts int) {
	var wanted map[string]bool
	if files != nil {
		wanted = map[string]bool{}
		for _, g := range files.Groups(f.d.options.TargetTaskSize, 1) {
			for _, file := range g.Files {
				wanted[file.Path] = true
			}
		}
	}
	// A group that several units read (a small side that every task reads for itself) stays one group.
	pruned := map[*seracv1.FileGroup]*seracv1.FileGroup{}
	units := make([]unit, 0, len(f.units))
	for _, u := range f.units {
		r, ok := u[leaf]
		if !ok {
			units = append(units, u)
			continue
		}
		was, is := 0.0, 0.0
		groups := make([]*seracv1.FileGroup, len(r.files))
		for i, g := range r.files {
			if pruned[g] == nil {
				pruned[g] = only(g, wanted, conjuncts)
			}
			groups[i] = pruned[g]
			was, is = was+groupLength(g), is+groupLength(pruned[g])
		}
		r.files, r.bytes = groups, r.bytes*is/max(was, 1)
		if is == 0 && len(u) == 1 && len(units) > 0 {
			continue // the unit read nothing else; a piece has at least one unit
		}
		m := maps.Clone(u)
		m[leaf] = r
		units = append(units, m)
	}
	f.units = units
}

// only is a group's wanted files (nil: all) under a filter that has got further conjuncts at its end; the group itself when
// that changes nothing.
func only(g *seracv1.FileGroup, wanted map[string]bool, conjuncts int) *seracv1.FileGroup {
	kept := g.Files
	if wanted != nil {
		kept = slices.DeleteFunc(slices.Clone(kept), func(t *seracv1.FileScanTask) bool { return !wanted[t.Path] })
	}
	if len(kept) == len(g.Files) && len(g.Residuals) == 0 {
		return g
	}
	out := &seracv1.FileGroup{Files: kept, DeleteFiles: g.DeleteFiles}
	for _, r := range g.Residuals {
		more := &seracv1.Residual{Conjuncts: int32(conjuncts), Remaining: slices.Clone(r.Remaining)}
		for n := r.Conjuncts; n < more.Conjuncts; n++ {
			more.Remaining = append(more.Remaining, n)
		}
		out.Residuals = append(out.Residuals, more)
	}
	return out
}
