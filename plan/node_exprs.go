package plan

import "fmt"

// NodeExprs are all expressions of a node itself, not of its inputs. Those of joins (JoinCond.Left, JoinCond.Right) are
// over one input each; see MapExprs.
func NodeExprs(n Node) []Expr {
	var out []Expr
	MapExprs(n, func(e Expr) Expr {
		out = append(out, e)
		return e
	})
	return out
}

// MapExprs is the node with each of its own expressions replaced by what f makes of it. f never sees nil.
// It sees a JoinCond's sides as they stand, each over its own input.
func MapExprs(n Node, f func(Expr) Expr) Node {
	one := func(e Expr) Expr {
		if e == nil {
			return nil
		}
		return f(e)
	}
	many := func(in []Expr) []Expr {
		if in == nil {
			return nil
		}
		out := make([]Expr, len(in))
		for i, e := range in {
			out[i] = one(e)
		}
		return out
	}
	keys := func(in []SortKey) []SortKey {
		if in == nil {
			return nil
		}
		out := make([]SortKey, len(in))
		for i, k := range in {
			k.Expr = one(k.Expr)
			out[i] = k
		}
		return out
	}
	switch n := n.(type) {
	case *MetadataScan, *ShuffleRead, *DelimGet, *CTERef, *Extension, *SetOp, *CTE, *RecursiveCTE, *IcebergWrite, *IcebergCommit,
		*WholeStatement:
		return n
	case *IcebergScan:
		m := *n
		m.Filter = one(n.Filter)
		return &m
	case *Values:
		m := *n
		m.Rows = make([][]Expr, len(n.Rows))
		for i, row := range n.Rows {
			m.Rows[i] = many(row)
		}
		return &m
	case *Filter:
		return &Filter{Input: n.Input, Cond: one(n.Cond)}
	case *Project:
		return &Project{Input: n.Input, Exprs: many(n.Exprs), Names: n.Names}
	case *Aggregate:
		m := *n
		m.Groups = many(n.Groups)
		m.Calls = make([]AggregateCall, len(n.Calls))
		for i, c := range n.Calls {
			c.Args, c.Filter, c.OrderBy = many(c.Args), one(c.Filter), keys(c.OrderBy)
			m.Calls[i] = c
		}
		return &m
	case *Distinct:
		return &Distinct{Input: n.Input, On: many(n.On), OrderBy: keys(n.OrderBy)}
	case *Window:
		m := *n
		m.Calls = make([]WindowCall, len(n.Calls))
		for i, c := range n.Calls {
			c.Args, c.Filter, c.ArgOrder = many(c.Args), one(c.Filter), keys(c.ArgOrder)
			c.PartitionBy, c.OrderBy = many(c.PartitionBy), keys(c.OrderBy)
			c.Frame.Start.Offset, c.Frame.End.Offset = one(c.Frame.Start.Offset), one(c.Frame.End.Offset)
			m.Calls[i] = c
		}
		return &m
	case *Unnest:
		m := *n
		m.Exprs = many(n.Exprs)
		return &m
	case *Sort:
		return &Sort{Input: n.Input, Keys: keys(n.Keys)}
	case *Limit:
		m := *n
		m.Keys, m.Count, m.Offset = keys(n.Keys), one(n.Count), one(n.Offset)
		return &m
	case *Sample:
		m := *n
		m.Size = one(n.Size)
		return &m
	case *TableFunction:
		m := *n
		m.Args = many(n.Args)
		m.NamedArgs = make([]NamedArg, len(n.NamedArgs))
		for i, a := range n.NamedArgs {
			m.NamedArgs[i] = NamedArg{Name: a.Name, Value: one(a.Value)}
		}
		return &m
	case *Join:
		return mapJoinExprs(n, one)
	case *DelimJoin:
		m := *n
		m.Join = mapJoinExprs(n.Join, one)
		return &m
	case *ShuffleWrite:
		m := *n
		m.Keys = many(n.Keys)
		m.Partition = one(n.Partition)
		return &m
	}
	panic(fmt.Sprintf("plan: no expressions known of node %T", n))
}

func mapJoinExprs(n *Join, f func(Expr) Expr) *Join {
	m := *n
	m.Conds = make([]JoinCond, len(n.Conds))
	for i, c := range n.Conds {
		m.Conds[i] = JoinCond{Op: c.Op, Left: f(c.Left), Right: f(c.Right)}
	}
	if n.Residual != nil {
		m.Residual = f(n.Residual)
	}
	return &m
}
