package read

import (
	"fmt"
	"slices"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// filters are what of the scan's filter is applied to the rows of files, as SQL over the outputs: the whole of it, or a
// residual, without the conjuncts that a file's partition values make true of all its rows. Columns that only those name are
// read all the same when somebody above the scan asks for them: a filter is over the scan's output columns, and DuckDB reads
// of these what is used.
type filters struct {
	filter    plan.Expr
	scan      []plan.ScanColumn
	conjuncts []plan.Expr
	names     []string
	residuals []*seracv1.Residual
	texts     map[string]string // what has been rendered
}

// newFilters refuses residuals that are of another filter. What no file has is never rendered.
func newFilters(in Input, outputs []output) (*filters, error) {
	f := &filters{
		filter: in.Scan.Filter, scan: in.Scan.Columns, conjuncts: plan.SplitConjunction(in.Scan.Filter),
		residuals: in.Group.GetResiduals(), texts: map[string]string{},
	}
	for _, out := range outputs {
		f.names = append(f.names, out.name)
	}
	for i, r := range f.residuals {
		if int(r.GetConjuncts()) != len(f.conjuncts) {
			return nil, fmt.Errorf("residual %d is of a filter of %d conjuncts, the scan's has %d", i, r.GetConjuncts(), len(f.conjuncts))
		}
		last := int32(-1)
		for _, n := range r.GetRemaining() {
			if n <= last || int(n) >= len(f.conjuncts) {
				return nil, fmt.Errorf("residual %d has conjunct %d of %d after %d", i, n, len(f.conjuncts), last)
			}
			last = n
		}
	}
	return f, nil
}

// of is the filter of a file, with its range of keys; "" when there is none.
func (f *filters) of(task *seracv1.FileScanTask) (string, error) {
	e, key := f.filter, "whole"
	if r := task.GetResidual(); r != 0 {
		left := f.residuals[r-1].GetRemaining()
		key = fmt.Sprint(left)
		conjuncts := make([]plan.Expr, len(left))
		for i, n := range left {
			conjuncts[i] = f.conjuncts[n]
		}
		e = plan.And(conjuncts...)
	}
	if r := task.GetKeyRange(); r != nil {
		in, err := keyRange(r, f.scan)
		if err != nil {
			return "", fmt.Errorf("data file %s: %w", task.GetPath(), err)
		}
		key += fmt.Sprint(" ", r.From != nil, r.GetFrom(), r.Before != nil, r.GetBefore(), r.GetNulls(), r.GetFieldId())
		switch {
		case e == nil:
			e = in
		case in != nil:
			e = plan.And(e, in)
		}
	}
	if e == nil {
		return "", nil
	}
	text, ok := f.texts[key]
	if !ok {
		var err error
		if text, err = render.Expr(e, f.names); err != nil {
			return "", fmt.Errorf("filter: %w", err)
		}
		f.texts[key] = text
	}
	return text, nil
}

// prunable are the conditions by which row groups of a file may be left out. A range that is none is an error of the file's filter.
func (f *filters) prunable(task *seracv1.FileScanTask) (conds []plan.Expr) {
	if f.filter != nil {
		conds = append(conds, f.filter)
	}
	if r := task.GetKeyRange(); r != nil {
		if in, err := keyRange(r, f.scan); err == nil && in != nil {
			conds = append(conds, in)
		}
	}
	return conds
}

// keyRange is a file's range of keys as a condition over the scan's columns.
func keyRange(r *seracv1.KeyRange, scan []plan.ScanColumn) (plan.Expr, error) {
	at := slices.IndexFunc(scan, func(c plan.ScanColumn) bool { return c.FieldID == r.GetFieldId() })
	if at < 0 {
		return nil, fmt.Errorf("its range of keys is of field %d, which the scan does not read", r.GetFieldId())
	}
	of := scan[at].Type
	if !iceberg.HasKeyRanges(of) {
		return nil, fmt.Errorf("its range of keys is of column %s, of type %s", scan[at].Name, of)
	}
	column := &plan.ColumnRef{Index: at, Of: of}
	var conds []plan.Expr
	if r.From != nil {
		conds = append(conds, &plan.Comparison{Op: plan.GreaterOrEqual, Left: column, Right: &plan.Constant{Value: r.GetFrom(), Of: of}})
	}
	if r.Before != nil {
		conds = append(conds, &plan.Comparison{Op: plan.Less, Left: column, Right: &plan.Constant{Value: r.GetBefore(), Of: of}})
	}
	null := &plan.Operator{Op: plan.OpIsNull, Args: []plan.Expr{column}, Of: plan.T(plan.Boolean)}
	switch in := plan.And(conds...); {
	case in == nil && r.GetNulls():
		return nil, nil
	case in == nil:
		return &plan.Operator{Op: plan.OpIsNotNull, Args: []plan.Expr{column}, Of: plan.T(plan.Boolean)}, nil
	case r.GetNulls():
		return &plan.Conjunction{Or: true, Args: []plan.Expr{in, null}}, nil
	default:
		return in, nil
	}
}
