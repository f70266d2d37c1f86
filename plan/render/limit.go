package render

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/seracdb/serac/plan"
)

// limit writes LIMIT, OFFSET and top-N. A count that came from a subquery is a column of the input, the same in every
// row: the input is materialised then, so that the count can be read from its first row.
//
// Below a join the result is materialised. DuckDB pushes the join's filter below a LIMIT otherwise, which then takes rows that
// it should not (duckdb/duckdb#22924). A correlated LIMIT it turns into a window, where it does not.
func (w *writer) limit(n *plan.Limit) (string, error) {
	sql, err := w.node(n.Input)
	if err != nil {
		return "", err
	}
	width := len(n.Input.Schema())
	in := w.relate(sql, width)
	with := ""
	if !isConstant(n.Count) || !isConstant(n.Offset) {
		name := w.name("x")
		with = "WITH " + name + " AS MATERIALIZED (" + sql + ") "
		in = w.alias(name, width)
		in.from = name + " AS " + in.alias
	}
	out := with + selectFrom(in.cols, in.from)
	if len(n.Keys) > 0 {
		order, err := w.orderKeys(n.Keys, in.cols)
		if err != nil {
			return "", err
		}
		out += " ORDER BY " + order
	}
	name := strings.TrimSuffix(in.from, " AS "+in.alias)
	if n.Count != nil {
		count, err := w.limitValue(n.Count, name, width)
		if err != nil {
			return "", err
		}
		out += " LIMIT " + count
		if n.Percent {
			out += "%"
		}
	}
	if n.Offset != nil {
		offset, err := w.limitValue(n.Offset, name, width)
		if err != nil {
			return "", err
		}
		out += " OFFSET " + offset
	}
	if w.joins > 0 && !w.correlated() {
		name := w.name("x")
		in := w.alias(name, width)
		return "WITH " + name + " AS MATERIALIZED (" + out + ") " + selectFrom(in.cols, in.from), nil
	}
	return out, nil
}

// correlated says that what is written reads the current row of a lateral join.
func (w *writer) correlated() bool {
	return slices.ContainsFunc(w.delims, func(d delimSource) bool { return d.cte == "" })
}

func isConstant(e plan.Expr) bool {
	if e == nil {
		return true
	}
	_, ok := e.(*plan.Constant)
	return ok
}

func (w *writer) limitValue(e plan.Expr, from string, width int) (string, error) {
	if c, ok := e.(*plan.Constant); ok {
		switch v := c.Value.(type) {
		case nil:
			return "NULL", nil
		case int64:
			return strconv.FormatInt(v, 10), nil
		case uint64:
			return strconv.FormatUint(v, 10), nil
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64), nil
		case *big.Int:
			return decimalText(v, int(c.Of.Scale)), nil
		}
		return "", fmt.Errorf("a limit of type %s", c.Of)
	}
	in := w.alias(from, width)
	text, err := w.expr(e, in.cols)
	return "(SELECT " + text + " FROM " + in.from + " LIMIT 1)", err
}

func (w *writer) sample(n *plan.Sample) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	size, err := w.limitValue(n.Size, "", 0)
	if err != nil {
		return "", err
	}
	unit := " ROWS"
	if n.Percentage {
		unit = " PERCENT"
	}
	method := strings.ToLower(n.Method)
	if method != "system" && method != "bernoulli" && method != "reservoir" {
		return "", fmt.Errorf("no SQL known of sampling method %q", n.Method)
	}
	sql := selectFrom(in.cols, in.from) + " USING SAMPLE " + method + "(" + size + unit + ")"
	if n.Seed != nil {
		sql += fmt.Sprintf(" REPEATABLE (%d)", *n.Seed)
	}
	return sql, nil
}
