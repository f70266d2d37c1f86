package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/tests/process"
)

// manyTasks is a connection to two executors on which every statement over numbers.a runs in many tasks.
func manyTasks(t *testing.T) *process.Client {
	c := process.Distributed(t, t.TempDir(), 2).Connect(t)
	fillNumbers(c)
	c.Query("SET distribution_threshold = '0B'")
	c.Query("SET target_task_size = '1KB'")
	c.Query("SET shuffle_partitions = 5")
	c.Query("SET max_partitions_per_task = 1")
	c.Query("SET broadcast_threshold = '0B'")
	return c
}

// TestFunctionsAgreeAcrossTasks: what stands for the statement's moment is one value in all its tasks, what is made for each
// row differs in all its rows, and the session's settings hold in every task.
func TestFunctionsAgreeAcrossTasks(t *testing.T) {
	c := manyTasks(t)
	explained := ""
	for _, row := range c.Query("EXPLAIN SELECT count(DISTINCT now()) FROM a").Rows {
		explained += row[len(row)-1].String() + "\n"
	}
	require.Contains(t, explained, "tasks from", "the statements here run in several tasks")
	for _, f := range []string{
		"now()", "current_timestamp", "transaction_timestamp()", "get_current_timestamp()", "current_date", "today()", "current_time", "get_current_time()",
		"localtimestamp", "localtime", "age(TIMESTAMP '2001-02-03 04:05:06')", "age(now()::TIMESTAMP)", "current_localtimestamp()", "now() + to_days(1)",
	} {
		require.Equal(t, "1", c.Value("SELECT count(DISTINCT "+f+") FROM a"), f)
		require.Equal(t, "1", c.Value("SELECT count(DISTINCT x) FROM (SELECT i, "+f+" AS x FROM a UNION ALL SELECT i, "+f+" FROM b)"), f)
	}
	require.Equal(t, "true", c.Value("SELECT count(*) = 1000 FROM a WHERE now() BETWEEN current_date AND current_timestamp AND today() = current_date"))
	for _, f := range []string{"random()", "uuid()", "gen_random_uuid()", "uuidv7()"} {
		require.Equal(t, "1000", c.Value("SELECT count(DISTINCT "+f+") FROM a"), f)
		require.Equal(t, "1100", c.Value("SELECT count(DISTINCT x) FROM (SELECT "+f+" AS x FROM a UNION ALL SELECT "+f+" FROM b)"), f)
		require.Equal(t, "1000/1000", c.Value("WITH v AS MATERIALIZED (SELECT i, "+f+" AS x FROM a) SELECT count(*) || '/' || count(DISTINCT p.x) FROM v p JOIN v q ON p.i = q.i AND p.x = q.x"), f)
	}
	c.Query("SET TimeZone = 'Asia/Kathmandu'")
	require.Equal(t, "Asia/Kathmandu/1", c.Value("SELECT min(z) || '/' || count(DISTINCT z) FROM (SELECT current_setting('TimeZone') AS z FROM a)"))
	require.Equal(t, "1970-01-01 05:30:07+05:30/1", c.Value("SELECT min(x) || '/' || count(DISTINCT x) FROM (SELECT (to_timestamp(i * 0 + 7))::VARCHAR AS x FROM a)"))
	require.Equal(t, "5/1", c.Value("SELECT min(h) || '/' || count(DISTINCT h) FROM (SELECT hour(to_timestamp(i * 0)) AS h FROM a)"))
	require.Equal(t, "NULL", c.Value("SELECT nullif(i, 3) AS x FROM a ORDER BY x NULLS FIRST LIMIT 1"))
	c.Query("SET default_null_order = 'nulls_first'")
	require.Equal(t, "NULL", c.Value("SELECT nullif(i, 3) AS x FROM a ORDER BY x LIMIT 1"))
	require.Equal(t, "3", c.Value("SELECT i FROM (SELECT i, row_number() OVER (PARTITION BY i % 2 ORDER BY nullif(i, 3)) AS r FROM a) WHERE r = 1 AND i % 2 = 1"))
	require.Equal(t, "NULL", c.Value("SELECT list(nullif(i, 3) ORDER BY nullif(i, 3))[1] FROM a"))
	c.Query("SET default_null_order = 'nulls_last'")
	require.Equal(t, "0", c.Value("SELECT nullif(i, 3) AS x FROM a ORDER BY x LIMIT 1"))
	c.Query("SET default_order = 'desc'")
	require.Equal(t, "999", c.Value("SELECT i FROM a ORDER BY i LIMIT 1"))
	c.Query("SET default_collation = 'nocase'")
	require.Equal(t, "2", c.Value("SELECT count(*) FROM a WHERE s = 'V7' OR s = 'V8'"))
	for _, refused := range []string{"SELECT setseed(0.5) FROM a", "SELECT nextval('s') FROM a", "SELECT currval('s') FROM a"} {
		_, err := c.Run(t.Context(), refused)
		require.Error(t, err, refused)
	}
}

// TestAggregatesThatDoNotMerge gives the answers of aggregates whose states cannot travel; DuckDB gave them for the same rows.
func TestAggregatesThatDoNotMerge(t *testing.T) {
	c := manyTasks(t)
	for sql, want := range map[string]string{
		"SELECT bit_count(bitstring_agg(i, 0, 999)) FROM a":                                                                 "1000",
		"SELECT string_agg(n, ',' ORDER BY n) FROM (SELECT bit_count(bitstring_agg(i, 0, 999)) AS n FROM a GROUP BY i % 3)": "333,333,334",
		"SELECT avg(to_seconds(i))::VARCHAR FROM a":                                                                         "00:08:19.5",
		"SELECT avg(to_days(i::INTEGER % 3))::VARCHAR FROM a WHERE i < 6":                                                   "1 day",
		"SELECT max(x)::VARCHAR FROM (SELECT avg(to_seconds(i)) AS x FROM a GROUP BY i % 2)":                                "00:08:20",
		"SELECT avg(TIME '10:00:00' + to_seconds(i)) FROM a":                                                                "10:08:19.5",
		"SELECT max(i, 3) FROM a":                                          "[999, 998, 997]",
		"SELECT min(i, 2) FROM a":                                          "[0, 1]",
		"SELECT arg_max(s, i, 2) FROM a":                                   "['v999', 'v998']",
		"SELECT max(x) FROM (SELECT max(i, 2) AS x FROM a GROUP BY i % 4)": "[999, 995]",
		"SELECT approx_count_distinct(i) FROM a":                           "1249",
		"SELECT min(n) || '/' || max(n) FROM (SELECT approx_count_distinct(i) AS n FROM a GROUP BY i % 2)": "596/608",
	} {
		got, err := c.Run(t.Context(), sql)
		if !assert.NoError(t, err, sql) {
			continue
		}
		assert.Equal(t, want, got.Rows[0][0].String(), sql)
	}
	_, err := c.Run(t.Context(), "SELECT bitstring_agg(i) FROM a") // refused while it is planned
	require.ErrorContains(t, err, "write bitstring_agg(x, low, high)")
}

// TestAsOfWithNullKeys: an ASOF join's second equality key may be NULL on both sides; the answer is that of DuckDB.
func TestAsOfWithNullKeys(t *testing.T) {
	c := manyTasks(t)
	c.Query("CREATE TABLE l (k BIGINT, g BIGINT, t BIGINT)")
	c.Query("CREATE TABLE r (k BIGINT, g BIGINT, t BIGINT)")
	for range 2 {
		c.Query("INSERT INTO l SELECT i % 3, CASE WHEN i % 4 <> 0 THEN i % 5 END, i FROM range(60) x(i)")
		c.Query("INSERT INTO r SELECT i % 3, CASE WHEN i % 7 <> 0 THEN i % 5 END, i * 2 FROM range(40) x(i)")
	}
	query := "SELECT count(*) || '/' || count(x) || '/' || coalesce(sum(x), 0) FROM (SELECT r.t AS x FROM l ASOF %s JOIN r ON l.k = r.k AND l.g = r.g AND l.t >= r.t)"
	for _, kind := range []string{"", "LEFT"} {
		sql := fmt.Sprintf(query, kind)
		c.Query("SET distribution_threshold = '1GB'")
		want := c.Value(sql)
		if kind == "LEFT" {
			require.Equal(t, "120/84/1848", want, "as DuckDB alone has it")
		}
		c.Query("SET distribution_threshold = '0B'")
		require.Equal(t, want, c.Value(sql), sql)
	}
}
