package duckdb

import (
	"fmt"
	"math"
	"math/big"
	"runtime"
	"strings"
)

// AverageFunction is the name of a scalar function of every database opened here: it finishes an average from its sum
// and its count as DuckDB's avg does, to the last digit. Its arguments are the sum as a HUGEINT or a DECIMAL(38,s), the
// count as a BIGINT, that s as an INTEGER, and whether DuckDB divides values of their type in plain doubles. Without values
// it is NULL.
//
// DuckDB divides in C's long double, which SQL has no type for.
const AverageFunction = "serac_average"

func average() ScalarFunction {
	return ScalarFunction{
		Name: AverageFunction, Params: []string{"ANY", "BIGINT", "INTEGER", "BOOLEAN"}, Returns: "DOUBLE",
		Fn: func(args []Vector, out Vector) error {
			if t := args[0].Type(); t != "HUGEINT" && !strings.HasPrefix(t, "DECIMAL(38,") {
				return fmt.Errorf("%s: a sum of type %s", AverageFunction, t)
			}
			sums, counts, scales, plain := Slice[HugeInt](args[0]), Slice[int64](args[1]), Slice[int32](args[2]), Slice[bool](args[3])
			results := Slice[float64](out)
			for i := range results {
				if !args[0].Valid(i) || !args[1].Valid(i) || counts[i] == 0 {
					out.SetNull(i)
					continue
				}
				results[i] = divideAverage(sums[i], counts[i], scales[i], plain[i])
			}
			return nil
		},
	}
}

// longDouble is the precision in bits of C's long double.
var longDouble = func() uint {
	switch {
	case runtime.GOARCH == "amd64":
		return 64
	case runtime.GOOS == "darwin" || runtime.GOOS == "windows":
		return 53
	}
	return 113
}()

// divideAverage is sum / (count * 10^scale): in doubles if plain, else in long doubles, rounded to a double at the end.
func divideAverage(sum HugeInt, count int64, scale int32, plain bool) float64 {
	factor := math.Pow10(int(scale))
	if n, ok := exactInt(sum); ok {
		dividend, divisor := float64(n), float64(count)*factor
		quotient := dividend / divisor
		if plain || !roundsTwice(dividend, divisor, quotient) {
			return quotient
		}
	}
	precision := longDouble
	if plain {
		precision = 53
	}
	float := func() *big.Float { return new(big.Float).SetPrec(precision) }
	divisor := float().Mul(float().SetInt64(count), float().SetFloat64(factor))
	result, _ := float().Quo(floatOf(sum, float), divisor).Float64()
	return result
}

// floatOf converts as DuckDB does, rounding where it rounds.
func floatOf(v HugeInt, float func() *big.Float) *big.Float {
	if v.Upper < 0 {
		v.Lower, v.Upper = -v.Lower, ^v.Upper
		if v.Lower == 0 {
			v.Upper++
		}
		r := floatOf(v, float)
		return r.Neg(r)
	}
	high := float().SetMantExp(float().SetInt64(v.Upper), 64)
	return high.Add(float().SetUint64(v.Lower), high)
}

// exactInt is the value if a double holds it exactly.
func exactInt(v HugeInt) (int64, bool) {
	n := int64(v.Lower)
	const limit = 1 << 53
	if v.Upper != n>>63 || n < -limit || n > limit {
		return 0, false
	}
	return n, true
}

// roundsTwice says whether the exact quotient may lie so near the middle between two doubles that rounding to a long
// double first, and then to a double, could give another double.
func roundsTwice(dividend, divisor, quotient float64) bool {
	if quotient == 0 {
		return false
	}
	if divisor > 1<<53 || math.Abs(quotient) < 1e-200 {
		return true
	}
	rest := math.Abs(math.FMA(-quotient, divisor, dividend)) / divisor
	size := math.Abs(quotient)
	step := math.Nextafter(size, math.Inf(1)) - size
	below := size - math.Nextafter(size, 0)
	const near = 1.0 / 256
	return math.Abs(rest-step/2) < step*near || math.Abs(rest-below/2) < below*near
}
