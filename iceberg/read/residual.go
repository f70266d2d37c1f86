package read

import (
	"fmt"

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
	conjuncts []plan.Expr
	names     []string
	residuals []*seracv1.Residual
	texts     map[string]string // what has been rendered
}

// newFilters refuses residuals that are of another filter. What no file has is never rendered.
func newFilters(in Input, outputs []output) (*filters, error) {
	f := &filters{
		filter: in.Scan.Filter, conjuncts: plan.SplitConjunction(in.Scan.Filter), residuals: in.Group.GetResiduals(), texts: map[string]string{},
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

// of is the filter of a file, "" when there is none.
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
