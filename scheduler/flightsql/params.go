package flightsql

import (
	"bytes"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	arrowutil "github.com/apache/arrow-go/v18/arrow/util"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seracdb/serac/scheduler/engine"
)

// maxParameterBytes bounds the parameters bound to one statement.
const maxParameterBytes = 64 << 20

// readParameters reads rows of parameters from a client's stream. It is nil when the stream has no columns, and empty when
// it has columns but no rows.
func readParameters(r flight.MessageReader) ([][]any, error) {
	var rows [][]any
	var size int64
	for r.Next() {
		batch := r.RecordBatch()
		if size += arrowutil.TotalRecordSize(batch); size > maxParameterBytes {
			return nil, status.Errorf(codes.ResourceExhausted, "the parameters have more than %d MiB", maxParameterBytes>>20)
		}
		if batch.NumCols() == 0 {
			continue
		}
		for row := range int(batch.NumRows()) {
			values := make([]any, batch.NumCols())
			for i := range values {
				v, err := parameter(batch.Column(i), row)
				if err != nil {
					return nil, invalid("parameter %d: %v", i+1, status.Convert(err).Message())
				}
				values[i] = v
			}
			rows = append(rows, values)
		}
	}
	if err := r.Err(); err != nil {
		return nil, invalid("read parameters: %v", err)
	}
	if schema := r.Schema(); rows == nil && schema != nil && schema.NumFields() > 0 {
		rows = [][]any{}
	}
	return rows, nil
}

// parameter is one value as the engine takes it, with exactly the type it has in Arrow.
func parameter(column arrow.Array, row int) (any, error) {
	if dict, ok := column.(*array.Dictionary); ok {
		if dict.IsNull(row) {
			return parameter(array.MakeArrayOfNull(alloc, dict.Dictionary().DataType(), 1), 0)
		}
		return parameter(dict.Dictionary(), dict.GetValueIndex(row))
	}
	if union, ok := column.(array.Union); ok {
		child := union.Field(union.ChildID(row))
		if dense, ok := union.(*array.DenseUnion); ok {
			row = int(dense.ValueOffset(row))
		}
		return parameter(child, row)
	}
	typ, err := duckDBType(column.DataType())
	if err != nil {
		return nil, err
	}
	if typ == "" { // A Null array does not say that its values are.
		return nil, nil
	}
	if column.IsNull(row) {
		return engine.Literal{Type: typ, Null: true}, nil
	}
	switch a := column.(type) {
	case *array.Boolean:
		return a.Value(row), nil
	case *array.Int8:
		return a.Value(row), nil
	case *array.Int16:
		return a.Value(row), nil
	case *array.Int32:
		return a.Value(row), nil
	case *array.Int64:
		return a.Value(row), nil
	case *array.Uint8:
		return a.Value(row), nil
	case *array.Uint16:
		return a.Value(row), nil
	case *array.Uint32:
		return a.Value(row), nil
	case *array.Uint64:
		return a.Value(row), nil
	case *array.Float16:
		return a.Value(row).Float32(), nil
	case *array.Float32:
		return a.Value(row), nil
	case *array.Float64:
		return a.Value(row), nil
	case *array.String:
		return a.Value(row), nil
	case *array.LargeString:
		return a.Value(row), nil
	case *array.StringView:
		return a.Value(row), nil
	case *array.Binary:
		return bytes.Clone(a.Value(row)), nil
	case *array.LargeBinary:
		return bytes.Clone(a.Value(row)), nil
	case *array.BinaryView:
		return bytes.Clone(a.Value(row)), nil
	case *array.FixedSizeBinary:
		return bytes.Clone(a.Value(row)), nil
	case *array.Decimal128:
		return engine.Literal{Type: typ, Text: a.Value(row).ToString(a.DataType().(*arrow.Decimal128Type).Scale)}, nil
	case *array.Date32:
		return engine.Literal{Type: typ, Text: a.Value(row).FormattedString()}, nil
	case *array.Date64:
		return engine.Literal{Type: typ, Text: a.Value(row).FormattedString()}, nil
	case *array.Time32:
		return engine.Literal{Type: typ, Text: a.Value(row).FormattedString(a.DataType().(*arrow.Time32Type).Unit)}, nil
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		return engine.Literal{Type: typ, Text: a.Value(row).FormattedString(unit)}, nil
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		text := a.Value(row).ToTime(t.Unit).Format("2006-01-02 15:04:05.999999999")
		if t.TimeZone != "" {
			text += "+00"
		}
		return engine.Literal{Type: typ, Text: text}, nil
	case *array.Duration:
		micros, err := inMicros(int64(a.Value(row)), a.DataType().(*arrow.DurationType).Unit)
		return engine.Literal{Type: typ, Text: strconv.FormatInt(micros, 10) + " microseconds"}, err
	case *array.MonthInterval:
		return engine.Literal{Type: typ, Text: strconv.Itoa(int(a.Value(row))) + " months"}, nil
	case array.ExtensionArray: // duckDBType lets only UUIDs through.
		raw := a.Storage().(*array.FixedSizeBinary).Value(row)
		return engine.Literal{Type: typ, Text: hex.EncodeToString(raw)}, nil
	}
	return nil, unsupportedParameter(column.DataType())
}

// duckDBType is the type that a parameter of an Arrow type has in SQL; empty for the type of a bare NULL.
func duckDBType(t arrow.DataType) (string, error) {
	switch t := t.(type) {
	case *arrow.NullType:
		return "", nil
	case *arrow.Decimal128Type:
		return "DECIMAL(" + strconv.Itoa(int(t.Precision)) + "," + strconv.Itoa(int(t.Scale)) + ")", nil
	case *arrow.TimestampType:
		switch {
		case t.TimeZone != "":
			return "TIMESTAMPTZ", nil
		case t.Unit == arrow.Nanosecond:
			return "TIMESTAMP_NS", nil
		case t.Unit == arrow.Millisecond:
			return "TIMESTAMP_MS", nil
		case t.Unit == arrow.Second:
			return "TIMESTAMP_S", nil
		}
		return "TIMESTAMP", nil
	case arrow.ExtensionType:
		if t.ExtensionName() == "arrow.uuid" {
			return "UUID", nil
		}
		return "", unsupportedParameter(t)
	}
	if name, ok := duckDBTypes[t.ID()]; ok {
		return name, nil
	}
	return "", unsupportedParameter(t)
}

var duckDBTypes = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN",
	arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT16: "FLOAT", arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR", arrow.STRING_VIEW: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.BINARY_VIEW: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE", arrow.TIME32: "TIME", arrow.TIME64: "TIME",
	arrow.DURATION: "INTERVAL", arrow.INTERVAL_MONTHS: "INTERVAL",
}

func inMicros(v int64, unit arrow.TimeUnit) (int64, error) {
	switch unit {
	case arrow.Nanosecond:
		return v / 1000, nil
	case arrow.Millisecond, arrow.Second:
		factor := int64(1000)
		if unit == arrow.Second {
			factor = 1_000_000
		}
		if v > math.MaxInt64/factor || v < math.MinInt64/factor {
			return 0, invalid("a duration is out of range")
		}
		return v * factor, nil
	}
	return v, nil
}

func unsupportedParameter(t arrow.DataType) error {
	return invalid("values of type %s cannot be bound", t)
}
