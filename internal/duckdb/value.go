package duckdb

import (
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// MapEntry is an entry of a MAP value.
type MapEntry struct{ Key, Value any }

// Struct is a STRUCT value: fields by name.
type Struct map[string]any

// rows reads the stream to its end.
func (s *Stream) rows() ([][]any, error) {
	var out [][]any
	for {
		batch, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range int(batch.NumRows()) {
			row := make([]any, batch.NumCols())
			for j := range row {
				row[j] = Value(batch.Column(j), i)
			}
			out = append(out, row)
		}
		batch.Release()
	}
}

// Value is the i-th value of an Arrow array as a Go value: nil for NULL; bool; int64 and uint64 for integers; *big.Int for
// 128-bit ones (DECIMAL(38,0)); float64; string; []byte; time.Time in UTC for dates and timestamps; []any for lists;
// Struct; []MapEntry for maps; decimals as exact text; Arrow's text for all else (times, intervals).
func Value(column arrow.Array, i int) any {
	if column.IsNull(i) {
		return nil
	}
	switch a := column.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return uint64(a.Value(i))
	case *array.Uint16:
		return uint64(a.Value(i))
	case *array.Uint32:
		return uint64(a.Value(i))
	case *array.Uint64:
		return a.Value(i)
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.Decimal128:
		if a.DataType().(*arrow.Decimal128Type).Scale == 0 {
			return new(big.Int).Set(a.Value(i).BigInt())
		}
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.String:
		return string(append([]byte(nil), a.Value(i)...)) // the array's memory is DuckDB's
	case *array.LargeString:
		return string(append([]byte(nil), a.Value(i)...))
	case *array.Binary:
		return append([]byte{}, a.Value(i)...)
	case *array.LargeBinary:
		return append([]byte{}, a.Value(i)...)
	case *array.Date32:
		return a.Value(i).ToTime()
	case *array.Timestamp:
		return a.Value(i).ToTime(a.DataType().(*arrow.TimestampType).Unit)
	case *array.Map:
		start, end := a.ValueOffsets(i)
		entries := make([]MapEntry, 0, end-start)
		for j := int(start); j < int(end); j++ {
			entries = append(entries, MapEntry{Key: Value(a.Keys(), j), Value: Value(a.Items(), j)})
		}
		return entries
	case *array.Struct:
		out := make(Struct, a.NumField())
		for j, field := range a.DataType().(*arrow.StructType).Fields() {
			out[field.Name] = Value(a.Field(j), i)
		}
		return out
	case array.ListLike:
		start, end := a.ValueOffsets(i)
		out := make([]any, 0, end-start)
		for j := int(start); j < int(end); j++ {
			out = append(out, Value(a.ListValues(), j))
		}
		return out
	default:
		return fmt.Sprint(column.ValueStr(i))
	}
}
