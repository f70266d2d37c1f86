package render

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/seracdb/serac/plan"
)

// constant writes a literal with its type, always: a bare literal has a type of its own in DuckDB, and a bare number in
// ORDER BY or GROUP BY is a position.
func constant(c *plan.Constant) (string, error) {
	if unnamed(c.Of) {
		return unnamedConstant(c)
	}
	text, err := literal(c.Value, c.Of)
	if err != nil {
		return "", fmt.Errorf("constant of type %s: %w", c.Of, err)
	}
	switch {
	case c.Of.Kind == plan.Boolean && c.Value != nil:
		return text, nil
	case c.Of.Kind == plan.Null:
		return "NULL", nil
	}
	return "CAST(" + text + " AS " + c.Of.SQL() + ")", nil
}

// unnamed says that a type holds a row, whose type DuckDB cannot read: it must come from its values.
func unnamed(t plan.Type) bool {
	for _, f := range t.Fields {
		if f.Name == "" || unnamed(f.Type) {
			return true
		}
	}
	return t.Elem != nil && unnamed(*t.Elem) || t.Key != nil && unnamed(*t.Key)
}

// unnamedConstant writes a value whose type follows from the types inside it. NULL is the unreached branch of a CASE.
func unnamedConstant(c *plan.Constant) (string, error) {
	if c.Value != nil {
		return literal(c.Value, c.Of)
	}
	var sample any
	switch c.Of.Kind {
	case plan.Struct:
		sample = make([]any, len(c.Of.Fields))
	case plan.List:
		sample = []any{nil}
	case plan.Array:
		sample = make([]any, c.Of.Size)
	case plan.Map:
		return "", fmt.Errorf("a NULL of type %s cannot be written", c.Of)
	}
	text, err := literal(sample, c.Of)
	return "CASE WHEN false THEN " + text + " END", err
}

// literal writes a value in a form that a CAST to its type reads exactly.
func literal(v any, t plan.Type) (string, error) {
	if v == nil {
		return "NULL", nil
	}
	switch t.Kind {
	case plan.Boolean:
		if b, ok := v.(bool); ok {
			return strconv.FormatBool(b), nil
		}
	case plan.TinyInt, plan.SmallInt, plan.Integer, plan.BigInt:
		if n, ok := v.(int64); ok {
			if n == math.MinInt64 {
				return "'" + strconv.FormatInt(n, 10) + "'", nil
			}
			return strconv.FormatInt(n, 10), nil
		}
	case plan.UTinyInt, plan.USmallInt, plan.UInteger, plan.UBigInt:
		if n, ok := v.(uint64); ok {
			return strconv.FormatUint(n, 10), nil
		}
	case plan.HugeInt, plan.UHugeInt, plan.BigNum:
		if n, ok := v.(*big.Int); ok {
			return "'" + n.String() + "'", nil
		}
	case plan.Float, plan.Double:
		if f, ok := v.(float64); ok {
			bits := 64
			if t.Kind == plan.Float {
				bits = 32
			}
			return "'" + floatText(f, bits) + "'", nil
		}
	case plan.Decimal:
		if n, ok := v.(*big.Int); ok {
			return "'" + decimalText(n, int(t.Scale)) + "'", nil
		}
	case plan.Varchar, plan.Enum, plan.Bit:
		if s, ok := v.(string); ok {
			return stringLiteral(s), nil
		}
	case plan.Blob:
		if b, ok := v.([]byte); ok {
			return blobLiteral(b), nil
		}
	case plan.UUID:
		if u, ok := v.([16]byte); ok {
			h := hex.EncodeToString(u[:])
			return "'" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:] + "'", nil
		}
	case plan.Interval:
		if i, ok := v.(plan.IntervalValue); ok {
			return fmt.Sprintf("'%d months %d days %d microseconds'", i.Months, i.Days, i.Micros), nil
		}
	case plan.Date, plan.Time, plan.TimeNS, plan.TimeTZ, plan.Timestamp, plan.TimestampS, plan.TimestampMS, plan.TimestampNS,
		plan.TimestampTZ:
		if n, ok := v.(int64); ok {
			return "'" + temporalText(n, t.Kind) + "'", nil
		}
	case plan.List, plan.Array:
		if items, ok := v.([]any); ok {
			return listLiteral(items, *t.Elem)
		}
	case plan.Struct:
		if items, ok := v.([]any); ok && len(items) == len(t.Fields) {
			return structLiteral(items, t.Fields)
		}
	case plan.Map:
		if entries, ok := v.([]plan.MapEntry); ok {
			keys, values := make([]any, len(entries)), make([]any, len(entries))
			for i, e := range entries {
				keys[i], values[i] = e.Key, e.Value
			}
			k, err := constant(&plan.Constant{Value: keys, Of: plan.ListType(*t.Key)})
			if err != nil {
				return "", err
			}
			vs, err := constant(&plan.Constant{Value: values, Of: plan.ListType(*t.Elem)})
			return "MAP(" + k + ", " + vs + ")", err
		}
	}
	return "", fmt.Errorf("cannot be written from a Go %T", v)
}

// stringLiteral quotes a text; a zero byte, which SQL text cannot hold, is written as chr(0).
func stringLiteral(s string) string {
	if strings.IndexByte(s, 0) < 0 {
		return plan.QuoteString(s)
	}
	parts := strings.Split(s, "\x00")
	for i := range parts {
		parts[i] = plan.QuoteString(parts[i])
	}
	return "(" + strings.Join(parts, " || chr(0) || ") + ")"
}

func blobLiteral(b []byte) string {
	const digits = "0123456789ABCDEF"
	s := make([]byte, 0, 4*len(b)+2) // a join filter has half a million bytes
	s = append(s, '\'')
	for _, c := range b {
		s = append(s, '\\', 'x', digits[c>>4], digits[c&15])
	}
	return string(append(s, '\''))
}

func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

func decimalText(unscaled *big.Int, scale int) string {
	digits := new(big.Int).Abs(unscaled).String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	sign := ""
	if unscaled.Sign() < 0 {
		sign = "-"
	}
	if scale == 0 {
		return sign + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

func listLiteral(items []any, elem plan.Type) (string, error) {
	parts := make([]string, len(items))
	for i, item := range items {
		var err error
		if parts[i], err = constant(&plan.Constant{Value: item, Of: elem}); err != nil {
			return "", err
		}
	}
	return "[" + strings.Join(parts, ", ") + "]", nil
}

func structLiteral(items []any, fields []plan.Field) (string, error) {
	parts := make([]string, len(items))
	named := true
	for i, item := range items {
		text, err := constant(&plan.Constant{Value: item, Of: fields[i].Type})
		if err != nil {
			return "", err
		}
		if fields[i].Name == "" {
			named = false
			parts[i] = text
			continue
		}
		parts[i] = plan.QuoteIdent(fields[i].Name) + " := " + text
	}
	if named {
		return "struct_pack(" + strings.Join(parts, ", ") + ")", nil
	}
	return "row(" + strings.Join(parts, ", ") + ")", nil
}

// Constant is a constant as text that may stand anywhere in a query, and has exactly the constant's type.
func Constant(c *plan.Constant) (string, error) { return constant(c) }
