package substrait

import (
	"fmt"
	"slices"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/seracdb/serac/plan"
)

// options are a call's: for each the values that the producer takes, the best first. One that is not set leaves the choice
// to who runs the plan: DuckDB does as it does.
type options []*pb.FunctionOption

// take is the value of an option that was found among those that the function can have, the first of which is its
// default. Options that a function does not look at are refused by check.
func (o options) take(name string, can ...string) (string, error) {
	for _, option := range o {
		if !strings.EqualFold(option.GetName(), name) {
			continue
		}
		for _, p := range option.GetPreference() {
			for _, c := range can {
				if strings.EqualFold(p, c) {
					return c, nil
				}
			}
		}
		if len(option.GetPreference()) > 0 {
			return "", fmt.Errorf("its option %s = %s is not supported", option.GetName(), strings.Join(option.GetPreference(), ", "))
		}
	}
	if len(can) == 0 {
		return "", nil
	}
	return can[0], nil
}

// check refuses the options that ask for what DuckDB does not do. own are those that the function has looked at; of the
// others, only those are taken that DuckDB's functions over arguments of those types keep.
func (o options) check(args []argument, own ...string) error {
	for _, option := range o {
		name := strings.ToLower(option.GetName())
		if slices.Contains(own, name) {
			continue
		}
		can, ok := native(name, args)
		if !ok {
			return fmt.Errorf("its option %s is not known", option.GetName())
		}
		if _, err := o.take(name, can...); err != nil {
			return err
		}
	}
	return nil
}

// native are the values of an option that say what DuckDB does anyway.
func native(option string, args []argument) ([]string, bool) {
	switch option {
	case "overflow":
		// Integers and decimals that overflow are an error, floating-point numbers become infinite. With SILENT any result
		// is right, an error too.
		if slices.ContainsFunc(args, func(a argument) bool { return a.enum == "" && !exactKind(a.of.Kind) }) {
			return []string{"SILENT"}, true
		}
		return []string{"ERROR", "SILENT"}, true
	case "rounding":
		if slices.ContainsFunc(args, func(a argument) bool { return a.enum == "" && exactKind(a.of.Kind) }) {
			return nil, true
		}
		return []string{"TIE_TO_EVEN"}, true
	case "char_set":
		return []string{"UTF8"}, true
	case "full_unicode":
		return []string{"TRUE"}, true
	}
	return nil, false
}

func integerKind(k plan.Kind) bool {
	return slices.Contains([]plan.Kind{plan.TinyInt, plan.SmallInt, plan.Integer, plan.BigInt}, k)
}

// exactKind says whether numbers of a kind overflow, and do not round.
func exactKind(k plan.Kind) bool { return integerKind(k) || k == plan.Decimal || k == plan.HugeInt }

// failing is an expression that fails with a message when it is computed.
func failing(message string) string { return "error('" + message + "')" }
