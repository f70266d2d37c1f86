package flightsql

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// typeInfo is a row of GetXdbcTypeInfo, with the codes of JDBC and ODBC.
type typeInfo struct {
	name     string
	code     int32 // java.sql.Types
	size     int32 // digits, characters or bits; 0: unknown
	quote    bool  // literals stand in quotes
	params   []string
	radix    int32
	scale    int32 // greatest; -1: does not apply
	subcode  int32 // of date and time types
	unsigned bool
	text     bool
}

// The codes of java.sql.Types.
const (
	sqlBit           = -7
	sqlTinyint       = -6
	sqlBigint        = -5
	sqlVarbinary     = -3
	sqlDecimal       = 3
	sqlInteger       = 4
	sqlSmallint      = 5
	sqlReal          = 7
	sqlDouble        = 8
	sqlVarchar       = 12
	sqlBoolean       = 16
	sqlDate          = 91
	sqlTime          = 92
	sqlTimestamp     = 93
	sqlTimestampZone = 2014
	sqlArray         = 2003
	sqlStruct        = 2002
	sqlOther         = 1111
)

var typeInfos = []typeInfo{
	{name: "BOOLEAN", code: sqlBoolean, size: 1, scale: -1},
	{name: "BIT", code: sqlBit, quote: true, scale: -1},
	{name: "TINYINT", code: sqlTinyint, size: 3, radix: 10},
	{name: "SMALLINT", code: sqlSmallint, size: 5, radix: 10},
	{name: "INTEGER", code: sqlInteger, size: 10, radix: 10},
	{name: "BIGINT", code: sqlBigint, size: 19, radix: 10},
	{name: "UTINYINT", code: sqlSmallint, size: 3, radix: 10, unsigned: true},
	{name: "USMALLINT", code: sqlInteger, size: 5, radix: 10, unsigned: true},
	{name: "UINTEGER", code: sqlBigint, size: 10, radix: 10, unsigned: true},
	{name: "UBIGINT", code: sqlDecimal, size: 20, radix: 10, unsigned: true},
	{name: "HUGEINT", code: sqlDecimal, size: 39, radix: 10},
	{name: "DECIMAL", code: sqlDecimal, size: 38, radix: 10, scale: 38, params: []string{"precision", "scale"}},
	{name: "FLOAT", code: sqlReal, size: 24, radix: 2, scale: -1},
	{name: "DOUBLE", code: sqlDouble, size: 53, radix: 2, scale: -1},
	{name: "VARCHAR", code: sqlVarchar, quote: true, scale: -1, text: true},
	{name: "BLOB", code: sqlVarbinary, quote: true, scale: -1},
	{name: "UUID", code: sqlOther, size: 36, quote: true, scale: -1},
	{name: "DATE", code: sqlDate, size: 10, quote: true, scale: -1, subcode: 1},
	{name: "TIME", code: sqlTime, size: 15, quote: true, scale: 6, subcode: 2},
	{name: "TIMESTAMP", code: sqlTimestamp, size: 26, quote: true, scale: 6, subcode: 3},
	{name: "TIMESTAMP WITH TIME ZONE", code: sqlTimestampZone, size: 32, quote: true, scale: 6, subcode: 5},
	{name: "INTERVAL", code: sqlOther, quote: true, scale: -1},
	{name: "LIST", code: sqlArray, scale: -1},
	{name: "STRUCT", code: sqlStruct, scale: -1},
	{name: "MAP", code: sqlOther, scale: -1},
}

// GetFlightInfoXdbcTypeInfo describes the list of types.
func (f *frontDoor) GetFlightInfoXdbcTypeInfo(_ context.Context, _ flightsql.GetXdbcTypeInfo, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return metadataInfo(schema_ref.XdbcTypeInfo, desc)
}

// DoGetXdbcTypeInfo lists the types, or those of one code, sorted by code and then as closely as they fit it.
func (f *frontDoor) DoGetXdbcTypeInfo(ctx context.Context, cmd flightsql.GetXdbcTypeInfo) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	rows := slices.Clone(typeInfos)
	if code := cmd.GetDataType(); code != nil {
		rows = slices.DeleteFunc(rows, func(t typeInfo) bool { return t.code != *code })
	}
	slices.SortStableFunc(rows, func(a, b typeInfo) int { return int(a.code) - int(b.code) })
	b := array.NewRecordBuilder(alloc, schema_ref.XdbcTypeInfo)
	defer b.Release()
	for _, t := range rows {
		t.append(b)
	}
	return streamOf(ctx, b.NewRecordBatch())
}

const (
	nullable   = 1 // NULLABILITY_NULLABLE
	searchable = 3 // SEARCHABLE_FULL
)

func (t typeInfo) append(b *array.RecordBuilder) {
	text := func(column int, value string) {
		if value == "" {
			b.Field(column).AppendNull()
			return
		}
		b.Field(column).(*array.StringBuilder).Append(value)
	}
	number := func(column int, value int32, known bool) {
		if !known {
			b.Field(column).AppendNull()
			return
		}
		b.Field(column).(*array.Int32Builder).Append(value)
	}
	flag := func(column int, value bool) { b.Field(column).(*array.BooleanBuilder).Append(value) }

	numeric := t.radix != 0
	quote := ""
	if t.quote {
		quote = "'"
	}
	// A date or time type has a family (SQL_DATETIME, 9) and a code in it.
	family := t.code
	if t.subcode != 0 {
		family = 9
	}
	text(0, t.name)
	number(1, t.code, true)
	number(2, t.size, t.size != 0)
	text(3, quote)
	text(4, quote)
	params := b.Field(5).(*array.ListBuilder)
	if t.params == nil {
		params.AppendNull()
	} else {
		params.Append(true)
		params.ValueBuilder().(*array.StringBuilder).AppendValues(t.params, nil)
	}
	number(6, nullable, true)
	flag(7, t.text)
	number(8, searchable, true)
	if numeric {
		flag(9, t.unsigned)
	} else {
		b.Field(9).AppendNull()
	}
	flag(10, false)
	if numeric {
		flag(11, false)
	} else {
		b.Field(11).AppendNull()
	}
	text(12, t.name)
	number(13, 0, t.scale >= 0)
	number(14, t.scale, t.scale >= 0)
	number(15, family, true)
	number(16, t.subcode, t.subcode != 0)
	number(17, t.radix, numeric)
	number(18, 0, false)
}
