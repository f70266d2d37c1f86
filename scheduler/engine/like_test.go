package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLike(t *testing.T) {
	for _, c := range []struct {
		pattern string
		escape  rune
		fold    bool
		name    string
		matches bool
	}{
		{"a%", 0, false, "abc", true},
		{"a%", 0, false, "Abc", false},
		{"a%", 0, true, "Abc", true},
		{"a_c", 0, false, "abc", true},
		{"a_c", 0, false, "abbc", false},
		{`a\_c`, '\\', false, "abc", false},
		{`a\_c`, '\\', false, "a_c", true},
		{`a\_c`, 0, false, `a\bc`, true},
		{`a\b`, '\\', false, `a\b`, true},
		{`a\`, '\\', false, `a\`, true},
		{"a.c", 0, false, "abc", false},
		{"%", 0, false, "a\nb", true},
		{"", 0, false, "", true},
		{"", 0, false, "a", false},
	} {
		require.Equal(t, c.matches, Like(c.pattern, c.escape, c.fold)(c.name), "%q LIKE %q", c.name, c.pattern)
	}
}
