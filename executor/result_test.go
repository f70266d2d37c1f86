package executor

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// TestResultTypes: values of every type reach the reader, over several batches, with the schema that DuckDB itself gives
// the same columns.
func TestResultTypes(t *testing.T) {
	n := start(t, newScheduler(t))
	db, err := duckdb.Open(t.Context(), duckdb.Options{})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	const rows = 150_000
	for i, c := range []struct {
		of    string
		value string
		text  string // of the row 149,999, as Arrow writes it
	}{
		{"BOOLEAN", "range % 2 = 0", "false"},
		{"HUGEINT", "range", "149999"},
		{"UHUGEINT", "range", "149999"},
		{"DECIMAL(9,2)", "range", "149999"},
		{"DOUBLE", "range / 2", "74999.5"},
		{"VARCHAR", "'r' || range", "r149999"},
		{"JSON", `'{"r": ' || range || '}'`, `{"r": 149999}`},
		{"BLOB", "('r' || range)::BLOB", "cjE0OTk5OQ=="},
		{"BIT", "'101'::BIT", ""},
		{"UUID", "'00000000-0000-0000-0000-00000000000a'::UUID", "00000000-0000-0000-0000-00000000000a"},
		{"DATE", "'2020-02-29'::DATE", "2020-02-29"},
		{"TIME", "'01:02:03'::TIME", "01:02:03.000000"},
		{"TIME_NS", "'01:02:03'::TIME_NS", ""},
		{"TIME WITH TIME ZONE", "'01:02:03+00'::TIMETZ", ""},
		{"TIMESTAMP", "'2020-02-29 01:02:03'::TIMESTAMP", ""},
		{"TIMESTAMP_S", "'2020-02-29 01:02:03'::TIMESTAMP", ""},
		{"TIMESTAMP_MS", "'2020-02-29 01:02:03'::TIMESTAMP", ""},
		{"TIMESTAMP_NS", "'2020-02-29 01:02:03'::TIMESTAMP", ""},
		{"TIMESTAMP WITH TIME ZONE", "'2020-02-29 01:02:03+00'::TIMESTAMPTZ", ""},
		{"INTERVAL", "to_days(range::INTEGER)", ""},
		{"ENUM('x', 'y')", "CASE WHEN range % 2 = 0 THEN 'x' ELSE 'y' END", "y"},
		{"INTEGER[]", "[range, NULL]", "[149999,null]"},
		{"INTEGER[2]", "[range, NULL]", "[149999,null]"},
		{"BIGNUM", "range", ""},
		{"GEOMETRY", "'POINT (1 2)'", ""},
		{"STRUCT(a INTEGER)", "{'a': range}", `{"a":149999}`},
		{"MAP(VARCHAR, INTEGER)", "MAP {'k': range}", `[{"key":"k","value":149999}]`},
		{"UNION(n INTEGER, s VARCHAR)", "range::INTEGER", ""},
		{`"NULL"`, "NULL", "(null)"},
	} {
		t.Run(c.of, func(t *testing.T) {
			of, err := plan.ParseType(c.of)
			require.NoError(t, err)
			// A NULL in each type, in the first row.
			text := "SELECT CASE WHEN range > 0 THEN CAST(" + c.value + " AS " + c.of + ") END AS v FROM range(150000)"
			if of.Kind == plan.Array { // not in a CASE
				text = "SELECT CAST(CASE WHEN range > 0 THEN " + c.value + " END AS " + c.of + ") AS v FROM range(150000)"
			}
			_, _, want, err := conn.Describe(t.Context(), text)
			require.NoError(t, err)
			task := id("j", 0, int32(i))
			n.launch(task, whole(text, plan.Column{Name: "v", Type: of, Nullable: true}))
			n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
			seen := int64(0)
			require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
				// A reader makes extension types of what is marked so in a field's metadata.
				if x, ok := b.Schema().Field(0).Type.(arrow.ExtensionType); ok {
					require.True(t, arrow.TypeEqual(want.Field(0).Type, x.StorageType()))
				} else {
					require.True(t, want.Equal(b.Schema()), "%s and %s", want, b.Schema())
				}
				if seen == 0 {
					require.True(t, b.Column(0).IsNull(0) || of.Kind == plan.Union, "unions have no NULL of their own")
				}
				seen += b.NumRows()
				if seen == rows && c.text != "" {
					require.Equal(t, c.text, b.Column(0).ValueStr(int(b.NumRows())-1))
				}
				return nil
			}))
			require.Equal(t, int64(rows), seen)
		})
	}
}

// TestResultWithoutFieldNames: a row type has no name to cast to, and comes as it is.
func TestResultWithoutFieldNames(t *testing.T) {
	n := start(t, newScheduler(t))
	row := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Type: plan.T(plan.Integer)}, {Type: plan.T(plan.Varchar)}}}
	task := id("j", 0, 0)
	n.launch(task, whole("SELECT row(1, 'a') AS r", plan.Column{Name: "r", Type: row}))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
		require.Equal(t, int64(1), b.NumRows())
		return nil
	}))
}

// TestResultNames: names that repeat, or that are the names of other columns inside, stay with their columns.
func TestResultNames(t *testing.T) {
	n := start(t, newScheduler(t))
	bigintType := plan.T(plan.BigInt)
	task := id("j", 0, 0)
	n.launch(task, whole("SELECT 1::BIGINT AS a, 2::BIGINT AS b, 3::BIGINT AS a",
		plan.Column{Name: "c1", Type: bigintType}, plan.Column{Name: "c0", Type: bigintType}, plan.Column{Name: "c1", Type: bigintType}))
	n.awaitState(task, seracv1.TaskState_TASK_STATE_STREAMING)
	require.NoError(t, n.result(t.Context(), task, func(b arrow.RecordBatch) error {
		for i, name := range []string{"c1", "c0", "c1"} {
			require.Equal(t, name, b.ColumnName(i))
			require.Equal(t, string(rune('1'+i)), b.Column(i).ValueStr(0))
		}
		return nil
	}))
}
