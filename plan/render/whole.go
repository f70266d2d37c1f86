package render

import (
	"strings"

	"github.com/seracdb/serac/plan"
)

// wholeStatement writes a text with its scans where their names stand. They are subqueries there, as what is behind a view is.
// Common table expressions would not do: DuckDB takes each reference to one for correlated in a correlated subquery, and then
// refuses joins that it runs over tables ("Unsupported join type for flattening").
func (w *writer) wholeStatement(n *plan.WholeStatement) (string, error) {
	scans := map[string]string{}
	for _, s := range n.Scans {
		in, err := w.input(s.Scan)
		if err != nil {
			return "", err
		}
		cols := make([]string, len(in.cols))
		for i, c := range s.Scan.Schema() {
			cols[i] = in.cols[i] + " AS " + plan.QuoteIdent(c.Name)
		}
		scans[s.Name] = "(SELECT " + strings.Join(cols, ", ") + " FROM " + in.from + ")"
	}
	names := make([]string, len(n.Out))
	for i := range names {
		names[i] = column(i)
	}
	out := strings.Join(names, ", ")
	return "SELECT " + out + " FROM (" + replaceWords(n.SQL, scans) + ") AS " + w.name("t") + "(" + out + ")", nil
}

// replaceWords replaces words of a text of DuckDB's writing, which has no comments and no quotes but ” and "". What is
// quoted stays.
func replaceWords(sql string, words map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(sql); {
		end := i + 1
		switch c := sql[i]; {
		case c == '\'' || c == '"':
			end = len(sql)
			if n := strings.IndexByte(sql[i+1:], c); n >= 0 {
				end = i + n + 2
			}
		case inWord(c):
			for end < len(sql) && inWord(sql[end]) {
				end++
			}
		}
		if with, ok := words[sql[i:end]]; ok {
			b.WriteString(with)
		} else {
			b.WriteString(sql[i:end])
		}
		i = end
	}
	return b.String()
}

func inWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
