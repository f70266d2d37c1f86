package write

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	ice "github.com/apache/iceberg-go"
	"github.com/twmb/murmur3"

	"github.com/seracdb/serac/internal/duckdb"
)

// keyFunction is the scalar function iceberg_partition_key(transform, value): a partition value as a text that tells all
// values and NULL apart, and that a directory may be named by. "n" is NULL; "v" begins a value: a whole number for numbers
// (decimals unscaled), dates and times, DuckDB's text for floats and UUIDs, hexadecimal for strings and binaries; "h" begins
// the hash of a string or binary too long for a directory's name, whose value Collect reads from the file.
const keyFunction = "iceberg_partition_key"

const (
	nullKey  = "n"
	valueKey = 'v'
	hashKey  = 'h'
	// maxKeyBytes is the longest string or binary that is its own key: twice as many hexadecimal digits, several keys to
	// a path, must fit into it.
	maxKeyBytes = 48
)

// Functions are the scalar functions that partition expressions call. Every database that runs a write, or an exchange
// before one, registers them.
func Functions() []duckdb.ScalarFunction {
	return []duckdb.ScalarFunction{{
		Name: keyFunction, Params: []string{"VARCHAR", "ANY"}, Returns: "VARCHAR", Fn: partitionKeys,
	}}
}

func partitionKeys(args []duckdb.Vector, out duckdb.Vector) error {
	if out.Len() == 0 {
		return nil
	}
	if !args[0].Valid(0) {
		return fmt.Errorf("the transform is NULL")
	}
	// The transform is a constant of the statement.
	transform, err := ice.ParseTransform(string(args[0].Bytes(0)))
	if err != nil {
		return err
	}
	appendKey, err := keyOf(transform, args[1])
	if err != nil {
		return err
	}
	var key []byte
	for i := range out.Len() {
		if !args[1].Valid(i) {
			out.SetBytes(i, []byte(nullKey))
			continue
		}
		key = appendKey(key[:0], i)
		out.SetBytes(i, key)
	}
	return nil
}

// keyOf is a function that appends the key of a vector's valid row i.
func keyOf(transform ice.Transform, v duckdb.Vector) (func(key []byte, i int) []byte, error) {
	name := v.Type()
	refuse := func() (func([]byte, int) []byte, error) {
		return nil, fmt.Errorf("%s does not take values of type %s", transform, name)
	}
	if _, ok := transform.(ice.VoidTransform); ok {
		return func(key []byte, _ int) []byte { return append(key, nullKey...) }, nil
	}
	switch name {
	case "BOOLEAN":
		if _, ok := transform.(ice.IdentityTransform); !ok {
			return refuse()
		}
		values := duckdb.Slice[bool](v)
		return func(key []byte, i int) []byte { return strconv.AppendBool(append(key, valueKey), values[i]) }, nil
	case "FLOAT", "DOUBLE":
		if _, ok := transform.(ice.IdentityTransform); !ok {
			return refuse()
		}
		if name == "FLOAT" {
			values := duckdb.Slice[float32](v)
			return func(key []byte, i int) []byte {
				return strconv.AppendFloat(append(key, valueKey), float64(values[i]), 'g', -1, 32)
			}, nil
		}
		values := duckdb.Slice[float64](v)
		return func(key []byte, i int) []byte {
			return strconv.AppendFloat(append(key, valueKey), values[i], 'g', -1, 64)
		}, nil
	case "VARCHAR", "BLOB":
		return bytesKey(transform, v, name == "VARCHAR")
	case "UUID":
		return uuidKey(transform, v)
	}
	if strings.HasPrefix(name, "DECIMAL(") {
		return decimalKey(transform, v, name)
	}
	values, unit, ok := integers(v, name)
	if !ok {
		return refuse()
	}
	of, err := integerTransform(transform, unit)
	if err != nil {
		return refuse()
	}
	return func(key []byte, i int) []byte { return strconv.AppendInt(append(key, valueKey), of(values(i)), 10) }, nil
}

// unit is what an integer counts.
type unit int64

const (
	plainNumber  unit = 0
	days         unit = -1
	microsOfDay  unit = -2
	microseconds unit = 1
	nanoseconds  unit = 1000 // in a microsecond
)

// integers reads vectors of whole numbers, dates and times.
func integers(v duckdb.Vector, name string) (func(i int) int64, unit, bool) {
	switch name {
	case "TINYINT":
		return widen(duckdb.Slice[int8](v)), plainNumber, true
	case "SMALLINT":
		return widen(duckdb.Slice[int16](v)), plainNumber, true
	case "INTEGER":
		return widen(duckdb.Slice[int32](v)), plainNumber, true
	case "BIGINT":
		return widen(duckdb.Slice[int64](v)), plainNumber, true
	case "DATE":
		return widen(duckdb.Slice[int32](v)), days, true
	case "TIME":
		return widen(duckdb.Slice[int64](v)), microsOfDay, true
	case "TIMESTAMP", "TIMESTAMP WITH TIME ZONE":
		return widen(duckdb.Slice[int64](v)), microseconds, true
	case "TIMESTAMP_NS":
		return widen(duckdb.Slice[int64](v)), nanoseconds, true
	default:
		return nil, 0, false
	}
}

func widen[T int8 | int16 | int32 | int64](values []T) func(i int) int64 {
	return func(i int) int64 { return int64(values[i]) }
}

// integerTransform is a transform of whole numbers of a unit; all results are whole numbers.
func integerTransform(transform ice.Transform, u unit) (func(int64) int64, error) {
	const dayMicros = 24 * 3600 * 1000000
	switch t := transform.(type) {
	case ice.IdentityTransform:
		return func(v int64) int64 { return v }, nil
	case ice.BucketTransform:
		return func(v int64) int64 {
			if u == nanoseconds {
				v = floorDiv(v, int64(nanoseconds)) // the specification hashes nanoseconds as microseconds
			}
			return bucket(hashLong(v), t.NumBuckets)
		}, nil
	case ice.TruncateTransform:
		if u != plainNumber {
			return nil, ice.ErrInvalidTransform
		}
		w := int64(t.Width)
		return func(v int64) int64 { return v - floorMod(v, w) }, nil
	}
	var toDays func(int64) int64
	switch u {
	case days:
		toDays = func(v int64) int64 { return v }
	case microseconds, nanoseconds:
		toDays = func(v int64) int64 { return floorDiv(v, dayMicros*int64(u)) }
	default:
		return nil, ice.ErrInvalidTransform
	}
	switch transform.(type) {
	case ice.YearTransform:
		return func(v int64) int64 { year, _ := civil(toDays(v)); return year - 1970 }, nil
	case ice.MonthTransform:
		return func(v int64) int64 { year, month := civil(toDays(v)); return (year-1970)*12 + month - 1 }, nil
	case ice.DayTransform:
		return toDays, nil
	case ice.HourTransform:
		if u == days {
			return nil, ice.ErrInvalidTransform
		}
		return func(v int64) int64 { return floorDiv(v, dayMicros/24*int64(u)) }, nil
	default:
		return nil, ice.ErrInvalidTransform
	}
}

// civil is the year and month of a day counted from 1970-01-01 in the proleptic Gregorian calendar.
func civil(day int64) (year, month int64) {
	// Eras of 400 years that begin on March 1st, so that the leap day comes last.
	const eraDays = 146097
	day += 719468 // from 0000-03-01
	era := floorDiv(day, eraDays)
	ofEra := day - era*eraDays
	yearOfEra := (ofEra - ofEra/1460 + ofEra/36524 - ofEra/(eraDays-1)) / 365
	ofYear := ofEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*ofYear + 2) / 153 // 0 is March
	month = shifted + 3
	year = yearOfEra + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func bytesKey(transform ice.Transform, v duckdb.Vector, text bool) (func(key []byte, i int) []byte, error) {
	switch t := transform.(type) {
	case ice.IdentityTransform:
		return func(key []byte, i int) []byte { return appendBytesKey(key, v.Bytes(i)) }, nil
	case ice.BucketTransform:
		return func(key []byte, i int) []byte {
			return strconv.AppendInt(append(key, valueKey), bucket(murmur3.Sum32(v.Bytes(i)), t.NumBuckets), 10)
		}, nil
	case ice.TruncateTransform:
		return func(key []byte, i int) []byte { return appendBytesKey(key, truncateBytes(v.Bytes(i), t.Width, text)) }, nil
	default:
		return nil, fmt.Errorf("%s does not take strings or binaries", transform)
	}
}

// truncateBytes is the first width code points of a text, or bytes of a binary.
func truncateBytes(b []byte, width int, text bool) []byte {
	if !text {
		return b[:min(width, len(b))]
	}
	end := 0
	for range width {
		if end == len(b) {
			break
		}
		_, n := utf8.DecodeRune(b[end:])
		end += n
	}
	return b[:end]
}

func appendBytesKey(key, b []byte) []byte {
	if len(b) <= maxKeyBytes {
		return hex.AppendEncode(append(key, valueKey), b)
	}
	hash := sha256.Sum256(b)
	return hex.AppendEncode(append(key, hashKey), hash[:])
}

func uuidKey(transform ice.Transform, v duckdb.Vector) (func(key []byte, i int) []byte, error) {
	values := duckdb.Slice[duckdb.HugeInt](v)
	of := func(i int) (b [16]byte) {
		binary.BigEndian.PutUint64(b[:8], uint64(values[i].Upper)^1<<63)
		binary.BigEndian.PutUint64(b[8:], values[i].Lower)
		return b
	}
	switch t := transform.(type) {
	case ice.IdentityTransform:
		return func(key []byte, i int) []byte { b := of(i); return hex.AppendEncode(append(key, valueKey), b[:]) }, nil
	case ice.BucketTransform:
		return func(key []byte, i int) []byte {
			b := of(i)
			return strconv.AppendInt(append(key, valueKey), bucket(murmur3.Sum32(b[:]), t.NumBuckets), 10)
		}, nil
	default:
		return nil, fmt.Errorf("%s does not take UUIDs", transform)
	}
}

func decimalKey(transform ice.Transform, v duckdb.Vector, name string) (func(key []byte, i int) []byte, error) {
	var width, scale int
	if _, err := fmt.Sscanf(name, "DECIMAL(%d,%d)", &width, &scale); err != nil {
		return nil, err
	}
	var of func(i int) *big.Int
	switch {
	case width <= 4:
		of = bigOf(duckdb.Slice[int16](v))
	case width <= 9:
		of = bigOf(duckdb.Slice[int32](v))
	case width <= 18:
		of = bigOf(duckdb.Slice[int64](v))
	default:
		values := duckdb.Slice[duckdb.HugeInt](v)
		of = func(i int) *big.Int {
			n := new(big.Int).Lsh(big.NewInt(values[i].Upper), 64)
			return n.Add(n, new(big.Int).SetUint64(values[i].Lower))
		}
	}
	switch t := transform.(type) {
	case ice.IdentityTransform:
		return func(key []byte, i int) []byte { return of(i).Append(append(key, valueKey), 10) }, nil
	case ice.BucketTransform:
		return func(key []byte, i int) []byte {
			return strconv.AppendInt(append(key, valueKey), bucket(murmur3.Sum32(twosComplement(of(i))), t.NumBuckets), 10)
		}, nil
	case ice.TruncateTransform:
		w := big.NewInt(int64(t.Width))
		return func(key []byte, i int) []byte {
			n := of(i)
			// Mod is Euclidean: never negative.
			return n.Sub(n, new(big.Int).Mod(n, w)).Append(append(key, valueKey), 10)
		}, nil
	default:
		return nil, fmt.Errorf("%s does not take decimals", transform)
	}
}

func bigOf[T int16 | int32 | int64](values []T) func(i int) *big.Int {
	return func(i int) *big.Int { return big.NewInt(int64(values[i])) }
}

// hashLong is the specification's hash of a whole number: its eight bytes, little-endian.
func hashLong(v int64) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v))
	return murmur3.Sum32(b[:])
}

func bucket(hash uint32, n int) int64 { return int64(hash&math.MaxInt32) % int64(n) }

// twosComplement is a number as two's-complement big-endian bytes, as few as hold it.
func twosComplement(n *big.Int) []byte {
	if n.Sign() >= 0 {
		b := n.Bytes()
		if len(b) == 0 || b[0]&0x80 != 0 {
			b = append([]byte{0}, b...)
		}
		return b
	}
	// -n-1 has the inverted bits.
	b := new(big.Int).Not(n).Bytes()
	if len(b) == 0 || b[0]&0x80 != 0 {
		b = append([]byte{0}, b...)
	}
	for i := range b {
		b[i] = ^b[i]
	}
	return b
}
