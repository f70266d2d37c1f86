package plan

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// maxConstantText is how much of a constant's text Explain shows.
const maxConstantText = 60

var compareOpNames = [...]string{Equal: "=", NotEqual: "<>", Less: "<", LessOrEqual: "<=", Greater: ">",
	GreaterOrEqual: ">=", DistinctFrom: "IS DISTINCT FROM", NotDistinctFrom: "IS NOT DISTINCT FROM"}

// String is the comparison as SQL writes it.
func (op CompareOp) String() string {
	if op > 0 && int(op) < len(compareOpNames) {
		return compareOpNames[op]
	}
	return fmt.Sprintf("CompareOp(%d)", uint8(op))
}

// Flip is the comparison with its sides exchanged: a op b equals b Flip(op) a.
func (op CompareOp) Flip() CompareOp {
	switch op {
	case Less:
		return Greater
	case LessOrEqual:
		return GreaterOrEqual
	case Greater:
		return Less
	case GreaterOrEqual:
		return LessOrEqual
	default:
		return op
	}
}

// ExprText is an expression for people, over the named columns of its input. It is not SQL to run: package render
// writes that.
func ExprText(e Expr, in Schema) string {
	switch e := e.(type) {
	case nil:
		return ""
	case *ColumnRef:
		return columnText(e.Index, in)
	case *Constant:
		return constantText(e.Value, e.Of)
	case *Cast:
		return ExprText(e.Arg, in) + "::" + e.To.SQL()
	case *Comparison:
		return "(" + ExprText(e.Left, in) + " " + e.Op.String() + " " + ExprText(e.Right, in) + ")"
	case *Conjunction:
		op := " AND "
		if e.Or {
			op = " OR "
		}
		return "(" + joinTexts(e.Args, in, op) + ")"
	case *Operator:
		return operatorText(e, in)
	case *Between:
		low, high := "<", "<"
		if e.LowInclusive {
			low = "<="
		}
		if e.HighInclusive {
			high = "<="
		}
		return "(" + ExprText(e.Low, in) + " " + low + " " + ExprText(e.Arg, in) + " " + high + " " + ExprText(e.High, in) + ")"
	case *Case:
		var b strings.Builder
		b.WriteString("CASE")
		for _, w := range e.Whens {
			b.WriteString(" WHEN " + ExprText(w.Cond, in) + " THEN " + ExprText(w.Then, in))
		}
		if e.Else != nil {
			b.WriteString(" ELSE " + ExprText(e.Else, in))
		}
		return b.String() + " END"
	case *Call:
		return callText(e, in)
	case *LambdaParam:
		return fmt.Sprintf("$%d.%d", e.Depth, e.Index)
	}
	panic(fmt.Sprintf("plan: no text known of expression %T", e))
}

// matchNames are the words for DuckDB's matching operators.
var matchNames = map[string]string{
	"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE", "~~~": "GLOB",
}

func callText(e *Call, in Schema) string {
	if len(e.Args) == 2 && len(e.Params) == 0 && e.Lambda == nil && strings.Trim(e.Name, "+-*/%|&<>=~!^") == "" {
		name := e.Name
		if word, ok := matchNames[name]; ok {
			name = word
		}
		return "(" + joinTexts(e.Args, in, " "+name+" ") + ")"
	}
	args := make([]string, 0, len(e.Args)+len(e.Params)+1)
	for i, a := range e.Args {
		text := ExprText(a, in)
		if i < len(e.Names) && e.Names[i] != "" {
			text = e.Names[i] + " := " + text
		}
		args = append(args, text)
	}
	if e.Lambda != nil {
		args = append(args, "lambda: "+ExprText(e.Lambda.Body, in))
	}
	for _, p := range e.Params {
		args = append(args, constantText(p.Value, p.Of))
	}
	return e.Name + "(" + strings.Join(args, ", ") + ")"
}

func operatorText(e *Operator, in Schema) string {
	switch e.Op {
	case OpNot:
		return "NOT " + ExprText(e.Args[0], in)
	case OpIsNull:
		return ExprText(e.Args[0], in) + " IS NULL"
	case OpIsNotNull:
		return ExprText(e.Args[0], in) + " IS NOT NULL"
	case OpIn:
		return ExprText(e.Args[0], in) + " IN (" + joinTexts(e.Args[1:], in, ", ") + ")"
	case OpNotIn:
		return ExprText(e.Args[0], in) + " NOT IN (" + joinTexts(e.Args[1:], in, ", ") + ")"
	case OpCoalesce:
		return "COALESCE(" + joinTexts(e.Args, in, ", ") + ")"
	case OpTry:
		return "TRY(" + ExprText(e.Args[0], in) + ")"
	}
	panic(fmt.Sprintf("plan: no text known of operator %d", e.Op))
}

func aggregateText(c AggregateCall, in Schema) string {
	distinct := ""
	if c.Distinct {
		distinct = "DISTINCT "
	}
	s := c.Name + "(" + distinct + exprTexts(c.Args, in)
	for _, p := range c.Params {
		s += ", " + constantText(p.Value, p.Of)
	}
	s += orderText(c.OrderBy, in) + ")"
	if c.Filter != nil {
		s += " FILTER (" + ExprText(c.Filter, in) + ")"
	}
	return s
}

func windowText(c WindowCall, in Schema) string {
	s := aggregateText(AggregateCall{Name: c.Name, Args: c.Args, Params: c.Params, Distinct: c.Distinct, Filter: c.Filter,
		OrderBy: c.ArgOrder}, in)
	over := ""
	if len(c.PartitionBy) > 0 {
		over = "PARTITION BY " + exprTexts(c.PartitionBy, in)
	}
	return s + " OVER (" + strings.TrimSpace(over+orderText(c.OrderBy, in)) + ")"
}

func columnText(i int, in Schema) string {
	if i < 0 || i >= len(in) || in[i].Name == "" {
		return fmt.Sprintf("#%d", i)
	}
	for j := range in {
		if j != i && in[j].Name == in[i].Name {
			return fmt.Sprintf("%s#%d", in[i].Name, i)
		}
	}
	return in[i].Name
}

func orderText(keys []SortKey, in Schema) string {
	if len(keys) == 0 {
		return ""
	}
	parts := make([]string, len(keys))
	for i, k := range keys {
		parts[i] = ExprText(k.Expr, in)
		if k.Descending {
			parts[i] += " DESC"
		}
		if k.NullsFirst {
			parts[i] += " NULLS FIRST"
		}
	}
	return " ORDER BY " + strings.Join(parts, ", ")
}

func exprTexts(exprs []Expr, in Schema) string { return joinTexts(exprs, in, ", ") }

func joinTexts(exprs []Expr, in Schema, sep string) string {
	parts := make([]string, len(exprs))
	for i, e := range exprs {
		parts[i] = ExprText(e, in)
	}
	return strings.Join(parts, sep)
}

func namedTexts(exprs []Expr, names []string, in Schema) string {
	parts := make([]string, len(exprs))
	for i, e := range exprs {
		parts[i] = ExprText(e, in)
		if i < len(names) && names[i] != "" && names[i] != parts[i] {
			parts[i] += " AS " + names[i]
		}
	}
	return strings.Join(parts, ", ")
}

func constantText(v any, t Type) string {
	s := rawConstantText(v, t)
	if len(s) > maxConstantText {
		s = strings.ToValidUTF8(s[:maxConstantText], "") + "..."
		if strings.HasPrefix(s, "'") {
			s += "'"
		}
	}
	return s
}

func rawConstantText(v any, t Type) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return QuoteString(v)
	case []byte:
		return "x'" + hex.EncodeToString(v) + "'"
	case [16]byte:
		return "'" + hex.EncodeToString(v[:]) + "'"
	case *big.Int:
		if t.Kind == Decimal && t.Scale > 0 {
			digits := new(big.Int).Abs(v).String()
			for len(digits) <= int(t.Scale) {
				digits = "0" + digits
			}
			point := len(digits) - int(t.Scale)
			sign := ""
			if v.Sign() < 0 {
				sign = "-"
			}
			return sign + digits[:point] + "." + digits[point:]
		}
		return v.String()
	case int64:
		switch t.Kind {
		case Date:
			return time.Unix(v*86400, 0).UTC().Format("'2006-01-02'")
		case Timestamp, TimestampTZ:
			return time.UnixMicro(v).UTC().Format("'2006-01-02 15:04:05.999999'")
		}
		return fmt.Sprint(v)
	case IntervalValue:
		return fmt.Sprintf("INTERVAL '%d months %d days %d us'", v.Months, v.Days, v.Micros)
	default:
		return fmt.Sprint(v)
	}
}
