package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/planner"
	"github.com/seracdb/serac/tests/simulate"
)

// States that are computed below a join are the rows' own, whatever the join does with them: brings some several times, none, or
// makes up rows of NULLs.
func TestEarlyAggregates(t *testing.T) {
	t.Parallel()
	s := newSimulator(t)
	s.exec(`CREATE TABLE facts AS SELECT i AS id, CASE WHEN i % 9 = 4 THEN NULL ELSE i % 23 END AS k, i % 3 AS part, i % 2 = 0 AS even,
		CASE WHEN i % 5 = 1 THEN NULL ELSE i * 37 % 101 END AS v, (i * 7919 % 1003)::DECIMAL(9,2) / 10 AS d, (i % 6) / 2 AS f, 's' || i % 4 AS s FROM range(400) t(i)`)
	s.exec("CREATE TABLE dims AS SELECT CASE WHEN i = 11 THEN NULL ELSE i * 2 % 50 END AS k, i % 3 AS part, 'n' || i % 4 AS name, (i % 3)::DOUBLE AS f FROM range(40) t(i)")
	s.exec("CREATE TABLE none(k BIGINT, part BIGINT, name VARCHAR, f DOUBLE)")
	s.describe()
	calls := "count(v), sum(v), min(v), max(d), avg(d), avg(v), bool_and(even), bool_or(even), min(s)"
	inner := calls + ", count(*), sum(v + 1), count(v) FILTER (WHERE even), sum(coalesce(v, 7))"
	for _, setting := range []int{0, 2} { // those that aggregate below joins
		s.check("SELECT name, sum(CAST(CASE WHEN a.k IS NULL THEN s ELSE '1' END AS INTEGER)) FROM facts a JOIN dims d ON a.k = d.k GROUP BY name", simulate.Settings[setting])
	}
	for _, dims := range []string{"dims", "none"} {
		for _, join := range []string{"JOIN", "LEFT JOIN", "RIGHT JOIN"} {
			for _, groups := range []string{"d.k", "name", "name, a.part", "d.k, a.k", "a.k", "upper(name)"} {
				for _, on := range []string{"a.k = d.k", "a.k IS NOT DISTINCT FROM d.k AND a.part = d.part"} {
					s.checkAll(t, fmt.Sprintf("SELECT %s, %s FROM facts a %s %s d ON %s GROUP BY %[1]s", groups, inner, join, dims, on))
				}
			}
			s.checkAll(t, fmt.Sprintf("SELECT %s FROM facts a %s %s d USING (k)", inner, join, dims), fmt.Sprintf("SELECT count(*), sum(v) FROM %s d %s facts a USING (k)", dims, join),
				fmt.Sprintf("SELECT name, %s FROM %s d %s facts a USING (k) GROUP BY name", calls, dims, join), fmt.Sprintf("SELECT DISTINCT name FROM facts a %s %s d USING (k)", join, dims),
				fmt.Sprintf("SELECT a.f, count(v) FROM facts a %s %s d ON a.f = d.f GROUP BY a.f", join, dims), fmt.Sprintf("SELECT name, count(DISTINCT v), median(d) FROM facts a %s %s d USING (k) GROUP BY name", join, dims))
		}
	}

	// What no other side's row meets is not computed: it might fail.
	s.t = t
	s.exec("CREATE TABLE mixed AS SELECT i % 8 AS k, CASE WHEN i % 8 = 5 THEN 'none' ELSE i::VARCHAR END AS n, CASE WHEN i % 8 = 5 THEN 170141183460469231731687303715884105727 ELSE i END AS h FROM range(200) t(i)")
	s.exec("CREATE TABLE few AS SELECT i AS k, i % 2 AS name, i % 3 <> 2 AS yes FROM range(8) t(i)")
	s.describe()
	for _, call := range []string{"sum(n::INTEGER)", "count(*) FILTER (WHERE n::INTEGER > 3)", "sum(h)", "min(h + 1)"} {
		s.check("SELECT name, "+call+" FROM mixed JOIN few USING (k) WHERE yes GROUP BY name", settings[0])
		s.check("SELECT "+call+" FROM few JOIN mixed USING (k) WHERE yes", settings[0])
	}

	// Which of them are computed below: for an inner join all, where the join makes up rows not what sees that they are.
	early := func(sql string) bool {
		root := s.bind(sql).Plan
		stages, err := planner.Distribute(root, s.sizedScans(root), planner.Options{Slots: 4, TargetTaskSize: 1 << 10, BroadcastThreshold: -1, EarlyAlways: true})
		require.NoError(t, err)
		for _, stage := range stages {
			for _, n := range stage.Notes {
				if strings.HasPrefix(n, "aggregate: states are computed below the join") {
					return true
				}
			}
		}
		return false
	}
	for sql, want := range map[string]bool{
		"SELECT name, count(v) FROM facts JOIN dims USING (k) GROUP BY name":                                     true,
		"SELECT name, count(*) FROM facts JOIN dims USING (k) GROUP BY name":                                     true,
		"SELECT name, sum(v + 1) FROM facts JOIN dims USING (k) GROUP BY name":                                   false,
		"SELECT name, sum(v + 1) FROM facts LEFT JOIN dims USING (k) GROUP BY name":                              true,
		"SELECT name, sum(coalesce(v, 7)) FROM facts JOIN dims USING (k) GROUP BY name":                          true,
		"SELECT name, sum(v::HUGEINT) FROM facts JOIN dims USING (k) GROUP BY name":                              false,
		"SELECT name, sum(CASE WHEN even THEN v ELSE 7 END) FROM facts JOIN dims USING (k) GROUP BY name":        true,
		"SELECT name, count(v) FROM facts RIGHT JOIN dims USING (k) GROUP BY name":                               true,
		"SELECT name, count(*), count(v) FROM facts RIGHT JOIN dims USING (k) GROUP BY name":                     false,
		"SELECT name, sum(coalesce(v, 7)) FROM facts RIGHT JOIN dims USING (k) GROUP BY name":                    false,
		"SELECT name, count(v) FILTER (WHERE even) FROM facts RIGHT JOIN dims USING (k) GROUP BY name":           false,
		"SELECT name, median(v) FROM facts JOIN dims USING (k) GROUP BY name":                                    false,
		"SELECT name, sum(s::INTEGER) FROM facts JOIN dims USING (k) GROUP BY name":                              false,
		"SELECT name, sum(TRY_CAST(s AS INTEGER)) FROM facts JOIN dims USING (k) GROUP BY name":                  true,
		"SELECT name, sum(length(s)) FROM facts JOIN dims USING (k) GROUP BY name":                               false,
		"SELECT name, sum(v * (1 - d)) FROM facts JOIN dims USING (k) GROUP BY name":                             false,
		"SELECT name, count(DISTINCT v) FROM facts JOIN dims USING (k) GROUP BY name":                            false,
		"SELECT name, sum(v * length(name)) FROM facts JOIN dims USING (k) GROUP BY name":                        false,
		"SELECT name, count(v) FROM facts a JOIN dims d ON a.k = d.k AND a.v > length(d.name) GROUP BY name":     false,
		"SELECT name, count(v) FROM facts a JOIN dims d ON a.f = d.f GROUP BY name":                              false,
		"SELECT name, count(v) FROM facts a JOIN dims d ON a.k = d.k WHERE random() < 2 GROUP BY name, random()": false,
	} {
		require.Equal(t, want, early(sql), sql)
	}
}

// A table's rows are aggregated before they are exchanged where many of them meet a row of the other, which cannot be sent to
// every task; not where the other can be, nor where both can be read by ranges of the key.
func TestEarlyWhereItPays(t *testing.T) {
	t.Parallel()
	s := newSimulator(t)
	s.exec("CREATE TABLE facts(k BIGINT, v BIGINT, s VARCHAR)")
	s.exec("CREATE TABLE dims(k BIGINT, name VARCHAR)")
	s.describe()
	notes := func(sql string, facts, dims int64, wrap func(planner.ScanFiles) planner.ScanFiles) string {
		for name, rows := range map[string]int64{"facts": facts, "dims": dims} {
			s.tables[name].Rows, s.tables[name].Bytes = rows, rows*20
		}
		root := s.bind(sql).Plan
		scans := s.sizedScans(root)
		for leaf := range scans {
			scans[leaf] = wrap(scans[leaf])
		}
		stages, err := planner.Distribute(root, scans, planner.Options{Slots: 4, KeyRanges: true})
		require.NoError(t, err)
		var all []string
		for _, stage := range stages {
			all = append(all, stage.Notes...)
		}
		return strings.Join(all, "\n")
	}
	asIs := func(f planner.ScanFiles) planner.ScanFiles { return f }
	const below = "states are computed below the join"
	outer := "SELECT d.k, count(v) FROM dims d LEFT JOIN facts a ON a.k = d.k GROUP BY d.k"
	require.Contains(t, notes(outer, 40_000_000, 1_000_000, asIs), below)
	require.NotContains(t, notes(outer, 40_000_000, 9_000_000, asIs), below, "a task has four million rows for nine million keys")
	inner := "SELECT d.k, count(v) FROM dims d JOIN facts a ON a.k = d.k GROUP BY d.k"
	require.NotContains(t, notes(inner, 40_000_000, 1_000_000, asIs), below, "the smaller side is sent to every task")
	require.Contains(t, notes(inner, 400_000_000, 6_000_000, asIs), below)
	byKey := notes(outer, 40_000_000, 1_000_000, func(f planner.ScanFiles) planner.ScanFiles { return byKey{f.(columnShare)} })
	require.NotContains(t, byKey, below)
	require.Contains(t, byKey, "ranges of k")
}

// byKey is a table whose files follow its column k.
type byKey struct{ columnShare }

func (s byKey) KeySpans(column plan.ScanColumn) ([]planner.KeySpan, bool) {
	return byOrder(s).KeySpans(plan.ScanColumn{Name: strings.Replace(column.Name, "k", "o_orderkey", 1)})
}

func (s byKey) KeyRanges(column plan.ScanColumn, cuts []int64) []*seracv1.FileGroup {
	return byOrder(s).KeyRanges(column, cuts)
}
