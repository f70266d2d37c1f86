package planner_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/tpch"
)

// ORDER BY of the result in every setting: all types of keys, both directions, NULLs at either end, ties, skew, nothing at
// all, more ranges than rows. The simulator compares the order as well as the rows.
func TestOrderOfLargeResults(t *testing.T) {
	s := newHazards(t)
	s.exec(`CREATE TABLE keys AS SELECT i AS id, CASE WHEN i % 10 < 7 THEN 5 ELSE i END AS heavy, CASE WHEN i % 11 <> 0 THEN (i * 7919) % 1000 END AS n,
		CASE WHEN i % 5 <> 0 THEN chr((97 + i % 26)::INTEGER) || repeat('x', (i % 3)::INTEGER) || (i % 17) END AS s, (i % 13)::DOUBLE / CASE WHEN i % 7 = 0 THEN 0 ELSE 3 END AS f,
		((i * 31) % 997 - 500)::DECIMAL(20, 3) AS d, TIMESTAMP '2020-01-01' + to_minutes((i * 37) % 9999) AS ts, to_days(i % 40) + to_months(i % 3) AS iv,
		CASE WHEN i % 4 <> 0 THEN [i % 9, NULL, i] END AS l, {'a': i % 3, 'b': CASE WHEN i % 2 = 0 THEN i END} AS r, ((i % 251)::HUGEINT * 1237940039285380274899124224) - i AS h,
		encode(chr((97 + i % 20)::INTEGER) || chr(0) || i) AS blobs, i % 2 = 0 AS flag, CASE WHEN i % 3 = 0 THEN 'B' WHEN i % 3 = 1 THEN 'a' ELSE 'é' END AS words FROM range(1000) t(i)`)
	s.describe()
	for _, key := range []string{"n", "s", "f", "d", "ts", "iv", "l", "r", "h", "blobs", "flag", "heavy", "words"} {
		s.checkForEach(t, "SELECT id, "+key+" FROM keys ORDER BY "+key+" %s, id", "", "DESC NULLS LAST", "DESC NULLS FIRST")
	}
	s.checkAll(t,
		"SELECT id, n FROM keys ORDER BY n DESC NULLS FIRST, s, f DESC, id", "SELECT id FROM keys ORDER BY heavy, flag DESC, words COLLATE NOCASE, id", "SELECT id, words FROM keys ORDER BY words COLLATE NOACCENT DESC, id",
		"SELECT id + 1, s || 'x' FROM keys WHERE id % 3 = 0 ORDER BY n % 7, id", "SELECT upper(s) FROM keys ORDER BY length(s) DESC NULLS LAST, s, id", "SELECT heavy, count(*) FROM keys GROUP BY heavy ORDER BY count(*) DESC, heavy",
		"SELECT id FROM keys WHERE id < 0 ORDER BY id", "SELECT id FROM keys WHERE id < 3 ORDER BY id DESC", "SELECT * FROM nothing ORDER BY id", "SELECT heavy FROM keys ORDER BY heavy", "SELECT id, 1 FROM keys ORDER BY 2, 1",
		"SELECT x.id, y.id FROM keys x JOIN keys y ON x.n = y.id ORDER BY y.id DESC, x.id", "SELECT id FROM keys UNION ALL SELECT id FROM a ORDER BY 1", "SELECT DISTINCT n, flag FROM keys ORDER BY flag, n NULLS FIRST",
		"SELECT id, row_number() OVER (PARTITION BY heavy ORDER BY id) r FROM keys ORDER BY r DESC, id", "SELECT count(*), sum(id) FROM (SELECT id FROM keys ORDER BY random())", "SELECT flag, max(id) FROM (SELECT * FROM keys ORDER BY n) GROUP BY flag ORDER BY flag",
		"SELECT id FROM keys ORDER BY n, id LIMIT 10 OFFSET 5", "SELECT id, n + 1 FROM keys ORDER BY n + id, id LIMIT 7 OFFSET 700", "SELECT id FROM keys ORDER BY n NULLS FIRST, id LIMIT 900", "SELECT id FROM keys ORDER BY n DESC, id LIMIT 700 OFFSET 200",
		"SELECT id FROM keys ORDER BY id LIMIT 10%", "SELECT id FROM keys ORDER BY n, id LIMIT 12.5% OFFSET 7", "SELECT id FROM keys ORDER BY -id LIMIT (SELECT count(*) // 100 FROM keys)", "SELECT id FROM keys ORDER BY n, id OFFSET 990",
		"SELECT id FROM keys ORDER BY s NULLS FIRST, id LIMIT 0", "SELECT * FROM (SELECT id, n FROM keys ORDER BY n, id LIMIT 600) ORDER BY id DESC", "SELECT id * 2 FROM (SELECT id FROM keys ORDER BY n, id) WHERE id % 2 = 0",
	)
	s.t = t
	stages, _ := s.distribute(s.bind("SELECT id FROM keys ORDER BY random()").Plan, planner.Options{Slots: 4, TargetTaskSize: 1 << 10})
	tasks, err := s.RunTasks(stages)
	require.NoError(t, err)
	distinct, rows := map[string]bool{}, 0
	for _, task := range tasks {
		for _, row := range task.Rows {
			distinct[row[0].String()] = true
			rows++
		}
	}
	require.Equal(t, 1000, rows)
	require.Len(t, distinct, 1000, "a volatile key is computed once for each row:\n%s", planner.Explain(stages))
}

// The ranges are of about the same size, whatever the keys' distribution.
func TestRangesAreEven(t *testing.T) {
	s := newHazards(t)
	s.exec("CREATE TABLE skewed AS SELECT i AS id, (i * 1.0 / 1000) ** 8 AS x FROM range(200000) t(i)")
	s.describe()
	stages, _ := s.distribute(s.bind("SELECT * FROM skewed ORDER BY x").Plan, planner.Options{Slots: 8, TargetTaskSize: 1 << 20})
	tasks, err := s.RunTasks(stages)
	require.NoError(t, err)
	require.Len(t, tasks, 8)
	for _, task := range tasks {
		require.InDelta(t, 25000, len(task.Rows), 6000, planner.Explain(stages))
	}
}

// ORDER BY at scale: the layout of a large result, of one that has turned out small, and of what is not the result's order.
func TestOrderLayout(t *testing.T) {
	s := newSimulator(t)
	for _, table := range tpch.Tables() {
		s.exec(table.CreateSQL(table.Name))
	}
	s.describe()
	for _, table := range tpch.Tables() {
		s.tables[table.Name].Rows = table.Rows(10)
		s.tables[table.Name].Bytes = table.Rows(10) * 60
	}
	for name, sql := range map[string]string{
		"large":       "SELECT l_orderkey, l_extendedprice * 2 FROM lineitem WHERE l_quantity > 1 ORDER BY l_extendedprice DESC, l_orderkey",
		"small":       "SELECT r_name FROM region, nation WHERE r_regionkey = n_regionkey ORDER BY r_name",
		"groups":      "SELECT l_partkey, l_suppkey, sum(l_tax) FROM lineitem GROUP BY ALL ORDER BY 3",
		"inner":       "SELECT array_agg(l_orderkey) FROM (SELECT * FROM lineitem ORDER BY l_tax)",
		"large-limit": "SELECT * FROM lineitem ORDER BY l_extendedprice LIMIT 5000000 OFFSET 5",
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			root := s.bind(sql).Plan
			stages, err := planner.Distribute(root, s.sizedScans(root), planner.Options{Slots: 8, TargetTaskSize: 256 << 20})
			require.NoError(t, err)
			golden(t, filepath.Join("testdata", "order", name+".txt"), layout(stages))
		})
	}
}
