package substrait

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// zonedArithmetic adds an interval to a moment, or subtracts it, as the clocks of a time zone do.
func zonedArithmetic(op string, c *scalarCall) (string, error) {
	args, err := c.values(3, 3)
	if err != nil {
		return "", err
	}
	if c.args[0].of.Kind != plan.TimestampTZ || c.args[1].of.Kind != plan.Interval {
		return "", errArguments
	}
	c.guess = plan.T(plan.TimestampTZ)
	return fmt.Sprintf("timezone(%[3]s, timezone(%[3]s, %[1]s) %[4]s %[2]s)", args[0], args[1], args[2], op), nil
}

// component is one of extract's.
type component struct {
	// text is its text, with the value as %s; counting starts at one.
	text string
	// indexed: whether counting starts at one or at zero is an argument.
	indexed bool
	// absolute: no time zone changes it.
	absolute bool
}

func datePart(part string) string { return "date_part('" + part + "', %s)" }

// components are extract's by Substrait's names, which producers of date_part use as well.
var components = map[string]component{
	"YEAR": {text: datePart("year")}, "ISO_YEAR": {text: datePart("isoyear")},
	"QUARTER": {text: datePart("quarter"), indexed: true}, "MONTH": {text: datePart("month"), indexed: true},
	"DAY": {text: datePart("day"), indexed: true}, "DAY_OF_YEAR": {text: datePart("doy"), indexed: true},
	"ISO_WEEK": {text: datePart("week"), indexed: true}, "MONDAY_DAY_OF_WEEK": {text: datePart("isodow"), indexed: true},
	"SUNDAY_DAY_OF_WEEK": {text: "(" + datePart("dow") + " + 1)", indexed: true},
	"HOUR":               {text: datePart("hour")}, "MINUTE": {text: datePart("minute")}, "SECOND": {text: datePart("second")},
}

// smallComponents are those that Substrait's extract alone counts like this: DuckDB's, and SQL's, hold the whole seconds too.
var smallComponents = map[string]component{
	"MILLISECOND": {text: "(" + datePart("millisecond") + " %% 1000)"},
	"MICROSECOND": {text: "(" + datePart("microsecond") + " %% 1000)"},
	"SUBSECOND":   {text: "(" + datePart("microsecond") + " %% 1000000)"},
	"UNIX_TIME":   {text: "CAST(floor(" + datePart("epoch") + ") AS BIGINT)", absolute: true},
}

// extract takes a component, for some of them whether counting starts at one or zero, the value, and a time zone for values
// that have one.
func extract(c *scalarCall) (string, error) {
	args := c.args
	if len(args) < 2 {
		return "", errArguments
	}
	word := func(a argument) string { return strings.ToUpper(a.enum + a.text) }
	name := word(args[0])
	part, ok := components[name]
	if !ok && c.name == "extract" {
		part, ok = smallComponents[name]
	}
	if !ok {
		return "", fmt.Errorf("its component %q is not supported", name)
	}
	args = args[1:]
	indexing := "ONE"
	if args[0].enum != "" {
		indexing = word(args[0])
		args = args[1:]
		if !part.indexed || indexing != "ONE" && indexing != "ZERO" {
			return "", errArguments
		}
	}
	if len(args) < 1 || len(args) > 2 || args[0].enum != "" {
		return "", errArguments
	}
	value := args[0].sql
	if len(args) == 2 {
		if args[0].of.Kind != plan.TimestampTZ || args[1].enum != "" {
			return "", errArguments
		}
		if !part.absolute {
			value = "timezone(" + args[1].sql + ", " + value + ")"
		}
	}
	c.guess = plan.T(plan.BigInt)
	c.exact = c.of.Kind == plan.BigInt
	text := fmt.Sprintf(part.text, value)
	if indexing == "ZERO" {
		text = "(" + text + " - 1)"
	}
	return text, nil
}
