package bind

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A binding may be used again only where nothing in it is of the moment.
func TestRepeatable(t *testing.T) {
	b := New(1)
	defer func() { require.NoError(t, b.Close()) }()
	for sql, want := range map[string]bool{
		"SELECT 1":                            true,
		"SELECT random()":                     true, // of each row, not of the statement
		"SELECT x + 1 FROM (VALUES (1)) v(x)": true,
		"SELECT now()":                        false,
		"SELECT current_date":                 false,
		"SELECT 1 WHERE current_timestamp > '2020-1-1'": false,
		"SELECT age(TIMESTAMP '2020-01-01')":            false,
		"SELECT current_setting('TimeZone')":            false,
		"SELECT (SELECT max(now()) FROM range(3))":      false,
		"SELECT * FROM range(3)":                        false,
	} {
		bound, err := b.Bind(context.Background(), Request{SQL: sql, Catalog: "c", Schema: "s"})
		require.NoError(t, err, sql)
		require.Equal(t, want, bound.Repeatable, sql)
	}
}
