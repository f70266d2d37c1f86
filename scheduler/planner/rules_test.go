package planner_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// hazards are tables that distribution goes wrong on: NULLs, no rows, few rows, values that are equal in several forms.
var hazards = []string{
	`CREATE TABLE a AS SELECT i AS id, CASE WHEN i % 7 = 3 THEN NULL ELSE i % 10 END AS k, i % 4 AS g, CASE WHEN i % 5 = 0 THEN NULL ELSE i * 1.5 END::DOUBLE AS v,
		CASE WHEN i % 6 = 0 THEN NULL ELSE 's' || i % 9 END AS s, [i % 3, NULL, i] AS l FROM range(200) x(i)`,
	`CREATE TABLE b AS SELECT i AS id, CASE WHEN i % 6 = 1 THEN NULL ELSE i % 14 END AS k, i % 3 AS g, 's' || i % 5 AS s FROM range(60) x(i)`,
	`CREATE TABLE nonulls AS SELECT i % 8 AS k FROM range(40) x(i)`,
	`CREATE TABLE nothing(id BIGINT, k BIGINT, g BIGINT, v DOUBLE, s VARCHAR)`,
	`CREATE TABLE one AS SELECT 3::BIGINT AS id, 3::BIGINT AS k, 1::BIGINT AS g, 's3' AS s`,
	`CREATE TABLE allnull AS SELECT NULL::BIGINT AS k, i % 3 AS g FROM range(30) x(i)`,
	`CREATE TABLE types AS SELECT i % 3 AS g, i::TINYINT AS ti, i::SMALLINT AS si, i::INTEGER AS ii, i::BIGINT AS bi, (i * 170141183460469231731687303715884::HUGEINT) AS hi, i::UTINYINT AS uti,
		i::USMALLINT AS usi, i::UINTEGER AS ui, (18446744073709551600 + i % 8)::UBIGINT AS ubi, (i::UHUGEINT * 3402823669209384634633746074317682114::UHUGEINT) AS uhi,
		CASE i % 5 WHEN 0 THEN '-0.0' WHEN 1 THEN '0.0' WHEN 2 THEN 'nan' WHEN 3 THEN 'inf' ELSE '-7.25' END::FLOAT AS f,
		CASE i % 5 WHEN 0 THEN '-0.0' WHEN 1 THEN '0.0' WHEN 2 THEN 'nan' WHEN 3 THEN '1e300' ELSE '-7.25' END::DOUBLE AS d,
		(i / 100)::DECIMAL(4,2) AS d4, (i / 10)::DECIMAL(18,3) AS d18, (i * 12345678901234567)::DECIMAL(38,10) AS d38, i % 2 = 0 AS bo, DATE '2024-01-01' + (i % 9)::INTEGER AS da,
		TIME '10:00:00' + to_seconds(i) AS tm, ('10:00:00+0' || i % 3)::TIMETZ AS tz, TIMESTAMP '2024-01-01' + to_hours(i) AS ts, (TIMESTAMP '2024-01-01' + to_hours(i))::TIMESTAMP_S AS tss,
		(TIMESTAMP '2024-01-01' + to_hours(i))::TIMESTAMP_NS AS tsn, (TIMESTAMP '2024-01-01' + to_hours(i))::TIMESTAMPTZ AS tstz,
		CASE i % 3 WHEN 0 THEN INTERVAL '1 month' WHEN 1 THEN INTERVAL '30 days' ELSE INTERVAL '720 hours' END AS iv, ('00000000-0000-0000-0000-0000000000' || (10 + i % 20))::UUID AS u,
		('b' || i % 4)::BLOB AS bl, (i % 4)::BIT AS bt, CASE i % 2 WHEN 0 THEN 'x' ELSE 'y' END::ENUM('y', 'x') AS e, [i % 2, NULL] AS l, {'a': i % 2, 'b': 's' || i % 2} AS st,
		MAP {'k': i % 3} AS m, [i % 2, 1]::BIGINT[2] AS ar, ('{"a":' || i % 2 || '}')::JSON AS j, CASE WHEN i % 2 = 0 THEN union_value(n := i % 3) ELSE union_value(n := 1) END AS un,
		['a', 'A', 'b', 'B'][1 + i % 4] AS ci FROM range(100) x(i)`,
}

func newHazards(t *testing.T) *simulator {
	t.Parallel()
	s := newSimulator(t)
	for _, h := range hazards {
		s.exec(h)
	}
	s.describe()
	return s
}

// checkAll is for statements whose answer is specified.
func (s *simulator) checkAll(t *testing.T, statements ...string) {
	for _, sql := range statements {
		t.Run("", func(t *testing.T) {
			s.t = t
			require.False(t, s.check(sql, s.settings()...).Unspecified, "the answer must be specified: %s", sql)
		})
	}
}

// Rule 11: the leaves of every branch are read exactly once.
func TestRule11EveryBranchIsReadOnce(t *testing.T) {
	newHazards(t).checkAll(t,
		"SELECT id FROM a UNION ALL SELECT id FROM a",
		"SELECT id, k FROM a UNION ALL SELECT id, k FROM b UNION ALL SELECT id, k FROM one",
		"SELECT count(*), sum(id) FROM (SELECT id FROM a UNION ALL SELECT id FROM a UNION ALL SELECT id FROM nothing)",
		"SELECT id FROM a UNION ALL SELECT * FROM (VALUES (1), (2), (NULL))",
		"SELECT id FROM a UNION ALL SELECT 1",
		"SELECT id FROM a UNION ALL SELECT * FROM range(3)",
		"SELECT x.id FROM a x JOIN a y ON x.id = y.id",
		"SELECT x.id, y.id FROM a x JOIN a y ON x.k = y.id UNION ALL SELECT id, k FROM a",
		"SELECT x.id FROM a x JOIN one ON x.k = one.k UNION ALL SELECT id FROM a UNION ALL SELECT id FROM one",
		"WITH c AS MATERIALIZED (SELECT g, count(*) n FROM a GROUP BY g) SELECT * FROM c UNION ALL SELECT * FROM c",
		"WITH c AS MATERIALIZED (SELECT id, k FROM a WHERE k > 3) SELECT x.id, y.id FROM c x JOIN c y ON x.k = y.k UNION ALL SELECT id, k FROM c",
		"WITH c AS MATERIALIZED (SELECT id, k FROM a), d AS MATERIALIZED (SELECT * FROM c UNION ALL SELECT * FROM c) SELECT count(*) FROM d, c",
		"SELECT count(*) FROM a UNION ALL SELECT count(*) FROM b UNION ALL SELECT count(*) FROM nothing",
		"SELECT sum(n) FROM (SELECT count(*) n FROM a UNION ALL SELECT max(id) FROM b UNION ALL SELECT id FROM a)",
		"SELECT id, (SELECT max(id) FROM b) FROM a UNION ALL SELECT id, 1 FROM a",
		"SELECT g, count(*) FROM a GROUP BY ROLLUP(g) UNION ALL SELECT g, count(*) FROM b GROUP BY CUBE(g)",
		"SELECT id FROM a WHERE k = (SELECT count(*) FROM one) UNION ALL SELECT id FROM b",
		"(SELECT id FROM a ORDER BY id LIMIT 5) UNION ALL (SELECT id FROM b ORDER BY id DESC LIMIT 5)",
		"SELECT k::INTEGER FROM a UNION ALL SELECT v FROM a UNION ALL SELECT NULL UNION ALL SELECT 1.25",
		"SELECT k FROM a UNION SELECT k FROM b", "SELECT k, s FROM a UNION SELECT k, s FROM b UNION SELECT id, s FROM one",
		"SELECT k FROM a INTERSECT SELECT k FROM b", "SELECT k FROM a EXCEPT SELECT k FROM b",
		"SELECT k FROM a INTERSECT ALL SELECT k FROM b", "SELECT k FROM a EXCEPT ALL SELECT k FROM b",
		"SELECT k, g FROM a EXCEPT ALL SELECT k, g FROM b", "SELECT k FROM a EXCEPT SELECT k FROM nothing", "SELECT k FROM nothing EXCEPT ALL SELECT k FROM a",
		"SELECT k FROM a INTERSECT ALL SELECT k FROM allnull", "SELECT k::DOUBLE FROM a INTERSECT SELECT k::INTEGER FROM b",
		"SELECT k FROM a EXCEPT SELECT 3", "SELECT 3 EXCEPT SELECT k FROM a", "SELECT k FROM a EXCEPT SELECT k FROM b INTERSECT SELECT k FROM one",
	)
}

// Rule 13: what a scan may prune by is weaker than the filter, never stronger: here a scan drops all that its predicate
// rejects.
func TestRule13PruningDropsNothing(t *testing.T) {
	s := newSimulator(t)
	s.exec(`CREATE TABLE p AS SELECT i AS id, (i / 10)::REAL AS r, i / 10 AS d, ['a_c', 'abc', 'a_cd', 'star%', 'star', 'starry', NULL, 'a\_c'][1 + i % 8] AS s,
		CASE WHEN i % 3 = 0 THEN NULL ELSE i % 10 END AS n, CASE WHEN i % 5 = 0 THEN NULL ELSE i % 7 END AS m FROM range(80) x(i)`)
	s.describe()
	s.checkAll(t,
		"SELECT id FROM p WHERE r = 0.1::DOUBLE", "SELECT id FROM p WHERE r = 0.1", "SELECT id FROM p WHERE r::DOUBLE = 0.1::DOUBLE", "SELECT id FROM p WHERE r::DOUBLE > 0.1::DOUBLE AND r < 0.35",
		"SELECT id FROM p WHERE d::REAL = 0.3::REAL", "SELECT id FROM p WHERE r IN (0.1, 0.2::DOUBLE)", "SELECT id FROM p WHERE id::VARCHAR < '2'", "SELECT id FROM p WHERE d::INTEGER = 2",
		`SELECT id, s FROM p WHERE s LIKE 'a\_c%' ESCAPE '\'`, `SELECT id, s FROM p WHERE s LIKE 'a_c%'`, `SELECT id, s FROM p WHERE s LIKE 'star\%' ESCAPE '\'`,
		`SELECT id, s FROM p WHERE s LIKE 'a\_c%'`, `SELECT id, s FROM p WHERE s LIKE 'star%'`, `SELECT id, s FROM p WHERE s NOT LIKE 'star%'`, `SELECT id, s FROM p WHERE s ILIKE 'STAR%'`,
		`SELECT id, s FROM p WHERE s ^@ 'a_'`, `SELECT id, s FROM p WHERE NOT (s LIKE 'a\_c%' ESCAPE '\')`, `SELECT id, s FROM p WHERE s SIMILAR TO 'star.*'`,
		"SELECT id FROM p WHERE NOT (n > 3 AND id % 2 = 0)", "SELECT id FROM p WHERE NOT (n > 3 AND s LIKE '%c')", "SELECT id FROM p WHERE NOT (n > 3 OR id % 2 = 0)",
		"SELECT id FROM p WHERE NOT (n IN (1, 2) AND m + 1 > 3)", "SELECT id FROM p WHERE (n > 3 AND id % 2 = 0) IS NOT TRUE", "SELECT id FROM p WHERE n NOT IN (1, NULL)",
		"SELECT id FROM p WHERE NOT (n BETWEEN 2 AND 5 AND m IS NULL)", "SELECT id FROM p WHERE n IS DISTINCT FROM 4 AND m IS NOT DISTINCT FROM NULL", "SELECT id FROM p WHERE coalesce(n, 4) = 4",
		"SELECT id FROM p WHERE n > 3 OR m IS NULL", "SELECT id FROM p WHERE (n = 1 OR m = 2) AND (id > 5 OR s = 'abc')", "SELECT id FROM p WHERE n = m", "SELECT id FROM p WHERE random() >= 0 AND n = 4",
	)
}

// Rule 26, aggregates: the one row of a global aggregate, NULLs, empty input, every type.
func TestRule26Aggregates(t *testing.T) {
	s := newHazards(t)
	s.checkAll(t,
		"SELECT count(*), count(v), sum(id), min(s), max(v), avg(v), bool_and(id > 3), any_value(s), bit_and(id), sum(v) FROM nothing",
		"SELECT count(*), sum(k), avg(k), min(k), count(k), count(DISTINCT k), bool_or(k > 1) FROM allnull",
		"SELECT g, count(*), sum(k), avg(k), min(k), count(k) FROM allnull GROUP BY g", "SELECT g, sum(id) FROM nothing GROUP BY g",
		"SELECT count(*) FROM a WHERE id < 0", "SELECT sum(id) FROM a WHERE s = 'none'", "SELECT g, count(*) FROM a WHERE id < 0 GROUP BY g",
		"SELECT 1 FROM a HAVING count(*) > 0", "SELECT 1 FROM nothing HAVING count(*) = 0", "SELECT 'x' FROM a GROUP BY ()", "SELECT count(*) FROM nothing GROUP BY ()",
		"SELECT g, GROUPING(g), count(*) FROM nothing GROUP BY ROLLUP(g)", "SELECT count(*) FROM nothing GROUP BY GROUPING SETS ((), ())",
		"SELECT g, k, GROUPING(g), GROUPING(k, g), count(*), sum(v), min(s), count(DISTINCT s) FROM a GROUP BY GROUPING SETS ((g, k), (g), (), ())",
		"SELECT g, k, count(*) FILTER (WHERE v > 20), avg(v) FROM a GROUP BY CUBE(g, k)", "SELECT k % 2, g, sum(id) FROM a GROUP BY ROLLUP(k % 2, g) HAVING GROUPING(g) = 1",
		"SELECT count(*) FILTER (WHERE k > 3), sum(id) FILTER (WHERE k IS NULL), avg(v) FILTER (WHERE g = 1), min(s) FILTER (WHERE false) FROM a",
		"SELECT g, count(*) FILTER (WHERE k > 3), sum(id) FILTER (WHERE k IS NULL), avg(v) FILTER (WHERE g = 1), min(s) FILTER (WHERE false), bool_and(k > 0) FILTER (WHERE k < 5) FROM a GROUP BY g",
		"SELECT count(DISTINCT k), count(DISTINCT s), sum(DISTINCT k), avg(DISTINCT k), min(DISTINCT k), max(DISTINCT s) FROM a",
		"SELECT g, count(DISTINCT k), sum(DISTINCT k) FILTER (WHERE id > 10), min(DISTINCT v), bool_or(DISTINCT k > 3) FROM a GROUP BY g",
		"SELECT k, count(*) FROM a GROUP BY k", "SELECT k, s, sum(v) FROM a GROUP BY k, s", "SELECT k + g, count(*) FROM a GROUP BY k + g", "SELECT DISTINCT k FROM a", "SELECT DISTINCT k, s FROM a",
		"SELECT count(*) FROM (SELECT DISTINCT k, g FROM a)", "SELECT sum(c) FROM (SELECT k, count(*) c FROM a GROUP BY k)", "SELECT k, max(c) FROM (SELECT k, g, count(*) c FROM a GROUP BY k, g) GROUP BY k",
		"SELECT k, string_agg(s, ',' ORDER BY id), list(id ORDER BY id), quantile_cont(v, 0.5), arg_max(id, id), first(id ORDER BY id) FROM a GROUP BY k",
		"SELECT string_agg(s, ',' ORDER BY id), median(v), mode(g) FROM a WHERE g = 2", "SELECT k + 1, median(v) FROM a GROUP BY k + 1", "SELECT k, median(v) FROM a GROUP BY ALL HAVING count(*) > 5",
		"SELECT l[1], count(*) FROM a GROUP BY 1", "SELECT l, count(*) FROM a GROUP BY l",
		"SELECT random() < 2, count(*) FROM a GROUP BY 1", "SELECT count(*) FROM (SELECT random() r, median(v) FROM a GROUP BY 1)",
	)
	for _, c := range []string{"ti", "si", "ii", "bi", "hi", "uti", "usi", "ui", "ubi", "uhi", "f", "d", "d4", "d18", "d38"} {
		s.checkAll(t, "SELECT sum("+c+"), avg("+c+"), min("+c+"), max("+c+"), count("+c+") FROM types",
			"SELECT g, sum("+c+"), avg("+c+"), min("+c+") FROM types GROUP BY g", "SELECT sum("+c+") FILTER (WHERE "+c+" > 1000000) FROM types")
	}
	for _, c := range []string{"ti", "hi", "uhi", "ubi", "f", "d", "d4", "d38", "bo", "da", "tm", "tz", "ts", "tss", "tsn", "tstz", "u", "bl", "bt", "e", "l", "st", "m", "ar", "ci"} {
		s.checkAll(t, "SELECT min("+c+"), max("+c+"), count(DISTINCT "+c+") FROM types", "SELECT g, min("+c+"), max("+c+") FROM types GROUP BY g",
			"SELECT "+c+", count(*), sum(ii) FROM types GROUP BY "+c, "SELECT "+c+", median(ii) FROM types GROUP BY "+c, "SELECT DISTINCT "+c+" FROM types",
			"SELECT count(*) FROM types x JOIN types y ON x."+c+" = y."+c, "SELECT x."+c+" FROM types x WHERE "+c+" IN (SELECT "+c+" FROM types y WHERE y.g = 1)",
			"SELECT "+c+" FROM types EXCEPT ALL SELECT "+c+" FROM types WHERE ii > 50", "SELECT ii, row_number() OVER (PARTITION BY "+c+" ORDER BY ii) FROM types")
	}
	s.checkAll(t, "SELECT bool_and(bo), bool_or(bo), bit_and(ti), bit_or(bi), bit_xor(ii), bit_or(bt), avg(iv), avg(ts), avg(da), avg(tm), sum(bo::INTEGER), avg(bo::INTEGER) FROM types",
		"SELECT g, any_value(g), bit_and(ti), bit_or(ubi), bit_xor(ii), product(d4), count_if(bo), sum(bo) FROM types GROUP BY g",
		"SELECT iv = INTERVAL '30 days', count(*) FROM types GROUP BY iv = INTERVAL '30 days'", "SELECT count(*) FROM types x JOIN types y ON x.iv = y.iv", "SELECT count(DISTINCT iv) FROM types",
		"SELECT lower(ci), count(*) FROM types GROUP BY ci COLLATE NOCASE, lower(ci)", "SELECT count(*) FROM types x JOIN types y ON x.ci COLLATE NOCASE = y.ci COLLATE NOCASE",
		"SELECT un, ii FROM types WHERE ii > 90 ORDER BY ii", "SELECT un, count(*) FROM types GROUP BY un", "SELECT g, min(un) FROM types GROUP BY g", "SELECT j::VARCHAR, count(*) FROM types GROUP BY j", "SELECT min(j) FROM types",
		"SELECT count(*) FROM types x JOIN types y ON x.un = y.un", "SELECT DISTINCT un FROM types", "SELECT ii, un FROM types ORDER BY ii LIMIT 3",
		"SELECT count(*) FROM types x JOIN types y ON x.ti = y.hi", "SELECT count(*) FROM types x JOIN types y ON x.d4 = y.d18", "SELECT count(*) FROM types x JOIN types y ON x.ii = y.d", "SELECT count(*) FROM types x JOIN types y ON x.ts = y.tsn",
		"SELECT count(*) FROM types x JOIN types y ON x.ts = y.tss AND x.g = y.g", "SELECT count(*) FROM types x FULL JOIN types y ON x.ui = y.uhi", "SELECT count(*) FROM types x JOIN types y ON x.da = y.ts",
		"SELECT sum(d38) * 2, avg(d38 / 3), sum(hi) - max(hi), sum(d4 * d4), sum(d18::DECIMAL(38,3)) FROM types",
		"SELECT sum(x) FROM (SELECT 9999999999999999999999999999999999.9999::DECIMAL(38,4) * (id % 2) AS x FROM a)", "SELECT sum(x::HUGEINT * 100000000000000000000000000000) FROM (SELECT bi x FROM types)",
		"SELECT sum(170141183460469231731687303715884105727::HUGEINT * (id % 2)) FROM a")
}

// Rule 26, joins: rows of the kept side appear once, NULLs never match but where they must, NOT IN and its kin are
// three-valued.
func TestRule26Joins(t *testing.T) {
	s := newHazards(t)
	for _, kind := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"} {
		for _, pair := range []string{"a x %s b y", "b x %s a y", "a x %s nothing y", "nothing x %s a y", "a x %s allnull y", "one x %s a y", "a x %s one y", "allnull x %s one y"} {
			from := fmt.Sprintf(pair, kind)
			s.checkAll(t, "SELECT x.k, x.g, y.k, y.g FROM "+from+" ON x.k = y.k", "SELECT x.k, x.g, y.k, y.g FROM "+from+" ON x.k = y.k AND x.g < y.g",
				"SELECT count(*), count(x.k), count(y.k) FROM "+from+" ON x.k < y.k AND x.g <> y.g", "SELECT x.k, y.k, count(*) FROM "+from+" ON x.k IS NOT DISTINCT FROM y.k GROUP BY ALL",
				"SELECT x.k, y.g FROM "+from+" ON x.k = y.k AND x.g = 1", "SELECT x.k, count(*), sum(y.k) FROM "+from+" ON x.k = y.k GROUP BY x.k", "SELECT y.k, count(*) FROM "+from+" ON x.k = y.k GROUP BY y.k",
				"SELECT count(*) FROM "+from+" ON x.k + 1 = y.k + y.g OR x.g = y.k")
		}
	}
	for _, in := range []string{"nonulls", "b", "nothing", "allnull", "one"} {
		s.checkAll(t, "SELECT id FROM a WHERE k NOT IN (SELECT k FROM "+in+")", "SELECT id FROM a WHERE k IN (SELECT k FROM "+in+")", "SELECT id, k IN (SELECT k FROM "+in+"), k NOT IN (SELECT k FROM "+in+") FROM a",
			"SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM "+in+" x WHERE x.k = a.k)", "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM "+in+" x WHERE x.k = a.k) OR g = 2", "SELECT id FROM a ANTI JOIN "+in+" x ON x.k = a.k",
			"SELECT id FROM a SEMI JOIN "+in+" x ON x.k = a.k AND x.k < a.g", "SELECT id FROM a WHERE k > ALL (SELECT k FROM "+in+")", "SELECT id FROM a WHERE k <= ANY (SELECT k FROM "+in+")",
			"SELECT id, (SELECT max(k) FROM "+in+") FROM a", "SELECT id FROM a WHERE k = (SELECT max(k) FROM "+in+")", "SELECT id, (SELECT count(*) FROM "+in+" x WHERE x.k = a.k) FROM a",
			"SELECT id FROM a WHERE k NOT IN (SELECT k FROM "+in+" WHERE k IS NOT NULL) AND k NOT IN (SELECT x.k FROM b x WHERE x.g = a.g)", "SELECT k, k NOT IN (SELECT k FROM "+in+") FROM allnull",
			"SELECT count(*) FROM nothing WHERE k NOT IN (SELECT k FROM "+in+")", "SELECT id FROM a WHERE (k, g) NOT IN (SELECT k, 1 FROM "+in+")")
	}
	s.checkAll(t,
		"SELECT count(*) FROM a, b", "SELECT count(*) FROM a, nothing", "SELECT a.id, c.n FROM a, (SELECT count(*) n FROM nothing) c", "SELECT count(*) FROM a x, a y, one z WHERE x.k = y.k AND y.g = z.g",
		"SELECT a.id, x.* FROM a LEFT JOIN (SELECT g, count(*) n, max(k) m FROM b GROUP BY g) x ON a.g = x.g", "SELECT a.id, x.id FROM a JOIN (SELECT * FROM b ORDER BY id LIMIT 7) x ON a.k = x.k",
		"SELECT a.id, x.id FROM a LEFT JOIN (SELECT * FROM b ORDER BY id LIMIT 3 OFFSET 2) x ON true WHERE a.id < 5", "SELECT id FROM a WHERE k IN (SELECT k FROM b ORDER BY id LIMIT 4)",
		"SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL ORDER BY id DESC LIMIT 4)", "SELECT (SELECT id FROM one), id FROM a", "SELECT id, (SELECT k FROM b WHERE b.id = a.id) FROM a",
		"SELECT count(*) FROM a JOIN (SELECT DISTINCT k, random() * 0 AS r FROM b) x ON a.k = x.k", "SELECT count(DISTINCT r) FROM (SELECT x.r FROM a, (SELECT random() r FROM one) x)",
		"SELECT count(DISTINCT u) <= 60 FROM (SELECT a.id, x.u FROM a JOIN (SELECT k, uuid() u FROM b) x ON a.k = x.k OR x.k IS NULL)", "SELECT max(n) FROM (SELECT x.id, count(DISTINCT x.r) n FROM a, (SELECT id, random() r FROM b) x GROUP BY x.id)",
		"SELECT a.id, b.id FROM a ASOF JOIN b ON a.g = b.g AND a.id >= b.id", "SELECT a.id, b.id FROM a ASOF LEFT JOIN b ON a.g = b.g AND a.id > b.id", "SELECT count(*) FROM a POSITIONAL JOIN b",
		"SELECT a.id, x.n FROM a, LATERAL (SELECT count(*) n FROM b WHERE b.k = a.k AND b.g < a.g) x", "SELECT a.id, x.id FROM a, LATERAL (SELECT id FROM b WHERE b.k = a.k ORDER BY id LIMIT 1) x", "SELECT a.id, x.y FROM a, LATERAL unnest(a.l) x(y)",
		"SELECT a.id, (SELECT (SELECT max(id) FROM b y WHERE y.k = x.k) FROM b x WHERE x.id = a.id) FROM a", "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND EXISTS (SELECT 1 FROM one WHERE one.k = b.k AND one.g <> a.id))",
		"SELECT id FROM a WHERE v > (SELECT avg(v) FROM a y WHERE y.g = a.g)", "SELECT g, (SELECT count(*) FROM b WHERE b.g = a.g), count(*) FROM a GROUP BY g", "SELECT g FROM a GROUP BY g HAVING count(*) > (SELECT count(*) / 3 FROM b WHERE b.g = a.g)",
		"WITH c AS MATERIALIZED (SELECT k, count(*) n FROM b GROUP BY k) SELECT a.id, (SELECT n FROM c WHERE c.k = a.k), (SELECT max(n) FROM c) FROM a", "WITH c AS MATERIALIZED (SELECT k FROM b) SELECT id FROM a WHERE k NOT IN (SELECT k FROM c) OR EXISTS (SELECT 1 FROM c WHERE c.k = a.g)",
		"WITH c AS MATERIALIZED (SELECT g, count(*) n FROM a GROUP BY g), d AS MATERIALIZED (SELECT g, n * 2 m FROM c) SELECT a.id, x.s FROM a, LATERAL (SELECT sum(m) s FROM d WHERE d.g = a.g AND d.m > (SELECT min(n) FROM c)) x",
		"WITH RECURSIVE r(id, d) AS (SELECT id, 0 FROM a WHERE k = 0 UNION SELECT b.id, d + 1 FROM r JOIN b ON b.k = r.id % 13 WHERE d < 3) SELECT id, min(d) FROM r GROUP BY id",
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT count(*) FROM b) AND n < 20) SELECT a.id, r.n FROM a JOIN r ON a.k = r.n", "WITH RECURSIVE r(n) AS (SELECT max(k) FROM a UNION ALL SELECT n - 1 FROM r WHERE n > 0), s AS MATERIALIZED (SELECT n, count(*) c FROM r, b GROUP BY n) SELECT * FROM s x JOIN s y USING (n)",
		"SELECT a.id, (WITH c AS MATERIALIZED (SELECT k, g FROM b WHERE b.k = a.k) SELECT count(*) FROM c x JOIN c y ON x.g = y.g) FROM a", "SELECT id FROM a WHERE k = (WITH c AS MATERIALIZED (SELECT max(k) m FROM b) SELECT x.m FROM c x, c y)",
	)
}

// Rule 26, order: LIMIT is applied again at the root, DISTINCT with ORDER BY and LIMIT gives enough rows, the order lasts.
func TestRule26OrderAndLimit(t *testing.T) {
	newHazards(t).checkAll(t,
		"SELECT id FROM a ORDER BY id LIMIT 10", "SELECT id FROM a ORDER BY id DESC LIMIT 10 OFFSET 5", "SELECT id, k FROM a ORDER BY k NULLS FIRST, id LIMIT 20", "SELECT id, k FROM a ORDER BY k DESC NULLS LAST, id DESC OFFSET 150",
		"SELECT DISTINCT k FROM a ORDER BY k LIMIT 5", "SELECT DISTINCT k, g FROM a ORDER BY k DESC, g LIMIT 7 OFFSET 3", "SELECT count(*) FROM (SELECT 1 FROM a LIMIT 13)", "SELECT count(*) FROM (SELECT id FROM a LIMIT 13 OFFSET 195)", "SELECT count(*) FROM (SELECT id FROM a LIMIT 10%)",
		"SELECT id FROM a ORDER BY id LIMIT 10%", "SELECT id FROM a LIMIT 0", "SELECT id FROM a ORDER BY id LIMIT (SELECT count(*) / 10 FROM b) OFFSET (SELECT min(id) FROM one)", "SELECT count(*) FROM (SELECT * FROM a LIMIT 1000)", "SELECT count(*) FROM (SELECT DISTINCT k FROM a LIMIT 5)",
		"SELECT count(*) FROM (SELECT k FROM a GROUP BY k LIMIT 4)", "SELECT k, count(*) c FROM a GROUP BY k ORDER BY c DESC, k LIMIT 3", "SELECT sum(id) FROM (SELECT id FROM a ORDER BY id DESC LIMIT 10)", "SELECT * FROM (SELECT id FROM a ORDER BY id LIMIT 20) WHERE id % 2 = 0 ORDER BY id DESC LIMIT 5",
		"SELECT id FROM (SELECT * FROM a ORDER BY id LIMIT 20) ORDER BY v DESC NULLS LAST, id LIMIT 3", "SELECT list(id) FROM (SELECT id FROM a ORDER BY id DESC LIMIT 5)", "SELECT list(id) FROM (SELECT id FROM a ORDER BY id)", "SELECT g, list(id) FROM (SELECT id, g FROM a ORDER BY id) GROUP BY g",
		"SELECT string_agg(s, '') FROM (SELECT s FROM b ORDER BY id)", "SELECT first(id), last(id) FROM (SELECT id FROM a ORDER BY id)", "SELECT DISTINCT ON (g) g, id FROM a ORDER BY g, id DESC", "SELECT DISTINCT ON (k) k, id, v FROM a ORDER BY k, v DESC NULLS LAST, id LIMIT 4", "SELECT DISTINCT ON (k % 3, g) id FROM a ORDER BY k % 3, g, id",
		"SELECT count(*) FROM (SELECT DISTINCT ON (k) * FROM a)", "(SELECT id FROM a ORDER BY id LIMIT 3) UNION (SELECT id FROM b ORDER BY id LIMIT 5) ORDER BY 1 DESC LIMIT 4", "SELECT id FROM a UNION ALL SELECT id FROM b ORDER BY 1 LIMIT 9", "SELECT id FROM nothing ORDER BY id LIMIT 3",
		"SELECT count(*) FROM (SELECT id FROM a ORDER BY random() LIMIT 5)", "SELECT id, s FROM a ORDER BY s COLLATE NOCASE, id LIMIT 5", "SELECT id FROM a ORDER BY k % 3, -id LIMIT 12", "SELECT l[1] FROM a ORDER BY l LIMIT 5", "SELECT 1 FROM a LIMIT 3", "SELECT id FROM a ORDER BY ALL DESC LIMIT 4",
		"SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) FROM a", "SELECT id, sum(id) OVER (PARTITION BY k + 1, g ORDER BY id) FROM a", "SELECT id, sum(id) OVER (PARTITION BY k ORDER BY id), count(*) OVER (PARTITION BY g) FROM a", "SELECT id, rank() OVER (ORDER BY k, id), count(*) OVER () FROM a",
		"SELECT id FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST, id) <= 2", "SELECT k, sum(n) OVER (PARTITION BY k) FROM (SELECT k, g, count(*) n FROM a GROUP BY k, g)", "SELECT a.k, count(*) OVER (PARTITION BY a.k), b.id FROM a JOIN b ON a.k = b.k", "SELECT count(*) OVER (PARTITION BY NULL) FROM a",
		"SELECT g, sum(sum(id)) OVER (ORDER BY g) FROM a GROUP BY g", "SELECT id, lag(id) OVER (PARTITION BY s ORDER BY id) FROM a ORDER BY id LIMIT 10", "SELECT count(*) FROM nothing QUALIFY row_number() OVER () = 1", "SELECT id, first_value(v) OVER (PARTITION BY random() < 2 ORDER BY id) FROM a",
		"SELECT id, unnest(l) FROM a", "SELECT x, count(*) FROM (SELECT unnest([k, g]) x FROM a) GROUP BY x", "SELECT unnest(l) u FROM a ORDER BY u NULLS FIRST LIMIT 5", "SELECT count(*) FROM a, range(3)", "SELECT a.id, r.i FROM a, range(a.g) r(i)", "SELECT count(*) FROM a, LATERAL (SELECT * FROM range(a.g)) r",
		"SELECT x FROM (VALUES (1), (2), (3)) v(x) WHERE x IN (SELECT k FROM a)", "SELECT v.x, count(a.id) FROM (VALUES (1), (2), (NULL)) v(x) LEFT JOIN a ON a.k = v.x GROUP BY v.x", "SELECT v.x FROM (VALUES (1), (99)) v(x) FULL JOIN a ON a.k = v.x", "SELECT count(*) FROM a TABLESAMPLE 100%",
		"SELECT count(*) FROM (SELECT * FROM a USING SAMPLE 10 ROWS)", "SELECT count(*) FROM a", "SELECT count(*) FROM a, b, nonulls", "SELECT count(*), 1 FROM (SELECT 1 FROM a UNION ALL SELECT 2 FROM b)", "SELECT EXISTS (FROM a), EXISTS (FROM nothing)", "SELECT DISTINCT 1 FROM a", "SELECT count(*) FROM (SELECT DISTINCT 1 FROM nothing)",
		"PIVOT a ON g IN (0, 1, 2) USING sum(id) GROUP BY k", "UNPIVOT (SELECT id, k, g FROM a) ON k, g INTO NAME n VALUE x", "SELECT count(*) FROM (SELECT 1 FROM a INTERSECT SELECT 1 FROM b)", "SELECT 1 FROM a EXCEPT ALL SELECT 1 FROM b",
	)
}
