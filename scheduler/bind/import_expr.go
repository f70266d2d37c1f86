package bind

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seracdb/serac/plan"
)

// scope says what the references of an expression mean.
type scope struct {
	types []plan.Type // the input's columns
	// columns resolves the bindings that DuckDB left unresolved: table index and column to position.
	columns func(bindingJSON) (int, bool)
	// lambda resolves references inside a lambda body; nil outside.
	lambda func(index int, t plan.Type) (plan.Expr, error)
}

func (s *scope) ref(index int, t plan.Type) (plan.Expr, error) {
	if s.lambda != nil {
		return s.lambda(index, t)
	}
	if index < 0 || index >= len(s.types) {
		return nil, fmt.Errorf("column %d of %d", index, len(s.types))
	}
	return &plan.ColumnRef{Index: index, Of: t}, nil
}

var comparisons = map[string]plan.CompareOp{
	"COMPARE_EQUAL": plan.Equal, "COMPARE_NOTEQUAL": plan.NotEqual, "COMPARE_LESSTHAN": plan.Less,
	"COMPARE_LESSTHANOREQUALTO": plan.LessOrEqual, "COMPARE_GREATERTHAN": plan.Greater,
	"COMPARE_GREATERTHANOREQUALTO": plan.GreaterOrEqual, "COMPARE_DISTINCT_FROM": plan.DistinctFrom,
	"COMPARE_NOT_DISTINCT_FROM": plan.NotDistinctFrom,
}

var operators = map[string]plan.OperatorKind{
	"OPERATOR_NOT": plan.OpNot, "OPERATOR_IS_NULL": plan.OpIsNull, "OPERATOR_IS_NOT_NULL": plan.OpIsNotNull,
	"COMPARE_IN": plan.OpIn, "COMPARE_NOT_IN": plan.OpNotIn, "OPERATOR_COALESCE": plan.OpCoalesce, "OPERATOR_TRY": plan.OpTry,
}

func (s *scope) expr(e *exprJSON) (plan.Expr, error) {
	if e == nil {
		return nil, fmt.Errorf("an expression is missing")
	}
	switch e.Class {
	case "BOUND_REF":
		t, err := importType(e.ReturnType)
		if err != nil {
			return nil, err
		}
		return s.ref(e.Index, t)
	case "BOUND_COLUMN_REF":
		t, err := importType(e.ReturnType)
		if err != nil {
			return nil, err
		}
		if s.columns == nil || e.Depth != 0 {
			return nil, fmt.Errorf("an unresolved column %s", e.Alias)
		}
		i, ok := s.columns(e.Binding)
		if !ok {
			return nil, fmt.Errorf("an unresolved column %s", e.Alias)
		}
		return s.ref(i, t)
	case "BOUND_CONSTANT":
		if e.Value == nil {
			return nil, fmt.Errorf("a constant without its value")
		}
		return importConstant(*e.Value)
	case "BOUND_CAST":
		arg, err := s.expr(e.Child)
		if err != nil {
			return nil, err
		}
		to, err := importType(e.ReturnType)
		return &plan.Cast{Arg: arg, To: to, Try: e.TryCast}, err
	case "BOUND_COMPARISON":
		op, ok := comparisons[e.Type]
		if !ok {
			return nil, fmt.Errorf("comparison %s", e.Type)
		}
		left, err := s.expr(e.Left)
		if err != nil {
			return nil, err
		}
		right, err := s.expr(e.Right)
		return &plan.Comparison{Op: op, Left: left, Right: right}, err
	case "BOUND_CONJUNCTION":
		args, err := s.exprs(e.Children)
		return &plan.Conjunction{Or: e.Type == "CONJUNCTION_OR", Args: args}, err
	case "BOUND_OPERATOR":
		op, ok := operators[e.Type]
		if !ok {
			return nil, fmt.Errorf("operator %s", e.Type)
		}
		args, err := s.exprs(e.Children)
		if err != nil {
			return nil, err
		}
		of, err := importType(e.ReturnType)
		return &plan.Operator{Op: op, Args: args, Of: of}, err
	case "BOUND_BETWEEN":
		args, err := s.exprs([]*exprJSON{e.Input, e.Lower, e.Upper})
		if err != nil {
			return nil, err
		}
		return &plan.Between{Arg: args[0], Low: args[1], High: args[2], LowInclusive: e.LowerInclusive, HighInclusive: e.UpperInclusive}, nil
	case "BOUND_CASE":
		return s.caseExpr(e)
	case "BOUND_FUNCTION":
		return s.call(e)
	}
	return nil, fmt.Errorf("expression %s", strings.ToLower(e.Class))
}

func (s *scope) exprs(list []*exprJSON) ([]plan.Expr, error) {
	out := make([]plan.Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = s.expr(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// optional is nil for a missing expression.
func (s *scope) optional(e *exprJSON) (plan.Expr, error) {
	if e == nil {
		return nil, nil
	}
	return s.expr(e)
}

func (s *scope) caseExpr(e *exprJSON) (plan.Expr, error) {
	of, err := importType(e.ReturnType)
	if err != nil {
		return nil, err
	}
	out := &plan.Case{Of: of}
	for _, c := range e.CaseChecks {
		parts, err := s.exprs([]*exprJSON{c.When, c.Then})
		if err != nil {
			return nil, err
		}
		out.Whens = append(out.Whens, plan.When{Cond: parts[0], Then: parts[1]})
	}
	out.Else, err = s.optional(e.ElseExpr)
	return out, err
}

func (s *scope) orders(list []orderJSON) ([]plan.SortKey, error) {
	var out []plan.SortKey
	for _, o := range list {
		e, err := s.expr(o.Expression)
		if err != nil {
			return nil, err
		}
		out = append(out, plan.SortKey{Expr: e, Descending: o.Type == "DESCENDING", NullsFirst: o.NullOrder == "NULLS FIRST"})
	}
	return out, nil
}

func (s *scope) modifier(m *modifierJSON) ([]plan.SortKey, error) {
	if m == nil {
		return nil, nil
	}
	return s.orders(m.Orders)
}

// listAggregates are the functions whose bound data is the aggregate that they apply to a list.
var listAggregates = map[string]bool{"list_aggregate": true, "list_aggr": true, "array_aggregate": true, "array_aggr": true, "aggregate": true}

// datePart is a function whose erased argument came first.
const datePart = "date_part"

func (s *scope) call(e *exprJSON) (plan.Expr, error) {
	of, err := importType(e.ReturnType)
	if err != nil {
		return nil, err
	}
	args, err := s.exprs(e.Children)
	if err != nil {
		return nil, err
	}
	if sessionFunctions[e.Name] || e.Name == "age" && len(args) == 1 {
		return nil, fmt.Errorf("function %s, whose value must be that of planning", e.Name)
	}
	if e.Name == "struct_update" {
		return nil, fmt.Errorf("function %s, whose plan does not name the fields", e.Name)
	}
	out := &plan.Call{Name: e.Name, Args: args, Of: of}
	data := e.FunctionData
	switch {
	case data != nil && data.LambdaExpr != nil:
		return s.lambdaCall(out, data)
	case e.Name == datePart && data != nil && len(data.PartCodes) > 0:
		parts := make([]any, len(data.PartCodes))
		for i, p := range data.PartCodes {
			parts[i] = strings.ToLower(p)
		}
		out.Args = append([]plan.Expr{&plan.Constant{Value: parts, Of: plan.ListType(plan.T(plan.Varchar))}}, args...)
		return out, nil
	case e.Name == "struct_pack" || e.Name == "struct_insert" || e.Name == "union_value":
		if err := nameArguments(out); err != nil {
			return nil, err
		}
	case listAggregates[e.Name] && data != nil && data.BindData != nil && data.BindData.AggrExpr != nil:
		if out.Params, err = erasedParams(data.BindData.AggrExpr); err != nil {
			return nil, err
		}
		return out, nil
	}
	if len(e.OriginalArguments) > len(e.Children) {
		return nil, fmt.Errorf("function %s with arguments that the plan does not show", e.Name)
	}
	return out, nil
}

// nameArguments gives the arguments of struct_pack and kin their names, which only the type knows. A struct of unnamed
// fields is a row.
func nameArguments(c *plan.Call) error {
	fields := c.Of.Fields
	if len(fields) < len(c.Args) {
		return fmt.Errorf("function %s of type %s", c.Name, c.Of)
	}
	c.Names = make([]string, len(c.Args))
	switch c.Name {
	case "struct_pack":
		for i := range c.Args {
			c.Names[i] = fields[i].Name
		}
		if len(c.Names) > 0 && c.Names[0] == "" {
			c.Name, c.Names = "row", nil
		}
	case "struct_insert":
		before := len(fields) - (len(c.Args) - 1)
		for i := 1; i < len(c.Args); i++ {
			c.Names[i] = fields[before+i-1].Name
		}
	case "union_value":
		c.Names[0] = fields[0].Name
	}
	return nil
}

// lambdaCall reads a lambda's body: its references count the parameters from the last to the first, then the captures,
// which are further arguments of the call.
func (s *scope) lambdaCall(c *plan.Call, data *functionDataJSON) (plan.Expr, error) {
	params := 1
	if strings.HasSuffix(c.Name, "reduce") {
		params = 2
	}
	if data.HasIndex {
		params++
	}
	fixed := 1
	if data.HasInitial {
		fixed = 2
	}
	if len(c.Args) < fixed {
		return nil, fmt.Errorf("function %s with %d arguments", c.Name, len(c.Args))
	}
	captures := c.Args[fixed:]
	body := &scope{types: s.types, lambda: func(index int, t plan.Type) (plan.Expr, error) {
		if index < params {
			return &plan.LambdaParam{Index: params - 1 - index, Of: t}, nil
		}
		if index-params >= len(captures) {
			return nil, fmt.Errorf("capture %d of %d in a lambda", index-params, len(captures))
		}
		return deepen(captures[index-params], 0), nil
	}}
	e, err := body.expr(data.LambdaExpr)
	if err != nil {
		return nil, err
	}
	c.Args = slices.Clone(c.Args[:fixed])
	c.Lambda = &plan.Lambda{Params: params, Body: e}
	return c, nil
}

// deepen puts an expression one lambda deeper: its references to lambdas around it move out by one. inner counts the
// lambdas of the expression itself around e.
func deepen(e plan.Expr, inner int) plan.Expr {
	switch e := e.(type) {
	case *plan.LambdaParam:
		if e.Depth < inner {
			return e
		}
		return &plan.LambdaParam{Depth: e.Depth + 1, Index: e.Index, Of: e.Of}
	case *plan.Call:
		children := plan.ExprChildren(e)
		out := make([]plan.Expr, len(children))
		for i, c := range children {
			in := inner
			if e.Lambda != nil && i == len(children)-1 {
				in++
			}
			out[i] = deepen(c, in)
		}
		return plan.WithExprChildren(e, out)
	}
	children := plan.ExprChildren(e)
	if len(children) == 0 {
		return e
	}
	out := make([]plan.Expr, len(children))
	for i, c := range children {
		out[i] = deepen(c, inner)
	}
	return plan.WithExprChildren(e, out)
}

// aggregate is an aggregate call, also inside a window.
func (s *scope) aggregate(e *exprJSON) (plan.AggregateCall, error) {
	out := plan.AggregateCall{Name: aggregateName(e.Name), Distinct: e.AggregateType == "DISTINCT"}
	var err error
	if out.Of, err = importType(e.ReturnType); err != nil {
		return out, err
	}
	if out.Args, err = s.exprs(e.Children); err != nil {
		return out, err
	}
	if out.Params, err = erasedParams(e); err != nil {
		return out, err
	}
	if out.Filter, err = s.optional(e.Filter); err != nil {
		return out, err
	}
	out.OrderBy, err = s.modifier(e.OrderBys)
	return out, err
}

// aggregateName is the name under which SQL may call an aggregate: the optimiser puts an internal one in the place of a
// sum that cannot overflow.
func aggregateName(name string) string {
	if name == "sum_no_overflow" {
		return "sum"
	}
	return name
}

// erasedParams are the constant arguments that the binder moved out of an aggregate's arguments.
func erasedParams(e *exprJSON) ([]*plan.Constant, error) {
	data := e.FunctionData
	missing := len(e.OriginalArguments) - len(e.Children)
	switch {
	case data == nil:
	case data.Separator != nil:
		return []*plan.Constant{{Value: *data.Separator, Of: plan.T(plan.Varchar)}}, nil
	case len(data.Quantiles) > 0 && missing > 0:
		return quantileParams(e)
	case data.Min != nil && data.Max != nil && missing == 2:
		low, err := importConstant(*data.Min)
		if err != nil {
			return nil, err
		}
		high, err := importConstant(*data.Max)
		if err != nil {
			return nil, err
		}
		return []*plan.Constant{low.(*plan.Constant), high.(*plan.Constant)}, nil
	}
	if missing > 0 {
		return nil, fmt.Errorf("aggregate %s with arguments that the plan does not show", e.Name)
	}
	return nil, nil
}

// quantileParams are the fractions of a quantile: one, or a list where the call had a list. Descending order was a
// negative fraction.
func quantileParams(e *exprJSON) ([]*plan.Constant, error) {
	var values []any
	var of plan.Type
	for _, raw := range e.FunctionData.Quantiles {
		var v valueJSON
		if len(raw) > 0 && raw[0] == '{' {
			if err := json.Unmarshal(raw, &v); err != nil {
				return nil, err
			}
		} else {
			v = valueJSON{Type: typeJSON{ID: "FLOAT"}, Value: raw} // approximate quantiles
		}
		c, err := importConstant(v)
		if err != nil {
			return nil, err
		}
		k, ok := c.(*plan.Constant)
		if !ok {
			return nil, fmt.Errorf("a quantile of type %s", c.Type())
		}
		if e.FunctionData.Desc {
			k = negated(k)
		}
		if len(values) > 0 && !k.Of.Equal(of) {
			return nil, fmt.Errorf("quantiles of types %s and %s", of, k.Of)
		}
		of, values = k.Of, append(values, k.Value)
	}
	params := []*plan.Constant{{Value: values[0], Of: of}}
	if last := len(e.Children); e.OriginalArguments[last].ID == "LIST" || e.OriginalArguments[last].ID == "ARRAY" {
		params[0] = &plan.Constant{Value: values, Of: plan.ListType(of)}
	}
	if e.FunctionData.SampleSize != nil && len(e.OriginalArguments) > len(e.Children)+1 {
		params = append(params, &plan.Constant{Value: int64(*e.FunctionData.SampleSize), Of: plan.T(plan.Integer)})
	}
	return params, nil
}
