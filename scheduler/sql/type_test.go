package sql

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

func parseTypeText(text string) (Type, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return Type{}, err
	}
	p := &parser{text: text, tokens: tokens}
	t, err := p.parseType()
	if err == nil {
		err = p.expectEnd()
	}
	return t, err
}

func TestTypesOfOtherDialects(t *testing.T) {
	for text, want := range map[string]string{
		"LONG": "BIGINT", "string": "VARCHAR", "BINARY": "BLOB", "Fixed[8]": "BLOB", "timestamptz": "TIMESTAMP WITH TIME ZONE",
		"TIMESTAMP_NTZ": "TIMESTAMP", "TIMESTAMP_LTZ": "TIMESTAMP WITH TIME ZONE", "timestamp(9)": "TIMESTAMP_NS",
		"timestamp(6) with time zone": "TIMESTAMP WITH TIME ZONE", "timestamp(6) without time zone": "TIMESTAMP",
		"LIST<LIST<INT>>": "INTEGER[][]", "ARRAY(BIGINT)": "BIGINT[]", "ROW(a INT, b ROW(c VARCHAR))": `STRUCT("a" INTEGER, "b" STRUCT("c" VARCHAR))`,
		"MAP<STRING, STRUCT<a: INT, b: LIST<DATE>>>": `MAP(VARCHAR, STRUCT("a" INTEGER, "b" DATE[]))`,
		"double precision":                           "DOUBLE", "character varying(10)": "VARCHAR", "int array": "INTEGER[]", "int array[3]": "INTEGER[3]",
		"VARIANT": "VARIANT", "UUID": "UUID", "geometry": "GEOMETRY", "TIME": "TIME",
	} {
		got, err := parseTypeText(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.SQL(), text)
	}
}

// DuckDB reads the types it knows as the same types as we say it does.
func TestTypesAgreeWithDuckDB(t *testing.T) {
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()

	texts := []string{
		"DECIMAL", "DECIMAL(9)", "NUMERIC(38,10)", "VARCHAR(5)", "DOUBLE PRECISION", "INT[]", "INT[3][]", "INT ARRAY", "INT ARRAY[2]",
		"STRUCT(a INT, \"b c\" VARCHAR[])", "ROW(x DATE)", "MAP(VARCHAR, INT[])", "UNION(a INT, b VARCHAR)", "ENUM('x', 'it''s')",
		"TIMESTAMP(9)", "TIME WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITHOUT TIME ZONE", "CHARACTER VARYING(3)",
	}
	for name := range typeNames {
		texts = append(texts, name)
	}
	for _, text := range texts {
		ours, err := parseTypeText(text)
		require.NoError(t, err, text)
		want, err := conn.Text(ctx, "SELECT typeof(CAST(NULL AS "+text+"))::VARCHAR")
		if strings.HasPrefix(strings.ToUpper(text), "TIMESTAMP_NTZ") || strings.HasPrefix(strings.ToUpper(text), "TIMESTAMP_LTZ") {
			require.Error(t, err, "DuckDB knows %s now: compare it", text)
			continue
		}
		require.NoError(t, err, text)
		got, err := conn.Text(ctx, "SELECT typeof(CAST(NULL AS "+ours.SQL()+"))::VARCHAR")
		require.NoError(t, err, ours.SQL())
		require.Equal(t, want, got, text)
		if strings.HasPrefix(want, "STRUCT") || strings.HasPrefix(want, "UNION") || strings.HasPrefix(want, "ENUM") {
			continue // DuckDB prints them in a way of its own
		}
		planned, err := plan.ParseType(ours.SQL())
		require.NoError(t, err, ours.SQL())
		require.Equal(t, want, planned.SQL(), text)
	}
}

func TestTypeDepthIsBounded(t *testing.T) {
	_, err := parseTypeText(strings.Repeat("LIST<", 100_000))
	require.ErrorContains(t, err, "nest at most")
	_, err = parseTypeText("INT" + strings.Repeat("[]", 100_000))
	require.ErrorContains(t, err, "nest at most")
}
