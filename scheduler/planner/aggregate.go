package planner

import (
	"reflect"
	"slices"

	"github.com/seracdb/serac/plan"
)

// aggregate computes partial states where the rows are and finishes them after an exchange on the groups. Aggregates
// whose state does not decompose get all rows of a group in one place instead.
func (d *distributor) aggregate(n *plan.Aggregate) (*piece, error) {
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	groupRows := 1.0
	if len(n.Groups) > 0 {
		groupRows = max(1, min(in.rows*0.2, in.rows))
	}
	onto := func(p *piece, node plan.Node) *piece {
		out := p.over(node)
		out.hash, out.rows = nil, groupRows
		return out.sized()
	}
	groupCols, plain := columnRefs(n.Groups)
	switch {
	case in.isSingle():
		return onto(in, n.WithChildren([]plan.Node{in.node})), nil

	case plain && len(n.Sets) == 0 && in.hash != nil && containsAll(groupCols, in.hash):
		out := onto(in, n.WithChildren([]plan.Node{in.node}))
		out.hash = mapColumns(in.hash, func(col int) int { return slices.Index(groupCols, col) })
		return out.note("aggregate: rows are already partitioned by the groups"), nil

	default:
		split := splitAggregate(n, in.node)
		if split == nil {
			break
		}
		partial := onto(in, split.partial).note("aggregate: partial states here, finished after an exchange")
		if len(n.Sets) > 0 {
			// A state of all the groups counts towards every set, so the sets are made of the states, all in one task.
			states, err := d.gather(partial)
			if err != nil {
				return nil, err
			}
			return onto(states, split.final(states.node)), nil
		}
		states, err := d.exchangeGroups(partial, len(n.Groups))
		if err != nil {
			return nil, err
		}
		out := onto(states, split.final(states.node))
		out.hash = states.hash
		return out, nil
	}
	// Volatile groups, computed again after the exchange, would give other values than it went by.
	if len(n.Groups) == 0 || len(n.Sets) > 0 || anyVolatile(n.Groups) {
		all, err := d.gather(in)
		if err != nil {
			return nil, err
		}
		return onto(all, n.WithChildren([]plan.Node{all.node})).note("aggregate: in one task, its state does not decompose"), nil
	}
	// All rows of a group in one place. The groups are computed below the exchange only if they are columns; hashing the
	// expressions themselves puts equal groups together as well.
	rows, err := d.repartition(in, n.Groups)
	if err != nil {
		return nil, err
	}
	out := onto(rows, n.WithChildren([]plan.Node{rows.node}))
	if rows.hash != nil {
		out.hash = mapColumns(rows.hash, func(col int) int { return slices.Index(groupCols, col) })
	}
	return out.note("aggregate: rows repartitioned by the groups, its state does not decompose"), nil
}

// exchangeGroups repartitions partial states on their first n columns, the groups; without groups it gathers them.
func (d *distributor) exchangeGroups(p *piece, n int) (*piece, error) {
	if n == 0 {
		return d.gather(p)
	}
	types := p.node.Schema().Types()
	keys := make([]plan.Expr, n)
	for i := range keys {
		keys[i] = &plan.ColumnRef{Index: i, Of: types[i]}
	}
	return d.repartition(p, keys)
}

func containsAll(set, elems []int) bool {
	for _, e := range elems {
		if !slices.Contains(set, e) {
			return false
		}
	}
	return true
}

// aggregateSplit is an aggregate in two phases.
type aggregateSplit struct {
	partial *plan.Aggregate
	groups  []plan.Type
	// finals merge the states; each result expression reads the merged states, which follow the groups.
	finals  []plan.AggregateCall
	results []plan.Expr
	names   []string
	// sets and groupings are the whole aggregate's; they are the final phase's alone.
	sets, groupings [][]int
}

func (s *aggregateSplit) final(states plan.Node) plan.Node {
	agg := &plan.Aggregate{Input: states, Calls: s.finals, Sets: s.sets, Groupings: s.groupings}
	exprs := make([]plan.Expr, 0, len(s.groups)+len(s.results)+len(s.groupings))
	for i, t := range s.groups {
		agg.Groups = append(agg.Groups, &plan.ColumnRef{Index: i, Of: t})
		exprs = append(exprs, &plan.ColumnRef{Index: i, Of: t})
	}
	exprs = append(exprs, s.results...)
	for i := range s.groupings {
		exprs = append(exprs, &plan.ColumnRef{Index: len(s.groups) + len(s.finals) + i, Of: plan.T(plan.BigInt)})
	}
	return &plan.Project{Input: agg, Exprs: exprs, Names: s.names}
}

// splitAggregate gives the two phases, or nil when one of the calls does not decompose.
func splitAggregate(n *plan.Aggregate, input plan.Node) *aggregateSplit {
	s := &aggregateSplit{
		partial: &plan.Aggregate{Input: input, Groups: n.Groups}, names: n.Schema().Names(), sets: n.Sets, groupings: n.Groupings,
	}
	for _, g := range n.Groups {
		s.groups = append(s.groups, g.Type())
	}
	for _, c := range n.Calls {
		if !s.add(c) {
			return nil
		}
	}
	return s
}

// state adds a partial call and the call that merges it, and gives the merged state as an expression. Calls that need the
// same state (a sum and an average) share it.
func (s *aggregateSplit) state(partial plan.AggregateCall, merge string, of plan.Type) plan.Expr {
	for i, have := range s.partial.Calls {
		if s.finals[i].Name == merge && s.finals[i].Of.Equal(of) && reflect.DeepEqual(have, partial) {
			return &plan.ColumnRef{Index: len(s.groups) + i, Of: of}
		}
	}
	col := len(s.groups) + len(s.partial.Calls)
	s.partial.Calls = append(s.partial.Calls, partial)
	s.finals = append(s.finals, plan.AggregateCall{
		Name: merge, Args: []plan.Expr{&plan.ColumnRef{Index: col, Of: partial.Of}}, Of: of,
	})
	return &plan.ColumnRef{Index: col, Of: of}
}

func (s *aggregateSplit) add(c plan.AggregateCall) bool {
	if c.Distinct && !ignoresDuplicates(c.Name) || len(c.OrderBy) > 0 || len(c.Params) > 0 {
		return false
	}
	c.Distinct = false
	var result plan.Expr
	switch c.Name {
	case "sum", "sum_no_overflow":
		if len(c.Args) != 1 || !isNumeric(c.Of) {
			return false
		}
		of := c.Of
		if isInteger(of) {
			of = plan.T(plan.HugeInt)
		}
		result = s.state(c, "sum", of)
	case "count", "count_star":
		zero := &plan.Constant{Value: int64(0), Of: plan.T(plan.BigInt)}
		sum := castTo(s.state(c, "sum", plan.T(plan.HugeInt)), plan.T(plan.BigInt))
		result = &plan.Operator{Op: plan.OpCoalesce, Args: []plan.Expr{sum, zero}, Of: plan.T(plan.BigInt)}
	case "min", "max":
		if len(c.Args) != 1 {
			return false
		}
		result = s.state(c, c.Name, c.Of)
	case "bool_and", "bool_or", "any_value", "bit_and", "bit_or":
		if len(c.Args) != 1 {
			return false
		}
		result = s.state(c, c.Name, c.Of)
	case "avg", "mean":
		if len(c.Args) != 1 || c.Of.Kind != plan.Double {
			return false
		}
		sumType, ok := sumOf(c.Args[0].Type())
		if !ok {
			return false
		}
		total, number := c, c
		total.Name, total.Of = "sum", sumType
		number.Name, number.Of = "count", plan.T(plan.BigInt)
		double := plan.T(plan.Double)
		sum := castTo(s.state(total, "sum", sumType), double)
		count := castTo(s.state(number, "sum", plan.T(plan.HugeInt)), double)
		// Division by zero gives NULL in DuckDB: the average of nothing.
		result = &plan.Call{Name: "/", Args: []plan.Expr{sum, count}, Of: double}
	default:
		return false
	}
	s.results = append(s.results, castTo(result, c.Of))
	return true
}

func ignoresDuplicates(name string) bool {
	switch name {
	case "min", "max", "bool_and", "bool_or", "any_value", "bit_and", "bit_or":
		return true
	}
	return false
}

// sumOf is the type DuckDB sums a numeric type in.
func sumOf(t plan.Type) (plan.Type, bool) {
	switch {
	case t.Alias != "":
		return plan.Type{}, false
	case t.Kind == plan.Decimal:
		return plan.DecimalType(38, t.Scale), true
	case isInteger(t):
		return plan.T(plan.HugeInt), true
	case t.Kind == plan.Float || t.Kind == plan.Double:
		return plan.T(plan.Double), true
	}
	return plan.Type{}, false
}

func isInteger(t plan.Type) bool { return t.Kind >= plan.TinyInt && t.Kind <= plan.UHugeInt }

func isNumeric(t plan.Type) bool { return t.Kind >= plan.TinyInt && t.Kind <= plan.Decimal }

func castTo(e plan.Expr, t plan.Type) plan.Expr {
	if e.Type().Equal(t) {
		return e
	}
	return &plan.Cast{Arg: e, To: t}
}
