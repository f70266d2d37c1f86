package substrait

import (
	"fmt"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
)

// aggregateSpec is how an aggregate or a window function is written.
type aggregateSpec struct {
	name string
	args []string
	// around, if not nil, goes around the whole call.
	around func(string) string
	// exact, if not Invalid, is the type of DuckDB's result, which then is the call's, whatever the plan says.
	exact plan.Type
}

// aggregates are Substrait's aggregates that are one of DuckDB's under another name, with the number of their arguments.
var aggregates = map[string]struct {
	duckdb      string
	least, most int
}{
	"sum": {"sum", 1, 1}, "avg": {"avg", 1, 1}, "min": {"min", 1, 1}, "max": {"max", 1, 1}, "product": {"product", 1, 1},
	"sum0": {"sum", 1, 1}, "any_value": {"first", 1, 1}, "single_value": {"first", 1, 1}, "count": {"count", 0, 1},
	"approx_count_distinct": {"approx_count_distinct", 1, 1}, "median": {"median", 1, 1}, "mode": {"mode", 1, 1},
	"corr": {"corr", 2, 2}, "bool_and": {"bool_and", 1, 1}, "bool_or": {"bool_or", 1, 1}, "string_agg": {"string_agg", 1, 2},
	"std_dev": {"stddev_samp", 1, 1}, "variance": {"var_samp", 1, 1}, "bitwise_and_agg": {"bit_and", 1, 1},
	"stddev": {"stddev_samp", 1, 1}, "var": {"var_samp", 1, 1},
}

// windows are the functions that only a window can have.
var windows = map[string]struct{ least, most int }{
	"row_number": {0, 0}, "rank": {0, 0}, "dense_rank": {0, 0}, "percent_rank": {0, 0}, "cume_dist": {0, 0}, "ntile": {1, 1},
	"first_value": {1, 1}, "last_value": {1, 1}, "nth_value": {2, 2}, "lead": {1, 3}, "lag": {1, 3},
}

// aggregateFunction finds the aggregate, or the window function, that a call is of.
func (t *translator) aggregateFunction(f function, args []argument, given []*pb.FunctionOption, window bool) (aggregateSpec, error) {
	o := options(given)
	var texts []string
	var enums []string
	for _, a := range args {
		if a.enum != "" {
			enums = append(enums, a.enum)
			continue
		}
		texts = append(texts, a.sql)
	}
	if f.urn == codec.URNDuckDB {
		if len(enums) > 0 {
			return aggregateSpec{}, errArguments
		}
		if f.name == "count_star" {
			return aggregateSpec{name: "count", args: nil}, nil
		}
		return aggregateSpec{name: plan.QuoteIdent(f.name), args: texts}, checkOwn(f.name, o, false)
	}
	if !f.standard() {
		return aggregateSpec{}, errUnknown
	}
	if w, ok := windows[f.name]; ok && window {
		if len(texts) < w.least || len(texts) > w.most || len(enums) > 0 {
			return aggregateSpec{}, errArguments
		}
		return aggregateSpec{name: f.name, args: texts}, o.check()
	}
	a, ok := aggregates[f.name]
	if !ok {
		return aggregateSpec{}, errUnknown
	}
	own := []string{}
	spec := aggregateSpec{name: a.duckdb, args: texts}
	switch f.name {
	case "std_dev", "variance":
		// The distribution was an option, and is an argument now.
		distribution := "SAMPLE"
		if len(enums) == 1 {
			distribution, enums = strings.ToUpper(enums[0]), nil
		} else {
			var err error
			if distribution, err = o.take("distribution", "SAMPLE", "POPULATION"); err != nil {
				return aggregateSpec{}, err
			}
			own = append(own, "distribution")
		}
		switch distribution {
		case "SAMPLE":
		case "POPULATION":
			spec.name = map[string]string{"std_dev": "stddev_pop", "variance": "var_pop"}[f.name]
		default:
			return aggregateSpec{}, fmt.Errorf("its distribution %q is not supported", distribution)
		}
	case "median":
		if len(enums) == 1 && len(texts) == 1 { // how exact it has to be
			enums = nil
		}
	case "count":
		spec.exact = plan.T(plan.BigInt)
	case "sum":
		if len(args) == 1 && args[0].of.Kind == plan.Decimal {
			spec.exact = plan.DecimalType(38, args[0].of.Scale)
		}
	case "min", "max", "any_value", "single_value":
		if len(args) == 1 {
			spec.exact = args[0].of
		}
	case "sum0":
		spec.around = func(call string) string { return "coalesce(" + call + ", 0)" }
	}
	if len(enums) > 0 || len(texts) < a.least || len(texts) > a.most {
		return aggregateSpec{}, errArguments
	}
	return spec, o.check(own...)
}
