package fuzz

import (
	"fmt"
	"strings"
)

// from makes a FROM clause and fills the scope.
func (g *generator) from(c *choices, s *scope, depth int) string {
	if c.chance(2) {
		return ""
	}
	first, src := g.source(c.sub(), nil, depth)
	s.add(src)
	var b strings.Builder
	b.WriteString(" FROM " + first)
	c.some(0, 2, func(p *choices) { b.WriteString(g.join(p, s, depth)) })
	return b.String()
}

// join adds a source to a FROM clause.
func (g *generator) join(c *choices, s *scope, depth int) string {
	left := s.columns
	how := c.pick(20)
	switch {
	case how == 15:
		return g.unnest(c, s)
	case how == 16 && depth > 0:
		sub, columns := g.query(c.sub(), s, nil, depth-1, false)
		src := derived(g.alias(), columns)
		before := one(c, " CROSS JOIN LATERAL (", " LEFT JOIN LATERAL (", " JOIN LATERAL (")
		text := before + sub + ") AS " + g.last()
		if !strings.HasPrefix(before, " CROSS") {
			text += " ON true"
		}
		s.add(src)
		return text
	}
	right, src := g.source(c.sub(), nil, depth)
	switch how {
	case 17:
		if len(s.sources) < 2 {
			s.add(src)
			return " CROSS JOIN " + right
		}
	case 18:
		if text := g.asof(c, s, right, src); text != "" {
			return text
		}
	}
	kindOf := one(c, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "JOIN", "LEFT JOIN")
	on := g.pair(c.sub(), left, src.columns, one(c, "=", "=", "=", "IS NOT DISTINCT FROM", "<"))
	if on == "" {
		on = "true"
	}
	both := &scope{columns: append(append([]column{}, left...), src.columns...), outer: s.outer}
	if p := c.sub(); p.chance(35) {
		on += one(p, " AND ", " AND ", " AND ", " OR ") + g.predicate(p.sub(), both, 0)
	} else if second := c.sub(); second.chance(30) {
		if more := g.pair(second, left, src.columns, one(second, "=", "<=", "<>")); more != "" {
			on += " AND " + more
		}
	}
	if kindOf != "SEMI JOIN" && kindOf != "ANTI JOIN" {
		s.add(src)
	}
	return " " + kindOf + " " + right + " ON " + on
}

// asof joins the last row of a table at or before each row.
func (g *generator) asof(c *choices, s *scope, right string, src source) string {
	if !src.table {
		return ""
	}
	for _, l := range s.columns {
		if l.kind != long {
			continue
		}
		// Of a NULL DuckDB 1.5 finds a partner in some plans and none in others (docs/limitations.md).
		on := "coalesce(" + l.sql + ", 0) >= " + src.key[0]
		if c.chance(60) {
			if more := g.pair(c.sub(), s.columns, src.columns, "="); more != "" {
				on = more + " AND " + on
			}
		}
		s.add(src)
		return one(c, " ASOF JOIN ", " ASOF LEFT JOIN ") + right + " ON " + on
	}
	return ""
}

func (g *generator) unnest(c *choices, s *scope) string {
	arg := g.expr(c.sub(), s, list, 1)
	name := g.alias()
	s.add(source{columns: []column{{name + ".v", integer}}, key: []string{name + ".v"}})
	return fmt.Sprintf(" CROSS JOIN UNNEST(%s) AS %s(v)", arg, name)
}

// last is the alias that was given last.
func (g *generator) last() string { return fmt.Sprintf("t%d", g.aliases) }

// derived is the source of a subquery's columns.
func derived(alias string, columns []column) source {
	var src source
	for _, col := range columns {
		src.columns = append(src.columns, column{alias + "." + col.sql, col.kind})
		src.key = append(src.key, alias+"."+col.sql)
	}
	return src
}

// source makes a table, a common table expression or a subquery.
func (g *generator) source(c *choices, outer *scope, depth int) (string, source) {
	way := c.pick(10)
	if depth > 0 && way >= 8 {
		sub, columns := g.query(c.sub(), outer, nil, depth-1, false)
		src := derived(g.alias(), columns)
		return "(" + sub + ") AS " + g.last(), src
	}
	if len(g.ctes) > 0 && way >= 2 {
		cte := g.ctes[c.pick(len(g.ctes))]
		src := derived(g.alias(), cte.columns)
		return cte.name + " AS " + g.last(), src
	}
	t := one(c, tables[0], tables[3], tables[4], tables[5], tables[3], tables[4], tables[5], tables[3], tables[5], tables[3], tables[5], tables[2])
	if c.chance(3) {
		t = tables[1]
	}
	name := g.alias()
	src := source{columns: []column{{name + ".id", long}}, key: []string{name + ".id"}, table: true}
	for k, col := range columnNames {
		src.columns = append(src.columns, column{name + "." + col, kind(k)})
	}
	return t.name + " AS " + name, src
}

// pair compares a column with one of the same kind from elsewhere; "" when there is none.
func (g *generator) pair(c *choices, left, right []column, op string) string {
	if len(left) == 0 || len(right) == 0 {
		return ""
	}
	start := c.pick(len(left))
	for i := range left {
		l := left[(start+i)%len(left)]
		if l.kind == other {
			continue
		}
		var same []column
		for _, r := range right {
			if r.kind == l.kind {
				same = append(same, r)
			}
		}
		if len(same) > 0 {
			return l.sql + " " + op + " " + same[c.pick(len(same))].sql
		}
	}
	return ""
}
