package bind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/fileaccess"
	"github.com/seracdb/serac/plan"
)

// inEveryPlace are statements with a call, or a file's name, wherever a table can stand.
var inEveryPlace = []string{
	"SELECT * FROM %s",
	"FROM %s",
	"SELECT (SELECT count(*) FROM %s)",
	"SELECT 1 WHERE EXISTS (FROM %s)",
	"SELECT 1 WHERE 1 IN (SELECT 1 FROM %s)",
	"WITH c AS (FROM %s) SELECT * FROM c",
	"WITH c AS MATERIALIZED (FROM %s) SELECT * FROM c",
	"WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c, %s WHERE n < 3) FROM c",
	"SELECT 1 UNION ALL SELECT count(*) FROM %s",
	"SELECT * FROM t, LATERAL (SELECT t.id FROM %s)",
	"SELECT * FROM t JOIN %s ON true",
	"SELECT * FROM t POSITIONAL JOIN %s",
	"PIVOT (FROM %s) ON a IN (1)",
	"PIVOT %s ON a IN (1)",
	"UNPIVOT %s ON a",
	"FROM (DESCRIBE FROM %s)",
	"FROM (SUMMARIZE FROM %s)",
	"VALUES ((SELECT count(*) FROM %s))",
	"SELECT id FROM t ORDER BY (SELECT count(*) FROM %s)",
	"SELECT id FROM t LIMIT (SELECT count(*) FROM %s)",
	"SELECT sum(id) OVER (ORDER BY (SELECT count(*) FROM %s)) FROM t",
	"FROM %s USING SAMPLE 1",
	"FROM query('FROM %s')",
	"FROM query('FROM query(''FROM %s'')')",
	"FROM query('WITH c AS (FROM %s) FROM ' || 'c')",
}

// quoted puts a text into the place of %s, in quotes as deep as those around it.
func quoted(pattern, text string) string {
	depth := 0
	if strings.Contains(pattern, "''FROM %s") {
		depth = 2
	} else if strings.Contains(pattern, "query('") {
		depth = 1
	}
	for range depth {
		text = strings.ReplaceAll(text, "'", "''")
	}
	return fmt.Sprintf(pattern, text)
}

// TestReadersAreOff finds them wherever they stand and however they are written.
func TestReadersAreOff(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer b.Close()
	path := filepath.Join(t.TempDir(), "x.csv")
	require.NoError(t, os.WriteFile(path, []byte("a\n1\n"), 0o600))
	refused := func(sql, says string) {
		t.Helper()
		_, err := b.Bind(context.Background(), r.request(sql))
		require.ErrorContains(t, err, says, sql)
		require.ErrorContains(t, err, "allow_file_functions", sql)
		var fault *Error
		require.ErrorAs(t, err, &fault, sql)
		_, err = b.ParameterTypes(context.Background(), r.request(sql), nil)
		require.ErrorContains(t, err, "allow_file_functions", sql)
	}
	for _, pattern := range inEveryPlace {
		refused(quoted(pattern, "read_csv('"+path+"')"), "read_csv()")
		refused(quoted(pattern, "'"+path+"'"), "read_csv()")
	}
	for _, call := range []string{
		"READ_CSV('%s')", `"Read_Csv"('%s')`, "main.read_csv('%s')", "system.main.read_csv('%s')", `"system"."main"."READ_CSV"(['%s'])`,
		"serac.ns.read_csv('%s')", "read_csv('%s') WITH ORDINALITY", "read_csv(('%s' || ''), header = true)",
	} {
		refused("FROM "+fmt.Sprintf(call, path), "read_csv()")
	}
	for _, name := range []string{
		"glob", "parquet_bloom_probe", "parquet_file_metadata", "parquet_full_metadata", "parquet_kv_metadata", "parquet_metadata", "parquet_scan",
		"parquet_schema", "read_blob", "read_csv", "read_csv_auto", "read_json", "read_json_auto", "read_json_objects", "read_json_objects_auto",
		"read_ndjson", "read_ndjson_auto", "read_ndjson_objects", "read_parquet", "read_text", "sniff_csv",
	} {
		refused("FROM "+name+"('/x')", name+"()")
		refused("SELECT "+name+"('/x')", name+"()")
	}
	for name, function := range map[string]string{
		"'x.parquet'": "read_parquet", `"x.CSV"`: "read_csv", "'https://host/x.json'": "read_json_auto", "'s3://b/*.parquet'": "read_parquet",
		"data.csv": "read_csv", "'/a/x.tsv.gz'": "read_csv", "'x.ndjson'": "read_json_auto",
	} {
		refused("FROM "+name, function+"()")
	}
}

// TestRefusedTableFunctions stay so where files may be read.
func TestRefusedTableFunctions(t *testing.T) {
	r := ownTables(t)
	dir := t.TempDir()
	files, err := fileaccess.NewPolicy([]string{dir})
	require.NoError(t, err)
	for _, on := range []bool{false, true} {
		b := New(1)
		if on {
			b.Files = files
		}
		for sql, says := range map[string]string{
			"FROM query_table('t')":                         "query_table() is not supported",
			"FROM histogram('" + dir + "/x.csv', a)":        "histogram() is not supported",
			"FROM histogram_values(t, id)":                  "histogram_values() is not supported",
			"FROM json_execute_serialized_sql('{}')":        "not supported",
			"FROM read_duckdb('" + dir + "/x.db')":          "read_duckdb() is not supported",
			"FROM '" + dir + "/x.db'":                       "read_duckdb()",
			"FROM sql_auto_complete('FROM ''/')":            "it lists directories",
			"FROM enable_logging()":                         "not supported",
			"FROM main.enable_profiling(save_location='/')": "not supported",
			"FROM checkpoint()":                             "not supported",
			"FROM arrow_scan(1, 2, 3)":                      "not supported",
			"FROM pragma_table_info('t')":                   "DESCRIBE",
			"SELECT json_serialize_plan('FROM t')":          "json_serialize_plan() is not supported",
			"SELECT getenv('HOME')":                         "getenv does not exist",
			"FROM query('FROM query_table(''t'')')":         "query_table() is not supported",
			"FROM query($1)":                                "parameter",
			"FROM query('SELECT 1; SELECT 2')":              "one statement",
			"FROM query('SELECT $1')":                       "parameters",
			"FROM query(id) FROM t":                         "",
			"FROM query(NULL)":                              "the text of a query",
			"FROM query('COPY t TO ''/tmp/x''')":            "",
			"FROM query((SELECT 'x'))":                      "must be a constant",
			"FROM query(1)":                                 "the text of a query",
		} {
			_, err := b.Bind(context.Background(), r.request(sql))
			require.ErrorContains(t, err, says, sql)
		}
		require.NoError(t, b.Close())
	}
}

// TestReadersThatAreOn binds calls in every place over stubs: the text that is left has none of them, and the leaves have the
// checked paths.
func TestReadersThatAreOn(t *testing.T) {
	r := ownTables(t)
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(root, "database"), 0o700))
	for _, name := range []string{"data/x.csv", "database/x.csv"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte("a,b\n1,u\n2,v\n"), 0o600))
	}
	require.NoError(t, os.Symlink("../database/x.csv", filepath.Join(dir, "link.csv")))
	path := filepath.Join(dir, "x.csv")
	b := New(1)
	defer b.Close()
	var err error
	b.Files, err = fileaccess.NewPolicy([]string{dir})
	require.NoError(t, err)

	calls := func(bound *Bound) []string {
		var out []string
		visit := func(n plan.Node) bool {
			if f, ok := n.(*plan.TableFunction); ok && fileaccess.KindOf(f.Name) == fileaccess.Reader {
				out = append(out, fmt.Sprintf("%s(%v)", f.Name, f.Args[0].(*plan.Constant).Value))
			}
			return true
		}
		if bound.Whole != nil {
			plan.Walk(bound.Whole, visit)
			require.NotContains(t, bound.Whole.SQL, "read_csv(")
			require.NotContains(t, bound.Whole.SQL, path)
		}
		if bound.Plan != nil {
			plan.Walk(bound.Plan, visit)
		}
		return out
	}
	for _, pattern := range inEveryPlace {
		for _, from := range []string{"read_csv('" + path + "')", "'" + path + "'"} {
			sql := quoted(pattern, from)
			bound, err := b.Bind(context.Background(), r.request(sql))
			require.NoError(t, err, sql)
			got := calls(bound)
			require.NotEmpty(t, got, sql)
			for _, call := range got {
				require.Equal(t, "read_csv("+path+")", call, sql)
			}
		}
	}
	bound, err := b.Bind(context.Background(), r.request("SELECT x.b, sum(x.a) FROM 'file://"+dir+"/./x.csv' AS x(a, b) GROUP BY ALL"))
	require.NoError(t, err)
	require.Equal(t, []string{"read_csv(" + path + ")", "read_csv(" + path + ")"}, calls(bound), "in the text and in the plan")
	require.Equal(t, "b VARCHAR, sum(x.a) HUGEINT", columnsText(bound.Columns))
	require.Equal(t, []string{"read_csv([" + path + " " + path + "])"},
		calls(&Bound{Plan: bindWith(t, b, r, "FROM read_csv(['"+path+"', '"+path+"'], columns = {'p': 'INT', 'q': 'TEXT'}, header := true)").Plan}))
	// The clock's functions and parameters are constants of a statement; a value that varies is none.
	for sql, says := range map[string]string{
		"FROM read_csv('" + dir + "/../database/x.csv')":                    `".." in it`,
		"FROM read_csv('" + root + "/database/x.csv')":                      "not below a directory of [query] file_function_prefixes",
		"FROM read_csv(['" + path + "', '/etc/passwd'])":                    "not below",
		"FROM read_csv('/etc/' || 'passwd')":                                "not below",
		"FROM read_csv(concat('/e', 'tc/passwd'))":                          "not below",
		"FROM '/etc/passwd.csv'":                                            "not below",
		"FROM '" + root + "/database/x.csv'":                                "not below",
		"FROM glob('" + root + "/*')":                                       "not below",
		"FROM glob('" + root + "/data*/*')":                                 "not below",
		"FROM glob('" + dir + "/*')":                                        "is a link to one that is not below",
		"FROM read_csv('" + dir + "/link.csv')":                             "is a link to one that is not below",
		"FROM read_text('" + dir + "/link.csv')":                            "is a link to one that is not below",
		"FROM read_csv('x.csv')":                                            "not absolute",
		"FROM x.csv":                                                        "not absolute",
		"FROM read_csv('s3://b/x.csv')":                                     "local files only",
		"FROM 'https://host/x.csv'":                                         "local files only",
		"FROM read_csv('')":                                                 "empty",
		"FROM read_csv()":                                                   "needs a path",
		"FROM read_csv(header = true)":                                      "needs a path",
		"FROM read_csv(NULL)":                                               "NULL",
		"FROM read_csv(1)":                                                  "neither a text nor a list",
		"FROM read_csv([NULL])":                                             "no text",
		"FROM read_csv(id)":                                                 "must be a constant",
		"SELECT * FROM t, read_csv(t.id::VARCHAR)":                          "must be a constant",
		"SELECT * FROM t, LATERAL (FROM read_text(t.id::VARCHAR))":          "must be a constant",
		"FROM read_csv((SELECT '" + path + "'))":                            "must be a constant",
		"FROM read_csv('" + path + "' || random()::VARCHAR)":                "must be a constant",
		"FROM read_csv($1)":                                                 "parameter without a value",
		"FROM read_csv('" + path + "', store_rejects = true)":               "temporary tables",
		"FROM read_csv('" + path + "', rejects_table := 'x')":               "temporary tables",
		"FROM read_parquet('" + path + "', encryption_config = {'k': 'x'})": "keys",
		"FROM read_csv('" + path + "') WITH ORDINALITY":                     "ORDINALITY",
		"FROM read_csv('" + dir + "/missing.csv')":                          "No files found",
		"FROM 'missing'":                                                    "does not exist",
	} {
		_, err := b.Bind(context.Background(), r.request(sql))
		require.ErrorContains(t, err, says, sql)
		var missing *NotFoundError
		if !strings.Contains(says, "does not exist") {
			require.NotErrorAs(t, err, &missing, sql)
		}
	}
	req := r.request("FROM read_csv($1 || '/x.csv')")
	req.Params = []*plan.Constant{{Value: dir, Of: plan.T(plan.Varchar)}}
	bound, err = b.Bind(context.Background(), req)
	require.NoError(t, err)
	require.Equal(t, "a BIGINT, b VARCHAR", columnsText(bound.Columns))

	// A file that has changed is another stub, and a table of that name comes first.
	require.NoError(t, os.WriteFile(path, []byte("a\n2024-01-01\n"), 0o600))
	require.Equal(t, "a DATE", columnsText(bindWith(t, b, r, "FROM '"+path+"'").Columns))
	r.tables["t.csv"] = r.tables["t"]
	require.Empty(t, calls(bindWith(t, b, r, `FROM "t.csv"`)))
}

func bindWith(t *testing.T, b *Binder, r *reference, sql string) *Bound {
	t.Helper()
	bound, err := b.Bind(context.Background(), r.request(sql))
	require.NoError(t, err, sql)
	return bound
}

func columnsText(s plan.Schema) string {
	out := make([]string, len(s))
	for i, c := range s {
		out[i] = c.Name + " " + c.Type.SQL()
	}
	return strings.Join(out, ", ")
}
