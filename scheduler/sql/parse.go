package sql

import (
	"errors"
	"strings"
)

// ErrNoStatement is the error for a text of nothing but spaces, comments and semicolons.
var ErrNoStatement = errors.New("the text holds no statement")

// Parse reads a text of exactly one statement; a semicolon may end it. Faults in the text are *SyntaxError. What is not
// known here but looks like a query is left to DuckDB to judge.
func Parse(text string) (Statement, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	if tokens, err = single(text, tokens); err != nil {
		return nil, err
	}
	p := &parser{text: text, tokens: tokens}
	if err := p.checkBrackets(); err != nil {
		return nil, err
	}
	return p.parseStatement()
}

// single drops the semicolons around one statement and refuses a second one.
func single(text string, tokens []token) ([]token, error) {
	isSemicolon := func(t token) bool { return t.kind == tokenSymbol && text[t.start] == ';' }
	for len(tokens) > 1 && isSemicolon(tokens[0]) {
		tokens = tokens[1:]
	}
	for len(tokens) > 1 && isSemicolon(tokens[len(tokens)-2]) {
		tokens = append(tokens[:len(tokens)-2:len(tokens)-2], tokens[len(tokens)-1])
	}
	if len(tokens) == 1 {
		return nil, ErrNoStatement
	}
	for i, t := range tokens {
		if isSemicolon(t) {
			return nil, errorAt(text, tokens[i+1].start, "several statements in one request are not supported: send them one by one (a second one begins here)")
		}
	}
	return tokens, nil
}

// queryWords begin what DuckDB parses as a SELECT. WITH is apart: it may begin an INSERT, too.
var queryWords = []string{"SELECT", "VALUES", "FROM", "TABLE", "PIVOT", "UNPIVOT", "PIVOT_WIDER", "PIVOT_LONGER", "SUMMARIZE"}

// unsupportedHeads are the statements of DuckDB, Trino and Spark that are recognised only to say that they do not run.
// Longer ones come before their own beginnings.
var unsupportedHeads = []string{
	"UPDATE", "DELETE", "MERGE", "TRUNCATE", "COPY", "ATTACH", "DETACH", "INSTALL", "LOAD", "PRAGMA", "CALL", "EXECUTE",
	"PREPARE", "DEALLOCATE", "BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "ABORT", "END", "CHECKPOINT",
	"FORCE CHECKPOINT", "VACUUM", "ANALYZE", "EXPORT DATABASE", "IMPORT DATABASE", "COMMENT ON", "GRANT", "REVOKE",
	"REFRESH", "CACHE", "UNCACHE", "OPTIMIZE", "KILL",
	"ALTER TABLE", "ALTER SCHEMA", "ALTER VIEW", "ALTER",
}

func (p *parser) parseStatement() (Statement, error) {
	if p.isSymbol("(") || p.isWordAt(0, queryWords...) {
		return &Query{Text: p.rest()}, nil
	}
	switch {
	case p.isWord("WITH"):
		return p.parseWith()
	case p.isWord("INSERT"):
		return p.parseInsert("")
	case p.acceptWord("CREATE"):
		return p.parseCreate()
	case p.acceptWord("DROP"):
		return p.parseDrop()
	case p.acceptWord("SHOW"):
		return p.parseShow()
	case p.isWordAt(0, "DESCRIBE", "DESC"):
		return p.parseDescribe()
	case p.acceptWord("EXPLAIN"):
		return p.parseExplain()
	case p.acceptWord("SET"):
		return p.parseSet()
	case p.acceptWord("RESET"):
		return p.parseReset()
	case p.acceptWord("USE"):
		name, err := p.parseName("the name of a catalog or schema", 2)
		if err != nil {
			return nil, err
		}
		return &Use{Name: name}, p.expectEnd()
	}
	for _, head := range unsupportedHeads {
		if p.acceptWords(strings.Fields(head)...) {
			return &Unsupported{Head: head}, nil
		}
	}
	return nil, p.errorExpected("a statement")
}

// parseWith passes the common table expressions to see what statement they belong to.
func (p *parser) parseWith() (Statement, error) {
	start, startPos := p.here(), p.pos
	p.advance()
	p.acceptWord("RECURSIVE")
	for {
		if _, err := p.parseIdent("the name of a common table expression"); err != nil {
			return nil, err
		}
		if p.isSymbol("(") {
			p.skipBalanced()
		}
		if p.acceptWords("USING", "KEY") {
			p.skipBalanced()
		}
		if err := p.expectWord("AS"); err != nil {
			return nil, err
		}
		p.acceptWord("NOT")
		p.acceptWord("MATERIALIZED")
		if !p.isSymbol("(") {
			return nil, p.errorExpected(`"("`)
		}
		p.skipBalanced()
		if !p.acceptSymbol(",") {
			break
		}
	}
	switch {
	case p.isWord("INSERT"):
		return p.parseInsert(strings.TrimSpace(p.text[start:p.here()]))
	case p.isWordAt(0, "UPDATE", "DELETE", "MERGE"):
		return &Unsupported{Head: strings.ToUpper(p.source())}, nil
	}
	p.pos = startPos
	return &Query{Text: p.rest()}, nil
}

// parseInsert reads an INSERT; with is the WITH clause that stood before it.
func (p *parser) parseInsert(with string) (Statement, error) {
	p.advance()
	stmt := &Insert{}
	switch {
	case p.acceptWord("OR"):
		if !p.isWordAt(0, "REPLACE", "IGNORE") {
			return nil, p.errorExpected("REPLACE or IGNORE")
		}
		return &Unsupported{Head: "INSERT OR " + strings.ToUpper(p.source())}, nil
	case p.acceptWord("OVERWRITE"):
		stmt.Overwrite = true
		p.acceptWord("INTO")
	default:
		if err := p.expectWord("INTO"); err != nil {
			return nil, err
		}
	}
	if p.isWord("TABLE") && (p.tokens[p.pos+1].kind == tokenWord || p.tokens[p.pos+1].kind == tokenQuoted) {
		p.advance()
	}
	var err error
	if stmt.Table, err = p.parseName("a table's name", 3); err != nil {
		return nil, err
	}
	if p.isSymbol("(") && !p.queryInParens() {
		if stmt.Columns, err = p.parseIdentList("a column's name"); err != nil {
			return nil, err
		}
	}
	if p.acceptWord("BY") {
		switch {
		case p.acceptWord("NAME"):
			stmt.ByName = true
		case p.acceptWord("POSITION"):
		default:
			return nil, p.errorExpected("NAME or POSITION")
		}
	}
	if stmt.ByName && stmt.Columns != nil {
		return nil, p.errorHere("INSERT takes a list of columns or BY NAME, not both")
	}
	if p.acceptWords("DEFAULT", "VALUES") {
		stmt.DefaultValues = true
		return stmt, p.expectEnd()
	}
	if !p.isSymbol("(") && !p.isWord("WITH") && !p.isWordAt(0, queryWords...) {
		return nil, p.errorExpected("VALUES, a query or DEFAULT VALUES")
	}
	if head := p.insertTail(); head != "" {
		return &Unsupported{Head: head}, nil
	}
	stmt.Query = p.rest()
	if with != "" {
		stmt.Query = with + " " + stmt.Query
	}
	return stmt, nil
}

// queryInParens says whether the parenthesis here opens a query, not a list of columns.
func (p *parser) queryInParens() bool {
	n := 0
	for p.peek(n) == "(" {
		n++
	}
	return n > 1 || p.isWordAt(n, "WITH") || p.isWordAt(n, queryWords...) && p.peek(n+1) != "," && p.peek(n+1) != ")"
}

// insertTail names the clause after an INSERT's query that Serac does not run, if there is one.
func (p *parser) insertTail() string {
	saved := p.pos
	defer func() { p.pos = saved }()
	for !p.atEnd() {
		switch {
		case p.isWord("RETURNING"):
			return "INSERT ... RETURNING"
		case p.isWord("ON") && p.isWordAt(1, "CONFLICT") && (p.peek(2) == "(" || p.isWordAt(2, "DO")):
			return "INSERT ... ON CONFLICT"
		}
		p.skipBalanced()
	}
	return ""
}

func (p *parser) parseDrop() (Statement, error) {
	switch {
	case p.acceptWord("TABLE"):
		stmt := &DropTable{IfExists: p.acceptWords("IF", "EXISTS")}
		var err error
		if stmt.Name, err = p.parseName("a table's name", 3); err != nil {
			return nil, err
		}
		for {
			switch {
			case p.acceptWord("PURGE"):
				stmt.Purge = true
			// Nothing can depend on an Iceberg table: both mean the same.
			case p.acceptWord("CASCADE"), p.acceptWord("RESTRICT"):
			default:
				return stmt, p.expectEnd()
			}
		}
	case p.acceptWord("SCHEMA"):
		stmt := &DropSchema{IfExists: p.acceptWords("IF", "EXISTS")}
		var err error
		if stmt.Name, err = p.parseName("a schema's name", 2); err != nil {
			return nil, err
		}
		if p.acceptWord("CASCADE") {
			stmt.Cascade = true
		} else {
			p.acceptWord("RESTRICT")
		}
		return stmt, p.expectEnd()
	default:
		return p.parseUnsupported("DROP", "TABLE or SCHEMA")
	}
}

// parseUnsupported names a CREATE or DROP of something that is neither a table nor a schema.
func (p *parser) parseUnsupported(verb, expected string) (Statement, error) {
	for _, thing := range []string{
		"MATERIALIZED VIEW", "RECURSIVE VIEW", "VIEW", "INDEX", "UNIQUE INDEX", "SEQUENCE", "TYPE", "MACRO", "FUNCTION", "SECRET",
		"PERSISTENT SECRET", "DATABASE", "CATALOG", "ROLE", "USER", "TRIGGER", "EXTENSION", "EXTERNAL TABLE",
		"TEMPORARY", "TEMP",
	} {
		if p.acceptWords(strings.Fields(thing)...) {
			if thing == "TEMP" || thing == "TEMPORARY" {
				if p.token().kind == tokenWord {
					thing = "TEMPORARY " + strings.ToUpper(p.source())
				}
			}
			return &Unsupported{Head: verb + " " + thing}, nil
		}
	}
	return nil, p.errorExpected(expected)
}

// parseExplain reads what follows EXPLAIN: ANALYZE, options in parentheses, the statement.
func (p *parser) parseExplain() (Statement, error) {
	stmt := &Explain{Format: ExplainText}
	stmt.Analyze = p.acceptWord("ANALYZE")
	if p.isSymbol("(") && !p.queryInParens() {
		if err := p.parseExplainOptions(stmt); err != nil {
			return nil, err
		}
	}
	if p.isWord("EXPLAIN") {
		return nil, p.errorHere("EXPLAIN cannot explain another EXPLAIN")
	}
	var err error
	stmt.Statement, err = p.parseStatement()
	return stmt, err
}

func (p *parser) parseExplainOptions(stmt *Explain) error {
	p.advance()
	for {
		switch {
		case p.acceptWord("ANALYZE"):
			stmt.Analyze = !p.acceptWord("FALSE")
			p.acceptWord("TRUE")
		case p.acceptWord("FORMAT"):
			switch {
			case p.acceptWord("TEXT"):
				stmt.Format = ExplainText
			case p.acceptWord("JSON"):
				stmt.Format = ExplainJSON
			case p.acceptWord("SUBSTRAIT_JSON"):
				stmt.Format = ExplainSubstrait
			default:
				return p.errorExpected("TEXT, JSON or SUBSTRAIT_JSON")
			}
		default:
			return p.errorExpected("ANALYZE or FORMAT")
		}
		if p.acceptSymbol(")") {
			return nil
		}
		if err := p.expectSymbol(","); err != nil {
			return err
		}
	}
}
