package plan

import (
	"fmt"
	"strings"
)

// Kind is the kind of a Type, named as DuckDB names its types.
type Kind uint8

// The kinds of types. Their numbers stay inside one process; the codec has its own.
const (
	Invalid Kind = iota
	Null         // the type of a bare NULL
	Boolean
	TinyInt
	SmallInt
	Integer
	BigInt
	HugeInt
	UTinyInt
	USmallInt
	UInteger
	UBigInt
	UHugeInt
	Float
	Double
	Decimal // Width, Scale
	Varchar
	Blob
	Bit
	UUID
	Date
	Time
	TimeNS
	TimeTZ
	Timestamp // microseconds
	TimestampS
	TimestampMS
	TimestampNS
	TimestampTZ // microseconds, an instant
	Interval
	Enum   // Values
	List   // Elem
	Array  // Elem, Size
	Struct // Fields; a field without a name makes it a row
	Map    // Key, Elem
	Union  // Fields are the members
	Variant
	Geometry
	BigNum
	numKinds
)

var kindNames = [numKinds]string{
	Invalid: "INVALID", Null: `"NULL"`, Boolean: "BOOLEAN", TinyInt: "TINYINT", SmallInt: "SMALLINT", Integer: "INTEGER",
	BigInt: "BIGINT", HugeInt: "HUGEINT", UTinyInt: "UTINYINT", USmallInt: "USMALLINT", UInteger: "UINTEGER",
	UBigInt: "UBIGINT", UHugeInt: "UHUGEINT", Float: "FLOAT", Double: "DOUBLE", Decimal: "DECIMAL", Varchar: "VARCHAR",
	Blob: "BLOB", Bit: "BIT", UUID: "UUID", Date: "DATE", Time: "TIME", TimeNS: "TIME_NS", TimeTZ: "TIME WITH TIME ZONE",
	Timestamp: "TIMESTAMP", TimestampS: "TIMESTAMP_S", TimestampMS: "TIMESTAMP_MS", TimestampNS: "TIMESTAMP_NS",
	TimestampTZ: "TIMESTAMP WITH TIME ZONE", Interval: "INTERVAL", Enum: "ENUM", List: "LIST", Array: "ARRAY",
	Struct: "STRUCT", Map: "MAP", Union: "UNION", Variant: "VARIANT", Geometry: "GEOMETRY", BigNum: "BIGNUM",
}

// String is DuckDB's name of the kind, without parameters.
func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Type is a DuckDB type with its parameters. The zero Type is Invalid. Types are values: compare them with Equal.
type Type struct {
	Kind   Kind
	Width  uint8    // Decimal: digits in all
	Scale  uint8    // Decimal: digits after the point
	Size   uint32   // Array: elements
	Key    *Type    // Map
	Elem   *Type    // List, Array; Map's value
	Fields []Field  // Struct, Union
	Values []string // Enum, in order
	Alias  string   // a name over the kind that functions see, such as JSON; "" when none
}

// Field is a member of a struct or a union.
type Field struct {
	Name string
	Type Type
}

// T is the type of a kind without parameters.
func T(k Kind) Type { return Type{Kind: k} }

// DecimalType is DECIMAL(width,scale).
func DecimalType(width, scale uint8) Type { return Type{Kind: Decimal, Width: width, Scale: scale} }

// ListType is elem[].
func ListType(elem Type) Type { return Type{Kind: List, Elem: &elem} }

// Equal says whether two types are the same in every parameter.
func (t Type) Equal(o Type) bool {
	if t.Kind != o.Kind || t.Width != o.Width || t.Scale != o.Scale || t.Size != o.Size || t.Alias != o.Alias ||
		len(t.Fields) != len(o.Fields) || len(t.Values) != len(o.Values) {
		return false
	}
	if !equalPtr(t.Key, o.Key) || !equalPtr(t.Elem, o.Elem) {
		return false
	}
	for i := range t.Fields {
		if t.Fields[i].Name != o.Fields[i].Name || !t.Fields[i].Type.Equal(o.Fields[i].Type) {
			return false
		}
	}
	for i := range t.Values {
		if t.Values[i] != o.Values[i] {
			return false
		}
	}
	return true
}

func equalPtr(a, b *Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// SQL is the type as DuckDB reads it in a CAST.
func (t Type) SQL() string {
	if t.Alias != "" {
		return t.Alias
	}
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Width, t.Scale)
	case Enum:
		quoted := make([]string, len(t.Values))
		for i, v := range t.Values {
			quoted[i] = QuoteString(v)
		}
		return "ENUM(" + strings.Join(quoted, ", ") + ")"
	case List:
		return t.Elem.SQL() + "[]"
	case Array:
		return fmt.Sprintf("%s[%d]", t.Elem.SQL(), t.Size)
	case Map:
		return "MAP(" + t.Key.SQL() + ", " + t.Elem.SQL() + ")"
	case Struct, Union:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Type.SQL()
			if f.Name != "" {
				parts[i] = QuoteIdent(f.Name) + " " + parts[i]
			}
		}
		return t.Kind.String() + "(" + strings.Join(parts, ", ") + ")"
	default:
		return t.Kind.String()
	}
}

// String is SQL.
func (t Type) String() string { return t.SQL() }

// QuoteIdent quotes a name as DuckDB reads an identifier.
func QuoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteString quotes a text as DuckDB reads a string literal.
func QuoteString(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
