package planner

import (
	"slices"

	"github.com/seracdb/serac/plan"
)

// setOp runs the branches of UNION ALL side by side: the units of the union are the units of its branches, so each
// branch's leaves are read exactly once whatever the number of tasks (rule 11). The other set operations bring equal rows
// together first.
func (d *distributor) setOp(n *plan.SetOp) (*piece, error) {
	branches := make([]*piece, len(n.Inputs))
	allSingle := true
	for i, in := range n.Inputs {
		p, err := d.distributeBesides(in)
		if err != nil {
			return nil, err
		}
		branches[i] = p
		allSingle = allSingle && p.isSingle()
	}
	if n.Op == plan.SetUnion {
		union, err := d.unionAll(n, branches)
		if err != nil || n.All {
			return union, err
		}
		return d.distinctUnion(union)
	}
	if !allSingle {
		for i, p := range branches {
			var err error
			if branches[i], err = d.togetherByRow(p, !n.All); err != nil {
				return nil, err
			}
		}
	}
	units := slices.Clone(branches[0].units)
	for _, b := range branches[1:] {
		for i := range units {
			units[i] = units[i].merge(b.units[i])
		}
	}
	out := stack(n, branches, units)
	out.rows = branches[0].rows
	out.sized()
	if !allSingle {
		out.hash = branches[0].hash
		out.note("%s: equal rows brought together", setOpName(n.Op))
	}
	return out, nil
}

// togetherByRow partitions a branch by all columns, as every branch of the set operation is; NULLs are equal here as they
// are there. Where duplicates do not count they go before the exchange.
func (d *distributor) togetherByRow(p *piece, distinct bool) (*piece, error) {
	keys := allColumns(p.node.Schema())
	columns, _ := columnRefs(keys)
	if slices.Equal(p.hash, columns) && len(columns) > 0 && len(p.units) == d.options.ShufflePartitions {
		d.keepTogether(p)
		return p, nil
	}
	if distinct && !givesDistinctRows(p.node) {
		p = p.over(&plan.Distinct{Input: p.node})
		p.rows = max(1, p.rows*0.5)
		p.sized()
	}
	return d.repartition(p, keys)
}

// givesDistinctRows says whether a fragment's rows, within a task, are distinct as they are.
func givesDistinctRows(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Distinct:
		return len(n.On) == 0
	case *plan.Filter:
		return givesDistinctRows(n.Input)
	case *plan.Aggregate:
		return len(n.Sets) == 0
	}
	return false
}

func setOpName(op plan.SetKind) string {
	switch op {
	case plan.SetUnion:
		return "union"
	case plan.SetExcept:
		return "except"
	case plan.SetIntersect:
		return "intersect"
	}
	return "set operation"
}

func (d *distributor) unionAll(n *plan.SetOp, branches []*piece) (*piece, error) {
	var units []unit
	var rows float64
	for i, b := range branches {
		// In a task that runs only another branch this one reads nothing, and must give nothing.
		if givesRowsFromNothing(b.node) {
			s, err := d.exchange(b, nil, 1)
			if err != nil {
				return nil, err
			}
			branches[i] = d.read(s)
		}
		units = append(units, branches[i].units...)
		rows += b.rows
	}
	all := *n
	all.All = true
	out := stack(&all, branches, units)
	out.rows = rows
	return out.sized().note("union: branches run side by side"), nil
}

func (d *distributor) distinctUnion(union *piece) (*piece, error) {
	dedup := func(p *piece) *piece { return p.over(&plan.Distinct{Input: p.node}) }
	if union.isSingle() {
		return dedup(union), nil
	}
	rows, err := d.togetherByRow(union, true)
	if err != nil {
		return nil, err
	}
	return dedup(rows), nil
}

func stack(n plan.Node, branches []*piece, units []unit) *piece {
	nodes := make([]plan.Node, len(branches))
	var notes []string
	for i, b := range branches {
		nodes[i] = b.node
		notes = append(notes, b.notes...)
	}
	return &piece{node: n.WithChildren(nodes), units: units, notes: notes}
}

// givesRowsFromNothing says whether a fragment may give rows although its leaves read nothing: an aggregate without
// groups does, and so does a grouping set without columns. Nothing is known of extensions and whole statements.
func givesRowsFromNothing(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Aggregate:
		if len(n.Groups) == 0 || slices.ContainsFunc(n.Sets, func(set []int) bool { return len(set) == 0 }) {
			return true
		}
	case *plan.Extension, *plan.WholeStatement:
		return true
	}
	for _, c := range n.Children() {
		if givesRowsFromNothing(c) {
			return true
		}
	}
	return false
}
