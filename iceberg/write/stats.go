package write

import (
	"bytes"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/object"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// leaf is a field that is a column of the Parquet file, or would be.
type leaf struct {
	field    *iceberg.Field
	repeated bool // inside a list or map: its counts and bounds say nothing about rows
	path     string
}

// leaves are the primitive fields by id. path is the name that COPY's statistics have.
func leaves(fields []iceberg.Field) map[int32]leaf {
	out := make(map[int32]leaf)
	var walk func(f *iceberg.Field, name, prefix string, repeated bool)
	walk = func(f *iceberg.Field, name, prefix string, repeated bool) {
		path := prefix + quoteStat(name)
		if len(f.Children) == 0 {
			out[f.ID] = leaf{field: f, repeated: repeated, path: path}
			return
		}
		names := childNames(f)
		for i := range f.Children {
			walk(&f.Children[i], names[i], path+".", repeated || len(f.Type.Fields) == 0)
		}
	}
	for i := range fields {
		walk(&fields[i], fields[i].Name, "", false)
	}
	return out
}

// addStatistics fills in a data file's statistics from its footer. hasNaN says of float columns, by path, whether they hold
// NaN: Parquet leaves NaN out of its bounds, but it is a value (the largest, in SQL), so such columns have no bounds here.
func (w *Writer) addStatistics(file *seracv1.DataFile, footer *metadata.FileMetaData, hasNaN map[string]bool) error {
	byID := leaves(w.fields)
	lower, upper := make(map[int32]any), make(map[int32]any)
	incomplete := make(map[int32]bool) // fields with a row group that has values but no bounds
	file.ColumnSizes, file.ValueCounts, file.NullValueCounts = map[int32]int64{}, map[int32]int64{}, map[int32]int64{}
	file.NanValueCounts, file.LowerBounds, file.UpperBounds = map[int32]int64{}, map[int32][]byte{}, map[int32][]byte{}
	noNulls := make(map[int32]bool) // fields whose NULLs are not counted in some row group
	for g := range footer.NumRowGroups() {
		group := footer.RowGroup(g)
		start := int64(math.MaxInt64)
		for c := range group.NumColumns() {
			chunk, err := group.ColumnChunk(c)
			if err != nil {
				return err
			}
			start = min(start, object.ChunkStart(chunk))
			id := footer.Schema.Column(c).SchemaNode().FieldID()
			l, ok := byID[id]
			if !ok {
				return fmt.Errorf("column %s has field id %d, which the table has not", footer.Schema.Column(c).Path(), id)
			}
			mode := w.metrics[id]
			if !mode.counts {
				continue
			}
			file.ColumnSizes[id] += chunk.TotalCompressedSize()
			if l.repeated {
				continue
			}
			file.ValueCounts[id] += chunk.NumValues()
			stats, err := chunk.Statistics()
			if err != nil {
				return err
			}
			if stats == nil || !stats.HasNullCount() {
				noNulls[id] = true
			} else {
				file.NullValueCounts[id] += stats.NullCount()
			}
			if stats == nil || !stats.HasMinMax() {
				if stats == nil || !stats.HasNullCount() || stats.NullCount() < chunk.NumValues() {
					incomplete[id] = true
				}
				continue
			}
			low, high, err := bounds(stats, l.field.Iceberg)
			if err != nil {
				return fmt.Errorf("statistics of %s: %w", l.field.Name, err)
			}
			if low == nil {
				incomplete[id] = true
				continue
			}
			if have, ok := lower[id]; !ok || less(low, have) {
				lower[id] = low
			}
			if have, ok := upper[id]; !ok || less(have, high) {
				upper[id] = high
			}
		}
		if group.NumColumns() > 0 {
			file.SplitOffsets = append(file.SplitOffsets, start)
		}
	}
	for id := range noNulls {
		delete(file.NullValueCounts, id)
	}
	for id, l := range byID {
		if nan, ok := hasNaN[l.path]; ok && !l.repeated && w.metrics[id].counts {
			if nan {
				incomplete[id] = true
			} else if isFloat(l.field.Iceberg) {
				file.NanValueCounts[id] = 0
			}
		} else if isFloat(l.field.Iceberg) {
			incomplete[id] = true
		}
		if _, ok := lower[id]; !ok || incomplete[id] || !w.metrics[id].bounds {
			continue
		}
		if err := w.addBounds(file, l.field, lower[id], upper[id]); err != nil {
			return fmt.Errorf("bounds of %s: %w", l.field.Name, err)
		}
	}
	return nil
}

func isFloat(t ice.Type) bool {
	switch t.(type) {
	case ice.Float32Type, ice.Float64Type:
		return true
	}
	return false
}

// bounds are a chunk's least and greatest values: bool, int64, float64, *big.Int or []byte. nil when the type has none.
func bounds(stats metadata.TypedStatistics, t ice.Type) (low, high any, err error) {
	_, isDecimal := t.(ice.DecimalType)
	switch s := stats.(type) {
	case *metadata.BooleanStatistics:
		return s.Min(), s.Max(), nil
	case *metadata.Int32Statistics:
		return int64(s.Min()), int64(s.Max()), nil
	case *metadata.Int64Statistics:
		return s.Min(), s.Max(), nil
	case *metadata.Float32Statistics:
		return float64(s.Min()), float64(s.Max()), nil
	case *metadata.Float64Statistics:
		return s.Min(), s.Max(), nil
	case *metadata.FixedLenByteArrayStatistics:
		if isDecimal {
			return fromTwosComplement(s.Min()), fromTwosComplement(s.Max()), nil
		}
		return bytes.Clone(s.Min()), bytes.Clone(s.Max()), nil
	case *metadata.ByteArrayStatistics:
		if isDecimal {
			return fromTwosComplement(s.Min()), fromTwosComplement(s.Max()), nil
		}
		return append([]byte{}, s.Min()...), append([]byte{}, s.Max()...), nil
	default:
		return nil, nil, nil
	}
}

func less(a, b any) bool {
	switch a := a.(type) {
	case bool:
		return !a && b.(bool)
	case int64:
		return a < b.(int64)
	case float64:
		return a < b.(float64)
	case *big.Int:
		return a.Cmp(b.(*big.Int)) < 0
	case []byte:
		return bytes.Compare(a, b.([]byte)) < 0
	default:
		return false
	}
}

// addBounds encodes a field's bounds as single-value bytes.
func (w *Writer) addBounds(file *seracv1.DataFile, f *iceberg.Field, low, high any) error {
	width := w.metrics[f.ID].truncate
	switch t := f.Iceberg.(type) {
	case ice.StringType, ice.BinaryType:
		_, text := t.(ice.StringType)
		file.LowerBounds[f.ID] = append([]byte{}, lowerBytes(low.([]byte), width, text)...)
		if bound, ok := upperBytes(high.([]byte), width, text); ok {
			file.UpperBounds[f.ID] = append([]byte{}, bound...)
		}
		return nil
	case ice.FixedType:
		if len(low.([]byte)) != t.Len() || len(high.([]byte)) != t.Len() {
			return nil // bounds cut short are no values of the type
		}
	case ice.Float32Type, ice.Float64Type:
		// 0.0 and -0.0 are equal to Parquet's writers, and ordered to Iceberg's readers.
		if low.(float64) == 0 {
			low = math.Copysign(0, -1)
		}
		if high.(float64) == 0 {
			high = 0.0
		}
	}
	lower, err := boundValue(f.Iceberg, low)
	if err != nil {
		return err
	}
	upper, err := boundValue(f.Iceberg, high)
	if err != nil {
		return err
	}
	if file.LowerBounds[f.ID], err = iceberg.EncodeValue(f.Iceberg, lower); err != nil {
		return err
	}
	file.UpperBounds[f.ID], err = iceberg.EncodeValue(f.Iceberg, upper)
	return err
}

// boundValue is a bound as EncodeValue takes it.
func boundValue(t ice.Type, v any) (any, error) {
	switch t := t.(type) {
	case ice.BooleanType:
		return v, nil
	case ice.Int32Type:
		return int32(v.(int64)), nil
	case ice.Int64Type:
		return v, nil
	case ice.Float32Type:
		return float32(v.(float64)), nil
	case ice.Float64Type:
		return v, nil
	case ice.DateType:
		return ice.Date(v.(int64)), nil
	case ice.TimeType:
		return ice.Time(v.(int64)), nil
	case ice.TimestampType, ice.TimestampTzType:
		return ice.Timestamp(v.(int64)), nil
	case ice.TimestampNsType:
		return ice.TimestampNano(v.(int64)), nil
	case ice.FixedType:
		return v, nil
	case ice.UUIDType:
		return uuid.FromBytes(v.([]byte))
	case ice.DecimalType:
		n, ok := v.(*big.Int)
		if !ok {
			n = big.NewInt(v.(int64))
		}
		return ice.Decimal{Val: decimal128.FromBigInt(n), Scale: t.Scale()}, nil
	default:
		return nil, fmt.Errorf("a bound of type %s", t)
	}
}

func fromTwosComplement(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}
