package sql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var seeds = []string{
	"select 1; select 'a;b' /* ; /* ; */ */; -- ;\nselect $$;$$, $x$ ; $$ $x$, E'\\';', \"a;\"\"b\"",
	"create table a.b.c (x int not null default (1), y STRUCT<a: LIST<INT>>) partitioned by (bucket(4, x)) with (a = 'b')",
	"with a as (select 1) insert into t by name select ?, $1, $name from a returning x",
	"explain analyze (format json) select * from t", "set a.b = 'x'", "show tables from a like '%'", "\ufeffselect\u00a01",
	"??", "$", "$$", "$a$", "'", "\"", "/*", "e'", "u&'", "1e", "?1", "((", "]", "create table t(", "\xff\xfe", "",
}

// FuzzParse: no text panics, and a statement's parts are slices of its text.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stmt, err := Parse(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		if q, ok := stmt.(*Query); ok {
			require.NotEmpty(t, q.Text)
			require.Contains(t, text, q.Text)
		}
	})
}

// FuzzSplit: the statements hold the text's tokens, all of them, and each is one statement.
func FuzzSplit(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		statements, err := Split(text)
		if err != nil {
			return
		}
		for _, statement := range statements {
			require.NotEmpty(t, statement)
			again, err := Split(statement)
			require.NoError(t, err)
			require.Equal(t, []string{statement}, again)
		}
		require.Equal(t, tokenTexts(t, text), tokenTexts(t, strings.Join(statements, ";")))
		joined, err := Split(strings.Join(statements, "\n;\n"))
		require.NoError(t, err)
		require.Equal(t, statements, joined)
	})
}

// tokenTexts is a text's tokens but for semicolons.
func tokenTexts(t *testing.T, text string) []string {
	tokens, err := tokenize(text)
	require.NoError(t, err)
	var texts []string
	for _, token := range tokens {
		if s := text[token.start:token.end]; s != ";" {
			texts = append(texts, s)
		}
	}
	return texts
}

// FuzzBindParameters: what was bound has no parameters left, and reads as the same tokens but for them.
func FuzzBindParameters(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "1")
		f.Add(s, "-1")
		f.Add(s, "'x'")
	}
	f.Fuzz(func(t *testing.T, text, literal string) {
		operand, err := tokenize(literal)
		if err != nil || len(operand) != 2 || operand[0].kind != tokenString && operand[0].kind != tokenNumber || operand[0].end != len(literal) || operand[0].start != 0 {
			return
		}
		params, err := Parameters(text)
		if err != nil {
			return
		}
		count := 0
		for _, p := range params {
			count = max(count, p.Number)
		}
		if count > 100 {
			return
		}
		literals := make([]string, count)
		for i := range literals {
			literals[i] = literal
		}
		bound, err := BindParameters(text, literals)
		require.NoError(t, err)
		before, err := tokenize(text)
		require.NoError(t, err)
		after, err := tokenize(bound)
		require.NoError(t, err)
		require.Equal(t, len(before), len(after), bound)
		for i, b := range before {
			want := text[b.start:b.end]
			if b.kind == tokenParam {
				want = literal
			}
			require.Equal(t, want, bound[after[i].start:after[i].end])
		}
	})
}
