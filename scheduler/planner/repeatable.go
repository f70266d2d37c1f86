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
