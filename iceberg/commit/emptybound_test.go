package commit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
)

// The empty text is a partition value like any other: the manifest's bounds say so, row ids stay what they were.
func TestEmptyTextAsPartition(t *testing.T) {
	ctx := context.Background()
	for _, version := range []string{"1", "2", "3"} {
		t.Run("v"+version, func(t *testing.T) {
			c, conn := icetest.SQLite(t), icetest.DuckDB(t)
			tbl := createTable(t, c, "t", []iceberg.PartitionTerm{{Column: "s", Transform: "identity"}}, map[string]string{"format-version": version})
			for i, rows := range []string{
				"SELECT i, 'x' FROM range(3) r(i)",
				"SELECT i, CASE WHEN i < 5 THEN '' WHEN i < 7 THEN 'z' END FROM range(3, 9) r(i)",
				"SELECT i, '' FROM range(9, 10) r(i)",
				"SELECT i, NULL FROM range(10, 12) r(i)",
			} {
				_, err := commit.Append(ctx, c, tbl, commit.Request{
					CommitID: string(rune('a' + i)), Files: icetest.Write(t, conn, tbl, rows), Operation: commit.OpAppend,
				})
				require.NoError(t, err)
			}
			tbl = reload(t, c, tbl)
			fs, err := tbl.FS(ctx)
			require.NoError(t, err)
			manifests, err := tbl.Iceberg().CurrentSnapshot().Manifests(fs)
			require.NoError(t, err)
			type bounds struct{ lower, upper any }
			var got []bounds
			rows := int64(0)
			for _, m := range manifests {
				var b bounds
				if s := m.Partitions()[0]; true {
					if s.LowerBound != nil {
						b.lower = string(*s.LowerBound)
					}
					if s.UpperBound != nil {
						b.upper = string(*s.UpperBound)
					}
				}
				got = append(got, b)
				rows += m.AddedRows() + m.ExistingRows()
				if version == "3" {
					require.NotNil(t, m.FirstRowID())
				}
			}
			require.ElementsMatch(t, []bounds{{"x", "x"}, {"", "z"}, {"", ""}, {nil, nil}}, got)
			require.EqualValues(t, 12, rows)
			require.Len(t, ids(t, tbl), 12)
			if version == "3" {
				seen := map[int64]bool{}
				tasks, err := tbl.Iceberg().Scan().PlanFiles(ctx)
				require.NoError(t, err)
				for _, task := range tasks {
					for row := range task.File.Count() {
						require.False(t, seen[*task.FirstRowID+row], "row id %d twice", *task.FirstRowID+row)
						seen[*task.FirstRowID+row] = true
					}
				}
				require.Len(t, seen, 12)
				require.EqualValues(t, 12, tbl.Iceberg().Metadata().NextRowID())
			}
		})
	}
}
