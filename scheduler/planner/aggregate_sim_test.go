package planner_test

import (
	"fmt"
	"testing"
)

// spread are tables of numbers for statistics: large values near each other, NULLs, groups of no, one and many rows.
var spread = []string{
	`CREATE TABLE m AS SELECT i AS id, i % 3 AS g, CASE WHEN i % 7 = 3 THEN NULL ELSE 1e4 + (i * 37 % 101) / 8 END::DOUBLE AS x,
		CASE WHEN i % 5 = 1 THEN NULL ELSE 1e3 + (i * 53 % 97) / 4 + i / 16 END::DOUBLE AS y, CASE WHEN i % 4 = 0 THEN NULL ELSE 's' || i % 9 END AS s,
		CASE WHEN i % 6 = 2 THEN NULL ELSE i % 11 END AS k, TIMESTAMP '1969-12-31 23:59:59' + to_microseconds(i * 7919) AS ts,
		(i * 7919 % 100003)::DECIMAL(15,2) / 100 AS d, [i % 3, NULL] AS l FROM range(300) t(i)`,
	`CREATE TABLE single AS SELECT 1 AS id, 1 AS g, 5.5::DOUBLE AS x, 2.5::DOUBLE AS y, 's' AS s, 1 AS k`,
	`CREATE TABLE flat AS SELECT i AS id, i % 2 AS g, 4.25::DOUBLE AS x, i::DOUBLE AS y FROM range(40) t(i)`,
	`CREATE TABLE none(id BIGINT, g BIGINT, x DOUBLE, y DOUBLE, s VARCHAR, k BIGINT)`,
	`CREATE TABLE infinite AS SELECT i AS id, i % 2 AS g, CASE WHEN i = 7 THEN 'inf' ELSE i::VARCHAR END::DOUBLE AS x FROM range(40) t(i)`,
	`CREATE TABLE skew AS SELECT i AS id, CASE WHEN i < 380 THEN 1 ELSE i END AS g, i % 97 AS v, i % 50 AS w FROM range(400) t(i)`,
}

func newSpread(t *testing.T) *simulator {
	t.Parallel()
	s := newSimulator(t)
	for _, table := range spread {
		s.exec(table)
	}
	s.describe()
	return s
}

func (s *simulator) checkForEach(t *testing.T, format string, values ...string) {
	for _, v := range values {
		s.checkAll(t, fmt.Sprintf(format, v))
	}
}

// Variances and correlations are merged from states; doubles are compared within 1e-9 of each other (package compare).
func TestMomentsMerge(t *testing.T) {
	s := newSpread(t)
	one := "var_pop(x), var_samp(x), stddev(x), stddev_pop(x), sem(x), avg(x), count(x)"
	two := "covar_pop(y, x), covar_samp(y, x), corr(y, x), regr_slope(y, x), regr_intercept(y, x), regr_r2(y, x), regr_count(y, x), regr_sxx(y, x), regr_syy(y, x), regr_sxy(y, x), regr_avgx(y, x), regr_avgy(y, x)"
	for _, table := range []string{"m", "single", "flat", "none"} {
		s.checkForEach(t, "SELECT %s FROM "+table, one, two)
		s.checkForEach(t, "SELECT g, %s FROM "+table+" GROUP BY g", one, two)
		s.checkForEach(t, "SELECT g, %s FROM "+table+" WHERE id %% 100 = 1 GROUP BY g", one, two)
		s.checkForEach(t, "SELECT g, %s FROM "+table+" GROUP BY ROLLUP(g)", one, two)
	}
	// Each fails where it fails in DuckDB, and is NaN where it is NaN there.
	for _, name := range []string{"covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy", "regr_sxy", "regr_avgx", "regr_avgy"} {
		s.checkForEach(t, "SELECT "+name+"(%s) FROM infinite", "x, id::DOUBLE", "id::DOUBLE, x", "x, 1", "1, x")
		s.checkForEach(t, "SELECT g, "+name+"(%s) FROM infinite WHERE id IN (7, 8, 10) GROUP BY g", "x, id::DOUBLE", "id::DOUBLE, x")
	}
	// Sums of squares would lose all digits of these.
	s.exec("CREATE TABLE far AS SELECT i % 3 AS g, i % 11 / 4 AS x, 1e9 + i % 11 / 4 AS y FROM range(300) t(i)")
	s.describe()
	s.checkAll(t, "SELECT abs(var_pop(x) - var_pop(y)) < 1e-6 * var_pop(x), abs(corr(x, y) - 1) < 1e-6, abs(regr_sxx(x, y) - regr_syy(x, y)) < 1e-6 * regr_syy(x, y) FROM far", "SELECT g, abs(stddev(x) - stddev(y)) < 1e-6 * stddev(x) FROM far GROUP BY g")
	s.checkAll(t, "SELECT stddev(x) FILTER (WHERE k = 3), corr(x, y) FILTER (WHERE k > 5), var_pop(DISTINCT k), stddev(DISTINCT k) FILTER (WHERE g = 1) FROM m",
		"SELECT stddev(x) FROM infinite", "SELECT g, var_pop(x) FROM infinite GROUP BY g", "SELECT g, var_pop(x) FROM infinite WHERE g = 0 GROUP BY g", "SELECT var_pop(x) FROM infinite WHERE id = 7",
		"SELECT skewness(y), entropy(id), mad(y), fsum(x), favg(y), kurtosis_pop(y) FROM flat", "SELECT g, kurtosis(k), entropy(k), fsum(x), approx_count_distinct(k) FROM m GROUP BY g")
}

// count_if of no value is NULL, which a count is not.
func TestCountIfMerge(t *testing.T) {
	s := newSpread(t)
	s.checkForEach(t, "SELECT %s FROM m", "count_if(x > 10005)", "count_if(k > 3) FILTER (WHERE k IS NULL)", "count_if(NULL::BOOLEAN)", "count_if(k > 3) FILTER (WHERE id > 299)")
	s.checkAll(t, "SELECT g, count_if(x > 10005), count_if(k > 3) FILTER (WHERE k IS NULL OR g = 1) FROM m GROUP BY g", "SELECT k, countif(k > 3) FROM m GROUP BY k", "SELECT count_if(id > 3) FROM none")
}

// Aggregates that take the value of one row, with NULLs among values and what orders them.
func TestArgMinMerge(t *testing.T) {
	s := newSpread(t)
	for _, name := range []string{"arg_min", "arg_max", "arg_min_null", "arg_max_null", "max_by"} {
		s.checkForEach(t, "SELECT "+name+"(%s) FROM m", "s, id", "id, x + id / 1e3", "k, id", "id, CASE WHEN id % 2 = 0 THEN id END", "l, -id", "s, ts")
		s.checkForEach(t, "SELECT g, "+name+"(%s) FROM m GROUP BY g", "s, id", "id, x + id / 1e3", "k, -id", "id, CASE WHEN id % 2 = 0 THEN id END", "s, NULL::BIGINT")
		s.checkAll(t, "SELECT "+name+"(s, id) FROM none", "SELECT "+name+"(s, id) FILTER (WHERE id % 5 = 4), "+name+"(s, id) FILTER (WHERE false) FROM m", "SELECT g, "+name+"(g, g) FROM m GROUP BY g")
	}
	s.checkAll(t, "SELECT arg_min(id, id, 3), max_by(s, id, 2) FROM m", "SELECT g, arg_max(s, id, 3) FROM m GROUP BY g", "SELECT first(s ORDER BY id), last(s ORDER BY id), first(s ORDER BY k NULLS FIRST, id), any_value(s ORDER BY id) FROM m", "SELECT g, first(k ORDER BY id DESC), first(id ORDER BY k NULLS LAST, id) FROM m GROUP BY g",
		"SELECT first(k ORDER BY s, id) FROM none", "SELECT first(k ORDER BY s, id) FROM m WHERE s IS NULL", "SELECT g, first(g), last(g), arbitrary(g) FROM m GROUP BY g", "SELECT first(g) FROM m WHERE g = 2", "SELECT first(g) FILTER (WHERE id = 250), last(s) FILTER (WHERE id = 8) FROM m",
		"SELECT first(k) FROM m WHERE k IS NULL", "SELECT first(x), any_value(x), last(s) FROM none", "SELECT max(id, 3), min(s, 2), max(x) FROM m", "SELECT g, max(id, 3), min(s, 2) FROM m GROUP BY g", "SELECT histogram(k), list_sort(map_keys(histogram(s))) FROM m", "SELECT g, histogram(k) FROM m GROUP BY g")
}

// avg is right to the last digit of the double, which its text shows.
func TestAveragesAreExact(t *testing.T) {
	s := newSpread(t)
	s.exec(`CREATE TABLE av AS SELECT i % 1009 AS g, i % 7 AS h, ((i * 7919::BIGINT) % 1000003)::BIGINT AS b, ((i * 104729::BIGINT) % 100000007)::DECIMAL(15,2) / 7 AS f,
		(((i * 104729::BIGINT) % 100000007)::DECIMAL(15,2) / 7)::DECIMAL(15,2) AS d, ((i * 31337) % 9973)::DECIMAL(4,0)::DECIMAL(5,1) AS d5, ((i * 31337) % 99)::DECIMAL(4,2) AS d4, (i::HUGEINT * 12345678901234567 % 1000000000000000000)::DECIMAL(38,10) * (i % 1000) AS d38,
		(i % 32749)::SMALLINT AS s, (hash(i) % 100000000)::INTEGER AS n, (hash(i) % 200)::UTINYINT AS u, TIMESTAMP '1970-01-01' + to_microseconds((hash(i) % 20000000000)::BIGINT - 10000000000) AS ts FROM range(20000) t(i)`)
	s.describe()
	for _, c := range []string{"b", "d", "d5", "d4", "d38", "s", "n", "u", "b::HUGEINT", "ts", "ts::TIMESTAMPTZ", "ts::DATE", "ts::TIME", "s::UBIGINT"} {
		s.checkAll(t, "SELECT g, avg("+c+")::VARCHAR FROM av GROUP BY g", "SELECT avg("+c+")::VARCHAR, (avg("+c+") FILTER (WHERE g = 3))::VARCHAR, (avg("+c+") FILTER (WHERE false))::VARCHAR FROM av", "SELECT h, avg(DISTINCT "+c+")::VARCHAR FROM av GROUP BY h", "SELECT g, h, avg("+c+")::VARCHAR FROM av GROUP BY CUBE(g, h)")
	}
}

// Instants are averaged with the infinite ones that there are.
func TestAveragesOfInfiniteInstants(t *testing.T) {
	s := newSpread(t)
	s.exec("CREATE TABLE inst AS SELECT i AS id, i % 4 AS g, CASE i % 4 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN CASE WHEN i = 6 THEN 'infinity' ELSE '2020-01-01' END ELSE '1950-06-0' || (1 + i % 9) END::TIMESTAMP AS ts FROM range(40) t(i)")
	s.describe()
	s.checkForEach(t, "SELECT g, avg(ts)::VARCHAR, avg(ts::TIMESTAMPTZ)::VARCHAR FROM inst %s GROUP BY g", "WHERE g IN (0, 1) AND id < 2", "WHERE g > 1", "WHERE g = 0 AND id = 8")
	s.checkAll(t, "SELECT avg(ts)::VARCHAR FROM inst WHERE g = 3", "SELECT avg(ts) FILTER (WHERE id = 0) FROM inst")
}

// DISTINCT aggregates: few and many groups, several sets of values, filters, aggregates of the rows beside them.
func TestDistinctAggregates(t *testing.T) {
	s := newSpread(t)
	distinct := []string{
		"count(DISTINCT k)", "count(DISTINCT k), count(*), sum(id), avg(x)", "count(DISTINCT k), count(DISTINCT s), min(id)", "count(DISTINCT k), sum(DISTINCT k), avg(DISTINCT k), max(DISTINCT s)",
		"count(DISTINCT (k, s)), count(DISTINCT l), count(DISTINCT x)", "count(DISTINCT k) FILTER (WHERE id % 2 = 0), count(DISTINCT k) FILTER (WHERE s IS NULL), count(DISTINCT k)", "count(DISTINCT g), count(g), sum(DISTINCT g)",
		"count(DISTINCT k) FILTER (WHERE false), stddev(x), count(DISTINCT 1), arg_min(s, id)", "count(DISTINCT CASE WHEN id > 50 THEN k END), bool_and(DISTINCT id > 3), sum(DISTINCT d)",
		"median(DISTINCT k), count(*)", "list_sort(list(DISTINCT k)), list_sort(list(DISTINCT s) FILTER (WHERE id < 100)), count(s)", "string_agg(DISTINCT s, ',' ORDER BY s), sum(d)", "list(DISTINCT k ORDER BY k DESC NULLS LAST)",
		"count(DISTINCT k), median(x)", "approx_count_distinct(s), approx_count_distinct(id), count(*)", "regr_count(DISTINCT k, g), regr_avgx(DISTINCT k, g), count(DISTINCT s)", "product(DISTINCT g + 1), bit_xor(DISTINCT k), bit_xor(id), product(1 + g / 1e3)",
	}
	s.checkForEach(t, "SELECT %s FROM m", distinct...)
	s.checkForEach(t, "SELECT g, %s FROM m GROUP BY g", distinct...)
	s.checkForEach(t, "SELECT %s FROM m WHERE id < 0", distinct...)
	s.checkForEach(t, "SELECT g, k, %s FROM m GROUP BY ROLLUP(g, k)", distinct...)
	s.checkAll(t, "SELECT g, count(DISTINCT v), count(DISTINCT w), count(*) FROM skew GROUP BY g", "SELECT k, g + 1, count(DISTINCT s) FROM m GROUP BY k, g + 1", "SELECT k, count(DISTINCT s) c FROM m GROUP BY k HAVING count(DISTINCT s) > 3 ORDER BY c, k",
		"SELECT id % 2, count(DISTINCT random() < 2) FROM m GROUP BY 1", "SELECT count(DISTINCT x) FROM (SELECT DISTINCT k x FROM m)", "SELECT sum(c) FROM (SELECT g, count(DISTINCT k) c FROM m GROUP BY g)")
}

// Grouping sets: every row once for each set, the row of the empty set also over nothing.
func TestGroupingSets(t *testing.T) {
	s := newSpread(t)
	calls := []string{"count(*), sum(id), avg(x), min(s)", "count(DISTINCT s), count(*)", "median(x), count(*)", "list_sort(list(id)), stddev(y)", "quantile_cont(x, 0.5) FILTER (WHERE id > 20), string_agg(s, ',' ORDER BY id)", "first(x) FILTER (WHERE id = 77), arg_max(s, id), mode(k) FILTER (WHERE k = 3)"}
	for _, by := range []string{"ROLLUP(g, k)", "CUBE(g, k)", "GROUPING SETS ((g), (k), (), ())", "GROUPING SETS ((g, k), (g, k), (k))", "g, ROLLUP(k)"} {
		s.checkForEach(t, "SELECT g, k, GROUPING(g), GROUPING(k, g), GROUPING(g, k), %s FROM m GROUP BY "+by, calls...)
		s.checkForEach(t, "SELECT g, k, GROUPING(k, g), %s FROM none GROUP BY "+by, calls...)
	}
	s.checkAll(t, "SELECT k % 2, g * 2, GROUPING(k % 2), median(x) FROM m GROUP BY CUBE(k % 2, g * 2)", "SELECT random() < 2, g, median(x) FROM m GROUP BY CUBE(1, g)", "SELECT g, sum(id) FROM m GROUP BY ROLLUP(g) HAVING GROUPING(g) = 1",
		"SELECT count(*) FROM m GROUP BY GROUPING SETS (())", "SELECT median(x) FROM none GROUP BY GROUPING SETS ((), ())", "SELECT s, g, k, count(*), GROUPING(s, g, k) FROM m GROUP BY CUBE(s, g, k)", "SELECT l, g, median(k) FROM m GROUP BY CUBE(l, g)")
}
