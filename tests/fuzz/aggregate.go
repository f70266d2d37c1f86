package fuzz

import (
	"fmt"
	"strings"
)

// group makes GROUP BY and HAVING; the scope that it gives has the groups and aggregates as columns. finished says that an
// aggregate of which the last digits are open may stand in the select list.
func (g *generator) group(c *choices, s *scope, want []kind, depth int, top bool) (clause string, inside *scope, finished bool) {
	var columns []column
	var keys []string
	if len(s.columns) > 0 {
		c.some(0, 3, func(p *choices) {
			col := s.columns[p.pick(len(s.columns))]
			switch p.pick(8) {
			case 6:
				col = column{"(" + col.sql + " IS NULL)", boolean}
			case 7:
				if col.kind == integer || col.kind == long {
					col.sql = "(" + col.sql + " % 3)"
				}
			}
			for _, k := range keys {
				if k == col.sql {
					return
				}
			}
			keys = append(keys, col.sql)
			columns = append(columns, col)
		})
	}
	if len(keys) > 0 {
		all := strings.Join(keys, ", ")
		how := c.pick(10)
		switch how {
		case 6:
			clause = "ROLLUP(" + all + ")"
		case 7:
			clause = "CUBE(" + all + ")"
		case 8:
			clause = fmt.Sprintf("GROUPING SETS ((%s), (%s), ())", all, keys[0])
		case 9:
			clause = fmt.Sprintf("GROUPING SETS ((%s), (%s))", keys[len(keys)-1], keys[0])
		default:
			clause = all
		}
		clause = " GROUP BY " + clause
		if how > 5 {
			columns = append(columns, column{fmt.Sprintf("GROUPING(%s)", one(c, all, keys[0])), other})
		}
	}
	for _, k := range want {
		columns = append(columns, column{g.aggregateOf(c.sub(), s, k), k})
	}
	if want == nil {
		c.some(1, 4, func(p *choices) { columns = append(columns, g.aggregate(p, s)) })
	}
	inside = s.with(columns)
	if p := c.sub(); p.chance(25) {
		clause += " HAVING " + g.predicate(p.sub(), inside, min(depth, 1)-1)
	}
	return clause, inside, top && c.chance(8)
}

func (g *generator) filter(c *choices, s *scope) string {
	if p := c.sub(); p.chance(18) {
		return " FILTER (WHERE " + g.predicate(p.sub(), s, 0) + ")"
	}
	return ""
}

// aggregateOf is an aggregate whose result has a kind.
func (g *generator) aggregateOf(c *choices, s *scope, k kind) string {
	x := g.expr(c.sub(), s, k, 0)
	filter := g.filter(c, s)
	switch {
	case k == long && c.chance(60):
		return fmt.Sprintf("count(%s)%s", one(c, "*", "DISTINCT "+g.any(c.sub(), s), g.any(c.sub(), s)), filter)
	case k == boolean && c.chance(50):
		return fmt.Sprintf("bool_%s(%s)%s", one(c, "and", "or"), x, filter)
	case k == integer && c.chance(20):
		return fmt.Sprintf("bit_%s(%s)%s", one(c, "and", "or", "xor"), x, filter)
	case k == double && c.chance(50):
		return fmt.Sprintf("sum(%s%s)%s", one(c, "", "DISTINCT "), x, filter)
	case k == text && c.chance(30):
		return fmt.Sprintf("string_agg(%s%s, ',' ORDER BY %s%s)%s", one(c, "", "DISTINCT "), x, x, one(c, "", " DESC"), filter)
	case k == list && c.chance(40):
		y := g.expr(c.sub(), s, integer, 0)
		return fmt.Sprintf("list(%s%s ORDER BY %s%s)%s", one(c, "", "DISTINCT "), y, y, one(c, "", " DESC NULLS LAST"), filter)
	case k < text && c.chance(15):
		return fmt.Sprintf("quantile_disc(%s, %s)%s", x, one(c, "0.5", "0.1", "1"), filter)
	}
	if call := g.argMin(c, s, k); call != "" {
		return call + filter
	}
	return fmt.Sprintf("%s(%s)%s", one(c, "max", "min"), x, filter)
}

// argMin is the value in the row with the least or greatest id of a table.
func (g *generator) argMin(c *choices, s *scope, k kind) string {
	if len(s.sources) == 0 || !c.chance(15) {
		return ""
	}
	src := s.sources[c.pick(len(s.sources))]
	if !src.table {
		return ""
	}
	for _, col := range src.columns {
		if col.kind == k && col.sql != src.key[0] {
			return fmt.Sprintf("%s(%s, %s)", one(c, "arg_min", "arg_max", "max_by", "arg_min_null"), col.sql, src.key[0])
		}
	}
	return ""
}

func (g *generator) any(c *choices, s *scope) string { return g.expr(c, s, kind(c.pick(kinds)), 0) }

// aggregate is any aggregate.
func (g *generator) aggregate(c *choices, s *scope) column {
	number := one(c, integer, long, decimal, double)
	distinct := one(c, "", "", "", "DISTINCT ")
	switch c.pick(12) {
	case 0, 1:
		return column{g.aggregateOf(c.sub(), s, long), long}
	case 2, 3:
		call := fmt.Sprintf("sum(%s%s)%s", distinct, g.expr(c.sub(), s, number, 0), g.filter(c, s))
		if number == double {
			return column{call, double}
		}
		return column{call, other}
	case 4, 5:
		return column{fmt.Sprintf("avg(%s%s)%s", distinct, g.expr(c.sub(), s, number, 0), g.filter(c, s)), other}
	case 6:
		return column{fmt.Sprintf("median(%s%s)%s", distinct, g.expr(c.sub(), s, number, 0), g.filter(c, s)), other}
	case 7:
		x := g.any(c.sub(), s)
		return column{fmt.Sprintf("list(%s%s ORDER BY %s)%s", distinct, x, x, g.filter(c, s)), other}
	}
	k := kind(c.pick(kinds))
	return column{g.aggregateOf(c.sub(), s, k), k}
}

// windows gives a scope that has window calls as columns beside those it had.
func (g *generator) windows(c *choices, s *scope, depth int) *scope {
	var calls []column
	c.some(1, 3, func(p *choices) { calls = append(calls, g.window(p, s)) })
	return s.with(append(calls, s.columns...))
}

func (g *generator) window(c *choices, s *scope) column {
	var over []string
	if len(s.columns) > 0 {
		var by []string
		c.some(0, 2, func(p *choices) { by = append(by, s.columns[p.pick(len(s.columns))].sql) })
		if len(by) > 0 {
			over = append(over, "PARTITION BY "+strings.Join(by, ", "))
		}
	}
	// The order is by some of the columns first, and then total, up to rows that are the same.
	direction := one(c, "", " DESC", " NULLS FIRST")
	var keys []string
	if len(s.columns) > 0 && c.chance(60) {
		keys = append(keys, s.columns[c.pick(len(s.columns))].sql+direction)
	}
	total := append(append([]string{}, keys...), s.key()...)
	order := func(keys []string) {
		if len(keys) > 0 {
			over = append(over, "ORDER BY "+strings.Join(keys, ", "))
		}
	}
	k := kind(c.pick(kinds))
	var call string
	kindOf := k
	switch c.pick(10) {
	case 0, 1, 2:
		call, kindOf = g.windowAggregate(c.sub(), s)
		if c.chance(30) {
			order(total)
			if len(total) > 0 {
				over = append(over, one(c, "ROWS", "ROWS", "GROUPS")+" BETWEEN "+one(c, "1 PRECEDING", "UNBOUNDED PRECEDING", "CURRENT ROW", "3 PRECEDING")+" AND "+
					one(c, "CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING")+one(c, "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES"))
			}
		} else {
			order(keys)
		}
	case 3, 4:
		call, kindOf = one(c, "rank()", "dense_rank()"), long
		order(keys)
	case 5, 6:
		call, kindOf = one(c, "row_number()", "ntile(3)"), long
		order(total)
	case 7:
		call = fmt.Sprintf("%s(%s%s)", one(c, "lag", "lead"), g.expr(c.sub(), s, k, 0), one(c, "", ", 2", " IGNORE NULLS"))
		order(total)
	case 8:
		call = fmt.Sprintf("%s(%s)", one(c, "first_value", "last_value"), g.expr(c.sub(), s, k, 0))
		order(total)
	default:
		call, kindOf = one(c, "percent_rank()", "cume_dist()"), other
		order(keys)
	}
	if kindOf == long && len(total) == 0 {
		call, over = "count(*)", nil
	}
	return column{call + " OVER (" + strings.Join(over, " ") + ")", kindOf}
}

func (g *generator) windowAggregate(c *choices, s *scope) (string, kind) {
	k := kind(c.pick(kinds))
	filter := g.filter(c, s)
	switch c.pick(5) {
	case 0:
		return "count(" + one(c, "*", g.any(c.sub(), s)) + ")" + filter, long
	case 1:
		return "sum(" + g.expr(c.sub(), s, one(c, integer, long, decimal), 0) + ")" + filter, other
	case 2:
		return "avg(" + g.expr(c.sub(), s, one(c, integer, long, decimal), 0) + ")" + filter, other
	case 3:
		return "count(DISTINCT " + g.any(c.sub(), s) + ")" + filter, long
	}
	return one(c, "max(", "min(") + g.expr(c.sub(), s, k, 0) + ")" + filter, k
}
