package codec

import (
	"slices"
	"strings"

	"github.com/seracdb/serac/plan"
)

// comparisons are Substrait's names of the comparisons, all over two values of any type.
var comparisons = map[plan.CompareOp]string{
	plan.Equal:           "equal",
	plan.NotEqual:        "not_equal",
	plan.Less:            "lt",
	plan.LessOrEqual:     "lte",
	plan.Greater:         "gt",
	plan.GreaterOrEqual:  "gte",
	plan.DistinctFrom:    "is_distinct_from",
	plan.NotDistinctFrom: "is_not_distinct_from",
}

// operators are the functions that operators travel as. OpIn has a form of its own in Substrait and travels as a function
// only where that cannot say its type.
var operators = map[plan.OperatorKind]struct {
	entity
	signature string
	// Arguments it must and may have; max 0 is any number.
	min, max int
}{
	plan.OpNot:       {entity{urnBoolean, "not"}, "bool", 1, 1},
	plan.OpIsNull:    {entity{urnComparison, "is_null"}, "any", 1, 1},
	plan.OpIsNotNull: {entity{urnComparison, "is_not_null"}, "any", 1, 1},
	plan.OpCoalesce:  {entity{urnComparison, "coalesce"}, "any", 1, 0},
	plan.OpIn:        {entity{urnPlan, "in"}, "any", 1, 0},
	plan.OpNotIn:     {entity{urnPlan, "not_in"}, "any", 1, 0},
	plan.OpTry:       {entity{urnPlan, "try"}, "any", 1, 1},
}

// The functions of urnPlan that are no operators, and their names as declared.
const (
	// functionDeclared is its argument, of a type that the plan declares where the argument itself cannot say it.
	functionDeclared = "declared"
	// functionBetween is BETWEEN with bounds that may be exclusive.
	functionBetween = "between"

	boundInclusive = "INCLUSIVE"
	boundExclusive = "EXCLUSIVE"
)

// The options of a call. Substrait refuses options that it does not know, as we do.
const (
	// optionNames are the names of the arguments, "" for none.
	optionNames = "argument_names"
	// optionParams is how many of the last value arguments are parameters.
	optionParams = "parameters"
	// optionOverflow is Substrait's; DuckDB fails.
	optionOverflow = "overflow"
	overflowError  = "ERROR"
)

// standardFunction is a function of DuckDB that Substrait has under another name, for the types for which both mean the
// same, the type of the result included.
type standardFunction struct {
	duckdb string
	entity
	applies   func(args []plan.Type, of plan.Type) bool
	overflows bool // takes the option overflow
}

var scalarFunctions = []standardFunction{
	{"+", entity{urnArithmetic, "add"}, sameIntegers, true},
	{"+", entity{urnArithmetic, "add"}, sameFloats, false},
	{"+", entity{urnArithmeticDecimal, "add"}, derivedDecimal(sumDecimal), true},
	{"-", entity{urnArithmetic, "subtract"}, sameIntegers, true},
	{"-", entity{urnArithmetic, "subtract"}, sameFloats, false},
	{"-", entity{urnArithmeticDecimal, "subtract"}, derivedDecimal(sumDecimal), true},
	{"*", entity{urnArithmetic, "multiply"}, sameIntegers, true},
	{"*", entity{urnArithmetic, "multiply"}, sameFloats, false},
	{"*", entity{urnArithmeticDecimal, "multiply"}, derivedDecimal(productDecimal), true},
	{"lower", entity{urnString, "lower"}, texts, false},
	{"upper", entity{urnString, "upper"}, texts, false},
}

var aggregateFunctions = []standardFunction{
	{"count_star", entity{urnAggregateGeneric, "count"}, func(args []plan.Type, of plan.Type) bool {
		return len(args) == 0 && is(of, plan.BigInt)
	}, true},
	{"count", entity{urnAggregateGeneric, "count"}, func(args []plan.Type, of plan.Type) bool {
		return len(args) == 1 && is(of, plan.BigInt)
	}, true},
	// DuckDB's sums of integers are HUGEINTs, Substrait's BIGINTs.
	{"sum", entity{urnArithmetic, "sum"}, func(args []plan.Type, of plan.Type) bool {
		return len(args) == 1 && (is(args[0], plan.Float) || is(args[0], plan.Double)) && is(of, plan.Double)
	}, false},
	{"sum", entity{urnArithmeticDecimal, "sum"}, func(args []plan.Type, of plan.Type) bool {
		return len(args) == 1 && is(args[0], plan.Decimal) && of.Equal(plan.DecimalType(38, args[0].Scale))
	}, true},
	// DuckDB's averages are DOUBLEs, Substrait's of the argument's type.
	{"avg", entity{urnArithmetic, "avg"}, func(args []plan.Type, of plan.Type) bool {
		return len(args) == 1 && is(args[0], plan.Double) && is(of, plan.Double)
	}, false},
	{"min", entity{urnArithmetic, "min"}, oneNumber, false},
	{"min", entity{urnArithmeticDecimal, "min"}, oneDecimal, false},
	{"max", entity{urnArithmetic, "max"}, oneNumber, false},
	{"max", entity{urnArithmeticDecimal, "max"}, oneDecimal, false},
}

// standard is the first function of a table that a call is, nil when there is none.
func standard(table []standardFunction, duckdb string, args []plan.Type, of plan.Type) *standardFunction {
	for i := range table {
		if f := &table[i]; f.duckdb == duckdb && f.applies(args, of) {
			return f
		}
	}
	return nil
}

// duckdbName is DuckDB's name of a standard function with n arguments, "" when it has none.
func duckdbName(table []standardFunction, f entity, n int) string {
	for i := range table {
		if table[i].entity == f {
			if name := table[i].duckdb; name != "count_star" || n == 0 {
				return name
			}
		}
	}
	return ""
}

func is(t plan.Type, k plan.Kind) bool { return t.Kind == k && t.Alias == "" }

var (
	integers = []plan.Kind{plan.TinyInt, plan.SmallInt, plan.Integer, plan.BigInt}
	floats   = []plan.Kind{plan.Float, plan.Double}
)

func sameOf(kinds []plan.Kind, n int, args []plan.Type, of plan.Type) bool {
	if len(args) != n || of.Alias != "" || !slices.Contains(kinds, of.Kind) {
		return false
	}
	for _, a := range args {
		if !a.Equal(of) {
			return false
		}
	}
	return true
}

func sameIntegers(args []plan.Type, of plan.Type) bool { return sameOf(integers, 2, args, of) }
func sameFloats(args []plan.Type, of plan.Type) bool   { return sameOf(floats, 2, args, of) }

func oneNumber(args []plan.Type, of plan.Type) bool {
	return sameOf(integers, 1, args, of) || sameOf(floats, 1, args, of)
}

func oneDecimal(args []plan.Type, of plan.Type) bool {
	return sameOf([]plan.Kind{plan.Decimal}, 1, args, of)
}

func texts(args []plan.Type, of plan.Type) bool {
	return sameOf([]plan.Kind{plan.Varchar}, 1, args, of)
}

// derivedDecimal says whether a result is of the width and scale that Substrait derives: exact is the type that holds
// every result, cut to 38 digits at the cost of digits after the point, of which at least six stay.
func derivedDecimal(exact func(a, b plan.Type) (width, scale int)) func([]plan.Type, plan.Type) bool {
	return func(args []plan.Type, of plan.Type) bool {
		if len(args) != 2 || !is(args[0], plan.Decimal) || !is(args[1], plan.Decimal) || !is(of, plan.Decimal) {
			return false
		}
		width, scale := exact(args[0], args[1])
		if width > 38 {
			scale = max(scale-(width-38), min(scale, 6))
			width = 38
		}
		return int(of.Width) == width && int(of.Scale) == scale
	}
}

func sumDecimal(a, b plan.Type) (int, int) {
	scale := max(int(a.Scale), int(b.Scale))
	return scale + max(int(a.Width)-int(a.Scale), int(b.Width)-int(b.Scale)) + 1, scale
}

func productDecimal(a, b plan.Type) (int, int) {
	return int(a.Width) + int(b.Width) + 1, int(a.Scale) + int(b.Scale)
}

// shortNames are the names of types in a function's signature.
var shortNames = map[plan.Kind]string{
	plan.Boolean: "bool", plan.TinyInt: "i8", plan.SmallInt: "i16", plan.Integer: "i32", plan.BigInt: "i64",
	plan.Float: "fp32", plan.Double: "fp64", plan.Decimal: "dec", plan.Varchar: "str",
}

// signature is a standard function's name as Substrait declares it: name:arg_arg.
func signature(name string, args []plan.Type) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = "any"
		if short, ok := shortNames[a.Kind]; ok && a.Alias == "" && name != "count" {
			parts[i] = short
		}
	}
	return name + ":" + strings.Join(parts, "_")
}

// bare is a function without its signature. DuckDB's functions have none (and colons may stand in their names).
func bare(f entity) entity {
	if f.urn != urnDuckDB {
		f.name, _, _ = strings.Cut(f.name, ":")
	}
	return f
}
