package bind

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions whose state executors do not share are refused by name, wherever they stand, not run with other answers.
func TestFunctionsWithStateAreRefused(t *testing.T) {
	r := ownTables(t)
	b := New(1)
	defer func() { require.NoError(t, b.Close()) }()
	for sql, want := range map[string]string{
		"SELECT setseed(0.5), random()":                                          "setseed() is not supported",
		"SELECT id FROM t WHERE id IN (SELECT SETSEED(0.1) IS NULL FROM t)":      "setseed() is not supported",
		"SELECT nextval('s'), id FROM t":                                         "nextval() is not supported: there are no sequences",
		"WITH c AS (SELECT currval('s') AS v) SELECT * FROM c ORDER BY v":        "currval() is not supported: there are no sequences",
		"SELECT count(*) FROM t HAVING count(*) > (SELECT main.nextval('s'))":    "nextval() is not supported",
		"SELECT sum(id) OVER (ORDER BY setseed(0.5)) FROM t QUALIFY id > id - 1": "setseed() is not supported",
	} {
		_, err := b.Bind(context.Background(), r.request(sql))
		require.ErrorContains(t, err, want, sql)
		var fault *Error
		require.ErrorAs(t, err, &fault, sql)
	}
	_, err := b.Bind(context.Background(), r.request("SELECT id AS setseed, 'nextval' FROM t"))
	require.NoError(t, err)
}
