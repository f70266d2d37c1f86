package sql

import (
	"strconv"
	"strings"
)

// parseCreate reads what follows CREATE.
func (p *parser) parseCreate() (Statement, error) {
	if p.acceptWord("SCHEMA") {
		return p.parseCreateSchema()
	}
	orReplace := p.acceptWords("OR", "REPLACE")
	if !p.acceptWord("TABLE") {
		return p.parseUnsupported("CREATE", "TABLE or SCHEMA")
	}
	return p.parseCreateTable(orReplace)
}

func (p *parser) parseCreateSchema() (Statement, error) {
	stmt := &CreateSchema{IfNotExists: p.acceptWords("IF", "NOT", "EXISTS"), Properties: map[string]string{}}
	var err error
	if stmt.Name, err = p.parseName("a schema's name", 2); err != nil {
		return nil, err
	}
	for !p.atEnd() {
		switch {
		case p.acceptWord("LOCATION"):
			if stmt.Properties["location"], err = p.parseString("the location"); err != nil {
				return nil, err
			}
		case p.isWord("WITH"):
			p.advance()
			p.acceptWord("DBPROPERTIES")
			properties, err := p.parseProperties()
			if err != nil {
				return nil, err
			}
			for _, property := range properties {
				stmt.Properties[property.key] = property.value
			}
		default:
			return nil, p.errorExpected("LOCATION, WITH or the end of the statement")
		}
	}
	return stmt, nil
}

func (p *parser) parseCreateTable(orReplace bool) (Statement, error) {
	start := p.here()
	ifNotExists := p.acceptWords("IF", "NOT", "EXISTS")
	if orReplace && ifNotExists {
		return nil, errorAt(p.text, start, "CREATE TABLE takes OR REPLACE or IF NOT EXISTS, not both")
	}
	name, err := p.parseName("a table's name", 3)
	if err != nil {
		return nil, err
	}
	var columns []Column
	var names []string
	if p.isSymbol("(") {
		if p.isNameList() {
			names, err = p.parseIdentList("a column's name")
		} else {
			columns, err = p.parseColumns()
		}
		if err != nil {
			return nil, err
		}
	}
	options, err := p.parseTableOptions()
	if err != nil {
		return nil, err
	}
	if p.acceptWord("AS") {
		if columns != nil {
			return nil, p.errorHere("CREATE TABLE ... AS takes its columns' types from the query; give names alone, or none")
		}
		return p.parseTableAs(&CreateTableAs{Name: name, IfNotExists: ifNotExists, OrReplace: orReplace, Columns: names, TableOptions: options})
	}
	if columns == nil {
		return nil, p.errorExpected("a list of columns with their types, or AS and a query")
	}
	return &CreateTable{Name: name, IfNotExists: ifNotExists, OrReplace: orReplace, Columns: columns, TableOptions: options}, nil
}

// parseTableAs reads the query that follows AS.
func (p *parser) parseTableAs(stmt *CreateTableAs) (Statement, error) {
	if !p.isSymbol("(") && !p.isWord("WITH") && !p.isWordAt(0, queryWords...) {
		return nil, p.errorExpected("a query")
	}
	end := len(p.tokens) - 1
	for words := 3; words >= 2; words-- { // WITH NO DATA, WITH DATA
		tail := parser{text: p.text, tokens: p.tokens, pos: end - words}
		if tail.pos <= p.pos {
			continue
		}
		if words == 3 && tail.acceptWords("WITH", "NO", "DATA") || words == 2 && tail.acceptWords("WITH", "DATA") {
			stmt.NoData = words == 3
			stmt.Query = strings.TrimSpace(p.text[p.here():p.tokens[end-words-1].end])
			return stmt, nil
		}
	}
	stmt.Query = p.rest()
	return stmt, nil
}

// isNameList says whether the parenthesis here holds names alone.
func (p *parser) isNameList() bool {
	for n := 1; ; n += 2 {
		if p.pos+n >= len(p.tokens) || p.tokens[p.pos+n].kind != tokenWord && p.tokens[p.pos+n].kind != tokenQuoted {
			return false
		}
		switch p.peek(n + 1) {
		case ")":
			return true
		case ",":
		default:
			return false
		}
	}
}

func (p *parser) parseColumns() ([]Column, error) {
	p.advance()
	var columns []Column
	for {
		if p.isWordAt(0, "PRIMARY", "UNIQUE", "FOREIGN", "CONSTRAINT", "CHECK") && (p.peek(1) == "(" || p.isWordAt(1, "KEY") || p.isWord("CONSTRAINT")) {
			return nil, p.errorConstraint()
		}
		column, err := p.parseColumn()
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			if strings.EqualFold(c.Name, column.Name) {
				return nil, p.errorHere("column %s is defined twice", quoteIdent(column.Name))
			}
		}
		columns = append(columns, column)
		if p.acceptSymbol(")") {
			return columns, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) errorConstraint() error {
	return p.errorHere("%s is not supported: Iceberg tables enforce NOT NULL and no other constraint", strings.ToUpper(p.source()))
}

func (p *parser) parseColumn() (Column, error) {
	var c Column
	var err error
	if c.Name, err = p.parseIdent("a column's name"); err != nil {
		return Column{}, err
	}
	if c.Type, err = p.parseType(); err != nil {
		return Column{}, err
	}
	c.TypeText = c.Type.SQL()
	for !p.isSymbol(",") && !p.isSymbol(")") {
		switch {
		case p.acceptWords("NOT", "NULL"):
			c.NotNull = true
		case p.acceptWord("NULL"):
		case p.acceptWord("COMMENT"):
			if c.Comment, err = p.parseString("the comment"); err != nil {
				return Column{}, err
			}
		case p.acceptWord("DEFAULT"):
			if c.Default, err = p.parseDefault(); err != nil {
				return Column{}, err
			}
		case p.isWordAt(0, "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "CONSTRAINT", "GENERATED", "AS", "COLLATE", "USING"):
			return Column{}, p.errorConstraint()
		default:
			return Column{}, p.errorExpected(`NOT NULL, DEFAULT, COMMENT, "," or ")"`)
		}
	}
	return c, nil
}

// parseDefault reads an expression up to what follows it in a column's definition.
func (p *parser) parseDefault() (string, error) {
	start, end := p.here(), p.here()
	for !p.atEnd() && !p.isSymbol(",") && !p.isSymbol(")") && !p.isWord("COMMENT") && (!p.isWord("NOT") || !p.isWordAt(1, "NULL")) {
		p.skipBalanced()
		end = p.tokens[p.pos-1].end
	}
	if end == start {
		return "", p.errorExpected("an expression")
	}
	return p.text[start:end], nil
}

// parseTableOptions reads the clauses that follow the columns, in any order.
func (p *parser) parseTableOptions() (TableOptions, error) {
	o := TableOptions{Properties: map[string]string{}}
	for {
		var err error
		switch {
		case p.atEnd(), p.isWord("AS"):
			return o, nil
		case p.acceptWord("USING"):
			err = p.expectWord("ICEBERG")
		case p.acceptWords("PARTITIONED", "BY"):
			if o.PartitionedBy != nil {
				return o, p.errorHere("PARTITIONED BY is given twice")
			}
			o.PartitionedBy, err = p.parsePartitionedBy()
		case p.acceptWord("LOCATION"):
			o.Location, err = p.parseString("the location")
		case p.acceptWord("COMMENT"):
			o.Comment, err = p.parseString("the comment")
		case p.acceptWord("WITH"), p.acceptWord("TBLPROPERTIES"), p.acceptWord("OPTIONS"):
			err = p.parseTableProperties(&o)
		default:
			err = p.errorExpected("PARTITIONED BY, LOCATION, COMMENT, WITH, TBLPROPERTIES, AS or the end of the statement")
		}
		if err != nil {
			return o, err
		}
	}
}

// property is key = value; a value that is ARRAY[...] has its strings in list.
type property struct {
	key, value string
	list       []string
	isList     bool
	at         int // where the value stands
}

// parseTableProperties reads WITH (...). Trino's location and partitioning properties are the clauses of those names.
func (p *parser) parseTableProperties(o *TableOptions) error {
	properties, err := p.parseProperties()
	if err != nil {
		return err
	}
	for _, property := range properties {
		switch key := strings.ToLower(property.key); {
		case key == "location" && !property.isList:
			o.Location = property.value
		case (key == "partitioning" || key == "partitioned_by") && property.isList:
			if o.PartitionedBy != nil {
				return errorAt(p.text, property.at, "the partitioning is given twice")
			}
			if o.PartitionedBy, err = p.parsePartitioning(property); err != nil {
				return err
			}
		case property.isList:
			return errorAt(p.text, property.at, "property %s takes one value, not a list", property.key)
		default:
			o.Properties[property.key] = property.value
		}
	}
	return nil
}

// parsePartitioning reads the terms of Trino's partitioning = ARRAY['bucket(id, 16)', 'day(ts)'].
func (p *parser) parsePartitioning(property property) ([]PartitionTerm, error) {
	var terms []PartitionTerm
	for _, text := range property.list {
		tokens, err := tokenize(text)
		if err != nil {
			return nil, errorAt(p.text, property.at, "partitioning %s: %v", strconv.Quote(abbreviate(text)), err)
		}
		inner := parser{text: text, tokens: tokens}
		term, err := inner.parsePartitionTerm()
		if err == nil {
			err = inner.expectEnd()
		}
		if err != nil {
			return nil, errorAt(p.text, property.at, "partitioning %s: %v", strconv.Quote(abbreviate(text)), err)
		}
		terms = append(terms, term)
	}
	return terms, nil
}

// parseProperties reads (key = value, ...).
func (p *parser) parseProperties() ([]property, error) {
	if err := p.expectSymbol("("); err != nil {
		return nil, err
	}
	var properties []property
	for {
		one, err := p.parseProperty()
		if err != nil {
			return nil, err
		}
		properties = append(properties, one)
		if p.acceptSymbol(")") {
			return properties, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) parseProperty() (property, error) {
	var one property
	var err error
	if p.token().kind == tokenString {
		one.key, err = p.parseString("a property's name")
	} else {
		var path []string
		// Spark writes dotted keys bare, with a dash in some of them: write.target-file-size-bytes.
		path, err = p.parsePath("a property's name")
		one.key = strings.Join(path, ".")
		for err == nil && p.acceptSymbol("-") {
			path, err = p.parsePath("a property's name")
			one.key += "-" + strings.Join(path, ".")
		}
	}
	if err != nil {
		return property{}, err
	}
	if err := p.expectSymbol("="); err != nil {
		return property{}, err
	}
	one.at = p.here()
	if p.isWord("ARRAY") && p.peek(1) == "[" || p.isSymbol("[") {
		one.isList = true
		one.list, err = p.parseStringList()
		return one, err
	}
	one.value, err = p.parsePropertyValue()
	return one, err
}

func (p *parser) parseStringList() ([]string, error) {
	p.acceptWord("ARRAY")
	p.advance()
	var list []string
	for !p.acceptSymbol("]") {
		if len(list) > 0 {
			if err := p.expectSymbol(","); err != nil {
				return nil, err
			}
		}
		s, err := p.parseString("an element")
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func (p *parser) parsePropertyValue() (string, error) {
	sign := ""
	if p.acceptSymbol("-") {
		sign = "-"
	}
	switch p.token().kind {
	case tokenString:
		if sign == "" {
			return p.parseString("a value")
		}
	case tokenNumber:
		value := sign + p.source()
		p.advance()
		return value, nil
	case tokenWord:
		if sign == "" {
			return strings.ToLower(p.next()), nil
		}
	}
	return "", p.errorExpected("a string, a number, true or false")
}
