package client

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestValues(t *testing.T) {
	at := time.Date(2024, 2, 29, 23, 30, 0, 120_000_000, time.UTC)
	micros := arrow.Timestamp(at.UnixMicro())
	i64 := arrow.PrimitiveTypes.Int64
	for _, c := range []struct {
		typ        arrow.DataType
		append     func(array.Builder)
		text, json string
	}{
		{i64, func(b array.Builder) { b.(*array.Int64Builder).Append(math.MinInt64) }, "-9223372036854775808", "-9223372036854775808"},
		{arrow.PrimitiveTypes.Uint64, func(b array.Builder) { b.(*array.Uint64Builder).Append(math.MaxUint64) }, "18446744073709551615", "18446744073709551615"},
		{arrow.FixedWidthTypes.Boolean, func(b array.Builder) { b.(*array.BooleanBuilder).Append(true) }, "true", "true"},
		{arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).Append(3) }, "3.0", "3.0"},
		{arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).Append(0.1) }, "0.1", "0.1"},
		{arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).Append(1e300) }, "1e+300", "1e+300"},
		{arrow.PrimitiveTypes.Float32, func(b array.Builder) { b.(*array.Float32Builder).Append(0.1) }, "0.1", "0.1"},
		{arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).Append(math.NaN()) }, "NaN", `"NaN"`},
		{arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).Append(math.Inf(-1)) }, "-Infinity", `"-Infinity"`},
		{&arrow.Decimal128Type{Precision: 20, Scale: 3}, func(b array.Builder) { b.(*array.Decimal128Builder).Append(decimal128.FromI64(-5)) }, "-0.005", "-0.005"},
		{&arrow.Decimal256Type{Precision: 50, Scale: 0}, func(b array.Builder) { b.(*array.Decimal256Builder).Append(decimal256.FromI64(7)) }, "7", "7"},
		{arrow.BinaryTypes.String, func(b array.Builder) { b.(*array.StringBuilder).Append("a<\"é\n") }, "a<\"é\n", `"a<\"é\n"`},
		{arrow.BinaryTypes.Binary, func(b array.Builder) { b.(*array.BinaryBuilder).Append([]byte{0, 0xff}) }, "00ff", `"00ff"`},
		{arrow.FixedWidthTypes.Date32, func(b array.Builder) { b.(*array.Date32Builder).Append(arrow.Date32FromTime(at)) }, "2024-02-29", `"2024-02-29"`},
		{arrow.FixedWidthTypes.Date32, func(b array.Builder) {
			b.(*array.Date32Builder).Append(arrow.Date32FromTime(time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC)))
		}, "0044-03-15 (BC)", `"0044-03-15 (BC)"`},
		{arrow.FixedWidthTypes.Time64us, func(b array.Builder) { b.(*array.Time64Builder).Append(3_600_000_500) }, "01:00:00.0005", `"01:00:00.0005"`},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(micros) }, "2024-02-29 23:30:00.12", `"2024-02-29 23:30:00.12"`},
		{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(micros) }, "2024-03-01 00:30:00.12+01:00", `"2024-03-01 00:30:00.12+01:00"`},
		{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(micros) }, "2024-02-29 23:30:00.12+00:00", `"2024-02-29 23:30:00.12+00:00"`},
		{&arrow.DurationType{Unit: arrow.Millisecond}, func(b array.Builder) { b.(*array.DurationBuilder).Append(-3_661_001) }, "-01:01:01.001", `"-01:01:01.001"`},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, func(b array.Builder) {
			b.(*array.MonthDayNanoIntervalBuilder).Append(arrow.MonthDayNanoInterval{Months: 14, Days: -1, Nanoseconds: 1500})
		}, "1 year 2 months -1 day 00:00:00.0000015", `"1 year 2 months -1 day 00:00:00.0000015"`},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, func(b array.Builder) {
			b.(*array.MonthDayNanoIntervalBuilder).Append(arrow.MonthDayNanoInterval{})
		}, "00:00:00", `"00:00:00"`},
		{arrow.ListOf(arrow.BinaryTypes.String), func(b array.Builder) {
			l := b.(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.StringBuilder).AppendValues([]string{"a, b", "", "it's"}, []bool{true, false, true})
		}, "['a, b', NULL, 'it''s']", `["a, b",null,"it's"]`},
		{arrow.FixedSizeListOf(2, i64), func(b array.Builder) {
			l := b.(*array.FixedSizeListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.Int64Builder).AppendValues([]int64{1, 2}, nil)
		}, "[1, 2]", "[1,2]"},
		{arrow.StructOf(arrow.Field{Name: "x", Type: i64, Nullable: true}, arrow.Field{Name: "y", Type: arrow.ListOf(i64), Nullable: true}), func(b array.Builder) {
			s := b.(*array.StructBuilder)
			s.Append(true)
			s.FieldBuilder(0).AppendNull()
			s.FieldBuilder(1).(*array.ListBuilder).Append(true)
		}, "{'x': NULL, 'y': []}", `{"x":null,"y":[]}`},
		{arrow.MapOf(arrow.BinaryTypes.String, i64), func(b array.Builder) {
			m := b.(*array.MapBuilder)
			m.Append(true)
			m.KeyBuilder().(*array.StringBuilder).Append("k")
			m.ItemBuilder().(*array.Int64Builder).Append(1)
		}, "{'k'=1}", `{"k":1}`},
		{arrow.MapOf(i64, i64), func(b array.Builder) {
			m := b.(*array.MapBuilder)
			m.Append(true)
			m.KeyBuilder().(*array.Int64Builder).Append(2)
			m.ItemBuilder().(*array.Int64Builder).AppendNull()
		}, "{2=NULL}", `[[2,null]]`},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, func(b array.Builder) {
			require.NoError(t, b.(*array.BinaryDictionaryBuilder).AppendString("d"))
		}, "d", `"d"`},
		{arrow.DenseUnionOf([]arrow.Field{{Name: "i", Type: i64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, []arrow.UnionTypeCode{0, 1}), func(b array.Builder) {
			u := b.(*array.DenseUnionBuilder)
			u.Append(1)
			u.Child(0).AppendNull()
			u.Child(1).(*array.StringBuilder).Append("s")
		}, "s", `"s"`},
		{extensions.NewUUIDType(), func(b array.Builder) {
			b.(*extensions.UUIDBuilder).Append(uuid.MustParse("00112233-4455-6677-8899-aabbccddeeff"))
		}, "00112233-4455-6677-8899-aabbccddeeff", `"00112233-4455-6677-8899-aabbccddeeff"`},
	} {
		b := array.NewBuilder(memory.DefaultAllocator, c.typ)
		c.append(b)
		if _, union := b.(array.UnionBuilder); !union {
			b.AppendNull()
		}
		a := b.NewArray()
		require.False(t, isNull(a, 0), c.typ)
		require.Equal(t, c.text, ValueText(a, 0), c.typ)
		require.Equal(t, c.json, string(appendJSON(nil, a, 0)), c.typ)
		if a.Len() > 1 {
			require.True(t, isNull(a, 1), c.typ)
			require.Equal(t, "null", string(appendJSON(nil, a, 1)))
		}
		a.Release()
		b.Release()
	}
	nulls := array.NewNull(2)
	require.True(t, isNull(nulls, 1))
}

func TestSmallNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.00k", 1234: "1.23k", 12_345: "12.3k", 123_456: "123k", 999_999: "1.00M", 5e9: "5.00G"} {
		require.Equal(t, want, short(n))
	}
}
