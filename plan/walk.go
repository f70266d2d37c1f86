package plan

import (
	"fmt"
	"slices"
)

// Walk calls visit for n and, while visit returns true, for everything below it, parents first, inputs in order.
func Walk(n Node, visit func(Node) bool) {
	if !visit(n) {
		return
	}
	for _, c := range n.Children() {
		Walk(c, visit)
	}
}

// Transform rebuilds a plan from the leaves up: rewrite sees each node over its rewritten inputs and returns what stands
// in its place (itself to leave it). Nodes under which nothing changed are kept, not copied.
func Transform(n Node, rewrite func(Node) (Node, error)) (Node, error) {
	children := n.Children()
	var changed []Node
	for i, c := range children {
		t, err := Transform(c, rewrite)
		if err != nil {
			return nil, err
		}
		if t != c && changed == nil {
			changed = slices.Clone(children)
		}
		if changed != nil {
			changed[i] = t
		}
	}
	if changed != nil {
		n = n.WithChildren(changed)
	}
	return rewrite(n)
}

// WalkExpr calls visit for e and, while visit returns true, for everything below it. A nil e is not visited.
func WalkExpr(e Expr, visit func(Expr) bool) {
	if e == nil || !visit(e) {
		return
	}
	for _, c := range ExprChildren(e) {
		WalkExpr(c, visit)
	}
}

// RewriteExpr rebuilds an expression from its leaves up; rewrite sees each expression over its rewritten arguments. A
// nil e stays nil.
func RewriteExpr(e Expr, rewrite func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	children := ExprChildren(e)
	var changed []Expr
	for i, c := range children {
		r := RewriteExpr(c, rewrite)
		if r != c && changed == nil {
			changed = slices.Clone(children)
		}
		if changed != nil {
			changed[i] = r
		}
	}
	if changed != nil {
		e = WithExprChildren(e, changed)
	}
	return rewrite(e)
}

// ExprChildren are the expressions directly under e, in a fixed order that WithExprChildren takes back. A Call's Params
// are not among them: they are part of the call. A lambda's body is the last child of its Call.
func ExprChildren(e Expr) []Expr {
	switch e := e.(type) {
	case *ColumnRef, *Constant, *LambdaParam:
		return nil
	case *Cast:
		return []Expr{e.Arg}
	case *Comparison:
		return []Expr{e.Left, e.Right}
	case *Conjunction:
		return e.Args
	case *Operator:
		return e.Args
	case *Between:
		return []Expr{e.Arg, e.Low, e.High}
	case *Case:
		out := make([]Expr, 0, 2*len(e.Whens)+1)
		for _, w := range e.Whens {
			out = append(out, w.Cond, w.Then)
		}
		if e.Else != nil {
			out = append(out, e.Else)
		}
		return out
	case *Call:
		if e.Lambda == nil {
			return e.Args
		}
		return append(slices.Clone(e.Args), e.Lambda.Body)
	}
	panic(fmt.Sprintf("plan: no children known of expression %T", e))
}

// WithExprChildren is e over other children, as many as ExprChildren(e) gives.
func WithExprChildren(e Expr, c []Expr) Expr {
	if want := len(ExprChildren(e)); want != len(c) {
		panic(fmt.Sprintf("plan: %T takes %d children, got %d", e, want, len(c)))
	}
	switch e := e.(type) {
	case *ColumnRef, *Constant, *LambdaParam:
		return e
	case *Cast:
		return &Cast{Arg: c[0], To: e.To, Try: e.Try}
	case *Comparison:
		return &Comparison{Op: e.Op, Left: c[0], Right: c[1]}
	case *Conjunction:
		return &Conjunction{Or: e.Or, Args: c}
	case *Operator:
		return &Operator{Op: e.Op, Args: c, Of: e.Of}
	case *Between:
		m := *e
		m.Arg, m.Low, m.High = c[0], c[1], c[2]
		return &m
	case *Case:
		m := &Case{Of: e.Of, Whens: make([]When, len(e.Whens))}
		for i := range e.Whens {
			m.Whens[i] = When{Cond: c[2*i], Then: c[2*i+1]}
		}
		if e.Else != nil {
			m.Else = c[len(c)-1]
		}
		return m
	case *Call:
		m := *e
		m.Args = c
		if e.Lambda != nil {
			m.Args = c[:len(c)-1]
			m.Lambda = &Lambda{Params: e.Lambda.Params, Body: c[len(c)-1]}
		}
		return &m
	}
	panic(fmt.Sprintf("plan: no children known of expression %T", e))
}

// ColumnsUsed are the input columns that the expressions read, ascending, each once.
func ColumnsUsed(exprs ...Expr) []int {
	used := map[int]bool{}
	for _, e := range exprs {
		WalkExpr(e, func(e Expr) bool {
			if ref, ok := e.(*ColumnRef); ok {
				used[ref.Index] = true
			}
			return true
		})
	}
	out := make([]int, 0, len(used))
	for i := range used {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

// MapColumns is e with every column reference moved to where gives. Types stay.
func MapColumns(e Expr, where func(int) int) Expr {
	return RewriteExpr(e, func(e Expr) Expr {
		ref, ok := e.(*ColumnRef)
		if !ok {
			return e
		}
		if to := where(ref.Index); to != ref.Index {
			return &ColumnRef{Index: to, Of: ref.Of}
		}
		return e
	})
}

// SplitConjunction are the parts of a condition that must all be true; nil makes none.
func SplitConjunction(e Expr) []Expr {
	if e == nil {
		return nil
	}
	if and, ok := e.(*Conjunction); ok && !and.Or {
		var out []Expr
		for _, a := range and.Args {
			out = append(out, SplitConjunction(a)...)
		}
		return out
	}
	return []Expr{e}
}

// And is the conjunction of conditions: nil of none, the condition itself of one.
func And(conds ...Expr) Expr {
	switch len(conds) {
	case 0:
		return nil
	case 1:
		return conds[0]
	}
	return &Conjunction{Args: conds}
}
