package substrait

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seracdb/serac/plan"
)

// arithmetic writes a binary operator and says whether DuckDB's result has the type that the plan gives.
func arithmetic(op string) writer {
	return func(c *scalarCall) (string, error) {
		if len(c.args) == 3 {
			return zonedArithmetic(op, c)
		}
		args, err := c.values(2, 2)
		if err != nil {
			return "", err
		}
		a, b := c.args[0].of, c.args[1].of
		switch {
		case a.Equal(b) && a.Equal(c.of) && (integerKind(a.Kind) || a.Kind == plan.Double || a.Kind == plan.Float):
			c.exact = true
		case a.Kind == plan.Decimal && b.Kind == plan.Decimal:
			// Substrait derives the result's type, and so does DuckDB, with as many digits after the point or more. Some
			// producers write another: it is not believed.
			c.exact, c.of = true, decimalResult(op, a, b)
			if c.of.Width > smallDecimal && a.Width <= smallDecimal && b.Width <= smallDecimal {
				// DuckDB's result would be a small one as well, in which not everything fits.
				a.Width = smallDecimal + 1
				args[0] = cast(args[0], a)
				c.of = decimalResult(op, a, b)
			}
		}
		if a.Kind == plan.Date && b.Kind == plan.Interval && c.of.Kind == plan.Invalid {
			c.guess = plan.T(plan.Timestamp)
		}
		return "(" + args[0] + " " + op + " " + args[1] + ")", nil
	}
}

// smallDecimal is the width up to which DuckDB's decimals are integers of 64 bits, and their sums and products stay so.
const smallDecimal = 18

// decimalResult is the type of DuckDB's arithmetic.
func decimalResult(op string, a, b plan.Type) plan.Type {
	var width, scale int
	if op == "*" {
		width, scale = int(a.Width)+int(b.Width), int(a.Scale)+int(b.Scale)
	} else {
		scale = max(int(a.Scale), int(b.Scale))
		width = scale + max(int(a.Width)-int(a.Scale), int(b.Width)-int(b.Scale)) + 1
	}
	return plan.DecimalType(uint8(min(width, 38)), uint8(min(scale, 38)))
}

// divide truncates integers, and computes quotients of decimals in integers.
func divide(c *scalarCall) (string, error) {
	args, err := c.values(2, 2)
	if err != nil {
		return "", err
	}
	a, b := c.args[0].of, c.args[1].of
	x, y := args[0], args[1]
	if integerKind(a.Kind) && integerKind(b.Kind) {
		if y, err = c.divisor(y); err != nil {
			return "", err
		}
		c.exact = a.Equal(c.of) && b.Equal(c.of)
		return "(" + x + " // " + y + ")", nil
	}
	if text, ok := divideDecimals(c, x, y); ok {
		return text, nil
	}
	if a.Kind == plan.Decimal || b.Kind == plan.Decimal {
		return "(" + x + " / " + y + ")", nil
	}
	if _, err := c.option("on_domain_error", "NAN"); err != nil { // NaN goes on, and infinity by infinity is one
		return "", err
	}
	zero, err := c.option("on_division_by_zero", "IEEE", "NULL", "NAN", "ERROR")
	if err != nil {
		return "", err
	}
	text := "(" + x + " / " + y + ")"
	if zero == "IEEE" {
		return text, nil
	}
	then := map[string]string{"NULL": "NULL", "NAN": "'nan'::DOUBLE", "ERROR": failing("division by zero")}[zero]
	return "(CASE WHEN " + y + " = 0 THEN " + then + " ELSE " + text + " END)", nil
}

// divisor is the divisor of integers. DuckDB's result is NULL where it is zero.
func (c *scalarCall) divisor(y string) (string, error) {
	zero, err := c.option("on_division_by_zero", "NULL", "ERROR")
	if err != nil || zero == "NULL" {
		return y, err
	}
	return "(CASE WHEN " + y + " = 0 THEN " + failing("division by zero") + " ELSE " + y + " END)", nil
}

// quotientType is the type that Substrait derives for a quotient of decimals.
func quotientType(a, b plan.Type) plan.Type {
	scale := max(6, int(a.Scale)+int(b.Width)+1)
	width := int(a.Width) - int(a.Scale) + int(b.Width) + scale
	if width > 38 {
		scale = max(scale-(width-38), min(scale, 6))
		width = 38
	}
	return plan.DecimalType(uint8(width), uint8(scale))
}

// digits is the width of HUGEINT that calculations below stay in: three times a number of as many digits fits.
const digits = 37

// divideDecimals writes a quotient of decimals as one of HUGEINTs, rounded half away from zero: DuckDB itself divides decimals
// as DOUBLEs. ok is false where the digits cannot fit.
func divideDecimals(c *scalarCall, x, y string) (text string, ok bool) {
	a, okA := asDecimal(c.args[0].of)
	b, okB := asDecimal(c.args[1].of)
	if !okA || !okB {
		return "", false
	}
	of := c.of
	if of.Kind == plan.Invalid {
		of = quotientType(a, b)
	}
	if of.Kind != plan.Decimal {
		return "", false
	}
	// x / y = n / d, n and d being integers, and n has to have `more` digits more than it has.
	more := int(of.Scale) + int(b.Scale) - int(a.Scale)
	n, d := unscaled(x, a), unscaled(y, b)
	widthN, widthD := int(a.Width), int(b.Width)
	if more < 0 {
		d, widthD, more = "("+d+" * "+hugePower(-more)+")", widthD-more, 0
	}
	if more >= digits || widthD > 38 {
		return "", false
	}
	nudge := "sign(" + n + ") * abs(" + d + ")" // half of the divisor, doubled
	var quotient string
	if widthN+more <= digits && widthD <= digits {
		quotient = fmt.Sprintf("((2 * %s * %s + %s) // (2 * %s))", n, hugePower(more), nudge, d)
	} else {
		quotient = fmt.Sprintf("((%[1]s // %[2]s) * %[3]s + (2 * (%[1]s %% %[2]s) * %[3]s + %[4]s) // (2 * %[2]s))", n, d, hugePower(more), nudge)
	}
	result := cast(quotient, plan.DecimalType(of.Width, 0))
	if of.Scale > 0 {
		unit := "CAST('0." + strings.Repeat("0", int(of.Scale)-1) + "1' AS " + plan.DecimalType(of.Scale, of.Scale).SQL() + ")"
		result = cast(cast(quotient, plan.DecimalType(38, 0))+" * "+unit, of)
	}
	c.of, c.exact = of, true
	if widthD+more <= digits {
		return result, true
	}
	// A divisor of very many digits leaves no room for the remainder's.
	return fmt.Sprintf("(CASE WHEN abs(%s) < %s THEN %s ELSE %s END)", d, hugePower(digits-more), result, cast("("+x+" / "+y+")", of)), true
}

// asDecimal is a type of exact numbers as DECIMAL.
func asDecimal(t plan.Type) (plan.Type, bool) {
	if t.Kind == plan.Decimal {
		return t, true
	}
	width, ok := map[plan.Kind]uint8{plan.TinyInt: 3, plan.SmallInt: 5, plan.Integer: 10, plan.BigInt: 19}[t.Kind]
	return plan.DecimalType(width, 0), ok
}

// unscaled is a decimal as the integer of its digits.
func unscaled(x string, of plan.Type) string {
	width, scale := int(of.Width), int(of.Scale)
	huge := plan.T(plan.HugeInt)
	switch {
	case scale == 0:
		return cast(x, huge)
	case max(width, smallDecimal+1)+scale < 38:
		of.Width = max(of.Width, smallDecimal+1)
		return cast(cast(x, of)+" * CAST(1"+strings.Repeat("0", scale)+" AS "+plan.DecimalType(uint8(scale+1), 0).SQL()+")", huge)
	}
	return cast("replace("+cast(cast(x, of), plan.T(plan.Varchar))+", '.', '')", huge)
}

func hugePower(n int) string { return cast("1"+strings.Repeat("0", n), plan.T(plan.HugeInt)) }

func modulo(c *scalarCall) (string, error) {
	args, err := c.values(2, 2)
	if err != nil {
		return "", err
	}
	if _, err := c.option("division_type", "TRUNCATE"); err != nil {
		return "", err
	}
	zero, err := c.option("on_domain_error", "NULL", "ERROR")
	if err != nil {
		return "", err
	}
	text := "(" + args[0] + " % " + args[1] + ")"
	if zero == "ERROR" {
		text = "(CASE WHEN " + args[1] + " = 0 THEN " + failing("division by zero") + " ELSE " + text + " END)"
	}
	return text, nil
}

// exactDoubles are the integers up to which every one is a DOUBLE.
const exactDoubles = "9007199254740992"

// power is DuckDB's, which computes in DOUBLE: integers beyond those that it holds exactly are an error.
func power(c *scalarCall) (string, error) {
	text, err := called("pow", 2, 2)(c)
	if err != nil {
		return "", err
	}
	if _, err := c.option("complex_number_result", "NAN"); err != nil {
		return "", err
	}
	if integerKind(c.args[0].of.Kind) && integerKind(c.args[1].of.Kind) {
		return "(CASE WHEN abs(" + text + ") <= " + exactDoubles + " THEN " + text + " ELSE " + failing("power of integers out of range") + " END)", nil
	}
	_, err = c.option("overflow", "SILENT")
	return text, err
}

// domain writes a function of the first argument's domain. outside is a condition with the argument as %[1]s, and of a second
// one as %[2]s; does is what DuckDB does there.
func domain(name string, n int, outside, does string) writer {
	return func(c *scalarCall) (string, error) {
		args, err := c.values(n, n)
		if err != nil {
			return "", err
		}
		text := name + "(" + strings.Join(args, ", ") + ")"
		want, err := c.option("on_domain_error", slices.Compact([]string{does, "NAN", "ERROR"})...)
		if err != nil || want == does {
			return text, err
		}
		boxed := make([]any, n)
		for i, a := range args {
			boxed[i] = a
		}
		then := "'nan'::DOUBLE"
		if want == "ERROR" {
			then = failing(name + " of a value outside of its domain")
		}
		return "(CASE WHEN " + fmt.Sprintf(outside, boxed...) + " THEN " + then + " ELSE " + text + " END)", nil
	}
}

// logarithm writes one, with %[1]s for its argument and %[2]s for its base. pole is where it is minus infinity; DuckDB's fail
// there and below.
func logarithm(format string, n int, pole string) writer {
	write := template(format, n)
	return func(c *scalarCall) (string, error) {
		text, err := write(c)
		if err != nil {
			return "", err
		}
		zero, err := c.option("on_log_zero", "ERROR", "NAN", "MINUS_INFINITY")
		if err != nil {
			return "", err
		}
		below, err := c.option("on_domain_error", "ERROR", "NAN", "NULL")
		if err != nil {
			return "", err
		}
		values := map[string]string{"NAN": "'nan'::DOUBLE", "NULL": "NULL", "MINUS_INFINITY": "'-inf'::DOUBLE"}
		cases := ""
		if zero != "ERROR" {
			cases += " WHEN " + c.args[0].sql + " = " + pole + " THEN " + values[zero]
		}
		if below != "ERROR" {
			cases += " WHEN " + c.args[0].sql + " < " + pole + " THEN " + values[below]
		}
		if cases == "" {
			return text, nil
		}
		return "(CASE" + cases + " ELSE " + text + " END)", nil
	}
}

// log1p keeps the digits of arguments near zero, which 1 + x loses.
const log1p = "(CASE WHEN 1 + CAST(%[1]s AS DOUBLE) = 1 OR CAST(%[1]s AS DOUBLE) = 'inf'::DOUBLE THEN CAST(%[1]s AS DOUBLE)" +
	" ELSE ln(1 + CAST(%[1]s AS DOUBLE)) * CAST(%[1]s AS DOUBLE) / ((1 + CAST(%[1]s AS DOUBLE)) - 1) END)"

// shiftRight keeps the sign, by however many bits it shifts: DuckDB's result beyond the last bit is 0.
func shiftRight(c *scalarCall) (string, error) {
	args, err := c.values(2, 2)
	if err != nil {
		return "", err
	}
	bits := map[plan.Kind]int{plan.TinyInt: 7, plan.SmallInt: 15, plan.Integer: 31}[c.args[0].of.Kind]
	if bits == 0 {
		bits = 63
	}
	return fmt.Sprintf("(%s >> least(%s, %d))", args[0], args[1], bits), nil
}

// round is half away from zero, of decimals and floating-point numbers.
func round(c *scalarCall) (string, error) {
	if _, err := c.option("rounding", "TIE_AWAY_FROM_ZERO"); err != nil {
		return "", err
	}
	return called("round", 1, 2)(c)
}
