package codec

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/seracdb/serac/plan"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// scope is what an expression may refer to.
type scope struct {
	// columns are those of the input, or of the one side of a join that the expression is over.
	columns plan.Schema
	// shift is where columns start among the input columns of the relation: expressions over a join's right side come
	// after the left side's columns in Substrait.
	shift int
	// lambdas are the numbers of parameters of the enclosing lambdas, the nearest last.
	lambdas []int
}

func (s scope) within(lambda int) scope {
	s.lambdas = append(slices.Clip(s.lambdas), lambda)
	return s
}

// param checks a reference to a lambda's parameter.
func (s scope) param(depth, index int) error {
	if depth < 0 || depth >= len(s.lambdas) {
		return fmt.Errorf("lambda %d levels up, of %d", depth, len(s.lambdas))
	}
	if n := s.lambdas[len(s.lambdas)-1-depth]; index < 0 || index >= n {
		return fmt.Errorf("parameter %d of a lambda of %d", index, n)
	}
	return nil
}

// expr is an expression over s.
func (e *encoder) expr(x plan.Expr, s scope) (*pb.Expression, error) {
	if err := e.depth.enter("expressions"); err != nil {
		return nil, err
	}
	defer e.depth.leave()
	switch x := x.(type) {
	case *plan.ColumnRef:
		if x.Index < 0 || x.Index >= len(s.columns) {
			return nil, fmt.Errorf("column %d of %d", x.Index, len(s.columns))
		}
		ref := fieldReference(x.Index+s.shift, &pb.Expression_FieldReference{
			RootType: &pb.Expression_FieldReference_RootReference_{RootReference: &pb.Expression_FieldReference_RootReference{}},
		})
		if s.columns[x.Index].Type.Equal(x.Of) {
			return ref, nil
		}
		return e.declared(ref, x.Of)
	case *plan.LambdaParam:
		if err := s.param(x.Depth, x.Index); err != nil {
			return nil, err
		}
		// A lambda's parameters have the type of a bare NULL: only their references know better.
		return e.declared(fieldReference(x.Index, &pb.Expression_FieldReference{
			RootType: &pb.Expression_FieldReference_LambdaParameterReference_{
				LambdaParameterReference: &pb.Expression_FieldReference_LambdaParameterReference{StepsOut: uint32(x.Depth)},
			},
		}), x.Of)
	case *plan.Constant:
		l, err := e.literal(x.Value, x.Of)
		if err != nil {
			return nil, err
		}
		return &pb.Expression{RexType: &pb.Expression_Literal_{Literal: l}}, nil
	case *plan.Cast:
		arg, err := e.expr(x.Arg, s)
		if err != nil {
			return nil, err
		}
		to, err := e.typ(x.To)
		if err != nil {
			return nil, err
		}
		behavior := pb.Expression_Cast_FAILURE_BEHAVIOR_THROW_EXCEPTION
		if x.Try {
			behavior = pb.Expression_Cast_FAILURE_BEHAVIOR_RETURN_NULL
		}
		return &pb.Expression{RexType: &pb.Expression_Cast_{
			Cast: &pb.Expression_Cast{Type: to, Input: arg, FailureBehavior: behavior},
		}}, nil
	case *plan.Comparison:
		name, ok := comparisons[x.Op]
		if !ok {
			return nil, fmt.Errorf("comparison %d does not travel", x.Op)
		}
		return e.function(urnComparison, name+":any_any", []plan.Expr{x.Left, x.Right}, s, plan.T(plan.Boolean))
	case *plan.Conjunction:
		name := "and"
		if x.Or {
			name = "or"
		}
		return e.function(urnBoolean, name+":bool", x.Args, s, plan.T(plan.Boolean))
	case *plan.Operator:
		return e.operator(x, s)
	case *plan.Between:
		return e.between(x, s)
	case *plan.Case:
		return e.caseWhen(x, s)
	case *plan.Call:
		return e.call(x, s)
	case nil:
		return nil, fmt.Errorf("an expression is missing")
	}
	return nil, fmt.Errorf("expression %T does not travel", x)
}

// optional is an expression that may be nil.
func (e *encoder) optional(x plan.Expr, s scope) (*pb.Expression, error) {
	if x == nil {
		return nil, nil
	}
	return e.expr(x, s)
}

func (e *encoder) exprs(xs []plan.Expr, s scope) ([]*pb.Expression, error) {
	out := make([]*pb.Expression, len(xs))
	for i, x := range xs {
		m, err := e.expr(x, s)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i, err)
		}
		out[i] = m
	}
	return out, nil
}

func fieldReference(index int, r *pb.Expression_FieldReference) *pb.Expression {
	r.ReferenceType = &pb.Expression_FieldReference_DirectReference{DirectReference: &pb.Expression_ReferenceSegment{
		ReferenceType: &pb.Expression_ReferenceSegment_StructField_{
			StructField: &pb.Expression_ReferenceSegment_StructField{Field: int32(index)},
		},
	}}
	return &pb.Expression{RexType: &pb.Expression_Selection{Selection: r}}
}

func value(m *pb.Expression) *pb.FunctionArgument {
	return &pb.FunctionArgument{ArgType: &pb.FunctionArgument_Value{Value: m}}
}

func enum(s string) *pb.FunctionArgument {
	return &pb.FunctionArgument{ArgType: &pb.FunctionArgument_Enum{Enum: s}}
}

// declared gives an expression a type that it does not say itself.
func (e *encoder) declared(m *pb.Expression, of plan.Type) (*pb.Expression, error) {
	t, err := e.typ(of)
	if err != nil {
		return nil, err
	}
	return scalar(e.declarations.function(urnPlan, functionDeclared+":any"), []*pb.FunctionArgument{value(m)}, nil, t), nil
}

func scalar(anchor uint32, args []*pb.FunctionArgument, options []*pb.FunctionOption, of *pb.Type) *pb.Expression {
	return &pb.Expression{RexType: &pb.Expression_ScalarFunction_{ScalarFunction: &pb.Expression_ScalarFunction{
		FunctionReference: anchor, Arguments: args, Options: options, OutputType: of,
	}}}
}

// function is a call of a function that takes values only.
func (e *encoder) function(urn, name string, args []plan.Expr, s scope, of plan.Type) (*pb.Expression, error) {
	values, err := e.values(args, s)
	if err != nil {
		return nil, err
	}
	t, err := e.typ(of)
	if err != nil {
		return nil, err
	}
	return scalar(e.declarations.function(urn, name), values, nil, t), nil
}

func (e *encoder) values(args []plan.Expr, s scope) ([]*pb.FunctionArgument, error) {
	values := make([]*pb.FunctionArgument, len(args))
	for i, a := range args {
		m, err := e.expr(a, s)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		values[i] = value(m)
	}
	return values, nil
}

func (e *encoder) operator(x *plan.Operator, s scope) (*pb.Expression, error) {
	op, ok := operators[x.Op]
	if !ok {
		return nil, fmt.Errorf("operator %d does not travel", x.Op)
	}
	if len(x.Args) < op.min || (op.max > 0 && len(x.Args) > op.max) {
		return nil, fmt.Errorf("operator %s has %d arguments", op.name, len(x.Args))
	}
	if x.Op == plan.OpIn && is(x.Of, plan.Boolean) {
		all, err := e.exprs(x.Args, s)
		if err != nil {
			return nil, err
		}
		return &pb.Expression{RexType: &pb.Expression_SingularOrList_{
			SingularOrList: &pb.Expression_SingularOrList{Value: all[0], Options: all[1:]},
		}}, nil
	}
	return e.function(op.urn, op.name+":"+op.signature, x.Args, s, x.Of)
}

func (e *encoder) between(x *plan.Between, s scope) (*pb.Expression, error) {
	args := []plan.Expr{x.Arg, x.Low, x.High}
	if x.LowInclusive && x.HighInclusive {
		return e.function(urnComparison, "between:any_any_any", args, s, plan.T(plan.Boolean))
	}
	values, err := e.values(args, s)
	if err != nil {
		return nil, err
	}
	for _, inclusive := range []bool{x.LowInclusive, x.HighInclusive} {
		bound := boundExclusive
		if inclusive {
			bound = boundInclusive
		}
		values = append(values, enum(bound))
	}
	t, err := e.typ(plan.T(plan.Boolean))
	if err != nil {
		return nil, err
	}
	return scalar(e.declarations.function(urnPlan, functionBetween+":any_any_any_req_req"), values, nil, t), nil
}

func (e *encoder) caseWhen(x *plan.Case, s scope) (*pb.Expression, error) {
	if len(x.Whens) == 0 {
		return nil, fmt.Errorf("a CASE has no WHEN")
	}
	m := &pb.Expression_IfThen{}
	for i, w := range x.Whens {
		cond, err := e.expr(w.Cond, s)
		if err != nil {
			return nil, fmt.Errorf("WHEN %d: %w", i, err)
		}
		then, err := e.expr(w.Then, s)
		if err != nil {
			return nil, fmt.Errorf("THEN %d: %w", i, err)
		}
		m.Ifs = append(m.Ifs, &pb.Expression_IfThen_IfClause{If: cond, Then: then})
	}
	var err error
	if m.Else, err = e.optional(x.Else, s); err != nil {
		return nil, fmt.Errorf("ELSE: %w", err)
	}
	out := &pb.Expression{RexType: &pb.Expression_IfThen_{IfThen: m}}
	if x.Of.Equal(x.Whens[0].Then.Type()) {
		return out, nil
	}
	return e.declared(out, x.Of)
}

func (e *encoder) call(x *plan.Call, s scope) (*pb.Expression, error) {
	args, err := e.values(x.Args, s)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", x.Name, err)
	}
	of, err := e.typ(x.Of)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", x.Name, err)
	}
	if len(x.Names) == 0 && len(x.Params) == 0 && x.Lambda == nil {
		types := typesOf(x.Args)
		if f := standard(scalarFunctions, x.Name, types, x.Of); f != nil {
			return scalar(e.declarations.function(f.urn, signature(f.name, types)), args, f.options(), of), nil
		}
	}
	if e.export != nil {
		if m := e.exportedCall(x, args, of); m != nil {
			return m, nil
		}
	}
	args, options, err := e.params(args, x.Params)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", x.Name, err)
	}
	if len(x.Names) > 0 {
		options = append(options, &pb.FunctionOption{Name: optionNames, Preference: slices.Clone(x.Names)})
	}
	if x.Lambda != nil {
		lambda, err := e.lambda(x.Lambda, s)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", x.Name, err)
		}
		args = append(args, value(lambda))
	}
	return scalar(e.declarations.function(urnDuckDB, x.Name), args, options, of), nil
}

func (f *standardFunction) options() []*pb.FunctionOption {
	if !f.overflows {
		return nil
	}
	return []*pb.FunctionOption{{Name: optionOverflow, Preference: []string{overflowError}}}
}

// params appends a call's parameters to its arguments, with the option that says how many they are.
func (e *encoder) params(args []*pb.FunctionArgument, params []*plan.Constant) ([]*pb.FunctionArgument, []*pb.FunctionOption, error) {
	if len(params) == 0 {
		return args, nil, nil
	}
	for i, p := range params {
		if p == nil {
			return nil, nil, fmt.Errorf("parameter %d is missing", i)
		}
		m, err := e.expr(p, scope{})
		if err != nil {
			return nil, nil, fmt.Errorf("parameter %d: %w", i, err)
		}
		args = append(args, value(m))
	}
	return args, []*pb.FunctionOption{{Name: optionParams, Preference: []string{strconv.Itoa(len(params))}}}, nil
}

func (e *encoder) lambda(x *plan.Lambda, s scope) (*pb.Expression, error) {
	if x.Params < 0 || x.Params > maxDepth {
		return nil, fmt.Errorf("a lambda has %d parameters", x.Params)
	}
	params := &pb.Type_Struct{Nullability: pb.Type_NULLABILITY_REQUIRED}
	for range x.Params {
		t, err := e.typ(plan.T(plan.Null))
		if err != nil {
			return nil, err
		}
		params.Types = append(params.Types, t)
	}
	body, err := e.expr(x.Body, s.within(x.Params))
	if err != nil {
		return nil, fmt.Errorf("lambda: %w", err)
	}
	return &pb.Expression{RexType: &pb.Expression_Lambda_{Lambda: &pb.Expression_Lambda{Parameters: params, Body: body}}}, nil
}

// typesOf are the types of expressions none of which is nil.
func typesOf(xs []plan.Expr) []plan.Type {
	types := make([]plan.Type, len(xs))
	for i, x := range xs {
		types[i] = x.Type()
	}
	return types
}

// aggregate is an aggregate call.
func (e *encoder) aggregate(c plan.AggregateCall, s scope) (*pb.AggregateRel_Measure, error) {
	args, err := e.values(c.Args, s)
	if err != nil {
		return nil, err
	}
	m := &pb.AggregateFunction{
		Phase:      pb.AggregationPhase_AGGREGATION_PHASE_INITIAL_TO_RESULT,
		Invocation: pb.AggregateFunction_AGGREGATION_INVOCATION_ALL,
	}
	if c.Distinct {
		m.Invocation = pb.AggregateFunction_AGGREGATION_INVOCATION_DISTINCT
	}
	if m.OutputType, err = e.typ(c.Of); err != nil {
		return nil, err
	}
	if m.Sorts, err = e.sortKeys(c.OrderBy, s); err != nil {
		return nil, err
	}
	types := typesOf(c.Args)
	if f := standard(aggregateFunctions, c.Name, types, c.Of); f != nil && len(c.Params) == 0 {
		m.FunctionReference = e.declarations.function(f.urn, signature(f.name, types))
		m.Options = f.options()
	} else {
		if args, m.Options, err = e.params(args, c.Params); err != nil {
			return nil, err
		}
		m.FunctionReference = e.declarations.function(urnDuckDB, c.Name)
	}
	m.Arguments = args
	filter, err := e.optional(c.Filter, s)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return &pb.AggregateRel_Measure{Measure: m, Filter: filter}, nil
}

func (e *encoder) sortKeys(keys []plan.SortKey, s scope) ([]*pb.SortField, error) {
	var out []*pb.SortField
	for i, k := range keys {
		m, err := e.expr(k.Expr, s)
		if err != nil {
			return nil, fmt.Errorf("sort key %d: %w", i, err)
		}
		out = append(out, &pb.SortField{Expr: m, SortKind: &pb.SortField_Direction{Direction: direction(k)}})
	}
	return out, nil
}

func direction(k plan.SortKey) pb.SortField_SortDirection {
	switch {
	case k.Descending && k.NullsFirst:
		return pb.SortField_SORT_DIRECTION_DESC_NULLS_FIRST
	case k.Descending:
		return pb.SortField_SORT_DIRECTION_DESC_NULLS_LAST
	case k.NullsFirst:
		return pb.SortField_SORT_DIRECTION_ASC_NULLS_FIRST
	default:
		return pb.SortField_SORT_DIRECTION_ASC_NULLS_LAST
	}
}
