package scan

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"
)

func bytesOf(t *testing.T, lit ice.Literal) []byte {
	t.Helper()
	b, err := lit.MarshalBinary()
	require.NoError(t, err)
	return b
}

// Single-value bytes compare as the values do.
func TestKindsCompareAsTheirValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	check := func(k kind, a, b ice.Literal, want int) {
		t.Helper()
		got, ok := k.compare(bytesOf(t, a), bytesOf(t, b))
		require.True(t, ok)
		require.Equal(t, want, got, "%s, %s", a, b)
	}
	for range 2000 {
		large, small := rng.Int64()>>rng.IntN(64), rng.Int64()>>rng.IntN(64)
		x, y := large-small, rng.Int64()>>rng.IntN(64)
		check(int64Kind, ice.NewLiteral(x), ice.NewLiteral(y), cmp.Compare(x, y))
		check(int32Kind, ice.NewLiteral(int32(x)), ice.NewLiteral(int32(y)), cmp.Compare(int32(x), int32(y)))
		f, g := float64(x)/7, float64(y)/3
		check(float64Kind, ice.NewLiteral(f), ice.NewLiteral(g), cmp.Compare(f, g))
		check(float32Kind, ice.NewLiteral(float32(f)), ice.NewLiteral(float32(g)), cmp.Compare(float32(f), float32(g)))
		m, n := new(big.Int).Mul(big.NewInt(x), big.NewInt(1+rng.Int64N(1<<40))), big.NewInt(y)
		check(decimalKind, ice.NewLiteral(ice.Decimal{Val: decimal128.FromBigInt(m)}), ice.NewLiteral(ice.Decimal{Val: decimal128.FromBigInt(n)}), m.Cmp(n))
	}
	check(float64Kind, ice.NewLiteral(math.Copysign(0, -1)), ice.NewLiteral(0.0), 0)
	check(boolKind, ice.NewLiteral(false), ice.NewLiteral(true), -1)

	nan := bytesOf(t, ice.NewLiteral(math.NaN()))
	_, ok := float64Kind.compare(nan, bytesOf(t, ice.NewLiteral(1.0)))
	require.False(t, ok, "NaN has no order")
	_, ok = int64Kind.compare([]byte{1, 0, 0, 0}, bytesOf(t, ice.NewLiteral(int64(1))))
	require.False(t, ok, "a bound of a type before a promotion")

	low, high := bytes.Repeat([]byte{0x10}, 16), bytes.Repeat([]byte{0xf0}, 16)
	_, ok = uuidKind.compare(low, high)
	require.False(t, ok, "writers have disagreed on the order of these")
	order, ok := uuidKind.compare(low, bytes.Repeat([]byte{0x11}, 16))
	require.True(t, ok)
	require.Negative(t, order)
}

// What summaries of partition values say that others have got wrong.
func TestSummariesInDoubtKeepTheManifest(t *testing.T) {
	text := partitionField{kind: bytesKind}
	upper := []byte("z")
	s := summarySpan(ice.FieldSummary{UpperBound: &upper}, text)
	require.False(t, s.none(), "the empty text, written as no bound")
	require.Nil(t, s.lower)

	number := partitionField{kind: int32Kind, limit: math.MaxInt32 - 10}
	least, most := bytesOf(t, ice.NewLiteral(int32(0))), bytesOf(t, ice.NewLiteral(int32(math.MaxInt32-5)))
	s = summarySpan(ice.FieldSummary{LowerBound: &least, UpperBound: &most}, number)
	require.Nil(t, s.lower, "truncate has wrapped around")
	require.Nil(t, s.upper)
	s = summarySpan(ice.FieldSummary{LowerBound: &least, UpperBound: &least}, number)
	require.Equal(t, least, s.upper)

	require.True(t, summarySpan(ice.FieldSummary{ContainsNull: true}, partitionField{kind: int32Kind}).none())
	require.False(t, summarySpan(ice.FieldSummary{}, partitionField{kind: int32Kind}).none(), "a summary that says nothing")
	yes := true
	s = summarySpan(ice.FieldSummary{ContainsNull: true, ContainsNaN: &yes}, partitionField{kind: float64Kind})
	require.True(t, s.none())
	require.False(t, s.allNulls, "there is NaN, which IS NOT NULL")
}
