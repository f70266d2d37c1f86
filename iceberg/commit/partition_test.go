package commit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/commit"
	"github.com/seracdb/serac/iceberg/internal/icetest"
)

// Tables partitioned by every transform of every type it takes are created, written, committed and planned; the partition
// values come back as they were reported.
func TestEveryTypeAndTransform(t *testing.T) {
	ctx := context.Background()
	c, conn := icetest.SQLite(t), icetest.DuckDB(t)
	values := map[ice.Type]string{
		ice.PrimitiveTypes.Bool: "true", ice.PrimitiveTypes.Int32: "-7", ice.PrimitiveTypes.Int64: "1234567890123",
		ice.PrimitiveTypes.Float32: "1.5", ice.PrimitiveTypes.Float64: "-2.25",
		ice.DecimalTypeOf(9, 2): "-12.34", ice.DecimalTypeOf(38, 5): "123456789012345678901234.5",
		ice.PrimitiveTypes.Date: "'1969-12-31'", ice.PrimitiveTypes.Time: "'12:34:56.789'",
		ice.PrimitiveTypes.Timestamp:   "'1969-12-31 23:59:59.999999'",
		ice.PrimitiveTypes.TimestampTz: "'2020-02-29 01:02:03+00'",
		ice.PrimitiveTypes.String:      "'日本語 text'", ice.PrimitiveTypes.UUID: "'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
		ice.PrimitiveTypes.Binary: "'\\x00\\xFFab'::BLOB",
	}
	for of, value := range values {
		for _, transform := range []string{"identity", "bucket[5]", "truncate[3]", "year", "month", "day", "hour", "void"} {
			parsed, err := ice.ParseTransform(transform)
			require.NoError(t, err)
			if !parsed.CanTransform(of) {
				continue
			}
			name := strings.Map(func(r rune) rune {
				if strings.ContainsRune("()[], ", r) {
					return '_'
				}
				return r
			}, of.String()+" "+transform)
			t.Run(name, func(t *testing.T) {
				schema, err := iceberg.NewSchema([]iceberg.ColumnDef{{Name: "c", Iceberg: of, Nullable: true}})
				require.NoError(t, err)
				spec, err := iceberg.NewPartitionSpec(schema, []iceberg.PartitionTerm{{Column: "c", Transform: transform}})
				require.NoError(t, err)
				tbl, err := c.CreateTable(ctx, catalog.CreateRequest{Namespace: "ns", Name: name, Schema: schema, PartitionSpec: spec})
				require.NoError(t, err)
				files := icetest.Write(t, conn, tbl, fmt.Sprintf("SELECT CAST(v AS %s) FROM (VALUES (%s), (NULL)) r(v)", tbl.Columns()[0].Type, value))
				_, err = commit.Append(ctx, c, tbl, commit.Request{CommitID: name, Files: files, Operation: commit.OpAppend})
				require.NoError(t, err)
				tbl = reload(t, c, tbl)
				tasks, err := tbl.Iceberg().Scan().PlanFiles(ctx)
				require.NoError(t, err)
				require.Len(t, tasks, len(files))
				wanted, got := map[string]map[int32][]byte{}, map[string]map[int32][]byte{}
				for i := range files {
					wanted[files[i].Path] = files[i].Partition
					m, err := icetest.Message(tbl, tasks[i].File)
					require.NoError(t, err)
					got[m.Path] = m.Partition
				}
				require.Equal(t, wanted, got)
			})
		}
	}
}
