package plan

import "fmt"

func (n *IcebergScan) Schema() Schema    { return scanSchema(n.Columns) }
func (n *MetadataScan) Schema() Schema   { return scanSchema(n.Columns) }
func (n *Values) Schema() Schema         { return n.Out }
func (n *ShuffleRead) Schema() Schema    { return n.Out }
func (n *DelimGet) Schema() Schema       { return n.Out }
func (n *CTERef) Schema() Schema         { return n.Out }
func (n *TableFunction) Schema() Schema  { return n.Out }
func (n *RecursiveCTE) Schema() Schema   { return n.Out }
func (n *WholeStatement) Schema() Schema { return n.Out }
func (n *Filter) Schema() Schema         { return n.Input.Schema() }
func (n *Distinct) Schema() Schema       { return n.Input.Schema() }
func (n *Sort) Schema() Schema           { return n.Input.Schema() }
func (n *Limit) Schema() Schema          { return n.Input.Schema() }
func (n *Sample) Schema() Schema         { return n.Input.Schema() }
func (n *CTE) Schema() Schema            { return n.Body.Schema() }
func (n *ShuffleWrite) Schema() Schema   { return n.Input.Schema() }
func (n *DelimJoin) Schema() Schema      { return n.Join.Schema() }

func scanSchema(columns []ScanColumn) Schema {
	out := make(Schema, len(columns))
	for i, c := range columns {
		out[i] = Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable}
	}
	return out
}

func (n *Extension) Schema() Schema {
	inputs := make([]Schema, len(n.Inputs))
	for i, in := range n.Inputs {
		inputs[i] = in.Schema()
	}
	return n.Impl.Schema(inputs)
}

// Leaf is the id by which tasks are assigned what the node reads, if it is a leaf.
func (n *Extension) Leaf() (LeafID, bool) {
	leaf, ok := n.Impl.(ExtensionLeaf)
	if !ok || len(n.Inputs) > 0 {
		return 0, false
	}
	return leaf.LeafID(), true
}

func (n *Project) Schema() Schema {
	in := n.Input.Schema()
	out := make(Schema, len(n.Exprs))
	for i, e := range n.Exprs {
		out[i] = exprColumn(in, e)
		if i < len(n.Names) && n.Names[i] != "" {
			out[i].Name = n.Names[i]
		}
	}
	return out
}

// exprColumn is the column an expression makes: a plain reference keeps name and nullability.
func exprColumn(in Schema, e Expr) Column {
	if ref, ok := e.(*ColumnRef); ok && ref.Index < len(in) {
		return Column{Name: in[ref.Index].Name, Type: ref.Of, Nullable: in[ref.Index].Nullable}
	}
	return Column{Type: e.Type(), Nullable: true}
}

func (n *Aggregate) Schema() Schema {
	in := n.Input.Schema()
	out := make(Schema, 0, len(n.Groups)+len(n.Calls)+len(n.Groupings))
	for _, g := range n.Groups {
		c := exprColumn(in, g)
		c.Nullable = c.Nullable || len(n.Sets) > 0
		out = append(out, c)
	}
	for _, c := range n.Calls {
		out = append(out, Column{Name: c.Name, Type: c.Of, Nullable: true})
	}
	for range n.Groupings {
		out = append(out, Column{Name: "grouping", Type: T(BigInt)})
	}
	return out
}

func (n *Window) Schema() Schema {
	out := append(Schema(nil), n.Input.Schema()...)
	for _, c := range n.Calls {
		out = append(out, Column{Name: c.Name, Type: c.Of, Nullable: true})
	}
	return out
}

func (n *Unnest) Schema() Schema {
	out := append(Schema(nil), n.Input.Schema()...)
	for i, t := range n.Types {
		name := "unnest"
		if i < len(n.Names) && n.Names[i] != "" {
			name = n.Names[i]
		}
		out = append(out, Column{Name: name, Type: t, Nullable: true})
	}
	return out
}

func (n *Join) Schema() Schema {
	left, right := n.Left.Schema(), n.Right.Schema()
	switch n.Kind {
	case LeftSemi, LeftAnti:
		return left
	case RightSemi, RightAnti:
		return right
	case Mark:
		return append(append(Schema(nil), left...), Column{Name: "mark", Type: T(Boolean), Nullable: true})
	case Inner, Left, Right, Full, Single:
		out := make(Schema, 0, len(left)+len(right))
		for _, c := range left {
			c.Nullable = c.Nullable || n.Kind == Right || n.Kind == Full
			out = append(out, c)
		}
		for _, c := range right {
			c.Nullable = c.Nullable || n.Kind == Left || n.Kind == Full || n.Kind == Single
			out = append(out, c)
		}
		return out
	}
	panic(fmt.Sprintf("plan: join kind %d has no schema", n.Kind))
}

func (n *SetOp) Schema() Schema {
	out := append(Schema(nil), n.Inputs[0].Schema()...)
	for _, in := range n.Inputs[1:] {
		for i, c := range in.Schema() {
			out[i].Nullable = out[i].Nullable || c.Nullable
		}
	}
	return out
}

// Schema of a write is what it reports: one row a file, which travels as messages, so it has no columns.
func (n *IcebergWrite) Schema() Schema { return nil }

// Schema of a commit is the statement's answer: the number of rows written.
func (n *IcebergCommit) Schema() Schema { return Schema{{Name: "Count", Type: T(BigInt)}} }

func (n *IcebergScan) Children() []Node  { return nil }
func (n *MetadataScan) Children() []Node { return nil }
func (n *Values) Children() []Node       { return nil }
func (n *ShuffleRead) Children() []Node  { return nil }
func (n *DelimGet) Children() []Node     { return nil }
func (n *CTERef) Children() []Node       { return nil }
func (n *Extension) Children() []Node    { return n.Inputs }
func (n *Filter) Children() []Node       { return []Node{n.Input} }
func (n *Project) Children() []Node      { return []Node{n.Input} }
func (n *Aggregate) Children() []Node    { return []Node{n.Input} }
func (n *Distinct) Children() []Node     { return []Node{n.Input} }
func (n *Window) Children() []Node       { return []Node{n.Input} }
func (n *Unnest) Children() []Node       { return []Node{n.Input} }
func (n *Sort) Children() []Node         { return []Node{n.Input} }
func (n *Limit) Children() []Node        { return []Node{n.Input} }
func (n *Sample) Children() []Node       { return []Node{n.Input} }
func (n *TableFunction) Children() []Node {
	if n.Input == nil {
		return nil
	}
	return []Node{n.Input}
}
func (n *Join) Children() []Node          { return []Node{n.Left, n.Right} }
func (n *DelimJoin) Children() []Node     { return []Node{n.Join.Left, n.Join.Right} }
func (n *SetOp) Children() []Node         { return n.Inputs }
func (n *CTE) Children() []Node           { return []Node{n.Def, n.Body} }
func (n *RecursiveCTE) Children() []Node  { return []Node{n.Initial, n.Recursive} }
func (n *ShuffleWrite) Children() []Node  { return []Node{n.Input} }
func (n *IcebergWrite) Children() []Node  { return []Node{n.Input} }
func (n *IcebergCommit) Children() []Node { return []Node{n.Input} }
func (n *WholeStatement) Children() []Node {
	children := make([]Node, len(n.Scans))
	for i, s := range n.Scans {
		children[i] = s.Scan
	}
	return children
}

func (n *IcebergScan) WithChildren(c []Node) Node  { mustLen(n, c, 0); return n }
func (n *MetadataScan) WithChildren(c []Node) Node { mustLen(n, c, 0); return n }
func (n *Values) WithChildren(c []Node) Node       { mustLen(n, c, 0); return n }
func (n *ShuffleRead) WithChildren(c []Node) Node  { mustLen(n, c, 0); return n }
func (n *DelimGet) WithChildren(c []Node) Node     { mustLen(n, c, 0); return n }
func (n *CTERef) WithChildren(c []Node) Node       { mustLen(n, c, 0); return n }
func (n *Extension) WithChildren(c []Node) Node {
	mustLen(n, c, len(n.Inputs))
	return &Extension{Impl: n.Impl, Inputs: c}
}
func (n *Filter) WithChildren(c []Node) Node    { m := *n; m.Input = one(n, c); return &m }
func (n *Project) WithChildren(c []Node) Node   { m := *n; m.Input = one(n, c); return &m }
func (n *Aggregate) WithChildren(c []Node) Node { m := *n; m.Input = one(n, c); return &m }
func (n *Distinct) WithChildren(c []Node) Node  { m := *n; m.Input = one(n, c); return &m }
func (n *Window) WithChildren(c []Node) Node    { m := *n; m.Input = one(n, c); return &m }
func (n *Unnest) WithChildren(c []Node) Node    { m := *n; m.Input = one(n, c); return &m }
func (n *Sort) WithChildren(c []Node) Node      { m := *n; m.Input = one(n, c); return &m }
func (n *Limit) WithChildren(c []Node) Node     { m := *n; m.Input = one(n, c); return &m }
func (n *Sample) WithChildren(c []Node) Node    { m := *n; m.Input = one(n, c); return &m }
func (n *TableFunction) WithChildren(c []Node) Node {
	if n.Input == nil {
		mustLen(n, c, 0)
		return n
	}
	m := *n
	m.Input = one(n, c)
	return &m
}
func (n *Join) WithChildren(c []Node) Node {
	mustLen(n, c, 2)
	m := *n
	m.Left, m.Right = c[0], c[1]
	return &m
}
func (n *DelimJoin) WithChildren(c []Node) Node {
	m := *n
	m.Join = n.Join.WithChildren(c).(*Join)
	return &m
}
func (n *SetOp) WithChildren(c []Node) Node {
	mustLen(n, c, len(n.Inputs))
	m := *n
	m.Inputs = c
	return &m
}
func (n *CTE) WithChildren(c []Node) Node {
	mustLen(n, c, 2)
	m := *n
	m.Def, m.Body = c[0], c[1]
	return &m
}
func (n *RecursiveCTE) WithChildren(c []Node) Node {
	mustLen(n, c, 2)
	m := *n
	m.Initial, m.Recursive = c[0], c[1]
	return &m
}
func (n *ShuffleWrite) WithChildren(c []Node) Node  { m := *n; m.Input = one(n, c); return &m }
func (n *IcebergWrite) WithChildren(c []Node) Node  { m := *n; m.Input = one(n, c); return &m }
func (n *IcebergCommit) WithChildren(c []Node) Node { m := *n; m.Input = one(n, c); return &m }
func (n *WholeStatement) WithChildren(c []Node) Node {
	mustLen(n, c, len(n.Scans))
	m := *n
	m.Scans = make([]NamedScan, len(c))
	for i, s := range c {
		m.Scans[i] = NamedScan{Name: n.Scans[i].Name, Scan: s}
	}
	return &m
}

func one(n Node, c []Node) Node {
	mustLen(n, c, 1)
	return c[0]
}

func mustLen(n Node, c []Node, want int) {
	if len(c) != want {
		panic(fmt.Sprintf("plan: %T takes %d children, got %d", n, want, len(c)))
	}
}

func (*IcebergScan) isNode()    {}
func (*MetadataScan) isNode()   {}
func (*Values) isNode()         {}
func (*ShuffleRead) isNode()    {}
func (*DelimGet) isNode()       {}
func (*CTERef) isNode()         {}
func (*Extension) isNode()      {}
func (*Filter) isNode()         {}
func (*Project) isNode()        {}
func (*Aggregate) isNode()      {}
func (*Distinct) isNode()       {}
func (*Window) isNode()         {}
func (*Unnest) isNode()         {}
func (*Sort) isNode()           {}
func (*Limit) isNode()          {}
func (*Sample) isNode()         {}
func (*TableFunction) isNode()  {}
func (*Join) isNode()           {}
func (*DelimJoin) isNode()      {}
func (*SetOp) isNode()          {}
func (*CTE) isNode()            {}
func (*RecursiveCTE) isNode()   {}
func (*ShuffleWrite) isNode()   {}
func (*IcebergWrite) isNode()   {}
func (*IcebergCommit) isNode()  {}
func (*WholeStatement) isNode() {}
