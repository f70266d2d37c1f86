package client

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/uuid"
)

// isNull says whether a value is NULL, also where it hides: in a dictionary, a union, or an array of the type Null.
func isNull(a arrow.Array, i int) bool {
	switch a := a.(type) {
	case *array.Null:
		return true
	case *array.Dictionary:
		return a.IsNull(i) || isNull(a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		return isNull(a.Values(), a.GetPhysicalIndex(i))
	case array.Union:
		child, j := unionValue(a, i)
		return isNull(child, j)
	case array.ExtensionArray:
		return isNull(a.Storage(), i)
	}
	return a.IsNull(i)
}

func unionValue(a array.Union, i int) (arrow.Array, int) {
	child := a.Field(a.ChildID(i))
	if dense, ok := a.(*array.DenseUnion); ok {
		return child, int(dense.ValueOffset(i))
	}
	return child, i
}

// ValueText is a value as text. NULL is "NULL" inside of a nested value; the caller shows it outside.
func ValueText(a arrow.Array, i int) string {
	var b strings.Builder
	writeText(&b, a, i)
	return b.String()
}

func writeText(b *strings.Builder, a arrow.Array, i int) {
	if isNull(a, i) {
		b.WriteString("NULL")
		return
	}
	if text, ok := scalarText(a, i); ok {
		b.WriteString(text)
		return
	}
	switch a := a.(type) {
	case *array.Dictionary:
		writeText(b, a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		writeText(b, a.Values(), a.GetPhysicalIndex(i))
	case array.Union:
		child, j := unionValue(a, i)
		writeText(b, child, j)
	case array.ExtensionArray:
		writeText(b, a.Storage(), i)
	case *array.Map:
		from, to := a.ValueOffsets(i)
		b.WriteByte('{')
		for j := from; j < to; j++ {
			if j > from {
				b.WriteString(", ")
			}
			writeNested(b, a.Keys(), int(j))
			b.WriteByte('=')
			writeNested(b, a.Items(), int(j))
		}
		b.WriteByte('}')
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		b.WriteByte('[')
		for j := from; j < to; j++ {
			if j > from {
				b.WriteString(", ")
			}
			writeNested(b, a.ListValues(), int(j))
		}
		b.WriteByte(']')
	case *array.Struct:
		b.WriteByte('{')
		for f := range a.NumField() {
			if f > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoteNested(a.DataType().(*arrow.StructType).Field(f).Name))
			b.WriteString(": ")
			writeNested(b, a.Field(f), i)
		}
		b.WriteByte('}')
	default:
		b.WriteString(a.ValueStr(i))
	}
}

// writeNested quotes text within a nested value, so that ['a, b'] and [a, b] differ.
func writeNested(b *strings.Builder, a arrow.Array, i int) {
	text := ValueText(a, i)
	if isText(a) && !isNull(a, i) {
		text = quoteNested(text)
	}
	b.WriteString(text)
}

func quoteNested(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func isText(a arrow.Array) bool {
	switch a := a.(type) {
	case *array.String, *array.LargeString, *array.StringView:
		return true
	case *array.Dictionary:
		return isText(a.Dictionary())
	}
	return false
}

// scalarText is the text of a value that is not nested.
func scalarText(a arrow.Array, i int) (string, bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return strconv.FormatBool(a.Value(i)), true
	case *array.Float16:
		return floatText(float64(a.Value(i).Float32()), 32), true
	case *array.Float32:
		return floatText(float64(a.Value(i)), 32), true
	case *array.Float64:
		return floatText(a.Value(i), 64), true
	case *array.String:
		return a.Value(i), true
	case *array.LargeString:
		return a.Value(i), true
	case *array.StringView:
		return a.Value(i), true
	case *array.Binary:
		return hex.EncodeToString(a.Value(i)), true
	case *array.LargeBinary:
		return hex.EncodeToString(a.Value(i)), true
	case *array.BinaryView:
		return hex.EncodeToString(a.Value(i)), true
	case *array.FixedSizeBinary:
		return hex.EncodeToString(a.Value(i)), true
	case *array.Decimal32:
		return a.Value(i).ToString(a.DataType().(arrow.DecimalType).GetScale()), true
	case *array.Decimal64:
		return a.Value(i).ToString(a.DataType().(arrow.DecimalType).GetScale()), true
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(arrow.DecimalType).GetScale()), true
	case *array.Decimal256:
		return a.Value(i).ToString(a.DataType().(arrow.DecimalType).GetScale()), true
	case *array.Date32:
		return dateText(a.Value(i).ToTime()), true
	case *array.Date64:
		return dateText(a.Value(i).ToTime()), true
	case *array.Time32:
		return a.Value(i).ToTime(a.DataType().(*arrow.Time32Type).Unit).Format("15:04:05.999999999"), true
	case *array.Time64:
		return a.Value(i).ToTime(a.DataType().(*arrow.Time64Type).Unit).Format("15:04:05.999999999"), true
	case *array.Timestamp:
		return timestampText(a.Value(i), a.DataType().(*arrow.TimestampType)), true
	case *array.Duration:
		return durationText(int64(a.Value(i)), a.DataType().(*arrow.DurationType).Unit), true
	case *array.MonthInterval:
		return intervalText(int(a.Value(i)), 0, 0), true
	case *array.DayTimeInterval:
		v := a.Value(i)
		return intervalText(0, int(v.Days), int64(v.Milliseconds)*int64(time.Millisecond)), true
	case *array.MonthDayNanoInterval:
		v := a.Value(i)
		return intervalText(int(v.Months), int(v.Days), v.Nanoseconds), true
	case array.ExtensionArray:
		if raw, ok := a.Storage().(*array.FixedSizeBinary); ok && a.ExtensionType().ExtensionName() == "arrow.uuid" {
			if id, err := uuid.FromBytes(raw.Value(i)); err == nil {
				return id.String(), true
			}
		}
	}
	switch a.DataType().ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return a.ValueStr(i), true
	}
	return "", false
}

// floatText is the shortest text that reads back as the same number, and shows that it is no integer.
func floatText(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-5 || abs >= 1e16) {
		format = 'e'
	}
	text := strconv.FormatFloat(v, format, -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// dateText shows years before 1 as BC, and more than four digits where needed.
func dateText(t time.Time) string {
	if y := t.Year(); y <= 0 {
		return yearText(1-y) + t.Format("-01-02") + " (BC)"
	}
	return yearText(t.Year()) + t.Format("-01-02")
}

func yearText(y int) string {
	text := strconv.Itoa(y)
	return strings.Repeat("0", max(0, 4-len(text))) + text
}

// timestampText shows a timestamp with zone in its zone, with the offset.
func timestampText(v arrow.Timestamp, t *arrow.TimestampType) string {
	switch int64(v) {
	case math.MaxInt64:
		return "infinity"
	case -math.MaxInt64:
		return "-infinity"
	}
	at, layout := v.ToTime(t.Unit), " 15:04:05.999999999"
	if t.TimeZone != "" {
		if zone, err := t.GetZone(); err == nil {
			at = at.In(zone)
		}
		layout += "-07:00"
	}
	date := dateText(at)
	if bc := strings.TrimSuffix(date, " (BC)"); bc != date {
		return bc + at.Format(layout) + " (BC)"
	}
	return date + at.Format(layout)
}

func durationText(v int64, unit arrow.TimeUnit) string {
	if nanos := unit.Multiplier(); v <= math.MaxInt64/int64(nanos) && v >= math.MinInt64/int64(nanos) {
		return intervalText(0, 0, v*int64(nanos))
	}
	return strconv.FormatInt(v, 10) + " " + unit.String()
}

// intervalText is an interval as DuckDB shows it: 1 year 2 months 3 days 04:05:06.
func intervalText(months, days int, nanos int64) string {
	var parts []string
	part := func(n int, unit string) {
		if n == 0 {
			return
		}
		text := strconv.Itoa(n) + " " + unit
		if n != 1 && n != -1 {
			text += "s"
		}
		parts = append(parts, text)
	}
	part(months/12, "year")
	part(months%12, "month")
	part(days, "day")
	if nanos != 0 || len(parts) == 0 {
		sign, abs := "", uint64(nanos)
		if nanos < 0 {
			sign, abs = "-", -abs
		}
		seconds := abs / 1e9
		text := sign + two(seconds/3600) + ":" + two(seconds/60%60) + ":" + two(seconds%60)
		if fraction := abs % 1e9; fraction != 0 {
			digits := strconv.FormatUint(fraction+1e9, 10)[1:]
			text += "." + strings.TrimRight(digits, "0")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func two(n uint64) string {
	if n < 10 {
		return "0" + strconv.FormatUint(n, 10)
	}
	return strconv.FormatUint(n, 10)
}

// isNumber says whether a column is right-aligned.
func isNumber(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return isNumber(t.ValueType)
	case arrow.DecimalType:
		return true
	}
	return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID())
}

// appendJSON appends a value as JSON. Integers and decimals are numbers with all their digits, NaN and infinities are
// strings, a map is an object if its keys are text and a list of pairs otherwise; what JSON has no form for is its text.
func appendJSON(b []byte, a arrow.Array, i int) []byte {
	if isNull(a, i) {
		return append(b, "null"...)
	}
	switch a := a.(type) {
	case *array.Boolean:
		return strconv.AppendBool(b, a.Value(i))
	case *array.Dictionary:
		return appendJSON(b, a.Dictionary(), a.GetValueIndex(i))
	case *array.RunEndEncoded:
		return appendJSON(b, a.Values(), a.GetPhysicalIndex(i))
	case array.Union:
		child, j := unionValue(a, i)
		return appendJSON(b, child, j)
	case array.ExtensionArray:
		if text, ok := scalarText(a, i); ok {
			return appendJSONText(b, text)
		}
		return appendJSON(b, a.Storage(), i)
	case *array.Map:
		from, to := a.ValueOffsets(i)
		object := isText(a.Keys())
		open, end := byte('['), byte(']')
		if object {
			open, end = '{', '}'
		}
		b = append(b, open)
		for j := from; j < to; j++ {
			if j > from {
				b = append(b, ',')
			}
			if object {
				b = append(appendJSON(b, a.Keys(), int(j)), ':')
				b = appendJSON(b, a.Items(), int(j))
			} else {
				b = append(appendJSON(append(b, '['), a.Keys(), int(j)), ',')
				b = append(appendJSON(b, a.Items(), int(j)), ']')
			}
		}
		return append(b, end)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		b = append(b, '[')
		for j := from; j < to; j++ {
			if j > from {
				b = append(b, ',')
			}
			b = appendJSON(b, a.ListValues(), int(j))
		}
		return append(b, ']')
	case *array.Struct:
		b = append(b, '{')
		for f := range a.NumField() {
			if f > 0 {
				b = append(b, ',')
			}
			b = append(appendJSONText(b, a.DataType().(*arrow.StructType).Field(f).Name), ':')
			b = appendJSON(b, a.Field(f), i)
		}
		return append(b, '}')
	}
	text := ValueText(a, i)
	if isNumber(a.DataType()) && text != "NaN" && !strings.HasSuffix(text, "Infinity") {
		return append(b, text...)
	}
	return appendJSONText(b, text)
}

func appendJSONText(b []byte, text string) []byte {
	var quoted strings.Builder
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // A string always encodes.
	return append(b, strings.TrimSuffix(quoted.String(), "\n")...)
}
