package bind

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
)

// A statement that runs as its text reads the files that its plan would, and no more.
func TestTextPrunesAsThePlanDoes(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, `CREATE TABLE a(x INTEGER, y INTEGER, z VARCHAR); INSERT INTO a SELECT i, i % 7, 'z' || i FROM range(100) r(i);
			CREATE TABLE b(x INTEGER, w INTEGER); INSERT INTO b SELECT i, i % 5 FROM range(50) r(i)`)
	})
	b := New(1)
	defer b.Close()
	for sql, want := range map[string]map[string]string{
		"SELECT z FROM a WHERE x = 5":                                               {"a": "(x = 5)"},
		"SELECT z FROM a WHERE x = 5 AND length(z) > 1":                             {"a": "(x = 5)"},
		"SELECT z FROM a":                                                           {"a": ""},
		"SELECT count(*) FROM a WHERE length(z) = 3":                                {"a": ""},
		"SELECT z FROM a WHERE x = 5 UNION ALL SELECT z FROM a WHERE y = 6":         {"a": "((x = 5) OR (y = 6))"},
		"SELECT z FROM a WHERE x = 5 UNION ALL SELECT z FROM a":                     {"a": ""},
		"SELECT z, w FROM a JOIN b USING (x) WHERE y = 3":                           {"a": "(y = 3)", "b": ""},
		"SELECT z, (SELECT count(*) FROM a) FROM a WHERE x = 9":                     {"a": ""},
		"SELECT z FROM a WHERE x IN (SELECT x FROM b WHERE w = 2) AND y <> 1":       {"a": "(y <> 1)", "b": "(w = 2)"},
		"SELECT a.x, b.w FROM b LEFT JOIN a ON a.x = b.x AND a.y = 3 WHERE b.w = 4": {"a": "(y = 3)", "b": "(w = 4)"},
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		require.NoError(t, err, sql)
		require.NotNil(t, bound.Plan, sql)
		got := map[string]string{}
		for _, s := range bound.Whole.Scans {
			scan := s.Scan.(*plan.IcebergScan)
			for name, table := range r.tables {
				if table.Key == scan.TableKey {
					got[name] = ""
					if scan.Filter != nil {
						got[name] = plan.ExprText(scan.Filter, scan.Schema())
					}
				}
			}
		}
		require.Equal(t, want, got, sql)
		text, err := r.rendered(bound.Whole)
		require.NoError(t, err, sql)
		require.Empty(t, r.run(ctx, sql).differ(r.run(ctx, text), false), "%s\n%s", sql, text)
	}
}

// A text has what it takes to mean the same as its plan, which needs less.
func TestTextBindsAsThePlanDoes(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, "CREATE TABLE a(x INTEGER, y INTEGER, z INTEGER); INSERT INTO a SELECT i, i % 7, i % 5 FROM range(100) r(i)")
	})
	b := New(1)
	defer b.Close()
	for sql, columns := range map[string]int{
		"SELECT q FROM a AS r(z, q)":                                                          3, // q is y, of columns counted from the first
		"SELECT q FROM a AS r(p, q, s)":                                                       3,
		"SELECT q FROM (SELECT y, z FROM a) AS r(p, q)":                                       2,
		"SELECT count(*) FROM (SELECT * EXCLUDE (x) FROM a)":                                  3,
		"SELECT count(*) FROM (SELECT COLUMNS('[y]') FROM a)":                                 3,
		"SELECT x FROM (SELECT x, * LIKE 'z%' FROM a)":                                        3,
		"SELECT count(*) FROM a WHERE EXISTS (SELECT * EXCLUDE (x) FROM a c WHERE c.x = a.y)": 3,
		"SELECT count(*) FROM a WHERE EXISTS (SELECT * FROM a c WHERE c.x = a.y)":             2,
		"SELECT x FROM (SELECT * FROM a)":                                                     1,
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		require.NoError(t, err, sql)
		require.NotNil(t, bound.Plan, sql)
		require.Len(t, bound.Whole.Scans[0].Scan.Schema(), columns, sql)
		text, err := r.rendered(bound.Whole)
		require.NoError(t, err, sql)
		require.Empty(t, r.run(ctx, sql).differ(r.run(ctx, text), false), "%s\n%s", sql, text)
	}
}

// Without a plan a text has the columns that it names, and all where it may mean others.
func TestTextOnly(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, `CREATE TABLE a(x INTEGER, y INTEGER, z VARCHAR); INSERT INTO a SELECT i, i % 7, 'z' || i FROM range(100) r(i);
			CREATE TABLE b(x INTEGER, w INTEGER); INSERT INTO b SELECT i, i % 5 FROM range(50) r(i)`)
	})
	b := New(1)
	defer b.Close()
	for sql, want := range map[string][]string{
		"SELECT z FROM a WHERE x = 5":                                            {"x", "z"},
		"SELECT count(*) FROM a":                                                 {"x"},
		"SELECT y FROM a ORDER BY y LIMIT 3":                                     {"y"},
		"SELECT * FROM a WHERE x = 5":                                            {"x", "y", "z"},
		"FROM a":                                                                 {"x", "y", "z"},
		"SELECT COLUMNS('[xy]') FROM a":                                          {"x", "y", "z"},
		"SELECT a FROM a":                                                        {"x", "y", "z"},
		"SELECT p FROM a AS q(o, p)":                                             {"x", "y", "z"},
		"SELECT y FROM a UNION SELECT x FROM a":                                  {"x", "y"},
		"SELECT a.y, c.x FROM a NATURAL JOIN a AS c":                             {"x", "y", "z"},
		"PIVOT a ON y IN (1, 2) USING count(*)":                                  {"x", "y", "z"},
		"SELECT y FROM a WHERE EXISTS (SELECT 1 FROM a WHERE z > 'z5')":          {"y", "z"},
		"SELECT y FROM a WHERE EXISTS (SELECT * FROM a WHERE z > 'z5')":          {"y", "z"},
		"SELECT y FROM a WHERE EXISTS (SELECT * EXCLUDE (x) FROM a WHERE x > 5)": {"x", "y", "z"},
		"SELECT y FROM a WHERE EXISTS (SELECT COLUMNS('[^xy]') FROM a)":          {"x", "y", "z"},
		"WITH c(q) AS (SELECT z FROM a) SELECT q FROM c":                         {"z"},
		"SELECT y FROM a WHERE EXISTS (SELECT *, count(*) FROM a GROUP BY ALL HAVING count(*) > 1)": {"x", "y", "z"},
		"SELECT * FROM (SELECT y, count(*) FROM a GROUP BY y)":                                      {"y"},
		"WITH c AS (SELECT z FROM a) SELECT * FROM c":                                               {"z"},
		"SELECT z, #1 FROM a": {"x", "y", "z"},
		"SELECT y FROM a WHERE EXISTS (SELECT * EXCLUDE (z) FROM a WHERE z > 'z5')":            {"x", "y", "z"},
		"SELECT z FROM a WHERE EXISTS (SELECT * EXCLUDE (q.z) FROM a AS q WHERE q.z > 'z5')":   {"x", "y", "z"},
		"SELECT z FROM a WHERE EXISTS (SELECT COLUMNS('x.*') FROM a WHERE z > 'z5')":           {"x", "y", "z"},
		"SELECT z FROM a WHERE EXISTS (SELECT COLUMNS(c -> c = 'x') FROM a WHERE z > 'z5')":    {"x", "y", "z"},
		"SELECT z FROM a WHERE EXISTS (SELECT * REPLACE (length(z) AS z) FROM a WHERE z > '')": {"x", "y", "z"},
	} {
		request := r.request(sql)
		request.TextOnly = func(tables []*Table) bool { return len(tables) == 1 && tables[0].Name == "a" }
		bound, err := b.Bind(ctx, request)
		require.NoError(t, err, sql)
		require.Nil(t, bound.Plan, sql)
		require.Empty(t, bound.Reason, sql)
		scan := bound.Whole.Scans[0].Scan.(*plan.IcebergScan)
		require.Equal(t, want, scan.Schema().Names(), sql)
		require.Nil(t, scan.Filter, sql)
		text, err := r.rendered(bound.Whole)
		require.NoError(t, err, sql)
		require.Empty(t, r.run(ctx, sql).differ(r.run(ctx, text), false), "%s\n%s", sql, text)
	}
	// So it is with a plan beside it.
	for _, sql := range []string{
		"SELECT count(*) FROM (SELECT * EXCLUDE (x) FROM a)", "SELECT count(*) FROM (SELECT COLUMNS('y.*') FROM a)",
		"SELECT x FROM a WHERE EXISTS (SELECT * EXCLUDE (w) FROM b WHERE b.w = a.y)", "SELECT count(*) FROM (SELECT COLUMNS(* EXCLUDE (x)) FROM a)",
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		require.NoError(t, err, sql)
		require.NotNil(t, bound.Plan, sql)
		text, err := r.rendered(bound.Whole)
		require.NoError(t, err, sql)
		require.Empty(t, r.run(ctx, sql).differ(r.run(ctx, text), false), "%s\n%s", sql, text)
	}
	request := r.request("SELECT w FROM b")
	request.TextOnly = func([]*Table) bool { return false }
	bound, err := b.Bind(ctx, request)
	require.NoError(t, err)
	require.NotNil(t, bound.Plan)
}

// A text says how many rows it has at most by a LIMIT of its own that is a constant.
func TestMaxRows(t *testing.T) {
	ctx := context.Background()
	r := newReference(t, func(exec func(context.Context, string) error) error {
		return exec(ctx, "CREATE TABLE a(x INTEGER); INSERT INTO a SELECT i FROM range(100) r(i)")
	})
	b := New(1)
	defer b.Close()
	for sql, want := range map[string]int64{
		"SELECT x FROM a LIMIT 5":                                5,
		"SELECT x FROM a ORDER BY x LIMIT 7 OFFSET 2":            7,
		"(SELECT x FROM a) UNION ALL (SELECT 2) LIMIT 9":         9,
		"WITH c AS (SELECT x FROM a) SELECT * FROM c LIMIT 3000": 3000,
		"SELECT x FROM a":                                        0,
		"SELECT x FROM a LIMIT 0":                                0,
		"SELECT x FROM a LIMIT 5%":                               0,
		"SELECT x FROM a LIMIT 2 + 3":                            0,
		"SELECT x FROM a OFFSET 4":                               0,
		"SELECT * FROM (SELECT x FROM a LIMIT 3)":                0,
		"(SELECT x FROM a LIMIT 3) UNION ALL (SELECT x FROM a)":  0,
		"SELECT x FROM a LIMIT 99999999999999999999999999999":    0,
	} {
		bound, err := b.Bind(ctx, r.request(sql))
		if err != nil { // DuckDB refuses the last one
			require.Zero(t, want, sql)
			continue
		}
		require.NotNil(t, bound.Whole, sql)
		require.Equal(t, want, bound.Whole.MaxRows, sql)
	}
}
