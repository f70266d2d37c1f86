package engine

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Literal is a parameter that no Go type stands for: a typed NULL, a decimal, a date ...
type Literal struct {
	// Type is DuckDB's name of the type.
	Type string
	// Text is what CAST turns into a value of the type; ignored when Null.
	Text string
	Null bool
}

// LiteralSQL is a parameter as a SQL operand that has exactly the parameter's type. Parameters are nil, bool, Go's
// integers and floats, string, []byte and Literal.
func LiteralSQL(param any) (string, error) {
	if text, ok := param.(string); ok && strings.IndexByte(text, 0) >= 0 {
		return "", errors.New("a parameter cannot hold the character NUL")
	}
	cast := func(text, typ string) string { return "CAST(" + text + " AS " + typ + ")" }
	switch v := param.(type) {
	case nil:
		return "NULL", nil
	case Literal:
		if v.Null {
			return cast("NULL", v.Type), nil
		}
		return cast(quote(v.Text), v.Type), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int8:
		return cast(strconv.FormatInt(int64(v), 10), "TINYINT"), nil
	case int16:
		return cast(strconv.FormatInt(int64(v), 10), "SMALLINT"), nil
	case int32:
		return cast(strconv.FormatInt(int64(v), 10), "INTEGER"), nil
	case int64:
		return cast(strconv.FormatInt(v, 10), "BIGINT"), nil
	case int:
		return cast(strconv.Itoa(v), "BIGINT"), nil
	case uint8:
		return cast(strconv.FormatUint(uint64(v), 10), "UTINYINT"), nil
	case uint16:
		return cast(strconv.FormatUint(uint64(v), 10), "USMALLINT"), nil
	case uint32:
		return cast(strconv.FormatUint(uint64(v), 10), "UINTEGER"), nil
	case uint64:
		return cast(strconv.FormatUint(v, 10), "UBIGINT"), nil
	case float32:
		return cast(float(float64(v), 32), "FLOAT"), nil
	case float64:
		return cast(float(v, 64), "DOUBLE"), nil
	case string:
		return quote(v), nil
	case []byte:
		return "from_hex('" + hex.EncodeToString(v) + "')", nil
	}
	return "", fmt.Errorf("a parameter cannot be a %T", param)
}

// float quotes the text, since NaN, infinity and -0.0 are no literals in SQL.
func float(v float64, bits int) string {
	switch {
	case math.IsInf(v, 1):
		return "'inf'"
	case math.IsInf(v, -1):
		return "'-inf'"
	}
	return "'" + strconv.FormatFloat(v, 'g', -1, bits) + "'"
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
