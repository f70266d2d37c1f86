package fuzz

import (
	"fmt"
	"strings"
)

// literals of each kind.
var literals = [kinds][]string{
	integer: {"1", "0", "-1", "3", "40"}, long: {"5::BIGINT", "0::BIGINT", "4294967296", "-7::BIGINT"}, double: {"0.25::DOUBLE", "1::DOUBLE", "-2.5::DOUBLE"},
	float: {"1::FLOAT", "0.25::FLOAT"}, decimal: {"1.00::DECIMAL(9,2)", "-3.50::DECIMAL(9,2)", "1200.75::DECIMAL(9,2)"}, text: {"'a'", "''", "'ab'", "'b'", "'5%'"},
	binary: {`'\x00'::BLOB`, "'ab'::BLOB", "''::BLOB"}, uuid: {"'00000000-0000-0000-0000-000000000000'::UUID", "'f0000001-0000-4000-8000-000000000000'::UUID"},
	date: {"DATE '2024-02-29'", "DATE '1970-01-01'"}, timeOfDay: {"TIME '12:30:00'", "TIME '00:00:00'"}, timestamp: {"TIMESTAMP '2024-02-29 12:00:00'", "TIMESTAMP '1970-01-01'"},
	instant: {"TIMESTAMPTZ '2024-03-31 01:00:00+00'", "TIMESTAMPTZ '1970-01-01 00:00:00+00'"}, boolean: {"true", "false"},
	structure: {"{'a': 1, 'b': 'x'}", "{'a': 2, 'b': ''}"}, list: {"[1]", "[1, 2]", "[3, NULL]"}, mapping: {"MAP {'k': 1}", "MAP {'a': 1, 'k': 2}"},
}

// expr makes an expression of a kind. Its numbers stay small enough that nothing overflows.
func (g *generator) expr(c *choices, s *scope, k kind, depth int) string {
	way := c.pick(20)
	if way < 9 || depth < 0 {
		if col := g.column(c, s, k); col != "" {
			return col
		}
	}
	of := func(k kind) string { return g.expr(c.sub(), s, k, depth-1) }
	if depth >= 0 {
		switch way {
		case 9, 10:
			return fmt.Sprintf("CASE WHEN %s THEN %s %sEND", g.predicate(c.sub(), s, depth-1), of(k), one(c, "", "ELSE "+of(k)+" "))
		case 11:
			return fmt.Sprintf("coalesce(%s, %s)", of(k), of(k))
		case 12:
			return fmt.Sprintf("nullif(%s, %s)", of(k), of(k))
		case 13, 14, 15, 16:
			return g.function(c, k, of)
		case 17:
			if depth > 0 {
				return g.scalar(c, s, k, depth)
			}
		}
	}
	if way == 18 {
		return "CAST(NULL AS " + typeNames[k] + ")"
	}
	return one(c, literals[k]...)
}

// column is one of the scope's columns of a kind, or of a scope around it; "" when there is none.
func (g *generator) column(c *choices, s *scope, k kind) string {
	from := s
	if s.outer != nil && c.chance(20) {
		from = s.outer
	}
	var of []string
	for ; from != nil && len(of) == 0; from = from.outer {
		for _, col := range from.columns {
			if col.kind == k {
				of = append(of, col.sql)
			}
		}
	}
	if len(of) == 0 {
		return ""
	}
	return of[c.pick(len(of))]
}

func (g *generator) function(c *choices, k kind, of func(kind) string) string {
	f := fmt.Sprintf
	switch k {
	case integer:
		switch c.pick(11) {
		case 0:
			return f("(%s %% 1000 %s %s %% 1000)", of(integer), one(c, "+", "-"), of(integer))
		case 1:
			return f("CAST(length(%s) AS INTEGER)", of(text))
		case 2:
			return f("(%s %% %s)", of(integer), of(integer))
		case 3:
			return f("CAST(%s(%s) AS INTEGER)", one(c, "year", "month", "dayofweek"), of(date))
		case 4:
			return f("CAST(len(%s) AS INTEGER)", of(list))
		case 5:
			return f("(%s).a", of(structure))
		case 6:
			return f("(%s)[%d]", of(list), 1+c.pick(2))
		case 7:
			return f("(%s)['k']", of(mapping))
		case 8:
			return f("CAST(%s AS INTEGER)", of(boolean))
		case 9:
			return f("TRY_CAST(%s AS INTEGER)", of(text))
		}
		return f("(- (%s %% 1000))", of(integer))
	case long:
		switch c.pick(4) {
		case 0:
			return f("CAST(%s AS BIGINT)", of(integer))
		case 1:
			return f("((%s %% 1000) * (%s %% 1000))", of(long), of(long))
		case 2:
			return f("date_diff('day', %s, %s)", of(date), of(date))
		}
		return f("(%s // %s)", of(long), of(long))
	case double:
		switch c.pick(4) {
		case 0:
			return f("CAST(%s AS DOUBLE)", of(one(c, integer, float, decimal)))
		case 1:
			return f("(%s + %s)", of(double), of(double))
		case 2:
			return f("(%s * 0.5::DOUBLE)", of(double))
		}
		return f("TRY_CAST(%s AS DOUBLE)", of(integer))
	case float:
		return f("CAST(%s %% 1000 AS FLOAT)", of(integer))
	case decimal:
		if c.chance(50) {
			return f("CAST(%s %% 1000 AS DECIMAL(9,2))", of(integer))
		}
		return f("CAST(%s %% 1000 %s %s %% 1000 AS DECIMAL(9,2))", of(decimal), one(c, "+", "-"), of(decimal))
	case text:
		switch c.pick(6) {
		case 0:
			return f("%s(%s)", one(c, "upper", "lower", "trim", "reverse"), of(text))
		case 1:
			return f("substr(%s, 1, 2)", of(text))
		case 2:
			return f("(%s || %s)", of(text), of(text))
		case 3:
			return f("CAST(%s AS VARCHAR)", of(one(c, integer, date, boolean, decimal, uuid, list)))
		case 4:
			return f("concat(%s, %s)", of(text), of(integer))
		}
		return f("(%s).b", of(structure))
	case binary:
		return f("encode(%s)", of(text))
	case date:
		switch c.pick(3) {
		case 0:
			return f("CAST(%s AS DATE)", of(timestamp))
		case 1:
			return f("(%s + %s %% 1000)", of(date), of(integer))
		}
		return f("CAST(date_trunc('month', %s) AS DATE)", of(date))
	case timeOfDay:
		return f("CAST(%s AS TIME)", of(timestamp))
	case timestamp:
		if c.chance(50) {
			return f("CAST(%s AS TIMESTAMP)", of(date))
		}
		return f("(%s + INTERVAL 36 HOUR)", of(timestamp))
	case instant:
		return f("(%s + INTERVAL 1 HOUR)", of(instant))
	case boolean:
		return f("(NOT %s)", of(boolean))
	case structure:
		return f("{'a': %s, 'b': %s}", of(integer), of(text))
	case list:
		if c.chance(50) {
			return f("[%s, %s]", of(integer), of(integer))
		}
		return f("list_concat(%s, %s)", of(list), of(list))
	case mapping:
		return f("MAP {'k': %s, 'm': %s}", of(integer), of(integer))
	}
	return one(c, literals[k]...)
}

// scalar is a subquery in the place of a value: an aggregate, the first of the rows, or (it may fail) all there are.
func (g *generator) scalar(c *choices, s *scope, k kind, depth int) string {
	switch c.pick(10) {
	case 7, 8:
		sub, _ := g.query(c.sub(), s, []kind{k}, depth-1, false)
		return fmt.Sprintf("(SELECT %s.c0 FROM (%s) AS %s ORDER BY 1%s LIMIT 1)", g.alias(), sub, g.last(), one(c, "", " DESC"))
	case 9:
		sub, _ := g.query(c.sub(), s, []kind{k}, depth-1, false)
		return "(" + sub + ")"
	}
	inner := &scope{outer: s}
	from := g.from(c.sub(), inner, depth-1)
	where := ""
	if p := c.sub(); p.chance(70) {
		if cond := g.pair(p, inner.columns, s.columns, one(p, "=", "=", "<", ">", "IS NOT DISTINCT FROM")); cond != "" {
			where = " WHERE " + cond
		}
	}
	call := g.aggregateOf(c.sub(), inner, k)
	return fmt.Sprintf("(SELECT %s%s%s)", call, from, where)
}

// common is a kind, the everyday ones more often.
func common(c *choices) kind {
	if c.chance(40) {
		return kind(c.pick(kinds))
	}
	return one(c, integer, long, text, double, decimal, boolean, date)
}

// predicate makes a condition.
func (g *generator) predicate(c *choices, s *scope, depth int) string {
	k := common(c)
	of := func() string { return g.expr(c.sub(), s, k, min(depth-1, 1)) }
	way := c.pick(24)
	if depth < 0 {
		way %= 8
	} else if depth == 0 {
		way %= 15
	}
	switch way {
	case 0, 1, 2, 3:
		return fmt.Sprintf("(%s %s %s)", of(), one(c, "=", "<>", "<", "<=", ">"), of())
	case 4:
		return fmt.Sprintf("(%s IS %sNULL)", of(), one(c, "", "NOT "))
	case 5:
		return fmt.Sprintf("(%s IS %sDISTINCT FROM %s)", of(), one(c, "NOT ", ""), of())
	case 6:
		return g.expr(c.sub(), s, boolean, -1)
	case 7:
		like := one(c, "'a%'", "'%a%'", "'_'", `'a\_%' ESCAPE '\'`, `'5\%' ESCAPE '\'`, "'%'")
		return fmt.Sprintf("(%s %sLIKE %s)", g.expr(c.sub(), s, text, depth-1), one(c, "", "NOT "), like)
	case 8, 9, 10:
		return fmt.Sprintf("(%s %s %s)", g.predicate(c.sub(), s, depth-1), one(c, "AND", "OR"), g.predicate(c.sub(), s, depth-1))
	case 11:
		return "(NOT " + g.predicate(c.sub(), s, depth-1) + ")"
	case 12:
		if k >= structure { // DuckDB cannot always run a BETWEEN of nested values
			return fmt.Sprintf("(%s <> %s)", of(), of())
		}
		return fmt.Sprintf("(%s BETWEEN %s AND %s)", of(), of(), of())
	case 13:
		var cells []string
		c.some(1, 4, func(p *choices) { cells = append(cells, g.expr(p.sub(), s, k, -1)) })
		return fmt.Sprintf("(%s %sIN (%s))", of(), one(c, "", "NOT "), strings.Join(cells, ", "))
	case 14:
		return fmt.Sprintf("list_contains(%s, %s)", g.expr(c.sub(), s, list, depth-1), g.expr(c.sub(), s, integer, depth-1))
	case 15, 16, 17:
		sub, _ := g.query(c.sub(), s, nil, depth-1, false)
		return fmt.Sprintf("(%sEXISTS (%s))", one(c, "", "NOT "), sub)
	case 18:
		sub, _ := g.query(c.sub(), s, []kind{k}, depth-1, false)
		return fmt.Sprintf("(%s %s %s (%s))", of(), one(c, "=", "<>", "<", ">="), one(c, "ANY", "ALL"), sub)
	case 19:
		if s.outer != nil {
			break // most are correlated, which DuckDB refuses
		}
		other := kind(c.pick(kinds))
		sub, _ := g.query(c.sub(), s, []kind{k, other}, depth-1, false)
		return fmt.Sprintf("((%s, %s) %sIN (%s))", of(), g.expr(c.sub(), s, other, 0), one(c, "", "NOT "), sub)
	}
	sub, _ := g.query(c.sub(), s, []kind{k}, depth-1, false)
	return fmt.Sprintf("(%s %sIN (%s))", of(), one(c, "", "NOT "), sub)
}
