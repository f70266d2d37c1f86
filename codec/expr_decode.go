package codec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seracdb/serac/plan"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

var (
	comparisonOf = invert(comparisons)
	operatorOf   = func() map[entity]plan.OperatorKind {
		out := make(map[entity]plan.OperatorKind, len(operators))
		for kind, op := range operators {
			out[op.entity] = kind
		}
		return out
	}()
)

// expr is an expression over s.
func (d *decoder) expr(m *pb.Expression, s scope) (plan.Expr, error) {
	if err := d.depth.enter("expressions"); err != nil {
		return nil, err
	}
	defer d.depth.leave()
	switch x := m.GetRexType().(type) {
	case *pb.Expression_Literal_:
		v, t, err := d.literal(x.Literal)
		if err != nil {
			return nil, err
		}
		return &plan.Constant{Value: v, Of: t}, nil
	case *pb.Expression_Selection:
		return d.selection(x.Selection, s)
	case *pb.Expression_ScalarFunction_:
		return d.scalarFunction(x.ScalarFunction, s)
	case *pb.Expression_IfThen_:
		return d.ifThen(x.IfThen, s)
	case *pb.Expression_SingularOrList_:
		needle, err := d.expr(x.SingularOrList.GetValue(), s)
		if err != nil {
			return nil, err
		}
		options, err := d.exprs(x.SingularOrList.GetOptions(), s)
		if err != nil {
			return nil, err
		}
		return &plan.Operator{Op: plan.OpIn, Args: append([]plan.Expr{needle}, options...), Of: plan.T(plan.Boolean)}, nil
	case *pb.Expression_Cast_:
		arg, err := d.expr(x.Cast.GetInput(), s)
		if err != nil {
			return nil, err
		}
		to, err := d.typ(x.Cast.GetType())
		if err != nil {
			return nil, err
		}
		switch b := x.Cast.GetFailureBehavior(); b {
		case pb.Expression_Cast_FAILURE_BEHAVIOR_THROW_EXCEPTION:
			return &plan.Cast{Arg: arg, To: to}, nil
		case pb.Expression_Cast_FAILURE_BEHAVIOR_RETURN_NULL:
			return &plan.Cast{Arg: arg, To: to, Try: true}, nil
		default:
			return nil, fmt.Errorf("cast with unknown failure behavior %d", b)
		}
	case nil:
		return nil, fmt.Errorf("an expression is missing")
	default:
		return nil, fmt.Errorf("expression %T is not supported", x)
	}
}

// optional is an expression that may be absent.
func (d *decoder) optional(m *pb.Expression, s scope) (plan.Expr, error) {
	if m == nil {
		return nil, nil
	}
	return d.expr(m, s)
}

func (d *decoder) exprs(ms []*pb.Expression, s scope) ([]plan.Expr, error) {
	var out []plan.Expr
	for i, m := range ms {
		x, err := d.expr(m, s)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i, err)
		}
		out = append(out, x)
	}
	return out, nil
}

func (d *decoder) selection(m *pb.Expression_FieldReference, s scope) (plan.Expr, error) {
	segment := m.GetDirectReference().GetStructField()
	if segment == nil || segment.GetChild() != nil {
		return nil, fmt.Errorf("a reference that is not to a whole column is not supported")
	}
	field := int(segment.GetField())
	switch root := m.GetRootType().(type) {
	case *pb.Expression_FieldReference_RootReference_:
		index := field - s.shift
		if index < 0 || index >= len(s.columns) {
			return nil, fmt.Errorf("column %d of %d", index, len(s.columns))
		}
		return &plan.ColumnRef{Index: index, Of: s.columns[index].Type}, nil
	case *pb.Expression_FieldReference_LambdaParameterReference_:
		up := int(root.LambdaParameterReference.GetStepsOut())
		if err := s.param(up, field); err != nil {
			return nil, err
		}
		return &plan.LambdaParam{Depth: up, Index: field, Of: plan.T(plan.Null)}, nil
	default:
		return nil, fmt.Errorf("a reference to %T is not supported", root)
	}
}

func (d *decoder) ifThen(m *pb.Expression_IfThen, s scope) (plan.Expr, error) {
	if len(m.GetIfs()) == 0 {
		return nil, fmt.Errorf("a CASE has no WHEN")
	}
	c := &plan.Case{}
	for i, clause := range m.GetIfs() {
		cond, err := d.expr(clause.GetIf(), s)
		if err != nil {
			return nil, fmt.Errorf("WHEN %d: %w", i, err)
		}
		then, err := d.expr(clause.GetThen(), s)
		if err != nil {
			return nil, fmt.Errorf("THEN %d: %w", i, err)
		}
		c.Whens = append(c.Whens, plan.When{Cond: cond, Then: then})
	}
	var err error
	if c.Else, err = d.optional(m.GetElse(), s); err != nil {
		return nil, fmt.Errorf("ELSE: %w", err)
	}
	c.Of = c.Whens[0].Then.Type()
	return c, nil
}

// arguments are a function's arguments, sorted by what they are: values, then one lambda, and enums.
type arguments struct {
	values []plan.Expr
	lambda *plan.Lambda
	enums  []string
}

func (d *decoder) arguments(ms []*pb.FunctionArgument, s scope) (arguments, error) {
	var a arguments
	for i, m := range ms {
		switch arg := m.GetArgType().(type) {
		case *pb.FunctionArgument_Value:
			if a.lambda != nil || len(a.enums) > 0 {
				return a, fmt.Errorf("argument %d stands after a lambda or an enum", i)
			}
			if l := arg.Value.GetLambda(); l != nil {
				lambda, err := d.lambda(l, s)
				if err != nil {
					return a, err
				}
				a.lambda = lambda
				continue
			}
			x, err := d.expr(arg.Value, s)
			if err != nil {
				return a, fmt.Errorf("argument %d: %w", i, err)
			}
			a.values = append(a.values, x)
		case *pb.FunctionArgument_Enum:
			a.enums = append(a.enums, arg.Enum)
		default:
			return a, fmt.Errorf("argument %d is a %T, which is not supported", i, arg)
		}
	}
	return a, nil
}

func (d *decoder) lambda(m *pb.Expression_Lambda, s scope) (*plan.Lambda, error) {
	n := len(m.GetParameters().GetTypes())
	if n > maxDepth {
		return nil, fmt.Errorf("a lambda has %d parameters", n)
	}
	// Each level of a lambda counts for itself: its body is no expression of the call.
	body, err := d.expr(m.GetBody(), s.within(n))
	if err != nil {
		return nil, fmt.Errorf("lambda: %w", err)
	}
	return &plan.Lambda{Params: n, Body: body}, nil
}

func (d *decoder) scalarFunction(m *pb.Expression_ScalarFunction, s scope) (plan.Expr, error) {
	declared, err := d.references.function(m.GetFunctionReference())
	if err != nil {
		return nil, err
	}
	f := bare(declared)
	args, err := d.arguments(m.GetArguments(), s)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.name, err)
	}
	of, err := d.typ(m.GetOutputType())
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.name, err)
	}
	options, err := readOptions(m.GetOptions())
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", f.name, err)
	}
	x, err := d.expressionOf(f, args, options, of)
	if err != nil {
		return nil, fmt.Errorf("function %s of %s: %w", f.name, f.urn, err)
	}
	return x, nil
}

// expressionOf is what a function stands for.
func (d *decoder) expressionOf(f entity, args arguments, options callOptions, of plan.Type) (plan.Expr, error) {
	if f.urn == urnDuckDB {
		values, params, err := options.split(args.values)
		if err != nil {
			return nil, err
		}
		if len(args.enums) > 0 || options.overflow {
			return nil, fmt.Errorf("enums and overflow are not DuckDB's")
		}
		return &plan.Call{Name: f.name, Args: values, Names: options.names, Params: params, Lambda: args.lambda, Of: of}, nil
	}
	n := len(args.values)
	if args.lambda != nil || options.params > 0 || len(options.names) > 0 {
		return nil, fmt.Errorf("lambdas, names and parameters are DuckDB's alone")
	}
	boolean := func(x plan.Expr) (plan.Expr, error) {
		if !is(of, plan.Boolean) {
			return nil, fmt.Errorf("it is of type %s, not BOOLEAN", of)
		}
		return x, nil
	}
	if f == (entity{urnPlan, functionBetween}) {
		if n != 3 || len(args.enums) != 2 {
			return nil, fmt.Errorf("it has %d arguments and %d bounds", n, len(args.enums))
		}
		b := &plan.Between{Arg: args.values[0], Low: args.values[1], High: args.values[2]}
		for i, inclusive := range []*bool{&b.LowInclusive, &b.HighInclusive} {
			switch args.enums[i] {
			case boundInclusive:
				*inclusive = true
			case boundExclusive:
			default:
				return nil, fmt.Errorf("unknown bound %q", args.enums[i])
			}
		}
		return boolean(b)
	}
	if len(args.enums) > 0 {
		return nil, fmt.Errorf("enum arguments are not supported")
	}
	if f.urn == urnComparison {
		if op, ok := comparisonOf[f.name]; ok {
			if n != 2 {
				return nil, fmt.Errorf("it has %d arguments", n)
			}
			return boolean(&plan.Comparison{Op: op, Left: args.values[0], Right: args.values[1]})
		}
		if f.name == functionBetween {
			if n != 3 {
				return nil, fmt.Errorf("it has %d arguments", n)
			}
			return boolean(&plan.Between{Arg: args.values[0], Low: args.values[1], High: args.values[2],
				LowInclusive: true, HighInclusive: true})
		}
	}
	if f.urn == urnBoolean && (f.name == "and" || f.name == "or") {
		return boolean(&plan.Conjunction{Or: f.name == "or", Args: args.values})
	}
	if kind, ok := operatorOf[f]; ok {
		if op := operators[kind]; n < op.min || (op.max > 0 && n > op.max) {
			return nil, fmt.Errorf("it has %d arguments", n)
		}
		return &plan.Operator{Op: kind, Args: args.values, Of: of}, nil
	}
	if f == (entity{urnPlan, functionDeclared}) {
		if n != 1 {
			return nil, fmt.Errorf("it has %d arguments", n)
		}
		return declare(args.values[0], of)
	}
	if name := duckdbName(scalarFunctions, f, n); name != "" {
		return &plan.Call{Name: name, Args: args.values, Of: of}, nil
	}
	return nil, fmt.Errorf("it is not known")
}

// declare gives an expression that was just decoded, and that nobody else holds, its declared type.
func declare(x plan.Expr, of plan.Type) (plan.Expr, error) {
	switch x := x.(type) {
	case *plan.ColumnRef:
		x.Of = of
	case *plan.LambdaParam:
		x.Of = of
	case *plan.Case:
		x.Of = of
	default:
		return nil, fmt.Errorf("a %T says its own type", x)
	}
	return x, nil
}

// callOptions are the options of a call.
type callOptions struct {
	names    []string
	params   int
	overflow bool
}

func readOptions(ms []*pb.FunctionOption) (callOptions, error) {
	var o callOptions
	for _, m := range ms {
		switch strings.ToLower(m.GetName()) {
		case optionNames:
			o.names = m.GetPreference()
		case optionParams:
			if len(m.GetPreference()) != 1 {
				return o, fmt.Errorf("option %s has %d values", m.GetName(), len(m.GetPreference()))
			}
			n, err := strconv.Atoi(m.GetPreference()[0])
			if err != nil || n < 1 {
				return o, fmt.Errorf("option %s is %q", m.GetName(), m.GetPreference()[0])
			}
			o.params = n
		case optionOverflow:
			fails := func(p string) bool { return strings.EqualFold(p, overflowError) }
			if !slices.ContainsFunc(m.GetPreference(), fails) {
				return o, fmt.Errorf("option %s: only %s is supported", m.GetName(), overflowError)
			}
			o.overflow = true
		default:
			return o, fmt.Errorf("option %q is not known", m.GetName())
		}
	}
	return o, nil
}

// split divides a call's values into arguments and parameters.
func (o callOptions) split(values []plan.Expr) ([]plan.Expr, []*plan.Constant, error) {
	if o.params == 0 {
		return values, nil, nil
	}
	n := len(values) - o.params
	if n < 0 {
		return nil, nil, fmt.Errorf("it has %d parameters among %d values", o.params, len(values))
	}
	params := make([]*plan.Constant, o.params)
	for i, v := range values[n:] {
		c, ok := v.(*plan.Constant)
		if !ok {
			return nil, nil, fmt.Errorf("parameter %d is a %T", i, v)
		}
		params[i] = c
	}
	if n == 0 {
		return nil, params, nil
	}
	return values[:n:n], params, nil
}

// aggregate is an aggregate call.
func (d *decoder) aggregate(m *pb.AggregateRel_Measure, s scope) (plan.AggregateCall, error) {
	var c plan.AggregateCall
	call := m.GetMeasure()
	declared, err := d.references.function(call.GetFunctionReference())
	if err != nil {
		return c, err
	}
	f := bare(declared)
	if err := d.aggregateCall(&c, f, m, s); err != nil {
		return c, fmt.Errorf("aggregate %s of %s: %w", f.name, f.urn, err)
	}
	return c, nil
}

func (d *decoder) aggregateCall(c *plan.AggregateCall, f entity, m *pb.AggregateRel_Measure, s scope) error {
	call := m.GetMeasure()
	if p := call.GetPhase(); p != pb.AggregationPhase_AGGREGATION_PHASE_INITIAL_TO_RESULT {
		return fmt.Errorf("phase %d is not supported", p)
	}
	switch i := call.GetInvocation(); i {
	case pb.AggregateFunction_AGGREGATION_INVOCATION_ALL, pb.AggregateFunction_AGGREGATION_INVOCATION_UNSPECIFIED:
	case pb.AggregateFunction_AGGREGATION_INVOCATION_DISTINCT:
		c.Distinct = true
	default:
		return fmt.Errorf("unknown invocation %d", i)
	}
	args, err := d.arguments(call.GetArguments(), s)
	if err != nil {
		return err
	}
	if args.lambda != nil || len(args.enums) > 0 {
		return fmt.Errorf("lambdas and enums are not arguments of an aggregate")
	}
	options, err := readOptions(call.GetOptions())
	if err != nil {
		return err
	}
	if len(options.names) > 0 {
		return fmt.Errorf("arguments of an aggregate have no names")
	}
	if c.Of, err = d.typ(call.GetOutputType()); err != nil {
		return err
	}
	if c.OrderBy, err = d.sortKeys(call.GetSorts(), s); err != nil {
		return err
	}
	if c.Filter, err = d.optional(m.GetFilter(), s); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	if f.urn == urnDuckDB {
		c.Name = f.name
		c.Args, c.Params, err = options.split(args.values)
		return err
	}
	if options.params > 0 {
		return fmt.Errorf("parameters are DuckDB's alone")
	}
	c.Args = args.values
	if c.Name = duckdbName(aggregateFunctions, f, len(c.Args)); c.Name == "" {
		return fmt.Errorf("it is not known")
	}
	return nil
}

func (d *decoder) sortKeys(ms []*pb.SortField, s scope) ([]plan.SortKey, error) {
	var keys []plan.SortKey
	for i, m := range ms {
		x, err := d.expr(m.GetExpr(), s)
		if err != nil {
			return nil, fmt.Errorf("sort key %d: %w", i, err)
		}
		k := plan.SortKey{Expr: x}
		kind, ok := m.GetSortKind().(*pb.SortField_Direction)
		if !ok {
			return nil, fmt.Errorf("sort key %d has no direction", i)
		}
		switch kind.Direction {
		case pb.SortField_SORT_DIRECTION_ASC_NULLS_FIRST:
			k.NullsFirst = true
		case pb.SortField_SORT_DIRECTION_ASC_NULLS_LAST:
		case pb.SortField_SORT_DIRECTION_DESC_NULLS_FIRST:
			k.Descending, k.NullsFirst = true, true
		case pb.SortField_SORT_DIRECTION_DESC_NULLS_LAST:
			k.Descending = true
		default:
			return nil, fmt.Errorf("sort key %d has unknown direction %d", i, kind.Direction)
		}
		keys = append(keys, k)
	}
	return keys, nil
}
