package fuzz

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ice "github.com/apache/iceberg-go"
	icetable "github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg/catalog"
	"github.com/seracdb/serac/iceberg/scan"
	"github.com/seracdb/serac/tests/reference"
)

// deleteOlder removes the older forms of a table's rows, with iceberg-go, in the table's way of doing so.
func deleteOlder(t *testing.T, c *catalog.Catalog, db *reference.DB, of table) {
	t.Helper()
	ctx := context.Background()
	loaded, err := c.LoadTable(ctx, "fuzz", of.name)
	require.NoError(t, err)
	tbl := loaded.Iceberg()
	var ids []int64
	var rows []string
	nulls := false
	for _, row := range db.Query(of.goneSQL()).Rows {
		id, err := strconv.ParseInt(row[0].String(), 10, 64)
		require.NoError(t, err)
		value := row[1].String()
		if row[1].Null {
			value, nulls = "null", true
		}
		ids, rows = append(ids, id), append(rows, fmt.Sprintf(`{"id": %d, "i": %s}`, id, value))
	}
	require.NotEmpty(t, ids)
	tx := tbl.NewTransaction()
	if of.deletes == byValue {
		require.True(t, nulls, "no key is NULL")
		require.NoError(t, tx.CommitEqualityDeletes(ctx, []int{1, 2}, keys(t, tbl, rows), nil))
	} else {
		require.NoError(t, tx.Delete(ctx, ice.IsIn(ice.Reference("id"), ids...), nil))
	}
	_, err = tx.Commit(ctx)
	require.NoError(t, err)

	loaded, err = c.LoadTable(ctx, "fuzz", of.name)
	require.NoError(t, err)
	planned, err := scan.Plan(ctx, loaded, loaded.SnapshotID(), loaded.Columns(), nil)
	require.NoError(t, err)
	found := map[string]int{}
	for _, task := range planned.Tasks {
		found[byPosition] += len(task.DeleteFiles)
		found[byValue] += len(task.EqualityDeleteFiles)
		found[byVector] += len(task.DeletionVectorFiles)
	}
	require.Positive(t, found[of.deletes], "%s has no %s: %v", of.name, of.deletes, found)
}

// keys are rows, one JSON object each, as a record batch of the columns id and i.
func keys(t *testing.T, tbl *icetable.Table, rows []string) iter.Seq2[arrow.RecordBatch, error] {
	t.Helper()
	var fields []ice.NestedField
	for id := range 2 {
		f, ok := tbl.Schema().FindFieldByID(id + 1)
		require.True(t, ok)
		fields = append(fields, f)
	}
	schema, err := icetable.SchemaToArrowSchema(ice.NewSchema(0, fields...), nil, true, false)
	require.NoError(t, err)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	require.NoError(t, err)
	return func(yield func(arrow.RecordBatch, error) bool) { yield(rec, nil) }
}
