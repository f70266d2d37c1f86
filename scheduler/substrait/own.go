package substrait

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
)

// Serac's own extensions, as EXPLAIN (FORMAT SUBSTRAIT_JSON) writes them; codec/extensions describes them.

// checkOwn reads the options of DuckDB's functions: constants among the arguments need nothing here, names of the arguments
// only where the function takes them.
func checkOwn(name string, o options, named bool) error {
	for _, option := range o {
		switch {
		case option.GetName() == codec.OptionParameters:
		case option.GetName() == codec.OptionNames && named:
		default:
			return fmt.Errorf("the option %s of %q is not supported", option.GetName(), name)
		}
	}
	return nil
}

// duckDBCall is a call of a function of DuckDB, by its name.
func (t *translator) duckDBCall(f function, args []argument, o options, of plan.Type) (column, error) {
	texts := make([]string, len(args))
	for i, a := range args {
		if a.enum != "" {
			return column{}, errArguments
		}
		texts[i] = a.sql
	}
	for _, option := range o {
		if option.GetName() == codec.OptionNames && len(option.GetPreference()) == len(args) {
			for i, name := range option.GetPreference() {
				if name != "" {
					texts[i] = plan.QuoteIdent(name) + " := " + texts[i]
				}
			}
		}
	}
	if err := checkOwn(f.name, o, true); err != nil {
		return column{}, err
	}
	if strings.ContainsRune(f.name, 0) {
		return column{}, errUnknown
	}
	return t.result(plan.QuoteIdent(f.name)+"("+strings.Join(texts, ", ")+")", of, false), nil
}

// ownCall is what Serac's plan says and no function does.
func (t *translator) ownCall(f function, args []argument, of plan.Type) (column, error) {
	call := &scalarCall{name: f.name, args: args, of: of}
	var text string
	var err error
	switch f.name {
	case codec.FunctionDeclared:
		if len(args) != 1 || args[0].enum != "" {
			return column{}, errArguments
		}
		return t.result(args[0].sql, of, args[0].of.Equal(of)), nil
	case "in", "not_in":
		var values []string
		if values, err = call.values(2, -1); err == nil {
			op := strings.ToUpper(strings.ReplaceAll(f.name, "_", " "))
			text = "(" + values[0] + " " + op + " (" + strings.Join(values[1:], ", ") + "))"
		}
	case "try":
		text, err = called("TRY", 1, 1)(call)
	case codec.FunctionBetween:
		if len(args) != 5 {
			return column{}, errArguments
		}
		op := map[string][2]string{codec.BoundInclusive: {">=", "<="}, codec.BoundExclusive: {">", "<"}}
		low, okLow := op[args[3].enum]
		high, okHigh := op[args[4].enum]
		if !okLow || !okHigh {
			return column{}, errArguments
		}
		text = fmt.Sprintf("(%s %s %s AND %s %s %s)", args[0].sql, low[0], args[1].sql, args[0].sql, high[1], args[2].sql)
	default:
		return column{}, errUnknown
	}
	return column{sql: text, of: of}, err
}
