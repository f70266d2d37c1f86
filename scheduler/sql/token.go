package sql

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd    tokenKind = iota // past the last token
	tokenWord                    // an unquoted identifier or keyword
	tokenQuoted                  // a "quoted" identifier
	tokenString                  // any string literal: 'x', E'x', X'00', $$x$$
	tokenNumber
	tokenParam  // ? ?1 $1 $name
	tokenSymbol // one punctuation or operator character
)

// token is a piece of the source: text[start:end].
type token struct {
	kind       tokenKind
	start, end int
}

// SyntaxError is a fault in a statement's text, with the place where it was seen.
type SyntaxError struct {
	Line, Column int // both from 1; Column counts characters
	Message      string
}

// Error gives the place and what is wrong there.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("syntax error at line %d:%d: %s", e.Line, e.Column, e.Message)
}

func errorAt(text string, offset int, format string, args ...any) error {
	before := text[:min(offset, len(text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &SyntaxError{Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

// tokenize cuts the text into tokens, leaving out spaces and comments. The last token is a tokenEnd.
func tokenize(text string) ([]token, error) {
	s := scanner{text: text}
	var tokens []token
	for {
		if err := s.skipBlank(); err != nil {
			return nil, err
		}
		t := token{start: s.pos}
		if s.pos < len(text) {
			var err error
			if t.kind, err = s.scan(); err != nil {
				return nil, err
			}
		}
		t.end = s.pos
		tokens = append(tokens, t)
		if t.kind == tokenEnd {
			return tokens, nil
		}
	}
}

type scanner struct {
	text string
	pos  int
}

func (s *scanner) at(offset int) byte {
	if s.pos+offset < len(s.text) {
		return s.text[s.pos+offset]
	}
	return 0
}

// skipBlank passes spaces, line comments and (nested) block comments.
func (s *scanner) skipBlank() error {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		switch {
		case c == '-' && s.at(1) == '-':
			for s.pos < len(s.text) && s.text[s.pos] != '\n' && s.text[s.pos] != '\r' {
				s.pos++
			}
		case c == '/' && s.at(1) == '*':
			if err := s.skipBlockComment(); err != nil {
				return err
			}
		default:
			r, size := utf8.DecodeRuneInString(s.text[s.pos:])
			if !isSpace(r) {
				return nil
			}
			s.pos += size
		}
	}
	return nil
}

// isSpace is DuckDB's notion of a space: also the spaces beyond ASCII that come along when text is pasted.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff' }

func (s *scanner) skipBlockComment() error {
	start, depth := s.pos, 0
	for s.pos < len(s.text) {
		switch {
		case s.at(0) == '/' && s.at(1) == '*':
			depth++
			s.pos += 2
		case s.at(0) == '*' && s.at(1) == '/':
			depth--
			s.pos += 2
			if depth == 0 {
				return nil
			}
		default:
			s.pos++
		}
	}
	return errorAt(s.text, start, "the comment that begins here has no end")
}

// scan passes one token and says what it was.
func (s *scanner) scan() (tokenKind, error) {
	c := s.text[s.pos]
	switch {
	case c == '\'':
		return tokenString, s.skipQuoted('\'', false)
	case c == '"':
		return tokenQuoted, s.skipQuoted('"', false)
	case (c == 'e' || c == 'E') && s.at(1) == '\'':
		s.pos++
		return tokenString, s.skipQuoted('\'', true)
	case strings.IndexByte("xXbBnN", c) >= 0 && s.at(1) == '\'':
		s.pos++
		return tokenString, s.skipQuoted('\'', false)
	case (c == 'u' || c == 'U') && s.at(1) == '&' && s.at(2) == '\'':
		s.pos += 2
		return tokenString, s.skipQuoted('\'', false)
	case isWordStart(c):
		s.skipWord()
		return tokenWord, nil
	case isDigit(c) || c == '.' && isDigit(s.at(1)):
		s.skipNumber()
		return tokenNumber, nil
	case c == '?':
		s.pos++
		s.skipWhile(isDigit)
		return tokenParam, nil
	case c == '$':
		return s.scanDollar()
	default:
		s.pos++
		return tokenSymbol, nil
	}
}

// scanDollar passes $tag$ ... $tag$, $1 or $name.
func (s *scanner) scanDollar() (tokenKind, error) {
	start := s.pos
	s.pos++
	if isDigit(s.at(0)) {
		s.skipWhile(isDigit)
		return tokenParam, nil
	}
	if isWordStart(s.at(0)) {
		s.skipWhile(func(c byte) bool { return isWordPart(c) && c != '$' })
	}
	if s.at(0) != '$' {
		if s.pos == start+1 {
			return tokenSymbol, nil
		}
		s.skipWord()
		return tokenParam, nil
	}
	s.pos++
	tag := s.text[start:s.pos]
	end := strings.Index(s.text[s.pos:], tag)
	if end < 0 {
		return tokenEnd, errorAt(s.text, start, "the %s-quoted text that begins here has no end", tag)
	}
	s.pos += end + len(tag)
	return tokenString, nil
}

// skipQuoted passes a quoted text; the quote doubled stands for itself.
func (s *scanner) skipQuoted(quote byte, backslash bool) error {
	start := s.pos
	s.pos++
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case backslash && c == '\\' && s.pos+1 < len(s.text):
			s.pos += 2
		case c == quote && s.at(1) == quote:
			s.pos += 2
		case c == quote:
			s.pos++
			return nil
		default:
			s.pos++
		}
	}
	what := "string"
	if quote == '"' {
		what = "quoted name"
	}
	return errorAt(s.text, start, "the %s that begins here has no end", what)
}

func (s *scanner) skipNumber() {
	digits := func(c byte) bool { return isDigit(c) || c == '_' }
	s.skipWhile(digits)
	if s.at(0) == '.' {
		s.pos++
		s.skipWhile(digits)
	}
	if s.at(0) == 'e' || s.at(0) == 'E' {
		sign := 1
		if s.at(1) == '+' || s.at(1) == '-' {
			sign = 2
		}
		if isDigit(s.at(sign)) {
			s.pos += sign
			s.skipWhile(digits)
		}
	}
}

// skipWord passes letters, digits, _, $ and everything beyond ASCII but spaces.
func (s *scanner) skipWord() {
	for s.pos < len(s.text) && isWordPart(s.text[s.pos]) {
		r, size := utf8.DecodeRuneInString(s.text[s.pos:])
		if isSpace(r) {
			return
		}
		s.pos += size
	}
}

func (s *scanner) skipWhile(ok func(byte) bool) {
	for s.pos < len(s.text) && ok(s.text[s.pos]) {
		s.pos++
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func isWordPart(c byte) bool { return isWordStart(c) || isDigit(c) || c == '$' }

// unquoteIdent is the name that a tokenQuoted's text stands for.
func unquoteIdent(source string) string {
	return strings.ReplaceAll(source[1:len(source)-1], `""`, `"`)
}

// unquoteString is the text that a plain or dollar-quoted string literal stands for. ok is false for the other forms
// (E”, X” ...), which DuckDB alone reads.
func unquoteString(source string) (value string, ok bool) {
	switch source[0] {
	case '\'':
		return strings.ReplaceAll(source[1:len(source)-1], "''", "'"), true
	case '$':
		tag := strings.IndexByte(source[1:], '$') + 2
		return source[tag : len(source)-tag], true
	default:
		return "", false
	}
}
