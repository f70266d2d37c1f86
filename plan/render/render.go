package render

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// SQL writes a plan as one SELECT with output columns c0..cN-1. A ShuffleWrite, an IcebergWrite or an IcebergCommit is
// no query: the caller renders what is below it.
func SQL(n plan.Node, o Options) (string, error) {
	w := &writer{options: o, ctes: map[int]string{}}
	return w.node(n)
}

// Empty is the SELECT of no rows with columns c0.. of the given types.
func Empty(types []plan.Type) string {
	parts := make([]string, len(types))
	for i, t := range types {
		text, err := constant(&plan.Constant{Of: t})
		if err != nil {
			text = "NULL"
		}
		parts[i] = text + " AS " + column(i)
	}
	if len(parts) == 0 {
		parts = []string{"NULL AS c0"}
	}
	return "SELECT " + strings.Join(parts, ", ") + " WHERE false"
}

// writer holds what is known while a plan is written.
type writer struct {
	options Options
	names   int            // numbers the aliases, so that none hides another inside LATERAL
	lambdas [][]string     // the parameters of the lambdas around, outermost first
	ctes    map[int]string // the SQL name of each CTE around
	delims  []delimSource  // the delim joins around whose non-source side is being written, outermost first
	joins   int            // the joins around
}

func column(i int) string { return fmt.Sprintf("c%d", i) }

func (w *writer) name(prefix string) string {
	w.names++
	return fmt.Sprintf("%s%d", prefix, w.names)
}

// relation is a SELECT (or a name) under an alias, as FROM takes it.
type relation struct {
	from  string   // "(SELECT ...) AS t1"
	alias string   // "t1"
	cols  []string // "t1.c0", ...
}

// relate puts a SELECT with n columns under a new alias.
func (w *writer) relate(sql string, n int) relation {
	return w.alias("("+sql+")", n)
}

// alias puts what FROM can read as it stands under a new alias.
func (w *writer) alias(source string, n int) relation {
	r := relation{alias: w.name("t")}
	r.from = source + " AS " + r.alias
	r.cols = make([]string, n)
	for i := range r.cols {
		r.cols[i] = r.alias + "." + column(i)
	}
	return r
}

// input writes a node and puts it under an alias.
func (w *writer) input(n plan.Node) (relation, error) {
	sql, err := w.node(n)
	if err != nil {
		return relation{}, err
	}
	return w.relate(sql, len(n.Schema())), nil
}

// list is "a AS c0, b AS c1, ...". A relation needs a column, so an empty list is one NULL.
func list(exprs []string) string {
	if len(exprs) == 0 {
		return "NULL AS c0"
	}
	parts := make([]string, len(exprs))
	for i, e := range exprs {
		parts[i] = e + " AS " + column(i)
	}
	return strings.Join(parts, ", ")
}

func selectFrom(exprs []string, from string) string { return "SELECT " + list(exprs) + " FROM " + from }

func (w *writer) node(n plan.Node) (string, error) {
	sql, err := w.nodeSQL(n)
	if err != nil {
		return "", fmt.Errorf("%T: %w", n, err)
	}
	return sql, nil
}

func (w *writer) nodeSQL(n plan.Node) (string, error) {
	switch n := n.(type) {
	case *plan.IcebergScan, *plan.MetadataScan, *plan.ShuffleRead, *plan.Extension:
		return w.leaf(n)
	case *plan.Values:
		if sql, err := w.assigned(n); sql != "" || err != nil {
			return sql, err
		}
		return w.values(n)
	case *plan.DelimGet:
		return w.delimGet(n)
	case *plan.CTERef:
		return w.cteRef(n)
	case *plan.Filter:
		return w.filter(n)
	case *plan.Project:
		return w.project(n)
	case *plan.Aggregate:
		return w.aggregate(n)
	case *plan.Distinct:
		return w.distinct(n)
	case *plan.Window:
		return w.window(n)
	case *plan.Unnest:
		return w.unnest(n)
	case *plan.Sort:
		return w.sort(n)
	case *plan.Limit:
		return w.limit(n)
	case *plan.Sample:
		return w.sample(n)
	case *plan.TableFunction:
		return w.tableFunction(n)
	case *plan.Join:
		return w.join(n)
	case *plan.DelimJoin:
		return w.delimJoin(n)
	case *plan.SetOp:
		return w.setOp(n)
	case *plan.CTE:
		return w.cte(n)
	case *plan.RecursiveCTE:
		return w.recursiveCTE(n)
	case *plan.WholeStatement:
		return w.wholeStatement(n)
	case *plan.ShuffleWrite, *plan.IcebergWrite, *plan.IcebergCommit:
		return "", fmt.Errorf("is the root of a stage, not a query")
	}
	return "", fmt.Errorf("no SQL known of this node")
}

// assigned is what the caller reads a leaf from; "" when the writer is to write it.
func (w *writer) assigned(n plan.Node) (string, error) {
	if w.options.Leaf == nil {
		return "", nil
	}
	return w.options.Leaf(n)
}

func (w *writer) leaf(n plan.Node) (string, error) {
	sql, err := w.assigned(n)
	if err == nil && sql == "" {
		err = fmt.Errorf("the leaf reads from nowhere: %s", plan.Describe(n))
	}
	return sql, err
}

func (w *writer) values(n *plan.Values) (string, error) {
	if len(n.Rows) == 0 {
		return Empty(n.Out.Types()), nil
	}
	rows := make([]string, len(n.Rows))
	for i, row := range n.Rows {
		exprs, err := w.exprs(row, nil)
		if err != nil {
			return "", err
		}
		if len(n.Rows) == 1 {
			return "SELECT " + list(exprs), nil
		}
		if len(exprs) == 0 {
			exprs = []string{"NULL"}
		}
		rows[i] = "(" + strings.Join(exprs, ", ") + ")"
	}
	names := make([]string, max(len(n.Out), 1))
	for i := range names {
		names[i] = column(i)
	}
	alias := w.name("v")
	return "SELECT " + strings.Join(names, ", ") + " FROM (VALUES " + strings.Join(rows, ", ") + ") AS " + alias +
		"(" + strings.Join(names, ", ") + ")", nil
}

func (w *writer) filter(n *plan.Filter) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	cond, err := w.expr(n.Cond, in.cols)
	return selectFrom(in.cols, in.from) + " WHERE " + cond, err
}

func (w *writer) project(n *plan.Project) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	exprs, err := w.exprs(n.Exprs, in.cols)
	return selectFrom(exprs, in.from), err
}

func (w *writer) distinct(n *plan.Distinct) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	if len(n.On) == 0 {
		return "SELECT DISTINCT " + list(in.cols) + " FROM " + in.from, nil
	}
	on, err := w.exprs(n.On, in.cols)
	if err != nil {
		return "", err
	}
	sql := "SELECT DISTINCT ON (" + strings.Join(on, ", ") + ") " + list(in.cols) + " FROM " + in.from
	if len(n.OrderBy) == 0 {
		return sql, nil
	}
	order, err := w.orderKeys(n.OrderBy, in.cols)
	return sql + " ORDER BY " + order, err
}

func (w *writer) unnest(n *plan.Unnest) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	exprs, err := w.exprs(n.Exprs, in.cols)
	if err != nil {
		return "", err
	}
	out := in.cols
	for _, e := range exprs {
		out = append(out, "unnest("+e+")")
	}
	return selectFrom(out, in.from), nil
}

func (w *writer) sort(n *plan.Sort) (string, error) {
	in, err := w.input(n.Input)
	if err != nil {
		return "", err
	}
	order, err := w.orderKeys(n.Keys, in.cols)
	return selectFrom(in.cols, in.from) + " ORDER BY " + order, err
}

func (w *writer) setOp(n *plan.SetOp) (string, error) {
	op := map[plan.SetKind]string{plan.SetUnion: "UNION", plan.SetExcept: "EXCEPT", plan.SetIntersect: "INTERSECT"}[n.Op]
	if op == "" {
		return "", fmt.Errorf("no SQL known of set operation %d", n.Op)
	}
	if n.All {
		op += " ALL"
	}
	parts := make([]string, len(n.Inputs))
	for i, in := range n.Inputs {
		sql, err := w.node(in)
		if err != nil {
			return "", err
		}
		parts[i] = "(" + sql + ")"
	}
	return strings.Join(parts, " "+op+" "), nil
}
