package customformat_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/config"
	"github.com/seracdb/serac/server"
	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// plain is a serac without the format.
var plain string

// TestMain builds serac with the format, which package process then runs.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "serac-customformat")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		build := func(name, of, version string) string {
			path := filepath.Join(dir, name)
			out, err := exec.Command("go", "build", "-tags", "duckdb_arrow", "-ldflags", "-X main.version="+version, "-o", path, of).CombinedOutput()
			if err != nil {
				panic(fmt.Sprintf("build %s: %v\n%s", of, err, out))
			}
			return path
		}
		if plain = os.Getenv("SERAC_TEST_BINARY"); plain == "" {
			plain = build("serac", "github.com/seracdb/serac/cmd/serac", "dev")
		}
		// Versions are compared before formats are, so both have the same.
		text, err := exec.Command(plain, "version").Output()
		if err != nil {
			panic(fmt.Sprintf("version of %s: %v", plain, err))
		}
		version := strings.TrimPrefix(strings.TrimSpace(string(text)), "serac ")
		os.Setenv("SERAC_TEST_BINARY", build("serac-csv", "github.com/seracdb/serac/examples/customformat/serac", version))
		return m.Run()
	}())
}

// makeTables writes the tables of the format that the tests read, and gives their folder.
func makeTables(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	var files []string
	for i := range 4 {
		var b strings.Builder
		b.WriteString("id,customer,total,placed,note\n")
		for j := range 250 {
			id := 250*i + j
			note := []string{"", `""`, "plain", `"a, b ""c"""`, "né"}[id%5]
			fmt.Fprintf(&b, "%d,%d,%d.%02d,2024-%02d-01,%s\n", id, id%17, id/3, id%100, id%12+1, note)
		}
		write(fmt.Sprintf("shop/orders-%d.csv", i), b.String())
		files = append(files, fmt.Sprintf(`{"path": "orders-%d.csv", "rows": 250, "bytes": %d, "range": {"id": [%d, %d]}}`, i, b.Len(), 250*i, 250*i+249))
	}
	columns := `"columns": [{"name": "id", "type": "BIGINT", "not_null": true}, {"name": "customer", "type": "INTEGER"},
		{"name": "total", "type": "DECIMAL(12,2)"}, {"name": "placed", "type": "DATE"}, {"name": "note", "type": "VARCHAR"}]`
	write("shop/orders.json", "{"+columns+`, "files": [`+strings.Join(files, ", ")+"]}")
	write("shop/empty.json", "{"+columns+`, "files": []}`)
	write("shop/gone.json", "{"+columns+`, "files": [{"path": "nowhere.csv", "rows": 1, "bytes": 1}]}`)
	write("shop/broken.json", `{"columns": [{"name": "a", "type": "INTEGER[]"}, {"name": "A", "type": "INTEGER"}], "files": [{"path": "../x.csv"}]}`)
	write("shop/text.json", "id,customer\n")
	write("shop/numbers.csv", "n\n1\ntwo\n")
	write("shop/wrong.json", `{"columns": [{"name": "n", "type": "BIGINT"}], "files": [{"path": "numbers.csv"}]}`)
	return dir
}

// distributed is a scheduler and two executors that know the tables, and that hand out every file as a task of its own.
func distributed(t *testing.T, env ...string) (*process.Cluster, *process.Client, *reference.DB) {
	t.Helper()
	tables, dataDir := makeTables(t), t.TempDir()
	c := process.Distributed(t, dataDir, 2, append([]string{
		"SERAC_CATALOGS__FILES__TYPE=csv", "SERAC_CATALOGS__FILES__PATH=" + tables,
		"SERAC_QUERY__DISTRIBUTION_THRESHOLD=0", "SERAC_QUERY__MAX_PARTITIONS_PER_TASK=1", "SERAC_QUERY__TARGET_TASK_SIZE=100B",
	}, env...)...)
	client := c.Connect(t)
	client.Query(`CREATE TABLE customers AS SELECT i::INTEGER AS id, 'customer ' || i AS name FROM range(1, 15) t(i)`)
	client.Query(`CREATE TABLE ice AS SELECT * FROM files.shop.orders WHERE id % 2 = 0`)
	catalog, err := server.OpenCatalog(context.Background(), config.Default(), dataDir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = catalog.Close() })
	ref := reference.Open(t, catalog, "default", 1)
	ref.Exec(`ATTACH ':memory:' AS files; CREATE SCHEMA files.shop`)
	types := `{'id': 'BIGINT', 'customer': 'INTEGER', 'total': 'DECIMAL(12,2)', 'placed': 'DATE', 'note': 'VARCHAR'}`
	ref.Exec(fmt.Sprintf(`CREATE VIEW files.shop.orders AS SELECT * FROM read_csv('%s/shop/orders-*.csv', columns = %s, header = true, delim = ',', allow_quoted_nulls = false)`, tables, types))
	ref.Exec(`CREATE VIEW files.shop.empty AS SELECT * FROM files.shop.orders WHERE false`)
	return c, client, ref
}

// queries read the format's tables in the ways that composing formats can go wrong.
var queries = []string{
	`SELECT * FROM files.shop.orders`,
	`SELECT count(*), sum(total), min(placed), max(note), count(note) FROM files.shop.orders`,
	`SELECT note, length(note), count(*) FROM files.shop.orders GROUP BY note`,
	`SELECT id, total FROM files.shop.orders WHERE id BETWEEN 240 AND 260 OR note IS NULL`,
	`SELECT id FROM files.shop.orders WHERE id >= 700 AND id < 710`,
	`SELECT count(*) FROM files.shop.orders WHERE id = 100000`,
	`SELECT 'csv' AS source, id, note FROM files.shop.orders UNION ALL SELECT 'ice', id, note FROM ice`,
	`SELECT count(*), sum(id) FROM (SELECT id FROM files.shop.orders UNION ALL SELECT id FROM ice UNION ALL SELECT id FROM files.shop.orders)`,
	`SELECT c.name, count(*), sum(o.total) FROM files.shop.orders o JOIN customers c ON o.customer = c.id GROUP BY c.name`,
	`SELECT o.id, c.name FROM files.shop.orders o LEFT JOIN customers c ON o.customer = c.id WHERE o.id < 40`,
	`SELECT i.id, o.total FROM ice i JOIN files.shop.orders o ON i.id = o.id`,
	`SELECT a.id, b.id FROM files.shop.orders a JOIN files.shop.orders b ON a.id = b.id + 500`,
	`SELECT count(*), count(DISTINCT a.note) FROM files.shop.orders a, files.shop.orders b WHERE a.customer = b.customer AND a.id < b.id`,
	`WITH t AS (SELECT customer, sum(total) AS s FROM files.shop.orders GROUP BY customer) SELECT * FROM t WHERE s > (SELECT avg(s) FROM t)`,
	`SELECT id FROM ice EXCEPT SELECT id FROM files.shop.orders WHERE id < 900`,
	`SELECT id, rank() OVER (PARTITION BY customer ORDER BY id) FROM files.shop.orders`,
	`SELECT * FROM files.shop.empty`,
	`SELECT count(*), sum(total) FROM files.shop.empty`,
	`SELECT id FROM files.shop.empty UNION ALL SELECT id FROM ice WHERE id < 10`,
	`SELECT o.id FROM files.shop.orders o WHERE NOT EXISTS (SELECT 1 FROM files.shop.empty e WHERE e.id = o.id) AND o.id < 5`,
	`SELECT "ID", files.shop.orders.customer FROM FILES.Shop.ORDERS WHERE customer = 3`,
}

func TestQueriesEqualDuckDBs(t *testing.T) {
	_, client, ref := distributed(t)
	for _, way := range []string{"SET distribution_threshold = 0", "SET distribution_threshold = '1GB'"} {
		client.Query(way)
		for _, sql := range queries {
			want, got := ref.Query(sql), client.Query(sql)
			require.Empty(t, compare.Diff(want, got), "%s: %s", way, sql)
		}
	}
	want := ref.Query(`SELECT id, note FROM files.shop.orders ORDER BY id DESC LIMIT 7`)
	require.Len(t, want.Rows, 7)
	require.Empty(t, compare.Diff(want, client.Query(`SELECT id, note FROM files.shop.orders ORDER BY id DESC LIMIT 7`), 0))
}

// Every file is read once, by one of several tasks; those that the filter excludes by none.
func TestFilesAreTasks(t *testing.T) {
	_, client, _ := distributed(t)
	explained := text(client.Query(`EXPLAIN SELECT customer, count(*) FROM files.shop.orders GROUP BY customer`))
	require.Regexp(t, `shuffle into \d+ partitions, 4 tasks from 4 units`, explained)
	require.Contains(t, explained, "CSVScan shop.orders leaf=1 columns=[customer]")
	pruned := text(client.Query(`EXPLAIN SELECT customer, count(*) FROM files.shop.orders WHERE id > 499 GROUP BY customer`))
	require.Regexp(t, `2 tasks from 2 units`, pruned)
	analyzed := text(client.Query(`EXPLAIN ANALYZE SELECT count(*) FROM files.shop.orders UNION ALL SELECT count(*) FROM ice`))
	require.Contains(t, analyzed, "rows: 2")
}

func text(r *compare.Result) string {
	var b strings.Builder
	for _, row := range r.Rows {
		b.WriteString(row[0].String() + "\n")
	}
	return b.String()
}

func TestTheCatalogIsSeen(t *testing.T) {
	_, client, _ := distributed(t)
	require.Equal(t, "files\nserac\n", text(client.Query(`SHOW CATALOGS`)))
	require.Equal(t, "shop\n", text(client.Query(`SHOW SCHEMAS FROM files`)))
	require.Contains(t, text(client.Query(`SHOW TABLES FROM files.shop`)), "empty\n")
	require.Contains(t, text(client.Query(`SHOW ALL TABLES`)), "files\n")
	described := client.Query(`DESCRIBE files.shop.orders`)
	require.Len(t, described.Rows, 5)
	require.Equal(t, "DECIMAL(12,2)", described.Rows[2][1].String())
	require.Equal(t, "NO", described.Rows[0][2].String())

	client.Query(`USE files`)
	require.Equal(t, "1000", client.Value(`SELECT count(*) FROM orders`), "USE of a catalog with one schema goes to it")
	require.Equal(t, "14", client.Value(`SELECT count(*) FROM serac."default".customers`))
	client.Query(`USE serac`)
	require.Equal(t, "14", client.Value(`SELECT count(*) FROM customers`))

	ctx := context.Background()
	info, err := client.GetTables(ctx, &flightsql.GetTablesOpts{Catalog: ptr("files"), IncludeSchema: true, TableNameFilterPattern: ptr("orders")})
	require.NoError(t, err)
	reader, err := client.DoGet(ctx, info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer reader.Release()
	require.True(t, reader.Next())
	tables := compare.New(reader.Schema())
	tables.Add(reader.RecordBatch())
	require.Len(t, tables.Rows, 1)
	require.Equal(t, "shop", tables.Rows[0][1].String())
	schema, err := flight.DeserializeSchema(reader.RecordBatch().Column(4).(*array.Binary).Value(0), nil)
	require.NoError(t, err)
	require.Equal(t, "total", schema.Field(2).Name)
	require.False(t, schema.Field(0).Nullable)
}

func ptr(s string) *string { return &s }

func TestWhatCannotBeDoneSaysSo(t *testing.T) {
	_, client, _ := distributed(t)
	for sql, says := range map[string]string{
		`SELECT * FROM files.shop.nothing`:                        `table does not exist: "nothing"`,
		`SELECT * FROM files.store.orders`:                        `schema does not exist: "store"`,
		`SELECT * FROM files."..".orders`:                         `schema does not exist: ".."`,
		`SELECT * FROM files.shop."../shop/orders"`:               `table does not exist`,
		`SELECT * FROM other.shop.orders`:                         `catalog "other" does not exist: there is "serac", "files"`,
		`SELECT * FROM files.shop.gone`:                           `nowhere.csv`,
		`SELECT * FROM files.shop.text`:                           `text.json: not a manifest`,
		`SELECT sum(n) FROM files.shop.wrong`:                     `two`,
		`INSERT INTO files.shop.orders SELECT * FROM ice`:         `catalog files is of table format csv, which can only be read`,
		`CREATE TABLE files.shop.more (a INTEGER)`:                `can only be read`,
		`CREATE TABLE files.shop.more AS SELECT 1 AS a`:           `can only be read`,
		`DROP TABLE files.shop.orders`:                            `can only be read`,
		`CREATE SCHEMA files.more`:                                `can only be read`,
		`DROP SCHEMA files.shop`:                                  `can only be read`,
		`SELECT * FROM files.shop.orders AT (VERSION => 1)`:       `AT`,
		`SELECT * FROM read_csv('/etc/passwd', auto_detect=true)`: ``,
	} {
		_, err := client.Run(context.Background(), sql)
		require.ErrorContains(t, err, says, sql)
	}
	_, err := client.Run(context.Background(), `SELECT * FROM files.shop.broken`)
	for _, says := range []string{"broken.json", "type INTEGER[] cannot be in a CSV file", `column "A": there are two`, `"../x.csv" is not below`} {
		require.ErrorContains(t, err, says, "every fault at once")
	}
	require.Equal(t, "1000", client.Value(`SELECT count(*) FROM files.shop.orders`), "and then it goes on")
}

// An executor that lacks the format is refused at its registration, and so is one with a format that the scheduler lacks.
func TestExecutorsMustHaveTheFormat(t *testing.T) {
	cluster := process.Distributed(t, t.TempDir(), 0)
	address := regexp.MustCompile(`executors=(\S+)`).FindStringSubmatch(cluster.Server.Output())[1]
	says := refused(t, plain, address)
	require.Contains(t, says, "its extensions differ from the scheduler's: it lacks [csvtables.v1.CSVScan@1], the scheduler lacks []")

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	scheduler := exec.CommandContext(ctx, plain, "scheduler", "--data-dir", t.TempDir(), "--scheduler.flight_sql_port=0", "--scheduler.executor_port=0")
	output, err := scheduler.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, scheduler.Start())
	defer scheduler.Wait()
	defer cancel()
	buffer := make([]byte, 1<<16)
	n := 0
	for !strings.Contains(string(buffer[:n]), "executors=") {
		m, err := output.Read(buffer[n:])
		require.NoError(t, err)
		n += m
	}
	time.Sleep(10 * time.Millisecond)
	address = regexp.MustCompile(`executors=(\S+)`).FindStringSubmatch(string(buffer[:n]))[1]
	says = refused(t, process.Binary(t), address)
	require.Contains(t, says, "it lacks [], the scheduler lacks [csvtables.v1.CSVScan@1]")
}

// refused starts an executor that a scheduler must not take, and gives what it says.
func refused(t *testing.T, binary, address string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "executor", "--scheduler", address, "--executor.flight_port=0",
		"--executor.spill_dir", t.TempDir()).CombinedOutput()
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "it ends by itself")
	return string(out)
}

func TestAnUnknownFormatEndsTheStart(t *testing.T) {
	for env, says := range map[string]string{
		"SERAC_CATALOGS__X__TYPE=parquet": `open catalog x: unknown table format "parquet": there is csv`,
		"SERAC_CATALOGS__X__TYPE=csv":     `open csv catalog x: path must be set`,
	} {
		cmd := exec.Command(process.Binary(t), "serve", "--data-dir", t.TempDir(), "--scheduler.flight_sql_port=0")
		cmd.Env = append(os.Environ(), env)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), says)
	}
}
