package duckdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, o Options) (*DB, *Conn) {
	t.Helper()
	db, err := Open(context.Background(), o)
	require.NoError(t, err)
	conn, err := db.Conn(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.Zero(t, db.OpenConns(), "open connections")
		require.NoError(t, db.Close())
	})
	return db, conn
}

func TestRowsAreGoValues(t *testing.T) {
	_, conn := open(t, Options{Threads: 1})
	rows, err := conn.Rows(context.Background(), `SELECT NULL, true, 1::TINYINT, 2::UBIGINT, 3::HUGEINT, 1.5::FLOAT, 'é', '\x00\xFF'::BLOB,
		DATE '1969-12-31', [1, NULL], {'a': 'x', 'b': [2]}, MAP {'k': 1}, 12.50::DECIMAL(6,2), 'a string of more than twelve bytes'`)
	require.NoError(t, err)
	require.Equal(t, [][]any{{
		nil, true, int64(1), uint64(2), big.NewInt(3), 1.5, "é", []byte{0, 0xff},
		time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), []any{int64(1), nil}, Struct{"a": "x", "b": []any{int64(2)}},
		[]MapEntry{{"k", int64(1)}}, "12.50", "a string of more than twelve bytes",
	}}, rows)
}

func TestTextIsOneString(t *testing.T) {
	_, conn := open(t, Options{Threads: 1})
	text, err := conn.Text(context.Background(), "SELECT repeat('x', 3000000)")
	require.NoError(t, err)
	require.Len(t, text, 3000000)
	_, err = conn.Text(context.Background(), "SELECT 'a' UNION ALL SELECT 'b'")
	require.Error(t, err)
	_, err = conn.Text(context.Background(), "SELECT 1")
	require.Error(t, err)
}

func TestDescribeBindsWithoutRunning(t *testing.T) {
	_, conn := open(t, Options{Threads: 1})
	names, types, schema, err := conn.Describe(context.Background(),
		`SELECT error('ran') AS "a b", 1.5 AS d, [{'x y': now(), 'e': 'u'::ENUM('u', 'it''s')}] AS n, MAP {1: 'x'::JSON} AS m, uuid() u`)
	require.NoError(t, err)
	require.Equal(t, []string{"a b", "d", "n", "m", "u"}, names)
	require.Equal(t, []string{
		"INTEGER", "DECIMAL(2,1)", `STRUCT("x y" TIMESTAMP WITH TIME ZONE, "e" ENUM('u', 'it''s'))[]`, "MAP(INTEGER, JSON)", "UUID",
	}, types)
	require.Equal(t, 5, schema.NumFields())
	require.Equal(t, arrow.STRING, schema.Field(4).Type.ID())
	// The texts are types that DuckDB reads back to the same types.
	for _, text := range types {
		_, again, _, err := conn.Describe(context.Background(), "SELECT CAST(NULL AS "+text+")")
		require.NoError(t, err)
		require.Equal(t, []string{text}, again)
	}
}

func TestStreamBatchesAreLargeAndComplete(t *testing.T) {
	_, conn := open(t, Options{Threads: 2})
	stream, err := conn.Stream(context.Background(), "SELECT i, 'row ' || i AS s FROM range(300000) r(i)")
	require.NoError(t, err)
	defer stream.Close()
	require.Equal(t, []Column{{"i", "BIGINT"}, {"s", "VARCHAR"}}, stream.Columns())
	require.Equal(t, arrow.STRING, stream.Schema().Field(1).Type.ID())
	var rows, batches int64
	for {
		batch, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.Equal(t, rows, Value(batch.Column(0), 0))
		last := int(batch.NumRows()) - 1
		require.Equal(t, fmt.Sprintf("row %d", rows+int64(last)), Value(batch.Column(1), last))
		rows += batch.NumRows()
		batches++
		batch.Release()
	}
	require.EqualValues(t, 300000, rows)
	require.LessOrEqual(t, batches, int64(12))
}

func TestStreamHoldsItsConnection(t *testing.T) {
	_, conn := open(t, Options{Threads: 1})
	stream, err := conn.Stream(context.Background(), "FROM range(1000000)")
	require.NoError(t, err)
	require.ErrorIs(t, conn.Exec(context.Background(), "SELECT 1"), errStreaming)
	require.NoError(t, stream.Close())
	require.NoError(t, stream.Close())
	_, err = stream.Next()
	require.ErrorContains(t, err, "closed stream")
	require.NoError(t, conn.Exec(context.Background(), "SELECT 1"))
}

// What has run already reads like a stream, and holds its connection like one.
func TestRunIsAStream(t *testing.T) {
	_, conn := open(t, Options{Threads: 2})
	ctx := context.Background()
	const sql = "SELECT i, CASE WHEN i % 3 > 0 THEN 's' || i END AS s, [i, NULL] AS l, i / 7 AS d FROM range(5000) r(i) ORDER BY i"
	read := func(open func(context.Context, string) (*Stream, error)) (columns []Column, all [][]any) {
		stream, err := open(ctx, sql)
		require.NoError(t, err)
		require.ErrorIs(t, conn.Exec(ctx, "SELECT 1"), errStreaming)
		all, err = stream.rows()
		require.NoError(t, err)
		require.NoError(t, stream.Close())
		return stream.Columns(), all
	}
	columns, want := read(conn.Stream)
	ranColumns, ran := read(conn.Run)
	require.Len(t, ran, 5000)
	require.Equal(t, want, ran)
	require.Equal(t, columns, ranColumns)
	_, err := conn.Run(ctx, "SELECT error('row ' || i) FROM range(3) r(i)")
	require.True(t, isKind(err, Statement), "%v", err)
	none, err := conn.Rows(ctx, "SELECT 1 WHERE false")
	require.NoError(t, err)
	require.Empty(t, none)
}

// An error far into the result must not look like its end.
func TestStreamErrorIsNotTheEnd(t *testing.T) {
	_, conn := open(t, Options{Threads: 2})
	stream, err := conn.Stream(context.Background(),
		"SELECT CASE WHEN i = 900000 THEN error('row 900000') ELSE i END FROM range(1000000) r(i)")
	require.NoError(t, err)
	defer stream.Close()
	for err == nil {
		batch, nextErr := stream.Next()
		if err = nextErr; err == nil {
			batch.Release()
		}
	}
	require.ErrorContains(t, err, "row 900000")
	require.True(t, isKind(err, Statement))
	_, again := stream.Next()
	require.Equal(t, err, again)
}

func requireNoNewGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func residentBytes(t *testing.T) int64 {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// A result of 800 MB passes through without being held.
func TestStreamMemoryStaysBounded(t *testing.T) {
	_, conn := open(t, Options{Threads: 2})
	before := residentBytes(t)
	stream, err := conn.Stream(context.Background(), "SELECT i, i + 1 AS j FROM range(50000000) r(i)")
	require.NoError(t, err)
	defer stream.Close()
	var rows, peak int64
	for {
		batch, err := stream.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if rows += batch.NumRows(); rows%(1<<21) < batch.NumRows() {
			peak = max(peak, residentBytes(t))
		}
		batch.Release()
	}
	require.EqualValues(t, 50000000, rows)
	require.Less(t, peak-before, int64(200<<20))
}

func TestContextInterrupts(t *testing.T) {
	dir := t.TempDir()
	db, _ := open(t, Options{Threads: 2, TempDir: filepath.Join(dir, "tmp")})
	before := runtime.NumGoroutine()
	statements := map[string]string{
		"aggregate": "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b",
		"copy": "COPY (SELECT hash(i) h, repeat(md5(i::VARCHAR), 4) s FROM range(200000000) r(i)) TO '" + dir +
			"/x.parquet' (FORMAT parquet, COMPRESSION zstd)",
		"sorted copy": "COPY (SELECT hash(i) h, md5(i::VARCHAR) s FROM range(50000000) r(i) ORDER BY h) TO '" + dir + "/y.parquet' (FORMAT parquet)",
		"several":     strings.Repeat("SELECT sum(range) FROM range(20000000);", 1000),
	}
	calls := map[string]func(context.Context, *Conn, string) error{
		"exec": func(ctx context.Context, c *Conn, sql string) error { return c.Exec(ctx, sql) },
		"rows": func(ctx context.Context, c *Conn, sql string) error { _, err := c.Rows(ctx, sql); return err },
	}
	for call, run := range calls {
		for name, sql := range statements {
			if call == "rows" && name == "several" {
				continue
			}
			conn, err := db.Conn(context.Background())
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- run(ctx, conn, sql) }()
			time.Sleep(200 * time.Millisecond)
			start := time.Now()
			cancel()
			err = <-done
			require.True(t, isKind(err, Interrupted), "%s %s: %v", call, name, err)
			require.ErrorIs(t, err, context.Canceled)
			require.Less(t, time.Since(start), time.Second, "%s %s", call, name)
			// The connection is as good as new.
			rows, err := conn.Rows(context.Background(), "SELECT 42")
			require.NoError(t, err)
			require.Equal(t, int64(42), rows[0][0])
			require.NoError(t, conn.Close())
		}
	}
	requireNoNewGoroutines(t, before)
}

func TestStreamStopsWithItsContext(t *testing.T) {
	_, conn := open(t, Options{Threads: 2})
	ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, errors.New("statement timeout"))
	defer cancel()
	stream, err := conn.Stream(ctx, "SELECT a.range FROM range(100000000) a, range(1000000) b")
	require.NoError(t, err)
	defer stream.Close()
	start := time.Now()
	for err == nil {
		batch, nextErr := stream.Next()
		if err = nextErr; err == nil {
			batch.Release()
		}
	}
	require.True(t, isKind(err, Interrupted), "%v", err)
	require.ErrorContains(t, err, "statement timeout")
	require.Less(t, time.Since(start), time.Second)
}

// A context that ends just as its call returns must not hit the next statement.
func TestLateCancelDoesNotLeak(t *testing.T) {
	_, conn := open(t, Options{Threads: 1})
	for range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		if err := conn.Exec(ctx, "SELECT sum(range) FROM range(10000)"); err != nil {
			require.True(t, isKind(err, Interrupted), "%v", err)
		}
		require.NoError(t, conn.Exec(context.Background(), "SELECT sum(range) FROM range(10000)"))
	}
}

func TestErrorsAreClassified(t *testing.T) {
	_, conn := open(t, Options{Threads: 2, MemoryLimit: 64 << 20})
	ctx := context.Background()
	err := conn.Exec(ctx, "SELECT list(md5(i::VARCHAR)) FROM range(20000000) r(i)")
	require.True(t, isKind(err, OutOfMemory), "%v", err)
	err = conn.Exec(ctx, "FROM read_parquet('/nowhere/x.parquet')")
	require.True(t, isKind(err, IO), "%v", err)
	for _, sql := range []string{"SELECT 'x'::INTEGER", "SELEC", "SELECT nothing", "SELECT error('mine')", "FROM nothing"} {
		for _, err := range []error{conn.Exec(ctx, sql), func() error { _, err := conn.Rows(ctx, sql); return err }()} {
			require.True(t, isKind(err, Statement), "%s: %v", sql, err)
			require.NotContains(t, err.Error(), "Stack")
		}
	}
	require.Equal(t, "INTERNAL Error: x", tidy("INTERNAL Error: x\n\nStack Trace:\n/usr/lib/..."))
}

func TestMemoryLimitSpills(t *testing.T) {
	dir := t.TempDir()
	_, conn := open(t, Options{Threads: 2, MemoryLimit: 100 << 20, TempDir: filepath.Join(dir, "tmp"), MaxTempBytes: 4 << 30})
	rows, err := conn.Rows(context.Background(),
		"SELECT count(*) FROM (SELECT md5(i::VARCHAR) s, i FROM range(3000000) r(i) ORDER BY s LIMIT 2900000)")
	require.NoError(t, err)
	require.Equal(t, int64(2900000), rows[0][0])
}

func TestSandbox(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	ctx := context.Background()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.csv"), []byte("a\n1\n"), 0o600))
	_, conn := open(t, Options{Sandbox: true, AllowedDirs: []string{dir}, TempDir: filepath.Join(dir, "tmp"), Settable: []string{"TimeZone"}})
	require.NoError(t, conn.Exec(ctx, "COPY (SELECT 1 AS a) TO '"+dir+"/in.parquet' (FORMAT parquet)"))
	rows, err := conn.Rows(ctx, "FROM '"+dir+"/in.parquet'")
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(1)}}, rows)
	for _, sql := range []string{
		"FROM read_csv('" + outside + "/secret.csv')",
		"FROM read_text('" + dir + "/../" + filepath.Base(outside) + "/secret.csv')",
		"FROM glob('" + outside + "/*')",
		"COPY (SELECT 1) TO '" + outside + "/out.csv'",
		"ATTACH '" + outside + "/x.db'",
		"INSTALL httpfs", "LOAD httpfs",
		"SET enable_external_access = true", "SET allowed_directories = ['/']", "SET memory_limit = '1TB'",
		"SET lock_configuration = false", "RESET lock_configuration", "SET allowed_configs = ['memory_limit']",
		"SET threads = 64", "PRAGMA threads = 64", "PRAGMA temp_directory = '" + outside + "'",
	} {
		require.Error(t, conn.Exec(ctx, sql), sql)
	}
	require.NoError(t, conn.Exec(ctx, "SET TimeZone = 'America/New_York'"))
	_, err = Open(ctx, Options{Sandbox: true, AllowedDirs: []string{"relative"}})
	require.ErrorContains(t, err, "not absolute")
	_, err = Open(ctx, Options{Settings: map[string]string{"x = 1; SET y": "z"}})
	require.Error(t, err)
}

func TestScalarFunction(t *testing.T) {
	add := ScalarFunction{Name: "plus", Params: []string{"BIGINT", "BIGINT"}, Returns: "BIGINT", Fn: func(args []Vector, out Vector) error {
		a, b, sum := Slice[int64](args[0]), Slice[int64](args[1]), Slice[int64](out)
		for i := range out.Len() {
			if !args[0].Valid(i) || !args[1].Valid(i) {
				out.SetNull(i)
				continue
			}
			sum[i] = a[i] + b[i]
		}
		return nil
	}}
	kind := ScalarFunction{Name: "kind", Params: []string{"ANY"}, Returns: "VARCHAR", Fn: func(args []Vector, out Vector) error {
		name := args[0].Type()
		for i := range out.Len() {
			out.SetBytes(i, []byte(name))
		}
		return nil
	}}
	same := ScalarFunction{Name: "plus", Params: []string{"VARCHAR"}, Returns: "VARCHAR", Fn: func(args []Vector, out Vector) error {
		for i := range out.Len() {
			if !args[0].Valid(i) {
				out.SetNull(i)
				continue
			}
			out.SetBytes(i, args[0].Bytes(i))
		}
		return nil
	}}
	fails := ScalarFunction{Name: "fails", Params: []string{"ANY"}, Returns: "BIGINT", Fn: func([]Vector, Vector) error { return errors.New("no luck") }}
	panics := ScalarFunction{Name: "panics", Params: []string{"ANY"}, Returns: "BIGINT", Fn: func([]Vector, Vector) error { panic("ouch") }}
	_, conn := open(t, Options{Threads: 2, Register: []ScalarFunction{add, kind, same, fails, panics}})
	ctx := context.Background()
	rows, err := conn.Rows(ctx, `SELECT sum(plus(i, 1)), count(plus(CASE WHEN i % 3 = 0 THEN NULL ELSE i END, i)), plus(NULL, 1), plus(2, 3),
		count(*) FILTER (plus('a string of more than twelve bytes ' || i) = 'a string of more than twelve bytes ' || i),
		plus('short'), plus(NULL::VARCHAR), kind(1.25::DECIMAL(5,2)), kind([1]) FROM range(100000) r(i)`)
	require.NoError(t, err)
	require.Equal(t, []any{big.NewInt(5000050000), int64(66666), nil, int64(5), int64(100000), "short", nil, "DECIMAL(5,2)", "INTEGER[]"}, rows[0])
	require.ErrorContains(t, conn.Exec(ctx, "SELECT fails(1)"), "no luck")
	require.ErrorContains(t, conn.Exec(ctx, "SELECT panics(i) FROM range(3) r(i)"), "ouch")
}

func TestStubScanPlansAndDoesNotRun(t *testing.T) {
	db, conn := open(t, Options{Threads: 2})
	sizes := map[string]uint64{"c.ns.small": 10, "c.ns.large": 1000000000, "c.ns.empty": 0}
	require.NoError(t, db.RegisterStubScan("iceberg_scan", func(key string) ([]StubColumn, uint64, error) {
		n, ok := sizes[key]
		if !ok {
			return nil, 0, fmt.Errorf("no table %q", key)
		}
		return []StubColumn{{"id", "BIGINT"}, {"price", "DECIMAL(12,2)"}, {"tags", "STRUCT(a VARCHAR[])"}}, n, nil
	}))
	ctx := context.Background()
	for name := range sizes {
		require.NoError(t, conn.Exec(ctx, fmt.Sprintf("CREATE VIEW %s AS FROM iceberg_scan('%s')", name[len("c.ns."):], name)))
	}
	plan, err := conn.Text(ctx, `SELECT json_serialize_plan('SELECT sum(l.price) FROM small s JOIN large l USING (id)', optimize := true)::VARCHAR`)
	require.NoError(t, err)
	require.Contains(t, plan, `"c.ns.large"`)
	require.Contains(t, plan, `"column_indexes"`)
	// The small side is the build side (the right), whichever way it is written.
	for _, sql := range []string{"FROM small s JOIN large l USING (id)", "FROM large l JOIN small s USING (id)"} {
		plan, err := conn.Text(ctx, "SELECT json_serialize_plan('SELECT sum(l.price) "+sql+"', optimize := true)::VARCHAR")
		require.NoError(t, err)
		require.Less(t, strings.Index(plan, `"c.ns.large"`), strings.Index(plan, `"c.ns.small"`), sql)
	}
	plan, err = conn.Text(ctx, `SELECT json_serialize_plan('SELECT id FROM empty', optimize := true)::VARCHAR`)
	require.NoError(t, err)
	require.Contains(t, plan, `"c.ns.empty"`)
	_, types, _, err := conn.Describe(ctx, "FROM large")
	require.NoError(t, err)
	require.Equal(t, []string{"BIGINT", "DECIMAL(12,2)", `STRUCT("a" VARCHAR[])`}, types)
	require.ErrorContains(t, conn.Exec(ctx, "SELECT count(*) FROM large"), "cannot be read")
	require.ErrorContains(t, conn.Exec(ctx, "FROM iceberg_scan('nothing')"), `no table "nothing"`)
	require.Error(t, conn.Exec(ctx, "FROM iceberg_scan(NULL)"))
}

func TestManyConnectionsAtOnce(t *testing.T) {
	db, _ := open(t, Options{Threads: 2})
	require.NoError(t, db.RegisterStubScan("stub", func(string) ([]StubColumn, uint64, error) {
		return []StubColumn{{"a", "DECIMAL(9,3)"}}, 1, nil
	}))
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			conn, err := db.Conn(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for range 20 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if _, _, _, err := conn.Describe(ctx, "SELECT * FROM stub('x')"); err != nil {
					t.Error(err)
				}
				if rows, err := conn.Rows(ctx, "SELECT count(*) FROM range(1000)"); err != nil || rows[0][0] != int64(1000) {
					t.Error(rows, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, db.OpenConns())
	requireNoNewGoroutines(t, before)
}

func isKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}
