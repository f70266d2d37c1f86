package planner_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/planner"
)

func TestWindowsByEachPartition(t *testing.T) {
	s := newHazards(t)
	frames := []string{
		"ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW", "ORDER BY id RANGE BETWEEN 10 PRECEDING AND 5 FOLLOWING",
		"ORDER BY g, id GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES", "ORDER BY id DESC NULLS FIRST", "ORDER BY s NULLS LAST, id",
	}
	for _, by := range []string{"PARTITION BY k", "PARTITION BY k, g", "PARTITION BY s, k % 2", ""} {
		for _, frame := range frames {
			s.checkAll(t, "SELECT id, sum(id) OVER w, first_value(v) OVER w, lag(s IGNORE NULLS) OVER w, row_number() OVER w, count(DISTINCT g) OVER w, list(id) FILTER (WHERE id % 2 = 0) OVER w, ntile(3) OVER w FROM a WINDOW w AS ("+by+" "+frame+")")
		}
	}
	s.checkAll(t,
		"SELECT id, sum(id) OVER (PARTITION BY k ORDER BY id), count(*) OVER (PARTITION BY g), rank() OVER (PARTITION BY s ORDER BY id), row_number() OVER (ORDER BY id), sum(v) OVER (PARTITION BY k, g) FROM a",
		"SELECT id, max(x) OVER (PARTITION BY g) FROM (SELECT id, g, sum(id) OVER (PARTITION BY k) x FROM a)", "SELECT id, count(*) OVER (PARTITION BY g, k), sum(id) OVER (PARTITION BY k, g ORDER BY id), min(s) OVER (PARTITION BY k) FROM a",
		"SELECT k, g, sum(count(*)) OVER (PARTITION BY k), rank() OVER (PARTITION BY g ORDER BY count(*), k) FROM a GROUP BY k, g", "SELECT id, count(*) OVER (PARTITION BY random() < 2), sum(id) OVER (PARTITION BY k) FROM a",
		"SELECT id, count(*) OVER (), sum(v) OVER (PARTITION BY k) FROM a", "SELECT x.id, count(*) OVER (PARTITION BY x.k), sum(y.id) OVER (PARTITION BY y.g) FROM a x JOIN b y ON x.k = y.k",
		"SELECT id, row_number() OVER (PARTITION BY k ORDER BY id), count(*) OVER (PARTITION BY g) FROM nothing", "SELECT count(DISTINCT r), min(r), max(r) FROM (SELECT row_number() OVER () r FROM a)",
	)
	// The first rows of each partition: row numbers, ranks with ties, further conditions, other calls beside.
	s.checkAll(t,
		"SELECT id FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST, id) <= 3", "SELECT id, k FROM a QUALIFY rank() OVER (PARTITION BY k ORDER BY g) <= 2", "SELECT id, dense_rank() OVER (PARTITION BY k ORDER BY g DESC) r FROM a QUALIFY r < 3",
		"SELECT id, row_number() OVER w r, rank() OVER w q FROM a WINDOW w AS (PARTITION BY g ORDER BY id) QUALIFY r <= 2 AND q = 1", "SELECT id FROM a QUALIFY rank() OVER (PARTITION BY k ORDER BY g) = 2", "SELECT id FROM a QUALIFY rank() OVER (PARTITION BY k ORDER BY g) = 1 AND id % 2 = 0",
		"SELECT id FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY id) <= 2 OR id = 5", "SELECT id FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY id) > 2", "SELECT id, count(*) OVER (PARTITION BY k) c FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY id) <= 2",
		"SELECT id FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY id) <= 0", "SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY s, id) r FROM a) WHERE r BETWEEN 2 AND 4", "SELECT id FROM a QUALIFY row_number() OVER (PARTITION BY k + g ORDER BY id) <= 2",
		"SELECT id FROM a WHERE id > 500 QUALIFY rank() OVER (PARTITION BY k ORDER BY id) <= 2", "SELECT g, k, rank() OVER (PARTITION BY g ORDER BY count(*), k) r FROM a GROUP BY g, k QUALIFY r <= 3",
	)
	s.checkAll(t,
		"SELECT DISTINCT ON (k) k, id FROM a ORDER BY k, id DESC", "SELECT DISTINCT ON (k, g) id FROM a ORDER BY k, g, s NULLS FIRST, id", "SELECT DISTINCT ON (k % 3) k % 3, id FROM a ORDER BY k % 3, v DESC NULLS FIRST, id", "SELECT count(*) FROM (SELECT DISTINCT ON (k) * FROM a ORDER BY k, random())",
		"SELECT DISTINCT ON (k) id FROM nothing ORDER BY k, id", "SELECT DISTINCT ON (l) l, id FROM a ORDER BY l, id",
	)
}

func TestAsOfJoinsByTheirKeys(t *testing.T) {
	s := newHazards(t)
	for _, kind := range []string{"", "LEFT", "SEMI", "ANTI"} {
		cols := "x.id, y.id"
		if kind == "SEMI" || kind == "ANTI" {
			cols = "x.id"
		}
		for _, pair := range []string{"a x ASOF %s JOIN b y", "b x ASOF %s JOIN a y", "a x ASOF %s JOIN nothing y", "nothing x ASOF %s JOIN a y", "a x ASOF %s JOIN one y"} {
			s.checkForEach(t, "SELECT "+cols+" FROM "+fmt.Sprintf(pair, kind)+" ON %s", "x.g = y.g AND x.id >= y.id", "x.g = y.g AND coalesce(x.k, -1) = coalesce(y.k, -1) AND x.id > y.id", "x.id < y.id", "x.k = y.k AND x.id <= y.id", "x.g::INTEGER = y.g AND x.id >= y.id")
		}
	}
}

// A window of several PARTITION BYs has an exchange for each, none for one that another's keys suffice for.
func TestWindowExchanges(t *testing.T) {
	s := newHazards(t)
	exchanges := func(sql string) (n int) {
		stages, _ := s.distribute(s.bind(sql).Plan, planner.Options{Slots: 4, TargetTaskSize: 1 << 10})
		for _, stage := range stages[:len(stages)-1] {
			if stage.Root.(*plan.ShuffleWrite).Partitions > 1 {
				n++
			}
		}
		require.Greater(t, len(stages[len(stages)-1].Tasks), 1, planner.Explain(stages))
		return n
	}
	require.Equal(t, 2, exchanges("SELECT id, sum(id) OVER (PARTITION BY k), count(*) OVER (PARTITION BY g) FROM a"))
	require.Equal(t, 1, exchanges("SELECT id, sum(id) OVER (PARTITION BY k), count(*) OVER (PARTITION BY g, k), max(v) OVER (PARTITION BY k ORDER BY id) FROM a"))
	require.Equal(t, 1, exchanges("SELECT k, row_number() OVER (PARTITION BY k, g ORDER BY n) FROM (SELECT k, g, count(*) n FROM a GROUP BY k, g)"))
}
