package sql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBindParameters(t *testing.T) {
	for _, test := range []struct {
		text     string
		literals []string
		want     string
	}{
		{"select 1", nil, "select 1"},
		{"select ?, ?", []string{"1", "'a'"}, "select 1, 'a'"},
		{"select $2, $1, $2", []string{"1", "2"}, "select 2, 1, 2"},
		{"select $b, $a, $B", []string{"1", "2"}, "select 1, 2, 1"},
		{"select x-?", []string{"-5"}, "select x-(-5)"},
		{"select?from t", []string{"5"}, "select 5 from t"},
		{"select '?' || $$?$$ || \"?\" || ? -- ?\n/* ? */", []string{"E'x'"}, "select '?' || $$?$$ || \"?\" || E'x' -- ?\n/* ? */"},
		{"select ?1 + ?2", []string{"1", "2"}, "select 1 + 2"},
		{"select ?::int", []string{"'5'"}, "select '5'::int"},
	} {
		got, err := BindParameters(test.text, test.literals)
		require.NoError(t, err, test.text)
		require.Equal(t, test.want, got)
	}
}

func TestParameterErrors(t *testing.T) {
	_, err := BindParameters("select ?", nil)
	require.EqualError(t, err, "syntax error at line 1:1: the statement has 1 parameters, and 0 values were given")
	for text, want := range map[string]string{
		"select $a, ?":    "syntax error at line 1:12: named and positional parameters cannot be mixed",
		"select $2":       "syntax error at line 1:8: parameter 1 is never used, but parameter 2 is",
		"select $0":       "syntax error at line 1:8: a parameter's number is between 1 and 65535",
		"select $9999999": "syntax error at line 1:8: a parameter's number is between 1 and 65535",
	} {
		_, err := Parameters(text)
		require.EqualError(t, err, want, text)
	}
}
