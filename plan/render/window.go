package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

func (w *writer) window(n *plan.Window) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	out := append([]string(nil), in.cols...)
	for _, c := range n.Calls {
		text, err := w.windowCall(c, in.cols)
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return selectFrom(out, in.from), nil
}

// windowCall writes f(args IGNORE NULLS ORDER BY ..) FILTER (..) OVER (..).
func (w *writer) windowCall(c plan.WindowCall, cols []string) (string, error) {
	args, err := w.arguments(c.Args, c.Params, cols)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(plan.QuoteIdent(c.Name) + "(")
	if c.Distinct {
		b.WriteString("DISTINCT ")
	}
	b.WriteString(args)
	if c.IgnoreNulls {
		b.WriteString(" IGNORE NULLS")
	}
	if len(c.ArgOrder) > 0 {
		order, err := w.orderKeys(c.ArgOrder, cols)
		if err != nil {
			return "", err
		}
		b.WriteString(" ORDER BY " + order)
	}
	b.WriteString(")")
	if c.Filter != nil {
		cond, err := w.expr(c.Filter, cols)
		if err != nil {
			return "", err
		}
		b.WriteString(" FILTER (WHERE " + cond + ")")
	}
	var parts []string
	if len(c.PartitionBy) > 0 {
		by, err := w.exprs(c.PartitionBy, cols)
		if err != nil {
			return "", err
		}
		parts = append(parts, "PARTITION BY "+strings.Join(by, ", "))
	}
	if len(c.OrderBy) > 0 {
		order, err := w.orderKeys(c.OrderBy, cols)
		if err != nil {
			return "", err
		}
		parts = append(parts, "ORDER BY "+order)
	}
	frame, err := w.frame(c.Frame, cols)
	if err != nil {
		return "", err
	}
	if frame != "" {
		parts = append(parts, frame)
	}
	return b.String() + " OVER (" + strings.Join(parts, " ") + ")", nil
}

func (w *writer) frame(f plan.Frame, cols []string) (string, error) {
	if f.Mode == 0 {
		return "", nil
	}
	mode := map[plan.FrameMode]string{plan.Rows: "ROWS", plan.Range: "RANGE", plan.Groups: "GROUPS"}[f.Mode]
	start, err := w.frameBound(f.Start, cols)
	if err != nil {
		return "", err
	}
	end, err := w.frameBound(f.End, cols)
	if err != nil {
		return "", err
	}
	exclude, ok := map[plan.FrameExclude]string{plan.ExcludeNoOthers: "", plan.ExcludeCurrentRow: " EXCLUDE CURRENT ROW",
		plan.ExcludeGroup: " EXCLUDE GROUP", plan.ExcludeTies: " EXCLUDE TIES"}[f.Exclude]
	if mode == "" || !ok {
		return "", fmt.Errorf("no SQL known of frame mode %d, exclude %d", f.Mode, f.Exclude)
	}
	return mode + " BETWEEN " + start + " AND " + end + exclude, nil
}

func (w *writer) frameBound(b plan.FrameBound, cols []string) (string, error) {
	switch b.Kind {
	case plan.UnboundedPreceding:
		return "UNBOUNDED PRECEDING", nil
	case plan.UnboundedFollowing:
		return "UNBOUNDED FOLLOWING", nil
	case plan.CurrentRow:
		return "CURRENT ROW", nil
	case plan.Preceding, plan.Following:
		offset, err := w.expr(b.Offset, cols)
		if b.Kind == plan.Preceding {
			return offset + " PRECEDING", err
		}
		return offset + " FOLLOWING", err
	}
	return "", fmt.Errorf("no SQL known of frame bound %d", b.Kind)
}
