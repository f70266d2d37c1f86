package bind

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/seracdb/serac/plan"
)

// windowNames are the functions that DuckDB knows by expression type instead of by name.
var windowNames = map[string]string{
	"WINDOW_ROW_NUMBER": "row_number", "WINDOW_RANK": "rank", "WINDOW_RANK_DENSE": "dense_rank", "WINDOW_NTILE": "ntile",
	"WINDOW_PERCENT_RANK": "percent_rank", "WINDOW_CUME_DIST": "cume_dist", "WINDOW_FIRST_VALUE": "first_value",
	"WINDOW_LAST_VALUE": "last_value", "WINDOW_LEAD": "lead", "WINDOW_LAG": "lag", "WINDOW_NTH_VALUE": "nth_value",
	"WINDOW_FILL": "fill",
}

func (s *scope) windowCall(e *exprJSON) (plan.WindowCall, error) {
	out := plan.WindowCall{IgnoreNulls: e.IgnoreNulls, Distinct: e.Distinct}
	if e.Type == "WINDOW_AGGREGATE" {
		out.Name = aggregateName(e.Name)
		params, err := erasedParams(e)
		if err != nil {
			return out, err
		}
		out.Params = params
	} else if out.Name = windowNames[e.Type]; out.Name == "" {
		return out, fmt.Errorf("window function %s", strings.ToLower(e.Type))
	}
	var err error
	if out.Of, err = importType(e.ReturnType); err != nil {
		return out, err
	}
	if out.Args, err = s.exprs(e.Children); err != nil {
		return out, err
	}
	for _, extra := range []*exprJSON{e.OffsetExpr, e.DefaultExpr} {
		if extra == nil {
			continue
		}
		arg, err := s.expr(extra)
		if err != nil {
			return out, err
		}
		out.Args = append(out.Args, arg)
	}
	if e.DefaultExpr != nil && e.OffsetExpr == nil {
		return out, fmt.Errorf("window function %s with a default and no offset", out.Name)
	}
	if len(e.Filters) > 0 {
		var filter *exprJSON
		if err := decode(e.Filters, &filter); err != nil {
			return out, err
		}
		if out.Filter, err = s.optional(filter); err != nil {
			return out, err
		}
	}
	if out.PartitionBy, err = s.exprs(e.Partitions); err != nil {
		return out, err
	}
	if out.OrderBy, err = s.orders(e.Orders); err != nil {
		return out, err
	}
	if out.ArgOrder, err = s.orders(e.ArgOrders); err != nil {
		return out, err
	}
	out.Frame, err = s.frame(e)
	return out, err
}

func (s *scope) frame(e *exprJSON) (plan.Frame, error) {
	var f plan.Frame
	var err error
	var startMode, endMode plan.FrameMode
	if f.Start, startMode, err = s.frameBound(e.Start, e.StartExpr, e.Orders); err != nil {
		return f, err
	}
	if f.End, endMode, err = s.frameBound(e.End, e.EndExpr, e.Orders); err != nil {
		return f, err
	}
	f.Mode = max(startMode, endMode)
	switch {
	case f.Mode == 0:
		f.Mode = plan.Range // unbounded on both sides: any mode means the same
	case startMode != 0 && endMode != 0 && startMode != endMode:
		return f, fmt.Errorf("a frame from %s to %s", e.Start, e.End)
	}
	exclude, ok := map[string]plan.FrameExclude{"": plan.ExcludeNoOthers, "NO_OTHER": plan.ExcludeNoOthers,
		"CURRENT_ROW": plan.ExcludeCurrentRow, "GROUP": plan.ExcludeGroup, "TIES": plan.ExcludeTies}[e.Exclude]
	if !ok {
		return f, fmt.Errorf("a frame that excludes %s", e.Exclude)
	}
	f.Exclude = exclude
	return f, nil
}

func (s *scope) frameBound(kind string, offset *exprJSON, orders []orderJSON) (plan.FrameBound, plan.FrameMode, error) {
	switch kind {
	case "UNBOUNDED_PRECEDING":
		return plan.FrameBound{Kind: plan.UnboundedPreceding}, 0, nil
	case "UNBOUNDED_FOLLOWING":
		return plan.FrameBound{Kind: plan.UnboundedFollowing}, 0, nil
	}
	cut := strings.LastIndexByte(kind, '_')
	if cut < 0 {
		return plan.FrameBound{}, 0, fmt.Errorf("frame bound %s", kind)
	}
	mode, ok := map[string]plan.FrameMode{"ROWS": plan.Rows, "RANGE": plan.Range, "GROUPS": plan.Groups}[kind[cut+1:]]
	bound, known := map[string]plan.BoundKind{"CURRENT_ROW": plan.CurrentRow, "EXPR_PRECEDING": plan.Preceding,
		"EXPR_FOLLOWING": plan.Following}[kind[:cut]]
	if !ok || !known {
		return plan.FrameBound{}, 0, fmt.Errorf("frame bound %s", kind)
	}
	if bound == plan.CurrentRow {
		return plan.FrameBound{Kind: bound}, mode, nil
	}
	if mode == plan.Range {
		var err error
		if offset, err = rangeOffset(offset); err != nil {
			return plan.FrameBound{}, 0, err
		}
	}
	e, err := s.expr(offset)
	return plan.FrameBound{Kind: bound, Offset: e}, mode, err
}

// rangeOffset undoes the binder, which made the bound itself (order key - offset, perhaps cast) of a RANGE offset.
func rangeOffset(e *exprJSON) (*exprJSON, error) {
	for e != nil && e.Class == "BOUND_CAST" {
		e = e.Child
	}
	if e == nil || e.Class != "BOUND_FUNCTION" || (e.Name != "-" && e.Name != "+") || len(e.Children) != 2 {
		return nil, fmt.Errorf("a RANGE bound that is no offset from the order key")
	}
	return e.Children[1], nil
}

// negated is the constant with its sign turned.
func negated(c *plan.Constant) *plan.Constant {
	switch v := c.Value.(type) {
	case *big.Int:
		return &plan.Constant{Value: new(big.Int).Neg(v), Of: c.Of}
	case float64:
		return &plan.Constant{Value: -v, Of: c.Of}
	case int64:
		return &plan.Constant{Value: -v, Of: c.Of}
	}
	return c
}
