package substrait

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
)

// argument is an argument of a call: a value, or an enum.
type argument struct {
	column
	enum string // "" for a value
	// text is the value of a string literal, which some producers write where Substrait has an enum.
	text string
	// null says that it is a literal NULL.
	null bool
}

func valueArgument(c column, e *pb.Expression) argument {
	_, null := e.GetLiteral().GetLiteralType().(*pb.Expression_Literal_Null)
	return argument{column: c, text: e.GetLiteral().GetString_(), null: null}
}

// arguments are those of a call over the innermost scope; old are in the form before Substrait 0.20.
func (t *translator) arguments(args []*pb.FunctionArgument, old []*pb.Expression) ([]argument, error) {
	var out []argument
	for i, a := range args {
		switch k := a.GetArgType().(type) {
		case *pb.FunctionArgument_Value:
			c, err := t.expression(k.Value)
			if err != nil {
				return nil, fmt.Errorf("argument %d: %w", i, err)
			}
			out = append(out, valueArgument(c, k.Value))
		case *pb.FunctionArgument_Enum:
			out = append(out, argument{enum: k.Enum})
		default:
			return nil, fmt.Errorf("argument %d: %T is not supported", i, k)
		}
	}
	for i, e := range old {
		c, err := t.expression(e)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		out = append(out, valueArgument(c, e))
	}
	return out, nil
}

var standardURN = regexp.MustCompile(`^(extension:)?io\.substrait:(functions|extension)_\w+$|(^|/)(functions_\w+\.yaml)?$`)

// standard says whether a function is of Substrait's own extensions: by their URNs, by the URIs that their files have had,
// or because the plan does not say whose it is.
func (f function) standard() bool { return standardURN.MatchString(f.urn) }

var (
	errArguments = errors.New("it does not take these arguments")
	errUnknown   = errors.New("it is not known")
)

func (t *translator) scalarCall(x *pb.Expression_ScalarFunction) (column, error) {
	f, err := t.function(x.GetFunctionReference())
	if err != nil {
		return column{}, err
	}
	args, err := t.arguments(x.GetArguments(), x.GetArgs())
	if err != nil {
		return column{}, fmt.Errorf("%s: %w", f, err)
	}
	of, err := t.optionalType(x.GetOutputType())
	if err != nil {
		return column{}, fmt.Errorf("%s: %w", f, err)
	}
	c, err := t.scalarFunction(f, args, options(x.GetOptions()), of)
	if err != nil {
		return column{}, fmt.Errorf("%s: %w", f, err)
	}
	return c, nil
}

// result is a call's text as a value of the type that the plan gives it; exact says that it is of that type already.
func (t *translator) result(text string, of plan.Type, exact bool) column {
	if exact || !scalarType(of) || of.Kind == plan.Boolean || of.Kind == plan.Varchar {
		return column{sql: text, of: of}
	}
	return column{sql: cast(text, of), of: of}
}

// scalarFunction is a call of a scalar function.
func (t *translator) scalarFunction(f function, args []argument, o options, of plan.Type) (column, error) {
	switch {
	case f.urn == codec.URNDuckDB:
		return t.duckDBCall(f, args, o, of)
	case f.urn == codec.URNPlan:
		return t.ownCall(f, args, of)
	case !f.standard():
		return column{}, errUnknown
	}
	write, ok := scalarFunctions[f.name]
	if !ok {
		return column{}, errUnknown
	}
	call := &scalarCall{name: f.name, args: args, options: o, of: of}
	text, err := write(call)
	if err != nil {
		return column{}, err
	}
	if err := o.check(args, call.own...); err != nil {
		return column{}, err
	}
	if of = call.of; of.Kind == plan.Invalid || call.guess.Kind == plan.Boolean {
		of = call.guess // DuckDB's producer gives comparisons the type of what they compare
	}
	return t.result(text, of, call.exact), nil
}

// scalarCall is a call that is being written.
type scalarCall struct {
	name    string
	args    []argument
	options options
	// of is the type of the result; Invalid when the plan does not give it.
	of plan.Type
	// What the writer may set: the options that it has looked at, that DuckDB's result has the type of, and a type for when
	// the plan gives none.
	own   []string
	exact bool
	guess plan.Type
}

// values are the arguments' texts, of which there must be from least to most (-1: any number).
func (c *scalarCall) values(least, most int) ([]string, error) {
	if len(c.args) < least || most >= 0 && len(c.args) > most {
		return nil, fmt.Errorf("it has %d arguments: %w", len(c.args), errArguments)
	}
	out := make([]string, len(c.args))
	for i, a := range c.args {
		if a.enum != "" {
			return nil, fmt.Errorf("argument %d is an enum: %w", i, errArguments)
		}
		out[i] = a.sql
	}
	return out, nil
}

// option looks at an option of the function.
func (c *scalarCall) option(name string, can ...string) (string, error) {
	c.own = append(c.own, name)
	return c.options.take(name, can...)
}

type writer func(*scalarCall) (string, error)

// called writes a call of DuckDB's function of a name.
func called(name string, least, most int) writer {
	return func(c *scalarCall) (string, error) {
		args, err := c.values(least, most)
		if err != nil {
			return "", err
		}
		return name + "(" + strings.Join(args, ", ") + ")", nil
	}
}

// template writes n arguments into a format.
func template(format string, n int) writer {
	return func(c *scalarCall) (string, error) {
		args, err := c.values(n, n)
		if err != nil {
			return "", err
		}
		boxed := make([]any, n)
		for i, a := range args {
			boxed[i] = a
		}
		return fmt.Sprintf(format, boxed...), nil
	}
}

// truth is template for functions that give a BOOLEAN.
func truth(format string, n int) writer {
	write := template(format, n)
	return func(c *scalarCall) (string, error) {
		c.guess = plan.T(plan.Boolean)
		return write(c)
	}
}

// joined writes any number of arguments with an operator between them.
func operatorBetween(op, none string) writer {
	return func(c *scalarCall) (string, error) {
		args, err := c.values(0, -1)
		if err != nil {
			return "", err
		}
		c.guess = plan.T(plan.Boolean)
		if len(args) == 0 {
			return none, nil
		}
		return "(" + strings.Join(args, op) + ")", nil
	}
}

// strictest is least and greatest as Substrait has them: NULL where an argument is.
func strictest(name string) writer {
	return func(c *scalarCall) (string, error) {
		args, err := c.values(1, -1)
		if err != nil {
			return "", err
		}
		nulls := make([]string, len(args))
		for i, a := range args {
			nulls[i] = "(" + a + " IS NULL)"
		}
		return "(CASE WHEN " + strings.Join(nulls, " OR ") + " THEN NULL ELSE " + name + "(" + strings.Join(args, ", ") + ") END)", nil
	}
}

// scalarFunctions are Substrait's scalar functions, of all of its extensions, and those that producers call by a name of
// their own without an extension, in DuckDB's SQL.
var scalarFunctions = map[string]writer{
	"add":         arithmetic("+"),
	"subtract":    arithmetic("-"),
	"multiply":    arithmetic("*"),
	"divide":      divide,
	"modulus":     modulo,
	"modulo":      modulo,
	"negate":      template("(- %s)", 1),
	"abs":         called("abs", 1, 1),
	"sign":        called("sign", 1, 1),
	"power":       power,
	"sqrt":        domain("sqrt", 1, "%[1]s < 0", "ERROR"),
	"exp":         called("exp", 1, 1),
	"cos":         called("cos", 1, 1),
	"sin":         called("sin", 1, 1),
	"tan":         called("tan", 1, 1),
	"cosh":        called("cosh", 1, 1),
	"sinh":        called("sinh", 1, 1),
	"tanh":        called("tanh", 1, 1),
	"acos":        domain("acos", 1, "abs(%[1]s) > 1", "ERROR"),
	"asin":        domain("asin", 1, "abs(%[1]s) > 1", "ERROR"),
	"atan":        called("atan", 1, 1),
	"acosh":       domain("acosh", 1, "%[1]s < 1", "NAN"),
	"asinh":       called("asinh", 1, 1),
	"atanh":       domain("atanh", 1, "abs(%[1]s) > 1", "ERROR"),
	"atan2":       called("atan2", 2, 2),
	"radians":     called("radians", 1, 1),
	"degrees":     called("degrees", 1, 1),
	"factorial":   template("factorial(CAST(%s AS INTEGER))", 1),
	"bitwise_not": template("(~ %s)", 1),
	"bitwise_and": template("(%s & %s)", 2),
	"bitwise_or":  template("(%s | %s)", 2),
	"bitwise_xor": called("xor", 2, 2),
	"shift_left":  template("(%s << %s)", 2),
	"shift_right": shiftRight,
	"ln":          logarithm("ln(%s)", 1, "0"),
	"log10":       logarithm("log10(%s)", 1, "0"),
	"log2":        logarithm("log2(%s)", 1, "0"),
	"logb":        logarithm("log(%[2]s, %[1]s)", 2, "0"),
	"log1p":       logarithm(log1p, 1, "-1"),
	"ceil":        called("ceil", 1, 1),
	"floor":       called("floor", 1, 1),
	"round":       round,

	"equal":                truth("(%s = %s)", 2),
	"not_equal":            truth("(%s <> %s)", 2),
	"lt":                   truth("(%s < %s)", 2),
	"lte":                  truth("(%s <= %s)", 2),
	"gt":                   truth("(%s > %s)", 2),
	"gte":                  truth("(%s >= %s)", 2),
	"between":              truth("(%s BETWEEN %s AND %s)", 3),
	"is_not_distinct_from": truth("(%s IS NOT DISTINCT FROM %s)", 2),
	"is_distinct_from":     truth("(%s IS DISTINCT FROM %s)", 2),
	"is_null":              truth("(%s IS NULL)", 1),
	"is_not_null":          truth("(%s IS NOT NULL)", 1),
	"is_true":              truth("(%s IS TRUE)", 1),
	"is_not_true":          truth("(%s IS NOT TRUE)", 1),
	"is_false":             truth("(%s IS FALSE)", 1),
	"is_not_false":         truth("(%s IS NOT FALSE)", 1),
	"is_nan":               truth("isnan(%s)", 1),
	"is_finite":            truth("isfinite(%s)", 1),
	"is_infinite":          truth("isinf(%s)", 1),
	"nullif":               called("nullif", 2, 2),
	"coalesce":             called("coalesce", 1, -1),
	"least":                strictest("least"),
	"greatest":             strictest("greatest"),
	"least_skip_null":      called("least", 1, -1),
	"greatest_skip_null":   called("greatest", 1, -1),

	"and":     operatorBetween(" AND ", "true"),
	"or":      operatorBetween(" OR ", "false"),
	"not":     truth("(NOT %s)", 1),
	"xor":     truth("(%s <> %s)", 2),
	"and_not": truth("(%s AND NOT %s)", 2),

	"concat":                 concat,
	"concat_ws":              called("concat_ws", 2, -1),
	"like":                   like,
	"substring":              substring("WRAP_FROM_END", "LEFT_OF_BEGINNING"),
	"substr":                 substring("LEFT_OF_BEGINNING", "WRAP_FROM_END"),
	"starts_with":            sensitive(called("starts_with", 2, 2), plan.Boolean),
	"ends_with":              sensitive(called("suffix", 2, 2), plan.Boolean),
	"contains":               sensitive(called("contains", 2, 2), plan.Boolean),
	"lower":                  called("lower", 1, 1),
	"upper":                  called("upper", 1, 1),
	"char_length":            called("length", 1, 1),
	"octet_length":           template("strlen(%s)", 1),
	"bit_length":             called("bit_length", 1, 1),
	"trim":                   called("trim", 1, 2),
	"ltrim":                  called("ltrim", 1, 2),
	"rtrim":                  called("rtrim", 1, 2),
	"btrim":                  called("trim", 1, 2),
	"left":                   called(`"left"`, 2, 2),
	"right":                  called(`"right"`, 2, 2),
	"reverse":                called("reverse", 1, 1),
	"replace":                sensitive(called("replace", 3, 3), plan.Varchar),
	"repeat":                 called("repeat", 2, 2),
	"strpos":                 sensitive(called("strpos", 2, 2), plan.BigInt),
	"regexp_match_substring": template("(CASE WHEN regexp_matches(%[1]s, %[2]s) THEN regexp_extract(%[1]s, %[2]s) END)", 2),

	"extract":       extract,
	"date_part":     extract,
	"add_intervals": template("(%s + %s)", 2),
}
