package sql

import (
	"strconv"
	"strings"
)

// Parameter is a parameter marker in a statement's text.
type Parameter struct {
	Start, End int    // text[Start:End] is the marker
	Number     int    // from 1: which of the parameters it stands for
	Name       string // of $name; otherwise ""
}

// Parameters finds the parameter markers of a text: ? counts up, ?n and $n give the number, $name is numbered by first
// appearance. The two ways of numbering and naming cannot be mixed, as in DuckDB. The number of parameters is the
// highest Number; a statement that leaves one out is an error.
func Parameters(text string) ([]Parameter, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	var params []Parameter
	names := map[string]int{}
	highest := 0
	numbered := map[int]bool{}
	for _, t := range tokens {
		if t.kind != tokenParam {
			continue
		}
		p := Parameter{Start: t.start, End: t.end}
		switch marker := text[t.start+1 : t.end]; {
		case marker == "":
			p.Number = highest + 1
		case isDigit(marker[0]):
			if p.Number, err = strconv.Atoi(marker); err != nil || p.Number < 1 || p.Number > maxParameters {
				return nil, errorAt(text, t.start, "a parameter's number is between 1 and %d", maxParameters)
			}
		default:
			p.Name = marker
			// Names are not case-sensitive, like all of DuckDB's.
			key := strings.ToLower(marker)
			if names[key] == 0 {
				names[key] = len(names) + 1
			}
			p.Number = names[key]
		}
		if len(params) > 0 && (params[0].Name == "") != (p.Name == "") {
			return nil, errorAt(text, t.start, "named and positional parameters cannot be mixed")
		}
		highest = max(highest, p.Number)
		numbered[p.Number] = true
		params = append(params, p)
	}
	for n := 1; n <= highest; n++ {
		if !numbered[n] {
			return nil, errorAt(text, params[0].Start, "parameter %d is never used, but parameter %d is", n, highest)
		}
	}
	return params, nil
}

// maxParameters bounds what a text may ask to be allocated.
const maxParameters = 65535

// BindParameters replaces every marker by the literal of its number: literals[0] stands for parameter 1. A literal is
// any SQL operand (a number, a quoted string, a CAST(...)). Strings and comments are left alone.
func BindParameters(text string, literals []string) (string, error) {
	params, err := Parameters(text)
	if err != nil {
		return "", err
	}
	count := 0
	for _, p := range params {
		count = max(count, p.Number)
	}
	if count != len(literals) {
		return "", errorAt(text, 0, "the statement has %d parameters, and %d values were given", count, len(literals))
	}
	var b strings.Builder
	done := 0
	for _, p := range params {
		b.WriteString(text[done:p.Start])
		literal := literals[p.Number-1]
		// A sign must not meet an operator (x-? would become the comment x--5), nor a word or quote the text beside it.
		if strings.HasPrefix(literal, "-") || strings.HasPrefix(literal, "+") {
			literal = "(" + literal + ")"
		}
		if p.Start > 0 && (mayJoin(text[p.Start-1]) || p.Start == done) {
			b.WriteByte(' ') // at done another parameter ended
		}
		b.WriteString(literal)
		if p.End < len(text) && mayJoin(text[p.End]) {
			b.WriteByte(' ')
		}
		done = p.End
	}
	b.WriteString(text[done:])
	return b.String(), nil
}

// mayJoin says whether a byte beside a literal could be read as part of it.
func mayJoin(c byte) bool { return isWordPart(c) || c == '\'' || c == '"' || c == '.' || c == '&' }
