package flightsql

import (
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/scheduler/engine"
)

func TestParameterTypes(t *testing.T) {
	noon := time.Date(2024, 2, 29, 12, 0, 1, 234567891, time.UTC)
	stamp := func(unit arrow.TimeUnit) arrow.Timestamp {
		v, err := arrow.TimestampFromTime(noon, unit)
		require.NoError(t, err)
		return v
	}
	for _, c := range []struct {
		typ    arrow.DataType
		append func(array.Builder)
		want   string
		null   string
	}{
		{arrow.PrimitiveTypes.Int8, func(b array.Builder) { b.(*array.Int8Builder).Append(-8) }, "CAST(-8 AS TINYINT)", "CAST(NULL AS TINYINT)"},
		{arrow.PrimitiveTypes.Uint64, func(b array.Builder) { b.(*array.Uint64Builder).Append(1<<64 - 1) }, "CAST(18446744073709551615 AS UBIGINT)", "CAST(NULL AS UBIGINT)"},
		{arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).Append(0.1) }, "CAST('0.1' AS DOUBLE)", "CAST(NULL AS DOUBLE)"},
		{arrow.FixedWidthTypes.Boolean, func(b array.Builder) { b.(*array.BooleanBuilder).Append(true) }, "true", "CAST(NULL AS BOOLEAN)"},
		{arrow.BinaryTypes.LargeString, func(b array.Builder) { b.(*array.LargeStringBuilder).Append("o'x") }, "'o''x'", "CAST(NULL AS VARCHAR)"},
		{arrow.BinaryTypes.Binary, func(b array.Builder) { b.(*array.BinaryBuilder).Append([]byte{0, 255}) }, "from_hex('00ff')", "CAST(NULL AS BLOB)"},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, func(b array.Builder) { b.(*array.Decimal128Builder).Append(decimal128.FromI64(-12345)) }, "CAST('-123.45' AS DECIMAL(10,2))", "CAST(NULL AS DECIMAL(10,2))"},
		{arrow.FixedWidthTypes.Date32, func(b array.Builder) { b.(*array.Date32Builder).Append(arrow.Date32FromTime(noon)) }, "CAST('2024-02-29' AS DATE)", "CAST(NULL AS DATE)"},
		{arrow.FixedWidthTypes.Time64us, func(b array.Builder) { b.(*array.Time64Builder).Append(43_201_234_567) }, "CAST('12:00:01.234567' AS TIME)", "CAST(NULL AS TIME)"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(stamp(arrow.Microsecond)) }, "CAST('2024-02-29 12:00:01.234567' AS TIMESTAMP)", "CAST(NULL AS TIMESTAMP)"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(stamp(arrow.Nanosecond)) }, "CAST('2024-02-29 12:00:01.234567891' AS TIMESTAMP_NS)", "CAST(NULL AS TIMESTAMP_NS)"},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "Europe/Berlin"}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(stamp(arrow.Second)) }, "CAST('2024-02-29 12:00:01+00' AS TIMESTAMPTZ)", "CAST(NULL AS TIMESTAMPTZ)"},
		{&arrow.DurationType{Unit: arrow.Millisecond}, func(b array.Builder) { b.(*array.DurationBuilder).Append(5) }, "CAST('5000 microseconds' AS INTERVAL)", "CAST(NULL AS INTERVAL)"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, func(b array.Builder) {
			require.NoError(t, b.(*array.BinaryDictionaryBuilder).AppendString("d"))
		}, "'d'", "CAST(NULL AS VARCHAR)"},
		{arrow.Null, func(b array.Builder) { b.AppendNull() }, "NULL", "NULL"},
	} {
		b := array.NewBuilder(alloc, c.typ)
		c.append(b)
		b.AppendNull()
		a := b.NewArray()
		for row, want := range []string{c.want, c.null} {
			v, err := parameter(a, row)
			require.NoError(t, err, c.typ)
			text, err := engine.LiteralSQL(v)
			require.NoError(t, err)
			require.Equal(t, want, text, c.typ)
		}
		a.Release()
		b.Release()
	}
	list := array.NewListBuilder(alloc, arrow.PrimitiveTypes.Int64)
	list.Append(true)
	_, err := parameter(list.NewArray(), 0)
	require.ErrorContains(t, err, "cannot be bound")
}

func TestParameterSchema(t *testing.T) {
	require.Nil(t, parameterSchema(2, nil), "nothing known: the client decides")
	require.Equal(t, 0, parameterSchema(0, nil).NumFields())
	s := parameterSchema(2, []arrow.DataType{nil, arrow.PrimitiveTypes.Int64})
	require.Equal(t, arrow.STRING, s.Field(0).Type.ID())
	require.Equal(t, arrow.INT64, s.Field(1).Type.ID())
	s = parameterSchema(3, []arrow.DataType{arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Uint8})
	require.Equal(t, []arrow.Type{arrow.INT64, arrow.FLOAT64, arrow.UINT64}, []arrow.Type{s.Field(0).Type.ID(), s.Field(1).Type.ID(), s.Field(2).Type.ID()})
}
