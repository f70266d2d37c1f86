package substrait

import (
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// kinds makes a database with the tables a(id, k, v) and b(k, w), both with NULLs and rows that repeat.
func kinds(t *testing.T) *database {
	t.Helper()
	db := openDatabase(t)
	require.NoError(t, db.conn.Exec(t.Context(), `
		CREATE TABLE a AS SELECT * FROM (VALUES (1, 10, 'x'), (2, 10, 'y'), (3, 20, NULL), (4, NULL, 'x'), (5, 30, 'z'), (6, 30, 'z')) AS t(id, k, v);
		CREATE TABLE b AS SELECT * FROM (VALUES (10, 'ten'), (20, 'twenty'), (20, 'zwanzig'), (NULL, 'none'), (40, 'forty')) AS t(k, w);`))
	return db
}

func tableA() *pb.Rel { return scan("a", "id INTEGER", "k INTEGER", "v VARCHAR") }
func tableB() *pb.Rel { return scan("b", "k INTEGER", "w VARCHAR") }

func filtered(in *pb.Rel, cond *pb.Expression) *pb.Rel {
	return &pb.Rel{RelType: &pb.Rel_Filter{Filter: &pb.FilterRel{Input: in, Condition: cond}}}
}

func TestVirtualTables(t *testing.T) {
	db, m := kinds(t), &message{}
	rows := func(v *pb.ReadRel_VirtualTable, columns ...string) *pb.Rel {
		r := scan("", columns...)
		r.GetRead().ReadType = &pb.ReadRel_VirtualTable_{VirtualTable: v}
		return r
	}
	literals := &pb.ReadRel_VirtualTable{Values: []*pb.Expression_Literal_Struct{
		{Fields: []*pb.Expression_Literal{i32Literal(1), stringLiteral("a")}},
		{Fields: []*pb.Expression_Literal{null("INTEGER").GetLiteral(), stringLiteral("b")}},
	}}
	computed := &pb.ReadRel_VirtualTable{Expressions: []*pb.Expression_Nested_Struct{
		{Fields: []*pb.Expression{m.call("add", "INTEGER", i32(1), i32(2)), text("a")}},
		{Fields: []*pb.Expression{null("INTEGER"), m.call("upper", "VARCHAR", text("b"))}},
	}}
	db.same("VALUES (1, 'a'), (NULL, 'b')", m.bytes(t, rows(literals, "n INTEGER", "s VARCHAR")))
	db.same("VALUES (3, 'a'), (NULL, 'B')", m.bytes(t, rows(computed, "n INTEGER", "s VARCHAR")))
	db.same("SELECT 1, 'a' WHERE false", m.bytes(t, rows(&pb.ReadRel_VirtualTable{}, "n INTEGER", "s VARCHAR")))
	db.same("VALUES (7), (7)", m.bytes(t, only(rows(&pb.ReadRel_VirtualTable{Expressions: []*pb.Expression_Nested_Struct{{}, {}}}), 0, i32(7))))
	// Rows take the types of the table's schema.
	db.same("SELECT typeof(1::BIGINT)", m.bytes(t, only(rows(&pb.ReadRel_VirtualTable{
		Values: []*pb.Expression_Literal_Struct{{Fields: []*pb.Expression_Literal{i32Literal(1)}}},
	}, "n BIGINT"), 1, duckDBTypeof(m, col(0)))))
	_, err := SQL(m.bytes(t, rows(literals, "n INTEGER")))
	require.ErrorContains(t, err, "row 0 has 2 values for 1 columns")
}

// duckDBTypeof is the name of a value's type, which shows in a result.
func duckDBTypeof(m *message, e *pb.Expression) *pb.Expression {
	return m.call("duckdb:typeof", "VARCHAR", e)
}

func TestWindows(t *testing.T) {
	db, m := kinds(t), &message{}
	type bound = *pb.Expression_WindowFunction_Bound
	preceding := func(n int64) bound {
		return &pb.Expression_WindowFunction_Bound{Kind: &pb.Expression_WindowFunction_Bound_Preceding_{Preceding: &pb.Expression_WindowFunction_Bound_Preceding{Offset: n}}}
	}
	following := func(n int64) bound {
		return &pb.Expression_WindowFunction_Bound{Kind: &pb.Expression_WindowFunction_Bound_Following_{Following: &pb.Expression_WindowFunction_Bound_Following{Offset: n}}}
	}
	current := &pb.Expression_WindowFunction_Bound{Kind: &pb.Expression_WindowFunction_Bound_CurrentRow_{}}
	unbounded := &pb.Expression_WindowFunction_Bound{Kind: &pb.Expression_WindowFunction_Bound_Unbounded_{}}
	const byRows, byRange = pb.Expression_WindowFunction_BOUNDS_TYPE_ROWS, pb.Expression_WindowFunction_BOUNDS_TYPE_RANGE
	for _, c := range []struct {
		sql          string // the window function
		name, of     string
		args         []any
		lower, upper bound
		kind         pb.Expression_WindowFunction_BoundsType
	}{
		{sql: "row_number() OVER w", name: "row_number", of: "BIGINT"},
		{sql: "rank() OVER w", name: "rank", of: "BIGINT"},
		{sql: "lag(id) OVER w", name: "lag", of: "INTEGER", args: []any{col(0)}},
		{sql: "lead(id, 2, -1) OVER w", name: "lead", of: "INTEGER", args: []any{col(0), i32(2), i32(-1)}},
		{sql: "ntile(2) OVER w", name: "ntile", of: "INTEGER", args: []any{i32(2)}},
		// Without bounds a window is the whole partition, where SQL's would end at the current row.
		{sql: "last_value(id) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)", name: "last_value", of: "INTEGER", args: []any{col(0)}},
		{sql: "sum(id) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)", name: "sum", of: "BIGINT", args: []any{col(0)}},
		{sql: "sum(id) OVER (w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", name: "sum", of: "BIGINT", args: []any{col(0)}, lower: preceding(1), upper: current, kind: byRows},
		{sql: "sum(id) OVER (w RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING)", name: "sum", of: "BIGINT", args: []any{col(0)}, lower: preceding(1), upper: following(2), kind: byRange},
		{sql: "count(*) OVER (w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)", name: "count", of: "BIGINT", lower: current, upper: unbounded, kind: byRows},
		{sql: "first_value(v) OVER (w ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)", name: "first_value", of: "VARCHAR", args: []any{col(2)}, lower: following(1), kind: byRows},
	} {
		want := "SELECT id, " + c.sql + " FROM a WINDOW w AS (PARTITION BY k ORDER BY id)"
		// As a relation, and as an expression.
		relation := &pb.Rel{RelType: &pb.Rel_Window{Window: &pb.ConsistentPartitionWindowRel{
			Common: emit(0, 3), Input: tableA(), PartitionExpressions: []*pb.Expression{col(1)}, Sorts: ascending(col(0)),
			WindowFunctions: []*pb.ConsistentPartitionWindowRel_WindowRelFunction{{
				FunctionReference: m.anchor(c.name), Arguments: arguments(c.args), OutputType: typeOf(c.of),
				LowerBound: c.lower, UpperBound: c.upper, BoundsType: c.kind,
			}},
		}}}
		db.same(want, m.bytes(t, relation))
		expression := &pb.Expression{RexType: &pb.Expression_WindowFunction_{WindowFunction: &pb.Expression_WindowFunction{
			FunctionReference: m.anchor(c.name), Arguments: arguments(c.args), OutputType: typeOf(c.of),
			Partitions: []*pb.Expression{col(1)}, Sorts: ascending(col(0)), LowerBound: c.lower, UpperBound: c.upper, BoundsType: c.kind,
		}}}
		db.same(want, m.bytes(t, only(tableA(), 3, col(0), expression)))
	}
	// A filter on a window's result is above it.
	numbered := &pb.Rel{RelType: &pb.Rel_Window{Window: &pb.ConsistentPartitionWindowRel{
		Input: tableA(), Sorts: ascending(col(0)),
		WindowFunctions: []*pb.ConsistentPartitionWindowRel_WindowRelFunction{{FunctionReference: m.anchor("row_number"), OutputType: typeOf("BIGINT")}},
	}}}
	db.same("SELECT *, row_number() OVER (ORDER BY id) AS n FROM a QUALIFY n > 4", m.bytes(t, filtered(numbered, m.call("gt", "BOOLEAN", col(3), i64(4)))))
}

func TestPhysicalJoins(t *testing.T) {
	db, m := kinds(t), &message{}
	key := func(c pb.ComparisonJoinKey_SimpleComparisonType) []*pb.ComparisonJoinKey {
		return []*pb.ComparisonJoinKey{{Left: fieldOf(1), Right: fieldOf(0), Comparison: &pb.ComparisonJoinKey_ComparisonType{
			InnerType: &pb.ComparisonJoinKey_ComparisonType_Simple{Simple: c},
		}}}
	}
	const eq, same = pb.ComparisonJoinKey_SIMPLE_COMPARISON_TYPE_EQ, pb.ComparisonJoinKey_SIMPLE_COMPARISON_TYPE_IS_NOT_DISTINCT_FROM
	for kind, sql := range map[string]string{
		"INNER":      "SELECT * FROM a JOIN b ON (%)",
		"OUTER":      "SELECT * FROM a FULL JOIN b ON (%)",
		"LEFT":       "SELECT * FROM a LEFT JOIN b ON (%)",
		"RIGHT":      "SELECT * FROM a RIGHT JOIN b ON (%)",
		"LEFT_SEMI":  "SELECT * FROM a WHERE EXISTS (FROM b WHERE %)",
		"LEFT_ANTI":  "SELECT * FROM a WHERE NOT EXISTS (FROM b WHERE %)",
		"RIGHT_SEMI": "SELECT * FROM b WHERE EXISTS (FROM a WHERE %)",
		"RIGHT_ANTI": "SELECT * FROM b WHERE NOT EXISTS (FROM a WHERE %)",
	} {
		hash := func(r *pb.HashJoinRel) []byte {
			r.Left, r.Right = tableA(), tableB()
			r.Type = pb.HashJoinRel_JoinType(pb.HashJoinRel_JoinType_value["JOIN_TYPE_"+kind])
			return m.bytes(t, &pb.Rel{RelType: &pb.Rel_HashJoin{HashJoin: r}})
		}
		merge := &pb.MergeJoinRel{Left: tableA(), Right: tableB(), Keys: key(eq), Type: pb.MergeJoinRel_JoinType(pb.MergeJoinRel_JoinType_value["JOIN_TYPE_"+kind])}
		loop := &pb.NestedLoopJoinRel{
			Left: tableA(), Right: tableB(), Expression: m.call("lt", "BOOLEAN", col(1), col(3)),
			Type: pb.NestedLoopJoinRel_JoinType(pb.NestedLoopJoinRel_JoinType_value["JOIN_TYPE_"+kind]),
		}
		db.same(replaced(sql, "a.k = b.k"), hash(&pb.HashJoinRel{Keys: key(eq)}))
		db.same(replaced(sql, "a.k IS NOT DISTINCT FROM b.k"), hash(&pb.HashJoinRel{Keys: key(same)}))
		db.same(replaced(sql, "a.k = b.k"), hash(&pb.HashJoinRel{
			LeftKeys: []*pb.Expression_FieldReference{fieldOf(1)}, RightKeys: []*pb.Expression_FieldReference{fieldOf(0)},
		}))
		db.same(replaced(sql, "a.k = b.k AND b.w <> 'zwanzig'"), hash(&pb.HashJoinRel{
			Keys: key(eq), PostJoinFilter: m.call("not_equal", "BOOLEAN", col(4), text("zwanzig")),
		}))
		db.same(replaced(sql, "a.k = b.k"), m.bytes(t, &pb.Rel{RelType: &pb.Rel_MergeJoin{MergeJoin: merge}}))
		db.same(replaced(sql, "a.k < b.k"), m.bytes(t, &pb.Rel{RelType: &pb.Rel_NestedLoopJoin{NestedLoopJoin: loop}}))
	}
	_, err := SQL(m.bytes(t, &pb.Rel{RelType: &pb.Rel_HashJoin{HashJoin: &pb.HashJoinRel{Left: tableA(), Right: tableB(), Type: pb.HashJoinRel_JOIN_TYPE_INNER}}}))
	require.ErrorContains(t, err, "hash_join: it has no keys")
	_, err = SQL(m.bytes(t, &pb.Rel{RelType: &pb.Rel_HashJoin{HashJoin: &pb.HashJoinRel{
		Left: tableA(), Right: tableB(), Type: pb.HashJoinRel_JOIN_TYPE_INNER, Keys: key(pb.ComparisonJoinKey_SIMPLE_COMPARISON_TYPE_MIGHT_EQUAL),
	}}}))
	require.ErrorContains(t, err, "MIGHT_EQUAL")
}

// TestSingleAndMarkJoins: a single join fails where a row has several matches, a mark join says whether it has one.
func TestSingleAndMarkJoins(t *testing.T) {
	db, m := kinds(t), &message{}
	join := func(kind pb.JoinRel_JoinType, l, r *pb.Rel, cond *pb.Expression) []byte {
		return m.bytes(t, &pb.Rel{RelType: &pb.Rel_Join{Join: &pb.JoinRel{Left: l, Right: r, Type: kind, Expression: cond}}})
	}
	once := filtered(tableB(), m.call("not_equal", "BOOLEAN", col(1), text("zwanzig")))
	db.same("SELECT a.*, b.* FROM a LEFT JOIN b ON a.k = b.k AND w <> 'zwanzig'", join(pb.JoinRel_JOIN_TYPE_LEFT_SINGLE, tableA(), once, m.equal(col(1), col(3))))
	db.same("SELECT b.*, a.* FROM a LEFT JOIN b ON a.k = b.k AND w <> 'zwanzig'", join(pb.JoinRel_JOIN_TYPE_RIGHT_SINGLE, once, tableA(), m.equal(col(0), col(3))))
	twice, err := SQL(join(pb.JoinRel_JOIN_TYPE_LEFT_SINGLE, tableA(), tableB(), m.equal(col(1), col(3))))
	require.NoError(t, err)
	_, err = db.rows(twice)
	require.ErrorContains(t, err, "More than one row returned")

	in := "SELECT *, k IN (SELECT b.k FROM b) FROM a"
	db.same(in, join(pb.JoinRel_JOIN_TYPE_LEFT_MARK, tableA(), tableB(), m.equal(col(1), col(3))))
	db.same(in, join(pb.JoinRel_JOIN_TYPE_RIGHT_MARK, tableB(), tableA(), m.equal(col(0), col(3))))
	db.same("SELECT *, k < ANY (SELECT b.k FROM b) FROM a", join(pb.JoinRel_JOIN_TYPE_LEFT_MARK, tableA(), tableB(), m.call("lt", "BOOLEAN", col(1), col(3))))
	// A logical join's filter is above it.
	outer := &pb.JoinRel{Left: tableA(), Right: tableB(), Type: pb.JoinRel_JOIN_TYPE_LEFT, Expression: m.equal(col(1), col(3)), PostJoinFilter: m.call("is_null", "BOOLEAN", col(4))}
	db.same("SELECT * FROM a LEFT JOIN b ON a.k = b.k WHERE w IS NULL", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Join{Join: outer}}))
}

func TestGroupingSets(t *testing.T) {
	db, m := kinds(t), &message{}
	aggregate := func(r *pb.AggregateRel) []byte {
		r.Input = tableA()
		r.Measures = []*pb.AggregateRel_Measure{m.measure("sum", "BIGINT", col(0))}
		return m.bytes(t, &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: r}})
	}
	set := func(references ...uint32) *pb.AggregateRel_Grouping {
		return &pb.AggregateRel_Grouping{ExpressionReferences: references}
	}
	old := func(es ...*pb.Expression) *pb.AggregateRel_Grouping {
		return &pb.AggregateRel_Grouping{GroupingExpressions: es}
	}
	keys := []*pb.Expression{col(1), col(2)}
	sets := `SELECT k, v, sum(id), CASE GROUPING(k, v) WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 3 THEN 2 END FROM a GROUP BY GROUPING SETS ((k, v), (k), ())`
	db.same(sets, aggregate(&pb.AggregateRel{GroupingExpressions: keys, Groupings: []*pb.AggregateRel_Grouping{set(0, 1), set(0), set()}}))
	db.same(sets, aggregate(&pb.AggregateRel{Groupings: []*pb.AggregateRel_Grouping{old(keys...), old(col(1)), old()}}))
	// One set has no number.
	db.same("SELECT k, v, sum(id) FROM a GROUP BY k, v", aggregate(&pb.AggregateRel{GroupingExpressions: keys, Groupings: []*pb.AggregateRel_Grouping{set(0, 1)}}))
	db.same("SELECT v, k, sum(id) FROM a GROUP BY v, k", aggregate(&pb.AggregateRel{GroupingExpressions: []*pb.Expression{col(2), col(1)}, Groupings: []*pb.AggregateRel_Grouping{set(1, 0)}}))
	db.same("SELECT sum(id) FROM a", aggregate(&pb.AggregateRel{}))
	// Expressions, and constants, which GROUP BY would take for positions.
	computed := []*pb.Expression{m.call("modulus", "INTEGER", col(0), i32(2)), i32(2)}
	db.same("SELECT id % 2, 2, sum(id) FROM a GROUP BY id % 2", aggregate(&pb.AggregateRel{GroupingExpressions: computed, Groupings: []*pb.AggregateRel_Grouping{set(0, 1)}}))
	_, err := SQL(aggregate(&pb.AggregateRel{GroupingExpressions: keys, Groupings: []*pb.AggregateRel_Grouping{set(0, 1), set(0, 1)}}))
	require.ErrorContains(t, err, "repeat")
	_, err = SQL(aggregate(&pb.AggregateRel{GroupingExpressions: keys, Groupings: []*pb.AggregateRel_Grouping{set(2)}}))
	require.ErrorContains(t, err, "expression 2 of 2")
	_, err = SQL(aggregate(&pb.AggregateRel{GroupingExpressions: keys, Groupings: []*pb.AggregateRel_Grouping{set(1)}}))
	require.ErrorContains(t, err, "grouping expression 0 is in no grouping set")
}

// TestMeasures: filters, DISTINCT and orders of aggregates.
func TestMeasures(t *testing.T) {
	db, m := kinds(t), &message{}
	distinct := m.measure("count", "BIGINT", col(1))
	distinct.Measure.Invocation = pb.AggregateFunction_AGGREGATION_INVOCATION_DISTINCT
	some := m.measure("sum", "BIGINT", col(0))
	some.Filter = m.equal(col(2), text("z"))
	ordered := m.measure("string_agg", "VARCHAR", col(2), text("-"))
	ordered.Measure.Sorts = []*pb.SortField{{Expr: col(0), SortKind: &pb.SortField_Direction{Direction: pb.SortField_SORT_DIRECTION_DESC_NULLS_LAST}}}
	all := &pb.AggregateRel{Input: tableA(), Measures: []*pb.AggregateRel_Measure{
		distinct, some, ordered, m.measure("count", "BIGINT"), m.measure("min", "INTEGER", col(1)),
		m.measure("any_value", "INTEGER", col(1), option("ignore_nulls", "TRUE")), m.measure("bool_and", "BOOLEAN", m.call("is_null", "BOOLEAN", col(2))),
	}}
	db.same(`SELECT count(DISTINCT k), sum(id) FILTER (WHERE v = 'z'), string_agg(v, '-' ORDER BY id DESC), count(*), min(k), any_value(k), bool_and(v IS NULL) FROM a`,
		m.bytes(t, &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: all}}))
	nothing := &pb.AggregateRel{
		Input:    filtered(tableA(), m.call("is_null", "BOOLEAN", col(0))),
		Measures: []*pb.AggregateRel_Measure{m.measure("sum", "BIGINT", col(0)), m.measure("sum0", "BIGINT", col(0)), m.measure("count", "BIGINT")},
	}
	db.same("SELECT NULL, 0, 0", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: nothing}}))
}

func TestConditionalExpressions(t *testing.T) {
	db, m := kinds(t), &message{}
	db.same("SELECT id, CASE v WHEN 'x' THEN 1 WHEN 'y' THEN 2 ELSE 3 END FROM a", m.bytes(t, only(tableA(), 3, col(0), &pb.Expression{
		RexType: &pb.Expression_SwitchExpression_{SwitchExpression: &pb.Expression_SwitchExpression{
			Match: col(2), Else: i32(3),
			Ifs: []*pb.Expression_SwitchExpression_IfValue{{If: stringLiteral("x"), Then: i32(1)}, {If: stringLiteral("y"), Then: i32(2)}},
		}},
	})))
	db.same("SELECT id, CASE v WHEN 'x' THEN 'one' END FROM a", m.bytes(t, only(tableA(), 3, col(0), &pb.Expression{
		RexType: &pb.Expression_SwitchExpression_{SwitchExpression: &pb.Expression_SwitchExpression{
			Match: col(2), Ifs: []*pb.Expression_SwitchExpression_IfValue{{If: stringLiteral("x"), Then: text("one")}},
		}},
	})))
	db.same("SELECT id, k IN (10, NULL), k IN (10, 20), false FROM a", m.bytes(t, only(tableA(), 3, col(0),
		orList(col(1), i32(10), null("INTEGER")), orList(col(1), i32(10), i32(20)), orList(col(1)))))
	db.same("SELECT id, (k = 10 AND v = 'x') OR (k = 30 AND v = 'z') FROM a", m.bytes(t, only(tableA(), 3, col(0), &pb.Expression{
		RexType: &pb.Expression_MultiOrList_{MultiOrList: &pb.Expression_MultiOrList{
			Value: []*pb.Expression{col(1), col(2)},
			Options: []*pb.Expression_MultiOrList_Record{
				{Fields: []*pb.Expression{i32(10), text("x")}}, {Fields: []*pb.Expression{i32(30), text("z")}},
			},
		}},
	})))
	try := castOf(col(2), "INTEGER")
	try.GetCast().FailureBehavior = pb.Expression_Cast_FAILURE_BEHAVIOR_RETURN_NULL
	db.same("SELECT TRY_CAST(v AS INTEGER), CAST(id AS VARCHAR) FROM a", m.bytes(t, only(tableA(), 3, try, castOf(col(0), "VARCHAR"))))
}

func orList(value *pb.Expression, options ...*pb.Expression) *pb.Expression {
	return &pb.Expression{RexType: &pb.Expression_SingularOrList_{SingularOrList: &pb.Expression_SingularOrList{Value: value, Options: options}}}
}

func TestSubqueries(t *testing.T) {
	db, m := kinds(t), &message{}
	sub := func(s *pb.Expression_Subquery) *pb.Expression {
		return &pb.Expression{RexType: &pb.Expression_Subquery_{Subquery: s}}
	}
	keys := func(in *pb.Rel) *pb.Rel { return only(in, 2, col(0)) }
	known := func() *pb.Rel { return filtered(tableB(), m.call("is_not_null", "BOOLEAN", col(0))) }
	for op, sign := range map[pb.Expression_Subquery_SetComparison_ComparisonOp]string{
		pb.Expression_Subquery_SetComparison_COMPARISON_OP_EQ: "=", pb.Expression_Subquery_SetComparison_COMPARISON_OP_NE: "<>",
		pb.Expression_Subquery_SetComparison_COMPARISON_OP_LT: "<", pb.Expression_Subquery_SetComparison_COMPARISON_OP_GT: ">",
		pb.Expression_Subquery_SetComparison_COMPARISON_OP_LE: "<=", pb.Expression_Subquery_SetComparison_COMPARISON_OP_GE: ">=",
	} {
		for reduction, word := range map[pb.Expression_Subquery_SetComparison_ReductionOp]string{
			pb.Expression_Subquery_SetComparison_REDUCTION_OP_ANY: "ANY", pb.Expression_Subquery_SetComparison_REDUCTION_OP_ALL: "ALL",
		} {
			for from, rel := range map[string]*pb.Rel{"b": tableB(), "b WHERE k IS NOT NULL": known()} {
				db.same("SELECT id, k "+sign+" "+word+" (SELECT k FROM "+from+") FROM a", m.bytes(t, only(tableA(), 3, col(0), sub(&pb.Expression_Subquery{
					SubqueryType: &pb.Expression_Subquery_SetComparison_{SetComparison: &pb.Expression_Subquery_SetComparison{
						Left: col(1), Right: keys(rel), ComparisonOp: op, ReductionOp: reduction,
					}},
				}))))
			}
		}
	}
	in := func(haystack *pb.Rel, needles ...*pb.Expression) *pb.Expression {
		return sub(&pb.Expression_Subquery{SubqueryType: &pb.Expression_Subquery_InPredicate_{
			InPredicate: &pb.Expression_Subquery_InPredicate{Needles: needles, Haystack: haystack},
		}})
	}
	db.same("SELECT id, k IN (SELECT k FROM b) FROM a", m.bytes(t, only(tableA(), 3, col(0), in(keys(tableB()), col(1)))))
	db.same("SELECT id, (k, v) IN (SELECT * FROM b) FROM a", m.bytes(t, only(tableA(), 3, col(0), in(tableB(), col(1), col(2)))))

	// Correlated by references one and two queries out.
	matching := func() *pb.Rel { return filtered(tableB(), m.equal(col(0), outerCol(1, 1))) }
	exists := sub(&pb.Expression_Subquery{SubqueryType: &pb.Expression_Subquery_SetPredicate_{SetPredicate: &pb.Expression_Subquery_SetPredicate{
		PredicateOp: pb.Expression_Subquery_SetPredicate_PREDICATE_OP_EXISTS, Tuples: matching(),
	}}})
	db.same("SELECT * FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k)", m.bytes(t, filtered(tableA(), exists)))
	scalar := func(in *pb.Rel) *pb.Expression {
		return sub(&pb.Expression_Subquery{SubqueryType: &pb.Expression_Subquery_Scalar_{Scalar: &pb.Expression_Subquery_Scalar{Input: in}}})
	}
	longest := &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: &pb.AggregateRel{Input: matching(), Measures: []*pb.AggregateRel_Measure{m.measure("max", "VARCHAR", col(1))}}}}
	db.same("SELECT id, (SELECT max(w) FROM b WHERE b.k = a.k) FROM a", m.bytes(t, only(tableA(), 3, col(0), scalar(longest))))
	inner := filtered(tableB(), m.call("and", "BOOLEAN", m.equal(col(0), outerCol(1, 0)), m.call("gt", "BOOLEAN", outerCol(2, 0), i32(1))))
	two := sub(&pb.Expression_Subquery{SubqueryType: &pb.Expression_Subquery_SetPredicate_{SetPredicate: &pb.Expression_Subquery_SetPredicate{
		PredicateOp: pb.Expression_Subquery_SetPredicate_PREDICATE_OP_EXISTS,
		Tuples: filtered(tableB(), m.call("and", "BOOLEAN", m.equal(col(0), outerCol(1, 1)), sub(&pb.Expression_Subquery{
			SubqueryType: &pb.Expression_Subquery_SetPredicate_{SetPredicate: &pb.Expression_Subquery_SetPredicate{
				PredicateOp: pb.Expression_Subquery_SetPredicate_PREDICATE_OP_EXISTS, Tuples: inner,
			}},
		}))),
	}}})
	db.same("SELECT * FROM a WHERE EXISTS (SELECT * FROM b WHERE b.k = a.k AND EXISTS (SELECT * FROM b AS c WHERE c.k = b.k AND a.id > 1))", m.bytes(t, filtered(tableA(), two)))
	_, err := SQL(m.bytes(t, filtered(tableA(), m.equal(outerCol(1, 0), i32(1)))))
	require.ErrorContains(t, err, "1 queries out, of 0")
}

func TestFetch(t *testing.T) {
	db, m := kinds(t), &message{}
	fetch := func(r *pb.FetchRel) []byte {
		r.Input = sorted(tableA(), col(0))
		return m.bytes(t, &pb.Rel{RelType: &pb.Rel_Fetch{Fetch: r}})
	}
	query := "SELECT * FROM a ORDER BY ALL"
	db.same(query+" LIMIT 2 OFFSET 1", fetch(&pb.FetchRel{CountMode: &pb.FetchRel_Count{Count: 2}, OffsetMode: &pb.FetchRel_Offset{Offset: 1}}))
	db.same(query+" OFFSET 2", fetch(&pb.FetchRel{CountMode: &pb.FetchRel_Count{Count: -1}, OffsetMode: &pb.FetchRel_Offset{Offset: 2}}))
	db.same(query, fetch(&pb.FetchRel{}))
	db.same(query+" LIMIT 0", fetch(&pb.FetchRel{CountMode: &pb.FetchRel_Count{}}))
	db.same(query+" LIMIT 3 OFFSET 2", fetch(&pb.FetchRel{
		CountMode:  &pb.FetchRel_CountExpr{CountExpr: m.call("add", "BIGINT", i64(1), i64(2))},
		OffsetMode: &pb.FetchRel_OffsetExpr{OffsetExpr: i64(2)},
	}))
	db.same(query, fetch(&pb.FetchRel{
		CountMode: &pb.FetchRel_CountExpr{CountExpr: null("BIGINT")}, OffsetMode: &pb.FetchRel_OffsetExpr{OffsetExpr: null("BIGINT")},
	}))
	negative, err := SQL(fetch(&pb.FetchRel{CountMode: &pb.FetchRel_CountExpr{CountExpr: i64(-1)}}))
	require.NoError(t, err)
	_, err = db.rows(negative)
	require.ErrorContains(t, err, "negative")
	_, err = SQL(fetch(&pb.FetchRel{OffsetMode: &pb.FetchRel_Offset{Offset: -1}}))
	require.ErrorContains(t, err, "offset -1 is negative")
	// A fetch of a fetch, and an aggregate of one.
	inner := &pb.Rel{RelType: &pb.Rel_Fetch{Fetch: &pb.FetchRel{Input: sorted(tableA(), col(0)), CountMode: &pb.FetchRel_Count{Count: 3}}}}
	db.same("SELECT * FROM (SELECT * FROM a ORDER BY id LIMIT 3) ORDER BY ALL OFFSET 1", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Fetch{
		Fetch: &pb.FetchRel{Input: inner, OffsetMode: &pb.FetchRel_Offset{Offset: 1}},
	}}))
	db.same("SELECT sum(id) FROM (SELECT * FROM a ORDER BY id LIMIT 3)", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Aggregate{
		Aggregate: &pb.AggregateRel{Input: inner, Measures: []*pb.AggregateRel_Measure{m.measure("sum", "BIGINT", col(0))}},
	}}))
}

// TestEmit puts a mapping on every relation: columns are left out, moved and repeated.
func TestEmit(t *testing.T) {
	db, m := kinds(t), &message{}
	b := tableB()
	b.GetRead().Common = emit(1, 0, 1)
	db.same("SELECT w, k, w FROM b", m.bytes(t, b))
	db.same("SELECT v, id FROM a WHERE k = 10", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Filter{
		Filter: &pb.FilterRel{Common: emit(2, 0), Input: tableA(), Condition: m.equal(col(1), i32(10))},
	}}))
	next := m.call("add", "INTEGER", col(0), i32(1))
	db.same("SELECT id + 1, v, id + 1, id FROM a", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Project{
		Project: &pb.ProjectRel{Common: emit(3, 2, 3, 0), Input: tableA(), Expressions: []*pb.Expression{next}},
	}}))
	db.same("SELECT *, id + 1 FROM a", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Project{
		Project: &pb.ProjectRel{
			Common: &pb.RelCommon{EmitKind: &pb.RelCommon_Direct_{Direct: &pb.RelCommon_Direct{}}}, Input: tableA(), Expressions: []*pb.Expression{next},
		},
	}}))
	db.same("SELECT v FROM a ORDER BY id DESC", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Sort{Sort: &pb.SortRel{
		Common: emit(2), Input: tableA(),
		Sorts: []*pb.SortField{{Expr: col(0), SortKind: &pb.SortField_Direction{Direction: pb.SortField_SORT_DIRECTION_DESC_NULLS_LAST}}},
	}}}))
	db.same("SELECT v FROM a WHERE id <= 2", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Fetch{
		Fetch: &pb.FetchRel{Common: emit(2), Input: sorted(tableA(), col(0)), CountMode: &pb.FetchRel_Count{Count: 2}},
	}}))
	db.same("SELECT sum(id), k FROM a GROUP BY k", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: &pb.AggregateRel{
		Common: emit(1, 0), Input: tableA(), GroupingExpressions: []*pb.Expression{col(1)},
		Groupings: []*pb.AggregateRel_Grouping{{ExpressionReferences: []uint32{0}}}, Measures: []*pb.AggregateRel_Measure{m.measure("sum", "BIGINT", col(0))},
	}}}))
	db.same("SELECT w, id FROM a JOIN b ON a.k = b.k", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Join{Join: &pb.JoinRel{
		Common: emit(4, 0), Left: tableA(), Right: tableB(), Type: pb.JoinRel_JOIN_TYPE_INNER, Expression: m.equal(col(1), col(3)),
	}}}))
	db.same("SELECT w, id FROM a, b", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Cross{Cross: &pb.CrossRel{Common: emit(4, 0), Left: tableA(), Right: tableB()}}}))
	db.same("SELECT v, id FROM (FROM a UNION ALL FROM a)", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Set{
		Set: &pb.SetRel{Common: emit(2, 0), Inputs: []*pb.Rel{tableA(), tableA()}, Op: pb.SetRel_SET_OP_UNION_ALL},
	}}))
	_, err := SQL(m.bytes(t, &pb.Rel{RelType: &pb.Rel_Cross{Cross: &pb.CrossRel{Common: emit(5), Left: tableA(), Right: tableB()}}}))
	require.ErrorContains(t, err, "cross: it emits column 5 of 5")
}

func TestSetOperations(t *testing.T) {
	db, m := kinds(t), &message{}
	keysA := func() *pb.Rel { return only(tableA(), 3, col(1)) }
	keysB := func() *pb.Rel { return only(tableB(), 2, col(0)) }
	for op, word := range map[pb.SetRel_SetOp]string{
		pb.SetRel_SET_OP_UNION_ALL: "UNION ALL", pb.SetRel_SET_OP_UNION_DISTINCT: "UNION", pb.SetRel_SET_OP_MINUS_PRIMARY: "EXCEPT",
		pb.SetRel_SET_OP_MINUS_PRIMARY_ALL: "EXCEPT ALL", pb.SetRel_SET_OP_INTERSECTION_MULTISET: "INTERSECT",
		pb.SetRel_SET_OP_INTERSECTION_MULTISET_ALL: "INTERSECT ALL", pb.SetRel_SET_OP_INTERSECTION_PRIMARY: "INTERSECT",
	} {
		db.same("SELECT k FROM a "+word+" SELECT k FROM b", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Set{Set: &pb.SetRel{Inputs: []*pb.Rel{keysA(), keysB()}, Op: op}}}))
	}
	db.same("SELECT k FROM a UNION ALL SELECT k FROM b UNION ALL SELECT k FROM a", m.bytes(t, &pb.Rel{RelType: &pb.Rel_Set{
		Set: &pb.SetRel{Inputs: []*pb.Rel{keysA(), keysB(), keysA()}, Op: pb.SetRel_SET_OP_UNION_ALL},
	}}))
	_, err := SQL(m.bytes(t, &pb.Rel{RelType: &pb.Rel_Set{Set: &pb.SetRel{Inputs: []*pb.Rel{keysA(), keysB()}, Op: pb.SetRel_SET_OP_MINUS_MULTISET}}}))
	require.ErrorContains(t, err, "SET_OP_MINUS_MULTISET")
}

// TestSharedRelations are read once, by references from several places.
func TestSharedRelations(t *testing.T) {
	db, m := kinds(t), &message{}
	shared := &pb.Rel{RelType: &pb.Rel_Reference{Reference: &pb.ReferenceRel{SubtreeOrdinal: 0}}}
	join := &pb.JoinRel{Left: shared, Right: shared, Type: pb.JoinRel_JOIN_TYPE_INNER, Expression: m.equal(col(0), col(2))}
	plan := m.bytes(t, &pb.Rel{RelType: &pb.Rel_Join{Join: join}}, tableB())
	db.same("SELECT x.*, y.* FROM b AS x JOIN b AS y ON x.k = y.k", plan)
	text, err := SQL(plan)
	require.NoError(t, err)
	require.Contains(t, text, "shared0 AS MATERIALIZED")
}
