package bind

import (
	"fmt"
	"slices"

	"github.com/seracdb/serac/plan"
)

var joinKinds = map[string]plan.JoinKind{
	"INNER": plan.Inner, "LEFT": plan.Left, "RIGHT": plan.Right, "FULL": plan.Full, "OUTER": plan.Full, "SEMI": plan.LeftSemi,
	"ANTI": plan.LeftAnti, "RIGHT_SEMI": plan.RightSemi, "RIGHT_ANTI": plan.RightAnti, "MARK": plan.Mark, "SINGLE": plan.Single,
}

func (im *importer) pair(op *opJSON) (left, right imported, err error) {
	if len(op.Children) != 2 {
		return left, right, fmt.Errorf("an operator with %d inputs", len(op.Children))
	}
	if left, err = im.op(op.Children[0]); err != nil {
		return left, right, err
	}
	right, err = im.op(op.Children[1])
	return left, right, err
}

func (im *importer) join(op *opJSON) (imported, error) {
	left, right, err := im.pair(op)
	if err != nil {
		return imported{}, err
	}
	n := &plan.Join{Kind: plan.Inner, Left: left.Node, Right: right.Node, AsOf: op.Type == "LOGICAL_ASOF_JOIN",
		Positional: op.Type == "LOGICAL_POSITIONAL_JOIN"}
	if op.JoinType != "" {
		kind, ok := joinKinds[op.JoinType]
		if !ok {
			return imported{}, fmt.Errorf("a join of kind %s", op.JoinType)
		}
		n.Kind = kind
	}
	if op.Predicate != nil {
		return imported{}, fmt.Errorf("a further predicate")
	}
	ls, rs := left.scope(), right.scope()
	for _, c := range op.Conditions {
		cond := plan.JoinCond{}
		var ok bool
		if cond.Op, ok = comparisons[c.Comparison]; !ok {
			return imported{}, fmt.Errorf("comparison %s", c.Comparison)
		}
		if cond.Left, err = ls.expr(c.Left); err != nil {
			return imported{}, err
		}
		if cond.Right, err = rs.expr(c.Right); err != nil {
			return imported{}, err
		}
		n.Conds = append(n.Conds, cond)
	}
	if op.Condition != nil {
		both := &scope{types: append(append([]plan.Type(nil), ls.types...), rs.types...)}
		if n.Residual, err = both.expr(op.Condition); err != nil {
			return imported{}, err
		}
	}
	var out plan.Node = n
	if op.Type == "LOGICAL_DELIM_JOIN" {
		if out, err = im.delimJoin(op, n); err != nil {
			return imported{}, err
		}
	}
	bindings := append(append([]segment(nil), left.bindings...), right.bindings...)
	if n.Kind != plan.Inner && n.Kind != plan.Left || len(left.bindings) == 0 {
		bindings = nil
	}
	return narrowed(imported{Node: out, bindings: bindings}, joinOutput(op, n))
}

func (im *importer) delimJoin(op *opJSON, n *plan.Join) (plan.Node, error) {
	d := &plan.DelimJoin{Join: n, Flipped: op.DelimFlipped, Lateral: !im.optimised}
	source := n.Left
	if d.Flipped {
		source = n.Right
	}
	s := imported{Node: source}.scope()
	for _, e := range op.DuplicateEliminated {
		key, err := s.expr(e)
		if err != nil {
			return nil, err
		}
		ref, ok := key.(*plan.ColumnRef)
		if !ok {
			return nil, fmt.Errorf("a correlated expression that is no column")
		}
		d.Keys = append(d.Keys, ref.Index)
	}
	return d, nil
}

// joinOutput is which columns of a join go on, when DuckDB says so.
func joinOutput(op *opJSON, n *plan.Join) []int {
	if len(op.LeftProjectionMap) == 0 && len(op.RightProjectionMap) == 0 {
		return nil
	}
	side := func(picked []int, width, base int) []int {
		var out []int
		if len(picked) == 0 {
			for i := range width {
				out = append(out, base+i)
			}
		}
		for _, p := range picked {
			out = append(out, base+p)
		}
		return out
	}
	left, right := len(n.Left.Schema()), len(n.Right.Schema())
	switch n.Kind {
	case plan.LeftSemi, plan.LeftAnti:
		return side(op.LeftProjectionMap, left, 0)
	case plan.RightSemi, plan.RightAnti:
		return side(op.RightProjectionMap, right, 0)
	case plan.Mark:
		return append(side(op.LeftProjectionMap, left, 0), left)
	default:
		return append(side(op.LeftProjectionMap, left, 0), side(op.RightProjectionMap, right, left)...)
	}
}

func (im *importer) setOp(op *opJSON) (imported, error) {
	n := &plan.SetOp{All: op.SetOpAll == nil || *op.SetOpAll}
	switch op.Type {
	case "LOGICAL_UNION":
		n.Op = plan.SetUnion
	case "LOGICAL_EXCEPT":
		n.Op = plan.SetExcept
	default:
		n.Op = plan.SetIntersect
	}
	for _, c := range op.Children {
		in, err := im.op(c)
		if err != nil {
			return imported{}, err
		}
		n.Inputs = append(n.Inputs, in.Node)
	}
	if len(n.Inputs) < 2 {
		return imported{}, fmt.Errorf("an operator with %d inputs", len(n.Inputs))
	}
	return im.simple(op, n)
}

func (im *importer) cte(op *opJSON) (imported, error) {
	def, body, err := im.pair(op)
	if err != nil {
		return imported{}, err
	}
	body.Node = &plan.CTE{Index: int(op.TableIndex), Name: op.CTEName, Def: def.Node, Body: body.Node}
	return body, nil
}

func (im *importer) recursiveCTE(op *opJSON) (imported, error) {
	if len(op.Payload) > 0 {
		return imported{}, fmt.Errorf("aggregates over the key")
	}
	initial, step, err := im.pair(op)
	if err != nil {
		return imported{}, err
	}
	n := &plan.RecursiveCTE{Index: int(op.TableIndex), Name: op.CTEName, Initial: initial.Node, Recursive: step.Node,
		UnionAll: op.UnionAll, Out: slices.Clone(initial.Node.Schema())}
	for i := range n.Out {
		n.Out[i].Nullable = true
	}
	keys, err := initial.scope().exprs(op.KeyTargets)
	if err != nil {
		return imported{}, err
	}
	for _, k := range keys {
		ref, ok := k.(*plan.ColumnRef)
		if !ok {
			return imported{}, fmt.Errorf("a key that is no column")
		}
		n.Keys = append(n.Keys, ref.Index)
	}
	return im.simple(op, n)
}
