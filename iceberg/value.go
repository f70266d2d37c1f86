package iceberg

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// EncodeValue is the specification's single-value binary form (Appendix D) of a value of an Iceberg type. The value's Go
// type is iceberg-go's: bool, int32, int64, float32, float64, ice.Date, ice.Time, ice.Timestamp, ice.TimestampNano,
// string, []byte (fixed and binary), uuid.UUID, ice.Decimal.
func EncodeValue(t ice.Type, v any) ([]byte, error) {
	lit, err := literal(t, v)
	if err != nil {
		return nil, err
	}
	b, err := lit.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode a value of type %s: %w", t, err)
	}
	if b == nil { // the empty text is a value
		b = []byte{}
	}
	return b, nil
}

// DecodeValue reverses EncodeValue. Strings of no bytes and binaries of no bytes are values; nil bytes are an error.
func DecodeValue(t ice.Type, b []byte) (any, error) {
	if b == nil {
		return nil, fmt.Errorf("decode a value of type %s: no bytes", t)
	}
	if _, ok := t.(ice.BooleanType); ok && len(b) != 1 {
		return nil, fmt.Errorf("decode a value of type boolean: %d bytes, expected 1", len(b))
	}
	lit, err := ice.LiteralFromBytes(t, b)
	if err != nil {
		return nil, fmt.Errorf("decode a value of type %s: %w", t, err)
	}
	return lit.Any(), nil
}

// CanonicalValue is a partition value of type t as EncodeValue takes it. iceberg-go reads it from a manifest as what the
// manifest's writer made of it: a column promoted since may hold a narrower one, and decimals, fixed and uuid come in
// several forms.
func CanonicalValue(t ice.Type, value any) (any, error) {
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
	if _, err := literal(t, value); err != nil {
		return nil, err
	}
	return value, nil
}

// literal is v as a literal, checked to be of type t's Go type.
func literal(t ice.Type, v any) (ice.Literal, error) {
	mismatch := func() (ice.Literal, error) {
		return nil, fmt.Errorf("a value of Go type %T is not of Iceberg type %s", v, t)
	}
	switch t := t.(type) {
	case ice.BooleanType:
		return literalOf[bool](v, mismatch)
	case ice.Int32Type:
		return literalOf[int32](v, mismatch)
	case ice.Int64Type:
		return literalOf[int64](v, mismatch)
	case ice.Float32Type:
		return literalOf[float32](v, mismatch)
	case ice.Float64Type:
		return literalOf[float64](v, mismatch)
	case ice.DateType:
		return literalOf[ice.Date](v, mismatch)
	case ice.TimeType:
		return literalOf[ice.Time](v, mismatch)
	case ice.TimestampType, ice.TimestampTzType:
		return literalOf[ice.Timestamp](v, mismatch)
	case ice.TimestampNsType, ice.TimestampTzNsType:
		return literalOf[ice.TimestampNano](v, mismatch)
	case ice.StringType:
		return literalOf[string](v, mismatch)
	case ice.BinaryType:
		return literalOf[[]byte](v, mismatch)
	case ice.FixedType:
		b, ok := v.([]byte)
		if !ok {
			return mismatch()
		}
		if len(b) != t.Len() {
			return nil, fmt.Errorf("a value of %d bytes is not of Iceberg type %s", len(b), t)
		}
		return ice.FixedLiteral(b), nil
	case ice.UUIDType:
		return literalOf[uuid.UUID](v, mismatch)
	case ice.DecimalType:
		d, ok := v.(ice.Decimal)
		if !ok {
			return mismatch()
		}
		if d.Scale != t.Scale() {
			return nil, fmt.Errorf("a decimal of scale %d is not of Iceberg type %s", d.Scale, t)
		}
		return ice.DecimalLiteral(d), nil
	default:
		return mismatch()
	}
}

func literalOf[T ice.LiteralType](v any, mismatch func() (ice.Literal, error)) (ice.Literal, error) {
	x, ok := v.(T)
	if !ok {
		return mismatch()
	}
	return ice.NewLiteral(x), nil
}
