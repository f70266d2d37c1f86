package fileaccess

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
)

// TestEveryTableFunctionIsClassified fails when the built-in DuckDB has a table function that functions.go does not know
// (a new version may bring one that reads files), or no longer has one that it knows.
func TestEveryTableFunctionIsClassified(t *testing.T) {
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer conn.Close()
	rows, err := conn.Rows(ctx, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('table', 'table_macro')")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, row := range rows {
		name := row[0].(string)
		listed[name] = true
		require.NotEqual(t, Unknown, KindOf(name), "table function %s is not classified", name)
		if KindOf(name) == Refused {
			require.NotEmpty(t, Why(name), name)
		}
	}
	for name := range functions {
		require.True(t, listed[name], "DuckDB has no table function %s", name)
	}
	require.Equal(t, Reader, KindOf("Read_CSV"))
	require.Equal(t, Unknown, KindOf("nope"))
	rows, err = conn.Rows(ctx, "SELECT function_name FROM duckdb_functions() WHERE parameter_types[1] = 'VARCHAR[]' AND function_type = 'table'")
	require.NoError(t, err)
	lists := map[string]bool{}
	for _, row := range rows {
		lists[row[0].(string)] = true
	}
	for name, f := range functions {
		if f.kind == Reader {
			require.Equal(t, !lists[name], takesOneFile(name), name)
		}
	}
	// What DuckDB's other functions can do is not looked at by name: none of them reads a file or an environment variable.
	rows, err = conn.Rows(ctx, `SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'macro', 'aggregate')
		AND (function_name LIKE 'read%' OR function_name LIKE '%env%' OR function_name LIKE '%glob%' OR function_name LIKE '%file%') ORDER BY 1`)
	require.NoError(t, err)
	require.Equal(t, [][]any{{"parse_filename"}}, rows)
}

// TestReplacementsAreDuckDBs asks DuckDB which names it takes for files: what it says of a missing one tells.
func TestReplacementsAreDuckDBs(t *testing.T) {
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer db.Close()
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer conn.Close()
	for name, function := range map[string]string{
		"/none/x.parquet": "read_parquet", "/none/x.PARQUET": "read_parquet", "/none/x.csv": "read_csv", "/none/x.tsv": "read_csv",
		"/none/x.csv.gz": "read_csv", "/none/x.csv.zst": "read_csv", "/none/x.json": "read_json_auto", "/none/x.ndjson.gz": "read_json_auto",
		"/none/x.jsonl": "read_json_auto", "/none/*.csv": "read_csv", "/none/x.db": "read_duckdb", "/none/x.duckdb": "read_duckdb",
		"/none/x.txt": "", "/none/x.csv.bz2": "", "/none/x.avro": "", "/none/x": "", "/none/x.arrow": "",
	} {
		err := conn.Exec(ctx, "FROM '"+name+"'")
		require.Error(t, err, name)
		got, _, ok := Replacement(name)
		require.Equal(t, function, got, name)
		require.Equal(t, function != "", ok, name)
		if ok {
			require.ErrorContains(t, err, "No files found", name)
		} else {
			require.ErrorContains(t, err, "does not exist", name)
		}
	}
	_, alias, _ := Replacement("/none/orders.csv.gz")
	require.Equal(t, "orders", alias)
}
