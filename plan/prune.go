package plan

import "fmt"

// PruneColumns is the same plan without the columns that nothing above reads: scans read fewer columns, and what goes
// into joins, aggregates, sorts and the like (where distribution puts exchanges) carries no more than is used. The
// root's schema stays.
func PruneColumns(root Node) Node {
	return pruneTo(root, allOf(len(root.Schema())))
}

// columnSet says of each column whether it is needed.
type columnSet []bool

func allOf(n int) columnSet {
	s := make(columnSet, n)
	for i := range s {
		s[i] = true
	}
	return s
}

func (s columnSet) clone() columnSet { return append(columnSet(nil), s...) }

func (s columnSet) add(exprs ...Expr) columnSet {
	for _, i := range ColumnsUsed(exprs...) {
		s[i] = true
	}
	return s
}

func (s columnSet) addKeys(keys []SortKey) columnSet {
	for _, k := range keys {
		s.add(k.Expr)
	}
	return s
}

// pruned is a node in another's place. at says where each of the other's columns is now; -1: gone.
type pruned struct {
	node Node
	at   []int
}

func unchanged(n Node) pruned {
	at := make([]int, len(n.Schema()))
	for i := range at {
		at[i] = i
	}
	return pruned{n, at}
}

func (p pruned) expr(e Expr) Expr {
	return MapColumns(e, func(i int) int { return p.at[i] })
}

func (p pruned) exprs(list []Expr) []Expr {
	if list == nil {
		return nil
	}
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = p.expr(e)
	}
	return out
}

func (p pruned) keys(list []SortKey) []SortKey {
	if list == nil {
		return nil
	}
	out := make([]SortKey, len(list))
	for i, k := range list {
		k.Expr = p.expr(k.Expr)
		out[i] = k
	}
	return out
}

// pruneTo prunes a node to exactly the needed columns, in their order; but at least one column stays.
func pruneTo(n Node, needed columnSet) Node {
	p := prune(n, needed)
	schema := p.node.Schema()
	if len(schema) == 0 {
		return p.node
	}
	var want []int
	for i, need := range needed {
		if need {
			want = append(want, p.at[i])
		}
	}
	if len(want) == 0 {
		want = []int{cheapest(schema.Types())}
	}
	same := len(want) == len(schema)
	for i, w := range want {
		same = same && w == i
	}
	if same {
		return p.node
	}
	exprs, names := make([]Expr, len(want)), make([]string, len(want))
	for i, w := range want {
		exprs[i], names[i] = &ColumnRef{Index: w, Of: schema[w].Type}, schema[w].Name
	}
	return &Project{Input: p.node, Exprs: exprs, Names: names}
}

// exactly is pruneTo with the map of what is where.
func exactly(n Node, needed columnSet) pruned {
	out := pruned{pruneTo(n, needed), make([]int, len(needed))}
	next := 0
	for i, need := range needed {
		out.at[i] = -1
		if need {
			out.at[i] = next
			next++
		}
	}
	return out
}

// cheapest is the column that costs least to read for its row count alone.
func cheapest(types []Type) int {
	best, cost := 0, 1<<30
	for i, t := range types {
		c := 100
		switch t.Kind {
		case Boolean, TinyInt, UTinyInt:
			c = 1
		case SmallInt, USmallInt:
			c = 2
		case Integer, UInteger, Date, Float:
			c = 4
		case BigInt, UBigInt, Double, Time, Timestamp, TimestampTZ, TimestampS, TimestampMS, TimestampNS:
			c = 8
		case Decimal, HugeInt, UHugeInt, UUID, Interval:
			c = 16
		case Varchar, Blob:
			c = 50
		}
		if c < cost {
			best, cost = i, c
		}
	}
	return best
}

// prune rebuilds a node without columns that are not needed, as far as that is simple; columns that it needs itself may
// stay in its output.
func prune(n Node, needed columnSet) pruned {
	switch n := n.(type) {
	case *ShuffleRead, *DelimGet, *CTERef, *WholeStatement:
		return unchanged(n)
	case *IcebergScan:
		return pruneScan(n, needed)
	case *MetadataScan:
		return pruneMetadataScan(n, needed)
	case *Values:
		return pruneValues(n, needed)
	case *Project:
		return pruneProject(n, needed)
	case *Aggregate:
		return pruneAggregate(n, needed)
	case *Window:
		return pruneWindow(n, needed)
	case *Filter:
		in := prune(n.Input, needed.clone().add(n.Cond))
		return pruned{&Filter{Input: in.node, Cond: in.expr(n.Cond)}, in.at}
	case *Distinct:
		if len(n.On) == 0 {
			return unchanged(n.WithChildren([]Node{pruneTo(n.Input, allOf(len(needed)))}))
		}
		in := exactly(n.Input, needed.clone().add(n.On...).addKeys(n.OrderBy))
		return pruned{&Distinct{Input: in.node, On: in.exprs(n.On), OrderBy: in.keys(n.OrderBy)}, in.at}
	case *Unnest:
		return pruneUnnest(n, needed)
	case *Sort:
		in := exactly(n.Input, needed.clone().addKeys(n.Keys))
		return pruned{&Sort{Input: in.node, Keys: in.keys(n.Keys)}, in.at}
	case *Limit:
		in := exactly(n.Input, needed.clone().addKeys(n.Keys).add(n.Count, n.Offset))
		m := *n
		m.Input, m.Keys, m.Count, m.Offset = in.node, in.keys(n.Keys), in.expr(n.Count), in.expr(n.Offset)
		return pruned{&m, in.at}
	case *Sample:
		in := prune(n.Input, needed)
		m := *n
		m.Input = in.node
		return pruned{&m, in.at}
	case *Join:
		p, _, _ := pruneJoinSides(n, needed, nil, false)
		return p
	case *DelimJoin:
		return pruneDelimJoin(n, needed)
	case *SetOp:
		return pruneSetOp(n, needed)
	case *CTE:
		in := prune(n.Body, needed)
		m := *n
		m.Def, m.Body = pruneTo(n.Def, allOf(len(n.Def.Schema()))), in.node
		return pruned{&m, in.at}
	case *TableFunction, *RecursiveCTE, *Extension, *ShuffleWrite, *IcebergWrite, *IcebergCommit:
		children := n.Children()
		out := make([]Node, len(children))
		for i, c := range children {
			out[i] = pruneTo(c, allOf(len(c.Schema())))
		}
		if len(out) > 0 {
			return unchanged(n.WithChildren(out))
		}
		return unchanged(n)
	}
	panic(fmt.Sprintf("plan: no pruning known of node %T", n))
}

// keep is where each needed column goes when only those stay; extra is kept when none would be.
func keep(needed columnSet, extra int) (at, kept []int) {
	at = make([]int, len(needed))
	for i, need := range needed {
		at[i] = -1
		if need {
			at[i] = len(kept)
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 && len(needed) > 0 {
		at[extra], kept = 0, []int{extra}
	}
	return at, kept
}

func pruneScan(n *IcebergScan, needed columnSet) pruned {
	at, kept := keep(needed.clone().add(n.Filter), cheapest(n.Schema().Types()))
	m := *n
	m.Columns = make([]ScanColumn, len(kept))
	for i, k := range kept {
		m.Columns[i] = n.Columns[k]
	}
	out := pruned{&m, at}
	m.Filter = out.expr(n.Filter)
	return out
}

func pruneMetadataScan(n *MetadataScan, needed columnSet) pruned {
	at, kept := keep(needed, cheapest(n.Schema().Types()))
	m := *n
	m.Columns = make([]ScanColumn, len(kept))
	for i, k := range kept {
		m.Columns[i] = n.Columns[k]
	}
	return pruned{&m, at}
}

func pruneValues(n *Values, needed columnSet) pruned {
	at, kept := keep(needed, 0)
	m := *n
	m.Out = make(Schema, len(kept))
	for i, k := range kept {
		m.Out[i] = n.Out[k]
	}
	m.Rows = make([][]Expr, len(n.Rows))
	for r, row := range n.Rows {
		m.Rows[r] = make([]Expr, len(kept))
		for i, k := range kept {
			m.Rows[r][i] = row[k]
		}
	}
	return pruned{&m, at}
}

func pruneProject(n *Project, needed columnSet) pruned {
	at, kept := keep(needed, cheapest(n.Schema().Types()))
	m := &Project{}
	for _, k := range kept {
		m.Exprs = append(m.Exprs, n.Exprs[k])
		name := ""
		if k < len(n.Names) {
			name = n.Names[k]
		}
		m.Names = append(m.Names, name)
	}
	in := prune(n.Input, make(columnSet, len(n.Input.Schema())).add(m.Exprs...))
	m.Input, m.Exprs = in.node, in.exprs(m.Exprs)
	return pruned{m, at}
}

func pruneAggregate(n *Aggregate, needed columnSet) pruned {
	m := &Aggregate{Sets: n.Sets}
	at := make([]int, len(needed))
	used := make(columnSet, len(n.Input.Schema())).add(n.Groups...)
	out := len(n.Groups)
	for i := range n.Groups {
		at[i] = i
	}
	base := len(n.Groups)
	for i, c := range n.Calls {
		if at[base+i] = -1; !needed[base+i] && (len(n.Groups) > 0 || i > 0) {
			continue
		}
		at[base+i] = out
		out++
		used.add(c.Args...).add(c.Filter).addKeys(c.OrderBy)
		m.Calls = append(m.Calls, c)
	}
	base += len(n.Calls)
	for i, g := range n.Groupings {
		if at[base+i] = -1; needed[base+i] {
			at[base+i] = out
			out++
			m.Groupings = append(m.Groupings, g)
		}
	}
	in := exactly(n.Input, used)
	m.Input, m.Groups = in.node, in.exprs(n.Groups)
	for i, c := range m.Calls {
		c.Args, c.Filter, c.OrderBy = in.exprs(c.Args), in.expr(c.Filter), in.keys(c.OrderBy)
		m.Calls[i] = c
	}
	return pruned{m, at}
}

func pruneWindow(n *Window, needed columnSet) pruned {
	width := len(n.Input.Schema())
	used := needed[:width].clone()
	m := &Window{}
	var from []int
	for i, c := range n.Calls {
		if !needed[width+i] {
			continue
		}
		m.Calls, from = append(m.Calls, c), append(from, i)
		used.add(c.Args...).add(c.Filter, c.Frame.Start.Offset, c.Frame.End.Offset).add(c.PartitionBy...).addKeys(c.OrderBy).addKeys(c.ArgOrder)
	}
	in := exactly(n.Input, used)
	at := append(in.at, make([]int, len(n.Calls))...)
	for i := range n.Calls {
		at[width+i] = -1
	}
	if len(m.Calls) == 0 {
		return pruned{in.node, at}
	}
	m.Input = in.node
	below := len(in.node.Schema())
	for i, c := range m.Calls {
		at[width+from[i]] = below + i
		c.Args, c.Filter, c.PartitionBy = in.exprs(c.Args), in.expr(c.Filter), in.exprs(c.PartitionBy)
		c.OrderBy, c.ArgOrder = in.keys(c.OrderBy), in.keys(c.ArgOrder)
		c.Frame.Start.Offset, c.Frame.End.Offset = in.expr(c.Frame.Start.Offset), in.expr(c.Frame.End.Offset)
		m.Calls[i] = c
	}
	return pruned{m, at}
}

// pruneUnnest keeps every list: the longest decides how often a row repeats.
func pruneUnnest(n *Unnest, needed columnSet) pruned {
	width := len(n.Input.Schema())
	in := prune(n.Input, needed[:width].clone().add(n.Exprs...))
	m := *n
	m.Input, m.Exprs = in.node, in.exprs(n.Exprs)
	at := append([]int(nil), in.at...)
	below := len(in.node.Schema())
	for i := range n.Exprs {
		at = append(at, below+i)
	}
	return pruned{&m, at}
}

// pruneJoinSides prunes both sides, and says where each side's columns are. keys are further columns that one side must
// keep: the left, or the right one when flipped.
func pruneJoinSides(n *Join, needed columnSet, keys []int, flipped bool) (p pruned, leftAt, rightAt []int) {
	left, right := len(n.Left.Schema()), len(n.Right.Schema())
	usedLeft, usedRight := make(columnSet, left), make(columnSet, right)
	switch n.Kind {
	case LeftSemi, LeftAnti:
		copy(usedLeft, needed)
	case RightSemi, RightAnti:
		copy(usedRight, needed)
	default:
		copy(usedLeft, needed)
		if n.Kind != Mark {
			copy(usedRight, needed[left:])
		}
	}
	for _, c := range n.Conds {
		usedLeft.add(c.Left)
		usedRight.add(c.Right)
	}
	for _, i := range ColumnsUsed(n.Residual) {
		if i < left {
			usedLeft[i] = true
		} else {
			usedRight[i-left] = true
		}
	}
	for _, k := range keys {
		if flipped {
			usedRight[k] = true
		} else {
			usedLeft[k] = true
		}
	}
	l, r := exactly(n.Left, usedLeft), exactly(n.Right, usedRight)
	newLeft := len(l.node.Schema())
	m := *n
	m.Left, m.Right = l.node, r.node
	m.Conds = make([]JoinCond, len(n.Conds))
	for i, c := range n.Conds {
		m.Conds[i] = JoinCond{Op: c.Op, Left: l.expr(c.Left), Right: r.expr(c.Right)}
	}
	both := append([]int(nil), l.at...)
	for _, a := range r.at {
		if a >= 0 {
			a += newLeft
		}
		both = append(both, a)
	}
	m.Residual = MapColumns(n.Residual, func(i int) int { return both[i] })
	switch n.Kind {
	case LeftSemi, LeftAnti:
		return pruned{&m, l.at}, l.at, r.at
	case RightSemi, RightAnti:
		return pruned{&m, r.at}, l.at, r.at
	case Mark:
		return pruned{&m, append(append([]int(nil), l.at...), newLeft)}, l.at, r.at
	}
	return pruned{&m, both}, l.at, r.at
}

func pruneDelimJoin(n *DelimJoin, needed columnSet) pruned {
	p, left, right := pruneJoinSides(n.Join, needed, n.Keys, n.Flipped)
	source := left
	if n.Flipped {
		source = right
	}
	m := *n
	m.Join = p.node.(*Join)
	m.Keys = make([]int, len(n.Keys))
	for i, k := range n.Keys {
		m.Keys[i] = source[k]
	}
	return pruned{&m, p.at}
}

// pruneSetOp narrows a UNION ALL; the others compare whole rows.
func pruneSetOp(n *SetOp, needed columnSet) pruned {
	if n.Op != SetUnion || !n.All {
		needed = allOf(len(needed))
	}
	at, kept := keep(needed, cheapest(n.Schema().Types()))
	want := make(columnSet, len(needed))
	for _, k := range kept {
		want[k] = true
	}
	m := &SetOp{Op: n.Op, All: n.All}
	for _, in := range n.Inputs {
		m.Inputs = append(m.Inputs, pruneTo(in, want))
	}
	return pruned{m, at}
}
