package scan

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/seracdb/serac/iceberg/manifest"
)

// pruner says which manifests and files may hold a row for which a predicate is true. It judges what is cached, which
// iceberg-go's evaluators cannot be given; they see the predicates of files that are planned without the cache. When in
// doubt, a file stays.
type pruner struct {
	columns test
	specs   map[int]specTest
}

// specTest is the predicate as the values of a partition spec's fields see it.
type specTest struct {
	fields map[int]partitionField
	values test
}

// partitionField is a field of a partition spec.
type partitionField struct {
	id, position int
	kind         kind
	// limit is the largest value that truncate[W] surely has not made of the type's smallest ones by underflow, in Java as
	// in Go; 0 for other transforms.
	limit int64
}

// wraps says that a value may stand for others than it seems to.
func (f partitionField) wraps(value []byte) bool {
	if f.limit == 0 {
		return false
	}
	v, ok := f.kind.int(value)
	return !ok || v > f.limit
}

// test says whether a row may match, by what is known of each field's values.
type test func(spanOf func(id int) span) bool

// newPruner prepares a predicate of Predicate's kind over a schema. A nil pruner keeps everything.
func newPruner(meta table.Metadata, schema *ice.Schema, predicate ice.BooleanExpression) (*pruner, error) {
	if predicate.Equals(ice.AlwaysTrue{}) {
		return nil, nil
	}
	predicate, err := ice.RewriteNotExpr(predicate)
	if err != nil {
		return nil, err
	}
	bound, err := ice.BindExpr(schema, predicate, true)
	if err != nil {
		return nil, err
	}
	p := &pruner{specs: map[int]specTest{}}
	if p.columns, err = compile(bound); err != nil {
		return nil, err
	}
	for _, spec := range meta.PartitionSpecs() {
		if p.specs[spec.ID()], err = newSpecTest(schema, spec, bound); err != nil {
			return nil, fmt.Errorf("partition spec %d: %w", spec.ID(), err)
		}
	}
	return p, nil
}

func newSpecTest(schema *ice.Schema, spec ice.PartitionSpec, bound ice.BooleanExpression) (specTest, error) {
	t := specTest{fields: map[int]partitionField{}}
	var fields []ice.NestedField
	position := 0
	for _, f := range spec.Fields() {
		at := position
		position++
		source, ok := schema.FindFieldByID(f.SourceID())
		if !ok {
			continue // the column was dropped: no predicate speaks of it
		}
		result := f.Transform.ResultType(source.Type)
		field := partitionField{id: f.FieldID, position: at, kind: kindOf(result)}
		if truncate, ok := f.Transform.(ice.TruncateTransform); ok {
			switch field.kind {
			case int32Kind:
				field.limit = math.MaxInt32 - int64(truncate.Width)
			case int64Kind:
				field.limit = math.MaxInt64 - int64(truncate.Width)
			}
		}
		t.fields[f.FieldID] = field
		fields = append(fields, ice.NestedField{ID: f.FieldID, Name: f.Name, Type: result})
	}
	projected, err := ice.VisitExpr(bound, projection{spec})
	if err != nil {
		return t, err
	}
	if projected, err = ice.BindExpr(ice.NewSchema(0, fields...), projected, true); err != nil {
		return t, err
	}
	t.values, err = compile(projected)
	return t, err
}

// manifest says whether a manifest may hold files that matter.
func (p *pruner) manifest(m *manifest.Manifest) bool {
	if p == nil {
		return true
	}
	spec, ok := p.specs[int(m.PartitionSpecID())]
	if !ok {
		return true
	}
	return spec.values(func(id int) span {
		field, ok := spec.fields[id]
		if !ok || field.position >= len(m.Summaries) {
			return span{}
		}
		return summarySpan(m.Summaries[field.position], field)
	})
}

// file says whether a file may hold a matching row.
func (p *pruner) file(f *manifest.File) bool {
	if p == nil {
		return true
	}
	if spec, ok := p.specs[int(f.Task.File.SpecID())]; ok {
		if !spec.values(func(id int) span {
			field, ok := spec.fields[id]
			if !ok {
				return span{}
			}
			return valueSpan(f, field)
		}) {
			return false
		}
	}
	return p.columns(func(id int) span { return columnSpan(f, id) })
}

// projection turns a predicate over columns into one over the fields of a partition spec that is true wherever a row may
// match.
type projection struct{ spec ice.PartitionSpec }

func (projection) VisitTrue() ice.BooleanExpression  { return ice.AlwaysTrue{} }
func (projection) VisitFalse() ice.BooleanExpression { return ice.AlwaysFalse{} }
func (projection) VisitNot(ice.BooleanExpression) ice.BooleanExpression {
	return ice.AlwaysTrue{} // rewritten before
}

func (projection) VisitAnd(left, right ice.BooleanExpression) ice.BooleanExpression {
	return ice.NewAnd(left, right)
}

func (projection) VisitOr(left, right ice.BooleanExpression) ice.BooleanExpression {
	return ice.NewOr(left, right)
}

func (projection) VisitUnbound(ice.UnboundPredicate) ice.BooleanExpression { return ice.AlwaysTrue{} }

func (p projection) VisitBound(predicate ice.BoundPredicate) ice.BooleanExpression {
	var out ice.BooleanExpression = ice.AlwaysTrue{}
	for _, f := range p.spec.FieldsBySourceID(predicate.Term().Ref().Field().ID) {
		projected, err := f.Transform.Project(f.Name, predicate)
		if err == nil && projected != nil {
			out = ice.NewAnd(out, projected)
		}
	}
	return out
}

// compile makes a test of a bound expression.
func compile(bound ice.BooleanExpression) (test, error) {
	return ice.VisitExpr(bound, compiler{})
}

type compiler struct{}

func keep(func(int) span) bool { return true }
func drop(func(int) span) bool { return false }

func (compiler) VisitTrue() test                        { return keep }
func (compiler) VisitFalse() test                       { return drop }
func (compiler) VisitNot(test) test                     { return keep } // rewritten before
func (compiler) VisitUnbound(ice.UnboundPredicate) test { return keep }

func (compiler) VisitAnd(left, right test) test {
	return func(of func(int) span) bool { return left(of) && right(of) }
}

func (compiler) VisitOr(left, right test) test {
	return func(of func(int) span) bool { return left(of) || right(of) }
}

func (c compiler) VisitBound(p ice.BoundPredicate) test {
	if _, transformed := p.Term().(*ice.BoundTransform); transformed {
		return keep
	}
	return ice.VisitBoundPredicate(p, c)
}

// on is a test of one field.
func on(term ice.BoundTerm, matches func(span) bool) test {
	id := term.Ref().Field().ID
	return func(of func(int) span) bool { return matches(of(id)) }
}

func (compiler) VisitIsNull(t ice.BoundTerm) test {
	return on(t, func(s span) bool { return !s.noNulls })
}

func (compiler) VisitNotNull(t ice.BoundTerm) test {
	return on(t, func(s span) bool { return !s.allNulls })
}

func (compiler) VisitIsNan(t ice.BoundTerm) test {
	return on(t, func(s span) bool { return !s.noNaNs && !s.allNulls })
}

func (compiler) VisitNotNan(t ice.BoundTerm) test {
	return on(t, func(s span) bool { return !s.allNaNs })
}

// comparable is a literal's bytes and how they compare with the term's values.
func comparableWith(t ice.BoundTerm, lit ice.Literal) (kind, []byte, bool) {
	of := t.Ref().Field().Type
	k := kindOf(of)
	if k == noKind || kindOf(lit.Type()) != k {
		return 0, nil, false
	}
	if k == decimalKind {
		want, ok := of.(ice.DecimalType)
		have, isDecimal := lit.Type().(ice.DecimalType)
		if !ok || !isDecimal || want.Scale() != have.Scale() {
			return 0, nil, false
		}
	}
	value, err := lit.MarshalBinary()
	if err != nil || k.isNaN(value) {
		return 0, nil, false
	}
	return k, value, true
}

// compareWith is a test that excludes a field by the order of one of its bounds to a literal.
func compareWith(t ice.BoundTerm, lit ice.Literal, bound func(span) []byte, excluded func(order int) bool) test {
	k, value, ok := comparableWith(t, lit)
	if !ok {
		return keep
	}
	return on(t, func(s span) bool {
		if s.none() {
			return false
		}
		b := bound(s)
		if b == nil {
			return true
		}
		order, ok := k.compare(b, value)
		return !ok || !excluded(order)
	})
}

func lowerOf(s span) []byte { return s.lower }
func upperOf(s span) []byte { return s.upper }

func (compiler) VisitLess(t ice.BoundTerm, lit ice.Literal) test {
	return compareWith(t, lit, lowerOf, func(order int) bool { return order >= 0 })
}

func (compiler) VisitLessEqual(t ice.BoundTerm, lit ice.Literal) test {
	return compareWith(t, lit, lowerOf, func(order int) bool { return order > 0 })
}

func (compiler) VisitGreater(t ice.BoundTerm, lit ice.Literal) test {
	return compareWith(t, lit, upperOf, func(order int) bool { return order <= 0 })
}

func (compiler) VisitGreaterEqual(t ice.BoundTerm, lit ice.Literal) test {
	return compareWith(t, lit, upperOf, func(order int) bool { return order < 0 })
}

func (c compiler) VisitEqual(t ice.BoundTerm, lit ice.Literal) test {
	return c.VisitAnd(c.VisitGreaterEqual(t, lit), c.VisitLessEqual(t, lit))
}

func (compiler) VisitNotEqual(t ice.BoundTerm, lit ice.Literal) test {
	k, value, ok := comparableWith(t, lit)
	if !ok {
		return keep
	}
	return on(t, func(s span) bool {
		if !s.exact {
			return true
		}
		order, ok := k.compare(s.lower, value)
		return !ok || order != 0
	})
}

// valuesOf are the bytes of a set's values in their order; ok is false when they have none.
func valuesOf(t ice.BoundTerm, set ice.Set[ice.Literal]) (k kind, values [][]byte, ok bool) {
	for _, lit := range set.Members() {
		of, value, ok := comparableWith(t, lit)
		if !ok {
			return 0, nil, false
		}
		k = of
		values = append(values, value)
	}
	if k == uuidKind || k == noKind {
		return k, values, k == uuidKind
	}
	slices.SortFunc(values, func(a, b []byte) int {
		order, _ := k.compare(a, b)
		return order
	})
	return k, values, true
}

func (compiler) VisitIn(t ice.BoundTerm, set ice.Set[ice.Literal]) test {
	k, values, ok := valuesOf(t, set)
	if !ok {
		return keep
	}
	return on(t, func(s span) bool {
		if s.none() {
			return false
		}
		if k == uuidKind { // in no order: one after the other
			return slices.ContainsFunc(values, func(v []byte) bool { return k.within(s, v) })
		}
		// The first value that is not below the lower bound decides.
		at := 0
		if s.lower != nil {
			if _, ok := k.compare(s.lower, values[0]); !ok {
				return true
			}
			at, _ = slices.BinarySearchFunc(values, s.lower, func(v, lower []byte) int {
				order, _ := k.compare(v, lower)
				return order
			})
		}
		return at < len(values) && k.within(s, values[at])
	})
}

// within says whether a value may lie between the bounds.
func (k kind) within(s span, value []byte) bool {
	if s.lower != nil {
		if order, ok := k.compare(s.lower, value); ok && order > 0 {
			return false
		}
	}
	if s.upper != nil {
		if order, ok := k.compare(s.upper, value); ok && order < 0 {
			return false
		}
	}
	return true
}

// among says whether a value is surely one of valuesOf.
func (k kind) among(value []byte, values [][]byte) bool {
	if k == uuidKind {
		return slices.ContainsFunc(values, func(v []byte) bool { return bytes.Equal(value, v) })
	}
	if _, ok := k.compare(values[0], value); !ok {
		return false
	}
	_, found := slices.BinarySearchFunc(values, value, func(v, value []byte) int {
		order, _ := k.compare(v, value)
		return order
	})
	return found
}

func (c compiler) VisitNotIn(t ice.BoundTerm, set ice.Set[ice.Literal]) test {
	k, values, ok := valuesOf(t, set)
	if !ok {
		return keep
	}
	return on(t, func(s span) bool { return !s.exact || !k.among(s.lower, values) })
}

func (compiler) VisitStartsWith(t ice.BoundTerm, lit ice.Literal) test {
	k, prefix, ok := comparableWith(t, lit)
	if !ok || !k.isBytes() {
		return keep
	}
	cut := func(b []byte) []byte { return b[:min(len(b), len(prefix))] }
	return on(t, func(s span) bool {
		switch {
		case s.none():
			return false
		case s.lower != nil && bytes.Compare(cut(s.lower), prefix) > 0:
			return false
		case s.upper != nil && bytes.Compare(cut(s.upper), prefix) < 0:
			return false
		}
		return true
	})
}

func (compiler) VisitNotStartsWith(ice.BoundTerm, ice.Literal) test { return keep }
