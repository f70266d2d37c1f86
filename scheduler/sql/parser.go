package sql

import (
	"strconv"
	"strings"
)

// parser walks over the tokens of one statement. Its methods named parseX read an X or fail; acceptX read it if it is
// there; isX only look.
type parser struct {
	text   string
	tokens []token
	pos    int
}

func (p *parser) token() token { return p.tokens[p.pos] }

func (p *parser) advance() {
	if p.pos < len(p.tokens)-1 {
		p.pos++
	}
}

// here is the offset of the current token.
func (p *parser) here() int { return p.token().start }

// source is the current token as it was written.
func (p *parser) source() string { return p.text[p.token().start:p.token().end] }

// peek is the source of the token n further on; "" past the end.
func (p *parser) peek(n int) string {
	if p.pos+n >= len(p.tokens) {
		return ""
	}
	t := p.tokens[p.pos+n]
	return p.text[t.start:t.end]
}

// next reads the current token and returns it, a quoted identifier without its quotes.
func (p *parser) next() string {
	source := p.source()
	if p.token().kind == tokenQuoted {
		source = unquoteIdent(source)
	}
	p.advance()
	return source
}

func (p *parser) atEnd() bool { return p.token().kind == tokenEnd }

func (p *parser) isWord(word string) bool { return p.isWordAt(0, word) }

func (p *parser) isWordAt(n int, words ...string) bool {
	if p.pos+n >= len(p.tokens) || p.tokens[p.pos+n].kind != tokenWord {
		return false
	}
	for _, word := range words {
		if strings.EqualFold(p.peek(n), word) {
			return true
		}
	}
	return false
}

func (p *parser) isSymbol(symbol string) bool {
	return p.token().kind == tokenSymbol && p.source() == symbol
}

func (p *parser) acceptWord(word string) bool { return p.acceptWords(word) }

// acceptWords reads all of the words, or nothing.
func (p *parser) acceptWords(words ...string) bool {
	for n, word := range words {
		if !p.isWordAt(n, word) {
			return false
		}
	}
	for range words {
		p.advance()
	}
	return true
}

func (p *parser) acceptSymbol(symbol string) bool {
	if p.isSymbol(symbol) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expectWord(words ...string) error {
	if p.acceptWords(words...) {
		return nil
	}
	return p.errorExpected(strings.Join(words, " "))
}

func (p *parser) expectSymbol(symbol string) error {
	if p.acceptSymbol(symbol) {
		return nil
	}
	return p.errorExpected(strconv.Quote(symbol))
}

func (p *parser) expectEnd() error {
	if p.atEnd() {
		return nil
	}
	return p.errorExpected("the end of the statement")
}

func (p *parser) errorHere(format string, args ...any) error {
	return errorAt(p.text, p.here(), format, args...)
}

func (p *parser) errorExpected(what string) error {
	found := "the end of the text"
	if !p.atEnd() {
		found = strconv.Quote(abbreviate(p.source()))
	}
	return p.errorHere("expected %s, found %s", what, found)
}

func abbreviate(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// parseIdent reads one identifier. Unquoted ones keep their case: names are compared without regard to it.
func (p *parser) parseIdent(what string) (string, error) {
	if k := p.token().kind; k != tokenWord && k != tokenQuoted {
		return "", p.errorExpected(what)
	}
	start := p.here()
	name := p.next()
	if name == "" {
		return "", errorAt(p.text, start, "a name cannot be empty")
	}
	return name, nil
}

// parseName reads a name of at most most parts.
func (p *parser) parseName(what string, most int) (Name, error) {
	start := p.here()
	path, err := p.parsePath(what)
	if err != nil {
		return nil, err
	}
	if len(path) > most {
		return nil, errorAt(p.text, start, "%s has at most %d parts, this name has %d: %s", what, most, len(path), abbreviate(Name(path).String()))
	}
	return path, nil
}

// parsePath reads identifiers with dots between them.
func (p *parser) parsePath(what string) ([]string, error) {
	var path []string
	for {
		ident, err := p.parseIdent(what)
		if err != nil {
			return nil, err
		}
		path = append(path, ident)
		if !p.acceptSymbol(".") {
			return path, nil
		}
	}
}

// parseIdentList reads (a, b ...).
func (p *parser) parseIdentList(what string) ([]string, error) {
	if err := p.expectSymbol("("); err != nil {
		return nil, err
	}
	var names []string
	for {
		name, err := p.parseIdent(what)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if p.acceptSymbol(")") {
			return names, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) parseString(what string) (string, error) {
	if p.token().kind == tokenString {
		if value, ok := unquoteString(p.source()); ok {
			p.advance()
			return value, nil
		}
	}
	return "", p.errorExpected(what + " as a 'string'")
}

func (p *parser) parseInt(what string) (int, error) {
	if p.token().kind == tokenNumber {
		if n, err := strconv.ParseInt(strings.ReplaceAll(p.source(), "_", ""), 10, 32); err == nil {
			p.advance()
			return int(n), nil
		}
	}
	return 0, p.errorExpected(what + " as a whole number")
}

// rest reads everything up to the end and returns it as it was written.
func (p *parser) rest() string {
	start := p.here()
	last := p.tokens[max(p.pos, len(p.tokens)-2)]
	p.pos = len(p.tokens) - 1
	return p.text[start:last.end]
}

// skipBalanced passes one token, or when it opens a bracket everything up to the one that closes it.
func (p *parser) skipBalanced() {
	depth := 0
	for !p.atEnd() {
		if p.token().kind == tokenSymbol {
			switch p.source() {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				depth--
			}
		}
		p.advance()
		if depth <= 0 {
			return
		}
	}
}

// checkBrackets fails where brackets do not pair up, so that a query's text can be put between brackets safely.
func (p *parser) checkBrackets() error {
	var open []token
	for _, t := range p.tokens {
		if t.kind != tokenSymbol {
			continue
		}
		switch symbol := p.text[t.start]; symbol {
		case '(', '[', '{':
			open = append(open, t)
		case ')', ']', '}':
			opening := map[byte]byte{')': '(', ']': '[', '}': '{'}[symbol]
			if len(open) == 0 || p.text[open[len(open)-1].start] != opening {
				return errorAt(p.text, t.start, "there is no %q that this %q closes", opening, symbol)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t := open[len(open)-1]
		return errorAt(p.text, t.start, "this %q is not closed", p.text[t.start])
	}
	return nil
}
