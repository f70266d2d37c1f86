package read

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func longAt(column int, op plan.CompareOp, n int64) plan.Expr {
	bigint := plan.T(plan.BigInt)
	return &plan.Comparison{Op: op, Left: &plan.ColumnRef{Index: column, Of: bigint}, Right: &plan.Constant{Value: n, Of: bigint}}
}

// Files of one residual are read together, under what is left of the filter; deletes and row lineage are as without.
func TestResidualsByClass(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", p.Int64, true), field(2, "part", p.Int64, false)),
		properties("3", "write.delete.mode", "merge-on-read", "write.parquet.row-group-limit", "20"))
	for part := range 3 {
		for range 2 {
			tbl = appendRows(t, tbl, numbers(0, 60, fmt.Sprintf(`{"id":$,"part":%d}`, part)))
		}
	}
	tbl = deleteRows(t, tbl, ice.EqualTo(ice.Reference("id"), int64(41)))
	tbl = deleteEqual(t, tbl, []int{1}, `[{"id":50},{"id":7}]`)
	tbl = appendRows(t, tbl, `[{"id":50,"part":1}]`)
	scan := scanOf(t, tbl)
	bigint := plan.T(plan.BigInt)
	scan.Columns = append(scan.Columns, plan.ScanColumn{FieldID: rowIDFieldID, Name: "_row_id", Type: bigint, Nullable: true},
		plan.ScanColumn{FieldID: lastUpdatedFieldID, Name: "_last_updated_sequence_number", Type: bigint, Nullable: true})
	// Conjuncts 0 and 2 are true of part 1, 2 of part 2 as well, and 0 of part 0.
	scan.Filter = &plan.Conjunction{Args: []plan.Expr{
		longAt(1, plan.Less, 2), &plan.Conjunction{Args: []plan.Expr{longAt(0, plan.Greater, 38), longAt(1, plan.GreaterOrEqual, 1)}},
	}}
	want := expected(t, tbl, table.WithSelectedFields("id", "part", "_row_id", "_last_updated_sequence_number"),
		table.WithRowFilter(ice.NewAnd(ice.EqualTo(ice.Reference("part"), int64(1)), ice.GreaterThan(ice.Reference("id"), int64(38)))))
	require.Len(t, want, 2*(21-2)+1)
	partOf := map[string]int{}
	g := group(t, tbl)
	for _, f := range g.Files {
		rows, err := w.conn.Rows(context.Background(), "SELECT any_value(part) FROM read_parquet("+plan.QuoteString(w.input(t, tbl, scan, nil).local(t, f.Path))+")")
		require.NoError(t, err)
		partOf[f.Path] = int(rows[0][0].(int64))
	}
	g.Residuals = []*seracv1.Residual{
		{Conjuncts: 3, Remaining: []int32{1}}, {Conjuncts: 3, Remaining: []int32{0, 1}}, {Conjuncts: 3, Remaining: []int32{1, 2}},
		{Conjuncts: 3, Remaining: []int32{1}}, // the first again, as it is in groups that were put together
	}
	for i, f := range g.Files {
		f.Residual = []int32{3, 1, 2}[partOf[f.Path]]
		if f.Residual == 1 && i%2 == 0 {
			f.Residual = 4
		}
	}
	in := w.input(t, tbl, scan, g)
	require.Equal(t, want, w.rows(t, in))
	in.Group = &seracv1.FileGroup{DeleteFiles: g.DeleteFiles}
	for _, f := range g.Files {
		f.Residual = 0
		in.Group.Files = append(in.Group.Files, f)
	}
	require.Equal(t, want, w.rows(t, in), "with the whole filter")
}

// local is the local file of a data file.
func (in Input) local(t *testing.T, path string) string {
	t.Helper()
	local, err := in.Local(context.Background(), path)
	require.NoError(t, err)
	return local
}

func TestResidualText(t *testing.T) {
	w := newWorld(t)
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", ice.PrimitiveTypes.Int64, true), field(2, "part", ice.PrimitiveTypes.Int64, false)), properties("2"))
	for part := range 3 {
		tbl = appendRows(t, tbl, numbers(0, 10, fmt.Sprintf(`{"id":$,"part":%d}`, part)))
	}
	scan := scanOf(t, tbl)
	scan.Filter = &plan.Conjunction{Args: []plan.Expr{longAt(1, plan.Less, 3), longAt(0, plan.Greater, -1)}}
	g := group(t, tbl)
	read := func(residuals []*seracv1.Residual, of ...int32) (string, error) {
		g.Residuals = residuals
		for i, r := range of {
			g.Files[i].Residual = r
		}
		q, err := SQL(context.Background(), w.input(t, tbl, scan, g))
		if err != nil {
			return "", err
		}
		require.Len(t, w.rows(t, w.input(t, tbl, scan, g)), 30)
		return q.SQL, q.Close()
	}
	none, second := &seracv1.Residual{Conjuncts: 2}, &seracv1.Residual{Conjuncts: 2, Remaining: []int32{1}}

	sql, err := read(nil, 0, 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(sql, "read_parquet("))
	require.Contains(t, sql, "WHERE")

	sql, err = read([]*seracv1.Residual{none}, 1, 1, 1)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(sql, "read_parquet("))
	require.NotContains(t, sql, "WHERE", "nothing of the filter is left")

	sql, err = read([]*seracv1.Residual{none, second}, 2, 1, 2)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(sql, "read_parquet("), "a call for each residual")
	require.Equal(t, 1, strings.Count(sql, "WHERE"))
	require.Equal(t, 0, strings.Count(sql[strings.Index(sql, "WHERE"):], "< "), "the first conjunct is gone")

	for name, bad := range map[string]struct {
		residuals []*seracv1.Residual
		of        int32
		says      string
	}{
		"position":           {[]*seracv1.Residual{none}, 2, "residual 2 of 1"},
		"negative position":  {[]*seracv1.Residual{none}, -1, "residual -1 of 1"},
		"no list":            {nil, 1, "residual 1 of 0"},
		"number":             {[]*seracv1.Residual{{Conjuncts: 2, Remaining: []int32{2}}}, 1, "conjunct 2 of 2"},
		"negative number":    {[]*seracv1.Residual{{Conjuncts: 2, Remaining: []int32{-1}}}, 1, "conjunct -1 of 2"},
		"twice":              {[]*seracv1.Residual{{Conjuncts: 2, Remaining: []int32{1, 1}}}, 1, "conjunct 1 of 2 after 1"},
		"order":              {[]*seracv1.Residual{{Conjuncts: 2, Remaining: []int32{1, 0}}}, 1, "conjunct 0 of 2 after 1"},
		"another filter":     {[]*seracv1.Residual{{Conjuncts: 3, Remaining: []int32{1}}}, 1, "a filter of 3 conjuncts, the scan's has 2"},
		"of none":            {[]*seracv1.Residual{{}}, 1, "a filter of 0 conjuncts"},
		"one that none uses": {[]*seracv1.Residual{none, {Conjuncts: 1}}, 1, "a filter of 1 conjuncts"},
	} {
		_, err := read(bad.residuals, 0, bad.of, 0)
		require.ErrorContains(t, err, bad.says, name)
	}
	scan.Filter = nil
	_, err = read([]*seracv1.Residual{none}, 0, 1, 0)
	require.ErrorContains(t, err, "the scan's has 0")
}
