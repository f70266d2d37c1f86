package planner

import "github.com/seracdb/serac/plan"

// The states of variances and correlations are lists of doubles: the number of rows, the means, and the sums of squares
// around the means. They merge by the formulas of Chan, Golub and LeVeque, which lose no digits where values are large
// and lie near each other, as sums of squares would.

// momentState is a state of such a list. calls give its parts; the first is the number of rows. merge is the merged list of
// lists a and b.
func (s *split) momentState(name string, calls []plan.AggregateCall, parts func(r []plan.Expr) []plan.Expr, merge func(a, b func(int) plan.Expr) plan.Expr) int {
	of := plan.ListType(double)
	i := len(s.states)
	st := state{
		name: name, of: of, calls: calls,
		compose: func(r []plan.Expr) plan.Expr {
			return &plan.Case{Whens: []plan.When{{Cond: positive(r[0]), Then: call(of, "list_value", parts(r)...)}}, Of: of}
		},
		merge: func(at stateColumns) plan.AggregateCall {
			known := &plan.Operator{Op: plan.OpIsNotNull, Args: []plan.Expr{at(i)}, Of: plan.T(plan.Boolean)}
			return plan.AggregateCall{Name: "list", Args: []plan.Expr{at(i)}, Filter: known, Of: plan.ListType(of)}
		},
		restore: func(e plan.Expr) plan.Expr {
			part := func(param int) func(int) plan.Expr {
				return func(i int) plan.Expr { return element(&plan.LambdaParam{Index: param, Of: of}, i) }
			}
			return &plan.Call{Name: "list_reduce", Args: []plan.Expr{e}, Lambda: &plan.Lambda{Params: 2, Body: merge(part(0), part(1))}, Of: of}
		},
	}
	i = s.state(st)
	return i
}

// element is element i of a list state, from 0.
func element(list plan.Expr, i int) plan.Expr {
	return call(double, "list_extract", list, &plan.Constant{Value: int64(i + 1), Of: bigInt})
}

func number(v float64) plan.Expr { return &plan.Constant{Value: v, Of: double} }

func add(a, b plan.Expr) plan.Expr      { return call(double, "+", a, b) }
func subtract(a, b plan.Expr) plan.Expr { return call(double, "-", a, b) }
func multiply(a, b plan.Expr) plan.Expr { return call(double, "*", a, b) }
func divide(a, b plan.Expr) plan.Expr   { return call(double, "/", a, b) }
func root(a plan.Expr) plan.Expr        { return call(double, "sqrt", a) }

func when(cond, then, otherwise plan.Expr) plan.Expr {
	return &plan.Case{Whens: []plan.When{{Cond: cond, Then: then}}, Else: otherwise, Of: then.Type()}
}

func compare(op plan.CompareOp, a, b plan.Expr) plan.Expr {
	return &plan.Comparison{Op: op, Left: a, Right: b}
}

func null(t plan.Type) plan.Expr { return &plan.Constant{Of: t} }

// mergedMean and mergedSquares are the mean of two parts and the sum of products around the means: delta is the
// difference of their means.
func mergedMean(a, b func(int) plan.Expr, mean int) plan.Expr {
	return add(a(mean), multiply(subtract(b(mean), a(mean)), divide(b(0), add(a(0), b(0)))))
}

func mergedSquares(a, b func(int) plan.Expr, x, y, squares int) plan.Expr {
	deltas := multiply(subtract(b(x), a(x)), subtract(b(y), a(y)))
	return add(add(a(squares), b(squares)), multiply(deltas, divide(multiply(a(0), b(0)), add(a(0), b(0)))))
}

// moments are the aggregates of one column's spread: [n, mean, squares].
func (s *split) moments(c plan.AggregateCall) func(stateColumns) plan.Expr {
	if len(c.Args) != 1 || c.Args[0].Type().Kind != plan.Double {
		return nil
	}
	part := func(name string, of plan.Type) plan.AggregateCall {
		return plan.AggregateCall{Name: name, Args: c.Args, Filter: c.Filter, Of: of}
	}
	i := s.momentState("moments", []plan.AggregateCall{part("count", bigInt), part("avg", double), part("var_pop", double)},
		func(r []plan.Expr) []plan.Expr {
			n := castTo(r[0], double)
			return []plan.Expr{n, r[1], multiply(r[2], n)}
		},
		func(a, b func(int) plan.Expr) plan.Expr {
			return call(plan.ListType(double), "list_value", add(a(0), b(0)), mergedMean(a, b, 1), mergedSquares(a, b, 1, 1, 2))
		})
	return func(at stateColumns) plan.Expr {
		n, squares := element(at(i), 0), element(at(i), 2)
		one := compare(plan.LessOrEqual, n, number(1))
		population := when(one, number(0), divide(squares, n))
		sample := when(one, null(double), divide(squares, subtract(n, number(1))))
		var result plan.Expr
		switch c.Name {
		case "var_pop":
			result = population
		case "stddev_pop":
			result = root(population)
		case "sem":
			result = divide(root(population), root(n))
		case "var_samp", "variance":
			result = sample
		default:
			result = root(sample)
		}
		return &plan.Case{Whens: []plan.When{
			{Cond: &plan.Operator{Op: plan.OpIsNull, Args: []plan.Expr{at(i)}, Of: plan.T(plan.Boolean)}, Then: null(double)},
			{Cond: &plan.Operator{Op: plan.OpIsNull, Args: []plan.Expr{result}, Of: plan.T(plan.Boolean)}, Then: null(double)},
		}, Else: ifFinite(result, c.Name, result), Of: double}
	}
}

// ifFinite is a result if a variance (or what is made of one) is finite. Where DuckDB says "out of range", its own function does.
func ifFinite(variance plan.Expr, function string, result plan.Expr) plan.Expr {
	list := call(plan.ListType(double), "list_value", variance, number(0))
	failing := call(double, "list_aggregate", list, &plan.Constant{Value: function, Of: plan.T(plan.Varchar)})
	return when(call(plan.T(plan.Boolean), "isfinite", variance), result, failing)
}

// comoments are the aggregates of two columns' spread, y and x: [n, mean of y, mean of x, squares of yy, xx, yx].
func (s *split) comoments(c plan.AggregateCall) func(stateColumns) plan.Expr {
	if len(c.Args) != 2 || c.Args[0].Type().Kind != plan.Double || c.Args[1].Type().Kind != plan.Double {
		return nil
	}
	y, x := c.Args[0], c.Args[1]
	part := func(name string, of plan.Type, args ...plan.Expr) plan.AggregateCall {
		return plan.AggregateCall{Name: name, Args: args, Filter: c.Filter, Of: of}
	}
	switch c.Name { // whose merged means would be NaN where one is infinite
	case "regr_avgx":
		return s.average(beside(part("avg", double, x), y))
	case "regr_avgy":
		return s.average(beside(part("avg", double, y), x))
	}
	// A column's covariance with itself, where the other is not NULL: its variance. regr_syy and regr_sxx would fail where the
	// variance is not finite, also where only the covariance is asked for, which may be NaN.
	variance := func(x, other plan.Expr) plan.AggregateCall { return beside(part("covar_pop", double, x, x), other) }
	calls := []plan.AggregateCall{
		part("regr_count", plan.T(plan.UInteger), y, x), part("regr_avgy", double, y, x), part("regr_avgx", double, y, x),
		variance(y, x), variance(x, y), part("covar_pop", double, y, x),
	}
	i := s.momentState("comoments", calls,
		func(r []plan.Expr) []plan.Expr {
			n := castTo(r[0], double)
			// The covariance of a single infinity with itself is NaN; its variance is not.
			squares := func(variance plan.Expr) plan.Expr {
				return when(compare(plan.LessOrEqual, n, number(1)), number(0), multiply(variance, n))
			}
			return []plan.Expr{n, r[1], r[2], squares(r[3]), squares(r[4]), multiply(r[5], n)}
		},
		func(a, b func(int) plan.Expr) plan.Expr {
			return call(plan.ListType(double), "list_value", add(a(0), b(0)), mergedMean(a, b, 1), mergedMean(a, b, 2),
				mergedSquares(a, b, 1, 1, 3), mergedSquares(a, b, 2, 2, 4), mergedSquares(a, b, 1, 2, 5))
		})
	return func(at stateColumns) plan.Expr {
		part := func(k int) plan.Expr { return element(at(i), k) }
		n, meanY, meanX, yy, xx, yx := part(0), part(1), part(2), part(3), part(4), part(5)
		zero, undefined := number(0), castTo(&plan.Constant{Value: "nan", Of: plan.T(plan.Varchar)}, double)
		isZero := func(e plan.Expr) plan.Expr { return compare(plan.Equal, e, zero) }
		slope := when(isZero(xx), undefined, divide(yx, xx))
		spread := multiply(root(divide(xx, n)), root(divide(yy, n)))
		correlation := when(isZero(spread), undefined, divide(divide(yx, n), spread))
		var result plan.Expr
		switch c.Name {
		case "covar_pop":
			result = divide(yx, n)
		case "covar_samp":
			result = when(compare(plan.Less, n, number(2)), null(double), divide(yx, subtract(n, number(1))))
		case "corr":
			result = ifFinite(xx, "stddev_pop", ifFinite(yy, "stddev_pop", correlation))
		case "regr_slope":
			result = ifFinite(xx, "var_pop", slope)
		case "regr_intercept":
			intercept := subtract(meanY, multiply(slope, meanX))
			known := when(call(plan.T(plan.Boolean), "isfinite", intercept), intercept, null(double))
			result = ifFinite(xx, "var_pop", when(isZero(xx), null(double), known))
		case "regr_r2":
			squared := ifFinite(yy, "var_pop", when(isZero(yy), number(1), multiply(correlation, correlation)))
			result = ifFinite(xx, "var_pop", when(isZero(xx), null(double), squared))
		case "regr_sxx":
			result = ifFinite(xx, "var_pop", xx)
		case "regr_syy":
			result = ifFinite(yy, "var_pop", yy)
		case "regr_sxy":
			result = yx
		}
		known := &plan.Operator{Op: plan.OpIsNull, Args: []plan.Expr{at(i)}, Of: plan.T(plan.Boolean)}
		return when(known, null(double), result)
	}
}

// beside is a call over the rows in which another column is not NULL.
func beside(c plan.AggregateCall, other plan.Expr) plan.AggregateCall {
	return filtered(c, &plan.Operator{Op: plan.OpIsNotNull, Args: []plan.Expr{other}, Of: plan.T(plan.Boolean)})
}
