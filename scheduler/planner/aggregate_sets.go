package planner

import (
	"slices"

	"github.com/seracdb/serac/plan"
)

// Grouping sets become plain groups: each row (or state) once for each set, with the set's number as a further group and
// NULL in the groups that the set leaves out. GROUPING() follows from the number.

// smallShare is the part of a task's usual size below which work is not spread further: an exchange would cost more.
const smallShare = 8

// fitsOneTask says whether so few rows are expected that spreading what comes next gains nothing.
func (d *distributor) fitsOneTask(p *piece) bool {
	return p.bytes <= float64(d.options.TargetTaskSize/smallShare)
}

// aggregateStatesOfSets computes the states of all the groups together, from which those of every set are merged.
func (d *distributor) aggregateStatesOfSets(n *plan.Aggregate, in *piece, s *split) (*piece, error) {
	width := len(n.Groups)
	partial := newPhase(in.node, n.Groups)
	s.compute(partial, nil)
	states := aggregated(in, partial.node(), width).note("aggregate: partial states here, finished after an exchange")
	if d.fitsOneTask(states) {
		all, err := d.gather(states)
		if err != nil {
			return nil, err
		}
		final := newPhase(all.node, refs(all.node, width))
		final.agg.Sets, final.agg.Groupings = n.Sets, n.Groupings
		s.keep(final, s.mergeInto(final, width, nil))
		for i, name := range n.Schema().Names()[width+len(n.Calls):] {
			final.output(name, &plan.ColumnRef{Index: width + len(final.agg.Calls) + i, Of: bigInt})
		}
		node := final.node()
		exprs := append(refs(node, width), s.resultsAt(width)...)
		for i := range n.Groupings {
			exprs = append(exprs, &plan.ColumnRef{Index: width + len(s.states) + i, Of: bigInt})
		}
		return merged(all, &plan.Project{Input: node, Exprs: exprs, Names: n.Schema().Names()}, width), nil
	}
	expanded := d.expandSets(states, n, refs(states.node, width), stateRefs(s, width), false)
	local := newPhase(expanded.node, refs(expanded.node, 1+width))
	s.keep(local, s.mergeInto(local, 1+width, nil))
	set, err := d.exchangeGroups(merged(expanded, local.node(), 1+width).note("aggregate: states of each grouping set"), 1+width)
	if err != nil {
		return nil, err
	}
	final := newPhase(set.node, refs(set.node, 1+width))
	s.keep(final, s.mergeInto(final, 1+width, nil))
	node := final.node()
	return merged(set, withoutSet(node, n, s.resultsAt(1+width)), width), nil
}

func stateRefs(s *split, first int) []plan.Expr {
	out := make([]plan.Expr, len(s.states))
	for i, st := range s.states {
		out[i] = &plan.ColumnRef{Index: first + i, Of: st.of}
	}
	return out
}

// aggregateRowsOfSets is for aggregates that do not decompose.
func (d *distributor) aggregateRowsOfSets(n *plan.Aggregate, in *piece) (*piece, error) {
	width := len(n.Groups)
	expanded := d.expandSets(in, n, n.Groups, allColumns(in.node.Schema()), true)
	input := plan.Aggregate{Calls: n.Calls}
	input.Input = in.node
	moved := plan.MapExprs(&input, func(e plan.Expr) plan.Expr {
		return plan.MapColumns(e, func(i int) int { return 1 + width + i })
	}).(*plan.Aggregate)
	moved.Input, moved.Groups = expanded.node, refs(expanded.node, 1+width)
	counts := &plan.ColumnRef{Index: len(expanded.node.Schema()) - 1, Of: plan.T(plan.Boolean)}
	for i, c := range moved.Calls {
		moved.Calls[i] = filtered(c, counts)
	}
	out, err := d.aggregateOver(moved, expanded.note("aggregate: each row once for each grouping set"))
	if err != nil {
		return nil, err
	}
	results := refs(out.node, 1+width+len(n.Calls))[1+width:]
	p := out.over(withoutSet(out.node, n, results))
	p.hash = nil
	return p, nil
}

// expandSets gives the set's number, n's groups as keys gives them, and rest. With real it appends whether the row is one:
// a set without groups has its one result row also over no rows, for which it gets a row of NULLs.
func (d *distributor) expandSets(p *piece, n *plan.Aggregate, keys, rest []plan.Expr, real bool) *piece {
	width := len(keys)
	exprs := append(slices.Clone(keys), rest...)
	names := columnNames(len(exprs))
	numbers := make([]any, len(n.Sets))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	integer := plan.T(plan.Integer)
	unnest := &plan.Unnest{
		Input: &plan.Project{Input: p.node, Exprs: exprs, Names: names},
		Exprs: []plan.Expr{&plan.Constant{Value: numbers, Of: plan.ListType(integer)}},
		Types: []plan.Type{integer}, Names: []string{"set"},
	}
	set := &plan.ColumnRef{Index: len(exprs), Of: integer}
	columns := []plan.Expr{set}
	for i, key := range keys {
		in := func(s []int) bool { return slices.Contains(s, i) }
		columns = append(columns, bySet(set, n.Sets, func(s []int) plan.Expr {
			if in(s) {
				return &plan.ColumnRef{Index: i, Of: key.Type()}
			}
			return null(key.Type())
		}))
	}
	for i, e := range rest {
		columns = append(columns, &plan.ColumnRef{Index: width + i, Of: e.Type()})
	}
	if real {
		columns = append(columns, &plan.Constant{Value: true, Of: plan.T(plan.Boolean)})
	}
	names = append([]string{"set"}, names...)
	if real {
		names = append(names, "real")
	}
	out := p.over(&plan.Project{Input: unnest, Exprs: columns, Names: names})
	out.hash, out.rows = nil, p.rows*float64(len(n.Sets))

	var empty [][]plan.Expr
	for i, s := range n.Sets {
		if len(s) > 0 {
			continue
		}
		row := []plan.Expr{&plan.Constant{Value: int64(i), Of: integer}}
		for _, c := range columns[1:] {
			row = append(row, null(c.Type()))
		}
		empty = append(empty, row)
	}
	if len(empty) > 0 {
		d.nextLeaf++
		values := &plan.Values{Leaf: d.nextLeaf, Rows: empty, Out: out.node.Schema()}
		out.node = &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{out.node, values}}
		out.units = slices.Clone(out.units)
		out.units[0] = out.units[0].merge(unit{values.Leaf: {constant: true}})
	}
	return out.sized()
}

// bySet is a value that depends on the set's number alone.
func bySet(set plan.Expr, sets [][]int, value func(set []int) plan.Expr) plan.Expr {
	values := make([]plan.Expr, len(sets))
	for i, s := range sets {
		values[i] = value(s)
	}
	last := values[len(values)-1]
	choice := &plan.Case{Else: last, Of: last.Type()}
	for i, v := range values[:len(values)-1] {
		number := &plan.Constant{Value: int64(i), Of: set.Type()}
		choice.Whens = append(choice.Whens, plan.When{Cond: compare(plan.Equal, set, number), Then: v})
	}
	if len(choice.Whens) == 0 {
		return last
	}
	return choice
}

// withoutSet is the aggregate's output, made of one that is grouped by the set's number first.
func withoutSet(node plan.Node, n *plan.Aggregate, results []plan.Expr) plan.Node {
	width := len(n.Groups)
	columns := refs(node, 1+width)
	exprs := append(columns[1:len(columns):len(columns)], results...)
	for _, grouping := range n.Groupings {
		exprs = append(exprs, bySet(columns[0], n.Sets, func(s []int) plan.Expr {
			var bits int64
			for _, g := range grouping {
				bits <<= 1
				if !slices.Contains(s, g) {
					bits |= 1
				}
			}
			return &plan.Constant{Value: bits, Of: bigInt}
		}))
	}
	return &plan.Project{Input: node, Exprs: exprs, Names: n.Schema().Names()}
}
