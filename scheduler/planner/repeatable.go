package planner

import (
	"reflect"
	"slices"

	"github.com/seracdb/serac/plan"
)

// repeatable says whether a fragment may be run once per task and give the same rows each time: it reads only tables,
// constants and stages' outputs, and computes nothing volatile.
func repeatable(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.IcebergScan, *plan.MetadataScan, *plan.Values, *plan.ShuffleRead:
		return true
	case *plan.Extension:
		_, leaf := n.Leaf()
		return leaf
	case *plan.Filter:
		return !isVolatile(n.Cond) && repeatable(n.Input)
	case *plan.Project:
		return !anyVolatile(n.Exprs) && repeatable(n.Input)
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

// volatileFunctions are the functions that DuckDB calls volatile, and those that differ from one connection to another.
var volatileFunctions = map[string]bool{
	"random": true, "setseed": true, "uuid": true, "gen_random_uuid": true, "uuidv4": true, "uuidv7": true,
	"nextval": true, "currval": true, "error": true, "sleep_ms": true, "write_log": true, "stats": true,
	"current_query": true, "current_query_id": true, "current_connection_id": true, "current_transaction_id": true,
	"txid_current": true,
}

// anyVolatile says whether one of the expressions is volatile.
func anyVolatile(exprs []plan.Expr) bool { return slices.ContainsFunc(exprs, isVolatile) }

// isVolatile says whether an expression may give another value each time it is computed.
func isVolatile(e plan.Expr) bool {
	volatile := false
	plan.WalkExpr(e, func(e plan.Expr) bool {
		if c, ok := e.(*plan.Call); ok {
			volatile = volatile || volatileFunctions[c.Name]
		}
		return !volatile
	})
	return volatile
}

// determinate says whether a fragment gives the same rows each time its tasks run, in whatever order its input comes. It
// is careful: a stage wrongly called indeterminate costs more work after a loss, the other way round costs right answers.
func determinate(n plan.Node) bool {
	if anyVolatile(plan.NodeExprs(n)) {
		return false
	}
	switch n := n.(type) {
	case *plan.IcebergScan, *plan.MetadataScan, *plan.Values, *plan.ShuffleRead, *plan.ShuffleWrite, *plan.IcebergWrite, *plan.Filter, *plan.Project,
		*plan.SetOp, *plan.DelimGet, *plan.DelimJoin, *plan.CTE, *plan.CTERef, *plan.Sort, *plan.Unnest:
	case *plan.Extension:
		if _, leaf := n.Leaf(); !leaf {
			return false
		}
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
	case *plan.Limit, *plan.Window, *plan.RecursiveCTE, *plan.Sample, *plan.TableFunction, *plan.IcebergCommit, *plan.WholeStatement:
		// Limits take whichever rows come first, window functions break ties by arrival; of the rest nothing is known.
		return false
	default:
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
	case "list": // ordered by itself, equal elements being the same
		return len(c.Args) == 1 && c.Args[0].Type().Kind == plan.Blob && len(c.OrderBy) == 1 && reflect.DeepEqual(c.OrderBy[0].Expr, c.Args[0])
	case "sum", "sum_no_overflow", "avg", "mean":
		k := c.Args[0].Type().Kind
		return k != plan.Float && k != plan.Double
	}
	return false
}
