package sql

import (
	"fmt"
	"strconv"
	"strings"
)

// Type is a column's type. What DuckDB has no word for (required fields, the length of fixed) stands beside it.
type Type struct {
	// Name is DuckDB's own name of the type: BIGINT, TIMESTAMP WITH TIME ZONE, LIST, STRUCT ... A name that is not
	// known here stands as it was written, and DuckDB judges it.
	Name   string
	Params []string // of DECIMAL: width and scale; of ENUM: the quoted values; of an unknown name: as written
	Key    *Type    // MAP
	Elem   *Type    // LIST, ARRAY (of fixed size); MAP's value
	Size   int      // ARRAY: elements
	Fields []TypeField
	// FixedLength is the length of Iceberg's FIXED(n), whose Name is BLOB; otherwise 0.
	FixedLength int
	// ElemRequired: a list's elements, or a map's values, may not be NULL.
	ElemRequired bool
}

// TypeField is a field of a STRUCT or a member of a UNION.
type TypeField struct {
	Name    string
	Type    Type
	NotNull bool
	Comment string
}

// SQL is the type as DuckDB reads it.
func (t Type) SQL() string {
	switch t.Name {
	case "LIST":
		return t.Elem.SQL() + "[]"
	case "ARRAY":
		return fmt.Sprintf("%s[%d]", t.Elem.SQL(), t.Size)
	case "MAP":
		return "MAP(" + t.Key.SQL() + ", " + t.Elem.SQL() + ")"
	case "STRUCT", "UNION":
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = quoteIdent(f.Name) + " " + f.Type.SQL()
		}
		return t.Name + "(" + strings.Join(parts, ", ") + ")"
	}
	if len(t.Params) == 0 {
		return t.Name
	}
	return t.Name + "(" + strings.Join(t.Params, ",") + ")"
}

// typeNames maps the names of Iceberg, Spark, Trino and DuckDB (its aliases) to the names that plan.Type prints.
var typeNames = map[string]string{
	"BOOLEAN": "BOOLEAN", "BOOL": "BOOLEAN", "LOGICAL": "BOOLEAN",
	"TINYINT": "TINYINT", "INT1": "TINYINT",
	"SMALLINT": "SMALLINT", "INT2": "SMALLINT", "SHORT": "SMALLINT", "INT16": "SMALLINT",
	"INTEGER": "INTEGER", "INT": "INTEGER", "INT4": "INTEGER", "SIGNED": "INTEGER", "INTEGRAL": "INTEGER", "INT32": "INTEGER",
	"BIGINT": "BIGINT", "LONG": "BIGINT", "INT8": "BIGINT", "INT64": "BIGINT", "OID": "BIGINT",
	"HUGEINT": "HUGEINT", "INT128": "HUGEINT", "UHUGEINT": "UHUGEINT", "UINT128": "UHUGEINT",
	"UTINYINT": "UTINYINT", "UINT8": "UTINYINT", "USMALLINT": "USMALLINT", "UINT16": "USMALLINT",
	"UINTEGER": "UINTEGER", "UINT32": "UINTEGER", "UBIGINT": "UBIGINT", "UINT64": "UBIGINT",
	"FLOAT": "FLOAT", "FLOAT4": "FLOAT", "REAL": "FLOAT",
	"DOUBLE": "DOUBLE", "FLOAT8": "DOUBLE",
	"DECIMAL": "DECIMAL", "DEC": "DECIMAL", "NUMERIC": "DECIMAL",
	"VARCHAR": "VARCHAR", "STRING": "VARCHAR", "TEXT": "VARCHAR", "CHAR": "VARCHAR", "CHARACTER": "VARCHAR", "BPCHAR": "VARCHAR", "NVARCHAR": "VARCHAR",
	"BLOB": "BLOB", "BINARY": "BLOB", "VARBINARY": "BLOB", "BYTEA": "BLOB",
	"BIT": "BIT", "BITSTRING": "BIT", "UUID": "UUID", "GUID": "UUID", "JSON": "JSON",
	"DATE": "DATE", "TIME": "TIME", "TIME_NS": "TIME_NS", "TIMETZ": "TIME WITH TIME ZONE",
	"TIMESTAMP": "TIMESTAMP", "DATETIME": "TIMESTAMP", "TIMESTAMP_US": "TIMESTAMP", "TIMESTAMP_NTZ": "TIMESTAMP",
	"TIMESTAMP_S": "TIMESTAMP_S", "TIMESTAMP_MS": "TIMESTAMP_MS", "TIMESTAMP_NS": "TIMESTAMP_NS",
	"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_LTZ": "TIMESTAMP WITH TIME ZONE",
	"INTERVAL": "INTERVAL", "VARIANT": "VARIANT", "GEOMETRY": "GEOMETRY", "BIGNUM": "BIGNUM",
}

// maxTypeDepth bounds the nesting of types, so that no text can exhaust the stack.
const maxTypeDepth = 64

// parseType reads a type: DuckDB's forms (INTEGER[], STRUCT(a INT), MAP(k, v), DECIMAL(9,2)) and those with angle
// brackets (LIST<INT>, STRUCT<a: INT>, MAP<STRING, INT>).
func (p *parser) parseType() (Type, error) { return p.parseTypeWithin(0) }

func (p *parser) parseTypeWithin(depth int) (Type, error) {
	if depth > maxTypeDepth {
		return Type{}, p.errorHere("types nest at most %d deep", maxTypeDepth)
	}
	t, err := p.parseBaseType(depth)
	if err != nil {
		return Type{}, err
	}
	for n := 0; ; n++ {
		bracket := p.isSymbol("[") || p.isWord("ARRAY") && p.peek(1) == "["
		if !bracket && !p.isWord("ARRAY") {
			return t, nil
		}
		if n == maxTypeDepth {
			return Type{}, p.errorHere("types nest at most %d deep", maxTypeDepth)
		}
		p.acceptWord("ARRAY")
		elem := t
		t = Type{Name: "LIST", Elem: &elem}
		if !bracket {
			continue
		}
		p.acceptSymbol("[")
		if !p.isSymbol("]") {
			t.Name = "ARRAY"
			if t.Size, err = p.parseInt("the array's size"); err != nil {
				return Type{}, err
			}
		}
		if err := p.expectSymbol("]"); err != nil {
			return Type{}, err
		}
	}
}

func (p *parser) parseBaseType(depth int) (Type, error) {
	start := p.here()
	if p.token().kind != tokenWord && p.token().kind != tokenQuoted {
		return Type{}, p.errorExpected("a type")
	}
	word := p.next()
	if p.text[start] == '"' {
		return Type{Name: quoteIdent(word)}, nil
	}
	name := strings.ToUpper(word)
	switch name {
	case "STRUCT", "ROW", "UNION":
		return p.parseFields(name, depth)
	case "MAP":
		return p.parseMap(depth)
	case "LIST", "ARRAY":
		return p.parseList(depth)
	case "FIXED":
		length, err := p.parseFixedLength()
		return Type{Name: "BLOB", FixedLength: length}, err
	case "TIMESTAMPTZ_NS", "TIMESTAMP_NS_TZ":
		return Type{}, errorAt(p.text, start, "type %s is not supported: DuckDB has no instant with nanoseconds", name)
	case "TIME", "TIMESTAMP", "DATETIME":
		return p.parseTime(typeNames[name])
	case "DOUBLE":
		p.acceptWord("PRECISION")
	case "CHARACTER", "CHAR":
		p.acceptWord("VARYING")
	}
	params, err := p.parseTypeParams()
	if err != nil {
		return Type{}, err
	}
	canonical, known := typeNames[name]
	switch {
	case canonical == "DECIMAL":
		return decimalType(p, start, params)
	case canonical == "VARCHAR":
		return Type{Name: canonical}, nil // a length means nothing to DuckDB or to Iceberg
	case known && canonical != "BIT" && len(params) > 0 && canonical != "FLOAT" && canonical != "BLOB" && canonical != "GEOMETRY":
		return Type{}, errorAt(p.text, start, "type %s takes no parameters", name)
	case canonical == "GEOMETRY":
		return Type{Name: canonical, Params: params}, nil
	case known:
		return Type{Name: canonical}, nil
	case name == "ENUM":
		return Type{Name: name, Params: params}, nil
	default:
		return Type{Name: word, Params: params}, nil
	}
}

func decimalType(p *parser, start int, params []string) (Type, error) {
	switch len(params) {
	case 0:
		params = []string{"18", "3"} // DuckDB's default
	case 1:
		params = append(params, "0")
	}
	width, err1 := strconv.Atoi(params[0])
	scale, err2 := strconv.Atoi(params[1])
	if len(params) > 2 || err1 != nil || err2 != nil || width < 1 || width > 38 || scale < 0 || scale > width {
		return Type{}, errorAt(p.text, start, "DECIMAL(width, scale) takes a width from 1 to 38 and a scale up to the width")
	}
	return Type{Name: "DECIMAL", Params: []string{strconv.Itoa(width), strconv.Itoa(scale)}}, nil
}

// parseTypeParams reads (a, b ...) of numbers, words and strings, if there is one.
func (p *parser) parseTypeParams() ([]string, error) {
	if !p.acceptSymbol("(") {
		return nil, nil
	}
	var params []string
	for {
		switch p.token().kind {
		case tokenNumber, tokenWord, tokenString:
			params = append(params, p.source())
			p.advance()
		default:
			return nil, p.errorExpected("a type's parameter")
		}
		if p.acceptSymbol(")") {
			return params, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return nil, err
		}
	}
}

// parseTime reads what may follow TIME and TIMESTAMP: a precision, WITH or WITHOUT TIME ZONE.
func (p *parser) parseTime(name string) (Type, error) {
	if p.acceptSymbol("(") {
		start := p.here()
		precision, err := p.parseInt("the precision")
		if err != nil {
			return Type{}, err
		}
		if err := p.expectSymbol(")"); err != nil {
			return Type{}, err
		}
		if precision > 9 {
			return Type{}, errorAt(p.text, start, "%s has at most 9 digits after the second", name)
		}
		if precision > 6 {
			name += "_NS"
		}
	}
	switch {
	case p.acceptWords("WITH", "TIME", "ZONE"):
		if strings.HasSuffix(name, "_NS") {
			return Type{}, p.errorHere("%s WITH TIME ZONE is not supported: DuckDB has no such type with nanoseconds", name)
		}
		return Type{Name: name + " WITH TIME ZONE"}, nil
	case p.acceptWords("WITHOUT", "TIME", "ZONE"):
	}
	return Type{Name: name}, nil
}

func (p *parser) parseFixedLength() (int, error) {
	closing := ")"
	if p.acceptSymbol("[") {
		closing = "]"
	} else if err := p.expectSymbol("("); err != nil {
		return 0, err
	}
	length, err := p.parseInt("the length in bytes")
	if err != nil {
		return 0, err
	}
	if length == 0 {
		return 0, p.errorHere("FIXED needs at least one byte")
	}
	return length, p.expectSymbol(closing)
}

// openType reads the bracket that opens a type's inner types and returns the one that closes it.
func (p *parser) openType() (closing string, err error) {
	switch {
	case p.acceptSymbol("("):
		return ")", nil
	case p.acceptSymbol("<"):
		return ">", nil
	default:
		return "", p.errorExpected(`"(" or "<"`)
	}
}

func (p *parser) parseList(depth int) (Type, error) {
	closing, err := p.openType()
	if err != nil {
		return Type{}, err
	}
	elem, err := p.parseTypeWithin(depth + 1)
	if err != nil {
		return Type{}, err
	}
	t := Type{Name: "LIST", Elem: &elem, ElemRequired: p.acceptWords("NOT", "NULL")}
	return t, p.expectSymbol(closing)
}

func (p *parser) parseMap(depth int) (Type, error) {
	closing, err := p.openType()
	if err != nil {
		return Type{}, err
	}
	key, err := p.parseTypeWithin(depth + 1)
	if err != nil {
		return Type{}, err
	}
	p.acceptWords("NOT", "NULL") // a map's keys are always required
	if err := p.expectSymbol(","); err != nil {
		return Type{}, err
	}
	value, err := p.parseTypeWithin(depth + 1)
	if err != nil {
		return Type{}, err
	}
	t := Type{Name: "MAP", Key: &key, Elem: &value, ElemRequired: p.acceptWords("NOT", "NULL")}
	return t, p.expectSymbol(closing)
}

func (p *parser) parseFields(name string, depth int) (Type, error) {
	t := Type{Name: name}
	if name == "ROW" {
		t.Name = "STRUCT"
	}
	closing, err := p.openType()
	if err != nil {
		return Type{}, err
	}
	for {
		var f TypeField
		if f.Name, err = p.parseIdent("a field's name"); err != nil {
			return Type{}, err
		}
		p.acceptSymbol(":")
		if f.Type, err = p.parseTypeWithin(depth + 1); err != nil {
			return Type{}, err
		}
		f.NotNull = p.acceptWords("NOT", "NULL")
		if p.acceptWord("COMMENT") {
			if f.Comment, err = p.parseString("the comment"); err != nil {
				return Type{}, err
			}
		}
		t.Fields = append(t.Fields, f)
		if p.acceptSymbol(closing) {
			return t, nil
		}
		if err := p.expectSymbol(","); err != nil {
			return Type{}, err
		}
	}
}
