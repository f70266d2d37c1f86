package iceberg

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"

	ice "github.com/apache/iceberg-go"
)

// encodeDefault is EncodeValue of a field's default as a schema holds it: a Go value, or what JSON made of it when the
// schema was read from metadata (specification, Appendix C: JSON single-value serialization). iceberg-go also writes dates and
// times as numbers, and once wrote binaries in base64.
func encodeDefault(t ice.Type, v any) ([]byte, error) {
	switch x := v.(type) {
	case float64:
		number, err := defaultNumber(t, x)
		if err != nil {
			return nil, err
		}
		return EncodeValue(t, number)
	case string:
		switch t.(type) {
		case ice.StringType:
			return EncodeValue(t, x)
		case ice.BinaryType, ice.FixedType:
			b, err := hex.DecodeString(x)
			if err != nil {
				if b, err = base64.StdEncoding.DecodeString(x); err != nil {
					return nil, fmt.Errorf("%q is no hexadecimal text", x)
				}
			}
			return EncodeValue(t, b)
		}
		lit, err := ice.NewLiteral(x).To(t)
		if err != nil {
			return nil, err
		}
		return EncodeValue(t, lit.Any())
	default:
		return EncodeValue(t, v)
	}
}

// defaultNumber is a JSON number as a value of type t. JSON numbers are doubles here: integers beyond 2^53 are lost.
func defaultNumber(t ice.Type, x float64) (any, error) {
	switch t.(type) {
	case ice.Float32Type:
		return float32(x), nil
	case ice.Float64Type:
		return x, nil
	}
	if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
		return nil, fmt.Errorf("%v is no exact value of type %s", x, t)
	}
	switch t.(type) {
	case ice.Int32Type:
		return int32(x), nil
	case ice.Int64Type:
		return int64(x), nil
	case ice.DateType:
		return ice.Date(x), nil
	case ice.TimeType:
		return ice.Time(x), nil
	case ice.TimestampType, ice.TimestampTzType:
		return ice.Timestamp(x), nil
	case ice.TimestampNsType, ice.TimestampTzNsType:
		return ice.TimestampNano(x), nil
	default:
		return nil, fmt.Errorf("a number is not of type %s", t)
	}
}
