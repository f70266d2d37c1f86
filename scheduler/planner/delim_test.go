package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/planner"
)

// Rule 26, correlated subqueries: NULLs among the keys and the values, no rows on either side, duplicates, subqueries in
// subqueries. DuckDB alone is the reference.
func TestRule26CorrelatedSubqueries(t *testing.T) {
	s := newHazards(t)
	delim := 0
	for _, sql := range []string{
		// Keys that are NULL, on either side or both.
		"SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a", "SELECT id, (SELECT max(b.id) FROM b WHERE b.k IS NOT DISTINCT FROM a.k) FROM a", "SELECT id, (SELECT count(*) FROM b WHERE b.k > a.k OR a.k IS NULL) FROM a",
		"SELECT g, (SELECT sum(id) FROM b WHERE b.g = x.k AND b.id > x.g) FROM allnull x", "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM allnull x WHERE x.k IS NOT DISTINCT FROM a.k AND x.g <> a.g)",
		"SELECT id, EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.id <> a.id), NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.s <> a.s) FROM a",
		// No rows outside, none inside, one.
		"SELECT id, (SELECT count(*) FROM b WHERE b.k < x.k) FROM nothing x", "SELECT id, (SELECT count(*) FROM nothing x WHERE x.k < a.k) FROM a", "SELECT id, (SELECT max(v) FROM nothing x WHERE x.k = a.k AND x.g < a.g) FROM a",
		"SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM nothing x WHERE x.k < a.k)", "SELECT id FROM a WHERE k NOT IN (SELECT x.k FROM nothing x WHERE x.g = a.g)", "SELECT count(*) FROM nothing x WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k <> x.k)",
		"SELECT id, (SELECT count(*) FROM a WHERE a.k > one.k) FROM one", "SELECT id, (SELECT one.s FROM one WHERE one.k >= a.k) FROM a", "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM one WHERE one.k < a.k)",
		// Rows that are there many times.
		"SELECT x.k, x.g, (SELECT sum(b.id) FROM b WHERE b.k = x.k AND b.g <> x.g) FROM (SELECT k, g FROM a UNION ALL SELECT k, g FROM a) x", "SELECT k, count(*), (SELECT count(*) FROM b WHERE b.k < a.k) FROM a GROUP BY k",
		"SELECT sum(c) FROM (SELECT (SELECT count(*) FROM b WHERE b.g < a.g) c FROM a)", "SELECT DISTINCT k, (SELECT min(s) FROM b WHERE b.k >= a.k) FROM a",
		// IN and NOT IN, ANY and ALL, with NULLs on the left, on the right and in the keys.
		"SELECT id, k IN (SELECT b.k FROM b WHERE b.g = a.g) FROM a", "SELECT id, k NOT IN (SELECT b.k FROM b WHERE b.g = a.g) FROM a", "SELECT id FROM a WHERE k NOT IN (SELECT b.k FROM b WHERE b.g = a.g AND b.k IS NOT NULL)",
		"SELECT id, g IN (SELECT x.g FROM b x WHERE x.k = a.k) FROM a", "SELECT id, k NOT IN (SELECT b.id FROM b WHERE b.k IS NOT DISTINCT FROM a.k) FROM a", "SELECT id, k IN (SELECT x.k FROM allnull x WHERE x.g = a.g) FROM a",
		"SELECT id, k > ALL (SELECT b.k FROM b WHERE b.g = a.g) FROM a", "SELECT id, k = ANY (SELECT b.k FROM b WHERE b.s <> a.s) FROM a", "SELECT id, k <= ANY (SELECT b.id FROM b WHERE b.g < a.g) FROM a", "SELECT id FROM a WHERE k <> ALL (SELECT k FROM b WHERE b.id < a.id)",
		"SELECT id FROM a WHERE k IN (SELECT b.k FROM b WHERE b.id < a.id) OR g = 2",
		// Subqueries in subqueries, and several over the same rows.
		"SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k AND b.id > (SELECT avg(x.id) FROM b x WHERE x.g = a.g)) FROM a", "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND NOT EXISTS (SELECT 1 FROM nonulls x WHERE x.k = b.g AND x.k < a.g))",
		"SELECT id, (SELECT max(x.id + (SELECT min(y.id) FROM b y WHERE y.g = x.g AND y.k <> a.k)) FROM b x WHERE x.k = a.k) FROM a", "SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k), (SELECT count(*) FROM b WHERE b.k < a.k), EXISTS (SELECT 1 FROM b WHERE b.s = a.s AND b.id > a.id) FROM a",
		"SELECT id FROM a WHERE EXISTS (SELECT 1 FROM a x WHERE x.k = a.k AND x.id <> a.id) AND NOT EXISTS (SELECT 1 FROM a x WHERE x.k = a.k AND x.id <> a.id AND x.g > a.g)", "SELECT id FROM a WHERE v > (SELECT avg(v) FROM a x WHERE x.g = a.g AND x.k IN (SELECT b.k FROM b WHERE b.id < x.id))",
		"SELECT id, (SELECT count(*) FROM (SELECT k FROM b WHERE b.id > a.g UNION ALL SELECT k FROM nonulls WHERE k < a.g)) FROM a", "SELECT id, (SELECT count(*) FROM (SELECT k FROM b WHERE b.id > a.g INTERSECT SELECT k FROM nonulls WHERE k > a.k)) FROM a",
		"SELECT id, (SELECT count(*) FROM b x JOIN b y ON x.k = y.k WHERE x.g = a.g AND y.g <> a.g) FROM a", "SELECT id, (SELECT count(*) FROM b FULL JOIN nonulls x ON x.k = b.k WHERE coalesce(b.g, 0) < a.g) FROM a", "SELECT id, (SELECT sum(b.id) FROM b LEFT JOIN one ON one.k = b.k WHERE b.g = a.g) FROM a",
		// Rows, orders and limits inside; LATERAL; CTEs inside and around.
		"SELECT id, (SELECT b.id FROM b WHERE b.k = a.k ORDER BY b.id DESC LIMIT 1) FROM a", "SELECT a.id, x.id FROM a, LATERAL (SELECT id FROM b WHERE b.k = a.k ORDER BY id LIMIT 2) x", "SELECT a.id, x.n FROM a LEFT JOIN LATERAL (SELECT id n FROM b WHERE b.k = a.k AND b.g > a.g) x ON true",
		"SELECT a.id, x.* FROM a, LATERAL (SELECT count(*) n, sum(b.id) t FROM b WHERE b.k <= a.g) x", "SELECT id, (SELECT list(b.id ORDER BY b.id) FROM b WHERE b.k = a.k AND b.g <= a.g) FROM a", "SELECT id, (SELECT median(b.id) FROM b WHERE b.g = a.g AND b.k < a.k) FROM a", "SELECT id, (SELECT count(DISTINCT b.s) FROM b WHERE b.k < a.k) FROM a",
		"SELECT id, (WITH c AS MATERIALIZED (SELECT k, g FROM b WHERE b.k = a.k) SELECT count(*) FROM c x, c y WHERE x.g <> y.g) FROM a", "WITH c AS MATERIALIZED (SELECT k, g, id FROM a) SELECT id, (SELECT count(*) FROM c x WHERE x.k = c.k AND x.id <> c.id) FROM c",
		"SELECT id, (WITH RECURSIVE r(n) AS (SELECT a.g UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r) FROM a", "WITH RECURSIVE r(id) AS (SELECT min(id) FROM a UNION ALL SELECT id + 1 FROM r WHERE id < 9 AND EXISTS (SELECT 1 FROM b WHERE b.k = r.id AND b.g < r.id + 3)) SELECT * FROM r",
		"SELECT id, (SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY id) n FROM b WHERE b.k = a.k)) FROM a", "SELECT id, (SELECT sum(u) FROM (SELECT unnest(a.l) u)) FROM a",
		// More than one row is an error wherever the rows lie; one row is none.
		"SELECT id, (SELECT b.id FROM b WHERE b.k = a.k) FROM a", "SELECT id, (SELECT b.id FROM b WHERE b.k > a.k) FROM a", "SELECT id, (SELECT b.id FROM b WHERE b.id = a.id) FROM a", "SELECT id, (SELECT b.s FROM b WHERE b.id = a.id AND b.k < a.g + 5) FROM a",
		"SELECT id, (SELECT x.k FROM nonulls x WHERE x.k = a.k LIMIT 1) FROM a", "SELECT id, (SELECT b.id FROM b WHERE b.id + 1 = a.id AND b.id < a.id) FROM a", "SELECT count((SELECT b.id FROM b WHERE b.k IS NOT DISTINCT FROM a.k AND b.id <> a.id)) FROM a",
	} {
		t.Run("", func(t *testing.T) {
			s.t = t
			if find[*plan.DelimJoin](s.bind(sql).Plan) != nil {
				delim++
			}
			require.False(t, s.check(sql, s.settings()...).Unspecified, "the answer must be specified: %s", sql)
		})
	}
	require.Greater(t, delim, 40, "statements that DuckDB plans with delim joins")
}

// What several branches need is computed once: the outer rows of a correlated subquery, the values that its branches are
// correlated by, a CTE that is read twice. A CTE that is read once is part of what reads it.
func TestSharedInputsAreComputedOnce(t *testing.T) {
	s := newHazards(t)
	s.t = t
	for _, c := range []struct {
		sql   string
		scans map[string]int
	}{
		{"SELECT id, (SELECT count(*) FROM b WHERE b.k < a.k) FROM a", map[string]int{"a": 1, "b": 1}},
		{"SELECT id, (SELECT count(*) FROM (SELECT k FROM b WHERE b.id > a.g UNION ALL SELECT k FROM nonulls WHERE k < a.g)) FROM a", map[string]int{"a": 1, "b": 1, "nonulls": 1}},
		{"SELECT id, (SELECT count(*) FROM b WHERE b.k < x.k), (SELECT max(k) FROM nonulls n WHERE n.k < x.g) FROM (SELECT * FROM a WHERE id > 3) x", map[string]int{"a": 1, "b": 1, "nonulls": 1}},
		{"WITH c AS MATERIALIZED (SELECT k, count(*) n FROM a GROUP BY k) SELECT * FROM c x JOIN c y ON x.n = y.k", map[string]int{"a": 1}},
	} {
		root := s.bind(c.sql).Plan
		for _, o := range settings {
			stages, _ := s.distribute(root, o.Options)
			scans := map[string]int{}
			for _, stage := range stages {
				plan.Walk(stage.Root, func(n plan.Node) bool {
					if scan, ok := n.(*plan.IcebergScan); ok {
						scans[scan.TableKey]++
					}
					return true
				})
			}
			require.Equal(t, c.scans, scans, "%s\n%s", c.sql, planner.Explain(stages))
		}
	}
	once := "WITH c AS MATERIALIZED (SELECT k, id FROM a WHERE g = 1) SELECT c.id, b.id FROM c JOIN b ON c.k = b.k"
	stages, _ := s.distribute(s.bind(once).Plan, planner.Options{Slots: 4, TargetTaskSize: 1 << 10, BroadcastThreshold: 1 << 40})
	require.Len(t, stages, 1, "both scans and the join:\n%s", planner.Explain(stages))
}
