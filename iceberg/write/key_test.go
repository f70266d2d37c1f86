package write

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/murmur3"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/internal/duckdb"
)

func openConn(t *testing.T) *duckdb.Conn {
	t.Helper()
	db, err := duckdb.Open(context.Background(), duckdb.Options{Threads: 2, Register: Functions()})
	require.NoError(t, err)
	conn, err := db.Conn(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()); require.NoError(t, db.Close()) })
	return conn
}

// The hash values that the specification publishes (Appendix B), taken modulo the greatest bucket count.
func TestBucketHashesOfTheSpecification(t *testing.T) {
	const n = math.MaxInt32
	conn := openConn(t)
	for sql, hash := range map[string]int32{
		"34::INTEGER":                                  2017239379,
		"34::BIGINT":                                   2017239379,
		"14.20::DECIMAL(4,2)":                          -500754589,
		"14.20::DECIMAL(9,2)":                          -500754589,
		"14.20::DECIMAL(18,2)":                         -500754589,
		"14.20::DECIMAL(38,2)":                         -500754589,
		"DATE '2017-11-16'":                            -653330422,
		"TIME '22:31:08'":                              -662762989,
		"TIMESTAMP '2017-11-16 22:31:08'":              -2047944441,
		"TIMESTAMP '2017-11-16 22:31:08.000001'":       -1207196810,
		"TIMESTAMPTZ '2017-11-16 14:31:08-08'":         -2047944441,
		"TIMESTAMPTZ '2017-11-16 14:31:08.000001-08'":  -1207196810,
		"TIMESTAMP_NS '2017-11-16 22:31:08'":           -2047944441,
		"TIMESTAMP_NS '2017-11-16 22:31:08.000001001'": -1207196810,
		"'iceberg'":                                    1210000089,
		"'f79c3e09-677c-4bbd-a479-3f349cb785e7'::UUID": 1488055340,
		`'\x00\x01\x02\x03'::BLOB`:                     -188683207,
	} {
		key, err := conn.Text(context.Background(), fmt.Sprintf("SELECT iceberg_partition_key('bucket[%d]', %s)", n, sql))
		require.NoError(t, err, sql)
		require.Equal(t, fmt.Sprintf("v%d", int64(uint32(hash)&math.MaxInt32)%n), key, sql)
	}
	require.EqualValues(t, int32(2017239379), int32(hashLong(34)))
	require.EqualValues(t, int32(-500754589), int32(murmur3.Sum32(twosComplement(big.NewInt(1420)))))
}

// sample is a type with values as DuckDB and as Iceberg has them.
type sample struct {
	typ    ice.Type
	duckdb string
	value  func(r *rand.Rand) (sql string, v any)
}

func edgy(r *rand.Rand, low, high int64) int64 {
	switch r.Intn(4) {
	case 0:
		return []int64{low, low + 1, -1, 0, 1, high - 1, high}[r.Intn(7)]
	case 1:
		return max(low, min(high, r.Int63n(2001)-1000))
	default:
		return max(low, min(high, int64(r.Uint64())>>r.Intn(63)))
	}
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, r.Intn(80))
	r.Read(b)
	return b
}

func samples() []sample {
	// DuckDB's timestamps begin in 290309 BC; all values here are within both sides' range, and iceberg-go's own year and
	// month transforms within time.Time's.
	const (
		micros    = 9_000_000_000_000_000
		dayMicros = 24 * 3600 * 1_000_000
	)
	p := ice.PrimitiveTypes
	integer := func(typ ice.Type, duck string, low, high int64, of func(int64) any) sample {
		return sample{typ, duck, func(r *rand.Rand) (string, any) {
			n := edgy(r, low, high)
			return fmt.Sprintf("(%d)::HUGEINT::%s", n, duck), of(n)
		}}
	}
	made := func(typ ice.Type, duck, format string, low, high int64, of func(int64) any) sample {
		return sample{typ, duck, func(r *rand.Rand) (string, any) {
			n := edgy(r, low, high)
			return fmt.Sprintf(format, n), of(n)
		}}
	}
	timestamp := func(n int64) any { return ice.Timestamp(n) }
	out := []sample{
		integer(p.Int32, "INTEGER", math.MinInt32, math.MaxInt32, func(n int64) any { return int32(n) }),
		integer(p.Int64, "BIGINT", math.MinInt64, math.MaxInt64, func(n int64) any { return n }),
		made(p.Date, "DATE", "DATE '1970-01-01' + (%d)::INTEGER", -800000, 2000000, func(n int64) any { return ice.Date(n) }),
		made(p.Time, "TIME", "TIME '00:00:00' + to_microseconds(abs(%d))", 1-dayMicros, dayMicros-1, func(n int64) any { return ice.Time(max(n, -n)) }),
		made(p.Timestamp, "TIMESTAMP", "make_timestamp(%d)", -micros, micros, timestamp),
		made(p.TimestampTz, "TIMESTAMPTZ", "to_timestamp(0) + to_microseconds(%d)", -micros, micros, timestamp),
		made(p.TimestampNs, "TIMESTAMP_NS", "make_timestamp_ns(%d)", -9e18, 9e18, func(n int64) any { return ice.TimestampNano(n) }),
		{p.Bool, "BOOLEAN", func(r *rand.Rand) (string, any) { b := r.Intn(2) == 0; return fmt.Sprint(b), b }},
		{p.Float32, "FLOAT", func(r *rand.Rand) (string, any) {
			f := []float32{0, float32(math.Copysign(0, -1)), 1.5, float32(math.Inf(1)), r.Float32(), math.SmallestNonzeroFloat32}[r.Intn(6)]
			return fmt.Sprintf("'%v'::FLOAT", f), f
		}},
		{p.Float64, "DOUBLE", func(r *rand.Rand) (string, any) {
			f := []float64{0, math.Copysign(0, -1), -1e300, math.Inf(-1), r.NormFloat64(), 5e-324}[r.Intn(6)]
			return fmt.Sprintf("'%v'::DOUBLE", f), f
		}},
		{p.String, "VARCHAR", func(r *rand.Rand) (string, any) {
			var b strings.Builder
			for range r.Intn(30) {
				b.WriteRune([]rune{'a', 'é', '漢', '🧊', '/', '%', '\'', ' ', '='}[r.Intn(9)])
			}
			return "'" + strings.ReplaceAll(b.String(), "'", "''") + "'", b.String()
		}},
		{p.Binary, "BLOB", func(r *rand.Rand) (string, any) {
			b := randomBytes(r)
			return fmt.Sprintf("from_hex('%x')", b), b
		}},
		{p.UUID, "UUID", func(r *rand.Rand) (string, any) {
			var u uuid.UUID
			r.Read(u[:])
			return "'" + u.String() + "'::UUID", u
		}},
	}
	for _, width := range []int{3, 8, 17, 38} {
		out = append(out, sample{ice.DecimalTypeOf(width, 2), fmt.Sprintf("DECIMAL(%d,2)", width), func(r *rand.Rand) (string, any) {
			limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(1+r.Intn(width))), nil)
			n := new(big.Int).Rand(r, limit)
			if r.Intn(2) == 0 {
				n.Neg(n)
			}
			d := ice.Decimal{Val: decimal128.FromBigInt(n), Scale: 2}
			return fmt.Sprintf("'%s'::DECIMAL(%d,2)", d.Val.ToString(2), width), d
		}})
	}
	return out
}

// Every transform of every type it takes, on random values, equals iceberg-go's.
func TestKeysEqualIcebergsTransforms(t *testing.T) {
	conn := openConn(t)
	r := rand.New(rand.NewSource(7))
	var tested int
	for _, s := range samples() {
		for _, name := range []string{"identity", "bucket[16]", "bucket[1]", "truncate[1]", "truncate[10]", "year", "month", "day", "hour", "void"} {
			transform, err := ice.ParseTransform(name)
			require.NoError(t, err)
			if !transform.CanTransform(s.typ) {
				_, err := conn.Text(context.Background(), fmt.Sprintf("SELECT iceberg_partition_key('%s', NULL::%s)", name, s.duckdb))
				require.Error(t, err, "%s of %s", name, s.typ)
				continue
			}
			const n = 60
			sqls, want := make([]string, n), make([]any, n)
			for i := range sqls {
				sql, v := s.value(r)
				sqls[i] = fmt.Sprintf("(%d, %s)", i, sql)
				lit, err := iceberg.EncodeValue(s.typ, v)
				require.NoError(t, err)
				in, err := ice.LiteralFromBytes(s.typ, lit)
				require.NoError(t, err)
				if out := transform.Apply(ice.Optional[ice.Literal]{Val: in, Valid: true}); out.Valid {
					want[i] = out.Val.Any()
				}
			}
			rows, err := conn.Rows(context.Background(), fmt.Sprintf("SELECT iceberg_partition_key('%s', v::%s) FROM (VALUES %s) t(i, v) ORDER BY i",
				name, s.duckdb, strings.Join(sqls, ", ")))
			require.NoError(t, err)
			for i, row := range rows {
				value, hashed, err := decodeKey(row[0].(string), transform.ResultType(s.typ))
				require.NoError(t, err)
				if want[i] == nil {
					require.Nil(t, value)
					continue
				}
				encoded, err := iceberg.EncodeValue(transform.ResultType(s.typ), want[i])
				require.NoError(t, err)
				if hashed {
					require.Greater(t, len(encoded), maxKeyBytes)
					continue
				}
				require.Equal(t, encoded, value, "%s of %s", name, sqls[i])
				tested++
			}
			null, err := conn.Text(context.Background(), fmt.Sprintf("SELECT iceberg_partition_key('%s', NULL::%s)", name, s.duckdb))
			require.NoError(t, err)
			require.Equal(t, nullKey, null)
		}
	}
	require.Greater(t, tested, 3000)
}

func TestCivil(t *testing.T) {
	for day := int64(-1_000_000); day < 1_000_000; day += 97 {
		want := time.Unix(day*86400, 0).UTC()
		year, month := civil(day)
		require.EqualValues(t, want.Year(), year, "%d", day)
		require.EqualValues(t, want.Month(), month, "%d", day)
	}
}

func TestTwosComplement(t *testing.T) {
	for n, want := range map[int64][]byte{0: {0}, 1: {1}, 127: {127}, 128: {0, 128}, -1: {0xff}, -128: {0x80}, -129: {0xff, 0x7f}, 255: {0, 255}, -256: {0xff, 0}} {
		got := twosComplement(big.NewInt(n))
		require.Equal(t, want, got, "%d", n)
		require.Equal(t, n, fromTwosComplement(got).Int64())
	}
}
