package substrait

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// bounds are the frame of a window function.
type bounds struct {
	kind         pb.Expression_WindowFunction_BoundsType
	lower, upper *pb.Expression_WindowFunction_Bound
	// function is the anchor of the function.
	function uint32
}

// placed are the functions that say where a row is in its partition: no frame changes them.
var placed = []string{"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lead", "lag"}

// framed says whether a frame needs to be written: one without bounds is the whole partition, where SQL's would end at the
// current row.
func (t *translator) framed(b bounds, ordered bool) bool {
	if b.lower != nil || b.upper != nil {
		return true
	}
	f, err := t.function(b.function) // an unknown one is an error elsewhere
	return err == nil && ordered && !slices.Contains(placed, f.name)
}

// overClause is OVER (...).
func (t *translator) overClause(over []column, partitions []*pb.Expression, sorts []*pb.SortField, b bounds) (string, error) {
	var parts []string
	var by []string
	for i, p := range partitions {
		c, err := t.over(over, p)
		if err != nil {
			return "", fmt.Errorf("partition expression %d: %w", i, err)
		}
		by = append(by, c.sql)
	}
	if len(by) > 0 {
		parts = append(parts, "PARTITION BY "+strings.Join(by, ", "))
	}
	keys, err := t.sortKeys(over, sorts)
	if err != nil {
		return "", err
	}
	var order []string
	for _, k := range keys {
		order = append(order, k.sql+" "+k.direction)
	}
	if len(order) > 0 {
		parts = append(parts, "ORDER BY "+strings.Join(order, ", "))
	}
	if t.framed(b, len(order) > 0) {
		frame, err := frameClause(b)
		if err != nil {
			return "", err
		}
		parts = append(parts, frame)
	}
	return " OVER (" + strings.Join(parts, " ") + ")", nil
}

func frameClause(b bounds) (string, error) {
	unit := "ROWS"
	switch b.kind {
	case pb.Expression_WindowFunction_BOUNDS_TYPE_ROWS, pb.Expression_WindowFunction_BOUNDS_TYPE_UNSPECIFIED:
	case pb.Expression_WindowFunction_BOUNDS_TYPE_RANGE:
		unit = "RANGE"
	default:
		return "", fmt.Errorf("window bounds of type %s are not supported", b.kind)
	}
	bound := func(m *pb.Expression_WindowFunction_Bound, unbounded string) (string, error) {
		offset := func(n int64, direction string) (string, error) {
			if n < 0 {
				return "", fmt.Errorf("window bound %d is negative", n)
			}
			return strconv.FormatInt(n, 10) + " " + direction, nil
		}
		switch k := m.GetKind().(type) {
		case *pb.Expression_WindowFunction_Bound_Preceding_:
			return offset(k.Preceding.GetOffset(), "PRECEDING")
		case *pb.Expression_WindowFunction_Bound_Following_:
			return offset(k.Following.GetOffset(), "FOLLOWING")
		case *pb.Expression_WindowFunction_Bound_CurrentRow_:
			return "CURRENT ROW", nil
		case *pb.Expression_WindowFunction_Bound_Unbounded_, nil:
			return unbounded, nil
		default:
			return "", fmt.Errorf("window bound %T is not supported", k)
		}
	}
	lower, err := bound(b.lower, "UNBOUNDED PRECEDING")
	if err != nil {
		return "", err
	}
	upper, err := bound(b.upper, "UNBOUNDED FOLLOWING")
	if err != nil {
		return "", err
	}
	return unit + " BETWEEN " + lower + " AND " + upper, nil
}

// windowFunction is a window function in an expression.
func (t *translator) windowFunction(w *pb.Expression_WindowFunction) (column, error) {
	over := t.scopes[len(t.scopes)-1].columns
	clause, err := t.overClause(over, w.GetPartitions(), w.GetSorts(), bounds{w.GetBoundsType(), w.GetLowerBound(), w.GetUpperBound(), w.GetFunctionReference()})
	if err != nil {
		return column{}, err
	}
	return t.aggregateCall(over, aggregateCall{
		anchor: w.GetFunctionReference(), arguments: w.GetArguments(), old: w.GetArgs(),
		options: w.GetOptions(), of: w.GetOutputType(), phase: w.GetPhase(), invocation: w.GetInvocation(), over: clause,
	})
}

// window appends window functions that share their partitions and order.
func (t *translator) window(r *pb.ConsistentPartitionWindowRel) (*query, error) {
	q, err := t.input(r.GetInput())
	if err != nil {
		return nil, err
	}
	out := *q
	out.columns = q.columns[:len(q.columns):len(q.columns)]
	for i, f := range r.GetWindowFunctions() {
		clause, err := t.overClause(q.columns, r.GetPartitionExpressions(), r.GetSorts(), bounds{f.GetBoundsType(), f.GetLowerBound(), f.GetUpperBound(), f.GetFunctionReference()})
		if err != nil {
			return nil, err
		}
		c, err := t.aggregateCall(q.columns, aggregateCall{
			anchor: f.GetFunctionReference(), arguments: f.GetArguments(), options: f.GetOptions(), of: f.GetOutputType(),
			phase: f.GetPhase(), invocation: f.GetInvocation(), over: clause,
		})
		if err != nil {
			return nil, fmt.Errorf("window function %d: %w", i, err)
		}
		out.columns = append(out.columns, c)
	}
	return &out, nil
}
