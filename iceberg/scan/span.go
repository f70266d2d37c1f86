package scan

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/iceberg/manifest"
)

// span is what is known of the values of a column, or of a partition field, in a file or in the files of a manifest. What
// is not known is zero, and rules nothing out.
type span struct {
	// lower and upper are single-value bytes; nil is unknown. They bound the values that are neither NULL nor NaN, and need
	// not be among them.
	lower, upper []byte
	// noNulls and noNaNs say that there are none, allNulls and allNaNs that there is nothing else.
	noNulls, allNulls, noNaNs, allNaNs bool
	// bare says that all values are NULL or NaN.
	bare bool
	// exact says that all values are lower.
	exact bool
}

// none says that there is no value to compare with.
func (s span) none() bool { return s.allNulls || s.allNaNs || s.bare }

// columnSpan is what a manifest says of a column in a file.
func columnSpan(f *manifest.File, id int) span {
	c := f.Column(id)
	return span{
		lower: c.Lower, upper: c.Upper,
		noNulls: c.Nulls == 0, allNulls: c.Values >= 0 && c.Values == c.Nulls,
		noNaNs: c.NaNs == 0, allNaNs: c.Values >= 0 && c.Values == c.NaNs,
	}
}

// valueSpan is a file's value of a partition field.
func valueSpan(f *manifest.File, field partitionField) span {
	value, ok := f.ValueBytes(field.id)
	switch {
	case !ok:
		return span{}
	case value == nil:
		return span{allNulls: true, noNaNs: true}
	case field.kind.isNaN(value):
		return span{allNaNs: true, noNulls: true}
	case field.wraps(value):
		return span{noNulls: true, noNaNs: true}
	}
	return span{lower: value, upper: value, exact: true, noNulls: true, noNaNs: true}
}

// summarySpan is what a manifest list says of a manifest's values of a partition field.
func summarySpan(summary ice.FieldSummary, field partitionField) span {
	s := span{noNulls: !summary.ContainsNull, noNaNs: summary.ContainsNaN != nil && !*summary.ContainsNaN}
	if field.kind.isBytes() && (summary.LowerBound == nil || summary.UpperBound == nil) {
		return s // iceberg-go 0.7.0 writes the empty text as no bound
	}
	if summary.LowerBound == nil && summary.UpperBound == nil {
		nans := field.kind.floating() && summary.ContainsNaN != nil && *summary.ContainsNaN
		s.bare = summary.ContainsNull || nans
		s.allNulls = summary.ContainsNull && (s.noNaNs || !field.kind.floating())
		s.allNaNs = s.noNulls && nans
		return s
	}
	if summary.LowerBound != nil {
		s.lower = *summary.LowerBound
	}
	if summary.UpperBound != nil {
		if s.upper = *summary.UpperBound; field.wraps(s.upper) {
			s.lower, s.upper = nil, nil
		}
	}
	return s
}

// kind is how the single-value bytes of a type compare.
type kind uint8

const (
	noKind kind = iota
	boolKind
	int32Kind
	int64Kind
	float32Kind
	float64Kind
	bytesKind // texts and binary: byte by byte
	uuidKind
	decimalKind
)

func kindOf(t ice.Type) kind {
	switch t.(type) {
	case ice.BooleanType:
		return boolKind
	case ice.Int32Type, ice.DateType:
		return int32Kind
	case ice.Int64Type, ice.TimeType, ice.TimestampType, ice.TimestampTzType, ice.TimestampNsType, ice.TimestampTzNsType:
		return int64Kind
	case ice.Float32Type:
		return float32Kind
	case ice.Float64Type:
		return float64Kind
	case ice.StringType, ice.BinaryType, ice.FixedType:
		return bytesKind
	case ice.UUIDType:
		return uuidKind
	case ice.DecimalType:
		return decimalKind
	default:
		return noKind
	}
}

func (k kind) floating() bool { return k == float32Kind || k == float64Kind }
func (k kind) isBytes() bool  { return k == bytesKind }

// isNaN says whether a value is NaN.
func (k kind) isNaN(v []byte) bool {
	f, ok := k.float(v)
	return ok && f != f
}

func (k kind) float(v []byte) (float64, bool) {
	switch {
	case k == float32Kind && len(v) == 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v))), true
	case k == float64Kind && len(v) == 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(v)), true
	}
	return 0, false
}

func (k kind) int(v []byte) (int64, bool) {
	switch {
	case k == boolKind && len(v) == 1:
		return int64(v[0]), true
	case k == int32Kind && len(v) == 4:
		return int64(int32(binary.LittleEndian.Uint32(v))), true
	case k == int64Kind && len(v) == 8:
		return int64(binary.LittleEndian.Uint64(v)), true
	}
	return 0, false
}

// compare orders two values; ok is false when they have no order: one of them is NaN, or not of the type's length, as the
// bounds of files from before a change of the type are.
func (k kind) compare(a, b []byte) (order int, ok bool) {
	switch k {
	case boolKind, int32Kind, int64Kind:
		x, okX := k.int(a)
		y, okY := k.int(b)
		return compareOrdered(x, y), okX && okY
	case float32Kind, float64Kind:
		x, okX := k.float(a)
		y, okY := k.float(b)
		return compareOrdered(x, y), okX && okY && x == x && y == y
	case bytesKind:
		return bytes.Compare(a, b), true
	case uuidKind:
		return compareUUID(a, b)
	case decimalKind:
		if len(a) == 0 || len(b) == 0 {
			return 0, false
		}
		return compareDecimal(a, b), true
	default:
		return 0, false
	}
}

func compareOrdered[T int64 | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// compareUUID orders only where the orders agree that writers have used: by unsigned bytes, and by two signed numbers.
func compareUUID(a, b []byte) (int, bool) {
	if len(a) != 16 || len(b) != 16 {
		return 0, false
	}
	order := bytes.Compare(a, b)
	for at := 0; at < 16; at += 8 {
		x, y := int64(binary.BigEndian.Uint64(a[at:])), int64(binary.BigEndian.Uint64(b[at:]))
		if x != y {
			return order, compareOrdered(x, y) == order
		}
	}
	return order, true
}

// compareDecimal compares unscaled values, which are big-endian in two's complement of any length.
func compareDecimal(a, b []byte) int {
	if len(a) <= 8 && len(b) <= 8 {
		return compareOrdered(shortDecimal(a), shortDecimal(b))
	}
	return longDecimal(a).Cmp(longDecimal(b))
}

func shortDecimal(b []byte) int64 {
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v
}

func longDecimal(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(len(b))*8))
	}
	return v
}
