package shuffle

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

func write(t *testing.T, conn *duckdb.Conn, query string, types []plan.Type, keys []string, partitions int, dir string) ([]File, []string) {
	t.Helper()
	sql, err := WriteSQL(query, types, Partitioning{Keys: keys, Partitions: partitions}, dir)
	require.NoError(t, err)
	rows, err := conn.Rows(t.Context(), sql)
	require.NoError(t, err)
	files, empty, err := ParseStats(rows)
	require.NoError(t, err)
	for _, f := range files {
		info, err := os.Stat(f.Path)
		require.NoError(t, err)
		require.Equal(t, info.Size(), f.Bytes)
	}
	return files, empty
}

func paths(files []File) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.Path
	}
	return out
}

func TestPartitionedWrite(t *testing.T) {
	dir := t.TempDir()
	conn := openDB(t, dir)
	types := []plan.Type{plan.T(plan.BigInt), plan.T(plan.HugeInt)}
	for _, partitions := range []int{2, 7, 64} {
		t.Run(fmt.Sprint(partitions), func(t *testing.T) {
			sub := filepath.Join(dir, fmt.Sprint(partitions))
			require.NoError(t, os.Mkdir(sub, 0o700))
			files, empty := write(t, conn, "SELECT i % 1000 AS c0, i::HUGEINT AS c1 FROM range(300000) t(i)", types, []string{Column(0)}, partitions, sub)
			require.Empty(t, empty)
			require.Len(t, files, partitions)
			keys := map[int64]int{}
			rows := int64(0)
			for _, f := range files {
				read, err := ReadSQL(types, []string{f.Path})
				require.NoError(t, err)
				got, err := conn.Rows(t.Context(), "SELECT c0, count(*) FROM ("+read+") GROUP BY 1")
				require.NoError(t, err)
				sum := int64(0)
				for _, row := range got {
					require.Equal(t, int64(300), row[1], "all rows of a key are in one partition")
					require.NotContains(t, keys, row[0].(int64), "a key is in one partition")
					keys[row[0].(int64)] = f.Partition
					sum += row[1].(int64)
				}
				require.Equal(t, f.Rows, sum)
				rows += sum
			}
			require.Equal(t, int64(300000), rows)
			require.Len(t, keys, 1000)
			read, err := ReadSQL(types, paths(files))
			require.NoError(t, err)
			got, err := conn.Rows(t.Context(), "SELECT sum(c1)::VARCHAR, typeof(any_value(c1)) FROM ("+read+")")
			require.NoError(t, err)
			require.Equal(t, []any{"44999850000", "HUGEINT"}, got[0])
		})
	}
}

// Shuffled BLOBs that are equal meet in a join of the files (DuckDB misses them in a file's Bloom filters).
func TestEqualBlobsMeet(t *testing.T) {
	dir := t.TempDir()
	conn := openDB(t, dir)
	types := []plan.Type{plan.T(plan.Blob)}
	files, _ := write(t, conn, `SELECT '\x00'::BLOB AS c0 FROM range(40)`, types, nil, 1, dir)
	read, err := ReadSQL(types, paths(files))
	require.NoError(t, err)
	rows, err := conn.Rows(t.Context(), "SELECT count(*) FROM ("+read+") a JOIN ("+read+") b ON a.c0 = b.c0")
	require.NoError(t, err)
	require.Equal(t, int64(1600), rows[0][0])
}

func TestSinglePartition(t *testing.T) {
	dir := t.TempDir()
	conn := openDB(t, dir)
	types := []plan.Type{plan.T(plan.BigInt)}
	files, _ := write(t, conn, "SELECT i AS c0 FROM range(10) t(i)", types, nil, 1, dir)
	require.Len(t, files, 1)
	require.Equal(t, int64(10), files[0].Rows)
	require.Equal(t, 0, files[0].Partition)

	none := t.TempDir()
	conn = openDB(t, none)
	files, empty := write(t, conn, "SELECT i AS c0 FROM range(0) t(i)", types, nil, 1, none)
	require.Empty(t, files)
	require.Len(t, empty, 1, "a file without rows is not offered to anybody")
}

func TestNoRowsInPartitions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "attempt")
	require.NoError(t, os.Mkdir(dir, 0o700))
	conn := openDB(t, filepath.Dir(dir))
	files, _ := write(t, conn, "SELECT i AS c0 FROM range(0) t(i)", []plan.Type{plan.T(plan.BigInt)}, []string{Column(0)}, 4, dir)
	require.Empty(t, files)
	files, _ = write(t, conn, "SELECT 7::BIGINT AS c0", []plan.Type{plan.T(plan.BigInt)}, []string{Column(0)}, 4, dir)
	require.Len(t, files, 1)
}

// TestNoColumns: count(*) over a relation without columns needs its rows.
func TestNoColumns(t *testing.T) {
	dir := t.TempDir()
	conn := openDB(t, dir)
	files, _ := write(t, conn, "SELECT i FROM range(5) t(i)", nil, nil, 1, dir)
	read, err := ReadSQL(nil, paths(files))
	require.NoError(t, err)
	got, err := conn.Rows(t.Context(), "SELECT count(*) FROM ("+read+")")
	require.NoError(t, err)
	require.Equal(t, int64(5), got[0][0])
}

// TestEqualKeysMeet: values that DuckDB groups together hash to the same partition, in whatever process (here: two
// databases), vector form (constant, flat, dictionary) and spelling they come.
func TestEqualKeysMeet(t *testing.T) {
	conn, other := openDB(t, t.TempDir()), openDB(t, t.TempDir())
	for _, equal := range []struct{ a, b string }{
		{"0.0::DOUBLE", "'-0.0'::DOUBLE"},
		{"0.0::FLOAT", "'-0.0'::FLOAT"},
		{"'nan'::DOUBLE", "-('nan'::DOUBLE)"},
		{"'nan'::FLOAT", "(-('nan'::DOUBLE))::FLOAT"},
		{"'nan'::DOUBLE", "'inf'::DOUBLE - 'inf'::DOUBLE"},
		{"[0.0::DOUBLE]", "['-0.0'::DOUBLE]"},
		{"{'a': 'nan'::DOUBLE}", "{'a': -('nan'::DOUBLE)}"},
		{"INTERVAL '1 month'", "INTERVAL '30 days'"},
		{"INTERVAL '1 day'", "INTERVAL '24 hours'"},
		{"[INTERVAL '1 month']", "[INTERVAL '30 days']"},
		{"NULL::INTEGER", "NULL::INTEGER"},
		{"NULL::VARCHAR", "NULL::VARCHAR"},
		{"'a'::VARCHAR", "chr(97)"},
		{"repeat('x', 30)", "'" + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + "'"},
		{"1.50::DECIMAL(9,2)", "3.00::DECIMAL(9,2) - 1.5::DECIMAL(9,2)"},
		{"'12:00:00+00'::TIMETZ", "'12:00:00+00'::TIMETZ"},
		{"[1, NULL]", "[1, NULL]"},
		{"'010'::BIT", "'010'::BIT"},
	} {
		query := func(v string) string {
			// Flat and constant vectors, and a second key.
			return fmt.Sprintf("SELECT (hash(%[1]s, 1) %% 1000003)::BIGINT, (SELECT min((hash(v, k) %% 1000003)::BIGINT) FROM (SELECT CASE WHEN i >= 0 THEN %[1]s END AS v, 1 AS k FROM range(3000) t(i)))", v)
		}
		a, err := conn.Rows(t.Context(), query(equal.a))
		require.NoError(t, err)
		b, err := other.Rows(t.Context(), query(equal.b))
		require.NoError(t, err)
		require.Equal(t, a[0], b[0], "%s and %s", equal.a, equal.b)
		require.Equal(t, a[0][0], a[0][1], "%s as a constant and as a column", equal.a)
	}
}

// TestHashOfThisRelease pins hash(): two executors of one cluster must agree, so a change here means that releases do not
// mix.
func TestHashOfThisRelease(t *testing.T) {
	conn := openDB(t, t.TempDir())
	got, err := conn.Rows(t.Context(), "SELECT hash(1::BIGINT)::VARCHAR, hash(NULL::BIGINT)::VARCHAR")
	require.NoError(t, err)
	require.Equal(t, []any{"4717996019076358352", "13787848793156543929"}, got[0])
}

// An explicit partition puts rows where it says, and a number that is no partition ends the query.
func TestWriteByPartition(t *testing.T) {
	dir := t.TempDir()
	conn := openDB(t, dir)
	types := []plan.Type{plan.T(plan.BigInt)}
	by := Partitioning{Number: Column(0) + " // 10", Partitions: 3}
	sub := filepath.Join(dir, "by")
	require.NoError(t, os.Mkdir(sub, 0o700))
	sql, err := WriteSQL("SELECT i AS c0 FROM range(25) t(i)", types, by, sub)
	require.NoError(t, err)
	rows, err := conn.Rows(t.Context(), sql)
	require.NoError(t, err)
	files, _, err := ParseStats(rows)
	require.NoError(t, err)
	got := map[int]int64{}
	for _, f := range files {
		got[f.Partition] += f.Rows
		read, err := ReadSQL(types, []string{f.Path})
		require.NoError(t, err)
		least, err := conn.Rows(t.Context(), "SELECT min(c0), max(c0) FROM ("+read+")")
		require.NoError(t, err)
		require.Equal(t, []any{int64(f.Partition * 10), min(int64(f.Partition*10+9), 24)}, least[0])
	}
	require.Equal(t, map[int]int64{0: 10, 1: 10, 2: 5}, got)
	for _, source := range []string{"SELECT 30::BIGINT AS c0", "SELECT -11::BIGINT AS c0", "SELECT NULL::BIGINT AS c0"} {
		sql, err := WriteSQL(source, types, by, sub)
		require.NoError(t, err)
		_, err = conn.Rows(t.Context(), sql)
		require.ErrorContains(t, err, "no partition")
	}
}
