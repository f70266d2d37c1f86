package bind

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
)

// Names that look like generated ones are the user's all the same.
func TestGeneratedNamesLeaveTheUsersAlone(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, `CREATE TABLE t(i INTEGER); INSERT INTO t VALUES (1), (2), (3);
			CREATE TABLE scan_0(j INTEGER); INSERT INTO scan_0 VALUES (10);
			CREATE TABLE scan_1(i INTEGER); INSERT INTO scan_1 VALUES (20), (30)`)
	})
	b := New(1)
	defer b.Close()
	for _, sql := range []string{
		"SELECT sum(i), sum(j) FROM t, scan_0",
		"SELECT sum(i), sum(j) FROM t, SCAN_0",
		"SELECT sum(t.i), sum(s.i) FROM t, scan_1 s, scan_0",
		"SELECT sum(i) FROM t",
		"SELECT sum(j) FROM SCAN_0",
		"WITH scan_0 AS (SELECT 7 AS i) SELECT sum(t.i), sum(scan_0.i) FROM t, scan_0",
		"SELECT sum(scan_0.i), sum(t.i) FROM t AS scan_0, scan_1 AS t",
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		require.NoError(t, err, sql)
		want := r.run(ctx, sql)
		require.NoError(t, want.err, sql)
		for _, n := range []plan.Node{bound.Plan, bound.Whole} {
			text, err := r.rendered(n)
			require.NoError(t, err, sql)
			require.Empty(t, want.differ(r.run(ctx, text), true), "%s\n%s", sql, text)
		}
	}
}
