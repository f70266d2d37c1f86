package planner

import "github.com/seracdb/serac/plan"

// repeatable says whether a fragment may be run once per task and give the same rows each time: it reads only tables
// and constants and computes nothing volatile.
func repeatable(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.IcebergScan, *plan.Values:
		return true
	case *plan.Filter:
		return !isVolatile(n.Cond) && repeatable(n.Input)
	case *plan.Project:
		for _, e := range n.Exprs {
			if isVolatile(e) {
				return false
			}
		}
		return repeatable(n.Input)
	case *plan.Join:
		if n.Residual != nil && isVolatile(n.Residual) {
			return false
		}
		for _, c := range n.Conds {
			if isVolatile(c.Left) || isVolatile(c.Right) {
				return false
			}
		}
		return !n.Positional && repeatable(n.Left) && repeatable(n.Right)
	}
	return false
}

// isVolatile says whether an expression may give another value each time it is computed.
func isVolatile(e plan.Expr) bool {
	volatile := false
	plan.WalkExpr(e, func(e plan.Expr) bool {
		if c, ok := e.(*plan.Call); ok {
			switch c.Name {
			case "random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "nextval", "currval", "setseed", "error":
				volatile = true
			}
		}
		return !volatile
	})
	return volatile
}

// determinate says whether a fragment gives the same rows each time its tasks run, in whatever order its input comes. It
// is careful: a stage wrongly called indeterminate costs more work after a loss, the other way round costs right answers.
func determinate(n plan.Node) bool {
	volatile := false
	for _, e := range plan.NodeExprs(n) {
		volatile = volatile || isVolatile(e)
	}
	if volatile {
		return false
	}
	switch n := n.(type) {
	case *plan.IcebergScan, *plan.Values, *plan.ShuffleRead, *plan.ShuffleWrite, *plan.IcebergWrite, *plan.Filter, *plan.Project,
		*plan.SetOp, *plan.DelimGet, *plan.DelimJoin, *plan.CTE, *plan.CTERef, *plan.Sort, *plan.Unnest:
	case *plan.Join:
		if n.Positional || n.AsOf {
			return false
		}
	case *plan.Distinct:
		if len(n.On) > 0 {
			return false
		}
	case *plan.Aggregate:
		for _, c := range n.Calls {
			if !orderFree(c) {
				return false
			}
		}
	default:
		// Limits take whichever rows come first, window functions break ties by arrival; of the rest nothing is known.
		return false
	}
	for _, c := range n.Children() {
		if !determinate(c) {
			return false
		}
	}
	return true
}

// orderFree says whether an aggregate's value does not depend on the order of its input, to the last digit.
func orderFree(c plan.AggregateCall) bool {
	switch c.Name {
	case "count", "count_star", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor":
		return len(c.Args) < 2
	case "sum", "sum_no_overflow", "avg", "mean":
		k := c.Args[0].Type().Kind
		return k != plan.Float && k != plan.Double
	}
	return false
}
