package bind

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/seracdb/serac/plan"
)

// scanFunction is the table function that stands for the catalog's tables.
const scanFunction = "iceberg_scan"

// noIndex is DuckDB's "no such index": also the index of the row id.
const noIndex = math.MaxUint64

// unsupportedError says what of a bound plan cannot be expressed. It sends the query to the next rung of the ladder.
type unsupportedError struct{ what string }

func (e *unsupportedError) Error() string { return e.what }

// importer reads one bound plan.
type importer struct {
	tables map[string]*Table // by key
	// optimised says that the plan went through the optimiser; else delim joins are lateral.
	optimised bool
	leaves    plan.LeafID
	ctes      map[uint64]plan.Schema
}

// imported is an operator as a node, and where its columns stand among DuckDB's table indexes, as far as it is known.
type imported struct {
	Node     plan.Node
	bindings []segment
}

type segment struct {
	table uint64
	width int
}

// column resolves a binding that DuckDB left unresolved.
func (n imported) column(b bindingJSON) (int, bool) {
	at := 0
	for _, s := range n.bindings {
		if s.table == b.Table && b.Column < s.width {
			return at + b.Column, true
		}
		at += s.width
	}
	return 0, false
}

func (n imported) scope() *scope {
	return &scope{types: n.Node.Schema().Types(), columns: n.column}
}

// read imports the one plan of a document.
func (im *importer) read(text string) (plan.Node, error) {
	var doc planDocument
	if err := decode(quoteBareNumbers([]byte(text)), &doc); err != nil {
		return nil, &unsupportedError{err.Error()}
	}
	if doc.Error {
		return nil, &serializeError{kind: doc.ErrorType, message: doc.Message}
	}
	if len(doc.Plans) != 1 {
		return nil, &unsupportedError{fmt.Sprintf("%d statements in one text", len(doc.Plans))}
	}
	im.ctes = map[uint64]plan.Schema{}
	n, err := im.op(doc.Plans[0])
	if err != nil {
		return nil, &unsupportedError{err.Error()}
	}
	return n.Node, nil
}

// serializeError is an error that DuckDB reports inside the document.
type serializeError struct{ kind, message string }

func (e *serializeError) Error() string { return e.message }

func (im *importer) leaf() plan.LeafID {
	im.leaves++
	return im.leaves
}

func (im *importer) op(op *opJSON) (imported, error) {
	n, err := im.operator(op)
	if err != nil {
		if inner := (*opError)(nil); !errors.As(err, &inner) {
			err = &opError{op: strings.ToLower(strings.TrimPrefix(op.Type, "LOGICAL_")), err: err}
		}
	}
	return n, err
}

// opError names the innermost operator that could not be read.
type opError struct {
	op  string
	err error
}

func (e *opError) Error() string { return strings.ReplaceAll(e.op, "_", " ") + ": " + e.err.Error() }

func (im *importer) operator(op *opJSON) (imported, error) {
	switch op.Type {
	case "LOGICAL_GET":
		return im.get(op)
	case "LOGICAL_DUMMY_SCAN":
		out := plan.Schema{{Name: "dummy", Type: plan.T(plan.Integer), Nullable: true}}
		return im.simple(op, &plan.Values{Leaf: im.leaf(), Rows: [][]plan.Expr{{&plan.Constant{Of: plan.T(plan.Integer)}}}, Out: out})
	case "LOGICAL_CHUNK_GET":
		return im.chunkGet(op)
	case "LOGICAL_EXPRESSION_GET":
		return im.expressionGet(op)
	case "LOGICAL_EMPTY_RESULT":
		out, err := schemaOf(op.ReturnTypes, nil)
		return imported{Node: &plan.Values{Leaf: im.leaf(), Out: out}}, err
	case "LOGICAL_DELIM_GET":
		out, err := schemaOf(op.ChunkTypes, nil)
		if err != nil {
			return imported{}, err
		}
		return im.simple(op, &plan.DelimGet{Out: out})
	case "LOGICAL_CTE_REF":
		return im.cteRef(op)
	case "LOGICAL_COMPARISON_JOIN", "LOGICAL_ANY_JOIN", "LOGICAL_ASOF_JOIN", "LOGICAL_DELIM_JOIN", "LOGICAL_CROSS_PRODUCT",
		"LOGICAL_POSITIONAL_JOIN":
		return im.join(op)
	case "LOGICAL_UNION", "LOGICAL_EXCEPT", "LOGICAL_INTERSECT":
		return im.setOp(op)
	case "LOGICAL_MATERIALIZED_CTE":
		return im.cte(op)
	case "LOGICAL_RECURSIVE_CTE":
		return im.recursiveCTE(op)
	}
	if len(op.Children) != 1 {
		return imported{}, fmt.Errorf("an operator with %d inputs", len(op.Children))
	}
	in, err := im.op(op.Children[0])
	if err != nil {
		return imported{}, err
	}
	switch op.Type {
	case "LOGICAL_FILTER":
		return im.filter(op, in)
	case "LOGICAL_PROJECTION":
		return im.projection(op, in)
	case "LOGICAL_AGGREGATE_AND_GROUP_BY":
		return im.aggregate(op, in)
	case "LOGICAL_WINDOW":
		return im.window(op, in)
	case "LOGICAL_UNNEST":
		return im.unnest(op, in)
	case "LOGICAL_DISTINCT":
		return im.distinct(op, in)
	case "LOGICAL_ORDER_BY":
		keys, err := in.scope().orders(op.Orders)
		if err != nil {
			return imported{}, err
		}
		return narrowed(imported{Node: &plan.Sort{Input: in.Node, Keys: keys}}, op.Projections)
	case "LOGICAL_LIMIT":
		return im.limit(op, in)
	case "LOGICAL_TOP_N":
		return im.topN(op, in)
	case "LOGICAL_SAMPLE":
		return im.sample(op, in)
	}
	return imported{}, fmt.Errorf("an operator that the plan has no node for")
}

// simple is a node whose columns all belong to the operator's own table index.
func (im *importer) simple(op *opJSON, n plan.Node) (imported, error) {
	return imported{Node: n, bindings: []segment{{op.TableIndex, len(n.Schema())}}}, nil
}

func schemaOf(types []typeJSON, names []string) (plan.Schema, error) {
	ts, err := importTypes(types)
	if err != nil {
		return nil, err
	}
	out := make(plan.Schema, len(ts))
	for i, t := range ts {
		out[i] = plan.Column{Type: t, Nullable: true}
		if i < len(names) {
			out[i].Name = names[i]
		}
	}
	return out, nil
}

// narrowed keeps the columns at the given positions; none given keeps all.
func narrowed(n imported, positions []int) (imported, error) {
	if len(positions) == 0 {
		return n, nil
	}
	in := n.Node.Schema()
	if len(positions) == len(in) {
		same := true
		for i, p := range positions {
			same = same && i == p
		}
		if same {
			return n, nil
		}
	}
	exprs := make([]plan.Expr, len(positions))
	names := make([]string, len(positions))
	for i, p := range positions {
		if p < 0 || p >= len(in) {
			return imported{}, fmt.Errorf("column %d of %d", p, len(in))
		}
		exprs[i], names[i] = &plan.ColumnRef{Index: p, Of: in[p].Type}, in[p].Name
	}
	return imported{Node: &plan.Project{Input: n.Node, Exprs: exprs, Names: names}}, nil
}

func (im *importer) filter(op *opJSON, in imported) (imported, error) {
	list, err := op.exprs()
	if err != nil {
		return imported{}, err
	}
	conds, err := in.scope().exprs(list)
	if err != nil {
		return imported{}, err
	}
	out := in
	if len(conds) > 0 {
		out.Node = &plan.Filter{Input: in.Node, Cond: plan.And(conds...)}
	}
	return narrowed(out, op.ProjectionMap)
}

func (im *importer) projection(op *opJSON, in imported) (imported, error) {
	list, err := op.exprs()
	if err != nil {
		return imported{}, err
	}
	exprs, err := in.scope().exprs(list)
	if err != nil {
		return imported{}, err
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = displayName(e.Alias)
		if _, column := exprs[i].(*plan.ColumnRef); column && strings.Trim(names[i], "0123456789") == "" {
			names[i] = "" // of GROUP BY 1: the column's own name says more than its position
		}
	}
	return im.simple(op, &plan.Project{Input: in.Node, Exprs: exprs, Names: names})
}

// displayName drops the qualifiers that DuckDB puts before a column's name in an alias.
func displayName(alias string) string {
	if strings.ContainsAny(alias, "() '\"") {
		return alias
	}
	return alias[strings.LastIndexByte(alias, '.')+1:]
}

func (im *importer) aggregate(op *opJSON, in imported) (imported, error) {
	list, err := op.exprs()
	if err != nil {
		return imported{}, err
	}
	s := in.scope()
	n := &plan.Aggregate{Input: in.Node, Groupings: op.GroupingFunctions}
	if len(n.Groupings) == 0 {
		n.Groupings = nil
	}
	if n.Groups, err = s.exprs(op.Groups); err != nil {
		return imported{}, err
	}
	for _, e := range list {
		if e.Class != "BOUND_AGGREGATE" {
			return imported{}, fmt.Errorf("expression %s among the aggregates", strings.ToLower(e.Class))
		}
		call, err := s.aggregate(e)
		if err != nil {
			return imported{}, err
		}
		n.Calls = append(n.Calls, call)
	}
	if !wholeSet(op.GroupingSets, len(op.Groups)) {
		n.Sets = op.GroupingSets
	}
	return imported{Node: n}, nil
}

// wholeSet says that grouping sets mean a plain GROUP BY of all groups.
func wholeSet(sets [][]int, groups int) bool {
	if len(sets) == 0 {
		return true
	}
	if len(sets) != 1 {
		return false
	}
	in := map[int]bool{}
	for _, g := range sets[0] {
		in[g] = true
	}
	return len(in) == groups
}

func (im *importer) window(op *opJSON, in imported) (imported, error) {
	list, err := op.exprs()
	if err != nil {
		return imported{}, err
	}
	n := &plan.Window{Input: in.Node}
	for _, e := range list {
		call, err := in.scope().windowCall(e)
		if err != nil {
			return imported{}, err
		}
		n.Calls = append(n.Calls, call)
	}
	return imported{Node: n}, nil
}

func (im *importer) unnest(op *opJSON, in imported) (imported, error) {
	list, err := op.exprs()
	if err != nil {
		return imported{}, err
	}
	n := &plan.Unnest{Input: in.Node}
	for _, e := range list {
		if e.Class != "BOUND_UNNEST" {
			return imported{}, fmt.Errorf("expression %s among the unnested", strings.ToLower(e.Class))
		}
		arg, err := in.scope().expr(e.Child)
		if err != nil {
			return imported{}, err
		}
		t, err := importType(e.ReturnType)
		if err != nil {
			return imported{}, err
		}
		n.Exprs, n.Types, n.Names = append(n.Exprs, arg), append(n.Types, t), append(n.Names, displayName(e.Alias))
	}
	return imported{Node: n}, nil
}

func (im *importer) distinct(op *opJSON, in imported) (imported, error) {
	s := in.scope()
	on, err := s.exprs(op.DistinctTargets)
	if err != nil {
		return imported{}, err
	}
	order, err := s.modifier(op.OrderBy)
	if err != nil {
		return imported{}, err
	}
	n := &plan.Distinct{Input: in.Node, On: on, OrderBy: order}
	if op.DistinctType == "DISTINCT" && len(plan.ColumnsUsed(on...)) == len(s.types) && allRefs(on) {
		n.On, n.OrderBy = nil, nil
	}
	in.Node = n
	return in, nil
}

func allRefs(list []plan.Expr) bool {
	for _, e := range list {
		if _, ok := e.(*plan.ColumnRef); !ok {
			return false
		}
	}
	return true
}

func (im *importer) limit(op *opJSON, in imported) (imported, error) {
	n := &plan.Limit{Input: in.Node}
	var err error
	if n.Count, n.Percent, err = limitValue(op.LimitValue, in.scope()); err != nil {
		return imported{}, err
	}
	var percent bool
	if n.Offset, percent, err = limitValue(op.OffsetValue, in.scope()); err != nil {
		return imported{}, err
	}
	if percent {
		return imported{}, fmt.Errorf("an offset in percent")
	}
	if n.Count == nil && n.Offset == nil {
		return in, nil
	}
	in.Node = n
	return in, nil
}

func limitValue(v *limitJSON, s *scope) (e plan.Expr, percent bool, err error) {
	if v == nil {
		return nil, false, nil
	}
	switch v.Type {
	case "UNSET", "":
		return nil, false, nil
	case "CONSTANT_VALUE":
		return &plan.Constant{Value: int64(v.Integer), Of: plan.T(plan.BigInt)}, false, nil
	case "CONSTANT_PERCENTAGE":
		return &plan.Constant{Value: v.Percentage, Of: plan.T(plan.Double)}, true, nil
	case "EXPRESSION_VALUE", "EXPRESSION_PERCENTAGE":
		e, err := s.expr(v.Expression)
		return e, v.Type == "EXPRESSION_PERCENTAGE", err
	}
	return nil, false, fmt.Errorf("limit of kind %s", v.Type)
}

func (im *importer) topN(op *opJSON, in imported) (imported, error) {
	keys, err := in.scope().orders(op.Orders)
	if err != nil {
		return imported{}, err
	}
	n := &plan.Limit{Input: in.Node, Keys: keys}
	count, err := strconv.ParseUint(string(op.Limit), 10, 64)
	if err != nil {
		return imported{}, fmt.Errorf("limit %q", op.Limit)
	}
	offset, err := strconv.ParseUint(string(op.Offset), 10, 64)
	if err != nil {
		return imported{}, fmt.Errorf("offset %q", op.Offset)
	}
	n.Count = &plan.Constant{Value: int64(min(count, math.MaxInt64)), Of: plan.T(plan.BigInt)}
	if offset > 0 {
		n.Offset = &plan.Constant{Value: int64(min(offset, math.MaxInt64)), Of: plan.T(plan.BigInt)}
	}
	in.Node = n
	return in, nil
}

func (im *importer) sample(op *opJSON, in imported) (imported, error) {
	if op.Sample == nil {
		return imported{}, fmt.Errorf("no options")
	}
	size, err := importConstant(op.Sample.Size)
	if err != nil {
		return imported{}, err
	}
	n := &plan.Sample{Input: in.Node, Method: strings.ToLower(op.Sample.Method), Size: size, Percentage: op.Sample.Percentage}
	if op.Sample.Seed != nil && *op.Sample.Seed >= 0 {
		n.Seed = op.Sample.Seed
	}
	in.Node = n
	return in, nil
}
