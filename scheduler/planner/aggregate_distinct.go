package planner

import (
	"reflect"
	"slices"

	"github.com/seracdb/serac/plan"
)

// distinctSplit is an aggregate with DISTINCT calls taken apart. Its rows are first made distinct by the groups and a call's
// arguments, spread by both, so that neither many values nor few groups end in one task; what is left is aggregated
// without DISTINCT. Calls of other arguments make their rows distinct apart, as grouping sets of one pass.
type distinctSplit struct {
	plain *split
	// keys are the arguments (and the filter) of each kind of DISTINCT call, one after the other.
	keys []plan.Expr
	sets []distinctSet
	// order says of each of the aggregate's calls where it went.
	order []distinctCall
}

// distinctSet is a range of keys that calls share; filter is the position of the filter among the keys, -1 without.
type distinctSet struct{ first, args, filter int }

// distinctKeys are the values that make a call's rows distinct: its arguments, those that are rows by their parts.
func distinctKeys(args []plan.Expr) []plan.Expr {
	var keys []plan.Expr
	for _, a := range args {
		if row := asRow(a); row != nil {
			keys = append(keys, row.Args...)
		} else {
			keys = append(keys, a)
		}
	}
	return keys
}

// asRow is the expression if it makes a row without names, which is no column's type.
func asRow(e plan.Expr) *plan.Call {
	if row, ok := e.(*plan.Call); ok && row.Name == "row" && len(row.Args) > 0 {
		return row
	}
	return nil
}

type distinctCall struct {
	call plan.AggregateCall
	set  int // -1: plain
}

// splitDistinct gives nil when no call is DISTINCT, or when another one needs the rows themselves.
func splitDistinct(n *plan.Aggregate) *distinctSplit {
	s := &distinctSplit{}
	var plainCalls []plan.AggregateCall
	for _, c := range n.Calls {
		// The estimate depends on which values there are, not on how often.
		sketch := c.Name == "approx_count_distinct" && len(n.Groups) == 0
		if !sketch && (!c.Distinct || ignoresDuplicates(c.Name)) {
			s.order = append(s.order, distinctCall{call: c, set: -1})
			plainCalls = append(plainCalls, c)
			continue
		}
		set, ok := s.set(c)
		if !ok {
			return nil
		}
		s.order = append(s.order, distinctCall{call: c, set: set})
	}
	s.plain = splitCalls(plainCalls)
	if len(s.sets) == 0 || s.plain == nil {
		return nil
	}
	return s
}

// set finds or adds the set of a call's arguments.
func (s *distinctSplit) set(c plan.AggregateCall) (int, bool) {
	for _, k := range c.OrderBy {
		if !slices.ContainsFunc(c.Args, func(a plan.Expr) bool { return reflect.DeepEqual(a, k.Expr) }) {
			return 0, false
		}
	}
	keys := distinctKeys(c.Args)
	set := distinctSet{first: len(s.keys), args: len(keys), filter: -1}
	if c.Filter != nil {
		set.filter, keys = len(s.keys)+len(keys), append(keys, c.Filter)
	}
	if len(c.Args) == 0 {
		return 0, false
	}
	for i, have := range s.sets {
		if have.args == set.args && (have.filter < 0) == (set.filter < 0) && reflect.DeepEqual(s.keys[have.first:have.first+len(keys)], keys) {
			return i, true
		}
	}
	s.keys = append(s.keys, keys...)
	s.sets = append(s.sets, set)
	return len(s.sets) - 1, true
}

func (s *distinctSplit) size(i int) int {
	if s.sets[i].filter >= 0 {
		return s.sets[i].args + 1
	}
	return s.sets[i].args
}

// canDistinct says whether the values by which rows are made distinct can cross an exchange.
func (d *distributor) canDistinct(s *distinctSplit) bool {
	return !slices.ContainsFunc(s.keys, func(k plan.Expr) bool { return !d.options.CanShuffle(k.Type()) })
}

func (d *distributor) aggregateDistinct(n *plan.Aggregate, in *piece, s *distinctSplit) (*piece, error) {
	groups := len(n.Groups)
	// Rows made distinct in each task, and again when equal ones are together.
	local := newPhase(in.node, append(slices.Clone(n.Groups), s.keys...))
	s.plain.compute(local, nil)
	several := len(s.sets) > 1
	if several {
		s.groupingSets(local, groups)
	}
	rows := aggregated(in, local.node(), groups+len(s.keys)).note("aggregate: DISTINCT values made distinct here, and again after an exchange")
	rows.rows = in.rows / 2
	rows.sized()
	direct, decomposed := s.calls(groups)
	keys := refs(rows.node, groups+len(s.keys))
	if !decomposed && groups > 0 {
		keys = keys[:groups] // all values of a group are needed in one place in any case
	}
	rows, err := d.regroup(rows, keys)
	if err != nil {
		return nil, err
	}
	again := refs(rows.node, groups+len(s.keys))
	if several {
		again = append(again, &plan.ColumnRef{Index: groups + len(s.keys) + len(s.plain.states), Of: plan.T(plan.Integer)})
	}
	unique := newPhase(rows.node, again)
	s.plain.keep(unique, s.plain.mergeInto(unique, groups+len(s.keys), nil))
	rows = merged(rows, unique.node(), len(again))

	var first plan.Expr // the rows that carry the states of the plain calls
	if several {
		first = s.isSet(groups, 0)
	}
	if !decomposed {
		if groups == 0 {
			if rows, err = d.gather(rows); err != nil {
				return nil, err
			}
		}
		whole := newPhase(rows.node, refs(rows.node, groups))
		s.plain.keep(whole, s.plain.mergeInto(whole, len(again), first))
		for _, c := range direct {
			whole.output(c.Name, whole.call(c))
		}
		node := whole.node()
		values := refs(node, groups+len(s.plain.states)+len(direct))[groups+len(s.plain.states):]
		return aggregated(rows, s.finish(node, n, values), groups), nil
	}
	values := splitCalls(direct)
	partial := newPhase(rows.node, refs(rows.node, groups))
	s.plain.keep(partial, s.plain.mergeInto(partial, len(again), first))
	values.compute(partial, nil)
	states, err := d.exchangeGroups(aggregated(rows, partial.node(), groups), groups)
	if err != nil {
		return nil, err
	}
	final := newPhase(states.node, refs(states.node, groups))
	s.plain.keep(final, s.plain.mergeInto(final, groups, nil))
	values.keep(final, values.mergeInto(final, groups+len(s.plain.states), nil))
	out := merged(states, s.finish(final.node(), n, values.resultsAt(groups+len(s.plain.states))), groups)
	out.hash = states.hash
	return out, nil
}

// groupingSets makes the rows of each set of keys distinct, and numbers the sets.
func (s *distinctSplit) groupingSets(p *phase, groups int) {
	number := &plan.Case{Of: plan.T(plan.Integer), Else: null(plan.T(plan.Integer))}
	for i, set := range s.sets {
		members := make([]int, groups)
		for g := range members {
			members[g] = g
		}
		for k := range s.size(i) {
			members = append(members, groups+set.first+k)
		}
		p.agg.Sets = append(p.agg.Sets, members)
		p.agg.Groupings = append(p.agg.Groupings, []int{groups + set.first})
	}
	for i := range s.sets {
		absent := &plan.ColumnRef{Index: len(p.agg.Groups) + len(p.agg.Calls) + i, Of: bigInt}
		number.Whens = append(number.Whens, plan.When{
			Cond: compare(plan.Equal, absent, &plan.Constant{Value: int64(0), Of: bigInt}),
			Then: &plan.Constant{Value: int64(i), Of: plan.T(plan.Integer)},
		})
	}
	p.output("set", number)
}

// isSet says of a row, distinct by groups, keys and the set's number, whether it is of a set.
func (s *distinctSplit) isSet(groups, set int) plan.Expr {
	number := &plan.ColumnRef{Index: groups + len(s.keys), Of: plan.T(plan.Integer)}
	return compare(plan.Equal, number, &plan.Constant{Value: int64(set), Of: plan.T(plan.Integer)})
}

// calls are the DISTINCT calls over distinct rows, and whether all of them decompose.
func (s *distinctSplit) calls(groups int) (calls []plan.AggregateCall, decomposed bool) {
	decomposed = true
	for _, o := range s.order {
		if o.set < 0 {
			continue
		}
		c, set := o.call, s.sets[o.set]
		key := func(k int) plan.Expr { return &plan.ColumnRef{Index: groups + k, Of: s.keys[k].Type()} }
		c.Distinct, c.Filter = false, nil
		next := set.first
		args := make([]plan.Expr, len(c.Args))
		for i, a := range c.Args {
			if row := asRow(a); row != nil {
				parts := make([]plan.Expr, len(row.Args))
				for k := range parts {
					parts[k] = key(next + k)
				}
				args[i], next = plan.WithExprChildren(row, parts), next+len(parts)
			} else {
				args[i], next = key(next), next+1
			}
		}
		c.OrderBy = slices.Clone(c.OrderBy)
		for i, by := range c.OrderBy {
			arg := slices.IndexFunc(o.call.Args, func(a plan.Expr) bool { return reflect.DeepEqual(a, by.Expr) })
			c.OrderBy[i].Expr = args[arg]
		}
		c.Args = args
		if set.filter >= 0 {
			c.Filter = key(set.filter)
		}
		if len(s.sets) > 1 {
			c = filtered(c, s.isSet(groups, o.set))
		}
		decomposed = decomposed && decomposes(c)
		calls = append(calls, c)
	}
	return calls, decomposed
}

// finish puts the results of the plain calls and the values of the others in their order.
func (s *distinctSplit) finish(node plan.Node, n *plan.Aggregate, values []plan.Expr) plan.Node {
	groups := len(n.Groups)
	exprs := refs(node, groups)
	plain := s.plain.resultsAt(groups)
	for _, o := range s.order {
		if o.set < 0 {
			exprs, plain = append(exprs, plain[0]), plain[1:]
		} else {
			exprs, values = append(exprs, values[0]), values[1:]
		}
	}
	return &plan.Project{Input: node, Exprs: exprs, Names: n.Schema().Names()}
}
