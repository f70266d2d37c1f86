package plan

import "slices"

// ImplyFilters filters the sides of inner joins by what a condition above or on the join says of one side alone. Of
// (a AND x) OR (b AND y), with a and b about one side, only rows of that side with a OR b can come through. Whoever
// optimised the plan has pushed down what is ANDed; this is what they left. The condition stays where it is. worth decides whether
// a condition is worth asking of each row of a side.
func ImplyFilters(root Node, worth func(Expr) bool) (Node, error) {
	im := implier{worth}
	return Transform(root, func(n Node) (Node, error) {
		switch n := n.(type) {
		case *Filter:
			in := n.Input
			for _, alternatives := range disjunctions(n.Cond) {
				in = im.imply(in, alternatives, true)
			}
			if in != n.Input {
				return n.WithChildren([]Node{in}), nil
			}
		case *Join:
			if n.Kind != Inner || n.Residual == nil {
				break
			}
			var out Node = n
			for _, alternatives := range disjunctions(n.Residual) {
				out = im.imply(out, alternatives, true)
			}
			return out, nil
		}
		return n, nil
	})
}

// disjunctions are the ORs among the parts of a condition: of each its alternatives, as the parts that must all be true.
func disjunctions(cond Expr) [][][]Expr {
	var out [][][]Expr
	for _, part := range SplitConjunction(cond) {
		or, ok := part.(*Conjunction)
		if !ok || !or.Or {
			continue
		}
		alternatives := make([][]Expr, len(or.Args))
		for i, a := range or.Args {
			alternatives[i] = SplitConjunction(a)
		}
		out = append(out, alternatives)
	}
	return out
}

type implier struct{ worth func(Expr) bool }

// imply is n without the rows of which no alternative can be true. above says that the condition stands above n, so that nothing
// is gained at n itself.
func (im implier) imply(n Node, alternatives [][]Expr, above bool) Node {
	switch n := n.(type) {
	case *Join:
		if n.Kind == Inner && !n.AsOf && !n.Positional {
			left := len(n.Left.Schema())
			m := *n
			if of, ok := about(alternatives, func(i int) (int, bool) { return i, i < left }); ok {
				m.Left = im.imply(n.Left, of, false)
			}
			if of, ok := about(alternatives, func(i int) (int, bool) { return i - left, i >= left }); ok {
				m.Right = im.imply(n.Right, of, false)
			}
			if m.Left == n.Left && m.Right == n.Right {
				return n
			}
			return &m
		}
	case *Project:
		of, ok := about(alternatives, func(i int) (int, bool) {
			ref, ok := n.Exprs[i].(*ColumnRef)
			if !ok {
				return 0, false
			}
			return ref.Index, true
		})
		if ok {
			if in := im.imply(n.Input, of, above); in != n.Input {
				return n.WithChildren([]Node{in})
			}
			return n
		}
	case *Filter:
		switch n.Input.(type) {
		case *Join, *Project, *Filter:
			if in := im.imply(n.Input, alternatives, above); in != n.Input {
				return n.WithChildren([]Node{in})
			}
			return n
		}
		cond := anyOf(alternatives)
		if above || !im.worth(cond) {
			return n
		}
		m := *n
		m.Cond = And(append(SplitConjunction(n.Cond), cond)...)
		return &m
	}
	cond := anyOf(alternatives)
	if above || !im.worth(cond) {
		return n
	}
	return &Filter{Input: n, Cond: cond}
}

func anyOf(alternatives [][]Expr) Expr {
	or := &Conjunction{Or: true}
	for _, parts := range alternatives {
		or.Args = append(or.Args, And(parts...))
	}
	return or
}

// about are the alternatives in terms of some of the columns: the parts that read those alone, moved to where they are. It is
// false when an alternative has no such part, for then any row will do.
func about(alternatives [][]Expr, where func(int) (int, bool)) ([][]Expr, bool) {
	out := make([][]Expr, len(alternatives))
	for i, parts := range alternatives {
		for _, part := range parts {
			inside := !slices.ContainsFunc(ColumnsUsed(part), func(c int) bool { _, ok := where(c); return !ok })
			if inside && Total(part) {
				out[i] = append(out[i], MapColumns(part, func(c int) int { to, _ := where(c); return to }))
			}
		}
		if len(out[i]) == 0 {
			return nil, false
		}
	}
	return out, true
}

// Total says that an expression can be asked of any row: it does not fail where rows that a join would have dropped have other
// values. Calls may, and casts but for TRY_CAST and those of integers to wider ones.
func Total(e Expr) bool {
	ok := true
	WalkExpr(e, func(e Expr) bool {
		switch e := e.(type) {
		case *ColumnRef, *Constant, *Comparison, *Between, *Conjunction, *Case:
		case *Cast:
			from := e.Arg.Type().Kind
			ok = ok && (e.Try || TinyInt <= from && from <= e.To.Kind && e.To.Kind <= HugeInt)
		case *Operator:
			switch e.Op {
			case OpNot, OpIn, OpNotIn, OpIsNull, OpIsNotNull, OpCoalesce:
			default:
				ok = false
			}
		case *Call, *LambdaParam:
			ok = false
		}
		return ok
	})
	return ok
}
