package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/planner"
)

// Set operations bring equal rows together: NULLs are equal, ALL counts duplicates, branches may be in one task, spread, or
// partitioned already.
func TestSetOperationsDistributed(t *testing.T) {
	newHazards(t).checkAll(t,
		"SELECT k, s FROM a INTERSECT SELECT k, s FROM a WHERE g = 1", "SELECT k, s FROM a EXCEPT SELECT k, s FROM a WHERE g = 1", "SELECT k, s FROM a INTERSECT ALL SELECT k, s FROM a WHERE g < 3", "SELECT k, s FROM a EXCEPT ALL SELECT k, s FROM a WHERE g = 1",
		"SELECT k FROM a INTERSECT SELECT k FROM allnull", "SELECT k FROM allnull EXCEPT SELECT k FROM a", "SELECT k FROM allnull EXCEPT ALL SELECT k FROM a", "SELECT k, g FROM allnull INTERSECT ALL SELECT NULL, g FROM a",
		"SELECT DISTINCT k, g FROM a EXCEPT SELECT DISTINCT k, g FROM b", "SELECT DISTINCT k FROM a INTERSECT SELECT k FROM b GROUP BY k", "SELECT DISTINCT k FROM a EXCEPT ALL SELECT DISTINCT k FROM b", "SELECT k, count(*) FROM a GROUP BY k INTERSECT SELECT k, count(*) FROM a GROUP BY k",
		"SELECT max(k) FROM a INTERSECT SELECT k FROM b", "SELECT k FROM a EXCEPT SELECT max(k) FROM b", "SELECT count(*) FROM nothing UNION SELECT k FROM b", "SELECT count(*) FROM a UNION ALL SELECT k FROM b UNION ALL SELECT max(id) FROM a UNION ALL SELECT g FROM nothing",
		"SELECT k FROM nothing INTERSECT SELECT k FROM a", "SELECT k FROM a INTERSECT ALL SELECT k FROM nothing", "SELECT k FROM nothing UNION SELECT k FROM nothing",
		"SELECT x, count(*) FROM (SELECT k x FROM a INTERSECT SELECT k FROM b) GROUP BY x", "SELECT x, count(*) FROM (SELECT k x FROM a EXCEPT ALL SELECT k FROM b) GROUP BY x", "SELECT x, y FROM (SELECT k x, g y FROM a UNION SELECT k, g FROM b) JOIN one ON x >= one.k",
		"SELECT d FROM types UNION SELECT -d FROM types", "SELECT d FROM types INTERSECT SELECT -d FROM types", "SELECT iv FROM types EXCEPT SELECT INTERVAL '720 hours'", "SELECT l, st FROM types INTERSECT SELECT l, st FROM types WHERE g = 1", "SELECT k FROM a UNION (SELECT k FROM b EXCEPT SELECT k FROM nonulls) UNION SELECT id FROM one",
		"SELECT id, k FROM a UNION BY NAME SELECT k, id, s FROM b", "SELECT k FROM a INTERSECT SELECT k FROM b INTERSECT ALL SELECT k FROM nonulls",
	)
}

// A branch of UNION ALL that runs in one task does not bring the others there.
func TestUnionOfOneTaskAndMany(t *testing.T) {
	s := newHazards(t)
	s.t = t
	for _, single := range []string{"SELECT count(*) FROM b", "SELECT max(k) FROM b", "SELECT 1", "(SELECT k FROM b ORDER BY k LIMIT 3)", "SELECT id FROM one"} {
		sql := "SELECT id FROM a UNION ALL " + single
		stages, _ := s.distribute(s.bind(sql).Plan, planner.Options{Slots: 4, TargetTaskSize: 1 << 10})
		last := stages[len(stages)-1]
		require.Greater(t, len(last.Tasks), 1, planner.Explain(stages))
		require.Equal(t, "a", find[*plan.IcebergScan](last.Root).TableKey, "the rows of a are where they are read:\n%s", planner.Explain(stages))
	}
}
