package read

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// reader builds a Query.
type reader struct {
	in       Input
	fields   []iceberg.Field
	columns  *columns
	filters  *filters
	equality []*equalitySet
	query    *Query
}

func newReader(in Input) (*reader, error) {
	fields, err := iceberg.Fields(in.Schema)
	if err != nil {
		return nil, err
	}
	r := &reader{in: in, fields: fields, query: &Query{}}
	if r.columns, err = newColumns(in.Scan.Columns, topLevel(fields)); err != nil {
		return nil, err
	}
	if r.filters, err = newFilters(in, r.columns.outputs); err != nil {
		return nil, err
	}
	return r, nil
}

// class is files that one read_parquet call can read.
type class struct {
	files  []*dataFile
	shape  *shape
	filter string // SQL over c0..; "" when none
}

func (r *reader) build(ctx context.Context) error {
	files, err := dataFiles(r.in.Group)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		r.query.SQL = r.empty()
		return nil
	}
	if r.in.Local == nil {
		return errors.New("no way to open files was given")
	}
	if err := r.equalitySets(files); err != nil {
		return err
	}
	// A field-id schema reads files without field ids as all NULL, so footers are read where there may be such files.
	footers := r.in.NameMapping != nil
	for _, s := range r.columns.sources {
		footers = footers || s.field != nil && !stable(s.field, r.in.Schemas)
	}
	parts, err := r.open(ctx, files, footers)
	if err != nil {
		return err
	}
	classes, err := r.classes(parts)
	if err != nil {
		return err
	}
	if len(classes) == 0 {
		r.query.SQL = r.empty()
		return nil
	}
	var withPositions []*dataFile
	for _, c := range classes {
		for _, f := range c.files {
			if len(f.positions) > 0 {
				f.ordinal = len(withPositions)
				withPositions = append(withPositions, f)
			}
		}
	}
	if err := r.loadPositions(ctx, withPositions); err != nil {
		return err
	}
	if err := r.loadEquality(ctx); err != nil {
		return err
	}
	selects := make([]string, len(classes))
	for i := range classes {
		if err := r.plain(ctx, &classes[i]); err != nil {
			return err
		}
		if selects[i], err = r.selectClass(classes[i]); err != nil {
			return err
		}
	}
	r.query.SQL = strings.Join(selects, " UNION ALL ")
	return nil
}

// empty is a relation of the scan's columns without rows.
func (r *reader) empty() string {
	if len(r.columns.outputs) == 0 {
		return "SELECT NULL AS " + noColumn + " WHERE false"
	}
	parts := make([]string, len(r.columns.outputs))
	for i, out := range r.columns.outputs {
		parts[i] = "CAST(NULL AS " + out.typ.SQL() + ") AS " + out.name
	}
	return "SELECT " + strings.Join(parts, ", ") + " WHERE false"
}

// classes divides files into what single read_parquet calls can read: whole files that look alike together, each range of
// rows for itself.
func (r *reader) classes(files []*dataFile) ([]class, error) {
	var order []string
	byKey := make(map[string]*class)
	for i, f := range files {
		s, err := r.shapeOf(f)
		if err != nil {
			return nil, fmt.Errorf("data file %s: %w", f.task.GetPath(), err)
		}
		filter, err := r.filters.of(f.task)
		if err != nil {
			return nil, err
		}
		k := fmt.Sprintf("%s|%t|%t|%s", s.signature, len(f.positions) > 0, len(f.equality) > 0, filter)
		if !f.whole {
			k = fmt.Sprintf("range %d", i)
		}
		if byKey[k] == nil {
			byKey[k] = &class{shape: s, filter: filter}
			order = append(order, k)
		}
		byKey[k].files = append(byKey[k].files, f)
	}
	var out []class
	for _, k := range order {
		c := byKey[k]
		for _, part := range r.byEquality(c.files) {
			out = append(out, class{files: part, shape: c.shape, filter: c.filter})
		}
	}
	return out, nil
}

// shape is how the sources are read of a file.
type shape struct {
	schema schemaMap
	// exprs are the sources as SQL over the schema's columns.
	exprs []string
	// plain says that the file is read without a schema; exprs are over its own columns then.
	plain bool
	// signature is equal for files that read alike.
	signature string
}

func (r *reader) shapeOf(f *dataFile) (*shape, error) {
	s := &shape{exprs: make([]string, len(r.columns.sources))}
	var have []*column
	byName := false
	if f.footer != nil {
		var hasIDs bool
		have, hasIDs = fileColumns(f.footer, r.in.NameMapping)
		byName = !hasIDs
		if byName && r.in.NameMapping == nil {
			return nil, errors.New("it has no field ids, and the table has no name mapping")
		}
	}
	for i, src := range r.columns.sources {
		key, name, typ, expr := fmt.Sprint(src.id), src.name, src.typ, src.name
		value, err := r.valueIfMissing(f, src)
		if err != nil {
			return nil, err
		}
		c := find(have, src.id)
		if byName {
			// A name that no file has, unless the mapping gives the file's.
			key = plan.QuoteString(fmt.Sprintf("no field %d", src.id))
			if c != nil {
				key = plan.QuoteString(c.name)
			}
		}
		if c != nil && src.field != nil && len(src.field.Children) > 0 && !plainNames(src.field.Children, c) {
			name = fmt.Sprintf("r%d", src.id)
			if typ, expr, err = reshaped(src.field, c, name, 0); err != nil {
				return nil, err
			}
		}
		s.schema.add(key, name, typ, value)
		s.exprs[i] = expr
	}
	if len(s.schema) == 0 {
		key := fmt.Sprint(noColumnFieldID)
		if byName {
			key = plan.QuoteString("no field")
		}
		s.schema.add(key, noColumn, plan.T(plan.Integer), "NULL")
	}
	s.signature = s.schema.String() + strings.Join(s.exprs, "|")
	return s, nil
}

// valueIfMissing is the value of a source in a file that has no such column: the file's partition value, else the field's
// initial default.
func (r *reader) valueIfMissing(f *dataFile, src source) (string, error) {
	if src.field == nil || len(src.field.Children) > 0 {
		return "NULL", nil
	}
	value := src.field.Initial
	if constant, ok := f.task.GetConstants()[src.id]; ok {
		value = constant
		if value == nil {
			value = []byte{} // protobuf does not tell empty bytes from none
		}
	}
	text, err := defaultValue(src.field.Iceberg, value)
	if err != nil {
		return "", fmt.Errorf("value of column %s: %w", src.field.Name, err)
	}
	return text, nil
}

// perFile is a value that depends on the file, as SQL.
func perFile(values []string) string {
	for _, v := range values {
		if v != values[0] {
			return "list_extract([" + strings.Join(values, ", ") + "], file_index::BIGINT + 1)"
		}
	}
	return values[0]
}

// selectClass is the SELECT of a class.
func (r *reader) selectClass(c class) (string, error) {
	joins, bySequence := r.equalityJoins(c.files)
	var positions bool
	for _, f := range c.files {
		positions = positions || len(f.positions) > 0
	}
	items, outputs := make([]string, 0, len(r.columns.outputs)+4), make([]string, 0, len(r.columns.outputs))
	for _, out := range r.columns.outputs {
		expr := ""
		if out.source >= 0 {
			expr = r.unpushed(c.shape.exprs[out.source], out.typ)
		}
		if out.special != 0 {
			expr = r.special(out, c.files, expr)
		}
		items = append(items, aliased(expr, out.name))
		outputs = append(outputs, out.name)
	}
	if len(outputs) == 0 {
		items, outputs = append(items, aliased("NULL", noColumn)), append(outputs, noColumn)
	}
	paths, sequences := make([]string, len(c.files)), make([]string, len(c.files))
	rows := int64(0)
	for i, f := range c.files {
		rows += f.rows()
		paths[i], sequences[i] = f.local, fmt.Sprint(f.task.GetSequenceNumber())
	}
	if len(joins) > 0 {
		for _, id := range r.equalityColumns() {
			src := r.columns.byID[id]
			if name := r.columns.sources[src].name; name == hidden(id) {
				items = append(items, aliased(c.shape.exprs[src], name))
			}
		}
	}
	if bySequence {
		items = append(items, aliased(perFile(sequences), "seq"))
	}
	if positions {
		items = append(items, "file_index AS fi", "file_row_number AS pos")
		first, n := c.files[0].ordinal, len(c.files)
		d := fmt.Sprintf("(SELECT fi - %d::UBIGINT AS fi, pos FROM %s WHERE fi BETWEEN %d AND %d)", first, r.positionTable(), first, first+n-1)
		joins = append([]string{"ANTI JOIN " + d + " d ON d.fi = p.fi AND d.pos = p.pos"}, joins...)
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + readParquet(paths, c.shape, rows)
	if f := c.files[0]; !f.whole {
		sql += fmt.Sprintf(" WHERE file_row_number BETWEEN %d AND %d", f.first, f.last-1)
	}
	if c.filter != "" {
		sql = "SELECT * FROM (" + sql + ") WHERE " + c.filter
	}
	if len(joins) > 0 {
		for i, name := range outputs {
			outputs[i] = "p." + name
		}
		sql = "SELECT " + strings.Join(outputs, ", ") + " FROM (" + sql + ") p " + strings.Join(joins, " ")
	}
	return sql, nil
}

// unpushed keeps DuckDB from comparing a column of BLOBs with what a Parquet file says of it: DuckDB 1.5 looks a BLOB up in a
// column's Bloom filter by its text (\x00), not its bytes, and so skips row groups that have it. A coalesce would not do:
// filters of joins are pushed through it. Conditions on nested columns it keeps out of the scan altogether where Input.Distinct
// says so: no condition that needs two columns is pushed.
func (r *reader) unpushed(expr string, t plan.Type) string {
	switch {
	case t.Kind == plan.Blob:
		return "CASE WHEN " + expr + " IS NULL THEN NULL ELSE " + expr + " END"
	case r.in.Distinct && Nested(t):
		return "CASE WHEN " + expr + " IS NULL AND file_row_number % 2 = 0 THEN NULL ELSE " + expr + " END"
	}
	return expr
}

// Nested says that a type is a list, a struct or a map.
func Nested(t plan.Type) bool {
	return t.Kind == plan.List || t.Kind == plan.Struct || t.Kind == plan.Map
}

func aliased(expr, name string) string {
	if expr == name {
		return expr
	}
	return expr + " AS " + name
}

// equalityColumns are the columns that equality deletes compare, by id.
func (r *reader) equalityColumns() []int32 {
	seen := make(map[int32]bool)
	var out []int32
	for _, set := range r.equality {
		for _, key := range set.keys {
			if !seen[key.top.ID] {
				seen[key.top.ID] = true
				out = append(out, key.top.ID)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// special is a metadata column as SQL; stored is the file's own column where it may have one.
func (r *reader) special(out output, files []*dataFile, stored string) string {
	values := make([]string, len(files))
	each := func(value func(f *dataFile) string) string {
		for i, f := range files {
			values[i] = value(f)
		}
		return perFile(values)
	}
	row := "file_row_number"
	if base := each(func(f *dataFile) string { return fmt.Sprint(f.base) }); base != "0" {
		row = "(" + row + " + " + base + ")"
	}
	var expr string
	switch out.special {
	case fileFieldID:
		expr = each(func(f *dataFile) string { return plan.QuoteString(f.task.GetPath()) })
	case posFieldID:
		expr = row
	case deletedFieldID:
		expr = "false"
	case specFieldID:
		expr = each(func(f *dataFile) string { return fmt.Sprint(f.task.GetSpecId()) })
	case rowIDFieldID:
		first := each(func(f *dataFile) string {
			if f.task.FirstRowId == nil {
				return "NULL::BIGINT"
			}
			return fmt.Sprintf("%d::BIGINT", f.task.GetFirstRowId())
		})
		expr = "coalesce(" + stored + ", " + first + " + " + row + ")"
	case lastUpdatedFieldID:
		// Files from before format version 3 have no first row id and no lineage.
		sequence := each(func(f *dataFile) string {
			if f.task.FirstRowId == nil {
				return "NULL::BIGINT"
			}
			return fmt.Sprintf("%d::BIGINT", f.task.GetSequenceNumber())
		})
		expr = "coalesce(" + stored + ", " + sequence + ")"
	}
	return "CAST(" + expr + " AS " + out.typ.SQL() + ")"
}
