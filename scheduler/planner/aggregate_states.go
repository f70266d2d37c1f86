package planner

import (
	"math"
	"strings"

	"github.com/seracdb/serac/plan"
)

var (
	bigInt  = plan.T(plan.BigInt)
	hugeInt = plan.T(plan.HugeInt)
	double  = plan.T(plan.Double)
)

// add takes a call apart: its states, and its result over them. It gives false for a call that has none.
func (s *split) add(c plan.AggregateCall) bool {
	result := s.resultOf(c)
	if result == nil {
		return false
	}
	s.results = append(s.results, func(at stateColumns) plan.Expr { return castTo(result(at), c.Of) })
	return true
}

func (s *split) resultOf(c plan.AggregateCall) func(stateColumns) plan.Expr {
	switch c.Name {
	case "count_if", "countif": // NULL where there is no row, or none with a value
		i := s.merged(c, "sum", hugeInt)
		return func(at stateColumns) plan.Expr { return at(i) }
	case "count", "count_star", "regr_count":
		n := s.count(c)
		return func(at stateColumns) plan.Expr { return orZero(at(n)) }
	case "sum", "sum_no_overflow", "product", "min", "max", "bool_and", "bool_or", "any_value", "arbitrary", "bit_and", "bit_or", "bit_xor",
		"first", "last":
		if len(c.Args) == 1 {
			return s.ofOne(c)
		}
	case "avg", "mean":
		return s.average(c)
	case "arg_min", "arg_max", "argmin", "argmax", "min_by", "max_by", "arg_min_null", "arg_max_null", "arg_min_nulls_last", "arg_max_nulls_last":
		if len(c.Args) == 2 {
			return s.argMin(c)
		}
	case "var_pop", "var_samp", "variance", "stddev", "stddev_pop", "stddev_samp", "sem":
		return s.moments(c)
	case "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy", "regr_sxy", "regr_avgx", "regr_avgy":
		return s.comoments(c)
	}
	return nil
}

// count is a state that is a number of rows. Its result is cast to a BIGINT, whatever the call's own type.
func (s *split) count(c plan.AggregateCall) int { return s.merged(c, "sum", bigInt) }

func orZero(e plan.Expr) plan.Expr {
	zero := &plan.Constant{Value: int64(0), Of: bigInt}
	return &plan.Operator{Op: plan.OpCoalesce, Args: []plan.Expr{e, zero}, Of: bigInt}
}

// ofOne is of the aggregates whose state is their value.
func (s *split) ofOne(c plan.AggregateCall) func(stateColumns) plan.Expr {
	merge, of := c.Name, c.Of
	switch c.Name {
	case "sum", "sum_no_overflow":
		merge = "sum"
		var ok bool
		if of, ok = sumOf(c.Of); !ok || !isNumeric(c.Of) {
			return nil
		}
	case "first", "last", "arbitrary":
		return s.anyRow(c)
	}
	i := s.merged(c, merge, of)
	return func(at stateColumns) plan.Expr { return at(i) }
}

// anyRow is of the aggregates that take the value of one row, NULL or not: whichever row, for nothing orders them. A state
// of no rows must not pass for one with a NULL.
func (s *split) anyRow(c plan.AggregateCall) func(stateColumns) plan.Expr {
	number := s.count(plan.AggregateCall{Name: "count_star", Filter: c.Filter, Of: bigInt})
	i := len(s.states)
	st := state{
		name: c.Name, of: c.Of, calls: []plan.AggregateCall{c}, compose: onlyResult, restore: same,
		merge: func(at stateColumns) plan.AggregateCall {
			return plan.AggregateCall{Name: c.Name, Args: []plan.Expr{at(i)}, Filter: positive(at(number)), Of: c.Of}
		},
	}
	i = s.state(st)
	return func(at stateColumns) plan.Expr { return at(i) }
}

func onlyResult(r []plan.Expr) plan.Expr { return r[0] }

func same(e plan.Expr) plan.Expr { return e }

func positive(e plan.Expr) plan.Expr {
	return compare(plan.Greater, castTo(e, bigInt), &plan.Constant{Value: int64(0), Of: bigInt})
}

// argMin is arg_min(a, b) and kin: a's value where b is least, and b's least value. They differ in how they take NULLs:
// arg_min passes over rows where either is NULL, arg_min_null where b is, arg_min_nulls_last over none.
func (s *split) argMin(c plan.AggregateCall) func(stateColumns) plan.Expr {
	arg, by := c.Args[0], c.Args[1]
	extreme := "max"
	if strings.Contains(c.Name, "min") {
		extreme = "min"
	}
	bound := plan.AggregateCall{Name: extreme, Args: []plan.Expr{by}, Filter: c.Filter, Of: by.Type()}
	rows := -1
	switch {
	case strings.HasSuffix(c.Name, "nulls_last"):
		rows = s.count(plan.AggregateCall{Name: "count_star", Filter: c.Filter, Of: bigInt})
	case !strings.HasSuffix(c.Name, "_null"):
		known := &plan.Operator{Op: plan.OpIsNotNull, Args: []plan.Expr{arg}, Of: plan.T(plan.Boolean)}
		bound = filtered(bound, known)
	}
	limit := s.merged(bound, extreme, by.Type())
	i := len(s.states)
	st := state{
		name: c.Name, of: c.Of, calls: []plan.AggregateCall{c}, compose: onlyResult, restore: same,
		merge: func(at stateColumns) plan.AggregateCall {
			m := plan.AggregateCall{Name: c.Name, Args: []plan.Expr{at(i), at(limit)}, Of: c.Of}
			if rows >= 0 {
				m.Filter = positive(at(rows))
			}
			return m
		},
	}
	i = s.state(st)
	return func(at stateColumns) plan.Expr { return at(i) }
}

// average is avg: the sum and the number, divided as DuckDB divides (duckdb.AverageFunction).
func (s *split) average(c plan.AggregateCall) func(stateColumns) plan.Expr {
	if len(c.Args) != 1 {
		return nil
	}
	in := c.Args[0].Type()
	number := c
	number.Name, number.Of = "count", bigInt
	switch {
	case in.Alias != "":
		return nil
	case in.Kind == plan.Timestamp || in.Kind == plan.TimestampTZ:
		return s.averageTime(c, number)
	case c.Of.Kind != plan.Double:
		return nil
	}
	sumType, ok := sumOf(in)
	if !ok {
		return nil
	}
	total := c
	total.Name, total.Of = "sum", sumType
	sum := s.merged(total, "sum", sumType)
	n := s.count(number)
	if sumType.Equal(double) {
		// Division by zero gives NULL or NaN by a setting; the average of nothing is NULL.
		return func(at stateColumns) plan.Expr {
			return &plan.Case{Whens: []plan.When{{Cond: positive(at(n)), Then: call(double, "/", at(sum), castTo(at(n), double))}}, Of: double}
		}
	}
	scale := &plan.Constant{Value: int64(in.Scale), Of: plan.T(plan.Integer)}
	plain := &plan.Constant{Value: in.Kind == plan.SmallInt || in.Kind == plan.Decimal && in.Width <= 4, Of: plan.T(plan.Boolean)}
	return func(at stateColumns) plan.Expr {
		return call(double, "serac_average", at(sum), orZero(at(n)), scale, plain)
	}
}

// averageTime is the average of instants: of their microseconds, rounded as DuckDB rounds.
func (s *split) averageTime(c, number plan.AggregateCall) func(stateColumns) plan.Expr {
	total := c
	total.Name, total.Of = "sum", hugeInt
	total.Args = []plan.Expr{microsOf(c.Args[0])}
	sum, n := s.merged(total, "sum", hugeInt), s.count(number)
	back := map[plan.Kind]string{plan.Timestamp: "make_timestamp", plan.TimestampTZ: "make_timestamptz"}[c.Of.Kind]
	if back == "" {
		return nil
	}
	return func(at stateColumns) plan.Expr {
		count := castTo(at(n), hugeInt)
		two := &plan.Constant{Value: int64(2), Of: bigInt}
		quotient := call(hugeInt, "//", at(sum), count)
		up := &plan.Comparison{Op: plan.Greater, Left: call(hugeInt, "%", at(sum), count), Right: castTo(call(bigInt, "//", at(n), two), hugeInt)}
		micros := castTo(call(hugeInt, "+", quotient, castTo(up, hugeInt)), bigInt)
		result := &plan.Case{Whens: []plan.When{{Cond: positive(at(n)), Then: call(c.Of, back, micros)}}, Of: c.Of}
		for _, value := range []int64{math.MaxInt64, -math.MaxInt64} {
			limit := plan.When{Cond: compare(plan.Equal, micros, &plan.Constant{Value: value, Of: bigInt}), Then: instant(infinities[value], c.Of)}
			result.Whens = append([]plan.When{limit}, result.Whens...)
		}
		return result
	}
}

// infinities are the infinite instants as DuckDB counts them in averages.
var infinities = map[int64]string{math.MaxInt64: "infinity", -math.MaxInt64: "-infinity"}

// instant is the constant of a text.
func instant(text string, of plan.Type) plan.Expr {
	return castTo(&plan.Constant{Value: text, Of: plan.T(plan.Varchar)}, of)
}

// microsOf is an instant in microseconds; epoch_us has no value for infinite ones.
func microsOf(e plan.Expr) plan.Expr {
	epoch := instant("epoch", e.Type())
	limit := func(micros int64) plan.Expr { return &plan.Constant{Value: micros, Of: bigInt} }
	return &plan.Case{Of: bigInt, Whens: []plan.When{
		{Cond: call(plan.T(plan.Boolean), "isfinite", e), Then: call(bigInt, "epoch_us", e)},
		{Cond: compare(plan.Greater, e, epoch), Then: limit(math.MaxInt64)},
		{Cond: compare(plan.Less, e, epoch), Then: limit(-math.MaxInt64)},
	}}
}

func call(of plan.Type, name string, args ...plan.Expr) plan.Expr {
	return &plan.Call{Name: name, Args: args, Of: of}
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
		return hugeInt, true
	case t.Kind == plan.Float || t.Kind == plan.Double:
		return double, true
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
