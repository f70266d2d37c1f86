package write

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/seracdb/serac/iceberg"
)

// decodeKey is the partition value of a key as single-value bytes of the transform's result type; nil for NULL. hashed says
// that the key is a hash, and the value must come from the file.
func decodeKey(key string, t ice.Type) (value []byte, hashed bool, err error) {
	switch {
	case key == nullKey:
		return nil, false, nil
	case key != "" && key[0] == hashKey:
		return nil, true, nil
	case key == "" || key[0] != valueKey:
		return nil, false, fmt.Errorf("partition key %q", key)
	}
	v, err := keyValue(key[1:], t)
	if err != nil {
		return nil, false, fmt.Errorf("partition key %q: %w", key, err)
	}
	value, err = iceberg.EncodeValue(t, v)
	return value, false, err
}

func keyValue(text string, t ice.Type) (any, error) {
	switch t := t.(type) {
	case ice.BooleanType:
		return strconv.ParseBool(text)
	case ice.Float32Type:
		v, err := strconv.ParseFloat(text, 32)
		return float32(v), err
	case ice.Float64Type:
		return strconv.ParseFloat(text, 64)
	case ice.StringType:
		b, err := hex.DecodeString(text)
		return string(b), err
	case ice.BinaryType, ice.FixedType:
		return hex.DecodeString(text)
	case ice.UUIDType:
		b, err := hex.DecodeString(text)
		if err != nil {
			return nil, err
		}
		return uuid.FromBytes(b)
	case ice.DecimalType:
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, fmt.Errorf("%q is no whole number", text)
		}
		return ice.Decimal{Val: decimal128.FromBigInt(n), Scale: t.Scale()}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, err
	}
	switch t.(type) {
	case ice.Int32Type:
		return int32(n), nil // truncate may wrap around at the lowest values, as other writers' does
	case ice.Int64Type:
		return n, nil
	case ice.DateType:
		return ice.Date(n), nil
	case ice.TimeType:
		return ice.Time(n), nil
	case ice.TimestampType, ice.TimestampTzType:
		return ice.Timestamp(n), nil
	case ice.TimestampNsType:
		return ice.TimestampNano(n), nil
	default:
		return nil, fmt.Errorf("a partition value of type %s", t)
	}
}
