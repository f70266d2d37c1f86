package planner

import (
	"slices"

	"github.com/seracdb/serac/plan"
)

// aggregate computes partial states where the rows are and finishes them after an exchange on the groups. Aggregates
// whose state does not decompose get all rows of a group in one place instead.
func (d *distributor) aggregate(n *plan.Aggregate) (*piece, error) {
	if early := d.early(n); early != nil {
		p, err := d.distribute(early)
		if err != nil {
			return nil, err
		}
		return p.note("aggregate: states are computed below the join, by its keys"), nil
	}
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	return d.aggregateOver(n, in)
}

// aggregateOver puts n on its input, whatever n.Input was.
func (d *distributor) aggregateOver(n *plan.Aggregate, in *piece) (*piece, error) {
	groupCols, plain := columnRefs(n.Groups)
	switch {
	case in.isSingle():
		return aggregated(in, n.WithChildren([]plan.Node{in.node}), len(n.Groups)), nil
	case plain && len(n.Sets) == 0 && in.hash != nil && containsAll(groupCols, in.hash):
		d.keepTogether(in)
		out := aggregated(in, n.WithChildren([]plan.Node{in.node}), len(n.Groups))
		out.hash = mapColumns(in.hash, func(col int) int { return slices.Index(groupCols, col) })
		return out.note("aggregate: rows are already partitioned by the groups"), nil
	}
	if plain && len(n.Sets) == 0 {
		states := max(1, in.rows*groupShare) * rowWidth(n.Schema())
		if p, ok := d.togetherByRanges(in, groupCols, states); ok {
			return aggregated(p, n.WithChildren([]plan.Node{p.node}), len(n.Groups)).note("aggregate: all rows of a group are in one task"), nil
		}
	}
	if s := splitCalls(n.Calls); s != nil {
		if len(n.Sets) > 0 {
			return d.aggregateStatesOfSets(n, in, s)
		}
		return d.twoPhases(n, in, s)
	}
	if len(n.Sets) > 0 && !d.fitsOneTask(in) {
		return d.aggregateRowsOfSets(n, in)
	}
	if len(n.Sets) == 0 {
		if distinct := splitDistinct(n); distinct != nil && d.canDistinct(distinct) {
			return d.aggregateDistinct(n, in, distinct)
		}
	}
	// Volatile groups, computed again after the exchange, would give other values than it went by.
	if len(n.Groups) == 0 || len(n.Sets) > 0 || anyVolatile(n.Groups) {
		all, err := d.gather(in)
		if err != nil {
			return nil, err
		}
		return aggregated(all, n.WithChildren([]plan.Node{all.node}), len(n.Groups)).note("aggregate: in one task, its state does not decompose"), nil
	}
	// All rows of a group in one place. The groups are computed below the exchange only if they are columns; hashing the
	// expressions themselves puts equal groups together as well.
	rows, err := d.regroup(in, n.Groups)
	if err != nil {
		return nil, err
	}
	out := aggregated(rows, n.WithChildren([]plan.Node{rows.node}), len(n.Groups))
	if rows.hash != nil {
		out.hash = mapColumns(rows.hash, func(col int) int { return slices.Index(groupCols, col) })
	}
	return out.note("aggregate: rows repartitioned by the groups, its state does not decompose"), nil
}

// twoPhases computes states, exchanges them by the groups and merges them.
func (d *distributor) twoPhases(n *plan.Aggregate, in *piece, s *split) (*piece, error) {
	partial := newPhase(in.node, n.Groups)
	s.compute(partial, nil)
	states, err := d.exchangeGroups(aggregated(in, partial.node(), len(n.Groups)).
		note("aggregate: partial states here, finished after an exchange"), len(n.Groups))
	if err != nil {
		return nil, err
	}
	final := newPhase(states.node, refs(states.node, len(n.Groups)))
	s.keep(final, s.mergeInto(final, len(n.Groups), nil))
	out := merged(states, s.finish(final.node(), len(n.Groups), n.Schema().Names()), len(n.Groups))
	out.hash = states.hash
	return out, nil
}

// finish computes the results of merged states that follow the groups.
func (s *split) finish(states plan.Node, groups int, names []string) plan.Node {
	return &plan.Project{Input: states, Exprs: append(refs(states, groups), s.resultsAt(groups)...), Names: names}
}

// resultsAt are the results over states whose first column is given.
func (s *split) resultsAt(first int) []plan.Expr {
	out := make([]plan.Expr, len(s.results))
	for i, result := range s.results {
		out[i] = result(func(i int) plan.Expr { return &plan.ColumnRef{Index: first + i, Of: s.states[i].of} })
	}
	return out
}

// groupShare guesses how many groups a row makes.
const groupShare = 0.2

// aggregated is p with an aggregate on it.
func aggregated(p *piece, node plan.Node, groups int) *piece {
	out := p.over(node)
	out.hash, out.rows = nil, 1
	if groups > 0 {
		out.rows = max(1, min(p.rows*groupShare, p.rows))
	}
	return out.sized()
}

// merged is p, states of groups, with an aggregate on it that merges them.
func merged(p *piece, node plan.Node, groups int) *piece {
	out := p.over(node)
	out.hash = nil
	if groups == 0 {
		out.rows = 1
	}
	return out.sized()
}

// exchangeGroups repartitions partial states on their first n columns, the groups; without groups it gathers them.
func (d *distributor) exchangeGroups(p *piece, n int) (*piece, error) {
	if n == 0 {
		return d.gather(p)
	}
	return d.regroup(p, refs(p.node, n))
}

func containsAll(set, elems []int) bool {
	for _, e := range elems {
		if !slices.Contains(set, e) {
			return false
		}
	}
	return true
}
