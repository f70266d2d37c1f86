package planner

import (
	"fmt"
	"reflect"

	"github.com/seracdb/serac/plan"
)

// A state is a column that carries what an aggregate knows of some rows, such that states of different rows merge into the
// state of all of them. A state of no rows may be NULL: merging passes over it.
type state struct {
	name string
	of   plan.Type
	// calls compute the state from rows; compose makes it of their results.
	calls   []plan.AggregateCall
	compose func([]plan.Expr) plan.Expr
	// merge gives the call that merges the column, given all states' columns; restore makes the state of its result.
	merge   func(at stateColumns) plan.AggregateCall
	restore func(plan.Expr) plan.Expr
}

// stateColumns gives the column of a state by its number in the split.
type stateColumns func(i int) plan.Expr

// split is aggregate calls taken apart: states, computed where the rows are and merged after an exchange, and results
// computed from the merged states. Merging may be done any number of times.
type split struct {
	states []state
	// results are over the states' columns, one for each of the calls.
	results []func(at stateColumns) plan.Expr
}

// splitCalls gives nil when one of the calls does not decompose.
func splitCalls(calls []plan.AggregateCall) *split {
	s := &split{}
	for _, c := range calls {
		if c.Distinct && !ignoresDuplicates(c.Name) {
			return nil
		}
		c.Distinct = false
		if len(c.OrderBy) > 0 || len(c.Params) > 0 || !s.add(c) {
			return nil
		}
	}
	return s
}

// decomposes says whether a call, taken without DISTINCT, has states.
func decomposes(c plan.AggregateCall) bool {
	c.Distinct = false
	return splitCalls([]plan.AggregateCall{c}) != nil
}

// state adds a state, or finds it: calls that need the same state (a sum and an average) share it.
func (s *split) state(st state) int {
	for i, have := range s.states {
		if have.name == st.name && have.of.Equal(st.of) && reflect.DeepEqual(have.calls, st.calls) {
			return i
		}
	}
	s.states = append(s.states, st)
	return len(s.states) - 1
}

// merged adds a state that is one call's result and that another call merges.
func (s *split) merged(c plan.AggregateCall, merge string, of plan.Type) int {
	i := len(s.states)
	return s.state(state{
		name: merge, of: of, calls: []plan.AggregateCall{c},
		compose: func(r []plan.Expr) plan.Expr { return castTo(r[0], of) },
		merge: func(at stateColumns) plan.AggregateCall {
			return plan.AggregateCall{Name: merge, Args: []plan.Expr{at(i)}, Of: mergedType(merge, of)}
		},
		restore: func(e plan.Expr) plan.Expr { return castTo(e, of) },
	})
}

// mergedType is the type of a merging call's result.
func mergedType(merge string, of plan.Type) plan.Type {
	if merge == "sum" {
		t, _ := sumOf(of)
		return t
	}
	return of
}

// A phase is one Aggregate and the projection over it: groups, then what the caller makes of the calls' results.
type phase struct {
	agg   *plan.Aggregate
	exprs []plan.Expr
	names []string
}

// newPhase groups input by groups; the phase's first columns are they.
func newPhase(input plan.Node, groups []plan.Expr) *phase {
	p := &phase{agg: &plan.Aggregate{Input: input, Groups: groups}}
	for i, g := range groups {
		p.exprs = append(p.exprs, &plan.ColumnRef{Index: i, Of: g.Type()})
	}
	p.names = p.agg.Schema().Names()
	return p
}

// call adds a call and gives its result; equal calls are computed once.
func (p *phase) call(c plan.AggregateCall) plan.Expr {
	for i, have := range p.agg.Calls {
		if reflect.DeepEqual(have, c) {
			return &plan.ColumnRef{Index: len(p.agg.Groups) + i, Of: c.Of}
		}
	}
	p.agg.Calls = append(p.agg.Calls, c)
	return &plan.ColumnRef{Index: len(p.agg.Groups) + len(p.agg.Calls) - 1, Of: c.Of}
}

// output adds an output column.
func (p *phase) output(name string, e plan.Expr) {
	p.exprs, p.names = append(p.exprs, e), append(p.names, name)
}

// node is the phase; without the projection when that would change nothing.
func (p *phase) node() plan.Node {
	cols, plain := columnRefs(p.exprs)
	for i, c := range cols {
		plain = plain && c == i
	}
	if plain && len(cols) == len(p.agg.Schema()) {
		return p.agg
	}
	return &plan.Project{Input: p.agg, Exprs: p.exprs, Names: p.names}
}

// compute adds the states of the rows. filter, if not nil, says which rows count.
func (s *split) compute(p *phase, filter plan.Expr) {
	for _, st := range s.states {
		results := make([]plan.Expr, len(st.calls))
		for i, c := range st.calls {
			results[i] = p.call(filtered(c, filter))
		}
		p.output(fmt.Sprintf("%s#%d", st.calls[0].Name, len(p.exprs)), st.compose(results))
	}
}

// mergeInto adds the calls that merge the states found from column first on, and gives the merged states. filter, if not
// nil, says which of the rows hold states.
func (s *split) mergeInto(p *phase, first int, filter plan.Expr) stateColumns {
	at := func(i int) plan.Expr { return &plan.ColumnRef{Index: first + i, Of: s.states[i].of} }
	merged := make([]plan.Expr, len(s.states))
	for i, st := range s.states {
		merged[i] = st.restore(p.call(filtered(st.merge(at), filter)))
	}
	return func(i int) plan.Expr { return merged[i] }
}

// keep adds states as output columns.
func (s *split) keep(p *phase, at stateColumns) {
	for i, st := range s.states {
		p.output(fmt.Sprintf("%s#%d", st.calls[0].Name, len(p.exprs)), at(i))
	}
}

func filtered(c plan.AggregateCall, filter plan.Expr) plan.AggregateCall {
	switch {
	case filter == nil:
	case c.Filter == nil:
		c.Filter = filter
	default:
		c.Filter = &plan.Conjunction{Args: []plan.Expr{c.Filter, filter}}
	}
	return c
}

// refs are the first n columns of a node.
func refs(n plan.Node, columns int) []plan.Expr {
	types := n.Schema().Types()
	out := make([]plan.Expr, columns)
	for i := range out {
		out[i] = &plan.ColumnRef{Index: i, Of: types[i]}
	}
	return out
}

// columnNames are names for n columns that nobody sees.
func columnNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return names
}
