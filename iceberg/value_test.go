package iceberg_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
)

// The bytes are those of the specification's Appendix D: little-endian numbers, big-endian two's complement decimals of
// minimal length, big-endian UUIDs.
func TestValues(t *testing.T) {
	dec := func(n int64, scale int) ice.Decimal {
		return ice.Decimal{Val: decimal128.FromI64(n), Scale: scale}
	}
	cases := []struct {
		of    ice.Type
		value any
		hex   string
	}{
		{ice.PrimitiveTypes.Bool, true, "01"},
		{ice.PrimitiveTypes.Bool, false, "00"},
		{ice.PrimitiveTypes.Int32, int32(-2), "feffffff"},
		{ice.PrimitiveTypes.Int64, int64(1), "0100000000000000"},
		{ice.PrimitiveTypes.Float32, float32(1), "0000803f"},
		{ice.PrimitiveTypes.Float64, math.Inf(-1), "000000000000f0ff"},
		{ice.PrimitiveTypes.Date, ice.Date(-1), "ffffffff"},
		{ice.PrimitiveTypes.Time, ice.Time(81068123456), "406509e012000000"},
		{ice.PrimitiveTypes.Timestamp, ice.Timestamp(-1), "ffffffffffffffff"},
		{ice.PrimitiveTypes.TimestampTz, ice.Timestamp(256), "0001000000000000"},
		{ice.PrimitiveTypes.TimestampNs, ice.TimestampNano(256), "0001000000000000"},
		{ice.PrimitiveTypes.String, "é", "c3a9"},
		{ice.PrimitiveTypes.String, "", ""},
		{ice.PrimitiveTypes.Binary, []byte{0, 255}, "00ff"},
		{ice.PrimitiveTypes.Binary, []byte{}, ""},
		{ice.FixedTypeOf(3), []byte{1, 2, 3}, "010203"},
		{ice.PrimitiveTypes.UUID, uuid.MustParse("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09677c4bbda4793f349cb785e7"},
		{ice.DecimalTypeOf(9, 2), dec(1420, 2), "058c"},
		{ice.DecimalTypeOf(9, 2), dec(-1, 2), "ff"},
		{ice.DecimalTypeOf(9, 2), dec(128, 2), "0080"},
	}
	for _, tc := range cases {
		b, err := iceberg.EncodeValue(tc.of, tc.value)
		require.NoError(t, err, "%s %v", tc.of, tc.value)
		require.NotNil(t, b)
		require.Equal(t, tc.hex, hex.EncodeToString(b), "%s %v", tc.of, tc.value)
		back, err := iceberg.DecodeValue(tc.of, b)
		require.NoError(t, err)
		require.EqualValues(t, tc.value, back)
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	for _, tc := range []struct {
		of    ice.Type
		value any
	}{
		{ice.PrimitiveTypes.Int32, int64(1)}, {ice.PrimitiveTypes.Int64, int32(1)}, {ice.PrimitiveTypes.String, []byte("x")},
		{ice.FixedTypeOf(3), []byte{1}}, {ice.DecimalTypeOf(9, 2), ice.Decimal{Scale: 3}}, {ice.PrimitiveTypes.Date, int32(1)},
		{ice.PrimitiveTypes.Bool, nil}, {ice.UnknownType{}, int32(1)},
	} {
		_, err := iceberg.EncodeValue(tc.of, tc.value)
		require.Error(t, err, "%s %v", tc.of, tc.value)
	}
	for _, tc := range []struct {
		of    ice.Type
		bytes []byte
	}{
		{ice.PrimitiveTypes.Int32, []byte{1}}, {ice.PrimitiveTypes.Int64, make([]byte, 4)}, {ice.PrimitiveTypes.String, nil},
		{ice.PrimitiveTypes.Bool, []byte{}}, {ice.PrimitiveTypes.UUID, make([]byte, 15)}, {ice.FixedTypeOf(2), make([]byte, 3)},
	} {
		_, err := iceberg.DecodeValue(tc.of, tc.bytes)
		require.Error(t, err, "%s %v", tc.of, tc.bytes)
	}
}
