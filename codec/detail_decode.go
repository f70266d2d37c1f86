package codec

import (
	"fmt"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// details reads the messages of our own relations, by full name.
var details = detailReaders(
	detailReader(0, (*decoder).icebergScan),
	detailReader(0, (*decoder).metadataScan),
	detailReader(0, (*decoder).shuffleRead),
	detailReader(0, (*decoder).delimGet),
	detailReader(0, (*decoder).cteRef),
	detailReader(1, (*decoder).distinctOn),
	detailReader(1, (*decoder).window),
	detailReader(1, (*decoder).unnest),
	detailReader(1, (*decoder).limit),
	detailReader(1, (*decoder).sample),
	detailReader(anyNumber, (*decoder).tableFunction),
	detailReader(2, (*decoder).joinNode),
	detailReader(2, (*decoder).delimJoin),
	detailReader(2, (*decoder).cte),
	detailReader(2, (*decoder).recursiveCTE),
	detailReader(anyNumber, (*decoder).wholeStatement),
	detailReader(1, (*decoder).shuffleWrite),
	detailReader(1, (*decoder).icebergWrite),
	detailReader(1, (*decoder).icebergCommit),
	detailReader(anyNumber, (*decoder).extensionNode),
)

const anyNumber = -1

// reader is how one message becomes a node.
type reader struct {
	name   string
	inputs int
	read   func(d *decoder, b []byte, nodes []plan.Node, in []plan.Schema) (plan.Node, error)
}

// detailReader is the reader of messages *M with a number of inputs.
func detailReader[M any, P interface {
	*M
	proto.Message
}](inputs int, read func(*decoder, P, []plan.Node, []plan.Schema) (plan.Node, error)) reader {
	return reader{
		name:   string(P(new(M)).ProtoReflect().Descriptor().FullName()),
		inputs: inputs,
		read: func(d *decoder, b []byte, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
			m := P(new(M))
			if err := parse(b, m); err != nil {
				return nil, err
			}
			return read(d, m, nodes, in)
		},
	}
}

func detailReaders(all ...reader) map[string]reader {
	out := make(map[string]reader, len(all))
	for _, r := range all {
		out[r.name] = r
	}
	return out
}

// extension is a relation of our own.
func (d *decoder) extension(detail *anypb.Any, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	r, ok := details[messageName(detail)]
	if !ok {
		return nil, fmt.Errorf("node %q is not known", messageName(detail))
	}
	if err := checkVersion(detail); err != nil {
		return nil, err
	}
	if r.inputs != anyNumber && len(nodes) != r.inputs {
		return nil, fmt.Errorf("it has %d inputs, not %d", len(nodes), r.inputs)
	}
	return r.read(d, detail.GetValue(), nodes, in)
}

// extensionNode is a node of another table format.
func (d *decoder) extensionNode(m *seracv1.ExtensionNode, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	name := messageName(m.GetMessage())
	x, ok := d.registry.lookup(name)
	if !ok {
		return nil, fmt.Errorf("node %q is not known: no codec is registered for it", name)
	}
	if m.GetVersion() < 1 || m.GetVersion() > x.Version() {
		return nil, fmt.Errorf("node %q has version %d, this codec reads 1 to %d", name, m.GetVersion(), x.Version())
	}
	message := x.Message()
	if err := unpack(m.GetMessage(), message); err != nil {
		return nil, err
	}
	impl, err := x.Decode(message, m.GetVersion(), in)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	if impl == nil || impl.Name() != name {
		return nil, fmt.Errorf("the codec of %s made another node", name)
	}
	n := &plan.Extension{Impl: impl}
	if len(nodes) > 0 {
		n.Inputs = nodes
	}
	return n, nil
}

func (d *decoder) icebergScan(m *seracv1.IcebergScan, _ []plan.Node, _ []plan.Schema) (plan.Node, error) {
	d.tables[m.GetTableKey()] = true
	n := &plan.IcebergScan{
		Leaf: plan.LeafID(m.GetLeaf()), TableKey: m.GetTableKey(), SnapshotID: m.GetSnapshotId(),
		EstimatedRows: m.GetEstimatedRows(), EstimatedBytes: m.GetEstimatedBytes(), AsOf: m.GetAsOf(),
	}
	var err error
	if n.Columns, err = d.scanColumns(m.GetColumns()); err != nil {
		return nil, err
	}
	if n.Filter, err = d.optionalBytes(m.GetFilter(), scope{columns: n.Schema()}); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return n, nil
}

func (d *decoder) metadataScan(m *seracv1.MetadataScan, _ []plan.Node, _ []plan.Schema) (plan.Node, error) {
	if m.GetVersion() < 1 || m.GetVersion() > metadataScanVersion {
		return nil, fmt.Errorf("it has version %d, this codec reads 1 to %d", m.GetVersion(), metadataScanVersion)
	}
	d.tables[m.GetTableKey()] = true
	columns, err := d.scanColumns(m.GetColumns())
	if err != nil {
		return nil, err
	}
	return &plan.MetadataScan{
		Leaf: plan.LeafID(m.GetLeaf()), TableKey: m.GetTableKey(), Kind: m.GetKind(), SnapshotID: m.GetSnapshotId(),
		Columns: columns, EstimatedRows: m.GetEstimatedRows(),
	}, nil
}

func (d *decoder) scanColumns(ms []*seracv1.ScanColumn) ([]plan.ScanColumn, error) {
	var out []plan.ScanColumn
	for _, m := range ms {
		t, err := d.typeBytes(m.GetType())
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", m.GetName(), err)
		}
		out = append(out, plan.ScanColumn{FieldID: m.GetFieldId(), Name: m.GetName(), Type: t, Nullable: m.GetNullable()})
	}
	return out, nil
}

func (d *decoder) shuffleRead(m *seracv1.ShuffleRead, _ []plan.Node, _ []plan.Schema) (plan.Node, error) {
	schema, err := d.schemaBytes(m.GetSchema())
	return &plan.ShuffleRead{
		Leaf: plan.LeafID(m.GetLeaf()), Stage: plan.StageID(m.GetStage()), Broadcast: m.GetBroadcast(), Out: schema,
		EstimatedRows: m.GetEstimatedRows(), EstimatedBytes: m.GetEstimatedBytes(),
	}, err
}

func (d *decoder) delimGet(m *seracv1.DelimGet, _ []plan.Node, _ []plan.Schema) (plan.Node, error) {
	schema, err := d.schemaBytes(m.GetSchema())
	return &plan.DelimGet{Out: schema}, err
}

func (d *decoder) cteRef(m *seracv1.CTERef, _ []plan.Node, _ []plan.Schema) (plan.Node, error) {
	schema, err := d.schemaBytes(m.GetSchema())
	return &plan.CTERef{Index: int(m.GetIndex()), Recurring: m.GetRecurring(), Out: schema}, err
}

func (d *decoder) distinctOn(m *seracv1.DistinctOn, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	on, err := d.exprBytes(m.GetOn(), scope{columns: in[0]})
	if err != nil {
		return nil, err
	}
	order, err := d.sortBytes(m.GetOrderBy(), scope{columns: in[0]})
	return &plan.Distinct{Input: nodes[0], On: on, OrderBy: order}, err
}

func (d *decoder) window(m *seracv1.Window, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	n := &plan.Window{Input: nodes[0]}
	for i, call := range m.GetCalls() {
		c, err := d.windowCall(call, scope{columns: in[0]})
		if err != nil {
			return nil, fmt.Errorf("call %d, %s: %w", i, call.GetName(), err)
		}
		n.Calls = append(n.Calls, c)
	}
	return n, nil
}

var (
	frameModeOf    = invert(frameModes)
	frameBoundOf   = invert(frameBounds)
	frameExcludeOf = invert(frameExcludes)
)

func (d *decoder) windowCall(m *seracv1.WindowCall, s scope) (plan.WindowCall, error) {
	c := plan.WindowCall{Name: m.GetName(), Distinct: m.GetDistinct(), IgnoreNulls: m.GetIgnoreNulls()}
	var err error
	if c.Args, err = d.exprBytes(m.GetArgs(), s); err != nil {
		return c, err
	}
	for i, b := range m.GetParams() {
		x, err := d.optionalBytes(b, scope{})
		if err != nil {
			return c, fmt.Errorf("parameter %d: %w", i, err)
		}
		p, ok := x.(*plan.Constant)
		if !ok {
			return c, fmt.Errorf("parameter %d is a %T", i, x)
		}
		c.Params = append(c.Params, p)
	}
	if c.Filter, err = d.optionalBytes(m.GetFilter(), s); err != nil {
		return c, fmt.Errorf("filter: %w", err)
	}
	if c.ArgOrder, err = d.sortBytes(m.GetArgOrder(), s); err != nil {
		return c, err
	}
	if c.PartitionBy, err = d.exprBytes(m.GetPartitionBy(), s); err != nil {
		return c, err
	}
	if c.OrderBy, err = d.sortBytes(m.GetOrderBy(), s); err != nil {
		return c, err
	}
	var known [2]bool
	c.Frame.Mode, known[0] = frameModeOf[m.GetMode()]
	c.Frame.Exclude, known[1] = frameExcludeOf[m.GetExclude()]
	if !known[0] || !known[1] {
		return c, fmt.Errorf("frame mode %s or exclusion %s is not known", m.GetMode(), m.GetExclude())
	}
	if c.Frame.Start, err = d.frameBound(m.GetStart(), s); err != nil {
		return c, fmt.Errorf("frame start: %w", err)
	}
	if c.Frame.End, err = d.frameBound(m.GetEnd(), s); err != nil {
		return c, fmt.Errorf("frame end: %w", err)
	}
	c.Of, err = d.typeBytes(m.GetType())
	return c, err
}

func (d *decoder) frameBound(m *seracv1.FrameBound, s scope) (plan.FrameBound, error) {
	kind, ok := frameBoundOf[m.GetKind()]
	if !ok {
		return plan.FrameBound{}, fmt.Errorf("bound %s is not known", m.GetKind())
	}
	offset, err := d.optionalBytes(m.GetOffset(), s)
	return plan.FrameBound{Kind: kind, Offset: offset}, err
}

func (d *decoder) unnest(m *seracv1.Unnest, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	if len(m.GetTypes()) != len(m.GetExpressions()) {
		return nil, fmt.Errorf("%d types for %d expressions", len(m.GetTypes()), len(m.GetExpressions()))
	}
	exprs, err := d.exprBytes(m.GetExpressions(), scope{columns: in[0]})
	if err != nil {
		return nil, err
	}
	n := &plan.Unnest{Input: nodes[0], Exprs: exprs, Names: m.GetNames()}
	for i, b := range m.GetTypes() {
		t, err := d.typeBytes(b)
		if err != nil {
			return nil, fmt.Errorf("type %d: %w", i, err)
		}
		n.Types = append(n.Types, t)
	}
	return n, nil
}

func (d *decoder) limit(m *seracv1.Limit, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	s := scope{columns: in[0]}
	n := &plan.Limit{Input: nodes[0], Percent: m.GetPercent()}
	var err error
	if n.Keys, err = d.sortBytes(m.GetOrderBy(), s); err != nil {
		return nil, err
	}
	if n.Count, err = d.optionalBytes(m.GetCount(), s); err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	if n.Offset, err = d.optionalBytes(m.GetOffset(), s); err != nil {
		return nil, fmt.Errorf("offset: %w", err)
	}
	return n, nil
}

func (d *decoder) sample(m *seracv1.Sample, nodes []plan.Node, _ []plan.Schema) (plan.Node, error) {
	size, err := d.optionalBytes(m.GetSize(), scope{})
	if err != nil {
		return nil, fmt.Errorf("size: %w", err)
	}
	return &plan.Sample{Input: nodes[0], Method: m.GetMethod(), Size: size, Percentage: m.GetPercentage(), Seed: m.Seed}, nil
}

func (d *decoder) tableFunction(m *seracv1.TableFunction, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	n := &plan.TableFunction{Leaf: plan.LeafID(m.GetLeaf()), Name: m.GetName()}
	var s scope
	switch len(nodes) {
	case 0:
	case 1:
		n.Input, s.columns = nodes[0], in[0]
	default:
		return nil, fmt.Errorf("it has %d inputs", len(nodes))
	}
	var err error
	if n.Args, err = d.exprBytes(m.GetArgs(), s); err != nil {
		return nil, err
	}
	for _, a := range m.GetNamedArgs() {
		x, err := d.exprBytes([][]byte{a.GetValue()}, s)
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", a.GetName(), err)
		}
		n.NamedArgs = append(n.NamedArgs, plan.NamedArg{Name: a.GetName(), Value: x[0]})
	}
	if m.GetInputArgs() < 0 || m.GetInputArgs() > int64(len(s.columns)) {
		return nil, fmt.Errorf("%d of %d columns are arguments", m.GetInputArgs(), len(s.columns))
	}
	n.InputArgs = int(m.GetInputArgs())
	if n.Kept, err = narrowAll(m.GetKept(), len(s.columns), "kept column"); err != nil {
		return nil, err
	}
	n.Out, err = d.schemaBytes(m.GetSchema())
	return n, err
}

var (
	joinDetailKindOf = invert(joinKinds)
	comparisonKindOf = invert(comparisonKinds)
)

func (d *decoder) joinNode(m *seracv1.Join, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	n, err := d.joinDetail(m, nodes, in)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (d *decoder) joinDetail(m *seracv1.Join, nodes []plan.Node, in []plan.Schema) (*plan.Join, error) {
	kind, ok := joinDetailKindOf[m.GetKind()]
	if !ok {
		return nil, fmt.Errorf("join kind %s is not known", m.GetKind())
	}
	left, right, both := joinScopes(in)
	right.shift = 0
	n := &plan.Join{Kind: kind, Left: nodes[0], Right: nodes[1], AsOf: m.GetAsof(), Positional: m.GetPositional()}
	for i, c := range m.GetConditions() {
		op, ok := comparisonKindOf[c.GetOp()]
		if !ok {
			return nil, fmt.Errorf("condition %d: comparison %s is not known", i, c.GetOp())
		}
		l, err := d.exprBytes([][]byte{c.GetLeft()}, left)
		if err != nil {
			return nil, fmt.Errorf("condition %d, left: %w", i, err)
		}
		r, err := d.exprBytes([][]byte{c.GetRight()}, right)
		if err != nil {
			return nil, fmt.Errorf("condition %d, right: %w", i, err)
		}
		n.Conds = append(n.Conds, plan.JoinCond{Op: op, Left: l[0], Right: r[0]})
	}
	var err error
	if n.Residual, err = d.optionalBytes(m.GetResidual(), both); err != nil {
		return nil, fmt.Errorf("residual: %w", err)
	}
	return n, nil
}

func (d *decoder) delimJoin(m *seracv1.DelimJoin, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	join, err := d.joinDetail(m.GetJoin(), nodes, in)
	if err != nil {
		return nil, err
	}
	side := in[0]
	if m.GetFlipped() {
		side = in[1]
	}
	keys, err := narrowAll(m.GetKeys(), len(side), "key")
	return &plan.DelimJoin{Join: join, Keys: keys, Flipped: m.GetFlipped(), Lateral: m.GetLateral()}, err
}

func (d *decoder) cte(m *seracv1.CTE, nodes []plan.Node, _ []plan.Schema) (plan.Node, error) {
	return &plan.CTE{Index: int(m.GetIndex()), Name: m.GetName(), Def: nodes[0], Body: nodes[1]}, nil
}

func (d *decoder) recursiveCTE(m *seracv1.RecursiveCTE, nodes []plan.Node, _ []plan.Schema) (plan.Node, error) {
	n := &plan.RecursiveCTE{
		Index: int(m.GetIndex()), Name: m.GetName(), Initial: nodes[0], Recursive: nodes[1], UnionAll: m.GetUnionAll(),
	}
	var err error
	if n.Out, err = d.schemaBytes(m.GetSchema()); err != nil {
		return nil, err
	}
	n.Keys, err = narrowAll(m.GetKeys(), len(n.Out), "key")
	return n, err
}

func (d *decoder) wholeStatement(m *seracv1.WholeStatement, nodes []plan.Node, _ []plan.Schema) (plan.Node, error) {
	if len(m.GetNames()) != len(nodes) {
		return nil, fmt.Errorf("%d names for %d inputs", len(m.GetNames()), len(nodes))
	}
	n := &plan.WholeStatement{SQL: m.GetSql(), MaxRows: m.GetMaxRows()}
	for i, name := range m.GetNames() {
		n.Scans = append(n.Scans, plan.NamedScan{Name: name, Scan: nodes[i]})
	}
	var err error
	n.Out, err = d.schemaBytes(m.GetSchema())
	return n, err
}

func (d *decoder) shuffleWrite(m *seracv1.ShuffleWrite, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	keys, err := d.exprBytes(m.GetKeys(), scope{columns: in[0]})
	if err != nil {
		return nil, err
	}
	partition, err := d.optionalBytes(m.GetPartition(), scope{columns: in[0]})
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	partitions, err := narrow(m.GetPartitions(), "number of partitions")
	if err != nil {
		return nil, err
	}
	summarize, err := narrowAll(m.GetSummarize(), len(in[0]), "summarised column")
	return &plan.ShuffleWrite{Input: nodes[0], Keys: keys, Partition: partition, Partitions: partitions, Summarize: summarize}, err
}

func (d *decoder) icebergWrite(m *seracv1.IcebergWrite, nodes []plan.Node, in []plan.Schema) (plan.Node, error) {
	d.tables[m.GetTableKey()] = true
	n := &plan.IcebergWrite{Input: nodes[0], TableKey: m.GetTableKey(), SpecID: m.GetSpecId()}
	var err error
	if n.Columns, err = d.scanColumns(m.GetColumns()); err != nil {
		return nil, err
	}
	for _, p := range m.GetPartition() {
		n.Partition = append(n.Partition, plan.PartitionField{
			SourceID: p.GetSourceId(), FieldID: p.GetFieldId(), Name: p.GetName(), Transform: p.GetTransform(),
		})
	}
	n.Clustering, err = d.exprBytes(m.GetClustering(), scope{columns: in[0]})
	return n, err
}

func (d *decoder) icebergCommit(m *seracv1.IcebergCommit, nodes []plan.Node, _ []plan.Schema) (plan.Node, error) {
	d.tables[m.GetTableKey()] = true
	return &plan.IcebergCommit{Input: nodes[0], TableKey: m.GetTableKey(), CommitID: m.GetCommitId()}, nil
}

// --- Substrait messages inside ours ---

func (d *decoder) exprBytes(bs [][]byte, s scope) ([]plan.Expr, error) {
	var out []plan.Expr
	for i, b := range bs {
		m := &pb.Expression{}
		if err := parse(b, m); err != nil {
			return nil, fmt.Errorf("expression %d: %w", i, err)
		}
		x, err := d.expr(m, s)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i, err)
		}
		out = append(out, x)
	}
	return out, nil
}

func (d *decoder) optionalBytes(b []byte, s scope) (plan.Expr, error) {
	if len(b) == 0 {
		return nil, nil
	}
	xs, err := d.exprBytes([][]byte{b}, s)
	if err != nil {
		return nil, err
	}
	return xs[0], nil
}

func (d *decoder) sortBytes(bs [][]byte, s scope) ([]plan.SortKey, error) {
	var fields []*pb.SortField
	for i, b := range bs {
		m := &pb.SortField{}
		if err := parse(b, m); err != nil {
			return nil, fmt.Errorf("sort key %d: %w", i, err)
		}
		fields = append(fields, m)
	}
	return d.sortKeys(fields, s)
}

func (d *decoder) typeBytes(b []byte) (plan.Type, error) {
	m := &pb.Type{}
	if err := parse(b, m); err != nil {
		return plan.Type{}, err
	}
	return d.typ(m)
}

func (d *decoder) schemaBytes(b []byte) (plan.Schema, error) {
	m := &pb.NamedStruct{}
	if err := parse(b, m); err != nil {
		return nil, err
	}
	return d.schema(m)
}
