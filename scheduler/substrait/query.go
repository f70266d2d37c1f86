package substrait

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

var errTooLong = errors.New("its query is too long")

// column is a column of a relation, or an expression.
type column struct {
	// sql is its text.
	sql string
	// of is its type; Invalid when the plan does not say it.
	of plan.Type
	// cheap: it is a reference to a column, which may be written out wherever it is needed.
	cheap bool
}

// query is a relation on its way to a SELECT. Relations are merged into one SELECT as long as that means the same: plans
// nest a level for each filter and projection.
type query struct {
	// columns are the output, over from.
	columns []column
	from    string // "" for none
	where   []string
	// grouped: the columns are groups and aggregates; group is the GROUP BY clause, "" for one group of all rows.
	grouped bool
	group   string
	order   []orderKey
	// limit holds LIMIT and OFFSET.
	limit string
}

type orderKey struct{ sql, direction string }

// mergeable says whether a filter, a projection or a sort may be put on the query's own SELECT.
func (q *query) mergeable() bool {
	if q.grouped || q.limit != "" {
		return false
	}
	for _, c := range q.columns {
		if !c.cheap {
			return false
		}
	}
	return true
}

// text is the query with its columns under names.
func (q *query) text(name func(i int) string) (string, error) {
	return q.selectText(name, nil)
}

// selectText also selects keys of the order under names of their own.
func (q *query) selectText(name func(i int) string, hidden []orderKey) (string, error) {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, c := range q.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.sql)
		b.WriteString(" AS ")
		b.WriteString(name(i))
		if b.Len() > maxText {
			return "", errTooLong
		}
	}
	for i, k := range hidden {
		if i > 0 || len(q.columns) > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s AS s%d", k.sql, i)
	}
	if len(q.columns) == 0 && len(hidden) == 0 {
		// A relation without columns still has rows.
		if q.grouped {
			b.WriteString("count(*) AS none")
		} else {
			b.WriteString("NULL AS none")
		}
	}
	if q.from != "" {
		b.WriteString(" FROM " + q.from)
	}
	if len(q.where) > 0 {
		b.WriteString(" WHERE " + strings.Join(q.where, " AND "))
	}
	b.WriteString(q.group)
	if len(q.order) > 0 {
		b.WriteString(" ORDER BY ")
		for i, k := range q.order {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(k.sql + " " + k.direction)
		}
	}
	b.WriteString(q.limit)
	if b.Len() > maxText {
		return "", errTooLong
	}
	return b.String(), nil
}

func columnName(i int) string { return fmt.Sprintf("c%d", i) }

// nested is the query as a subquery of a new one, which keeps its order.
func (t *translator) nested(q *query) (*query, error) {
	if len(q.columns) > maxColumns {
		return nil, fmt.Errorf("a relation has %d columns, at most %d are allowed", len(q.columns), maxColumns)
	}
	inner := *q
	hidden := q.order
	if q.limit == "" {
		inner.order = nil // it is said again outside
	}
	text, err := inner.selectText(columnName, hidden)
	if err != nil {
		return nil, err
	}
	alias := t.alias()
	out := &query{from: "(" + text + ") AS " + alias, columns: make([]column, len(q.columns))}
	for i, c := range q.columns {
		out.columns[i] = column{sql: alias + "." + columnName(i), of: c.of, cheap: true}
	}
	for i, k := range hidden {
		out.order = append(out.order, orderKey{fmt.Sprintf("%s.s%d", alias, i), k.direction})
	}
	return out, nil
}

// open is the query, nested if need be, such that it can be merged with.
func (t *translator) open(q *query) (*query, error) {
	if q.mergeable() {
		return q, nil
	}
	return t.nested(q)
}

// unordered is the query as a FROM clause for relations that keep no order.
func (t *translator) unordered(q *query) (*query, error) {
	inner := *q
	if inner.limit == "" {
		inner.order = nil
	}
	if inner.mergeable() && len(inner.where) == 0 && inner.from != "" {
		return &inner, nil
	}
	out, err := t.nested(&inner)
	if err != nil {
		return nil, err
	}
	out.order = nil
	return out, nil
}
