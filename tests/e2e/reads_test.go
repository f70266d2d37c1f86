package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// TestEveryRowExactlyOnce runs unions, self-joins and CTEs in every setting of partitions and tasks (rules 11, 26).
func TestEveryRowExactlyOnce(t *testing.T) {
	dataDir := t.TempDir()
	for _, system := range []string{"distributed", "serve"} {
		var cluster *process.Cluster
		if system == "distributed" {
			cluster = process.Distributed(t, dataDir, 2)
			fillNumbers(cluster.Connect(t))
		} else {
			cluster = process.Serve(t, dataDir)
		}
		for _, partitions := range []int{1, 2, 7} {
			for _, perTask := range []int{0, 1} {
				t.Run(fmt.Sprintf("%s/partitions%d/per_task%d", system, partitions, perTask), func(t *testing.T) {
					client := cluster.Connect(t)
					client.Query("USE numbers")
					client.Query("SET distribution_threshold = '0B'")
					client.Query("SET target_task_size = '1KB'")
					client.Query(fmt.Sprintf("SET shuffle_partitions = %d", partitions))
					client.Query(fmt.Sprintf("SET max_partitions_per_task = %d", perTask))
					for _, c := range exactlyOnce {
						require.Equal(t, c.want, client.Value(c.sql), c.sql)
					}
				})
			}
		}
		cluster.Stop()
	}
}

// fillNumbers makes numbers.a (0..999 in four files), numbers.b (0..99 in two), numbers.e (empty) and numbers.n (1, 2,
// NULL).
func fillNumbers(c *process.Client) {
	c.Query("CREATE SCHEMA numbers")
	c.Query("USE numbers")
	c.Query("CREATE TABLE a (i BIGINT NOT NULL, s VARCHAR)")
	c.Query("CREATE TABLE b (i BIGINT NOT NULL, s VARCHAR)")
	c.Query("CREATE TABLE e (i BIGINT, s VARCHAR)")
	c.Query("CREATE TABLE n (i BIGINT)")
	for k := range 4 {
		c.Query(fmt.Sprintf("INSERT INTO a SELECT i, 'v' || i FROM range(%d, %d) r(i)", k*250, (k+1)*250))
	}
	for k := range 2 {
		c.Query(fmt.Sprintf("INSERT INTO b SELECT i, 'v' || i FROM range(%d, %d) r(i)", k*50, (k+1)*50))
	}
	c.Query("INSERT INTO n VALUES (1), (2), (NULL)")
}

// exactlyOnce are queries of one value with the value that arithmetic gives.
var exactlyOnce = []struct{ sql, want string }{
	{"SELECT count(*) FROM a", "1000"},
	{"SELECT sum(i)::BIGINT FROM a", "499500"},
	{"SELECT count(*) FROM (SELECT * FROM a UNION ALL SELECT * FROM a)", "2000"},
	{"SELECT sum(c)::BIGINT || '/' || max(c) FROM (SELECT i, count(*) AS c FROM (SELECT i FROM a UNION ALL SELECT i FROM a) GROUP BY i)", "2000/2"},
	{"SELECT count(*) FROM (SELECT i FROM a UNION ALL SELECT i FROM b UNION ALL SELECT i FROM e)", "1100"},
	{"SELECT sum(i)::BIGINT FROM (SELECT i FROM a UNION ALL SELECT i FROM b UNION ALL SELECT i FROM n)", "504453"},
	{"SELECT sum(i)::BIGINT FROM (SELECT i FROM a UNION ALL SELECT i FROM (VALUES (1), (10)) v(i))", "499511"},
	{"SELECT sum(c)::BIGINT FROM (SELECT count(*) AS c FROM a UNION ALL SELECT count(*) FROM b UNION ALL SELECT count(*) FROM e)", "1100"},
	{"SELECT count(*) FROM (SELECT count(*) AS c FROM a UNION ALL SELECT count(*) FROM b UNION ALL SELECT count(*) FROM e)", "3"},
	{"SELECT count(*) FROM (SELECT i FROM a UNION SELECT i FROM b)", "1000"},
	{"SELECT count(*) FROM (SELECT i FROM a EXCEPT SELECT i FROM b)", "900"},
	{"SELECT count(*) FROM (SELECT i FROM a INTERSECT SELECT i FROM b)", "100"},
	{"SELECT count(*) FROM a x JOIN a y ON x.i = y.i", "1000"},
	{"SELECT count(*) FROM a x LEFT JOIN b y ON x.i = y.i", "1000"},
	{"SELECT count(y.i) FROM a x LEFT JOIN b y ON x.i = y.i", "100"},
	{"SELECT count(*) FROM b y RIGHT JOIN a x ON x.i = y.i", "1000"},
	{"SELECT count(*) FROM a x FULL JOIN n y ON x.i = y.i", "1001"},
	{"SELECT count(*) FROM n x FULL JOIN b y ON x.i = y.i", "101"},
	{"SELECT count(*) FROM a WHERE i IN (SELECT i FROM b)", "100"},
	{"SELECT count(*) FROM a WHERE i NOT IN (SELECT i FROM b)", "900"},
	{"SELECT count(*) FROM a WHERE i NOT IN (SELECT i FROM n)", "0"},
	{"SELECT count(*) FROM n WHERE i NOT IN (SELECT i FROM b)", "0"},
	{"SELECT count(*) FROM n WHERE i NOT IN (SELECT i FROM e)", "3"},
	{"SELECT count(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.i = a.i)", "100"},
	{"SELECT count(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.i = a.i)", "900"},
	{"SELECT count(*) FROM a, b", "100000"},
	{"SELECT count(*) FROM a JOIN b ON a.i < b.i", "4950"},
	{"SELECT count(*) FROM e", "0"},
	{"SELECT count(*) FROM (SELECT count(*), sum(i) FROM e)", "1"},
	{"SELECT count(*) FROM (SELECT i, count(*) FROM e GROUP BY i)", "0"},
	{"SELECT coalesce(sum(i), -1)::BIGINT FROM e", "-1"},
	{"SELECT avg(i) || '' FROM b", "49.5"},
	{"SELECT count(*) FROM (SELECT * FROM a LIMIT 7)", "7"},
	{"SELECT sum(i)::BIGINT FROM (SELECT i FROM a ORDER BY i DESC LIMIT 3 OFFSET 2)", "2988"},
	{"SELECT count(*) FROM (SELECT DISTINCT i % 10 AS d FROM a ORDER BY d LIMIT 9)", "9"},
	{"SELECT count(DISTINCT i % 10) FROM a", "10"},
	{"WITH x AS MATERIALIZED (SELECT i FROM a WHERE i < 10) SELECT count(*) FROM x p JOIN x q ON p.i = q.i", "10"},
	{"WITH x AS MATERIALIZED (SELECT i % 7 AS k, count(*) AS c FROM a GROUP BY k) SELECT sum(p.c)::BIGINT FROM x p UNION ALL SELECT sum(c)::BIGINT FROM x WHERE false ORDER BY 1 LIMIT 1", "1000"},
	{"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT count(*) FROM a JOIN r ON a.i = r.n", "10"},
	{"SELECT max(rn) || '' FROM (SELECT row_number() OVER (PARTITION BY i % 10 ORDER BY i) AS rn FROM a)", "100"},
	{"SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY i) AS rn, i FROM a) WHERE rn = i + 1", "1000"},
	{"SELECT (SELECT max(i) FROM b) || '' FROM n WHERE i = 1", "99"},
	{"SELECT sum((SELECT count(*) FROM b WHERE b.i < a.i))::BIGINT FROM a WHERE a.i < 10", "45"},
	{"SELECT median(i) || '' FROM a", "499.5"},
	{"SELECT count(*) FROM (SELECT unnest([i, i]) FROM a)", "2000"},
	{"SELECT count(*) FROM (SELECT i % 3 AS x, i % 2 AS y, count(*) FROM a GROUP BY CUBE (x, y))", "12"},
	{"SELECT string_agg(i::VARCHAR, ',' ORDER BY i) FROM a WHERE i < 5", "0,1,2,3,4"},
}
