package scan

import (
	"cmp"
	"fmt"
	"slices"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/manifest"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// The residual of a file is what is left of the scan's filter once the values of the file's identity partition fields are
// known (specification, Scan Planning). It is told by the numbers of the filter's top-level conjuncts (plan.SplitConjunction),
// so that expressions travel once and in one encoding, that of the fragment.
//
// A conjunct is left out only where it is true, not NULL, of every row. So of a comparison, BETWEEN, IN or IS NOT NULL
// these must hold besides what a Predicate asks for (rule 13): it is about a column and constants that are not NULL; the
// column is the source of an identity field of the file's spec, whose value in the file is not NULL; and the column is no
// floating-point number, of which different ones are equal in DuckDB (the zeros) and equal ones different elsewhere (NaN). It
// is true then unless its negation may match, which is what pruning asks.

// maxResiduals bounds the residuals of a scan that differ. A group's files of one residual are one read_parquet call, and a
// query of many calls plans slowly. Without OR there is about one residual for each partition spec: what an identity field
// decides is true of every file that was not pruned. OR can make one for each combination of its branches; files of the
// rarer ones are read with the whole filter.
const maxResiduals = 4

// certainty says whether a condition is true of all rows of a file, by the spans of its identity partition columns.
type certainty func(spanOf func(id int) span) bool

// residuals finds the residuals of files.
type residuals struct {
	conjuncts []certainty                    // nil: never certain
	identity  map[int]map[int]partitionField // by spec, by column
}

// newResiduals prepares a filter; nil when every file's residual is the whole of it.
func newResiduals(meta table.Metadata, schema *ice.Schema, columns []plan.ScanColumn, filter plan.Expr) (*residuals, error) {
	r := &residuals{identity: identityFields(meta, schema)}
	c := certain{schema: schema, columns: columns, unusable: promotedFields(meta), partitioned: map[int]bool{}}
	for _, fields := range r.identity {
		for id := range fields {
			c.partitioned[id] = true
		}
	}
	if len(c.partitioned) == 0 {
		return nil, nil
	}
	useful := false
	for i, conjunct := range plan.SplitConjunction(filter) {
		is, err := c.of(conjunct, false)
		if err != nil {
			return nil, fmt.Errorf("conjunct %d of the filter: %w", i, err)
		}
		r.conjuncts = append(r.conjuncts, is)
		useful = useful || is != nil
	}
	if !useful {
		return nil, nil
	}
	return r, nil
}

// identityFields are, by the id of a partition spec and by column, the spec's identity fields.
func identityFields(meta table.Metadata, schema *ice.Schema) map[int]map[int]partitionField {
	out := map[int]map[int]partitionField{}
	for _, spec := range meta.PartitionSpecs() {
		for _, f := range spec.Fields() {
			source, ok := schema.FindFieldByID(f.SourceID())
			if _, is := f.Transform.(ice.IdentityTransform); !is || !ok || kindOf(source.Type).floating() {
				continue
			}
			if out[spec.ID()] == nil {
				out[spec.ID()] = map[int]partitionField{}
			}
			out[spec.ID()][f.SourceID()] = partitionField{id: f.FieldID, kind: kindOf(source.Type)}
		}
	}
	return out
}

// certain makes certainties.
type certain struct {
	schema      *ice.Schema
	columns     []plan.ScanColumn
	unusable    map[int]bool
	partitioned map[int]bool // the columns that a spec has an identity field of
}

// of is the certainty that e is true or, negated, that it is false; nil when it never is.
func (c certain) of(e plan.Expr, negated bool) (certainty, error) {
	switch e := e.(type) {
	case *plan.Conjunction:
		return c.conjunction(e, negated)
	case *plan.Operator:
		if e.Op == plan.OpNot {
			return c.of(e.Args[0], !negated)
		}
	}
	if !decided(e) {
		return nil, nil
	}
	p := predicates{schema: c.schema, columns: c.columns, unusable: c.unusable, used: map[int]bool{}}
	contrary := p.convert(e, !negated)
	column := -1
	for id := range p.used { // decided: there is one at most
		column = id
	}
	if !c.partitioned[column] || contrary.Equals(unknown) {
		return nil, nil
	}
	bound, err := ice.BindExpr(c.schema, contrary, true)
	if err != nil {
		return nil, err
	}
	mayBeContrary, err := compile(bound)
	if err != nil {
		return nil, err
	}
	return func(spanOf func(int) span) bool { return spanOf(column).exact && !mayBeContrary(spanOf) }, nil
}

func (c certain) conjunction(e *plan.Conjunction, negated bool) (certainty, error) {
	one := e.Or != negated // one certain part is enough, as it is whatever the others are, NULL among them
	var parts []certainty
	for _, arg := range e.Args {
		is, err := c.of(arg, negated)
		if err != nil || is == nil && !one {
			return nil, err
		}
		if is != nil {
			parts = append(parts, is)
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return func(spanOf func(int) span) bool {
		return slices.ContainsFunc(parts, func(is certainty) bool { return is(spanOf) == one }) == one
	}, nil
}

// decided says that a condition is about one column and constants, and is not NULL where the column is not.
func decided(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.ColumnRef:
		return true
	case *plan.Comparison:
		return isColumn(e.Left) && areConstants(e.Right) || areConstants(e.Left) && isColumn(e.Right)
	case *plan.Between:
		return isColumn(e.Arg) && areConstants(e.Low, e.High)
	case *plan.Operator:
		switch e.Op {
		case plan.OpIn, plan.OpNotIn:
			return len(e.Args) > 1 && isColumn(e.Args[0]) && areConstants(e.Args[1:]...)
		case plan.OpIsNull, plan.OpIsNotNull:
			return isColumn(e.Args[0])
		}
	}
	return false
}

func isColumn(e plan.Expr) bool {
	_, ok := e.(*plan.ColumnRef)
	return ok
}

// areConstants says that all are constants, and none NULL.
func areConstants(es ...plan.Expr) bool {
	return !slices.ContainsFunc(es, func(e plan.Expr) bool {
		c, ok := e.(*plan.Constant)
		return !ok || c.Value == nil
	})
}

// of are the residuals of files: those that differ, and for each file the position of its own among them plus one, 0 where
// that is the whole filter.
func (r *residuals) of(files []*manifest.File) (distinct []*seracv1.Residual, at []int32) {
	if r == nil {
		return nil, nil
	}
	type found struct {
		first, files int
		left         []bool // by conjunct
	}
	var all []*found
	byKey := map[string]*found{}
	each := make([]*found, len(files))
	key := make([]byte, len(r.conjuncts))
	for i, f := range files {
		if !r.left(f, key) {
			continue
		}
		of := byKey[string(key)]
		if of == nil {
			of = &found{first: i, left: make([]bool, len(key))}
			for n, left := range key {
				of.left[n] = left != 0
			}
			byKey[string(key)] = of
			all = append(all, of)
		}
		of.files++
		each[i] = of
	}
	slices.SortFunc(all, func(a, b *found) int { return cmp.Or(cmp.Compare(b.files, a.files), cmp.Compare(a.first, b.first)) })
	place := map[*found]int32{nil: 0}
	for i, of := range all[:min(len(all), maxResiduals)] {
		m := &seracv1.Residual{Conjuncts: int32(len(of.left))}
		for n, left := range of.left {
			if left {
				m.Remaining = append(m.Remaining, int32(n))
			}
		}
		distinct = append(distinct, m)
		place[of] = int32(i + 1)
	}
	if len(distinct) == 0 {
		return nil, nil
	}
	at = make([]int32, len(files))
	for i, of := range each {
		at[i] = place[of]
	}
	return distinct, at
}

// left writes for each conjunct 1 if it is left of the filter for a file, else 0, and says whether any is not.
func (r *residuals) left(f *manifest.File, out []byte) (less bool) {
	fields := r.identity[int(f.Task.File.SpecID())]
	if fields == nil {
		return false
	}
	spanOf := func(column int) span {
		field, ok := fields[column]
		if !ok {
			return span{}
		}
		return valueSpan(f, field)
	}
	for i, is := range r.conjuncts {
		out[i] = 1
		if is != nil && is(spanOf) {
			out[i], less = 0, true
		}
	}
	return less
}
