package substrait

import (
	"fmt"
	"strconv"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/seracdb/serac/plan"
)

// scope is what an expression's field references count in: the columns of its relation's input.
type scope struct{ columns []column }

// over is an expression over columns. Its text may stand anywhere: it is a name, a call, or in parentheses.
func (t *translator) over(columns []column, e *pb.Expression) (column, error) {
	t.scopes = append(t.scopes, scope{columns})
	defer func() { t.scopes = t.scopes[:len(t.scopes)-1] }()
	return t.expression(e)
}

// expression is an expression over the innermost scope.
func (t *translator) expression(e *pb.Expression) (column, error) {
	if err := t.enter(); err != nil {
		return column{}, err
	}
	defer t.leave()
	if e != nil {
		if err := known(e); err != nil {
			return column{}, err
		}
	}
	c, err := t.anyExpression(e)
	if err == nil && len(c.sql) > maxText {
		err = errTooLong
	}
	return c, err
}

func (t *translator) anyExpression(e *pb.Expression) (column, error) {
	switch x := e.GetRexType().(type) {
	case *pb.Expression_Literal_:
		return t.literal(x.Literal)
	case *pb.Expression_Selection:
		return t.field(x.Selection)
	case *pb.Expression_ScalarFunction_:
		return t.scalarCall(x.ScalarFunction)
	case *pb.Expression_WindowFunction_:
		return t.windowFunction(x.WindowFunction)
	case *pb.Expression_IfThen_:
		return t.ifThen(x.IfThen)
	case *pb.Expression_SwitchExpression_:
		return t.switchCase(x.SwitchExpression)
	case *pb.Expression_SingularOrList_:
		return t.singularOrList(x.SingularOrList)
	case *pb.Expression_MultiOrList_:
		return t.multiOrList(x.MultiOrList)
	case *pb.Expression_Cast_:
		return t.castExpression(x.Cast)
	case *pb.Expression_Subquery_:
		return t.subquery(x.Subquery)
	case *pb.Expression_Nested_:
		return t.nestedValue(x.Nested)
	case *pb.Expression_DynamicParameter:
		of, err := t.typ(x.DynamicParameter.GetType())
		if err != nil {
			return column{}, fmt.Errorf("parameter: %w", err)
		}
		number := uint64(x.DynamicParameter.GetParameterReference()) + 1
		return column{sql: cast("$"+strconv.FormatUint(number, 10), of), of: of}, nil
	case nil:
		return column{}, fmt.Errorf("an expression is missing")
	default:
		kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", x), "*substraitpb.Expression_"), "_")
		return column{}, fmt.Errorf("expression %s is not supported", kind)
	}
}

func (t *translator) expressions(es []*pb.Expression) ([]column, error) {
	out := make([]column, len(es))
	for i, e := range es {
		var err error
		if out[i], err = t.expression(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cast is text as a value of a type; a type that SQL cannot name changes nothing.
func cast(text string, of plan.Type) string {
	if !nameable(of) {
		return text
	}
	return "CAST(" + text + " AS " + of.SQL() + ")"
}

// nameable says whether a CAST can name a type: Substrait's structs have no names for their fields.
func nameable(t plan.Type) bool {
	if t.Kind == plan.Invalid || t.Kind == plan.Null {
		return false
	}
	for _, f := range t.Fields {
		if f.Name == "" || !nameable(f.Type) {
			return false
		}
	}
	return (t.Elem == nil || nameable(*t.Elem)) && (t.Key == nil || nameable(*t.Key))
}

// scalarType says whether a type is a simple one: neither unknown nor with other types inside.
func scalarType(t plan.Type) bool {
	return t.Kind != plan.Invalid && t.Kind != plan.Null && t.Elem == nil && t.Key == nil && len(t.Fields) == 0
}

// field is a reference to a column, or to something inside one.
func (t *translator) field(r *pb.Expression_FieldReference) (column, error) {
	segment := r.GetDirectReference()
	if segment == nil {
		return column{}, fmt.Errorf("masked references are not supported")
	}
	level := len(t.scopes) - 1
	switch root := r.GetRootType().(type) {
	case *pb.Expression_FieldReference_Expression:
		base, err := t.expression(root.Expression)
		if err != nil {
			return column{}, err
		}
		return t.inside(base, segment)
	case *pb.Expression_FieldReference_OuterReference_:
		steps := root.OuterReference.GetStepsOut()
		if steps == 0 || int64(steps) > int64(level) {
			return column{}, fmt.Errorf("an outer reference is %d queries out, of %d", steps, level)
		}
		level -= int(steps)
	case *pb.Expression_FieldReference_LambdaParameterReference_:
		return column{}, fmt.Errorf("lambdas are not supported")
	}
	if level < 0 {
		return column{}, fmt.Errorf("a field is referred to outside of a relation")
	}
	s := segment.GetStructField()
	if s == nil {
		return column{}, fmt.Errorf("a reference to a column begins with its position")
	}
	columns := t.scopes[level].columns
	if s.GetField() < 0 || int(s.GetField()) >= len(columns) {
		return column{}, fmt.Errorf("field %d of %d", s.GetField(), len(columns))
	}
	c := columns[s.GetField()]
	if s.GetChild() == nil {
		return c, nil
	}
	return t.inside(c, s.GetChild())
}

// inside follows a reference into a value.
func (t *translator) inside(base column, segment *pb.Expression_ReferenceSegment) (column, error) {
	for segment != nil {
		if err := t.enter(); err != nil {
			return column{}, err
		}
		defer t.leave()
		switch s := segment.GetReferenceType().(type) {
		case *pb.Expression_ReferenceSegment_StructField_:
			of := plan.Type{}
			n := s.StructField.GetField()
			if base.of.Kind == plan.Struct {
				if n < 0 || int(n) >= len(base.of.Fields) {
					return column{}, fmt.Errorf("field %d of a struct of %d", n, len(base.of.Fields))
				}
				of = base.of.Fields[n].Type
			}
			base = column{sql: fmt.Sprintf("struct_extract_at(%s, %d)", base.sql, int64(n)+1), of: of}
			segment = s.StructField.GetChild()
		case *pb.Expression_ReferenceSegment_ListElement_:
			of := plan.Type{}
			if base.of.Kind == plan.List {
				of = *base.of.Elem
			}
			base = column{sql: fmt.Sprintf("list_extract(%s, %d)", base.sql, int64(s.ListElement.GetOffset())+1), of: of}
			segment = s.ListElement.GetChild()
		case *pb.Expression_ReferenceSegment_MapKey_:
			key, err := t.literal(s.MapKey.GetMapKey())
			if err != nil {
				return column{}, err
			}
			of := plan.Type{}
			if base.of.Kind == plan.Map {
				of = *base.of.Elem
			}
			base = column{sql: "map_extract_value(" + base.sql + ", " + key.sql + ")", of: of}
			segment = s.MapKey.GetChild()
		default:
			return column{}, fmt.Errorf("reference %T is not supported", s)
		}
	}
	return base, nil
}

func (t *translator) ifThen(x *pb.Expression_IfThen) (column, error) {
	if len(x.GetIfs()) == 0 {
		return column{}, fmt.Errorf("an if_then has no clause")
	}
	return caseOf(t, "CASE", x.GetIfs(), t.expression, x.GetElse())
}

// clause is a branch of an if_then (whose condition is an expression) or of a switch (whose value is a literal).
type clause[C any] interface {
	GetIf() C
	GetThen() *pb.Expression
}

// caseOf writes the branches of a CASE. when translates what a branch is taken for.
func caseOf[C any, B clause[C]](t *translator, head string, branches []B, when func(C) (column, error), otherwise *pb.Expression) (column, error) {
	var b strings.Builder
	b.WriteString(head)
	var of plan.Type
	for i, branch := range branches {
		cond, err := when(branch.GetIf())
		if err != nil {
			return column{}, err
		}
		then, err := t.expression(branch.GetThen())
		if err != nil {
			return column{}, err
		}
		if i == 0 {
			of = then.of
		}
		b.WriteString(" WHEN " + cond.sql + " THEN " + then.sql)
	}
	return t.otherwise(&b, otherwise, of)
}

// otherwise ends a CASE, whose branches all are of one type.
func (t *translator) otherwise(b *strings.Builder, e *pb.Expression, of plan.Type) (column, error) {
	if e != nil {
		c, err := t.expression(e)
		if err != nil {
			return column{}, err
		}
		if !c.of.Equal(of) {
			of = plan.Type{} // DuckDB finds the common one
		}
		b.WriteString(" ELSE " + c.sql)
	}
	b.WriteString(" END")
	return column{sql: "(" + b.String() + ")", of: of}, nil
}

func (t *translator) switchCase(x *pb.Expression_SwitchExpression) (column, error) {
	match, err := t.expression(x.GetMatch())
	if err != nil {
		return column{}, err
	}
	if len(x.GetIfs()) == 0 {
		return column{}, fmt.Errorf("a switch has no clause")
	}
	return caseOf(t, "CASE "+match.sql, x.GetIfs(), t.literal, x.GetElse())
}

func (t *translator) singularOrList(x *pb.Expression_SingularOrList) (column, error) {
	value, err := t.expression(x.GetValue())
	if err != nil {
		return column{}, err
	}
	options, err := t.expressions(x.GetOptions())
	if err != nil {
		return column{}, err
	}
	if len(options) == 0 {
		return boolean("false"), nil
	}
	return boolean("(" + value.sql + " IN (" + list(options) + "))"), nil
}

func (t *translator) multiOrList(x *pb.Expression_MultiOrList) (column, error) {
	values, err := t.expressions(x.GetValue())
	if err != nil {
		return column{}, err
	}
	var records []string
	size := 0
	for i, r := range x.GetOptions() {
		fields, err := t.expressions(r.GetFields())
		if err != nil {
			return column{}, err
		}
		if len(fields) != len(values) || len(fields) == 0 {
			return column{}, fmt.Errorf("option %d of a multi_or_list has %d fields for %d values", i, len(fields), len(values))
		}
		equal := make([]string, len(fields))
		for j := range fields {
			equal[j] = "(" + values[j].sql + " = " + fields[j].sql + ")"
			size += len(equal[j])
		}
		if size > maxText {
			return column{}, errTooLong
		}
		records = append(records, "("+strings.Join(equal, " AND ")+")")
	}
	if len(records) == 0 {
		return boolean("false"), nil
	}
	return boolean("(" + strings.Join(records, " OR ") + ")"), nil
}

func boolean(sql string) column { return column{sql: sql, of: plan.T(plan.Boolean)} }

func list(columns []column) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = c.sql
	}
	return strings.Join(texts, ", ")
}

func (t *translator) castExpression(x *pb.Expression_Cast) (column, error) {
	of, err := t.typ(x.GetType())
	if err != nil {
		return column{}, err
	}
	input, err := t.expression(x.GetInput())
	if err != nil {
		return column{}, err
	}
	if !nameable(of) {
		return column{}, fmt.Errorf("a cast to %s is not supported", of)
	}
	text := cast(input.sql, of)
	switch b := x.GetFailureBehavior(); b {
	case pb.Expression_Cast_FAILURE_BEHAVIOR_RETURN_NULL:
		text = "TRY_" + text
	case pb.Expression_Cast_FAILURE_BEHAVIOR_UNSPECIFIED, pb.Expression_Cast_FAILURE_BEHAVIOR_THROW_EXCEPTION:
	default:
		return column{}, fmt.Errorf("a cast's failure behavior %s is not supported", b)
	}
	return column{sql: text, of: of}, nil
}

func (t *translator) nestedValue(x *pb.Expression_Nested) (column, error) {
	switch n := x.GetNestedType().(type) {
	case *pb.Expression_Nested_Struct_:
		fields, err := t.expressions(n.Struct.GetFields())
		if err != nil {
			return column{}, err
		}
		if len(fields) == 0 {
			return column{}, fmt.Errorf("a struct has no fields")
		}
		of := plan.Type{Kind: plan.Struct}
		for _, f := range fields {
			of.Fields = append(of.Fields, plan.Field{Type: f.of})
		}
		return column{sql: "row(" + list(fields) + ")", of: of}, nil
	case *pb.Expression_Nested_List_:
		values, err := t.expressions(n.List.GetValues())
		if err != nil {
			return column{}, err
		}
		of := plan.Type{}
		if len(values) > 0 {
			of = plan.ListType(values[0].of)
		}
		return column{sql: "list_value(" + list(values) + ")", of: of}, nil
	case *pb.Expression_Nested_Map_:
		var keys, values []column
		for _, kv := range n.Map.GetKeyValues() {
			k, err := t.expression(kv.GetKey())
			if err != nil {
				return column{}, err
			}
			v, err := t.expression(kv.GetValue())
			if err != nil {
				return column{}, err
			}
			keys, values = append(keys, k), append(values, v)
		}
		return mapOf(keys, values), nil
	}
	return column{}, fmt.Errorf("nested value %T is not supported", x.GetNestedType())
}

var setComparisons = map[pb.Expression_Subquery_SetComparison_ComparisonOp]string{
	pb.Expression_Subquery_SetComparison_COMPARISON_OP_EQ: "=",
	pb.Expression_Subquery_SetComparison_COMPARISON_OP_NE: "<>",
	pb.Expression_Subquery_SetComparison_COMPARISON_OP_LT: "<",
	pb.Expression_Subquery_SetComparison_COMPARISON_OP_GT: ">",
	pb.Expression_Subquery_SetComparison_COMPARISON_OP_LE: "<=",
	pb.Expression_Subquery_SetComparison_COMPARISON_OP_GE: ">=",
}

// subquery is a relation in an expression. The innermost scope is what its outer references of one step count in.
func (t *translator) subquery(x *pb.Expression_Subquery) (column, error) {
	switch s := x.GetSubqueryType().(type) {
	case *pb.Expression_Subquery_Scalar_:
		text, columns, err := t.subqueryText(s.Scalar.GetInput(), 1)
		if err != nil {
			return column{}, err
		}
		return column{sql: text, of: columns[0].of}, nil
	case *pb.Expression_Subquery_InPredicate_:
		needles, err := t.expressions(s.InPredicate.GetNeedles())
		if err != nil {
			return column{}, err
		}
		if len(needles) == 0 {
			return column{}, fmt.Errorf("an in predicate has no needle")
		}
		text, _, err := t.subqueryText(s.InPredicate.GetHaystack(), len(needles))
		if err != nil {
			return column{}, err
		}
		return boolean("((" + list(needles) + ") IN " + text + ")"), nil
	case *pb.Expression_Subquery_SetPredicate_:
		if op := s.SetPredicate.GetPredicateOp(); op != pb.Expression_Subquery_SetPredicate_PREDICATE_OP_EXISTS {
			return column{}, fmt.Errorf("set predicate %s is not supported", op)
		}
		text, _, err := t.subqueryText(s.SetPredicate.GetTuples(), -1)
		return boolean("(EXISTS " + text + ")"), err
	case *pb.Expression_Subquery_SetComparison_:
		op, ok := setComparisons[s.SetComparison.GetComparisonOp()]
		if !ok {
			return column{}, fmt.Errorf("set comparison %s is not supported", s.SetComparison.GetComparisonOp())
		}
		quantifier := "ANY"
		switch r := s.SetComparison.GetReductionOp(); r {
		case pb.Expression_Subquery_SetComparison_REDUCTION_OP_ANY:
		case pb.Expression_Subquery_SetComparison_REDUCTION_OP_ALL:
			quantifier = "ALL"
		default:
			return column{}, fmt.Errorf("set reduction %s is not supported", r)
		}
		l, err := t.expression(s.SetComparison.GetLeft())
		if err != nil {
			return column{}, err
		}
		text, _, err := t.subqueryText(s.SetComparison.GetRight(), 1)
		return boolean("(" + l.sql + " " + op + " " + quantifier + " " + text + ")"), err
	}
	return column{}, fmt.Errorf("subquery %T is not supported", x.GetSubqueryType())
}

// subqueryText is a subquery in parentheses; want is the number of its columns, -1 for any.
func (t *translator) subqueryText(rel *pb.Rel, want int) (string, []column, error) {
	q, err := t.relation(rel)
	if err != nil {
		return "", nil, fmt.Errorf("subquery: %w", err)
	}
	if want >= 0 && len(q.columns) != want {
		return "", nil, fmt.Errorf("a subquery has %d columns, not %d", len(q.columns), want)
	}
	text, err := q.text(columnName)
	return "(" + text + ")", q.columns, err
}

// mapOf is a map of as many keys as values.
func mapOf(keys, values []column) column {
	of := plan.Type{}
	if len(keys) > 0 {
		of = plan.Type{Kind: plan.Map, Key: &keys[0].of, Elem: &values[0].of}
	}
	return column{sql: "map(list_value(" + list(keys) + "), list_value(" + list(values) + "))", of: of}
}
