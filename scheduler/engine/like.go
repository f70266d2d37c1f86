package engine

import (
	"regexp"
	"strings"
)

// Like matches names against a pattern: % is any text, _ any one character. escape, if not 0, makes the %, _ or escape that
// follows it plain. fold: letters match in either case.
func Like(pattern string, escape rune, fold bool) func(name string) bool {
	var re strings.Builder
	re.WriteString(`(?s)`)
	if fold {
		re.WriteString(`(?i)`)
	}
	re.WriteString(`\A`)
	plain := func(r rune) { re.WriteString(regexp.QuoteMeta(string(r))) }
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			if r != '%' && r != '_' && r != escape {
				plain(escape)
			}
			plain(r)
			escaped = false
		case r == escape && escape != 0:
			escaped = true
		case r == '%':
			re.WriteString(`.*`)
		case r == '_':
			re.WriteString(`.`)
		default:
			plain(r)
		}
	}
	if escaped {
		plain(escape)
	}
	re.WriteString(`\z`)
	return regexp.MustCompile(re.String()).MatchString
}
