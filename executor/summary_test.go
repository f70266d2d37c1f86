package executor

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/bloom"
	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/scheduler/job"
)

// summarized is summarizedIn 3 partitions.
func summarized(t *testing.T, n *node, name, sql string, types ...plan.Type) (map[int]*seracv1.KeySummary, map[int]job.KeySummary) {
	t.Helper()
	return summarizedIn(t, n, 3, name, sql, types...)
}

// summarizedIn runs a query into partitions and returns what the task says of all its columns: its own messages, and what
// the scheduler makes of them.
func summarizedIn(t *testing.T, n *node, partitions int, name, sql string, types ...plan.Type) (map[int]*seracv1.KeySummary, map[int]job.KeySummary) {
	t.Helper()
	out := plan.Schema{}
	root := &plan.ShuffleWrite{Partitions: partitions}
	for i, of := range types {
		out = append(out, plan.Column{Name: fmt.Sprint("c", i), Type: of, Nullable: true})
		root.Summarize = append(root.Summarize, i)
	}
	root.Input = whole(sql, out...)
	if partitions > 1 {
		root.Keys = []plan.Expr{col(0, types[0])}
	}
	task := id(name, 1, 0)
	n.launch(task, root)
	st := n.awaitFinished(task)
	messages := map[int]*seracv1.KeySummary{}
	for _, s := range st.GetSummaries() {
		messages[int(s.GetColumn())] = s
	}

	m, err := job.New(&job.Spec{ID: name, Open: true, Stages: []job.Stage{{ID: 1, Sink: job.Shuffle, Tasks: make([]job.Task, 1)}}})
	require.NoError(t, err)
	m.Start()
	m.Step(job.ExecutorAdded{Executor: "e"})
	_, err = m.Launch(1, 0, "e")
	require.NoError(t, err)
	merged := map[int]job.KeySummary{}
	for _, a := range m.Step(job.TaskStatus{Executor: "e", Status: st}) {
		if done, ok := a.(job.StageDone); ok {
			for _, k := range done.Output.Keys {
				merged[k.Column] = k
			}
		}
	}
	return messages, merged
}

// reference is DuckDB alone.
func reference(t *testing.T) *duckdb.Conn {
	t.Helper()
	db, err := duckdb.Open(t.Context(), duckdb.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// TestSummaries: of every type whose comparison is exact, a task reports what DuckDB says of the same rows; and the
// constants that the scheduler makes of it are, written as SQL, those very values.
func TestSummaries(t *testing.T) {
	n := start(t, newScheduler(t))
	ref := reference(t)
	for i, c := range []struct {
		of     plan.Type
		values string // SQL list
	}{
		{plan.T(plan.Boolean), "true, false, NULL"},
		{plan.T(plan.TinyInt), "-128, 127, NULL, 0"},
		{plan.T(plan.SmallInt), "-32768, 32767"},
		{plan.T(plan.Integer), "-2147483648, 2147483647, 5, 5, NULL"},
		{plan.T(plan.BigInt), "-9223372036854775808, 9223372036854775807, NULL"},
		{plan.T(plan.UTinyInt), "0, 255"},
		{plan.T(plan.USmallInt), "0, 65535"},
		{plan.T(plan.UInteger), "7, 4294967295"},
		{plan.T(plan.UBigInt), "3, 18446744073709551615"},
		{plan.DecimalType(4, 4), "0.5, -0.0001, NULL"},
		{plan.DecimalType(9, 0), "-999999999, 12"},
		{plan.DecimalType(18, 3), "0.001, -123456789012345.678"},
		{plan.DecimalType(38, 2), "999999999999999999999999999999999999.99, -0.01, 0"},
		{plan.T(plan.Date), "'1969-12-31', '0044-03-15 (BC)', '2024-02-29', 'infinity', '-infinity', NULL"},
		{plan.T(plan.Timestamp), "'1969-12-31 23:59:59.999999', '2024-02-29 12:00:00', 'infinity', '-infinity'"},
		{plan.T(plan.TimestampTZ), "'1969-12-31 23:59:59.999999+00', '2024-02-29 12:00:00+05', NULL"},
		{plan.T(plan.UUID), "'00000000-0000-0000-0000-000000000001', 'ffffffff-ffff-ffff-ffff-fffffffffffe', '80000000-0000-0000-0000-000000000000'"},
		{plan.T(plan.Varchar), "'', 'a''b', 'ß', 'Z', 'a' || chr(0) || 'b', NULL"},
		{plan.T(plan.Varchar), "NULL"},
	} {
		name := fmt.Sprintf("j%d", i)
		sql := fmt.Sprintf("SELECT CAST(unnest AS %s) AS c0 FROM unnest([%s])", c.of.SQL(), c.values)
		_, merged := summarized(t, n, name, sql, c.of)
		require.Contains(t, merged, 0, c.of.String())
		k := merged[0]
		require.Equal(t, c.of, k.Type)
		want, err := ref.Rows(t.Context(), "SELECT count(*), count(*) - count(c0), count(DISTINCT c0) FROM ("+sql+")")
		require.NoError(t, err)
		require.Equal(t, want[0], []any{k.Rows, k.Nulls, int64(len(k.Values))}, c.of.String())
		require.True(t, k.Listed)
		if len(k.Values) == 0 {
			require.Nil(t, k.Min)
			require.Nil(t, k.Max)
			require.Nil(t, k.Bloom)
			continue
		}
		literal := func(v *plan.Constant) string {
			text, err := render.Expr(v, nil)
			require.NoError(t, err)
			return text
		}
		var listed []string
		for _, v := range k.Values {
			listed = append(listed, literal(v))
		}
		got, err := ref.Rows(t.Context(), fmt.Sprintf(
			"SELECT min(c0) = %s, max(c0) = %s, bool_and(c0 IN (%s)), %[3]s FROM (%s)",
			literal(k.Min), literal(k.Max), strings.Join(listed, ", "), sql))
		require.NoError(t, err)
		require.Equal(t, []any{true, true, true}, got[0][:3], c.of.String())
		// Sorted as DuckDB sorts.
		sorted, err := ref.Rows(t.Context(), fmt.Sprintf("SELECT [%s] = list_sort([%[1]s])", strings.Join(listed, ", ")))
		require.NoError(t, err)
		require.Equal(t, []any{true}, sorted[0], c.of.String())
		hashes, err := ref.Rows(t.Context(), "SELECT hash(c0) FROM ("+sql+") WHERE c0 IS NOT NULL")
		require.NoError(t, err)
		for _, h := range hashes {
			require.True(t, bloom.Filter(k.Bloom).Has(h[0].(uint64)), c.of.String())
		}
	}
}

// TestSummarySizes: a list, then hashes, then a filter, then bounds alone, as there are more values; none for what a
// comparison in a scan would not decide.
func TestSummarySizes(t *testing.T) {
	n := start(t, newScheduler(t))
	ref := reference(t)
	number, text := plan.T(plan.BigInt), plan.T(plan.Varchar)
	for i, c := range []struct {
		rows           int64
		listed, hashed bool
		filter         bool
	}{
		{0, true, true, false}, {1, true, true, false}, {1000, true, true, false}, {1001, false, true, false},
		{30_000, false, true, false}, {100_000, false, true, true}, {1_000_001, false, false, false},
	} {
		sql := fmt.Sprintf("SELECT i * 7919 AS c0, 'v' || i AS c1 FROM range(%d) AS r(i)", c.rows)
		messages, merged := summarized(t, n, fmt.Sprint("j", i), sql, number, text)
		require.Len(t, merged, 2)
		for column, s := range messages {
			require.Equal(t, []any{c.rows, c.listed, c.hashed, c.filter}, []any{s.GetRows(), s.GetListed(), s.GetHashed(), len(s.GetBloom()) > 0}, "column %d of %d rows", column, c.rows)
			require.Equal(t, c.rows > 0, merged[column].Min != nil)
			if len(s.GetHashes()) == 0 && len(s.GetBloom()) == 0 {
				continue
			}
			var out int
			hashes, err := ref.Rows(t.Context(), fmt.Sprintf("SELECT hash(c%d) FROM (%s)", column, sql))
			require.NoError(t, err)
			sent := map[uint64]bool{}
			for h := s.GetHashes(); len(h) > 0; h = h[8:] {
				sent[binary.LittleEndian.Uint64(h)] = true
			}
			for _, h := range hashes {
				require.True(t, len(s.GetBloom()) > 0 || sent[h[0].(uint64)])
				require.True(t, bloom.Filter(merged[column].Bloom).Has(h[0].(uint64)))
			}
			others, err := ref.Rows(t.Context(), "SELECT hash(-1 - i) FROM range(20000) AS r(i)")
			require.NoError(t, err)
			for _, h := range others {
				if bloom.Filter(merged[column].Bloom).Has(h[0].(uint64)) {
					out++
				}
			}
			require.Less(t, out, 400, "false positives of 20,000 in a filter of %d values", c.rows)
		}
	}
	n.attachment.mu.Lock()
	require.Less(t, n.largest, 1<<20)
	n.attachment.mu.Unlock()

	// Of little in one partition, which will be sent to every task, there is a list or no values.
	for rows, want := range map[int][]bool{1000: {true, true}, 5000: {false, false}, 100_000: {false, true}} {
		messages, _ := summarizedIn(t, n, 1, fmt.Sprint("one", rows), fmt.Sprintf("SELECT i AS c0 FROM range(%d) AS r(i)", rows), number)
		require.Equal(t, want, []bool{messages[0].GetListed(), messages[0].GetHashed()}, "%d rows", rows)
		require.Equal(t, fmt.Sprint(rows-1), string(messages[0].GetMax()))
	}

	messages, merged := summarized(t, n, "none", "SELECT 1.5::DOUBLE, 1::FLOAT, [1], 2::HUGEINT, 'x'::BLOB, 3::INTEGER",
		plan.T(plan.Double), plan.T(plan.Float), plan.ListType(plan.T(plan.Integer)), plan.T(plan.HugeInt), plan.T(plan.Blob), plan.T(plan.Integer))
	require.Len(t, messages, 1)
	require.Equal(t, "3", string(messages[5].GetMin()))
	require.Equal(t, int64(3), merged[5].Max.Value)

	// Long values make no long messages.
	messages, _ = summarized(t, n, "long", "SELECT repeat('x', 2000) || i FROM range(500) AS r(i)", text)
	require.Nil(t, messages[0].Min)
	require.False(t, messages[0].GetListed())
	require.Len(t, messages[0].GetHashes(), 500*8)
}

// TestBloomFunction: a task filters with serac_bloom as the scheduler's constant says.
func TestBloomFunction(t *testing.T) {
	n := start(t, newScheduler(t))
	number := plan.T(plan.BigInt)
	_, merged := summarized(t, n, "build", "SELECT i * 1000 AS c0 FROM range(5000) AS r(i)", number)
	filter := merged[0].Bloom
	require.NotEmpty(t, filter)
	call := func(arg plan.Expr, bits any) plan.Expr {
		return &plan.Call{Name: "serac_bloom", Of: plan.T(plan.Boolean), Args: []plan.Expr{
			&plan.Call{Name: "hash", Of: plan.T(plan.UBigInt), Args: []plan.Expr{arg}},
			&plan.Constant{Value: bits, Of: plan.T(plan.Blob)},
		}}
	}
	probe := id("probe", 1, 0)
	n.launch(probe, &plan.ShuffleWrite{Input: &plan.Filter{Input: numbers(1, 5_000_000), Cond: call(col(0, number), filter)}, Partitions: 1, Summarize: []int{0}}, constant(1))
	st := n.awaitFinished(probe)
	rows := st.GetMetrics().GetOutputRows()
	require.GreaterOrEqual(t, rows, int64(5000), "nothing is lost")
	require.Less(t, rows, int64(5000+5_000_000/40), "at most a few in a hundred pass for nothing")

	for i, bad := range []any{[]byte{}, []byte("abc"), slices.Repeat([]byte{1}, 96)} {
		task := id(fmt.Sprint("bad", i), 1, 0)
		n.launch(task, &plan.ShuffleWrite{Input: &plan.Filter{Input: numbers(1, 10), Cond: call(col(0, number), bad)}, Partitions: 1}, constant(1))
		require.Contains(t, n.awaitFailure(task).GetMessage(), "power of two")
	}
}
