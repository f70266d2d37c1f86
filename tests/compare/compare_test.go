package compare

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func result(rows ...[]Cell) *Result {
	return &Result{Names: []string{"a", "b"}, Types: []string{"utf8", "float64"}, Rows: rows}
}

func row(text string, f float64) []Cell {
	return []Cell{{Text: text}, {IsFloat: true, Float: f}}
}

func number(f float64, text string) []Cell { return []Cell{{IsFloat: true, Float: f}, {Text: text}} }

func noNumber(text string) []Cell { return []Cell{{Null: true}, {Text: text}} }

func TestDiff(t *testing.T) {
	null := []Cell{{Null: true}, {Null: true}}
	for name, c := range map[string]struct {
		want, got *Result
		order     []int
		same      bool
	}{
		"other sequence":            {result(row("x", 1), row("y", 2)), result(row("y", 2), row("x", 1)), nil, true},
		"other sequence, ordered":   {result(row("x", 1), row("y", 2)), result(row("y", 2), row("x", 1)), []int{0}, false},
		"ties in any sequence":      {result(row("x", 1), row("x", 2)), result(row("x", 2), row("x", 1)), []int{0}, true},
		"last digits":               {result(row("x", 0.1+0.2)), result(row("x", 0.3)), nil, true},
		"last digits swap the rows": {result(row("x", 1), row("y", 1+1e-12)), result(row("x", 1+1e-12), row("y", 1)), nil, true},
		"too far apart":             {result(row("x", 1)), result(row("x", 1.0001)), nil, false},
		"NaN is NaN":                {result(row("x", math.NaN())), result(row("x", math.NaN())), nil, true},
		"NULL is not empty":         {result(row("", 0)), result(null), nil, false},
		"NULL among numbers":        {result(number(1, "a"), noNumber("b"), number(2, "c")), result(noNumber("b"), number(2, "c"), number(1, "a")), nil, true},
		"a row twice":               {result(row("x", 1), row("y", 1)), result(row("x", 1), row("x", 1)), nil, false},
		"a row less":                {result(row("x", 1)), result(), nil, false},
	} {
		diff := Diff(c.want, c.got, c.order...)
		require.Equal(t, c.same, diff == "", "%s: %s", name, diff)
	}
}
