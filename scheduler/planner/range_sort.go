package planner

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/seracdb/serac/plan"
)

// ORDER BY of a large result. Its input becomes a stage, which is read twice: a sample of its keys gives the bounds of as
// many ranges as there are shuffle partitions, then each row goes to the partition of its range. Each partition is sorted on
// its own, and as neighbouring partitions stay neighbours in tasks, and the result is the tasks' rows one after the other,
// the whole is in order. Rows with equal keys are in one partition.

const (
	// samplesPerRange is how many keys a range is estimated from: its size is then right within about a tenth.
	samplesPerRange = 400
	// sampleGrain is how finely the sampled part of the rows can be told.
	sampleGrain = 1_000_000
	// worthMeasuring is what part of a size that is worth several tasks an estimate must have for it to be worth waiting for
	// the real one.
	worthMeasuring = 1.0 / 16
)

// orderedBy is the sort, or the limit with keys, that orders a statement's rows; nil when there is none.
func orderedBy(n plan.Node) plan.Node {
	for {
		switch at := n.(type) {
		case *plan.Filter:
			n = at.Input
		case *plan.Project:
			n = at.Input
		case *plan.Sort, *plan.Limit:
			return at
		default:
			return nil
		}
	}
}

// rangeSort sorts in several tasks what is too large for one.
func (d *distributor) rangeSort(n *plan.Sort) (*piece, error) {
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	width := len(in.node.Schema())
	out, keys, err := d.inRanges(in, n.Keys)
	if err != nil {
		return nil, err
	}
	return out.over(&plan.Sort{Input: out.node, Keys: keys}).narrowed(width), nil
}

// rangeLimit is a top-N of too many rows for one task; nil when they are not. Each row's place is its place in its range and
// the number of rows in the ranges before, which a stage counts.
func (d *distributor) rangeLimit(n *plan.Limit, in *piece) (*piece, error) {
	if len(n.Keys) == 0 || in.isSingle() || d.maySort(in) {
		return nil, nil
	}
	width := len(in.node.Schema())
	out, keys, err := d.inRanges(in, n.Keys)
	if err != nil {
		return nil, err
	}
	if out.isSingle() {
		return out.over(&plan.Limit{Input: out.node, Keys: keys, Count: n.Count, Offset: n.Offset}).narrowed(width), nil
	}
	columns := len(out.node.Schema())
	number := &plan.ColumnRef{Index: columns - 1, Of: integer}
	before, everywhere, err := d.rowsBefore(out.from, number)
	if err != nil {
		return nil, err
	}
	for i, u := range out.units {
		out.units[i] = u.merge(everywhere)
	}
	placed := &plan.Window{Input: out.node, Calls: []plan.WindowCall{{
		Name: "row_number", PartitionBy: []plan.Expr{number}, OrderBy: keys, Of: bigInt,
		Frame: plan.Frame{Mode: plan.Range, Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}},
	}}}
	beside := &plan.Join{Kind: plan.Inner, Left: placed, Right: before.node, Conds: []plan.JoinCond{
		{Op: plan.Equal, Left: number, Right: &plan.ColumnRef{Of: integer}},
	}}
	place := call(hugeInt, "+", castTo(&plan.ColumnRef{Index: columns, Of: bigInt}, hugeInt), &plan.ColumnRef{Index: columns + 2, Of: hugeInt})
	skip, _ := constantCount(n.Offset)
	wanted := []plan.Expr{compare(plan.Greater, place, hugeNumber(skip))}
	if count, ok := constantCount(n.Count); ok {
		last := hugeNumber(count)
		last.Value = last.Value.(*big.Int).Add(last.Value.(*big.Int), big.NewInt(skip))
		wanted = append(wanted, compare(plan.LessOrEqual, place, last))
	}
	kept := &plan.Filter{Input: beside, Cond: plan.And(wanted...)}
	return out.over(&plan.Sort{Input: kept, Keys: keys}).narrowed(width).note("limit: by each row's place in its range and the sizes of the ranges before"), nil
}

func hugeNumber(n int64) *plan.Constant { return &plan.Constant{Value: big.NewInt(n), Of: hugeInt} }

// maySort says whether rows are few enough to be sorted in one task without asking how many they really are.
func (d *distributor) maySort(p *piece) bool {
	large := d.largeSort()
	if d.runtime == nil && hasGroups(p.node) { // of how many groups there are, nothing is known before
		return true
	}
	return d.options.ShufflePartitions == 1 || p.bytes <= large && (d.runtime == nil || p.bytes <= large*worthMeasuring)
}

func hasGroups(n plan.Node) bool {
	found := false
	plan.Walk(n, func(n plan.Node) bool {
		_, aggregate := n.(*plan.Aggregate)
		found = found || aggregate
		return !found
	})
	return found
}

// largeSort is the size from which on a sort is spread over several tasks. An estimate, which is often too large, must be
// larger for that than a real size.
func (d *distributor) largeSort() float64 {
	if d.runtime == nil {
		return float64(d.options.TargetTaskSize)
	}
	return float64(d.options.TargetTaskSize) / float64(d.options.Slots)
}

// inRanges gives the rows in units by ranges of the keys, or in one unit where they are few; and the keys over them. They
// may have further columns; in ranges, the last one is the range's number, and from is set.
func (d *distributor) inRanges(in *piece, keys []plan.SortKey) (*piece, []plan.SortKey, error) {
	if in.isSingle() || d.maySort(in) {
		all, err := d.gather(in)
		return all, keys, err
	}
	if volatileKeys(keys) { // computed once for each row
		in, keys = withKeys(in, keys)
	}
	rows, err := d.exchange(in, nil, 1)
	if err != nil {
		return nil, nil, err
	}
	if err := d.await(rows); err != nil {
		return nil, nil, err
	}
	if rows.bytes <= d.largeSort() {
		return d.read(rows).note("sort: in one task"), keys, nil
	}
	out, err := d.ranges(rows, keys)
	return out, keys, err
}

// narrowed is p with its first columns only.
func (p *piece) narrowed(width int) *piece {
	s := p.node.Schema()
	if len(s) == width {
		return p
	}
	return p.over(&plan.Project{Input: p.node, Exprs: refs(p.node, width), Names: s.Names()[:width]})
}

// rowsBefore are the ranges' numbers, each with how many rows the ranges before it have, for every task.
func (d *distributor) rowsBefore(ranges *sharedStage, number *plan.ColumnRef) (*piece, unit, error) {
	in := d.read(ranges)
	counts, err := d.gather(in.over(&plan.Aggregate{
		Input: in.node, Groups: []plan.Expr{number}, Calls: []plan.AggregateCall{{Name: "count_star", Of: bigInt}},
	}).note("limit: the sizes of the ranges"))
	if err != nil {
		return nil, nil, err
	}
	// Ranges before: all up to this one, without it.
	sum := &plan.Window{Input: counts.node, Calls: []plan.WindowCall{{
		Name: "sum", Args: []plan.Expr{&plan.ColumnRef{Index: 1, Of: bigInt}}, OrderBy: []plan.SortKey{{Expr: &plan.ColumnRef{Of: integer}}}, Of: hugeInt,
		Frame: plan.Frame{Mode: plan.Rows, Start: plan.FrameBound{Kind: plan.UnboundedPreceding}, End: plan.FrameBound{Kind: plan.CurrentRow}},
	}}}
	before := &plan.Project{Input: sum, Names: []string{"range", "before"}, Exprs: []plan.Expr{
		&plan.ColumnRef{Of: integer},
		call(hugeInt, "-", &plan.ColumnRef{Index: 2, Of: hugeInt}, castTo(&plan.ColumnRef{Index: 1, Of: bigInt}, hugeInt)),
	}}
	s, err := d.exchange(counts.over(before), nil, 1)
	if err != nil {
		return nil, nil, err
	}
	p, everywhere := d.readBroadcast(s)
	return p, everywhere, nil
}

// withKeys is p with the keys as further columns, and the keys as these columns.
func withKeys(p *piece, keys []plan.SortKey) (*piece, []plan.SortKey) {
	exprs, names := allColumns(p.node.Schema()), p.node.Schema().Names()
	columns := make([]plan.SortKey, len(keys))
	for i, k := range keys {
		columns[i] = k
		columns[i].Expr = &plan.ColumnRef{Index: len(exprs), Of: k.Expr.Type()}
		exprs, names = append(exprs, k.Expr), append(names, fmt.Sprintf("key%d", i))
	}
	return p.over(&plan.Project{Input: p.node, Exprs: exprs, Names: names}), columns
}

// await replaces the estimates of a stage by what it has written, if stages run by now.
func (d *distributor) await(s *sharedStage) error {
	if d.runtime == nil {
		return nil
	}
	out, err := d.runtime.Output(d.stages, s.stage)
	if err != nil {
		return err
	}
	s.rows, s.bytes, s.producers = float64(out.Rows), float64(out.Bytes), 0
	if out.Producers != nil {
		s.producers = len(out.Producers(0))
	}
	return nil
}

// readParts is a new leaf over a stage of one partition, a unit for what some of its tasks have written.
func (d *distributor) readParts(s *sharedStage) *piece {
	producers := s.producers
	if producers == 0 {
		producers = len(d.stages[s.stage].Tasks)
	}
	count := min(producers, max(d.options.Slots, int(math.Ceil(s.bytes/float64(d.options.TargetTaskSize)))))
	p := d.read(s)
	leaf := p.node.(*plan.ShuffleRead).Leaf
	whole := p.units[0][leaf]
	p.units = nil
	for i := range count {
		part := whole
		part.producers = &Range{From: int32(i * producers / count), To: int32((i + 1) * producers / count)}
		part.bytes /= float64(count)
		p.units = append(p.units, unit{leaf: part})
	}
	return p
}

// ranges brings the rows of a stage into partitions by ranges of their keys, in the keys' order.
func (d *distributor) ranges(rows *sharedStage, keys []plan.SortKey) (*piece, error) {
	n := d.options.ShufflePartitions
	bounds, err := d.bounds(rows, keys, n)
	if err != nil {
		return nil, err
	}
	in := d.readParts(rows)
	width := len(rows.out)
	keyed := &plan.Project{Input: in.node, Exprs: append(allColumns(rows.out), sortKey(keys)), Names: append(rows.out.Names(), "sort_key")}
	least, everywhere := d.readBroadcast(bounds)
	beside := &plan.Join{Kind: plan.Inner, Left: keyed, Right: least.node}
	number := rangeOf(&plan.ColumnRef{Index: width, Of: blob}, beside.Schema(), width+1, 0, n-1)
	numbered := &plan.Project{Input: beside, Exprs: append(refs(beside, width), number), Names: append(rows.out.Names(), "range")}
	for i, u := range in.units {
		in.units[i] = u.merge(everywhere)
	}
	in = in.over(numbered).note("sort: rows partitioned by ranges of the keys")
	id := d.addStage(in, &plan.ShuffleWrite{Input: numbered, Partition: &plan.ColumnRef{Index: width, Of: integer}, Partitions: n})
	s := &sharedStage{stage: id, out: numbered.Schema(), partitions: n, rows: rows.rows, bytes: rows.bytes}
	out := d.read(s).note("sort: each range on its own, given out in order")
	out.from = s
	return out, nil
}

// bounds is a stage of one row: the greatest keys of all ranges but the last, as far as a sample tells.
func (d *distributor) bounds(rows *sharedStage, keys []plan.SortKey, n int) (*sharedStage, error) {
	sample := d.readParts(rows)
	part := samplesPerRange * float64(n) / max(rows.rows, 1)
	if part < 1 {
		sample = sample.over(&plan.Filter{Input: sample.node, Cond: sampled(rows.out, part)})
		sample.rows *= part
	}
	sample = sample.over(&plan.Project{Input: sample.node, Exprs: []plan.Expr{sortKey(keys)}, Names: []string{"sort_key"}})
	gathered, err := d.gather(sample.sized().note("sort: a sample of the keys"))
	if err != nil {
		return nil, err
	}
	key := &plan.ColumnRef{Of: blob}
	list := plan.ListType(blob)
	all := &plan.Aggregate{Input: gathered.node, Calls: []plan.AggregateCall{
		{Name: "list", Args: []plan.Expr{key}, OrderBy: []plan.SortKey{{Expr: key}}, Of: list},
	}}
	bounds := &plan.Project{Input: all}
	sorted := &plan.ColumnRef{Of: list}
	for i := 1; i < n; i++ {
		at := call(bigInt, "//", call(bigInt, "*", call(bigInt, "len", sorted), whole(i)), whole(n))
		bounds.Exprs = append(bounds.Exprs, call(blob, "list_extract", sorted, call(bigInt, "+", at, whole(1))))
		bounds.Names = append(bounds.Names, fmt.Sprintf("bound%d", i))
	}
	out := gathered.over(bounds)
	out.rows = 1
	return d.exchange(out.sized().note("sort: the bounds of %d ranges", n), nil, 1)
}

var (
	blob    = plan.T(plan.Blob)
	integer = plan.T(plan.Integer)
)

func whole(i int) plan.Expr { return &plan.Constant{Value: int64(i), Of: bigInt} }

// sampled keeps about a part of the rows, the same ones each time. It goes by whole rows: keys that are frequent are
// frequent in the sample.
func sampled(s plan.Schema, part float64) plan.Expr {
	of := plan.T(plan.UBigInt)
	constant := func(v uint64) plan.Expr { return &plan.Constant{Value: v, Of: of} }
	return compare(plan.Less, call(of, "%", call(of, "hash", allColumns(s)...), constant(sampleGrain)), constant(uint64(math.Ceil(part*sampleGrain))))
}

// sortKey is a BLOB by whose bytes rows are in the order of the keys. DuckDB makes a number of short keys; the empty text at
// the end prevents that.
func sortKey(keys []plan.SortKey) plan.Expr {
	text := func(s string) plan.Expr { return &plan.Constant{Value: s, Of: plan.T(plan.Varchar)} }
	var args []plan.Expr
	for _, k := range keys {
		order := []string{"ASC", "NULLS LAST"}
		if k.Descending {
			order[0] = "DESC"
		}
		if k.NullsFirst {
			order[1] = "NULLS FIRST"
		}
		args = append(args, k.Expr, text(strings.Join(order, " ")))
	}
	return call(blob, "create_sort_key", append(args, text(""), text("ASC NULLS LAST"))...)
}

// rangeOf is the number of bounds, of those from to before to, that are less than the key, plus from. Without a sample
// bounds are NULL, and all is in the first range.
func rangeOf(key plan.Expr, columns plan.Schema, first, from, to int) plan.Expr {
	if from == to {
		return &plan.Constant{Value: int64(from), Of: integer}
	}
	middle := (from + to) / 2
	bound := &plan.ColumnRef{Index: first + middle, Of: columns[first+middle].Type}
	return &plan.Case{Of: integer, Whens: []plan.When{{
		Cond: compare(plan.Greater, key, bound), Then: rangeOf(key, columns, first, middle+1, to),
	}}, Else: rangeOf(key, columns, first, from, middle)}
}
