package planner

import (
	"math"
	"slices"

	"github.com/seracdb/serac/plan"
)

// sort needs all rows in one task, unless it orders the result (range_sort.go).
func (d *distributor) sort(n *plan.Sort) (*piece, error) {
	if n == d.ordered {
		return d.rangeSort(n)
	}
	return d.onGathered(n, n.Input)
}

// fewRows is a limit that is worth applying in each task, however few rows that are estimated to have.
const fewRows = 100_000

// limit takes what each task may at most contribute, and applies itself again to what is gathered (rule 26).
func (d *distributor) limit(n *plan.Limit) (*piece, error) {
	if top := topOf(n); top != n {
		if d.ordered == n {
			d.ordered = orderedBy(top)
		}
		return d.distribute(top)
	}
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	most, bounded := rowsNeeded(n)
	// Volatile keys must be computed once for each row: with ORDER BY random() each row has the same chance.
	if bounded && !in.isSingle() && !volatileKeys(n.Keys) && (most <= fewRows || float64(most)*float64(len(in.units)) < in.rows) {
		local := &plan.Limit{Input: in.node, Keys: n.Keys, Count: &plan.Constant{Value: most, Of: plan.T(plan.BigInt)}}
		in = in.over(local)
		in.rows = min(in.rows, float64(most)*float64(len(in.units)))
		in = in.sized().note("limit: at most %d rows from each task, then again over all", most)
	}
	if n == d.ordered && constantBounds(n) {
		if out, err := d.rangeLimit(n, in); out != nil || err != nil {
			return out, err
		}
	}
	all, err := d.gather(in)
	if err != nil {
		return nil, err
	}
	out := all.over(n.WithChildren([]plan.Node{all.node}))
	if bounded {
		out.rows = min(out.rows, float64(most))
	}
	return out.sized(), nil
}

// topOf is the limit of a sort as the top-N that it is, below the projections between them. Of more rows than a few DuckDB
// plans the one above the other.
func topOf(n *plan.Limit) plan.Node {
	if len(n.Keys) > 0 || !constantBounds(n) {
		return n
	}
	m := *n
	switch in := n.Input.(type) {
	case *plan.Sort:
		m.Input, m.Keys = in.Input, in.Keys
		return &m
	case *plan.Project:
		m.Input = in.Input
		if top := topOf(&m); top != plan.Node(&m) {
			return in.WithChildren([]plan.Node{top})
		}
	}
	return n
}

// constantBounds says whether count and offset are numbers of rows that are known.
func constantBounds(n *plan.Limit) bool {
	known := func(e plan.Expr) bool {
		_, ok := constantCount(e)
		return e == nil || ok
	}
	return !n.Percent && known(n.Count) && known(n.Offset)
}

// onGathered puts a node that needs all its input in one task on the gathered input.
func (d *distributor) onGathered(n, input plan.Node) (*piece, error) {
	in, err := d.distribute(input)
	if err != nil {
		return nil, err
	}
	all, err := d.gather(in)
	if err != nil {
		return nil, err
	}
	return all.over(n.WithChildren([]plan.Node{all.node})), nil
}

func volatileKeys(keys []plan.SortKey) bool {
	return slices.ContainsFunc(keys, func(k plan.SortKey) bool { return isVolatile(k.Expr) })
}

// rowsNeeded is how many rows a limit can use of any one task: its count and its offset together.
func rowsNeeded(n *plan.Limit) (int64, bool) {
	count, ok := constantCount(n.Count)
	if !ok || n.Percent {
		return 0, false
	}
	offset, ok := constantCount(n.Offset)
	if n.Offset != nil && !ok || count > math.MaxInt64-offset {
		return 0, false
	}
	return count + offset, true
}

func constantCount(e plan.Expr) (int64, bool) {
	c, ok := e.(*plan.Constant)
	if !ok {
		return 0, false
	}
	switch v := c.Value.(type) {
	case int64:
		return v, v >= 0
	case uint64:
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}
