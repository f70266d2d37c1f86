package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// typeNames are the names that ParseType reads, in upper case, beside the parametric ones.
var typeNames = map[string]Kind{
	"NULL": Null, "BOOLEAN": Boolean, "BOOL": Boolean, "LOGICAL": Boolean,
	"TINYINT": TinyInt, "INT1": TinyInt,
	"SMALLINT": SmallInt, "INT2": SmallInt, "INT16": SmallInt, "SHORT": SmallInt,
	"INTEGER": Integer, "INT": Integer, "INT4": Integer, "INT32": Integer, "SIGNED": Integer,
	"BIGINT": BigInt, "INT8": BigInt, "INT64": BigInt, "LONG": BigInt,
	"HUGEINT": HugeInt, "INT128": HugeInt,
	"UTINYINT": UTinyInt, "UINT8": UTinyInt, "USMALLINT": USmallInt, "UINT16": USmallInt,
	"UINTEGER": UInteger, "UINT32": UInteger, "UBIGINT": UBigInt, "UINT64": UBigInt,
	"UHUGEINT": UHugeInt, "UINT128": UHugeInt,
	"FLOAT": Float, "FLOAT4": Float, "REAL": Float, "DOUBLE": Double, "FLOAT8": Double, "DOUBLE PRECISION": Double,
	"VARCHAR": Varchar, "TEXT": Varchar, "STRING": Varchar, "CHAR": Varchar, "BPCHAR": Varchar,
	"BLOB": Blob, "BYTEA": Blob, "BINARY": Blob, "VARBINARY": Blob, "BIT": Bit, "BITSTRING": Bit, "UUID": UUID,
	"DATE": Date, "TIME": Time, "TIME_NS": TimeNS, "TIME WITHOUT TIME ZONE": Time,
	"TIMETZ": TimeTZ, "TIME WITH TIME ZONE": TimeTZ,
	"TIMESTAMP": Timestamp, "DATETIME": Timestamp, "TIMESTAMP WITHOUT TIME ZONE": Timestamp, "TIMESTAMP_US": Timestamp,
	"TIMESTAMP_S": TimestampS, "TIMESTAMP_MS": TimestampMS, "TIMESTAMP_NS": TimestampNS,
	"TIMESTAMPTZ": TimestampTZ, "TIMESTAMP WITH TIME ZONE": TimestampTZ,
	"INTERVAL": Interval, "VARIANT": Variant, "GEOMETRY": Geometry, "BIGNUM": BigNum, "VARINT": BigNum,
}

// typeAliases are types that DuckDB names over another kind.
var typeAliases = map[string]Kind{"JSON": Varchar}

// ParseType reads a type as DuckDB writes it (DESCRIBE, typeof, Type.SQL): `DECIMAL(10,2)`, `STRUCT(a INTEGER, "b c"
// VARCHAR[])`, `MAP(VARCHAR, DOUBLE)`, `INTEGER[3]`, `ENUM('a', 'b')`. Keywords are read in any case; DuckDB's synonyms
// (INT, TEXT, TIMESTAMPTZ) are known; the length of VARCHAR(n), which DuckDB ignores, is dropped.
func ParseType(text string) (Type, error) {
	p := typeParser{text: text}
	t, err := p.parse()
	if err == nil {
		p.space()
		if p.pos != len(p.text) {
			err = fmt.Errorf("unexpected %q", p.text[p.pos:])
		}
	}
	if err != nil {
		return Type{}, fmt.Errorf("type %q: %w", text, err)
	}
	return t, nil
}

type typeParser struct {
	text string
	pos  int
}

func (p *typeParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *typeParser) eat(c byte) bool {
	p.space()
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *typeParser) expect(c byte) error {
	if !p.eat(c) {
		return fmt.Errorf("expected %q at %q", c, p.text[p.pos:])
	}
	return nil
}

// word reads a bare word; "" when there is none.
func (p *typeParser) word() string {
	p.space()
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c < 0x80 {
			break
		}
		p.pos++
	}
	return p.text[start:p.pos]
}

// quoted reads a text in quotes q, doubled inside.
func (p *typeParser) quoted(q byte) (string, error) {
	if err := p.expect(q); err != nil {
		return "", err
	}
	var b strings.Builder
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		p.pos++
		if c != q {
			b.WriteByte(c)
			continue
		}
		if p.pos < len(p.text) && p.text[p.pos] == q {
			b.WriteByte(q)
			p.pos++
			continue
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("unclosed %q", q)
}

func (p *typeParser) number(bits int) (uint64, error) {
	return strconv.ParseUint(p.word(), 10, bits)
}

func (p *typeParser) parse() (Type, error) {
	t, err := p.base()
	for err == nil && p.eat('[') {
		elem := t
		if p.eat(']') {
			t = ListType(elem)
			continue
		}
		var size uint64
		if size, err = p.number(32); err == nil {
			t = Type{Kind: Array, Elem: &elem, Size: uint32(size)}
			err = p.expect(']')
		}
	}
	return t, err
}

func (p *typeParser) base() (Type, error) {
	p.space()
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		name, err := p.quoted('"')
		if err == nil && !strings.EqualFold(name, "NULL") {
			err = fmt.Errorf("unknown type %q", name)
		}
		return T(Null), err
	}
	name := strings.ToUpper(p.word())
	switch name {
	case "DECIMAL", "NUMERIC", "DEC":
		return p.decimal()
	case "STRUCT", "ROW":
		fields, err := p.fields()
		return Type{Kind: Struct, Fields: fields}, err
	case "UNION":
		fields, err := p.fields()
		return Type{Kind: Union, Fields: fields}, err
	case "MAP":
		return p.mapType()
	case "ENUM":
		return p.enum()
	case "TIME", "TIMESTAMP", "DOUBLE":
		name += p.suffix()
	}
	if kind, ok := typeAliases[name]; ok {
		return Type{Kind: kind, Alias: name}, nil
	}
	kind, ok := typeNames[name]
	if !ok {
		return Type{}, fmt.Errorf("unknown type %q", name)
	}
	if kind == Varchar && p.eat('(') {
		if _, err := p.number(64); err != nil {
			return Type{}, err
		}
		return T(kind), p.expect(')')
	}
	return T(kind), nil
}

// suffix reads the further words of a name of several words.
func (p *typeParser) suffix() string {
	start := p.pos
	for _, words := range [][]string{{"WITH", "TIME", "ZONE"}, {"WITHOUT", "TIME", "ZONE"}, {"PRECISION"}} {
		p.pos = start
		found := true
		for _, w := range words {
			found = found && strings.EqualFold(p.word(), w)
		}
		if found {
			return " " + strings.Join(words, " ")
		}
	}
	p.pos = start
	return ""
}

func (p *typeParser) decimal() (Type, error) {
	if !p.eat('(') {
		return DecimalType(18, 3), nil
	}
	width, err := p.number(8)
	if err != nil {
		return Type{}, err
	}
	var scale uint64
	if p.eat(',') {
		if scale, err = p.number(8); err != nil {
			return Type{}, err
		}
	}
	if width == 0 || width > 38 || scale > width {
		return Type{}, fmt.Errorf("width %d, scale %d out of range", width, scale)
	}
	return DecimalType(uint8(width), uint8(scale)), p.expect(')')
}

func (p *typeParser) fields() ([]Field, error) {
	if err := p.expect('('); err != nil {
		return nil, err
	}
	var fields []Field
	for {
		f, err := p.field()
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
		if !p.eat(',') {
			return fields, p.expect(')')
		}
	}
}

// field reads a name and a type, or the bare type of a field without a name.
func (p *typeParser) field() (Field, error) {
	p.space()
	start := p.pos
	var name string
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		var err error
		if name, err = p.quoted('"'); err != nil {
			return Field{}, err
		}
	} else {
		name = p.word()
	}
	t, err := p.parse()
	if err == nil {
		return Field{Name: name, Type: t}, nil
	}
	p.pos = start
	if bare, bareErr := p.parse(); bareErr == nil {
		return Field{Type: bare}, nil
	}
	return Field{}, err
}

func (p *typeParser) mapType() (Type, error) {
	if err := p.expect('('); err != nil {
		return Type{}, err
	}
	key, err := p.parse()
	if err != nil {
		return Type{}, err
	}
	if err := p.expect(','); err != nil {
		return Type{}, err
	}
	value, err := p.parse()
	if err != nil {
		return Type{}, err
	}
	return Type{Kind: Map, Key: &key, Elem: &value}, p.expect(')')
}

func (p *typeParser) enum() (Type, error) {
	if err := p.expect('('); err != nil {
		return Type{}, err
	}
	t := T(Enum)
	for {
		p.space()
		v, err := p.quoted('\'')
		if err != nil {
			return Type{}, err
		}
		t.Values = append(t.Values, v)
		if !p.eat(',') {
			return t, p.expect(')')
		}
	}
}
