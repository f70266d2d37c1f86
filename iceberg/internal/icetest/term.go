package icetest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
)

// term is a column, or a transform of one, perhaps with a name: c, day(ts), bucket(16, id) AS b.
var term = regexp.MustCompile(`^(?:(\w+)\((?:(\d+), )?(.+?)\)|(.+?))(?: AS (\S+))?$`)

// Terms are partition terms as one writes them.
func Terms(t testing.TB, texts ...string) []iceberg.PartitionTerm {
	t.Helper()
	terms := make([]iceberg.PartitionTerm, len(texts))
	for i, text := range texts {
		m := term.FindStringSubmatch(text)
		require.NotNil(t, m, text)
		terms[i] = iceberg.PartitionTerm{Transform: "identity", Column: unquote(m[4]), Name: unquote(m[5])}
		if m[1] != "" {
			terms[i].Transform, terms[i].Column = m[1], unquote(m[3])
		}
		if m[2] != "" {
			terms[i].Transform += "[" + m[2] + "]"
		}
	}
	return terms
}

// unquote is a name that may be in double quotes.
func unquote(name string) string {
	if !strings.HasPrefix(name, `"`) {
		return name
	}
	return strings.ReplaceAll(strings.Trim(name, `"`), `""`, `"`)
}
