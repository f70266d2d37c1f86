package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// What distribution puts into fragments (states, sets, local phases) reaches executors as it is.
func TestStagesCrossTheWire(t *testing.T) {
	s := newSpread(t)
	tables := []*wire.Table{{
		Key: "m", Identifier: []string{"serac", "ns", "m"}, MetadataLocation: "file:///m/v1.metadata.json", FileIO: wire.NewFileIO(nil), FormatVersion: 2,
	}}
	for _, sql := range []string{
		"SELECT g, avg(d), avg(id), avg(ts), stddev(x), corr(x, y), regr_intercept(y, x), arg_min(s, id), first(g), count(*) FROM m GROUP BY g",
		"SELECT count(DISTINCT k), count(DISTINCT (k, s)) FILTER (WHERE id > 3), sum(id), median(DISTINCT x) FROM m",
		"SELECT g, k, GROUPING(g, k), count(*), var_pop(x) FROM m GROUP BY CUBE(g, k)", "SELECT g, GROUPING(g), median(x) FROM m GROUP BY GROUPING SETS ((g), (), ())",
		"SELECT id, sum(id) OVER (PARTITION BY k), count(*) OVER (PARTITION BY g) FROM m", "SELECT id FROM m QUALIFY rank() OVER (PARTITION BY k ORDER BY id) <= 2",
		"SELECT x.id, y.id FROM m x ASOF JOIN m y ON x.g = y.g AND x.id > y.id", "SELECT DISTINCT ON (k) k, id FROM m ORDER BY k, id",
	} {
		stages, whole := s.distribute(s.bind(sql).Plan, settings[0].Options)
		require.False(t, whole, sql)
		require.Greater(t, len(stages), 1, sql)
		for _, stage := range stages {
			b, err := codec.EncodeFragment(stage.Root, tables)
			require.NoError(t, err, sql)
			f, err := codec.DecodeFragment(b)
			require.NoError(t, err, sql)
			require.Equal(t, plan.Explain(stage.Root), plan.Explain(f.Root))
			again, err := codec.EncodeFragment(f.Root, tables)
			require.NoError(t, err)
			require.Equal(t, b, again, sql)
		}
	}
}
