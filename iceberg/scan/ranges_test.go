package scan_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// DuckDB on the files: every row is read in one range, the one that its value is in, and rows without a value in the first.
func TestKeyRangesDivideRows(t *testing.T) {
	ctx := context.Background()
	rng := seed(t)
	f := newFixture(t, icetest.SQLite(t), icetest.DuckDB(t), rng, "t", 8, 5)
	files := planned(t, f.table, f.table.SnapshotID(), f.columns, nil)
	divided, across := 0, 0
	for i, p := range pools {
		spans, ok := files.KeySpans(f.columns[i])
		if !ok {
			require.Contains(t, "b f d n m v x u", p.name, "columns of whole numbers, dates and times have spans")
			continue
		}
		divided++
		require.Len(t, spans, len(f.paths))
		for range 30 {
			var cuts []int64
			for range 1 + rng.IntN(4) {
				cuts = append(cuts, p.values[1+rng.IntN(len(p.values)-1)].(int64)-rng.Int64N(2))
			}
			slices.Sort(cuts)
			cuts = slices.Compact(cuts)
			groups := files.KeyRanges(f.columns[i], cuts)
			require.Len(t, groups, len(cuts)+1)
			rows := 0
			for g, group := range groups {
				for _, file := range group.Files {
					if file.KeyRange != nil {
						across++
					}
					read, err := f.conn.Rows(ctx, fmt.Sprintf("SELECT count(*), count(*) FILTER (%s) FROM read_parquet(%s) WHERE %s",
						rangeText(t, f.names[i], p.of, from(cuts, g), before(cuts, g), g == 0), plan.QuoteString(file.Path), keyRangeText(t, f.names[i], p.of, file.KeyRange)))
					require.NoError(t, err)
					require.Equal(t, read[0][0], read[0][1], "column %s, cuts %v, range %d: rows of another range", p.name, cuts, g)
					rows += int(read[0][0].(int64))
				}
			}
			require.EqualValues(t, files.Rows, rows, "column %s, cuts %v", p.name, cuts)
		}
	}
	require.Equal(t, 6, divided)
	require.Positive(t, across)
}

func from(cuts []int64, i int) *int64 {
	if i == 0 {
		return nil
	}
	return &cuts[i-1]
}

func before(cuts []int64, i int) *int64 {
	if i == len(cuts) {
		return nil
	}
	return &cuts[i]
}

func keyRangeText(t *testing.T, column string, of plan.Type, r *seracv1.KeyRange) string {
	if r == nil {
		return "true"
	}
	return rangeText(t, column, of, r.From, r.Before, r.Nulls)
}

func rangeText(t *testing.T, column string, of plan.Type, from, before *int64, nulls bool) string {
	t.Helper()
	conds := []string{column + " IS NOT NULL"}
	for op, bound := range map[string]*int64{">=": from, "<": before} {
		if bound != nil {
			text, err := render.Expr(&plan.Constant{Value: *bound, Of: of}, nil)
			require.NoError(t, err)
			conds = append(conds, column+" "+op+" "+text)
		}
	}
	text := strings.Join(conds, " AND ")
	if nulls {
		text += " OR " + column + " IS NULL"
	}
	return text
}

// A column of which one file says nothing cannot be divided.
func TestKeySpansNeedEveryFile(t *testing.T) {
	files := &scan.Files{}
	for range 2 {
		files.Tasks = append(files.Tasks, task(t, "f", 100))
	}
	_, ok := files.KeySpans(plan.ScanColumn{FieldID: 1, Type: plan.T(plan.BigInt)})
	require.False(t, ok)
}
