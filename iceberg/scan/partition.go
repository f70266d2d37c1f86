package scan

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/seracdb/serac/iceberg"
)

// encodePartitionValue encodes a partition value as iceberg-go reads it from a manifest, where the Go type follows the
// manifest's writer: a column promoted since may hold a narrower one, and decimals, fixed and uuid come in several forms.
func encodePartitionValue(t ice.Type, value any) ([]byte, error) {
	if lit, ok := value.(ice.Literal); ok {
		value = lit.Any()
	}
	switch t := t.(type) {
	case ice.Int64Type:
		if v, ok := value.(int32); ok {
			value = int64(v)
		}
	case ice.Float64Type:
		if v, ok := value.(float32); ok {
			value = float64(v)
		}
	case ice.DateType:
		if v, ok := value.(int32); ok {
			value = ice.Date(v)
		}
	case ice.TimeType:
		if v, ok := value.(int64); ok {
			value = ice.Time(v)
		}
	case ice.TimestampType, ice.TimestampTzType:
		if v, ok := value.(int64); ok {
			value = ice.Timestamp(v)
		}
	case ice.TimestampNsType, ice.TimestampTzNsType:
		if v, ok := value.(int64); ok {
			value = ice.TimestampNano(v)
		}
	case ice.UUIDType:
		switch v := value.(type) {
		case [16]byte:
			value = uuid.UUID(v)
		case []byte:
			if len(v) == 16 {
				value = uuid.UUID(v)
			}
		case string:
			parsed, err := uuid.Parse(v)
			if err != nil {
				return nil, fmt.Errorf("a partition value is no UUID: %w", err)
			}
			value = parsed
		}
	case ice.DecimalType:
		switch v := value.(type) {
		case decimal128.Num:
			value = ice.Decimal{Val: v, Scale: t.Scale()}
		case ice.DecimalLiteral:
			value = ice.Decimal(v)
		}
	case ice.StringType:
		if v, ok := value.([]byte); ok {
			value = string(v)
		}
	case ice.BinaryType, ice.FixedType:
		if v, ok := value.(string); ok {
			value = []byte(v)
		}
	}
	return iceberg.EncodeValue(t, value)
}
