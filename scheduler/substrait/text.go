package substrait

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// like has no escape character, unless a producer gives one.
func like(c *scalarCall) (string, error) {
	args, err := c.values(2, 3)
	if err != nil {
		return "", err
	}
	sensitivity, err := c.option("case_sensitivity", "CASE_SENSITIVE", "CASE_INSENSITIVE")
	if err != nil {
		return "", err
	}
	c.guess = plan.T(plan.Boolean)
	op := "LIKE"
	if sensitivity == "CASE_INSENSITIVE" {
		op = "ILIKE"
	}
	text := args[0] + " " + op + " " + args[1]
	if len(args) == 3 && !c.args[2].null { // DataFusion's LIKE without an escape character has a NULL for one
		text += " ESCAPE " + args[2]
	}
	return "(" + text + ")", nil
}

// sensitive is a function over texts whose option case_sensitivity can only be the default.
func sensitive(w writer, of plan.Kind) writer {
	return func(c *scalarCall) (string, error) {
		if _, err := c.option("case_sensitivity", "CASE_SENSITIVE"); err != nil {
			return "", err
		}
		c.guess = plan.T(of)
		return w(c)
	}
}

// concat is NULL where an argument is, unless it is told to leave NULLs out.
func concat(c *scalarCall) (string, error) {
	args, err := c.values(1, -1)
	if err != nil {
		return "", err
	}
	nulls, err := c.option("null_handling", "ACCEPT_NULLS", "IGNORE_NULLS")
	if err != nil {
		return "", err
	}
	if nulls == "IGNORE_NULLS" {
		return "concat(" + strings.Join(args, ", ") + ")", nil
	}
	return "(" + strings.Join(args, " || ") + ")", nil
}

// substring is of characters. A start before the first one counts from the end, as in DuckDB, or stands that far to the left
// of the beginning, as in SQL; which of them by default, a producer's function says.
func substring(byDefault, other string) writer {
	return func(c *scalarCall) (string, error) {
		args, err := c.values(2, 3)
		if err != nil {
			return "", err
		}
		start, err := c.option("negative_start", byDefault, other, "ERROR")
		if err != nil {
			return "", err
		}
		text := "substring(" + strings.Join(args, ", ") + ")"
		switch start {
		case "LEFT_OF_BEGINNING":
			from := "greatest(" + args[1] + ", 1)"
			if len(args) == 2 {
				return "substring(" + args[0] + ", " + from + ")", nil
			}
			return fmt.Sprintf("substring(%s, %s, greatest(least(%s, 1) - 1 + %s, 0))", args[0], from, args[1], args[2]), nil
		case "ERROR":
			return "(CASE WHEN " + args[1] + " < 0 THEN " + failing("substring from a negative start") + " ELSE " + text + " END)", nil
		}
		return text, nil
	}
}
