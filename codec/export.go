package codec

import (
	"fmt"
	"slices"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/seracdb/serac/plan"
)

// ExportedTable is a table as plans for others name it.
type ExportedTable struct {
	// Names is the table's full name.
	Names []string
	// Columns are all of its columns, in order.
	Columns []plan.ScanColumn
}

// SubstraitJSON is a query's plan for readers other than Serac's executors, as JSON: scans are reads of named tables,
// what several branches read is a relation of its own that they refer to, functions are Substrait's where one means the
// same, and there are no hints for Serac. names are the result's columns; table finds a scan's table by its key. What
// Substrait has no relation for is an extension relation all the same.
func SubstraitJSON(root plan.Node, names []string, table func(key string) (ExportedTable, error)) (string, error) {
	e := newEncoder(Default)
	e.export = &export{table: table, ctes: map[int]int32{}}
	p, err := e.plan(root)
	if err != nil {
		return "", fmt.Errorf("write plan as Substrait: %w", err)
	}
	p.Relations[0].GetRoot().Names = names
	p.Relations = append(e.export.shared, p.Relations...)
	text, err := protojson.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("write plan as Substrait: %w", err)
	}
	return string(text), nil
}

// export is what an encoder needs to write a plan for others.
type export struct {
	table func(key string) (ExportedTable, error)
	// shared are the relations that several refer to, by their position; ctes and delims are which one a CTERef of an index
	// and the DelimGets of the delim joins around, the nearest last, refer to.
	shared []*pb.PlanRel
	ctes   map[int]int32
	delims []int32
}

func (x *export) share(rel *pb.Rel) int32 {
	x.shared = append(x.shared, &pb.PlanRel{RelType: &pb.PlanRel_Rel{Rel: rel}})
	return int32(len(x.shared) - 1)
}

func reference(ordinal int32) *pb.Rel {
	return &pb.Rel{RelType: &pb.Rel_Reference{Reference: &pb.ReferenceRel{SubtreeOrdinal: ordinal}}}
}

// exported writes the nodes that travel to executors in another way than they are shown to others; nil for all else.
func (e *encoder) exported(n plan.Node) (*pb.Rel, error) {
	switch n := n.(type) {
	case *plan.IcebergScan:
		return e.namedTable(n)
	case *plan.CTE:
		def, _, err := e.node(n.Def)
		if err != nil {
			return nil, err
		}
		e.export.ctes[n.Index] = e.export.share(def)
		body, _, err := e.node(n.Body)
		return body, err
	case *plan.CTERef:
		if ordinal, ok := e.export.ctes[n.Index]; ok && !n.Recurring {
			return reference(ordinal), nil
		}
	case *plan.DelimJoin:
		if n.Join != nil && !n.Lateral {
			return e.sharedKeys(n)
		}
	case *plan.DelimGet:
		if len(e.export.delims) > 0 {
			return reference(e.export.delims[len(e.export.delims)-1]), nil
		}
	}
	return nil, nil
}

// sharedKeys is a delim join as a join of a shared relation, whose distinct keys are another that the other side reads.
func (e *encoder) sharedKeys(n *plan.DelimJoin) (*pb.Rel, error) {
	source, other := n.Join.Left, n.Join.Right
	if n.Flipped {
		source, other = other, source
	}
	rel, in, err := e.node(source)
	if err != nil {
		return nil, err
	}
	whole := e.export.share(rel)
	keys := &pb.AggregateRel{Common: direct(), Input: reference(whole), Groupings: []*pb.AggregateRel_Grouping{{}}}
	for i, k := range n.Keys {
		if k < 0 || k >= len(in) {
			return nil, fmt.Errorf("key %d of %d", k, len(in))
		}
		ref, err := e.expr(&plan.ColumnRef{Index: k, Of: in[k].Type}, scope{columns: in})
		if err != nil {
			return nil, err
		}
		keys.GroupingExpressions = append(keys.GroupingExpressions, ref)
		keys.Groupings[0].ExpressionReferences = append(keys.Groupings[0].ExpressionReferences, uint32(i))
	}
	e.export.delims = append(e.export.delims, e.export.share(&pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: keys}}))
	defer func() { e.export.delims = e.export.delims[:len(e.export.delims)-1] }()
	right, rightIn, err := e.node(other)
	if err != nil {
		return nil, err
	}
	inputs, schemas := []*pb.Rel{reference(whole), right}, []plan.Schema{in, rightIn}
	if n.Flipped {
		slices.Reverse(inputs)
		slices.Reverse(schemas)
	}
	return e.join(n.Join, inputs, schemas)
}

// namedTable is a scan as a read of a table by its name.
func (e *encoder) namedTable(n *plan.IcebergScan) (*pb.Rel, error) {
	t, err := e.export.table(n.TableKey)
	if err != nil {
		return nil, err
	}
	var all plan.Schema
	position := map[int32]int{}
	for i, c := range t.Columns {
		all = append(all, plan.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable})
		position[c.FieldID] = i
	}
	read := &pb.ReadRel{
		Common:     direct(),
		Projection: &pb.Expression_MaskExpression{Select: &pb.Expression_MaskExpression_StructSelect{}, MaintainSingularStruct: true},
		ReadType:   &pb.ReadRel_NamedTable_{NamedTable: &pb.ReadRel_NamedTable{Names: t.Names}},
	}
	if read.BaseSchema, err = e.schema(all); err != nil {
		return nil, err
	}
	at := make([]int, len(n.Columns))
	for i, c := range n.Columns {
		p, ok := position[c.FieldID]
		if !ok {
			return nil, fmt.Errorf("table %s has no column %d", n.TableKey, c.FieldID)
		}
		at[i] = p
		read.Projection.Select.StructItems = append(read.Projection.Select.StructItems, &pb.Expression_MaskExpression_StructItem{Field: int32(p)})
	}
	if n.Filter != nil {
		// The same filter stands above the scan, too.
		filter := plan.MapColumns(n.Filter, func(i int) int { return at[i] })
		if read.BestEffortFilter, err = e.expr(filter, scope{columns: all}); err != nil {
			return nil, fmt.Errorf("filter: %w", err)
		}
	}
	return &pb.Rel{RelType: &pb.Rel_Read{Read: read}}, nil
}

// filledColumns are the columns of rows, not nullable where every row has a value: readers compare them.
func filledColumns(n *plan.Values) plan.Schema {
	out := slices.Clone(n.Out)
	for i := range out {
		out[i].Nullable = slices.ContainsFunc(n.Rows, func(row []plan.Expr) bool {
			if i >= len(row) {
				return true
			}
			c, ok := row[i].(*plan.Constant)
			return !ok || c.Value == nil
		})
	}
	return out
}

// exportedFunctions are functions of DuckDB over texts that Substrait has under other names. Executors get them by DuckDB's.
var exportedFunctions = map[string]string{
	"~~": "like", "!~~": "like", "prefix": "starts_with", "suffix": "ends_with", "contains": "contains",
}

// exportedCall writes a call as one of a standard function; nil when there is none.
func (e *encoder) exportedCall(x *plan.Call, args []*pb.FunctionArgument, of *pb.Type) *pb.Expression {
	name, ok := exportedFunctions[x.Name]
	if !ok || !is(x.Of, plan.Boolean) || len(x.Args) != 2 || !is(x.Args[0].Type(), plan.Varchar) || !is(x.Args[1].Type(), plan.Varchar) {
		return nil
	}
	call := scalar(e.declarations.function(urnString, name+":str_str"), args, nil, of)
	if x.Name == "!~~" {
		return scalar(e.declarations.function(urnBoolean, "not:bool"), []*pb.FunctionArgument{value(call)}, nil, of)
	}
	return call
}
