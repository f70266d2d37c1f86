package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/tests/compare"
	"github.com/seracdb/serac/tests/process"
	"github.com/seracdb/serac/tests/reference"
)

// fileQueries read files under {}. Those that end in ordered rows say so by ORDER BY.
var fileQueries = []string{
	"SELECT * FROM read_csv('{}/orders.csv')",
	"SELECT sum(amount), count(*) FROM '{}/orders.csv'",
	"SELECT orders.id, amount FROM '{}/orders.csv' WHERE orders.id % 7 = 3",
	"SELECT r.* FROM READ_CSV(['{}/orders.csv', 'file://{}/more/orders2.csv'], header := true, union_by_name = true) r WHERE id < 5",
	"SELECT filename, count(*) FROM read_csv('{}/**/*.csv', filename = true, union_by_name = true) GROUP BY ALL",
	"SELECT * FROM read_csv('{}/orders.csv', columns = {'i': 'INTEGER', 'd': 'DATE', 'a': 'DECIMAL(10,2)', 't': 'VARCHAR'}) AS x(k, placed) WHERE k < 4",
	"SELECT k, sum(v) FROM '{}/parts.parquet' GROUP BY k",
	"SELECT k, v, file_row_number FROM read_parquet('{}/parts.parquet', file_row_number = true) WHERE v > 990",
	"SELECT nested, list, m FROM '{}/nested.parquet'",
	"SELECT nested.a, list[1], m['x'] FROM parquet_scan('{}/nested.parquet')",
	"SELECT * FROM read_json('{}/lines.ndjson')",
	"SELECT a, j.b FROM '{}/lines.ndjson' j WHERE a > 1",
	"SELECT json FROM read_json_objects('{}/lines.ndjson', format = 'nd')",
	"SELECT * FROM read_ndjson_auto('{}/lines.ndjson')",
	"SELECT size, content FROM read_text('{}/lines.ndjson')",
	"SELECT parse_filename(filename), content FROM read_blob('{}/lines.ndjson')",
	"SELECT parse_filename(filename), content FROM read_text('{}/odd*.txt')",
	"SELECT file FROM glob('{}/*') ORDER BY file",
	"SELECT file FROM glob('{}/empty*.none')",
	"SELECT Delimiter, HasHeader, Columns FROM sniff_csv('{}/orders.csv')",
	"SELECT num_rows, num_row_groups FROM parquet_file_metadata('{}/parts.parquet')",
	"SELECT path_in_schema, num_values, stats_min_value FROM parquet_metadata('{}/parts.parquet')",
	"SELECT name, type FROM parquet_schema(['{}/parts.parquet'])",
	"SELECT count(*) FROM parquet_kv_metadata('{}/parts.parquet')",
	"SELECT bloom_filter_excludes FROM parquet_bloom_probe('{}/parts.parquet', 'k', 3)",
	"SELECT t.name, sum(o.amount) FROM t JOIN read_csv('{}/orders.csv') o USING (id) GROUP BY t.name",
	"SELECT count(*) FROM t WHERE id NOT IN (SELECT id FROM '{}/orders.csv')",
	"WITH o AS (FROM '{}/orders.csv') SELECT a.id, b.amount FROM o a JOIN o b ON a.id = b.id + 1 WHERE a.id < 20",
	"SELECT name, (SELECT max(amount) FROM '{}/orders.csv' o WHERE o.id = t.id) AS most FROM t",
	"SELECT id, amount, row_number() OVER (ORDER BY amount DESC, id) FROM '{}/orders.csv' ORDER BY 3 LIMIT 10",
	"SELECT count(*) FROM '{}/orders.csv' a, '{}/more/orders2.csv' b WHERE a.id = b.id",
	"FROM query('SELECT t.id FROM t JOIN ''{}/orders.csv'' o ON o.id = t.id') ORDER BY ALL",
	"SELECT * FROM '{}/empty.csv'",
}

// TestFileFunctions reads files on `serac serve` and on two executors, distributed, and holds the rows against DuckDB's of the
// same files. What lies elsewhere stays out of reach, and files without the setting do.
func TestFileFunctions(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	for _, d := range []string{"data/more", "database"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, d), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "database/secret.csv"), []byte("a\n1\n"), 0o600))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var orders, more strings.Builder
	orders.WriteString("id,placed,amount,note\n")
	more.WriteString("id,note\n")
	for i := range 200 {
		fmt.Fprintf(&orders, "%d,2024-01-%02d,%d.%02d,%s\n", i, i%28+1, i*37%101, i%100, []string{"", "x", `"a, b"`}[i%3])
		if i%10 == 0 {
			fmt.Fprintf(&more, "%d,more\n", i)
		}
	}
	write("orders.csv", orders.String())
	write("more/orders2.csv", more.String())
	write("lines.ndjson", "{\"a\": 1, \"b\": [1, 2], \"c\": {\"d\": \"x\"}}\n{\"a\": 2, \"b\": null}\n{\"a\": 3, \"b\": []}\n")
	write("empty.csv", "a,b\n")
	write("odd[1].txt", "its name is a pattern")
	write("odd1.txt", "which matches this one")

	for name, start := range map[string]func(testing.TB, string, ...string) *process.Cluster{
		"serve": process.Serve,
		"distributed": func(tb testing.TB, dataDir string, env ...string) *process.Cluster {
			return process.Distributed(tb, dataDir, 2, env...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dataDir := t.TempDir()
			cluster := start(t, dataDir, "SERAC_QUERY__ALLOW_FILE_FUNCTIONS=true", "SERAC_QUERY__FILE_FUNCTION_PREFIXES="+dir)
			c := cluster.Connect(t)
			c.Query("CREATE SCHEMA f")
			c.Query("USE f")
			c.Query("CREATE TABLE t AS SELECT range AS id, 'n' || range % 5 AS name FROM range(0, 300, 2)")
			db := reference.Open(t, openCatalog(t, dataDir), "f", 2)
			db.Exec("COPY (SELECT range % 10 AS k, range AS v FROM range(1000)) TO '" + dir + "/parts.parquet' (ROW_GROUP_SIZE 200)")
			db.Exec("COPY (SELECT {'a': range, 'b': 'x'} AS nested, [range, NULL] AS list, MAP {'x': range} AS m FROM range(3)) TO '" + dir + "/nested.parquet'")
			for _, threshold := range []string{"128MB", "0B"} {
				c.Query("SET distribution_threshold = '" + threshold + "'")
				for _, query := range fileQueries {
					sql := strings.ReplaceAll(query, "{}", dir)
					want := db.Query(sql)
					got, err := c.Run(context.Background(), sql)
					require.NoError(t, err, sql)
					require.Equal(t, want.Names, got.Names, sql)
					require.Equal(t, len(want.Rows) == 0, strings.Contains(query, "empty"), sql)
					require.Empty(t, compare.Diff(want, got), sql)
				}
			}
			require.Contains(t, explainText(c, "EXPLAIN SELECT t.name, sum(o.amount) FROM t JOIN read_csv('"+dir+"/orders.csv') o USING (id) GROUP BY t.name"), "TableFunction read_csv")
			c.Query("RESET distribution_threshold")
			checkFileWrites(t, c, dir)
			checkFileRefusals(t, c, root)
			cluster.Stop()
		})
	}

	t.Run("off", func(t *testing.T) {
		cluster := process.Serve(t, t.TempDir())
		c := cluster.Connect(t)
		c.Query("CREATE TABLE t AS SELECT 1 AS a")
		for _, sql := range []string{
			"FROM read_csv('{}/orders.csv')", "FROM '{}/orders.csv'", `FROM "x.csv"`, "SELECT 1 WHERE EXISTS (FROM main.READ_TEXT('{}/orders.csv'))",
			"WITH c AS (FROM glob('{}/*')) FROM c", "INSERT INTO t SELECT id FROM '{}/orders.csv'", "CREATE TABLE u AS FROM read_parquet('{}/parts.parquet')",
			"EXPLAIN FROM read_csv('{}/orders.csv')", "EXPLAIN ANALYZE FROM '{}/orders.csv'",
		} {
			sql = strings.ReplaceAll(sql, "{}", dir)
			_, err := c.Run(context.Background(), sql)
			require.ErrorContains(t, err, "[query] allow_file_functions", sql)
			require.ErrorContains(t, err, "InvalidArgument", sql)
			if !strings.HasPrefix(sql, "INSERT") && !strings.HasPrefix(sql, "CREATE") && !strings.HasPrefix(sql, "EXPLAIN") {
				_, err = c.Prepare(context.Background(), sql)
				require.ErrorContains(t, err, "[query] allow_file_functions", sql)
			}
		}
		_, err := c.RunSubstrait(context.Background(), readPlan(t, filepath.Join(dir, "orders.csv")))
		require.ErrorContains(t, err, "[query] allow_file_functions")
		_, err = c.Run(context.Background(), "SET allow_file_functions = true")
		require.ErrorContains(t, err, "SET cannot change it")
		require.Equal(t, "1", c.Value("SELECT count(*) FROM t"))
		cluster.Stop()
	})

	t.Run("an executor decides for itself", func(t *testing.T) {
		cluster := process.Distributed(t, t.TempDir(), 0, "SERAC_QUERY__ALLOW_FILE_FUNCTIONS=true", "SERAC_QUERY__FILE_FUNCTION_PREFIXES="+dir)
		cluster.AddExecutor("SERAC_QUERY__FILE_FUNCTION_PREFIXES=" + root + "/database")
		c := cluster.Connect(t)
		_, err := c.Run(context.Background(), "FROM '"+dir+"/orders.csv'")
		require.ErrorContains(t, err, "executor: read_csv(): file")
		require.ErrorContains(t, err, "is not below a directory of [query] file_function_prefixes")
		cluster.Stop()
	})
}

// checkFileWrites puts what is in files into tables.
func checkFileWrites(t *testing.T, c *process.Client, dir string) {
	require.Equal(t, "200", c.Value("CREATE TABLE w AS FROM read_csv('"+dir+"/orders.csv')"))
	require.Equal(t, "20", c.Value("INSERT INTO w BY NAME FROM '"+dir+"/more/orders2.csv'"))
	require.Equal(t, "220|19900|1900", c.Value("SELECT concat_ws('|', count(*), sum(id) FILTER (placed IS NOT NULL), sum(id) FILTER (note = 'more')) FROM w"))
	ctx := context.Background()
	prepared, err := c.Prepare(ctx, "SELECT count(*) FROM '"+dir+"/orders.csv'")
	require.NoError(t, err)
	info, err := prepared.Execute(ctx)
	require.NoError(t, err)
	reader, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
	require.NoError(t, err)
	defer reader.Release()
	require.True(t, reader.Next())
	require.Equal(t, "200", reader.RecordBatch().Column(0).ValueStr(0))
	require.NoError(t, prepared.Close(ctx))
	_, err = c.Prepare(ctx, "FROM read_csv(?)")
	require.ErrorContains(t, err, "the path is NULL, as a parameter is while its statement is prepared")
}

func checkFileRefusals(t *testing.T, c *process.Client, root string) {
	require.NoError(t, os.Symlink(filepath.Join(root, "database"), filepath.Join(root, "data/link")))
	defer os.Remove(filepath.Join(root, "data/link"))
	for sql, says := range map[string]string{
		"FROM read_csv('{}/database/secret.csv')":                      "not below a directory of [query] file_function_prefixes",
		"FROM '{}/database/secret.csv'":                                "not below",
		"FROM read_csv('{}/data/../database/secret.csv')":              `".." in it`,
		"FROM read_csv('file://{}/data/../database/secret.csv')":       `".." in it`,
		"FROM read_text('{}/data/link/secret.csv')":                    "is a link",
		"FROM glob('{}/data/*/*')":                                     "is a link",
		"FROM read_csv(['{}/data/orders.csv', '/etc/passwd'])":         "not below",
		"FROM read_csv('/proc/self/environ')":                          "not below",
		"INSERT INTO t SELECT 1, x FROM read_text('/etc/passwd') y(x)": "not below",
		"CREATE TABLE v AS FROM '{}/database/secret.csv'":              "not below",
		"FROM read_csv('https://host/x.csv')":                          "local files only",
		"FROM read_duckdb('{}/data/x.db')":                             "read_duckdb() is not supported",
		"COPY t TO '{}/data/out.csv'":                                  "COPY",
		"COPY t FROM '{}/data/orders.csv'":                             "COPY",
		"ATTACH '{}/data/x.db'":                                        "ATTACH",
		"INSTALL httpfs":                                               "INSTALL",
		"LOAD json":                                                    "LOAD",
		"SELECT getenv('HOME')":                                        "getenv",
		"SET allowed_directories = ['/']":                              "unknown setting",
		"SET file_function_prefixes = '/'":                             "SET cannot change it",
		"SELECT json_serialize_plan('FROM ''/etc/passwd''')":           "not supported",
	} {
		sql = strings.ReplaceAll(sql, "{}", root)
		_, err := c.Run(context.Background(), sql)
		require.ErrorContains(t, err, says, sql)
		require.NotContains(t, err.Error(), "root:", sql)
	}
	_, err := c.RunSubstrait(context.Background(), readPlan(t, filepath.Join(root, "database/secret.csv")))
	require.ErrorContains(t, err, "not below")
	require.NoFileExists(t, filepath.Join(root, "data/out.csv"))
}

// readPlan is a Substrait plan that reads a table of the given name.
func readPlan(t *testing.T, name string) []byte {
	var p substraitpb.Plan
	require.NoError(t, protojson.Unmarshal([]byte(fmt.Sprintf(`{"relations": [{"root": {"names": ["id"], "input": {"read": {
		"baseSchema": {"names": ["id"], "struct": {"types": [{"i64": {}}]}}, "namedTable": {"names": [%q]}}}}}]}`, name)), &p))
	plan, err := proto.Marshal(&p)
	require.NoError(t, err)
	return plan
}

func explainText(c *process.Client, sql string) string {
	var lines []string
	for _, row := range c.Query(sql).Rows {
		lines = append(lines, row[len(row)-1].String())
	}
	return strings.Join(lines, "\n")
}
