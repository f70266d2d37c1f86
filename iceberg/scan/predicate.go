package scan

import (
	"math"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/uuid"

	"github.com/seracdb/serac/plan"
)

// Predicate is what a filter over a scan's output columns says about files: an Iceberg expression that is true of every
// row for which the filter is true. It keeps to rule 13:
//
//   - A column counts only bare. A cast around it changes its order or its values (REAL against DOUBLE), so nothing that
//     compares a cast column is used.
//   - Parts that cannot be expressed are left out of an AND and make a whole OR useless. A NOT is first moved down to the
//     single comparisons, so a shortened AND is never negated.
//   - Constants must have exactly the column's type.
//   - DuckDB orders NaN above all other numbers and holds it equal to itself; Iceberg's bounds leave it out. So whatever
//     NaN satisfies keeps files that may hold NaN.
//   - LIKE counts only as text and one final %, without escapes and underscores, and not when negated.
//   - A column whose type was promoted since files were written is not used: their bounds are in the old type.
//
// schema is the schema files are planned with; a column that is not in it is not used. AlwaysTrue means that nothing can
// be said.
func Predicate(meta table.Metadata, schema *ice.Schema, columns []plan.ScanColumn, filter plan.Expr) ice.BooleanExpression {
	predicate, _ := convert(schema, columns, filter, promotedFields(meta))
	return predicate
}

// convert is Predicate without the columns of unusable; used are the fields that the expression speaks of.
func convert(schema *ice.Schema, columns []plan.ScanColumn, filter plan.Expr, unusable map[int]bool) (predicate ice.BooleanExpression, used map[int]bool) {
	if filter == nil {
		return ice.AlwaysTrue{}, nil
	}
	p := predicates{schema: schema, columns: columns, unusable: unusable, used: map[int]bool{}}
	return p.convert(filter, false), p.used
}

// promotedFields are the fields that have had more than one type.
func promotedFields(meta table.Metadata) map[int]bool {
	types := map[int]ice.Type{}
	promoted := map[int]bool{}
	for _, s := range meta.Schemas() {
		for _, f := range s.Fields() {
			if before, ok := types[f.ID]; ok && !before.Equals(f.Type) {
				promoted[f.ID] = true
			}
			types[f.ID] = f.Type
		}
	}
	return promoted
}

type predicates struct {
	schema   *ice.Schema
	columns  []plan.ScanColumn
	unusable map[int]bool
	used     map[int]bool
}

// unknown is what stands for an expression that cannot be used: it rules nothing out.
var unknown ice.BooleanExpression = ice.AlwaysTrue{}

// convert gives a condition that holds wherever e is true or, negated, wherever e is false.
func (p *predicates) convert(e plan.Expr, negated bool) ice.BooleanExpression {
	switch e := e.(type) {
	case *plan.Conjunction:
		if e.Or != negated {
			return p.any(e.Args, negated)
		}
		return p.all(e.Args, negated)
	case *plan.Comparison:
		return p.comparison(e, negated)
	case *plan.Between:
		low, high := plan.GreaterOrEqual, plan.LessOrEqual
		if !e.LowInclusive {
			low = plan.Greater
		}
		if !e.HighInclusive {
			high = plan.Less
		}
		both := []plan.Expr{
			&plan.Comparison{Op: low, Left: e.Arg, Right: e.Low},
			&plan.Comparison{Op: high, Left: e.Arg, Right: e.High},
		}
		if negated {
			return p.any(both, true)
		}
		return p.all(both, false)
	case *plan.Operator:
		return p.operator(e, negated)
	case *plan.Call:
		return p.call(e, negated)
	case *plan.ColumnRef:
		if col, ok := p.column(e); ok && e.Of.Kind == plan.Boolean {
			return ice.EqualTo(col.ref, !negated)
		}
		return unknown
	case *plan.Constant:
		if value, ok := e.Value.(bool); ok && value != negated {
			return ice.AlwaysTrue{}
		}
		if _, ok := e.Value.(bool); ok || e.Value == nil {
			return ice.AlwaysFalse{}
		}
		return unknown
	case *plan.Cast, *plan.Case, *plan.LambdaParam:
		return unknown
	default:
		return unknown
	}
}

func (p *predicates) all(args []plan.Expr, negated bool) ice.BooleanExpression {
	var out ice.BooleanExpression = ice.AlwaysTrue{}
	for _, arg := range args {
		out = ice.NewAnd(out, p.convert(arg, negated))
	}
	return out
}

func (p *predicates) any(args []plan.Expr, negated bool) ice.BooleanExpression {
	var out ice.BooleanExpression = ice.AlwaysFalse{}
	for _, arg := range args {
		out = ice.NewOr(out, p.convert(arg, negated))
	}
	return out
}

// boundColumn is a column of the scan as iceberg-go knows it.
type boundColumn struct {
	ref  ice.Reference
	of   ice.Type
	plan plan.Type
}

func (c boundColumn) floating() bool { return c.plan.Kind == plan.Float || c.plan.Kind == plan.Double }

// column resolves a bare reference to a top-level column of a primitive type.
func (p *predicates) column(e plan.Expr) (boundColumn, bool) {
	ref, ok := e.(*plan.ColumnRef)
	if !ok || ref.Index < 0 || ref.Index >= len(p.columns) {
		return boundColumn{}, false
	}
	col := p.columns[ref.Index]
	id := int(col.FieldID)
	if !ref.Of.Equal(col.Type) || p.unusable[id] {
		return boundColumn{}, false
	}
	for _, f := range p.schema.Fields() {
		if f.ID != id {
			continue
		}
		if _, primitive := f.Type.(ice.PrimitiveType); !primitive {
			return boundColumn{}, false
		}
		// iceberg-go finds columns by name; one whose name means another field to it is left alone.
		if found, ok := p.schema.FindFieldByName(f.Name); !ok || found.ID != id {
			return boundColumn{}, false
		}
		p.used[id] = true
		return boundColumn{ref: ice.Reference(f.Name), of: f.Type, plan: col.Type}, true
	}
	return boundColumn{}, false
}

var (
	flipped = map[plan.CompareOp]plan.CompareOp{
		plan.Equal: plan.Equal, plan.NotEqual: plan.NotEqual, plan.DistinctFrom: plan.DistinctFrom,
		plan.NotDistinctFrom: plan.NotDistinctFrom, plan.Less: plan.Greater, plan.LessOrEqual: plan.GreaterOrEqual,
		plan.Greater: plan.Less, plan.GreaterOrEqual: plan.LessOrEqual,
	}
	opposite = map[plan.CompareOp]plan.CompareOp{
		plan.Equal: plan.NotEqual, plan.NotEqual: plan.Equal, plan.DistinctFrom: plan.NotDistinctFrom,
		plan.NotDistinctFrom: plan.DistinctFrom, plan.Less: plan.GreaterOrEqual, plan.LessOrEqual: plan.Greater,
		plan.Greater: plan.LessOrEqual, plan.GreaterOrEqual: plan.Less,
	}
	comparisons = map[plan.CompareOp]ice.Operation{
		plan.Equal: ice.OpEQ, plan.NotEqual: ice.OpNEQ, plan.Less: ice.OpLT, plan.LessOrEqual: ice.OpLTEQ,
		plan.Greater: ice.OpGT, plan.GreaterOrEqual: ice.OpGTEQ,
	}
)

func (p *predicates) comparison(e *plan.Comparison, negated bool) ice.BooleanExpression {
	op, left, right := e.Op, e.Left, e.Right
	if _, ok := left.(*plan.Constant); ok {
		op, left, right = flipped[op], right, left
	}
	if negated {
		op = opposite[op]
	}
	col, ok := p.column(left)
	constant, isConstant := right.(*plan.Constant)
	if !ok || !isConstant || !constant.Of.Equal(col.plan) {
		return unknown
	}
	if constant.Value == nil {
		switch op {
		case plan.DistinctFrom:
			return ice.NotNull(col.ref)
		case plan.NotDistinctFrom:
			return ice.IsNull(col.ref)
		default:
			return ice.AlwaysFalse{} // NULL, never true
		}
	}
	lit, ok := literal(col, constant.Value)
	if !ok {
		return unknown
	}
	orNull := op == plan.DistinctFrom
	switch op {
	case plan.DistinctFrom:
		op = plan.NotEqual
	case plan.NotDistinctFrom:
		op = plan.Equal
	}
	if _, isUUID := col.of.(ice.UUIDType); isUUID && op != plan.Equal && op != plan.NotEqual {
		return unknown // writers have disagreed on the order of UUIDs
	}
	out := compare(col, op, lit)
	if orNull {
		out = ice.NewOr(out, ice.IsNull(col.ref))
	}
	return out
}

// compare is col op lit, with NaN where DuckDB has it: above every other number, equal to itself.
func compare(col boundColumn, op plan.CompareOp, lit ice.Literal) ice.BooleanExpression {
	if isNaN(lit) {
		switch op {
		case plan.Equal, plan.GreaterOrEqual:
			return ice.IsNaN(col.ref)
		case plan.NotEqual, plan.Less:
			return ice.NotNaN(col.ref)
		case plan.Greater:
			return ice.AlwaysFalse{}
		default:
			return unknown
		}
	}
	var out ice.BooleanExpression = ice.LiteralPredicate(comparisons[op], col.ref, lit)
	if col.floating() && (op == plan.Greater || op == plan.GreaterOrEqual || op == plan.NotEqual) {
		out = ice.NewOr(out, ice.IsNaN(col.ref))
	}
	return out
}

func isNaN(lit ice.Literal) bool {
	switch v := lit.Any().(type) {
	case float32:
		return v != v
	case float64:
		return math.IsNaN(v)
	default:
		return false
	}
}

func (p *predicates) operator(e *plan.Operator, negated bool) ice.BooleanExpression {
	switch e.Op {
	case plan.OpNot:
		return p.convert(e.Args[0], !negated)
	case plan.OpIsNull, plan.OpIsNotNull:
		col, ok := p.column(e.Args[0])
		if !ok {
			return unknown
		}
		if (e.Op == plan.OpIsNull) != negated {
			return ice.IsNull(col.ref)
		}
		return ice.NotNull(col.ref)
	case plan.OpIn, plan.OpNotIn:
		return p.in(e, (e.Op == plan.OpNotIn) != negated)
	case plan.OpCoalesce, plan.OpTry:
		return unknown
	default:
		return unknown
	}
}

// in converts col IN (constants) or, with not set, col NOT IN (constants).
func (p *predicates) in(e *plan.Operator, not bool) ice.BooleanExpression {
	col, ok := p.column(e.Args[0])
	if !ok {
		return unknown
	}
	lits := make([]ice.Literal, 0, len(e.Args)-1)
	for _, arg := range e.Args[1:] {
		constant, ok := arg.(*plan.Constant)
		if !ok || !constant.Of.Equal(col.plan) {
			return unknown
		}
		if constant.Value == nil {
			if not {
				return ice.AlwaysFalse{} // x NOT IN (.., NULL) is never true
			}
			continue
		}
		lit, ok := literal(col, constant.Value)
		if !ok || isNaN(lit) {
			return unknown
		}
		lits = append(lits, lit)
	}
	if len(lits) == 0 {
		return ice.AlwaysFalse{}
	}
	if !not {
		return ice.SetPredicate(ice.OpIn, col.ref, lits)
	}
	out := ice.SetPredicate(ice.OpNotIn, col.ref, lits)
	if col.floating() {
		out = ice.NewOr(out, ice.IsNaN(col.ref))
	}
	return out
}

// call converts the prefix functions and LIKE of a text and one final %.
func (p *predicates) call(e *plan.Call, negated bool) ice.BooleanExpression {
	if negated || len(e.Args) != 2 {
		return unknown
	}
	col, ok := p.column(e.Args[0])
	constant, isConstant := e.Args[1].(*plan.Constant)
	if !ok || !isConstant || col.plan.Kind != plan.Varchar || constant.Of.Kind != plan.Varchar {
		return unknown
	}
	if _, isString := col.of.(ice.StringType); !isString {
		return unknown
	}
	if constant.Value == nil {
		return ice.AlwaysFalse{}
	}
	text, ok := constant.Value.(string)
	if !ok {
		return unknown
	}
	switch e.Name {
	case "prefix", "starts_with", "^@":
	case "~~":
		prefix, isPrefix := strings.CutSuffix(text, "%")
		if !isPrefix || strings.ContainsAny(prefix, `%_\`) {
			return unknown
		}
		text = prefix
	default:
		return unknown
	}
	if text == "" {
		return ice.NotNull(col.ref)
	}
	return ice.StartsWith(col.ref, text)
}

// literal is a plan's constant as a literal of the column's Iceberg type; false when that type cannot hold it.
func literal(col boundColumn, value any) (ice.Literal, bool) {
	switch t := col.of.(type) {
	case ice.BooleanType:
		if v, ok := value.(bool); ok {
			return ice.NewLiteral(v), true
		}
	case ice.Int32Type:
		if v, ok := value.(int64); ok && v >= math.MinInt32 && v <= math.MaxInt32 {
			return ice.NewLiteral(int32(v)), true
		}
	case ice.Int64Type:
		if v, ok := value.(int64); ok {
			return ice.NewLiteral(v), true
		}
	case ice.Float32Type:
		if v, ok := value.(float64); ok {
			return ice.NewLiteral(float32(v)), true
		}
	case ice.Float64Type:
		if v, ok := value.(float64); ok {
			return ice.NewLiteral(v), true
		}
	case ice.DecimalType:
		if v, ok := value.(*big.Int); ok && v.BitLen() < 128 {
			return ice.NewLiteral(ice.Decimal{Val: decimal128.FromBigInt(v), Scale: t.Scale()}), true
		}
	case ice.DateType:
		if v, ok := value.(int64); ok && v >= math.MinInt32 && v <= math.MaxInt32 {
			return ice.NewLiteral(ice.Date(v)), true
		}
	case ice.TimeType:
		if v, ok := value.(int64); ok {
			return ice.NewLiteral(ice.Time(v)), true
		}
	case ice.TimestampType, ice.TimestampTzType:
		if v, ok := value.(int64); ok {
			return ice.NewLiteral(ice.Timestamp(v)), true
		}
	case ice.TimestampNsType:
		if v, ok := value.(int64); ok {
			return ice.NewLiteral(ice.TimestampNano(v)), true
		}
	case ice.StringType:
		if v, ok := value.(string); ok {
			return ice.NewLiteral(v), true
		}
	case ice.BinaryType:
		if v, ok := value.([]byte); ok {
			return ice.NewLiteral(v), true
		}
	case ice.FixedType:
		if v, ok := value.([]byte); ok && len(v) == t.Len() {
			return ice.FixedLiteral(v), true
		}
	case ice.UUIDType:
		if v, ok := value.([16]byte); ok {
			return ice.NewLiteral(uuid.UUID(v)), true
		}
	}
	return nil, false
}
