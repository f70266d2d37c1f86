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
	"sum0": {"sum", 1, 1}, "any_value": {"first", 1, 1}, "count": {"count", 0, 1},
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
	var texts, enums []string
	var values []argument
	for _, a := range args {
		if a.enum != "" {
			enums = append(enums, a.enum)
			continue
		}
		texts, values = append(texts, a.sql), append(values, a)
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
		return aggregateSpec{name: f.name, args: texts}, o.check(values)
	}
	a, ok := aggregates[f.name]
	if !ok {
		return aggregateSpec{}, errUnknown
	}
	if len(texts) < a.least || len(texts) > a.most {
		return aggregateSpec{}, errArguments
	}
	own := []string{}
	spec := aggregateSpec{name: a.duckdb, args: texts}
	switch f.name {
	case "std_dev", "variance":
		// The distribution was an option, and is an argument now.
		var distribution string
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
		// How exact it has to be was an option, and is an argument now.
		var precision string
		if len(enums) == 1 {
			precision, enums = strings.ToUpper(enums[0]), nil
		} else {
			var err error
			if precision, err = o.take("precision", "APPROXIMATE", "EXACT"); err != nil {
				return aggregateSpec{}, err
			}
			own = append(own, "precision")
		}
		if precision == "EXACT" && values[0].of.Kind == plan.BigInt {
			return aggregateSpec{}, fmt.Errorf("an exact median of i64 is not supported")
		}
		if integerKind(values[0].of.Kind) { // computed as a DOUBLE, which a cast rounds
			if _, err := o.take("rounding", "TIE_TO_EVEN"); err != nil {
				return aggregateSpec{}, err
			}
			own = append(own, "rounding")
		}
	case "product":
		if values[0].of.Kind == plan.BigInt {
			return aggregateSpec{}, fmt.Errorf("a product of i64 is not supported: DuckDB computes it as DOUBLE")
		}
	case "count":
		spec.exact = plan.T(plan.BigInt)
	case "sum":
		if values[0].of.Kind == plan.Decimal {
			spec.exact = plan.DecimalType(38, values[0].of.Scale)
		}
	case "any_value":
		nulls, err := o.take("ignore_nulls", "FALSE", "TRUE")
		if err != nil {
			return aggregateSpec{}, err
		}
		if nulls == "TRUE" {
			spec.name = "any_value"
		}
		own = append(own, "ignore_nulls")
		spec.exact = values[0].of
	case "min", "max":
		spec.exact = values[0].of
	case "sum0":
		spec.around = func(call string) string { return "coalesce(" + call + ", 0)" }
	}
	if len(enums) > 0 {
		return aggregateSpec{}, errArguments
	}
	return spec, o.check(values, own...)
}
