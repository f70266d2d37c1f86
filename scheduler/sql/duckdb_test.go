package sql

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
)

// DuckDB cuts texts into as many statements, and sees as many parameters, as we do.
func TestSplitAgreesWithDuckDB(t *testing.T) {
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()

	for _, text := range []string{
		"select 1", "select 1;", ";select 1;;select 2;", "select 1; select 2 -- ; select 3\n; select 4",
		"select 1 /* /* ; */ ; */; select 2", "select 'a;''b'; select E'a\\';b'; select 3", "select $$a;b$$; select $x$ $$ ; $x$",
		"select \"a;\"\"b\" from t; select 2", "select a$b; select 1", "select 1a, 0x1F, 1_0, .5, 1.e3, 5e; select 2",
		"select x'00', b'01', 'n;'; select 2", "select\u00a01;\u3000select\u20022", "select 5--3;\n; select 2",
		"select l[1:2], {'a;': 1}, m->'x', x::int; select 2", "select ?, ?1, ?; select 1", "select $1, $2", "select $a, $b, $a", "select ?-?",
		"select a @ b, a <-> b, #1 from t; select 2",
	} {
		answer, err := conn.Text(ctx, "SELECT json_serialize_sql('"+strings.ReplaceAll(text, "'", "''")+"')::VARCHAR")
		require.NoError(t, err, text)
		var want struct {
			Error        bool   `json:"error"`
			ErrorMessage string `json:"error_message"`
			Statements   []struct {
				Params []any `json:"named_param_map"`
			} `json:"statements"`
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &want))
		require.False(t, want.Error, "%s: %s", text, want.ErrorMessage)
		got, err := Split(text)
		require.NoError(t, err, text)
		require.Len(t, got, len(want.Statements), "%q", got)
		for i, statement := range got {
			params, err := Parameters(statement)
			require.NoError(t, err, statement)
			count := 0
			for _, p := range params {
				count = max(count, p.Number)
			}
			require.Len(t, want.Statements[i].Params, count, statement)
		}
	}
}
