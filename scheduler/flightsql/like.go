package flightsql

import (
	"regexp"
	"strings"
)

// like matches names against a pattern of Flight SQL and JDBC: % is any text, _ any one character, and a backslash makes
// the one that follows plain. No pattern (nil) matches every name.
func like(pattern *string) func(name string) bool {
	if pattern == nil {
		return func(string) bool { return true }
	}
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	escaped := false
	for _, r := range *pattern {
		switch {
		case escaped:
			if r != '%' && r != '_' && r != '\\' {
				re.WriteString(`\\`)
			}
			re.WriteString(regexp.QuoteMeta(string(r)))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '%':
			re.WriteString(`.*`)
		case r == '_':
			re.WriteString(`.`)
		default:
			re.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	if escaped {
		re.WriteString(`\\`)
	}
	re.WriteString(`\z`)
	return regexp.MustCompile(re.String()).MatchString
}
