package bind

import "github.com/seracdb/serac/plan"

// prunable copies to each scan what of the filter directly above it is simple enough to choose files by. The filter
// itself stays.
func prunable(n plan.Node) (plan.Node, error) {
	return plan.Transform(n, func(n plan.Node) (plan.Node, error) {
		f, ok := n.(*plan.Filter)
		if !ok {
			return n, nil
		}
		scan, ok := f.Input.(*plan.IcebergScan)
		if !ok {
			return n, nil
		}
		var keep []plan.Expr
		for _, part := range plan.SplitConjunction(f.Cond) {
			if simple(part) {
				keep = append(keep, part)
			}
		}
		if len(keep) == 0 {
			return n, nil
		}
		pruned := *scan
		pruned.Filter = plan.And(append(plan.SplitConjunction(scan.Filter), keep...)...)
		return f.WithChildren([]plan.Node{&pruned}), nil
	})
}

// simple says that a condition is one that files can be judged by: comparisons, IN, BETWEEN and IS NULL of a plain
// column and constants of the very same type, under AND and OR. A cast on a column is never looked through (rule 13):
// the values compare otherwise than the column's. Nothing under NOT counts.
func simple(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Conjunction:
		for _, a := range e.Args {
			if !simple(a) {
				return false
			}
		}
		return true
	case *plan.Comparison:
		return e.Op != plan.DistinctFrom && e.Op != plan.NotDistinctFrom &&
			(columnAndConstant(e.Left, e.Right) || columnAndConstant(e.Right, e.Left))
	case *plan.Between:
		return columnAndConstant(e.Arg, e.Low) && columnAndConstant(e.Arg, e.High)
	case *plan.Operator:
		switch e.Op {
		case plan.OpIsNull, plan.OpIsNotNull:
			_, ok := e.Args[0].(*plan.ColumnRef)
			return ok
		case plan.OpIn:
			for _, item := range e.Args[1:] {
				if !columnAndConstant(e.Args[0], item) {
					return false
				}
			}
			return true
		}
	}
	return false
}

func columnAndConstant(column, constant plan.Expr) bool {
	c, ok := column.(*plan.ColumnRef)
	k, isConstant := constant.(*plan.Constant)
	return ok && isConstant && k.Value != nil && k.Of.Equal(c.Of)
}
