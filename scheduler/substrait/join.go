package substrait

import (
	"fmt"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/seracdb/serac/plan"
)

// joinKind is a join type, the same for all of Substrait's join relations, whose enums differ.
type joinKind string

const (
	inner       joinKind = "INNER"
	outer       joinKind = "OUTER"
	left        joinKind = "LEFT"
	right       joinKind = "RIGHT"
	leftSemi    joinKind = "LEFT_SEMI"
	rightSemi   joinKind = "RIGHT_SEMI"
	leftAnti    joinKind = "LEFT_ANTI"
	rightAnti   joinKind = "RIGHT_ANTI"
	leftSingle  joinKind = "LEFT_SINGLE"
	rightSingle joinKind = "RIGHT_SINGLE"
	leftMark    joinKind = "LEFT_MARK"
	rightMark   joinKind = "RIGHT_MARK"
)

// kindOf is a join type by its enum's name.
func kindOf(t fmt.Stringer) joinKind { return joinKind(strings.TrimPrefix(t.String(), "JOIN_TYPE_")) }

// sides are a join's inputs as they stand in a FROM clause.
type sides struct{ left, right *query }

func (t *translator) sides(l, r *pb.Rel) (sides, error) {
	var s sides
	lq, err := t.relation(l)
	if err != nil {
		return s, err
	}
	rq, err := t.relation(r)
	if err != nil {
		return s, err
	}
	if s.left, err = t.unordered(lq); err != nil {
		return s, err
	}
	s.right, err = t.unordered(rq)
	return s, err
}

// both are the columns of both sides, which a join's condition is over.
func (s sides) both() []column {
	return append(s.left.columns[:len(s.left.columns):len(s.left.columns)], s.right.columns...)
}

func (t *translator) join(r *pb.JoinRel) (*query, error) {
	s, err := t.sides(r.GetLeft(), r.GetRight())
	if err != nil {
		return nil, err
	}
	cond := "true"
	if e := r.GetExpression(); e != nil {
		c, err := t.over(s.both(), e)
		if err != nil {
			return nil, fmt.Errorf("expression: %w", err)
		}
		cond = c.sql
	}
	q, err := t.joined(kindOf(r.GetType()), s, cond, membership(r, s))
	if err != nil {
		return nil, err
	}
	if f := r.GetPostJoinFilter(); f != nil {
		if q, err = t.open(q); err != nil {
			return nil, err
		}
		c, err := t.over(q.columns, f)
		if err != nil {
			return nil, fmt.Errorf("post-join filter: %w", err)
		}
		q = q.filtered(c.sql)
	}
	return q, nil
}

func (t *translator) cross(r *pb.CrossRel) (*query, error) {
	s, err := t.sides(r.GetLeft(), r.GetRight())
	if err != nil {
		return nil, err
	}
	return &query{columns: s.both(), from: "(" + s.left.from + " CROSS JOIN " + s.right.from + ")"}, nil
}

func (t *translator) nestedLoopJoin(r *pb.NestedLoopJoinRel) (*query, error) {
	return t.join(&pb.JoinRel{
		Left: r.GetLeft(), Right: r.GetRight(), Expression: r.GetExpression(),
		Type: pb.JoinRel_JoinType(pb.JoinRel_JoinType_value[r.GetType().String()]),
	})
}

// keyed is a join on keys.
type keyed interface {
	GetLeft() *pb.Rel
	GetRight() *pb.Rel
	GetKeys() []*pb.ComparisonJoinKey
	GetLeftKeys() []*pb.Expression_FieldReference
	GetRightKeys() []*pb.Expression_FieldReference
	GetPostJoinFilter() *pb.Expression
}

func (t *translator) hashJoin(r *pb.HashJoinRel) (*query, error) {
	return t.keyJoin(kindOf(r.GetType()), r)
}

func (t *translator) mergeJoin(r *pb.MergeJoinRel) (*query, error) {
	return t.keyJoin(kindOf(r.GetType()), r)
}

func (t *translator) keyJoin(kind joinKind, r keyed) (*query, error) {
	s, err := t.sides(r.GetLeft(), r.GetRight())
	if err != nil {
		return nil, err
	}
	var conds []string
	add := func(l, rk *pb.Expression_FieldReference, op string) error {
		lc, err := t.over(s.left.columns, selection(l))
		if err != nil {
			return fmt.Errorf("left key: %w", err)
		}
		rc, err := t.over(s.right.columns, selection(rk))
		if err != nil {
			return fmt.Errorf("right key: %w", err)
		}
		conds = append(conds, "("+lc.sql+op+rc.sql+")")
		return nil
	}
	for _, k := range r.GetKeys() {
		op, ok := map[pb.ComparisonJoinKey_SimpleComparisonType]string{
			pb.ComparisonJoinKey_SIMPLE_COMPARISON_TYPE_EQ:                   " = ",
			pb.ComparisonJoinKey_SIMPLE_COMPARISON_TYPE_IS_NOT_DISTINCT_FROM: " IS NOT DISTINCT FROM ",
		}[k.GetComparison().GetSimple()]
		if !ok {
			return nil, fmt.Errorf("the comparison %s of its keys is not supported", k.GetComparison())
		}
		if err := add(k.GetLeft(), k.GetRight(), op); err != nil {
			return nil, err
		}
	}
	if len(r.GetLeftKeys()) != len(r.GetRightKeys()) {
		return nil, fmt.Errorf("it has %d left and %d right keys", len(r.GetLeftKeys()), len(r.GetRightKeys()))
	}
	if len(r.GetKeys()) == 0 {
		for i, l := range r.GetLeftKeys() {
			if err := add(l, r.GetRightKeys()[i], " = "); err != nil {
				return nil, err
			}
		}
	}
	if len(conds) == 0 {
		return nil, fmt.Errorf("it has no keys")
	}
	// What is left of the condition decides with the keys what matches.
	if f := r.GetPostJoinFilter(); f != nil {
		c, err := t.over(s.both(), f)
		if err != nil {
			return nil, fmt.Errorf("post-join filter: %w", err)
		}
		conds = append(conds, c.sql)
	}
	return t.joined(kind, s, "("+strings.Join(conds, " AND ")+")", nil)
}

func selection(r *pb.Expression_FieldReference) *pb.Expression {
	return &pb.Expression{RexType: &pb.Expression_Selection{Selection: r}}
}

// joined is a join of any kind. in, for a mark join, gives the mark as an IN, or "" where it is none.
func (t *translator) joined(kind joinKind, s sides, cond string, in func(t *translator, s sides) string) (*query, error) {
	switch kind {
	case rightSemi, rightAnti, rightSingle, rightMark:
		s.left, s.right = s.right, s.left
	}
	from := func(op string) string {
		return "(" + s.left.from + " " + op + " " + s.right.from + " ON " + cond + ")"
	}
	switch kind {
	case inner:
		return &query{columns: s.both(), from: from("JOIN")}, nil
	case outer:
		return &query{columns: s.both(), from: from("FULL JOIN")}, nil
	case left:
		return &query{columns: s.both(), from: from("LEFT JOIN")}, nil
	case right:
		return &query{columns: s.both(), from: from("RIGHT JOIN")}, nil
	case leftSemi, rightSemi:
		return &query{columns: s.left.columns, from: from("SEMI JOIN")}, nil
	case leftAnti, rightAnti:
		return &query{columns: s.left.columns, from: from("ANTI JOIN")}, nil
	case leftMark, rightMark:
		mark := ""
		if in != nil {
			mark = in(t, s)
		}
		if mark == "" {
			some := func(cond string) string { return "EXISTS (SELECT 1 FROM " + s.right.from + " WHERE " + cond + ")" }
			mark = "CASE WHEN " + some(cond) + " THEN true WHEN " + some(cond+" IS NULL") + " THEN NULL ELSE false END"
		}
		q := *s.left
		q.columns = append(q.columns[:len(q.columns):len(q.columns)], column{sql: "(" + mark + ")", of: plan.T(plan.Boolean)})
		return &q, nil
	case leftSingle, rightSingle:
		return t.single(kind, s, cond)
	}
	return nil, fmt.Errorf("join type %s is not supported", kind)
}

// single is a left join that fails where a row has more than one match: so does a scalar subquery.
func (t *translator) single(kind joinKind, s sides, cond string) (*query, error) {
	fields := make([]string, len(s.right.columns))
	for i, c := range s.right.columns {
		fields[i] = columnName(i) + " := " + c.sql
	}
	if len(fields) == 0 {
		fields = []string{"none := NULL"}
	}
	q := *s.left
	match := "(SELECT struct_pack(" + strings.Join(fields, ", ") + ") FROM " + s.right.from + " WHERE " + cond + ")"
	q.columns = append(q.columns[:len(q.columns):len(q.columns)], column{sql: match})
	out, err := t.nested(&q)
	if err != nil {
		return nil, err
	}
	last := len(out.columns) - 1
	matched := make([]column, len(s.right.columns))
	for i, c := range s.right.columns {
		matched[i] = column{sql: "struct_extract(" + out.columns[last].sql + ", '" + columnName(i) + "')", of: c.of, cheap: true}
	}
	kept := out.columns[:last:last]
	if kind == rightSingle {
		out.columns = append(matched, kept...)
	} else {
		out.columns = append(kept, matched...)
	}
	return out, nil
}

// membership gives the mark of a mark join on one equality between the sides as an IN, which DuckDB does by hashing.
func membership(r *pb.JoinRel, joined sides) func(t *translator, s sides) string {
	call := r.GetExpression().GetScalarFunction()
	if call == nil || len(call.GetArguments()) != 2 {
		return nil
	}
	return func(t *translator, s sides) string {
		f, err := t.function(call.GetFunctionReference())
		if err != nil || f.name != "equal" || !f.standard() {
			return ""
		}
		first := call.GetArguments()[0].GetValue().GetSelection()
		second := call.GetArguments()[1].GetValue().GetSelection()
		a, okA := rootField(first)
		b, okB := rootField(second)
		width := len(joined.left.columns)
		if !okA || !okB || (a < width) == (b < width) || max(a, b) >= len(joined.both()) {
			return ""
		}
		if a > b {
			a, b = b, a
		}
		l, r := joined.left.columns[a], joined.right.columns[b-width]
		if s.left != joined.left { // sides are swapped
			l, r = r, l
		}
		return l.sql + " IN (SELECT " + r.sql + " FROM " + s.right.from + ")"
	}
}

// rootField is the position of a plain reference to a column of the input.
func rootField(f *pb.Expression_FieldReference) (int, bool) {
	segment := f.GetDirectReference().GetStructField()
	if segment == nil || segment.GetChild() != nil || f.GetExpression() != nil || f.GetOuterReference() != nil || segment.GetField() < 0 {
		return 0, false
	}
	return int(segment.GetField()), true
}
