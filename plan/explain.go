package plan

import (
	"fmt"
	"strings"
)

// Explain is the plan as an indented tree for people: one line a node, inputs below it. Columns are shown by name where
// the input has one, with #position where several columns have that name, else as #position. It never shows files, locations or credentials: a plan holds none.
func Explain(n Node) string {
	var b strings.Builder
	explain(&b, n, "", "")
	return b.String()
}

func explain(b *strings.Builder, n Node, first, rest string) {
	b.WriteString(first)
	b.WriteString(Describe(n))
	b.WriteByte('\n')
	children := n.Children()
	for i, c := range children {
		if i == len(children)-1 {
			explain(b, c, rest+"└─ ", rest+"   ")
		} else {
			explain(b, c, rest+"├─ ", rest+"│  ")
		}
	}
}

// Describe is one line about a node without its inputs, as in Explain.
func Describe(n Node) string {
	var in Schema
	switch n.(type) {
	case *WholeStatement, *IcebergScan:
	default:
		for _, c := range n.Children() {
			in = append(in, c.Schema()...)
		}
	}
	text := func(e Expr) string { return ExprText(e, in) }
	switch n := n.(type) {
	case *IcebergScan:
		s := fmt.Sprintf("IcebergScan %s leaf=%d columns=[%s]", n.TableKey, n.Leaf, strings.Join(n.Schema().Names(), ", "))
		if n.AsOf {
			s += fmt.Sprintf(" snapshot=%d", n.SnapshotID)
		}
		if n.Filter != nil {
			s += " pruning=" + ExprText(n.Filter, n.Schema())
		}
		return s + estimate(n.EstimatedRows, n.EstimatedBytes)
	case *MetadataScan:
		return fmt.Sprintf("MetadataScan %s of %s leaf=%d columns=[%s]", n.Kind, n.TableKey, n.Leaf, strings.Join(n.Schema().Names(), ", ")) +
			estimate(n.EstimatedRows, -1)
	case *Values:
		return fmt.Sprintf("Values leaf=%d %d rows", n.Leaf, len(n.Rows))
	case *ShuffleRead:
		how := ""
		if n.Broadcast {
			how = " broadcast"
		}
		return fmt.Sprintf("ShuffleRead stage=%d leaf=%d%s", n.Stage, n.Leaf, how) + estimate(n.EstimatedRows, n.EstimatedBytes)
	case *DelimGet:
		columns := make([]string, len(n.Out))
		for i := range columns {
			columns[i] = columnText(i, n.Out)
		}
		return "DelimGet [" + strings.Join(columns, ", ") + "]"
	case *CTERef:
		if n.Recurring {
			return fmt.Sprintf("CTERef %d recurring", n.Index)
		}
		return fmt.Sprintf("CTERef %d", n.Index)
	case *Extension:
		return "Extension " + n.Impl.Explain()
	case *Filter:
		return "Filter " + text(n.Cond)
	case *Project:
		return "Project [" + namedTexts(n.Exprs, n.Names, in) + "]"
	case *Aggregate:
		return describeAggregate(n, in)
	case *Distinct:
		if len(n.On) == 0 {
			return "Distinct"
		}
		return "Distinct on [" + exprTexts(n.On, in) + "]" + orderText(n.OrderBy, in)
	case *Window:
		calls := make([]string, len(n.Calls))
		for i, c := range n.Calls {
			calls[i] = windowText(c, in)
		}
		return "Window [" + strings.Join(calls, ", ") + "]"
	case *Unnest:
		return "Unnest [" + exprTexts(n.Exprs, in) + "]"
	case *Sort:
		return "Sort" + orderText(n.Keys, in)
	case *Limit:
		return describeLimit(n, in)
	case *Sample:
		unit := " rows"
		if n.Percentage {
			unit = "%"
		}
		return "Sample " + n.Method + " " + text(n.Size) + unit
	case *TableFunction:
		args := exprTexts(n.Args, in)
		if n.Input == nil {
			return fmt.Sprintf("TableFunction %s(%s) leaf=%d", n.Name, args, n.Leaf)
		}
		return fmt.Sprintf("TableFunction %s over its input", n.Name)
	case *Join:
		return describeJoin(n, in)
	case *DelimJoin:
		keys := make([]string, len(n.Keys))
		source := n.Join.Left.Schema()
		if n.Flipped {
			source = n.Join.Right.Schema()
		}
		for i, k := range n.Keys {
			keys[i] = columnText(k, source)
		}
		how := ""
		if n.Lateral {
			how = " lateral"
		}
		return "Delim" + describeJoin(n.Join, in) + " keys=[" + strings.Join(keys, ", ") + "]" + how
	case *SetOp:
		all := ""
		if n.All {
			all = " all"
		}
		return [...]string{SetUnion: "Union", SetExcept: "Except", SetIntersect: "Intersect"}[n.Op] + all
	case *CTE:
		return fmt.Sprintf("CTE %d %s", n.Index, n.Name)
	case *RecursiveCTE:
		return fmt.Sprintf("RecursiveCTE %d %s", n.Index, n.Name)
	case *ShuffleWrite:
		text := fmt.Sprintf("ShuffleWrite partitions=%d", n.Partitions)
		switch {
		case n.Partition != nil:
			text += " by=" + exprTexts([]Expr{n.Partition}, in)
		case n.Partitions > 1:
			text += fmt.Sprintf(" keys=[%s]", exprTexts(n.Keys, in))
		}
		if len(n.Summarize) > 0 {
			names := make([]string, len(n.Summarize))
			for i, c := range n.Summarize {
				names[i] = columnText(c, in)
			}
			text += " summarize=[" + strings.Join(names, ", ") + "]"
		}
		return text
	case *IcebergWrite:
		return "IcebergWrite " + n.TableKey
	case *IcebergCommit:
		return "IcebergCommit " + n.TableKey
	case *WholeStatement:
		return "WholeStatement " + strings.Join(strings.Fields(n.SQL), " ")
	}
	panic(fmt.Sprintf("plan: no description known of node %T", n))
}

func describeAggregate(n *Aggregate, in Schema) string {
	calls := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		calls[i] = aggregateText(c, in)
	}
	s := "Aggregate"
	if len(n.Groups) > 0 {
		s += " by [" + exprTexts(n.Groups, in) + "]"
	}
	if len(n.Sets) > 0 {
		s += fmt.Sprintf(" sets=%v", n.Sets)
	}
	return s + " [" + strings.Join(calls, ", ") + "]"
}

func describeLimit(n *Limit, in Schema) string {
	s := "Limit"
	if len(n.Keys) > 0 {
		s = "TopN"
	}
	if n.Count != nil {
		s += " " + ExprText(n.Count, in)
		if n.Percent {
			s += "%"
		}
	}
	if n.Offset != nil {
		s += " offset " + ExprText(n.Offset, in)
	}
	return s + orderText(n.Keys, in)
}

var joinKindNames = [...]string{Inner: "inner", Left: "left", Right: "right", Full: "full", LeftSemi: "semi",
	LeftAnti: "anti", RightSemi: "right semi", RightAnti: "right anti", Mark: "mark", Single: "single"}

// String is the kind as Explain shows it.
func (k JoinKind) String() string {
	if k > 0 && int(k) < len(joinKindNames) {
		return joinKindNames[k]
	}
	return fmt.Sprintf("JoinKind(%d)", uint8(k))
}

func describeJoin(n *Join, in Schema) string {
	s := "Join " + n.Kind.String()
	if n.AsOf {
		s = "AsOf" + s
	}
	if n.Positional {
		s = "Positional" + s
	}
	if len(n.Conds) == 0 && n.Residual == nil && n.Kind == Inner && !n.Positional {
		return "CrossJoin"
	}
	left, right := n.Left.Schema(), n.Right.Schema()
	var conds []string
	for _, c := range n.Conds {
		conds = append(conds, ExprText(c.Left, left)+" "+c.Op.String()+" "+ExprText(c.Right, right))
	}
	if n.Residual != nil {
		conds = append(conds, ExprText(n.Residual, in))
	}
	if len(conds) > 0 {
		s += " on " + strings.Join(conds, " AND ")
	}
	return s
}

func estimate(rows, bytes int64) string {
	s := ""
	if rows >= 0 {
		s += " ~" + CountText(float64(rows)) + " rows"
	}
	if bytes >= 0 {
		s += " ~" + BytesText(float64(bytes))
	}
	return s
}

// CountText is an estimated number for people.
func CountText(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1fG", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0fk", n/1e3)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}

// BytesText is an estimated size for people.
func BytesText(n float64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", n/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", n/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", n/(1<<10))
	default:
		return fmt.Sprintf("%.0f B", n)
	}
}
