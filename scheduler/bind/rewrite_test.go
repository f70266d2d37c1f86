package bind

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
)

// Names that look like generated ones are the user's all the same.
func TestGeneratedNamesLeaveTheUsersAlone(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, `CREATE TABLE t(i INTEGER); INSERT INTO t VALUES (1), (2), (3);
			CREATE TABLE scan_0(j INTEGER); INSERT INTO scan_0 VALUES (10);
			CREATE TABLE scan_1(i INTEGER); INSERT INTO scan_1 VALUES (20), (30)`)
	})
	b := New(1)
	defer b.Close()
	for _, sql := range []string{
		"SELECT sum(i), sum(j) FROM t, scan_0",
		"SELECT sum(i), sum(j) FROM t, SCAN_0",
		"SELECT sum(t.i), sum(s.i) FROM t, scan_1 s, scan_0",
		"SELECT sum(i) FROM t",
		"SELECT sum(j) FROM SCAN_0",
		"WITH scan_0 AS (SELECT 7 AS i) SELECT sum(t.i), sum(scan_0.i) FROM t, scan_0",
		"SELECT sum(scan_0.i), sum(t.i) FROM t AS scan_0, scan_1 AS t",
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		require.NoError(t, err, sql)
		want := r.run(ctx, sql)
		require.NoError(t, want.err, sql)
		for _, n := range []plan.Node{bound.Plan, bound.Whole} {
			text, err := r.rendered(n)
			require.NoError(t, err, sql)
			require.Empty(t, want.differ(r.run(ctx, text), true), "%s\n%s", sql, text)
		}
	}
}

// A CROSS JOIN before another join, and the VALUES of a correlated subquery, are what they are in the plan and in the text.
func TestCrossJoinsAndCorrelatedValues(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, `CREATE TABLE a(i INTEGER, l INTEGER[]); INSERT INTO a VALUES (1, [1, 2]), (2, [NULL]), (NULL, []);
			CREATE TABLE b(i INTEGER, s VARCHAR); INSERT INTO b VALUES (1, 'x'), (2, NULL), (5, 'y')`)
	})
	b := New(1)
	defer b.Close()
	for _, sql := range []string{
		"SELECT a.i, x.i, b.s FROM a CROSS JOIN a x LEFT JOIN b ON b.i = a.i AND b.i > x.i",
		"SELECT a.i, u.v, b.s FROM a CROSS JOIN a y CROSS JOIN UNNEST(a.l) u(v) JOIN b ON b.i = u.v",
		"SELECT a.i FROM a CROSS JOIN b x JOIN b ON a.i = b.i WHERE x.i IN (SELECT * FROM (VALUES (a.i)) v(c))",
		"SELECT a.i, (SELECT sum(c) FROM (VALUES (a.i), (a.i + 1), (10)) v(c)) FROM a",
		"SELECT a.i, v.* FROM a, LATERAL (VALUES (a.i, 'p'), (7, a.l::VARCHAR)) v(c, d)",
		"SELECT a.i FROM a WHERE NOT EXISTS (SELECT 1 FROM (VALUES (a.i), (2)) v(c) JOIN b ON b.i = v.c)",
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		require.NoError(t, err, sql)
		want := r.run(ctx, sql)
		require.NoError(t, want.err, sql)
		require.NotNil(t, bound.Plan, "%s\n%s", bound.Reason, sql)
		require.NotNil(t, bound.Whole, "%s\n%s", bound.Reason, sql)
		for _, n := range []plan.Node{bound.Plan, bound.Whole} {
			text, err := r.rendered(n)
			require.NoError(t, err, sql)
			require.Empty(t, want.differ(r.run(ctx, text), false), "%s\n%s", sql, text)
		}
	}
}

// Correlated subqueries with joins run over the text's scans as they do over tables, and a text's own names stay its own.
func TestTextsOverScansAreTextsOverTables(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, `CREATE TABLE a(i INTEGER, l INTEGER[]); INSERT INTO a VALUES (1, [1, 2]), (2, [NULL]), (NULL, []);
			CREATE TABLE b(i INTEGER, s VARCHAR); INSERT INTO b VALUES (1, 'x'), (2, NULL), (5, 'y')`)
	})
	b := New(1)
	defer b.Close()
	for _, sql := range []string{
		"SELECT i, (SELECT max(b.s) FROM b ANTI JOIN a x ON b.i = x.i WHERE b.i > a.i) FROM a",
		"SELECT i, (SELECT count(*) FROM b FULL JOIN a x ON b.i = x.i WHERE b.i = a.i) FROM a",
		"SELECT a.i, v FROM a CROSS JOIN UNNEST((SELECT max(x.l) FROM a x SEMI JOIN b ON b.i = x.i WHERE x.i = a.i)) u(v)",
		`SELECT 'it''s scan_0' AS "scan_0", i AS "a""scan_1", 'scan_0' || s FROM b`,
		"WITH leaf1 AS (SELECT i FROM a), b AS (SELECT i FROM leaf1) SELECT * FROM b TABLESAMPLE 100%",
		"SELECT * FROM (PIVOT b ON i IN (1, 2) USING count(*)) p JOIN (DESCRIBE a) d ON true",
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		require.NoError(t, err, sql)
		want := r.run(ctx, sql)
		require.NoError(t, want.err, sql)
		text, err := r.rendered(bound.Whole)
		require.NoError(t, err, sql)
		require.Empty(t, want.differ(r.run(ctx, text), false), "%s\n%s", sql, text)
	}
}

// DuckDB 1.5 takes rows for a LIMIT that are not the first, where it can filter them by a join above.
func TestLimitsBelowJoins(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, `CREATE TABLE big AS SELECT i::INTEGER AS i, i::INTEGER % 1000 AS k FROM range(100000) t(i);
			CREATE TABLE mid AS SELECT k::INTEGER AS k FROM range(100) t(k); CREATE TABLE tiny AS SELECT 50000 + i::INTEGER AS i FROM range(5) t(i)`)
	})
	b := New(1)
	defer b.Close()
	for _, limited := range []string{
		"SELECT i FROM big SEMI JOIN mid ON mid.k = big.k ORDER BY i LIMIT 100", "SELECT i FROM big WHERE k IN (SELECT k FROM mid) ORDER BY i LIMIT 100 OFFSET 1",
		"SELECT DISTINCT i FROM big JOIN mid ON mid.k = big.k ORDER BY i LIMIT (SELECT 90)",
	} {
		for _, sql := range []string{
			"SELECT tiny.i FROM tiny JOIN (" + limited + ") b ON b.i = tiny.i", "SELECT tiny.i FROM tiny WHERE i IN (" + limited + ")",
			"WITH b AS (" + limited + ") SELECT tiny.i FROM tiny JOIN b USING (i) JOIN mid ON mid.k <> tiny.i",
		} {
			request := r.request(sql)
			request.TextOnly = func([]*Table) bool { return true } // it has no say here
			bound, err := b.Bind(ctx, request)
			require.NoError(t, err, sql)
			require.NotNil(t, bound.Plan, "%s\n%s", bound.Reason, sql)
			require.Nil(t, bound.Whole, sql)
			text, err := r.rendered(bound.Plan)
			require.NoError(t, err, sql)
			got := r.run(ctx, text)
			require.NoError(t, got.err, sql)
			require.Empty(t, got.rows, "%s\n%s", sql, text)
		}
	}
}
