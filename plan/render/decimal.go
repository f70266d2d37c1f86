package render

import (
	"math/big"

	"github.com/seracdb/serac/plan"
)

// The bound arguments of decimal + - * carry casts to the result's width. Binding them again would widen the result by
// a digit per level, so the casts that DuckDB would add by itself are left out where the result type then comes out the
// same; else the result is cast.

const (
	maxDecimalWidth = 38
	maxInt64Width   = 18
)

func isDecimalArithmetic(name string) bool { return name == "+" || name == "-" || name == "*" }

// decimalResult is the type that DuckDB gives a op b for decimals of these types.
func decimalResult(name string, a, b plan.Type) (plan.Type, bool) {
	widest := max(int(a.Width), int(b.Width))
	var width, scale int
	if name == "*" {
		width, scale = int(a.Width)+int(b.Width), int(a.Scale)+int(b.Scale)
		if scale > maxDecimalWidth {
			return plan.Type{}, false
		}
		if width > maxInt64Width && widest <= maxInt64Width && scale < maxInt64Width {
			width = maxInt64Width
		}
	} else {
		scale = max(int(a.Scale), int(b.Scale))
		width = max(int(a.Width)-int(a.Scale), int(b.Width)-int(b.Scale)) + scale
		width = max(width, widest) + 1
		if width > maxInt64Width && widest <= maxInt64Width {
			width = maxInt64Width
		}
	}
	width = min(width, maxDecimalWidth)
	return plan.DecimalType(uint8(width), uint8(scale)), true
}

// naturalDecimal is the decimal type that an integer counts as in decimal arithmetic.
func naturalDecimal(k plan.Kind) (plan.Type, bool) {
	switch k {
	case plan.TinyInt, plan.UTinyInt:
		return plan.DecimalType(3, 0), true
	case plan.SmallInt, plan.USmallInt:
		return plan.DecimalType(5, 0), true
	case plan.Integer, plan.UInteger:
		return plan.DecimalType(10, 0), true
	case plan.BigInt:
		return plan.DecimalType(19, 0), true
	case plan.UBigInt:
		return plan.DecimalType(20, 0), true
	case plan.HugeInt, plan.UHugeInt:
		return plan.DecimalType(38, 0), true
	}
	return plan.Type{}, false
}

// candidate is one way to write an argument, and the decimal type that it then counts as.
type candidate struct {
	expr plan.Expr
	as   plan.Type
}

// candidates are the ways to write an argument of the arithmetic with the same value, the barest first.
func candidates(arg plan.Expr, name string, result plan.Type) []candidate {
	var out []candidate
	switch e := arg.(type) {
	case *plan.Cast:
		if e.Try || e.To.Kind != plan.Decimal {
			break
		}
		from := e.Arg.Type()
		// A cast that only widens changes no value; one to the result's type DuckDB makes again by itself.
		widens := int(e.To.Width)-int(e.To.Scale) >= int(from.Width)-int(from.Scale)
		if from.Kind == plan.Decimal && from.Scale <= e.To.Scale &&
			(name == "*" && widens && from.Scale == e.To.Scale || name != "*" && (widens || e.To.Equal(result))) {
			out = append(out, candidate{e.Arg, from})
		}
		if as, ok := naturalDecimal(from.Kind); ok {
			out = append(out, candidate{e.Arg, as})
		}
	case *plan.Constant:
		if n, ok := e.Value.(*big.Int); ok && e.Of.Kind == plan.Decimal {
			out = append(out, retyped(n, e.Of)...)
		}
	}
	if arg.Type().Kind == plan.Decimal {
		return append(out, candidate{arg, arg.Type()})
	}
	if as, ok := naturalDecimal(arg.Type().Kind); ok {
		out = append(out, candidate{arg, as})
	}
	return out
}

// retyped are narrower types for a constant of the same scale, widest first, down to its digits.
func retyped(n *big.Int, t plan.Type) []candidate {
	digits := len(new(big.Int).Abs(n).String())
	digits = max(digits, int(t.Scale), 1)
	var out []candidate
	for width := int(t.Width) - 1; width >= digits; width-- {
		as := plan.DecimalType(uint8(width), t.Scale)
		out = append(out, candidate{&plan.Constant{Value: n, Of: as}, as})
	}
	return out
}

func (w *writer) decimalArithmetic(e *plan.Call, cols []string) (string, error) {
	left := candidates(e.Args[0], e.Name, e.Of)
	right := candidates(e.Args[1], e.Name, e.Of)
	args := e.Args
	fits := false
search:
	for _, l := range left {
		for _, r := range right {
			if t, ok := decimalResult(e.Name, l.as, r.as); ok && t.Equal(e.Of) {
				if l.expr.Type().Kind != plan.Decimal && r.expr.Type().Kind != plan.Decimal {
					continue // two integers would bind to integer arithmetic
				}
				args, fits = []plan.Expr{l.expr, r.expr}, true
				break search
			}
		}
	}
	texts, err := w.exprs(args, cols)
	if err != nil {
		return "", err
	}
	text := "(" + texts[0] + " " + e.Name + " " + texts[1] + ")"
	if !fits {
		text = castFor(text, e.Of)
	}
	return text, nil
}
