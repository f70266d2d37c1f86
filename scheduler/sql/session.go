package sql

import "strings"

// parseSet reads what follows SET.
func (p *parser) parseSet() (Statement, error) {
	if p.isWord("VARIABLE") {
		return &Unsupported{Head: "SET VARIABLE"}, nil
	}
	if p.acceptWords("TIME", "ZONE") {
		return p.parseSetValue("TimeZone")
	}
	name, err := p.parseSettingName()
	if err != nil {
		return nil, err
	}
	if !p.acceptSymbol("=") && !p.acceptWord("TO") {
		return nil, p.errorExpected(`"=" or TO`)
	}
	return p.parseSetValue(name)
}

// parseSettingName reads [SESSION | LOCAL | GLOBAL] name.
func (p *parser) parseSettingName() (string, error) {
	if p.isWordAt(0, "SESSION", "LOCAL", "GLOBAL") && (p.tokens[p.pos+1].kind == tokenWord || p.tokens[p.pos+1].kind == tokenQuoted) &&
		!p.isWordAt(1, "TO") {
		p.advance()
	}
	path, err := p.parsePath("a setting's name")
	return strings.Join(path, "."), err
}

func (p *parser) parseSetValue(name string) (Statement, error) {
	if p.acceptWord("DEFAULT") {
		return &Reset{Name: name}, p.expectEnd()
	}
	if p.atEnd() {
		return nil, p.errorExpected("a value")
	}
	if p.token().kind == tokenString {
		if value, ok := unquoteString(p.source()); ok {
			p.advance()
			return &Set{Name: name, Value: value}, p.expectEnd()
		}
	}
	return &Set{Name: name, Value: p.rest()}, nil
}

// parseReset reads what follows RESET.
func (p *parser) parseReset() (Statement, error) {
	if p.isWord("VARIABLE") {
		return &Unsupported{Head: "RESET VARIABLE"}, nil
	}
	name, err := p.parseSettingName()
	if err != nil {
		return nil, err
	}
	return &Reset{Name: name}, p.expectEnd()
}

// parseShow reads what follows SHOW.
func (p *parser) parseShow() (Statement, error) {
	switch {
	case p.acceptWord("CATALOGS"), p.acceptWord("DATABASES"):
		like, err := p.parseLike()
		if err != nil {
			return nil, err
		}
		return &ShowCatalogs{Like: like}, p.expectEnd()
	case p.acceptWord("SCHEMAS"):
		return p.parseShowSchemas()
	case p.acceptWords("ALL", "TABLES"):
		like, err := p.parseLike()
		if err != nil {
			return nil, err
		}
		return &ShowTables{All: true, Like: like}, p.expectEnd()
	case p.acceptWord("TABLES"):
		return p.parseShowTables()
	case p.acceptWord("COLUMNS"):
		if !p.acceptWord("FROM") && !p.acceptWord("IN") {
			return nil, p.errorExpected("FROM")
		}
	case p.isWord("CREATE"), p.isWordAt(0, "ALL", "SETTINGS", "FUNCTIONS", "SESSION", "STATS", "GRANTS", "VIEWS", "PARTITIONS") &&
		p.tokens[p.pos+1].kind != tokenSymbol:
		head := "SHOW " + strings.ToUpper(p.source())
		p.advance()
		if p.token().kind == tokenWord && strings.EqualFold(head, "SHOW CREATE") {
			head += " " + strings.ToUpper(p.source())
		}
		return &Unsupported{Head: head}, nil
	}
	name, err := p.parseName("a table's name", 3)
	if err != nil {
		return nil, err
	}
	return &Describe{Table: name}, p.expectEnd()
}

func (p *parser) parseShowSchemas() (Statement, error) {
	stmt := &ShowSchemas{}
	if p.acceptWord("FROM") || p.acceptWord("IN") {
		name, err := p.parseName("a catalog's name", 1)
		if err != nil {
			return nil, err
		}
		stmt.Catalog = name[0]
	}
	var err error
	if stmt.Like, err = p.parseLike(); err != nil {
		return nil, err
	}
	return stmt, p.expectEnd()
}

func (p *parser) parseShowTables() (Statement, error) {
	stmt := &ShowTables{}
	var err error
	if p.acceptWord("FROM") || p.acceptWord("IN") {
		if stmt.Schema, err = p.parseName("a schema's name", 2); err != nil {
			return nil, err
		}
	}
	if stmt.Like, err = p.parseLike(); err != nil {
		return nil, err
	}
	return stmt, p.expectEnd()
}

func (p *parser) parseLike() (*string, error) {
	if !p.acceptWord("LIKE") {
		return nil, nil
	}
	pattern, err := p.parseString("a pattern")
	if err != nil {
		return nil, err
	}
	return &pattern, nil
}

// parseDescribe reads DESCRIBE: alone, of a table, or of a query, which is a query itself.
func (p *parser) parseDescribe() (Statement, error) {
	startPos := p.pos
	p.advance()
	if p.atEnd() {
		return &ShowTables{}, nil
	}
	isTable := p.isWord("TABLE") && p.tokens[p.pos+1].kind != tokenEnd
	if !isTable && (p.isSymbol("(") || p.isWord("WITH") || p.isWordAt(0, queryWords...)) {
		p.pos = startPos
		return &Query{Text: p.rest()}, nil
	}
	if isTable {
		p.advance()
	}
	name, err := p.parseName("a table's name", 3)
	if err != nil {
		return nil, err
	}
	return &Describe{Table: name}, p.expectEnd()
}
