package bind

import (
	"encoding/json"
	"fmt"

	"github.com/seracdb/serac/plan"
)

func (im *importer) get(op *opJSON) (imported, error) {
	if len(op.TableFilters.Filters) > 0 {
		return imported{}, fmt.Errorf("filters inside the scan")
	}
	if op.OrdinalityIndex != nil && *op.OrdinalityIndex != noIndex {
		return imported{}, fmt.Errorf("table function %s with ordinality", op.Name)
	}
	if len(op.ExtraInfo.SampleOptions) > 0 && string(op.ExtraInfo.SampleOptions) != "null" {
		return imported{}, fmt.Errorf("a sample inside the scan")
	}
	if op.Name == scanFunction {
		return im.scan(op)
	}
	return im.tableFunction(op)
}

// outputColumns are the positions, among the function's columns, of the operator's output.
func outputColumns(op *opJSON, width int) ([]int, error) {
	var out []int
	read := make([]int, len(op.ColumnIndexes))
	for i, c := range op.ColumnIndexes {
		if c.Index == noIndex {
			read[i] = 0 // a row id that nothing can use: any column gives the row count
		} else {
			read[i] = int(c.Index)
		}
		if read[i] >= width {
			return nil, fmt.Errorf("column %d of %d", c.Index, width)
		}
		if len(c.Children) > 0 {
			return nil, fmt.Errorf("a part of column %d", c.Index)
		}
	}
	if len(op.ProjectionIDs) == 0 {
		return read, nil
	}
	for _, p := range op.ProjectionIDs {
		if p < 0 || p >= len(read) {
			return nil, fmt.Errorf("projected column %d of %d", p, len(read))
		}
		out = append(out, read[p])
	}
	return out, nil
}

func (im *importer) scan(op *opJSON) (imported, error) {
	if len(op.Parameters) != 1 {
		return imported{}, fmt.Errorf("a scan with %d arguments", len(op.Parameters))
	}
	var key string
	if err := json.Unmarshal(op.Parameters[0].Value, &key); err != nil {
		return imported{}, err
	}
	t, ok := im.tables[key]
	if !ok {
		return imported{}, fmt.Errorf("a scan of an unknown table")
	}
	columns, err := outputColumns(op, len(t.Columns))
	if err != nil {
		return imported{}, err
	}
	read := make([]plan.ScanColumn, len(columns))
	for i, c := range columns {
		read[i] = t.Columns[c]
	}
	return im.simple(op, t.scan(im.leaf(), read))
}

// tableFunction reads a call. Its node has all the function's columns; a projection above picks the wanted ones.
func (im *importer) tableFunction(op *opJSON) (imported, error) {
	own, err := schemaOf(op.ReturnedTypes, op.Names)
	if err != nil {
		return imported{}, err
	}
	columns, err := outputColumns(op, len(own))
	if err != nil {
		return imported{}, err
	}
	n := &plan.TableFunction{Name: op.Name, Out: own}
	switch len(op.Children) {
	case 0:
		n.Leaf = im.leaf()
		for _, p := range op.Parameters {
			arg, err := importConstant(p)
			if err != nil {
				return imported{}, err
			}
			n.Args = append(n.Args, arg)
		}
	case 1:
		in, err := im.op(op.Children[0])
		if err != nil {
			return imported{}, err
		}
		n.Input, n.InputArgs, n.Kept = in.Node, len(op.InputTypes), op.ProjectedInput
		for i, k := range op.ProjectedInput {
			schema := in.Node.Schema()
			if k < 0 || k >= len(schema) {
				return imported{}, fmt.Errorf("input column %d of %d", k, len(schema))
			}
			n.Out = append(n.Out, schema[k])
			columns = append(columns, len(own)+i)
		}
		if len(op.ProjectedInput) == 0 {
			n.Kept = nil
		}
	default:
		return imported{}, fmt.Errorf("a table function with %d inputs", len(op.Children))
	}
	for _, p := range op.NamedParameters {
		value, err := importConstant(p.Value)
		if err != nil {
			return imported{}, err
		}
		n.NamedArgs = append(n.NamedArgs, plan.NamedArg{Name: p.Key, Value: value})
	}
	out, err := narrowed(imported{Node: n}, columns)
	if err != nil {
		return imported{}, err
	}
	return im.simple(op, out.Node)
}

// chunkGet reads a relation of constants, which DuckDB stores by column.
func (im *importer) chunkGet(op *opJSON) (imported, error) {
	out, err := schemaOf(op.ChunkTypes, nil)
	if err != nil {
		return imported{}, err
	}
	n := &plan.Values{Leaf: im.leaf(), Out: out}
	if op.Collection == nil {
		return imported{}, fmt.Errorf("no rows")
	}
	for c, column := range op.Collection.Values {
		if n.Rows == nil {
			n.Rows = make([][]plan.Expr, len(column))
			for r := range n.Rows {
				n.Rows[r] = make([]plan.Expr, len(out))
			}
		}
		if c >= len(out) || len(column) != len(n.Rows) {
			return imported{}, fmt.Errorf("columns of different lengths")
		}
		for r, v := range column {
			v.Type = op.ChunkTypes[c]
			if n.Rows[r][c], err = importConstant(v); err != nil {
				return imported{}, err
			}
		}
	}
	return im.simple(op, n)
}

func (im *importer) expressionGet(op *opJSON) (imported, error) {
	out, err := schemaOf(op.ExprTypes, nil)
	if err != nil {
		return imported{}, err
	}
	var rows [][]*exprJSON
	if err := decode(op.Expressions, &rows); err != nil {
		return imported{}, err
	}
	if len(op.Children) != 1 {
		return imported{}, fmt.Errorf("values over %d inputs", len(op.Children))
	}
	if op.Children[0].Type != "LOGICAL_DUMMY_SCAN" {
		return im.valuesOver(op, rows, out)
	}
	n := &plan.Values{Leaf: im.leaf(), Out: out}
	s := &scope{}
	for _, row := range rows {
		exprs, err := s.exprs(row)
		if err != nil {
			return imported{}, err
		}
		n.Rows = append(n.Rows, exprs)
	}
	return im.simple(op, n)
}

// valuesOver is the VALUES of a correlated subquery: for each row of the input all of the rows. Several become lists, one a
// column, which are unnested side by side.
func (im *importer) valuesOver(op *opJSON, rows [][]*exprJSON, out plan.Schema) (imported, error) {
	in, err := im.op(op.Children[0])
	if err != nil {
		return imported{}, err
	}
	lists := make([][]plan.Expr, len(out))
	for _, row := range rows {
		exprs, err := in.scope().exprs(row)
		if err != nil {
			return imported{}, err
		}
		if len(exprs) != len(out) {
			return imported{}, fmt.Errorf("a row of %d values for %d columns", len(exprs), len(out))
		}
		for c, e := range exprs {
			if !e.Type().Equal(out[c].Type) {
				e = &plan.Cast{Arg: e, To: out[c].Type}
			}
			lists[c] = append(lists[c], e)
		}
	}
	project := &plan.Project{Names: make([]string, len(out))}
	if len(rows) == 1 {
		project.Input = in.Node
		for _, list := range lists {
			project.Exprs = append(project.Exprs, list[0])
		}
		return im.simple(op, project)
	}
	unnest := &plan.Unnest{Input: in.Node}
	project.Input = unnest
	for c, list := range lists {
		of := out[c].Type
		unnest.Exprs = append(unnest.Exprs, &plan.Call{Name: "list_value", Args: list, Of: plan.ListType(of)})
		unnest.Types, unnest.Names = append(unnest.Types, of), append(unnest.Names, "")
		project.Exprs = append(project.Exprs, &plan.ColumnRef{Index: len(in.Node.Schema()) + c, Of: of})
	}
	return im.simple(op, project)
}

func (im *importer) cteRef(op *opJSON) (imported, error) {
	out, err := schemaOf(op.ChunkTypes, op.BoundNames)
	if err != nil {
		return imported{}, err
	}
	return im.simple(op, &plan.CTERef{Index: int(op.CTEIndex), Recurring: op.IsRecurring, Out: out})
}
