package scan_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// over is a random predicate about some of the pools' columns, and now and then about another.
func over(rng *rand.Rand, wanted []int, depth int) plan.Expr {
	if depth > 0 && rng.IntN(2) == 0 {
		return &plan.Conjunction{Or: rng.IntN(2) == 0, Args: []plan.Expr{over(rng, wanted, depth-1), over(rng, wanted, depth-1)}}
	}
	if depth > 0 && rng.IntN(6) == 0 {
		return &plan.Operator{Op: plan.OpNot, Args: []plan.Expr{over(rng, wanted, depth-1)}, Of: plan.T(plan.Boolean)}
	}
	for {
		e := randomPredicate(rng, 0)
		if rng.IntN(40) == 0 || !slices.ContainsFunc(plan.ColumnsUsed(e), func(i int) bool { return !slices.Contains(wanted, i) }) {
			return e
		}
	}
}

// DuckDB on the files: what a file's residual leaves out is true, and not NULL, of every row of the file.
func TestResidualsLeaveOutWhatIsTrueOfEveryRow(t *testing.T) {
	ctx := context.Background()
	rng := seed(t)
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	fixtures := map[string]*fixture{}
	for _, columns := range []string{"b i", "l", "f d", "n t", "m c", "s z", "v", "x u"} {
		fixtures[columns] = newFixture(t, c, conn, rng, strings.ReplaceAll(columns, " ", ""), 6, 5, strings.Fields(columns)...)
	}
	evolved := newFixture(t, c, conn, rng, "evolved", 4, 5, "i", "bucket(2, v)")
	evolved.respec(t, c, func(u *table.UpdateSpec) { u.RemoveField("i").AddField("v", ice.IdentityTransform{}, "v2") })
	evolved.write(t, c, rng, "evolved2", 4, 5)
	evolved.respec(t, c, func(u *table.UpdateSpec) { u.RemoveField("v2").AddField("i", ice.TruncateTransform{Width: 10}, "i10") })
	evolved.write(t, c, rng, "evolved3", 4, 5)
	fixtures["i v"] = evolved
	left, files := 0, 0
	for name, f := range fixtures {
		var wanted []int
		for i, p := range pools {
			if slices.Contains(strings.Fields(name), p.name) {
				wanted = append(wanted, i)
			}
		}
		for range 40 {
			filter := over(rng, wanted, 3)
			conjuncts := plan.SplitConjunction(filter)
			planned, err := scan.Plan(ctx, f.table, f.table.SnapshotID(), f.columns, filter)
			require.NoError(t, err)
			for _, g := range scan.Group(planned, 0, 1, 1) {
				paths := make([][]string, len(g.Residuals))
				for _, file := range g.Files {
					files++
					if file.Residual > 0 {
						left++
						paths[file.Residual-1] = append(paths[file.Residual-1], plan.QuoteString(file.Path))
					}
				}
				for i, r := range g.Residuals {
					require.EqualValues(t, len(conjuncts), r.Conjuncts)
					var dropped []plan.Expr
					for n, conjunct := range conjuncts {
						if !slices.Contains(r.Remaining, int32(n)) {
							dropped = append(dropped, conjunct)
						}
					}
					require.NotEmpty(t, dropped)
					text, err := render.Expr(plan.And(dropped...), f.names)
					require.NoError(t, err)
					rows, err := conn.Rows(ctx, fmt.Sprintf("SELECT count(*) FROM read_parquet([%s], hive_partitioning = false) WHERE (%s) IS NOT TRUE",
						strings.Join(paths[i], ", "), text))
					require.NoError(t, err)
					require.Zero(t, rows[0][0], "%s: a conjunct was left out that is not true of all rows\n%s", name, text)
				}
			}
		}
	}
	t.Logf("less than the whole filter is left for %d of %d files", left, files)
	require.Greater(t, left, files/8, "residuals do hardly anything")
}

// residualsOf are the residuals of the files that a filter leaves, by the files' specs and partition values.
func residualsOf(t *testing.T, tbl *catalog.Table, filter plan.Expr) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, g := range scan.Group(planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), filter), 1<<40, 1, 1) {
		for _, f := range g.Files {
			name := fmt.Sprint(f.SpecId)
			if k, ok := f.Constants[tbl.Columns()[0].FieldID]; ok {
				name += fmt.Sprintf(" k=%d", int32(binary.LittleEndian.Uint32(k)))
			}
			if s, ok := f.Constants[tbl.Columns()[1].FieldID]; ok {
				name += " s=" + string(s)
			}
			out[name] = "whole"
			if f.Residual > 0 {
				out[name] = fmt.Sprint(g.Residuals[f.Residual-1].Remaining)
			}
		}
	}
	return out
}

// What is certain by partition values and what is not, over files of two specs and with a NULL among the values.
func TestResiduals(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := small(t, c, "t", iceberg.PartitionTerm{Column: "k", Transform: "identity"})
	tbl = insert(t, c, conn, tbl, "1", "FROM (VALUES (1::INTEGER, 'a'), (1, 'z'), (2, 'b'), (2, 'r'), (2, NULL), (NULL, 'c'), (NULL, 'y'))")
	f := &fixture{conn: conn, table: tbl}
	f.respec(t, c, func(u *table.UpdateSpec) { u.RemoveField("k").AddField("s", ice.IdentityTransform{}, "s_identity") })
	tbl = insert(t, c, conn, f.table, "2", "FROM (VALUES (1::INTEGER, 'p'), (2, 'p'), (1, 'q'), (9, 'q'))")

	integer := plan.T(plan.Integer)
	k, s := &plan.ColumnRef{Index: 0, Of: integer}, &plan.ColumnRef{Index: 1, Of: plan.T(plan.Varchar)}
	number := func(n int64) plan.Expr { return &plan.Constant{Value: n, Of: integer} }
	null := &plan.Constant{Of: integer}
	text := func(v string) plan.Expr { return &plan.Constant{Value: v, Of: plan.T(plan.Varchar)} }
	compare := func(op plan.CompareOp, l, r plan.Expr) plan.Expr { return &plan.Comparison{Op: op, Left: l, Right: r} }
	operator := func(op plan.OperatorKind, args ...plan.Expr) plan.Expr {
		return &plan.Operator{Op: op, Args: args, Of: plan.T(plan.Boolean)}
	}
	and := func(args ...plan.Expr) plan.Expr { return &plan.Conjunction{Args: args} }
	or := func(args ...plan.Expr) plan.Expr { return &plan.Conjunction{Or: true, Args: args} }
	k1, k2, sP := compare(plan.Equal, k, number(1)), compare(plan.Equal, k, number(2)), compare(plan.Equal, s, text("p"))
	cast := &plan.Cast{Arg: k, To: plan.T(plan.BigInt)}
	for name, tc := range map[string]struct {
		filter plan.Expr
		want   map[string]string
	}{
		"nothing":       {nil, map[string]string{"0 k=1": "whole", "0 k=2": "whole", "0": "whole", "1 s=p": "whole", "1 s=q": "whole"}},
		"all of it":     {k1, map[string]string{"0 k=1": "[]", "1 s=p": "whole", "1 s=q": "whole"}},
		"column second": {compare(plan.Greater, number(2), k), map[string]string{"0 k=1": "[]", "1 s=p": "whole", "1 s=q": "whole"}},
		"by either spec": {and(k1, compare(plan.Greater, s, text("a"))), map[string]string{
			"0 k=1": "[1]", "1 s=p": "[0]", "1 s=q": "[0]",
		}},
		"nested conjunctions": {and(and(sP, k1), and(operator(plan.OpIsNotNull, k), k1)), map[string]string{"0 k=1": "[0]", "1 s=p": "[1 2 3]"}},
		"OR of two columns":   {or(k1, sP), map[string]string{"0 k=1": "[]", "0 k=2": "whole", "0": "whole", "1 s=p": "[]", "1 s=q": "whole"}},
		"AND within OR":       {or(and(k1, sP), k2), map[string]string{"0 k=1": "whole", "0 k=2": "[]", "1 s=p": "whole", "1 s=q": "whole"}},
		"negated OR":          {operator(plan.OpNot, or(k2, sP)), map[string]string{"0": "whole", "0 k=1": "whole", "1 s=q": "whole"}},
		"negated AND":         {operator(plan.OpNot, and(k2, sP)), map[string]string{"0 k=1": "[]", "0 k=2": "whole", "0": "whole", "1 s=p": "whole", "1 s=q": "[]"}},
		"BETWEEN": {and(&plan.Between{Arg: k, Low: number(1), High: number(3), LowInclusive: true}, operator(plan.OpIsNotNull, k)), map[string]string{
			"0 k=1": "[]", "0 k=2": "[]", "1 s=p": "whole", "1 s=q": "whole",
		}},
		"BETWEEN and NULL": {or(&plan.Between{Arg: k, Low: number(1), High: null, LowInclusive: true}, operator(plan.OpIsNull, s)), map[string]string{
			"0 k=2": "whole",
		}},
		"IN":           {operator(plan.OpIn, k, number(2), number(1), number(-5)), map[string]string{"0 k=1": "[]", "0 k=2": "[]", "1 s=p": "whole", "1 s=q": "whole"}},
		"IN with NULL": {operator(plan.OpIn, k, number(1), null), map[string]string{"0 k=1": "whole", "1 s=p": "whole", "1 s=q": "whole"}},
		"NOT IN":       {operator(plan.OpNotIn, k, number(5), number(2)), map[string]string{"0": "whole", "0 k=1": "[]", "1 s=p": "whole", "1 s=q": "whole"}},
		"not in two":   {operator(plan.OpNot, operator(plan.OpIn, k, number(2), number(3))), map[string]string{"0": "whole", "0 k=1": "[]", "1 s=p": "whole", "1 s=q": "whole"}},
		"IS NULL":      {operator(plan.OpIsNull, k), map[string]string{"0": "whole"}},
		"<>":           {compare(plan.NotEqual, k, number(2)), map[string]string{"0": "whole", "0 k=1": "[]", "1 s=p": "whole", "1 s=q": "whole"}},
		"IS DISTINCT FROM": {compare(plan.DistinctFrom, k, number(2)), map[string]string{
			"0 k=1": "[]", "0": "whole", "1 s=p": "whole", "1 s=q": "whole",
		}},
		"a cast": {compare(plan.Equal, cast, &plan.Constant{Value: int64(1), Of: plan.T(plan.BigInt)}), map[string]string{
			"0 k=1": "whole", "0 k=2": "whole", "0": "whole", "1 s=p": "whole", "1 s=q": "whole",
		}},
		"two columns": {compare(plan.Equal, k, k), map[string]string{"0 k=1": "whole", "0 k=2": "whole", "0": "whole", "1 s=p": "whole", "1 s=q": "whole"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, residualsOf(t, tbl, tc.filter)) })
	}

	// A residual is two bytes a file.
	bare := scan.Group(planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), and(k1, cast)), 1<<40, 1, 1)[0]
	require.NotEmpty(t, bare.Residuals)
	size := proto.Size(bare)
	marked := 0
	for _, f := range bare.Files {
		if f.Residual != 0 {
			marked++
		}
		f.Residual = 0
	}
	bare.Residuals = nil
	require.LessOrEqual(t, size-proto.Size(bare), 2*marked+16)

	// The type of the partition's values is not the column's any more.
	tbl = evolve(t, c, tbl, func(u *table.UpdateSchema) {
		u.UpdateColumn([]string{"k"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: ice.PrimitiveTypes.Int64, Valid: true}})
	})
	for _, of := range residualsOf(t, tbl, kEquals(0, plan.BigInt, 1)) {
		require.Equal(t, "whole", of)
	}
}

// The column of an identity field may have several residuals, by OR. The most common ones count.
func TestResidualsAreFew(t *testing.T) {
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	tbl := small(t, c, "t", iceberg.PartitionTerm{Column: "k", Transform: "identity"})
	tbl = insert(t, c, conn, tbl, "1", "SELECT i::INTEGER, 'x' FROM range(1, 7) r(i)")
	tbl = insert(t, c, conn, tbl, "2", "SELECT i::INTEGER, 'x' FROM range(4, 7) r(i)")
	early := &plan.Comparison{Op: plan.Less, Left: &plan.ColumnRef{Index: 1, Of: plan.T(plan.Varchar)}, Right: &plan.Constant{Value: "z", Of: plan.T(plan.Varchar)}}
	filter := &plan.Conjunction{}
	for i := range int64(6) {
		filter.Args = append(filter.Args, &plan.Conjunction{Or: true, Args: []plan.Expr{kEquals(0, plan.Integer, i+1), early}})
	}
	groups := scan.Group(planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), filter), 1<<40, 1, 1)
	require.Len(t, groups, 1)
	require.Len(t, groups[0].Residuals, 4)
	count := map[int32]int{}
	for _, f := range groups[0].Files {
		k := int32(binary.LittleEndian.Uint32(f.Constants[tbl.Columns()[0].FieldID]))
		if f.Residual == 0 {
			count[0]++
			continue
		}
		count[k]++
		r := groups[0].Residuals[f.Residual-1]
		require.EqualValues(t, 6, r.Conjuncts)
		require.Len(t, r.Remaining, 5)
		require.NotContains(t, r.Remaining, k-1, "what the partition decides is left out")
	}
	require.Equal(t, 2, count[0])
	for k := int32(4); k <= 6; k++ {
		require.Equal(t, 2, count[k], "k = %d is the residual of two files", k)
	}

	// Each group has the residuals of its own files.
	for _, g := range scan.Group(planned(t, tbl, tbl.SnapshotID(), tbl.Columns(), filter), 1, 9, 9) {
		require.Len(t, g.Files, 1)
		want := []*seracv1.Residual(nil)
		if g.Files[0].Residual != 0 {
			require.EqualValues(t, 1, g.Files[0].Residual)
			want = g.Residuals[:1]
		}
		require.Equal(t, want, g.Residuals)
	}
}
