package bind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/tests/corpora"
)

func ownTables(t *testing.T) *reference {
	t.Helper()
	return newReference(t, func(exec func(context.Context, string) error) error {
		if err := corpora.Own().Fill(exec); err != nil {
			return err
		}
		// So that names of three parts mean something in the reference too.
		return exec(context.Background(), "ATTACH ':memory:' AS serac; CREATE SCHEMA serac.ns; CREATE VIEW serac.ns.t AS FROM memory.main.t")
	})
}

// TestQueries goes through every construct that the plan knows, on both rungs of the ladder.
func TestQueries(t *testing.T) {
	r := ownTables(t)
	queries := corpora.Own().Queries
	t.Run("optimised", func(t *testing.T) {
		c := r.checkAll(t, queries)
		require.LessOrEqual(t, c.whole, 1) // WITH ORDINALITY
		require.LessOrEqual(t, c.bound, 2) // constants that the serialized plan does not show: BIT, BIGNUM
		require.Zero(t, c.noText)
	})
	t.Run("as bound", func(t *testing.T) {
		c := r.checkBound(t, queries)
		require.LessOrEqual(t, c.whole, 3)
	})
}

func bindOne(t *testing.T, req Request) *Bound {
	t.Helper()
	b := New(1)
	defer b.Close()
	bound, err := b.Bind(context.Background(), req)
	require.NoError(t, err)
	return bound
}

func TestReferences(t *testing.T) {
	b := New(1)
	defer b.Close()
	for sql, want := range map[string]string{
		"SELECT 1":                  "",
		"SELECT * FROM t":           "t",
		"SELECT * FROM t a, t b, T": "t",
		"SELECT * FROM c.ns.t JOIN ns.r USING (id) WHERE x IN (SELECT y FROM z WHERE EXISTS (FROM w))": "c.ns.t ns.r z w",
		"WITH t AS (SELECT * FROM t) SELECT * FROM t":                                                  "t",
		"WITH t AS (SELECT 1) SELECT * FROM t":                                                         "",
		"WITH t AS (SELECT 1) SELECT * FROM ns.t":                                                      "ns.t",
		"WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a, b, c":                    "b c",
		"WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n, x WHERE i < 3) FROM n":      "x",
		"SELECT * FROM (WITH q AS (FROM p) FROM q) s, q":                                               "p q",
		"SELECT (SELECT max(a) FROM t2) FROM t1 ORDER BY (SELECT b FROM t3)":                           "t1 t2 t3",
		"SELECT * FROM range(3), (VALUES (1)) v(x)":                                                    "",
		"FROM a UNION ALL SELECT * FROM b EXCEPT FROM c":                                               "a b c",
		"PIVOT p ON x IN ('a') USING sum(y)":                                                           "p",
		"SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.a = t.a)":                                   "t u",
		`SELECT * FROM "my schema"."a.b"`:                                                              "my schema.a.b",
	} {
		refs, err := b.References(context.Background(), sql)
		require.NoError(t, err, sql)
		got := map[string]bool{}
		for _, r := range refs {
			got[strings.ToLower(r.String())] = true
		}
		wanted := map[string]bool{}
		for _, w := range strings.Fields(strings.ReplaceAll(want, "my schema", "my_schema")) {
			wanted[strings.ReplaceAll(w, "my_schema", "my schema")] = true
		}
		require.Equal(t, wanted, got, sql)
	}
	refs, err := b.References(context.Background(), "SELECT * FROM t AT (VERSION => 3), t AT (TIMESTAMP => TIMESTAMP '2024-01-01'), t")
	require.NoError(t, err)
	require.Len(t, refs, 3)
	var at []string
	for _, r := range refs {
		if r.At != nil {
			at = append(at, r.At.Unit+" "+r.At.Value)
		}
	}
	require.ElementsMatch(t, []string{"VERSION 3", "TIMESTAMP 2024-01-01"}, at)
}

func TestResultColumnsKeepTheirNames(t *testing.T) {
	r := ownTables(t)
	bound := bindOne(t, r.request(`SELECT id AS "The Id", sum(de) + 1, g, 'x' AS c0 FROM t GROUP BY id, g ORDER BY 1 LIMIT 1`))
	require.Equal(t, []string{"The Id", "(sum(de) + 1)", "g", "c0"}, bound.Columns.Names())
	require.Equal(t, "[INTEGER DECIMAL(38,2) INTEGER VARCHAR]", fmt.Sprint(bound.Columns.Types()))
	require.Equal(t, "The Id", bound.Arrow.Field(0).Name)
	require.Equal(t, arrow.PrimitiveTypes.Int32, bound.Arrow.Field(0).Type)
	require.Equal(t, bound.Columns, bound.Whole.Out)
}

func TestErrorsAreForTheUser(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer b.Close()
	for sql, want := range map[string]string{
		"SELECT nope FROM t":          `Referenced column "nope" not found in FROM clause`,
		"SELECT t.nope FROM ns.t":     `does not have a column named "nope"`,
		"SELECT * FROM nosuch":        "table nosuch does not exist",
		"SELECT * FROM serac.other.t": "table serac.other.t does not exist",
		"SELEC 1":                     `syntax error at or near "SELEC"`,
		"SELECT id + 'x'::DATE + DATE '2024-01-01' FROM t": "No function matches",
		"SELECT id FROM t GROUP BY g":                      `must appear in the GROUP BY clause`,
		"SELECT 1; SELECT 2":                               "one statement",
		"PIVOT t ON s USING sum(k)":                        "a PIVOT needs its values in IN (...)",
		"SELECT * FROM read_csv('/etc/passwd')":            "allow_file_functions",
		"SELECT * FROM '/etc/passwd.parquet'":              "does not exist",
	} {
		_, err := b.Bind(context.Background(), r.request(sql))
		require.ErrorContains(t, err, want, sql)
		require.NotContains(t, err.Error(), scanFunction, sql)
		var fault *Error
		var missing *NotFoundError
		require.True(t, errors.As(err, &fault) || errors.As(err, &missing), sql)
	}
	// The planner still works after all that.
	_, err := b.Bind(context.Background(), r.request("SELECT 1"))
	require.NoError(t, err)
}

func TestSessionFunctionsAreFixedAtPlanning(t *testing.T) {
	r := ownTables(t)
	sql := "SELECT id, now() AS n, current_date, localtime, current_timestamp > ts, current_setting('TimeZone'), current_schema, age(ts) FROM t WHERE d < today()"
	for _, skip := range []bool{false, true} {
		b := New(1)
		b.skipOptimised = skip
		req := r.request(sql)
		req.Settings = map[string]string{"timezone": "Asia/Tokyo"}
		bound, err := b.Bind(context.Background(), req)
		require.NoError(t, err)
		require.NoError(t, b.Close())
		require.NotNil(t, bound.Plan, bound.Reason)
		plan.Walk(bound.Plan, func(n plan.Node) bool {
			for _, e := range plan.NodeExprs(n) {
				plan.WalkExpr(e, func(e plan.Expr) bool {
					if c, ok := e.(*plan.Call); ok {
						require.False(t, sessionFunctions[c.Name], "%s is still called", c.Name)
					}
					return true
				})
			}
			return true
		})
		for _, word := range []string{"now(", "today(", "current_", "localtime"} {
			require.NotContains(t, bound.Whole.SQL, word)
		}
		require.Contains(t, bound.Whole.SQL, "Asia/Tokyo")
		text, err := r.rendered(bound.Plan)
		require.NoError(t, err)
		got := r.run(context.Background(), text)
		require.NoError(t, got.err)
		require.Len(t, got.rows, 500)
	}
}

func TestColumnNamedLikeASessionFunction(t *testing.T) {
	r := ownTables(t)
	bound := bindOne(t, r.request("SELECT user FROM (SELECT name AS user FROM r)"))
	require.Equal(t, "user", bound.Columns[0].Name)
	require.Contains(t, bound.Whole.SQL, `AS "user"`)
	require.NotContains(t, bound.Whole.SQL, "CAST")
}

func TestSettings(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer b.Close()
	bind := func(sql string, settings map[string]string) (*Bound, error) {
		req := r.request(sql)
		req.Settings = settings
		return b.Bind(context.Background(), req)
	}
	bound, err := bind("SELECT k FROM t ORDER BY k", map[string]string{"default_null_order": "nulls_first"})
	require.NoError(t, err)
	require.Contains(t, plan.Explain(bound.Plan), "NULLS FIRST")
	bound, err = bind("SELECT k FROM t ORDER BY k", nil)
	require.NoError(t, err)
	require.NotContains(t, plan.Explain(bound.Plan), "NULLS FIRST", "the setting has outlived its statement")

	_, err = bind("SELECT 1", map[string]string{"timezone": "Nowhere/Land"})
	var fault *Error
	require.ErrorAs(t, err, &fault)
	_, err = bind("SELECT 1", map[string]string{"no such": "1"})
	require.ErrorAs(t, err, &fault)
	_, err = bind("SELECT 1", nil)
	require.NoError(t, err)
}

func TestParameters(t *testing.T) {
	r := ownTables(t)
	req := r.request("SELECT id FROM t WHERE id = $2 AND s <> $1")
	require.Equal(t, 2, bindOne(t, req).Params)
	req.Params = []*plan.Constant{{Value: "it's", Of: plan.T(plan.Varchar)}, {Value: int64(7), Of: plan.T(plan.BigInt)}}
	bound := bindOne(t, req)
	text, err := r.rendered(bound.Plan)
	require.NoError(t, err)
	require.Equal(t, []string{"7"}, r.run(context.Background(), text).rows)
	text, err = r.rendered(bound.Whole)
	require.NoError(t, err)
	require.Equal(t, []string{"7"}, r.run(context.Background(), text).rows)
	req.Params = req.Params[:1]
	b := New(1)
	defer b.Close()
	_, err = b.Bind(context.Background(), req)
	require.ErrorContains(t, err, "parameter $2 has no value")
}

func TestTimeTravelIsResolvedPerReference(t *testing.T) {
	r := ownTables(t)
	req := r.request("SELECT a.id, b.id FROM t a AT (VERSION => 1) JOIN t b AT (VERSION => 2) USING (id) JOIN t ON t.id = a.id")
	req.Resolve = func(ctx context.Context, ref Ref) (*Table, error) {
		base, err := r.resolve(ctx, ref)
		if err != nil || ref.At == nil {
			return base, err
		}
		old := *base
		old.Key += "-" + ref.At.Value
		return &old, nil
	}
	bound := bindOne(t, req)
	keys := map[string]bool{}
	for _, n := range []plan.Node{bound.Plan, bound.Whole} {
		plan.Walk(n, func(n plan.Node) bool {
			if s, ok := n.(*plan.IcebergScan); ok {
				keys[s.TableKey] = true
			}
			return true
		})
		require.Len(t, keys, 3)
	}
	require.Len(t, bound.Tables, 3)
}

func TestWholeStatementReadsOnlyItsColumns(t *testing.T) {
	r := ownTables(t)
	columns := func(sql string) string {
		bound := bindOne(t, r.request(sql))
		require.NotNil(t, bound.Whole, sql)
		var out []string
		for _, s := range bound.Whole.Scans {
			out = append(out, strings.Join(s.Scan.Schema().Names(), ","))
		}
		return strings.Join(out, " ")
	}
	require.Equal(t, "id,g", columns("SELECT id FROM t WHERE g = 3"))
	require.Equal(t, "id,g", columns("SELECT id FROM (SELECT * FROM t) WHERE g = 3"))
	require.Equal(t, "s", columns("SELECT count(*) FROM t WHERE false OR s IS NULL"))
	require.Equal(t, "id,k,w,name,ts", columns("SELECT id FROM (SELECT * FROM r UNION SELECT * FROM r)"))
	require.Equal(t, "id,k,w,name,ts", columns("SELECT r FROM r"))
	require.Len(t, strings.Split(columns("SELECT count(*) FROM t"), ","), 1)
	natural := columns("SELECT t.v FROM t NATURAL JOIN r")
	require.Contains(t, natural, "id,k,w,name,ts")
}

func TestFiltersForPruning(t *testing.T) {
	r := ownTables(t)
	for cond, want := range map[string]string{
		"id = 3":                               "(id = 3)",
		"3 < id":                               "(id > 3)",
		"id > 3 AND s LIKE 'a%' AND k IS NULL": "(k IS NULL AND (id > 3))",
		"d >= DATE '2024-01-05' AND d < DATE '2024-01-05' + INTERVAL 3 DAY": "('2024-01-05' <= d < '2024-01-08')",
		"id IN (1, 5, 9)":        "((id = 1) OR (id = 5) OR (id = 9))",
		"id = 1 OR k = 2":        "((id = 1) OR (k = 2))",
		"id = 1 OR s LIKE '%a'":  "",
		"NOT (id = 1 AND k = 2)": "", // nothing under NOT counts
		"v::FLOAT = 0.1::FLOAT":  "", // rule 13: a cast on the column stays
		"id + 1 = 3":             "(id = 2)",
		"s LIKE 'a\\_c%'":        "",
		"id = k":                 "",
		"k = NULL":               "",
		"id BETWEEN 3 AND 5 AND g <> ALL (SELECT w FROM r)": "(3 <= id <= 5)",
	} {
		bound := bindOne(t, r.request("SELECT id, k, s, d, v, g FROM t WHERE "+cond))
		got := ""
		plan.Walk(bound.Plan, func(n plan.Node) bool {
			if s, ok := n.(*plan.IcebergScan); ok && strings.HasPrefix(s.TableKey, "serac.ns.t") && s.Filter != nil {
				got = plan.ExprText(s.Filter, s.Schema())
			}
			return true
		})
		require.Equal(t, want, got, cond)
	}
}

func TestNewMetadataIsSeen(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer b.Close()
	bound, err := b.Bind(context.Background(), r.request("SELECT * FROM r"))
	require.NoError(t, err)
	require.Len(t, bound.Columns, 5)
	changed := *r.tables["r"]
	changed.Key = "serac.ns.r@2"
	changed.Columns = append(changed.Columns[:5:5], plan.ScanColumn{FieldID: 9, Name: "added", Type: plan.T(plan.Date), Nullable: true})
	r.tables["r"] = &changed
	bound, err = b.Bind(context.Background(), r.request("SELECT * FROM r"))
	require.NoError(t, err)
	require.Equal(t, "added", bound.Columns[5].Name) // rule 15
}

func TestManyStatementsAtOnce(t *testing.T) {
	r := ownTables(t)
	b := New(2)
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() {
			bound, err := b.Bind(context.Background(), r.request(fmt.Sprintf("SELECT id, %d AS n FROM t JOIN r USING (id) WHERE g = %d", i, i)))
			if err == nil && !strings.Contains(plan.Explain(bound.Plan), fmt.Sprintf("(g = %d)", i)) {
				err = fmt.Errorf("the plan is another statement's:\n%s", plan.Explain(bound.Plan))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.NoError(t, b.Close())
}

func TestCancelledBind(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer b.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.Bind(ctx, r.request("SELECT * FROM t"))
	require.ErrorIs(t, err, context.Canceled)
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = b.Bind(ctx, r.request("SELECT * FROM t"))
	require.NoError(t, err)
}
