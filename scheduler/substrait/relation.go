package substrait

import (
	"fmt"
	"strconv"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"

	"github.com/seracdb/serac/plan"
)

// relation is the one switch over all relations that can be read.
func (t *translator) relation(rel *pb.Rel) (*query, error) {
	if err := t.enter(); err != nil {
		return nil, err
	}
	defer t.leave()
	if rel != nil {
		if err := known(rel); err != nil {
			return nil, err
		}
	}
	var (
		q         *query
		name      string
		common    *pb.RelCommon
		extension *extensions.AdvancedExtension
		err       error
	)
	switch r := rel.GetRelType().(type) {
	case *pb.Rel_Read:
		name, common, extension = "read", r.Read.GetCommon(), r.Read.GetAdvancedExtension()
		q, err = t.read(r.Read)
	case *pb.Rel_Filter:
		name, common, extension = "filter", r.Filter.GetCommon(), r.Filter.GetAdvancedExtension()
		q, err = t.filter(r.Filter)
	case *pb.Rel_Project:
		name, common, extension = "project", r.Project.GetCommon(), r.Project.GetAdvancedExtension()
		q, err = t.project(r.Project)
	case *pb.Rel_Sort:
		name, common, extension = "sort", r.Sort.GetCommon(), r.Sort.GetAdvancedExtension()
		q, err = t.sort(r.Sort)
	case *pb.Rel_Fetch:
		name, common, extension = "fetch", r.Fetch.GetCommon(), r.Fetch.GetAdvancedExtension()
		q, err = t.fetch(r.Fetch)
	case *pb.Rel_Aggregate:
		name, common, extension = "aggregate", r.Aggregate.GetCommon(), r.Aggregate.GetAdvancedExtension()
		q, err = t.aggregate(r.Aggregate)
	case *pb.Rel_Join:
		name, common, extension = "join", r.Join.GetCommon(), r.Join.GetAdvancedExtension()
		q, err = t.join(r.Join)
	case *pb.Rel_Cross:
		name, common, extension = "cross", r.Cross.GetCommon(), r.Cross.GetAdvancedExtension()
		q, err = t.cross(r.Cross)
	case *pb.Rel_HashJoin:
		name, common, extension = "hash_join", r.HashJoin.GetCommon(), r.HashJoin.GetAdvancedExtension()
		q, err = t.hashJoin(r.HashJoin)
	case *pb.Rel_MergeJoin:
		name, common, extension = "merge_join", r.MergeJoin.GetCommon(), r.MergeJoin.GetAdvancedExtension()
		q, err = t.mergeJoin(r.MergeJoin)
	case *pb.Rel_NestedLoopJoin:
		name, common, extension = "nested_loop_join", r.NestedLoopJoin.GetCommon(), r.NestedLoopJoin.GetAdvancedExtension()
		q, err = t.nestedLoopJoin(r.NestedLoopJoin)
	case *pb.Rel_Set:
		name, common, extension = "set", r.Set.GetCommon(), r.Set.GetAdvancedExtension()
		q, err = t.set(r.Set)
	case *pb.Rel_Window:
		name, common, extension = "window", r.Window.GetCommon(), r.Window.GetAdvancedExtension()
		q, err = t.window(r.Window)
	case *pb.Rel_Reference:
		return t.reference(r.Reference.GetSubtreeOrdinal())
	case *pb.Rel_ExtensionLeaf:
		return nil, unknownExtension("extension_leaf", r.ExtensionLeaf.GetDetail().GetTypeUrl())
	case *pb.Rel_ExtensionSingle:
		return nil, unknownExtension("extension_single", r.ExtensionSingle.GetDetail().GetTypeUrl())
	case *pb.Rel_ExtensionMulti:
		return nil, unknownExtension("extension_multi", r.ExtensionMulti.GetDetail().GetTypeUrl())
	case nil:
		return nil, fmt.Errorf("a relation is missing")
	default:
		return nil, fmt.Errorf("relation %s is not supported", relationName(r))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if e := extension.GetEnhancement(); e != nil {
		return nil, fmt.Errorf("%s: its enhancement %s is not known", name, e.GetTypeUrl())
	}
	if e := common.GetAdvancedExtension().GetEnhancement(); e != nil {
		return nil, fmt.Errorf("%s: its enhancement %s is not known", name, e.GetTypeUrl())
	}
	if q, err = t.emit(q, common); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return q, nil
}

// relationName is the name of a relation's field in substrait.Rel.
func relationName(r any) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", r), "*substraitpb.Rel_"))
}

func unknownExtension(kind, url string) error {
	return fmt.Errorf("relation %s holds %q, which is not supported", kind, url)
}

// emit puts the columns into the order that a relation gives them out in.
func (t *translator) emit(q *query, common *pb.RelCommon) (*query, error) {
	e := common.GetEmit()
	if e == nil {
		if len(q.columns) > maxColumns {
			return nil, fmt.Errorf("it has %d columns, at most %d are allowed", len(q.columns), maxColumns)
		}
		return q, nil
	}
	if len(e.GetOutputMapping()) > maxColumns {
		return nil, fmt.Errorf("it has %d columns, at most %d are allowed", len(e.GetOutputMapping()), maxColumns)
	}
	used := make([]bool, len(q.columns))
	for _, i := range e.GetOutputMapping() {
		if i < 0 || int(i) >= len(q.columns) {
			return nil, fmt.Errorf("it emits column %d of %d", i, len(q.columns))
		}
		if used[i] && !q.columns[i].cheap {
			// An expression is computed once, however often it is given out.
			var err error
			if q, err = t.nested(q); err != nil {
				return nil, err
			}
		}
		used[i] = true
	}
	out := *q
	out.columns = make([]column, len(e.GetOutputMapping()))
	for i, from := range e.GetOutputMapping() {
		out.columns[i] = q.columns[from]
	}
	return &out, nil
}

func (t *translator) filter(r *pb.FilterRel) (*query, error) {
	q, err := t.input(r.GetInput())
	if err != nil {
		return nil, err
	}
	cond, err := t.over(q.columns, r.GetCondition())
	if err != nil {
		return nil, fmt.Errorf("condition: %w", err)
	}
	return q.filtered(cond.sql), nil
}

func (q *query) filtered(cond string) *query {
	out := *q
	out.where = append(out.where[:len(out.where):len(out.where)], cond)
	return &out
}

// input is a relation that what is on top of it can be merged with.
func (t *translator) input(rel *pb.Rel) (*query, error) {
	q, err := t.relation(rel)
	if err != nil {
		return nil, err
	}
	return t.open(q)
}

// producerDuckDB is DuckDB's own extension, which leaves the input out of a projection without saying so by an emit.
const producerDuckDB = "DuckDB"

func (t *translator) project(r *pb.ProjectRel) (*query, error) {
	q, err := t.input(r.GetInput())
	if err != nil {
		return nil, err
	}
	out := *q
	out.columns = q.columns[:len(q.columns):len(q.columns)]
	if t.plan.GetVersion().GetProducer() == producerDuckDB && r.GetCommon().GetEmit() == nil {
		out.columns = nil
	}
	for i, e := range r.GetExpressions() {
		c, err := t.over(q.columns, e)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i, err)
		}
		out.columns = append(out.columns, c)
	}
	return &out, nil
}

func (t *translator) sort(r *pb.SortRel) (*query, error) {
	q, err := t.input(r.GetInput())
	if err != nil {
		return nil, err
	}
	out := *q
	if out.order, err = t.sortKeys(q.columns, r.GetSorts()); err != nil {
		return nil, err
	}
	return &out, nil
}

// directions are those of SQL. A clustered order is any that puts equal values together.
var directions = map[pb.SortField_SortDirection]string{
	pb.SortField_SORT_DIRECTION_ASC_NULLS_FIRST:  "ASC NULLS FIRST",
	pb.SortField_SORT_DIRECTION_ASC_NULLS_LAST:   "ASC NULLS LAST",
	pb.SortField_SORT_DIRECTION_DESC_NULLS_FIRST: "DESC NULLS FIRST",
	pb.SortField_SORT_DIRECTION_DESC_NULLS_LAST:  "DESC NULLS LAST",
	pb.SortField_SORT_DIRECTION_CLUSTERED:        "ASC NULLS LAST",
}

func (t *translator) sortKeys(over []column, sorts []*pb.SortField) ([]orderKey, error) {
	var keys []orderKey
	for i, s := range sorts {
		if _, ok := s.GetSortKind().(*pb.SortField_ComparisonFunctionReference); ok {
			return nil, fmt.Errorf("sort key %d: comparison functions are not supported", i)
		}
		direction, ok := directions[s.GetDirection()]
		if !ok {
			return nil, fmt.Errorf("sort key %d: direction %s is not supported", i, s.GetDirection())
		}
		c, err := t.over(over, s.GetExpr())
		if err != nil {
			return nil, fmt.Errorf("sort key %d: %w", i, err)
		}
		keys = append(keys, orderKey{c.sql, direction})
	}
	return keys, nil
}

func (t *translator) fetch(r *pb.FetchRel) (*query, error) {
	q, err := t.relation(r.GetInput())
	if err != nil {
		return nil, err
	}
	if q.limit != "" {
		if q, err = t.nested(q); err != nil {
			return nil, err
		}
	}
	limit, err := t.fetchCount(r)
	if err != nil {
		return nil, err
	}
	out := *q
	out.limit = limit
	return &out, nil
}

func (t *translator) fetchCount(r *pb.FetchRel) (string, error) {
	text := ""
	switch c := r.GetCountMode().(type) {
	case *pb.FetchRel_Count:
		if c.Count < -1 {
			return "", fmt.Errorf("count %d is negative", c.Count)
		}
		if c.Count >= 0 {
			text = " LIMIT " + strconv.FormatInt(c.Count, 10)
		}
	case *pb.FetchRel_CountExpr:
		e, err := t.over(nil, c.CountExpr)
		if err != nil {
			return "", fmt.Errorf("count: %w", err)
		}
		text = " LIMIT " + e.sql
	}
	switch o := r.GetOffsetMode().(type) {
	case *pb.FetchRel_Offset:
		if o.Offset < 0 {
			return "", fmt.Errorf("offset %d is negative", o.Offset)
		}
		if o.Offset > 0 {
			text += " OFFSET " + strconv.FormatInt(o.Offset, 10)
		}
	case *pb.FetchRel_OffsetExpr:
		e, err := t.over(nil, o.OffsetExpr)
		if err != nil {
			return "", fmt.Errorf("offset: %w", err)
		}
		text += " OFFSET " + e.sql
	}
	if text == "" {
		// All rows: the order is kept all the same.
		text = " OFFSET 0"
	}
	return text, nil
}

var setOperators = map[pb.SetRel_SetOp]string{
	pb.SetRel_SET_OP_MINUS_PRIMARY:             " EXCEPT ",
	pb.SetRel_SET_OP_MINUS_PRIMARY_ALL:         " EXCEPT ALL ",
	pb.SetRel_SET_OP_INTERSECTION_MULTISET:     " INTERSECT ",
	pb.SetRel_SET_OP_INTERSECTION_MULTISET_ALL: " INTERSECT ALL ",
	pb.SetRel_SET_OP_UNION_DISTINCT:            " UNION ",
	pb.SetRel_SET_OP_UNION_ALL:                 " UNION ALL ",
}

func (t *translator) set(r *pb.SetRel) (*query, error) {
	op, ok := setOperators[r.GetOp()]
	if r.GetOp() == pb.SetRel_SET_OP_INTERSECTION_PRIMARY && len(r.GetInputs()) == 2 {
		op, ok = " INTERSECT ", true
	}
	if !ok {
		return nil, fmt.Errorf("operation %s of %d inputs is not supported", r.GetOp(), len(r.GetInputs()))
	}
	if len(r.GetInputs()) < 2 {
		return nil, fmt.Errorf("it has %d inputs, at least 2 are needed", len(r.GetInputs()))
	}
	var texts []string
	var columns []column
	size := 0
	for i, in := range r.GetInputs() {
		q, err := t.relation(in)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			columns = q.columns
		}
		if len(q.columns) != len(columns) || len(columns) == 0 {
			return nil, fmt.Errorf("input %d has %d columns, input 0 has %d", i, len(q.columns), len(columns))
		}
		if q.limit == "" {
			ordered := *q
			ordered.order = nil
			q = &ordered
		}
		text, err := q.text(columnName)
		if err != nil {
			return nil, err
		}
		if size += len(text); size > maxText {
			return nil, errTooLong
		}
		texts = append(texts, "("+text+")")
	}
	return t.derived("("+strings.Join(texts, op)+")", columns), nil
}

// derived is a query over a table or subquery with the columns c0, c1 ...
func (t *translator) derived(from string, columns []column) *query {
	alias := t.alias()
	q := &query{from: from + " AS " + alias, columns: make([]column, len(columns))}
	for i, c := range columns {
		q.columns[i] = column{sql: alias + "." + columnName(i), of: c.of, cheap: true}
	}
	return q
}

// reference reads a relation that others refer to, too, once.
func (t *translator) reference(ordinal int32) (*query, error) {
	s, ok := t.shared[ordinal]
	if !ok {
		if ordinal < 0 || int(ordinal) >= len(t.plan.GetRelations()) || t.plan.GetRelations()[ordinal].GetRel() == nil {
			return nil, fmt.Errorf("reference: the plan has no relation %d to refer to", ordinal)
		}
		s = &sharedRelation{name: fmt.Sprintf("shared%d", ordinal)}
		t.shared[ordinal] = s
		outer := t.scopes // it cannot see them
		t.scopes = nil
		q, err := t.relation(t.plan.GetRelations()[ordinal].GetRel())
		t.scopes = outer
		if err != nil {
			return nil, err
		}
		if len(q.columns) == 0 {
			return nil, fmt.Errorf("reference: relation %d has no columns", ordinal)
		}
		text, err := q.text(columnName)
		if err != nil {
			return nil, err
		}
		t.ctes = append(t.ctes, s.name+" AS MATERIALIZED ("+text+")")
		s.columns, s.done = q.columns, true
	}
	if !s.done {
		return nil, fmt.Errorf("reference: relation %d refers to itself", ordinal)
	}
	return t.derived(s.name, s.columns), nil
}

// read is a table by name, or rows that the plan holds.
func (t *translator) read(r *pb.ReadRel) (*query, error) {
	names := r.GetBaseSchema().GetNames()
	types := r.GetBaseSchema().GetStruct().GetTypes()
	columns := make([]column, len(types))
	at := 0
	for i, typ := range types {
		of, err := t.typ(typ)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
		if at >= len(names) {
			return nil, fmt.Errorf("its schema has %d names for %d columns", len(names), len(types))
		}
		columns[i] = column{sql: names[at], of: of, cheap: true}
		at += 1 + innerNames(of)
	}
	if at != len(names) {
		return nil, fmt.Errorf("its schema has %d names, its types take %d", len(names), at)
	}
	var q *query
	switch source := r.GetReadType().(type) {
	case *pb.ReadRel_NamedTable_:
		parts := source.NamedTable.GetNames()
		if len(parts) == 0 || len(parts) > 3 {
			return nil, fmt.Errorf("a table's name has one to three parts, this one has %d", len(parts))
		}
		for i, p := range parts {
			if p == "" || strings.ContainsRune(p, 0) {
				return nil, fmt.Errorf("part %d of a table's name is no name", i)
			}
		}
		if e := source.NamedTable.GetAdvancedExtension().GetEnhancement(); e != nil {
			return nil, fmt.Errorf("the table's enhancement %s is not known", e.GetTypeUrl())
		}
		quoted := make([]string, len(parts))
		for i, p := range parts {
			quoted[i] = plan.QuoteIdent(p)
		}
		alias := t.alias()
		q = &query{from: strings.Join(quoted, ".") + " AS " + alias, columns: columns}
		for i, c := range columns {
			if c.sql == "" || strings.ContainsRune(c.sql, 0) {
				return nil, fmt.Errorf("column %d has no name", i)
			}
			columns[i].sql = alias + "." + plan.QuoteIdent(c.sql)
			if scalarType(c.of) {
				// Nothing, where the table has the type that the plan says.
				columns[i].sql = cast(columns[i].sql, c.of)
			}
		}
	case *pb.ReadRel_VirtualTable_:
		var err error
		if q, err = t.virtualTable(source.VirtualTable, columns); err != nil {
			return nil, err
		}
	case nil:
		return nil, fmt.Errorf("it does not say what it reads")
	default:
		kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", source), "*substraitpb.ReadRel_"), "_")
		return nil, fmt.Errorf("reading a %s is not supported: only named and virtual tables are", kind)
	}
	if f := r.GetFilter(); f != nil {
		cond, err := t.over(q.columns, f)
		if err != nil {
			return nil, fmt.Errorf("filter: %w", err)
		}
		q = q.filtered(cond.sql)
	}
	// A best-effort filter may be left out: whoever set it filters again.
	if m := r.GetProjection(); m != nil {
		picked := make([]column, 0, len(m.GetSelect().GetStructItems()))
		for _, item := range m.GetSelect().GetStructItems() {
			if item.GetChild() != nil {
				return nil, fmt.Errorf("projections inside a column are not supported")
			}
			if f := item.GetField(); f < 0 || int(f) >= len(q.columns) {
				return nil, fmt.Errorf("its projection has column %d of %d", f, len(q.columns))
			}
			picked = append(picked, q.columns[item.GetField()])
		}
		projected := *q
		projected.columns = picked
		q = &projected
	}
	return q, nil
}

func (t *translator) virtualTable(v *pb.ReadRel_VirtualTable, columns []column) (*query, error) {
	var rows []string
	size := 0
	add := func(fields []column) error {
		if len(fields) != len(columns) {
			return fmt.Errorf("row %d has %d values for %d columns", len(rows), len(fields), len(columns))
		}
		texts := make([]string, len(fields))
		for i, f := range fields {
			texts[i] = f.sql
			if scalarType(columns[i].of) && !f.of.Equal(columns[i].of) {
				texts[i] = cast(f.sql, columns[i].of)
			}
			size += len(texts[i])
		}
		if len(fields) == 0 {
			texts = []string{"NULL"}
		}
		if size > maxText {
			return errTooLong
		}
		rows = append(rows, "("+strings.Join(texts, ", ")+")")
		return nil
	}
	for _, row := range v.GetValues() {
		fields := make([]column, len(row.GetFields()))
		for i, l := range row.GetFields() {
			var err error
			if fields[i], err = t.literal(l); err != nil {
				return nil, err
			}
		}
		if err := add(fields); err != nil {
			return nil, err
		}
	}
	for _, row := range v.GetExpressions() {
		fields := make([]column, len(row.GetFields()))
		for i, e := range row.GetFields() {
			var err error
			if fields[i], err = t.over(nil, e); err != nil {
				return nil, err
			}
		}
		if err := add(fields); err != nil {
			return nil, err
		}
	}
	names := make([]string, max(len(columns), 1))
	for i := range names {
		names[i] = columnName(i)
	}
	if len(rows) == 0 {
		nulls := make([]string, len(names))
		for i := range nulls {
			nulls[i] = "NULL"
			if i < len(columns) {
				nulls[i] = cast("NULL", columns[i].of)
			}
		}
		q := t.derivedAs("(VALUES ("+strings.Join(nulls, ", ")+"))", names, columns)
		return q.filtered("false"), nil
	}
	return t.derivedAs("(VALUES "+strings.Join(rows, ", ")+")", names, columns), nil
}

// derivedAs is derived for a source whose columns have no names.
func (t *translator) derivedAs(from string, names []string, columns []column) *query {
	q := t.derived(from, columns)
	q.from += "(" + strings.Join(names, ", ") + ")"
	return q
}
