package fuzz

import (
	"fmt"
	"strings"
)

// column is something that an expression can name.
type column struct {
	sql  string
	kind kind
}

// source is a table, subquery or the like in a FROM clause.
type source struct {
	columns []column
	// key are columns that no two rows share, or all columns: then rows that share them are the same.
	key []string
	// table: the key is one id, unique in a table.
	table bool
}

// scope is what a SELECT's expressions see.
type scope struct {
	sources []source
	columns []column
	outer   *scope
}

func (s *scope) add(src source) {
	s.sources = append(s.sources, src)
	s.columns = append(s.columns, src.columns...)
}

// key orders the rows up to rows that are the same.
func (s *scope) key() []string {
	var key []string
	for _, src := range s.sources {
		key = append(key, src.key...)
	}
	return key
}

// with is the scope with other columns in place of its own.
func (s *scope) with(columns []column) *scope {
	return &scope{sources: s.sources, columns: columns, outer: s.outer}
}

// generator makes one query.
type generator struct {
	aliases int
	ctes    []relation
}

// relation is something with a name that FROM may name: a table or a common table expression.
type relation struct {
	name    string
	columns []column // named without a table
}

func (g *generator) alias() string {
	g.aliases++
	return fmt.Sprintf("t%d", g.aliases)
}

// generate makes the query of a tree.
func generate(c *choices) string {
	g := &generator{}
	sql, _ := g.query(c, nil, nil, 2, true)
	return sql
}

// want are the kinds of the columns of a query; nil leaves the choice to it. top says that nobody but the client sees the rows.
// The columns of the query are named c0, c1 ...
func (g *generator) query(c *choices, outer *scope, want []kind, depth int, top bool) (string, []column) {
	way := c.pick(16)
	if depth > 0 {
		switch way {
		case 11, 12:
			return g.setOperation(c, outer, want, depth)
		case 13:
			return g.with(c, outer, want, depth, top)
		case 14:
			return g.distinctOn(c, outer, want, depth)
		}
	}
	if way == 15 {
		return g.valuesQuery(c, outer, want)
	}
	return g.selection(c, outer, want, depth, top)
}

// outputs names columns c0, c1 ... of the given kinds.
func outputs(of []kind) []column {
	columns := make([]column, len(of))
	for i, k := range of {
		columns[i] = column{fmt.Sprintf("c%d", i), k}
	}
	return columns
}

func (g *generator) someKinds(c *choices) []kind {
	var want []kind
	c.some(1, 4, func(p *choices) { want = append(want, kind(p.pick(kinds))) })
	return want
}

func (g *generator) setOperation(c *choices, outer *scope, want []kind, depth int) (string, []column) {
	if want == nil {
		want = g.someKinds(c.sub())
	}
	op := one(c, "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
	var sides []string
	c.some(2, 3, func(p *choices) {
		side, _ := g.query(p, outer, want, depth-1, false)
		sides = append(sides, "("+side+")")
	})
	sql := strings.Join(sides, " "+op+" ")
	if c.chance(30) {
		return g.ordered(c, sql, len(want), false), outputs(want)
	}
	return sql, outputs(want)
}

// ordered puts an order over all columns behind a query, and perhaps a limit.
func (g *generator) ordered(c *choices, sql string, columns int, mayStop bool) string {
	keys := make([]string, columns)
	first := c.pick(columns)
	for i := range keys {
		keys[i] = fmt.Sprint((i+first)%columns+1) + one(c, "", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	}
	sql += " ORDER BY " + strings.Join(keys, ", ")
	switch way := c.pick(4); {
	case way == 0 && mayStop:
	case way == 1:
		sql += fmt.Sprintf(" LIMIT %d OFFSET %d", one(c, 3, 10, 1, 20, 100, 40, 0), one(c, 1, 0, 2, 5))
	case way == 2:
		sql += fmt.Sprintf(" OFFSET %d", one(c, 1, 2, 12))
	default:
		sql += fmt.Sprintf(" LIMIT %d", one(c, 3, 1, 10, 100, 20, 40, 7, 0))
	}
	return sql
}

func (g *generator) with(c *choices, outer *scope, want []kind, depth int, top bool) (string, []column) {
	before := len(g.ctes)
	var clauses []string
	c.some(1, 2, func(p *choices) {
		sql, columns := g.query(p.sub(), nil, nil, depth-1, false)
		name := "c" + g.alias()
		clauses = append(clauses, name+" AS "+one(p, "", "MATERIALIZED ", "NOT MATERIALIZED ")+"("+sql+")")
		g.ctes = append(g.ctes, relation{name: name, columns: columns})
	})
	sql, columns := g.query(c.sub(), outer, want, depth-1, top)
	g.ctes = g.ctes[:before]
	return "WITH " + strings.Join(clauses, ", ") + " " + sql, columns
}

func (g *generator) distinctOn(c *choices, outer *scope, want []kind, depth int) (string, []column) {
	sql, columns := g.query(c.sub(), outer, want, depth-1, false)
	on := 1 + c.pick(min(2, len(columns)))
	names := make([]string, len(columns))
	keys := make([]string, len(columns))
	for i, col := range columns {
		names[i] = col.sql
		keys[i] = col.sql + one(c, "", " DESC", " NULLS FIRST")
	}
	return fmt.Sprintf("SELECT DISTINCT ON (%s) %s FROM (%s) AS %s ORDER BY %s", strings.Join(names[:on], ", "), strings.Join(names, ", "), sql, g.alias(),
		strings.Join(keys, ", ")), columns
}

func (g *generator) valuesQuery(c *choices, outer *scope, want []kind) (string, []column) {
	if want == nil {
		want = g.someKinds(c.sub())
	}
	s := &scope{outer: outer}
	var rows []string
	c.some(1, 4, func(p *choices) {
		cells := make([]string, len(want))
		for i, k := range want {
			cells[i] = "CAST(" + g.expr(p.sub(), s, k, 0) + " AS " + typeNames[k] + ")"
		}
		rows = append(rows, "("+strings.Join(cells, ", ")+")")
	})
	columns := outputs(want)
	names := make([]string, len(columns))
	for i, col := range columns {
		names[i] = col.sql
	}
	return fmt.Sprintf("SELECT * FROM (VALUES %s) AS %s(%s)", strings.Join(rows, ", "), g.alias(), strings.Join(names, ", ")), columns
}

// selection is a SELECT.
func (g *generator) selection(c *choices, outer *scope, want []kind, depth int, top bool) (string, []column) {
	s := &scope{outer: outer}
	from := g.from(c.sub(), s, depth)
	var conditions []string
	if outer != nil {
		if p := c.sub(); p.chance(65) {
			if cond := g.pair(p, s.columns, outer.columns, one(p, "=", "=", "<", "IS NOT DISTINCT FROM")); cond != "" {
				conditions = append(conditions, cond)
			}
		}
	}
	if p := c.sub(); p.chance(40) {
		conditions = append(conditions, g.predicate(p.sub(), s, depth))
	}
	tail := ""
	if len(conditions) > 0 {
		tail = " WHERE " + strings.Join(conditions, " AND ")
	}
	shape := c.sub()
	inside := s
	finished := false // the aggregate's last digits are not determined: nothing may be done with its value
	switch shape.pick(10) {
	case 5, 6, 7:
		var group string
		group, inside, finished = g.group(shape.sub(), s, want, depth, top)
		tail += group
	case 8, 9:
		inside = g.windows(shape.sub(), s, depth)
		if p := shape.sub(); p.chance(20) {
			// DuckDB wants a window there.
			tail += " QUALIFY (" + inside.columns[0].sql + " IS NOT NULL AND " + g.predicate(p.sub(), inside, 0) + ")"
		}
	}
	var items []string
	var columns []column
	add := func(sql string, k kind) {
		name := fmt.Sprintf("c%d", len(items))
		items = append(items, sql+" AS "+name)
		columns = append(columns, column{name, k})
	}
	for _, k := range want {
		add("CAST("+g.expr(c.sub(), inside, k, depth)+" AS "+typeNames[k]+")", k)
	}
	if want == nil {
		free := inside.columns
		c.some(1, 5, func(p *choices) {
			if len(free) > 0 && !p.chance(30) {
				col := free[p.pick(len(free))]
				add(col.sql, col.kind)
				return
			}
			k := kind(p.pick(kinds))
			add("CAST("+g.expr(p.sub(), inside, k, depth)+" AS "+typeNames[k]+")", k)
		})
	}
	head := "SELECT "
	if finished {
		add(one(c, "stddev_pop(", "var_samp(", "corr(1, ")+g.expr(c.sub(), s, double, 0)+")", other)
	} else if c.chance(12) {
		head += "DISTINCT "
	}
	sql := head + strings.Join(items, ", ") + from + tail
	if end := c.sub(); !finished && end.chance(map[bool]int{true: 40, false: 15}[top]) {
		sql = g.ordered(end, sql, len(items), top)
	}
	return sql, columns
}
