package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
)

// TestKeyRanges: tables whose files follow a key are joined and grouped by it without an exchange, with files that lie across, rows
// without a key and joins of every kind; the answers are those of DuckDB over the whole statement.
func TestKeyRanges(t *testing.T) {
	c := process.Distributed(t, t.TempDir(), 2).Connect(t)
	c.Query("CREATE SCHEMA s")
	c.Query("USE s")
	c.Query("CREATE TABLE heads (k BIGINT, day DATE, n INTEGER)")
	c.Query("CREATE TABLE lines (k BIGINT, day DATE, v INTEGER)")
	for _, from := range []string{"0", "2500", "4900", "7500"} { // the third file begins before the second one ends
		c.Query("INSERT INTO heads SELECT k, DATE '2020-01-01' + (k // 10)::INTEGER, k % 7 FROM range(" + from + ", " + from + " + 2500) x(k) WHERE k % 3 <> 0")
		c.Query("INSERT INTO lines SELECT k, DATE '2020-01-01' + (k // 10)::INTEGER, k % 11 FROM range(" + from + ", " + from + " + 2500) x(k), range(2) WHERE k % 5 <> 0")
	}
	c.Query("INSERT INTO heads VALUES (NULL, NULL, 1000), (NULL, DATE '1960-01-01', 1001)")
	c.Query("INSERT INTO lines VALUES (NULL, NULL, 2000), (NULL, NULL, 2001), (77, NULL, 5)")

	c.Query("CREATE TABLE near (k BIGINT, j BIGINT)")
	c.Query("INSERT INTO near SELECT k, k FROM range(0, 10000, 7) x(k)")
	c.Query("CREATE TABLE far (k BIGINT, j BIGINT)")
	c.Query("INSERT INTO far SELECT k, 10000 - k FROM range(0, 10000, 3) x(k)")

	queries := map[string]bool{ // whether anything of them is read by ranges
		"SELECT count(*), sum(n), sum(v) FROM heads h JOIN lines l ON h.k = l.k":                                                       true,
		"SELECT count(*), sum(n), sum(v) FROM heads h LEFT JOIN lines l ON h.k = l.k":                                                  true,
		"SELECT count(*), sum(n), sum(v) FROM heads h RIGHT JOIN lines l ON h.k = l.k":                                                 true,
		"SELECT count(*), sum(n), sum(v) FROM heads h FULL JOIN lines l ON h.k = l.k":                                                  true,
		"SELECT count(*), sum(n) FROM heads h WHERE EXISTS (FROM lines l WHERE l.k = h.k AND l.v > h.n)":                               true,
		"SELECT count(*), sum(n) FROM heads h WHERE NOT EXISTS (FROM lines l WHERE l.k = h.k AND l.v > h.n)":                           true,
		"SELECT count(*), sum(n) FROM heads h WHERE n > (SELECT avg(v) FROM lines l WHERE l.k = h.k)":                                  true,
		"SELECT count(*), sum(c), max(c) FROM (SELECT k, count(*) AS c FROM lines GROUP BY k)":                                         true,
		"SELECT count(*), sum(c) FROM (SELECT h.k, count(l.v) AS c FROM heads h LEFT JOIN lines l ON h.k = l.k GROUP BY h.k)":          true,
		"SELECT count(*), sum(c) FROM (SELECT l.k, count(h.n) AS c FROM heads h LEFT JOIN lines l ON h.k = l.k GROUP BY l.k)":          true,
		"SELECT count(*), sum(c) FROM (SELECT l.k, count(h.n) AS c FROM heads h FULL JOIN lines l ON h.k = l.k GROUP BY l.k)":          true,
		"SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY k ORDER BY v) AS r FROM lines)":                          true,
		"SELECT count(*), sum(k) FROM (SELECT DISTINCT k, day FROM lines)":                                                             true,
		"SELECT count(*), sum(k) FROM (SELECT DISTINCT day, k FROM heads)":                                                             true,
		"SELECT count(*), max(c) FROM (SELECT day, count(DISTINCT k) AS c, median(v) FROM lines GROUP BY day)":                         true,
		"SELECT count(*), sum(n) FROM heads h JOIN (SELECT k, sum(v) AS s FROM lines GROUP BY k HAVING sum(v) > 10) l ON h.k = l.k":    true,
		"SELECT count(*), sum(a.v * b.v) FROM lines a JOIN lines b ON a.k = b.k JOIN heads h ON h.k = b.k WHERE a.v <> b.v OR h.n > 3": true,
		"SELECT count(*), sum(v) FROM lines WHERE k NOT IN (SELECT k FROM heads WHERE k IS NOT NULL)":                                  false,
		// Small tables that every task reads are not divided with the large one, though they may be followed to a key each.
		"SELECT count(*), sum(n), max(m) FROM (SELECT far.k, count(*) AS n, median(v) AS m FROM far JOIN near ON far.j = near.j JOIN lines l ON l.k = near.k GROUP BY far.k)":                         true,
		"SELECT count(*), sum(v) FROM (SELECT DISTINCT far.k, v FROM far JOIN near ON far.j = near.j JOIN lines l ON l.k = near.k)":                                                                   true,
		"SELECT count(*), sum(r) FROM (SELECT row_number() OVER (PARTITION BY far.k) AS r FROM far JOIN near ON far.j = near.j JOIN lines l ON l.k = near.k AND l.v > far.j % 3)":                     true,
		"SELECT count(*), sum(s) FROM (SELECT (SELECT sum(v) FROM lines l WHERE l.k = x.nk AND l.v <> x.fk % 5) AS s FROM (SELECT far.k AS fk, near.k AS nk FROM far JOIN near ON far.j = near.j) x)": true,
		// A correlated subquery in another one: each DelimGet is of its own.
		`SELECT count(*), sum(v) FROM (SELECT (SELECT (sum(q.v) % 100)::INTEGER FROM lines q WHERE q.k = w.k AND EXISTS (SELECT 1 FROM heads p WHERE p.k = q.k AND p.n > w.v)) AS v
			FROM (SELECT b.k, z.m AS v FROM lines b CROSS JOIN LATERAL (SELECT min(x.v) AS m FROM lines x WHERE x.k = b.k) z) w) u`: true,
		"SELECT count(*) FROM heads h JOIN lines l ON h.k IS NOT DISTINCT FROM l.k":                                                        true,
		"SELECT v % 3, count(*), count(DISTINCT h.k) FROM heads h JOIN lines l ON h.k = l.k WHERE l.k > 100 GROUP BY v % 3 ORDER BY v % 3": true,
	}
	for _, name := range []string{"target_task_size = '256MB'", "target_task_size = '8KB'"} {
		for sql, ranges := range queries {
			c.Query("SET distribution_threshold = '1GB'")
			want := c.Query(sql)
			c.Query("SET distribution_threshold = '0B'")
			c.Query("SET " + name)
			for _, on := range []string{"true", "false"} {
				c.Query("SET key_ranges = " + on)
				require.Empty(t, compare.Diff(want, c.Query(sql)), "%s, %s, key ranges: %s", sql, name, on)
			}
			if name != "target_task_size = '8KB'" {
				continue
			}
			c.Query("SET key_ranges = true")
			c.Query("SET broadcast_threshold = '-1'")
			text := ""
			for _, row := range c.Query("EXPLAIN " + sql).Rows {
				text += row[len(row)-1].String() + "\n"
			}
			require.Empty(t, compare.Diff(want, c.Query(sql)), sql)
			c.Query("SET broadcast_threshold = '32MB'")
			require.Equal(t, ranges, strings.Contains(text, "ranges of"), "%s\n%s", sql, text)
		}
	}
}
