package sql

import "strings"

// transformNames maps the names of partition transforms, Spark's plurals and Trino's, to the Iceberg spec's.
var transformNames = map[string]string{
	"IDENTITY": "identity", "BUCKET": "bucket", "TRUNCATE": "truncate", "VOID": "void",
	"YEAR": "year", "YEARS": "year", "MONTH": "month", "MONTHS": "month", "DAY": "day", "DAYS": "day", "DATE": "day",
	"HOUR": "hour", "HOURS": "hour", "DATE_HOUR": "hour",
}

// parsePartitionedBy reads (term, ...).
func (p *parser) parsePartitionedBy() ([]PartitionTerm, error) {
	if err := p.expectSymbol("("); err != nil {
		return nil, err
	}
	terms := []PartitionTerm{}
	for {
		term, err := p.parsePartitionTerm()
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
		if p.acceptSymbol(")") {
			return terms, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return nil, err
		}
	}
}

// parsePartitionTerm reads a column, or a transform of one: bucket(16, id) and bucket(id, 16) mean the same.
func (p *parser) parsePartitionTerm() (PartitionTerm, error) {
	start := p.here()
	if p.token().kind != tokenWord || p.peek(1) != "(" {
		column, err := p.parsePath("a column's name")
		return PartitionTerm{Transform: "identity", Column: column}, err
	}
	term := PartitionTerm{Transform: transformNames[strings.ToUpper(p.source())]}
	if term.Transform == "" {
		return PartitionTerm{}, p.errorExpected("a partition transform (identity, bucket, truncate, year, month, day, hour, void)")
	}
	p.advance()
	p.advance()
	takesParam := term.Transform == "bucket" || term.Transform == "truncate"
	hasParam := false
	for {
		var err error
		switch {
		case takesParam && !hasParam && p.token().kind == tokenNumber:
			hasParam = true
			if term.Param, err = p.parseInt("the transform's parameter"); err == nil && term.Param < 1 {
				err = errorAt(p.text, start, "%s needs a parameter of at least 1", term.Transform)
			}
		case term.Column == nil:
			term.Column, err = p.parsePath("a column's name")
		case takesParam && !hasParam:
			err = p.errorExpected("a number")
		default:
			err = p.errorExpected(`")"`)
		}
		if err != nil {
			return PartitionTerm{}, err
		}
		if p.acceptSymbol(")") {
			break
		}
		if err := p.expectSymbol(","); err != nil {
			return PartitionTerm{}, err
		}
	}
	switch {
	case term.Column == nil:
		return PartitionTerm{}, errorAt(p.text, start, "%s needs a column", term.Transform)
	case takesParam && !hasParam:
		return PartitionTerm{}, errorAt(p.text, start, "%s needs a number and a column, such as %s(16, id)", term.Transform, term.Transform)
	}
	return term, nil
}
