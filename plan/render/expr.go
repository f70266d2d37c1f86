package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// Expr writes an expression over named columns: cols[i] is the SQL text of input column i.
func Expr(e plan.Expr, cols []string) (string, error) {
	w := &writer{}
	return w.expr(e, cols)
}

// castFor is CAST(text AS type), or the text alone for the types that a CAST cannot name.
func castFor(text string, t plan.Type) string {
	if unnamed(t) || t.Kind == plan.Null {
		return text
	}
	return "CAST(" + text + " AS " + t.SQL() + ")"
}

func (w *writer) expr(e plan.Expr, cols []string) (string, error) {
	switch e := e.(type) {
	case *plan.ColumnRef:
		if e.Index < 0 || e.Index >= len(cols) {
			return "", fmt.Errorf("column %d of %d", e.Index, len(cols))
		}
		return cols[e.Index], nil
	case *plan.Constant:
		return constant(e)
	case *plan.Cast:
		arg, err := w.expr(e.Arg, cols)
		if err != nil {
			return "", err
		}
		if e.Try {
			return "TRY_CAST(" + arg + " AS " + e.To.SQL() + ")", nil
		}
		return castFor(arg, e.To), nil
	case *plan.Comparison:
		left, err := w.expr(e.Left, cols)
		if err != nil {
			return "", err
		}
		right, err := w.expr(e.Right, cols)
		return "(" + left + " " + e.Op.String() + " " + right + ")", err
	case *plan.Conjunction:
		return w.conjunction(e, cols)
	case *plan.Operator:
		return w.operator(e, cols)
	case *plan.Between:
		return w.between(e, cols)
	case *plan.Case:
		return w.caseExpr(e, cols)
	case *plan.Call:
		return w.call(e, cols)
	case *plan.LambdaParam:
		if e.Depth >= len(w.lambdas) {
			return "", fmt.Errorf("lambda parameter %d.%d outside a lambda", e.Depth, e.Index)
		}
		params := w.lambdas[len(w.lambdas)-1-e.Depth]
		if e.Index >= len(params) {
			return "", fmt.Errorf("lambda parameter %d.%d of %d", e.Depth, e.Index, len(params))
		}
		return params[e.Index], nil
	}
	return "", fmt.Errorf("no SQL known of expression %T", e)
}

func (w *writer) exprs(list []plan.Expr, cols []string) ([]string, error) {
	out := make([]string, len(list))
	for i, e := range list {
		var err error
		if out[i], err = w.expr(e, cols); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (w *writer) conjunction(e *plan.Conjunction, cols []string) (string, error) {
	args, err := w.exprs(e.Args, cols)
	if err != nil {
		return "", err
	}
	if e.Or {
		return "(" + strings.Join(args, " OR ") + ")", nil
	}
	return "(" + strings.Join(args, " AND ") + ")", nil
}

func (w *writer) operator(e *plan.Operator, cols []string) (string, error) {
	args, err := w.exprs(e.Args, cols)
	if err != nil {
		return "", err
	}
	switch e.Op {
	case plan.OpNot:
		return "(NOT " + args[0] + ")", nil
	case plan.OpIsNull:
		return "(" + args[0] + " IS NULL)", nil
	case plan.OpIsNotNull:
		return "(" + args[0] + " IS NOT NULL)", nil
	case plan.OpIn:
		return "(" + args[0] + " IN (" + strings.Join(args[1:], ", ") + "))", nil
	case plan.OpNotIn:
		return "(" + args[0] + " NOT IN (" + strings.Join(args[1:], ", ") + "))", nil
	case plan.OpCoalesce:
		return "COALESCE(" + strings.Join(args, ", ") + ")", nil
	case plan.OpTry:
		return "TRY(" + args[0] + ")", nil
	}
	return "", fmt.Errorf("no SQL known of operator %d", e.Op)
}

func (w *writer) between(e *plan.Between, cols []string) (string, error) {
	parts, err := w.exprs([]plan.Expr{e.Arg, e.Low, e.High}, cols)
	if err != nil {
		return "", err
	}
	if e.LowInclusive && e.HighInclusive {
		return "(" + parts[0] + " BETWEEN " + parts[1] + " AND " + parts[2] + ")", nil
	}
	low, high := " > ", " < "
	if e.LowInclusive {
		low = " >= "
	}
	if e.HighInclusive {
		high = " <= "
	}
	return "(" + parts[0] + low + parts[1] + " AND " + parts[0] + high + parts[2] + ")", nil
}

func (w *writer) caseExpr(e *plan.Case, cols []string) (string, error) {
	var b strings.Builder
	b.WriteString("CASE")
	for _, when := range e.Whens {
		parts, err := w.exprs([]plan.Expr{when.Cond, when.Then}, cols)
		if err != nil {
			return "", err
		}
		b.WriteString(" WHEN " + parts[0] + " THEN " + parts[1])
	}
	if e.Else != nil {
		text, err := w.expr(e.Else, cols)
		if err != nil {
			return "", err
		}
		b.WriteString(" ELSE " + text)
	}
	b.WriteString(" END")
	return b.String(), nil
}

// call writes a function call. Names are quoted, operators among them: DuckDB calls "+"(a, b) like any function.
func (w *writer) call(e *plan.Call, cols []string) (string, error) {
	if e.Of.Kind == plan.Decimal && len(e.Args) == 2 && isDecimalArithmetic(e.Name) {
		return w.decimalArithmetic(e, cols)
	}
	args := make([]string, 0, len(e.Args)+len(e.Params)+1)
	for i, a := range e.Args {
		text, err := w.expr(a, cols)
		if err != nil {
			return "", err
		}
		if i < len(e.Names) && e.Names[i] != "" {
			text = plan.QuoteIdent(e.Names[i]) + " := " + text
		}
		args = append(args, text)
		if i == 0 && e.Lambda != nil {
			body, err := w.lambda(e.Lambda, cols)
			if err != nil {
				return "", err
			}
			args = append(args, body)
		}
	}
	params, err := constants(e.Params)
	if err != nil {
		return "", err
	}
	args = append(args, params...)
	switch {
	case e.Name == "array_slice" || e.Name == "list_slice":
		return slice(e, args), nil
	case len(args) == 2 && infix[e.Name]:
		return "(" + args[0] + " " + e.Name + " " + args[1] + ")", nil
	case e.Name == "row" || e.Name == "struct_pack" || e.Name == "union_value":
		return e.Name + "(" + strings.Join(args, ", ") + ")", nil
	}
	return plan.QuoteIdent(e.Name) + "(" + strings.Join(args, ", ") + ")", nil
}

// slice writes x[begin:end] or x[begin:end:step]. A bound that was left out is bound as an empty list, which only this
// form can say again; an end left out before a step is a minus sign.
func slice(e *plan.Call, args []string) string {
	for i := 1; i < min(3, len(args)); i++ {
		c, ok := e.Args[i].(*plan.Constant)
		if !ok || c.Of.Kind != plan.List {
			continue
		}
		args[i] = ""
		if i == 2 && len(args) == 4 {
			args[i] = "-"
		}
	}
	return "(" + args[0] + ")[" + strings.Join(args[1:], ":") + "]"
}

// infix are the operators written between their arguments, for the reader's sake.
var infix = map[string]bool{"+": true, "-": true, "*": true, "/": true, "%": true, "//": true, "||": true}

func constants(list []*plan.Constant) ([]string, error) {
	out := make([]string, len(list))
	for i, c := range list {
		var err error
		if out[i], err = constant(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (w *writer) lambda(l *plan.Lambda, cols []string) (string, error) {
	params := make([]string, l.Params)
	for i := range params {
		w.names++
		params[i] = fmt.Sprintf("p%d", w.names)
	}
	w.lambdas = append(w.lambdas, params)
	body, err := w.expr(l.Body, cols)
	w.lambdas = w.lambdas[:len(w.lambdas)-1]
	return "(LAMBDA " + strings.Join(params, ", ") + " : " + body + ")", err
}

// orderKeys writes ORDER BY terms. The null order is always written, and DuckDB reads a bare constant as a position, so
// a constant key, which orders nothing, is written as an expression.
func (w *writer) orderKeys(keys []plan.SortKey, cols []string) (string, error) {
	parts := make([]string, len(keys))
	for i, k := range keys {
		text, err := w.expr(k.Expr, cols)
		if err != nil {
			return "", err
		}
		if k.Descending {
			text += " DESC"
		} else {
			text += " ASC"
		}
		if k.NullsFirst {
			text += " NULLS FIRST"
		} else {
			text += " NULLS LAST"
		}
		parts[i] = text
	}
	return strings.Join(parts, ", "), nil
}
