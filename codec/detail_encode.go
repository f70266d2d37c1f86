package codec

import (
	"fmt"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"google.golang.org/protobuf/proto"
)

// detail is the message of a node that Substrait has no relation for.
func (e *encoder) detail(n plan.Node, in []plan.Schema) (proto.Message, error) {
	switch n := n.(type) {
	case *plan.IcebergScan:
		return e.icebergScan(n)
	case *plan.MetadataScan:
		return e.metadataScan(n)
	case *plan.ShuffleRead:
		schema, err := e.schemaBytes(n.Out)
		if err != nil {
			return nil, err
		}
		return &seracv1.ShuffleRead{
			Leaf: int32(n.Leaf), Stage: int32(n.Stage), Broadcast: n.Broadcast, Schema: schema,
			EstimatedRows: n.EstimatedRows, EstimatedBytes: n.EstimatedBytes,
		}, nil
	case *plan.DelimGet:
		schema, err := e.schemaBytes(n.Out)
		return &seracv1.DelimGet{Schema: schema}, err
	case *plan.CTERef:
		schema, err := e.schemaBytes(n.Out)
		return &seracv1.CTERef{Index: int64(n.Index), Recurring: n.Recurring, Schema: schema}, err
	case *plan.Window:
		m := &seracv1.Window{}
		for i, c := range n.Calls {
			call, err := e.windowCall(c, scope{columns: in[0]})
			if err != nil {
				return nil, fmt.Errorf("call %d, %s: %w", i, c.Name, err)
			}
			m.Calls = append(m.Calls, call)
		}
		return m, nil
	case *plan.Unnest:
		return e.unnest(n, scope{columns: in[0]})
	case *plan.Sample:
		return e.sample(n)
	case *plan.TableFunction:
		return e.tableFunction(n, in)
	case *plan.DelimJoin:
		join, err := e.joinDetail(n.Join, in)
		if err != nil {
			return nil, err
		}
		side := in[0]
		if n.Flipped {
			side = in[1]
		}
		for _, k := range n.Keys {
			if k < 0 || k >= len(side) {
				return nil, fmt.Errorf("key %d of %d", k, len(side))
			}
		}
		return &seracv1.DelimJoin{Join: join, Keys: wide(n.Keys), Flipped: n.Flipped, Lateral: n.Lateral}, nil
	case *plan.CTE:
		return &seracv1.CTE{Index: int64(n.Index), Name: n.Name}, nil
	case *plan.RecursiveCTE:
		schema, err := e.schemaBytes(n.Out)
		if err != nil {
			return nil, err
		}
		for _, k := range n.Keys {
			if k < 0 || k >= len(n.Out) {
				return nil, fmt.Errorf("key %d of %d", k, len(n.Out))
			}
		}
		return &seracv1.RecursiveCTE{
			Index: int64(n.Index), Name: n.Name, UnionAll: n.UnionAll, Keys: wide(n.Keys), Schema: schema,
		}, nil
	case *plan.WholeStatement:
		schema, err := e.schemaBytes(n.Out)
		if err != nil {
			return nil, err
		}
		m := &seracv1.WholeStatement{Sql: n.SQL, Schema: schema, MaxRows: n.MaxRows}
		for _, s := range n.Scans {
			m.Names = append(m.Names, s.Name)
		}
		return m, nil
	case *plan.ShuffleWrite:
		keys, err := e.exprBytes(n.Keys, scope{columns: in[0]})
		if err != nil {
			return nil, err
		}
		partition, err := e.optionalBytes(n.Partition, scope{columns: in[0]})
		if err != nil {
			return nil, fmt.Errorf("partition: %w", err)
		}
		for _, c := range n.Summarize {
			if c < 0 || c >= len(in[0]) {
				return nil, fmt.Errorf("summarised column %d of %d", c, len(in[0]))
			}
		}
		return &seracv1.ShuffleWrite{Keys: keys, Partition: partition, Partitions: int64(n.Partitions), Summarize: wide(n.Summarize)}, nil
	case *plan.IcebergWrite:
		return e.icebergWrite(n, scope{columns: in[0]})
	case *plan.IcebergCommit:
		e.tables[n.TableKey] = true
		return &seracv1.IcebergCommit{TableKey: n.TableKey, CommitId: n.CommitID}, nil
	}
	return nil, fmt.Errorf("the node does not travel")
}

func (e *encoder) icebergScan(n *plan.IcebergScan) (proto.Message, error) {
	e.tables[n.TableKey] = true
	m := &seracv1.IcebergScan{
		Leaf: int32(n.Leaf), TableKey: n.TableKey, SnapshotId: n.SnapshotID,
		EstimatedRows: n.EstimatedRows, EstimatedBytes: n.EstimatedBytes, AsOf: n.AsOf,
	}
	var err error
	if m.Columns, err = e.scanColumns(n.Columns); err != nil {
		return nil, err
	}
	if m.Filter, err = e.optionalBytes(n.Filter, scope{columns: n.Schema()}); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return m, nil
}

// metadataScanVersion is the version of the messages written, and the newest that is read.
const metadataScanVersion = 1

func (e *encoder) metadataScan(n *plan.MetadataScan) (proto.Message, error) {
	e.tables[n.TableKey] = true
	columns, err := e.scanColumns(n.Columns)
	if err != nil {
		return nil, err
	}
	return &seracv1.MetadataScan{
		Version: metadataScanVersion, Leaf: int32(n.Leaf), TableKey: n.TableKey, Kind: n.Kind, SnapshotId: n.SnapshotID,
		Columns: columns, EstimatedRows: n.EstimatedRows,
	}, nil
}

func (e *encoder) scanColumns(columns []plan.ScanColumn) ([]*seracv1.ScanColumn, error) {
	var out []*seracv1.ScanColumn
	for _, c := range columns {
		t, err := e.typeBytes(c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		out = append(out, &seracv1.ScanColumn{FieldId: c.FieldID, Name: c.Name, Type: t, Nullable: c.Nullable})
	}
	return out, nil
}

func (e *encoder) windowCall(c plan.WindowCall, s scope) (*seracv1.WindowCall, error) {
	m := &seracv1.WindowCall{Name: c.Name, Distinct: c.Distinct, IgnoreNulls: c.IgnoreNulls}
	var err error
	if m.Args, err = e.exprBytes(c.Args, s); err != nil {
		return nil, err
	}
	for i, p := range c.Params {
		if p == nil {
			return nil, fmt.Errorf("parameter %d is missing", i)
		}
		b, err := e.optionalBytes(p, scope{})
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i, err)
		}
		m.Params = append(m.Params, b)
	}
	if m.Filter, err = e.optionalBytes(c.Filter, s); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	if m.ArgOrder, err = e.sortBytes(c.ArgOrder, s); err != nil {
		return nil, err
	}
	if m.PartitionBy, err = e.exprBytes(c.PartitionBy, s); err != nil {
		return nil, err
	}
	if m.OrderBy, err = e.sortBytes(c.OrderBy, s); err != nil {
		return nil, err
	}
	var known [2]bool
	m.Mode, known[0] = frameModes[c.Frame.Mode]
	m.Exclude, known[1] = frameExcludes[c.Frame.Exclude]
	if !known[0] || !known[1] {
		return nil, fmt.Errorf("frame mode %d or exclusion %d does not travel", c.Frame.Mode, c.Frame.Exclude)
	}
	if m.Start, err = e.frameBound(c.Frame.Start, s); err != nil {
		return nil, fmt.Errorf("frame start: %w", err)
	}
	if m.End, err = e.frameBound(c.Frame.End, s); err != nil {
		return nil, fmt.Errorf("frame end: %w", err)
	}
	if m.Type, err = e.typeBytes(c.Of); err != nil {
		return nil, err
	}
	return m, nil
}

// The frames' enums. A call without a frame (row_number, say) has the zero Frame.
var (
	frameModes = map[plan.FrameMode]seracv1.FrameMode{
		0:           seracv1.FrameMode_FRAME_MODE_UNSPECIFIED,
		plan.Rows:   seracv1.FrameMode_FRAME_MODE_ROWS,
		plan.Range:  seracv1.FrameMode_FRAME_MODE_RANGE,
		plan.Groups: seracv1.FrameMode_FRAME_MODE_GROUPS,
	}
	frameBounds = map[plan.BoundKind]seracv1.FrameBound_Kind{
		0:                       seracv1.FrameBound_KIND_UNSPECIFIED,
		plan.UnboundedPreceding: seracv1.FrameBound_KIND_UNBOUNDED_PRECEDING,
		plan.Preceding:          seracv1.FrameBound_KIND_PRECEDING,
		plan.CurrentRow:         seracv1.FrameBound_KIND_CURRENT_ROW,
		plan.Following:          seracv1.FrameBound_KIND_FOLLOWING,
		plan.UnboundedFollowing: seracv1.FrameBound_KIND_UNBOUNDED_FOLLOWING,
	}
	frameExcludes = map[plan.FrameExclude]seracv1.FrameExclude{
		plan.ExcludeNoOthers:   seracv1.FrameExclude_FRAME_EXCLUDE_UNSPECIFIED,
		plan.ExcludeCurrentRow: seracv1.FrameExclude_FRAME_EXCLUDE_CURRENT_ROW,
		plan.ExcludeGroup:      seracv1.FrameExclude_FRAME_EXCLUDE_GROUP,
		plan.ExcludeTies:       seracv1.FrameExclude_FRAME_EXCLUDE_TIES,
	}
)

func (e *encoder) frameBound(b plan.FrameBound, s scope) (*seracv1.FrameBound, error) {
	kind, ok := frameBounds[b.Kind]
	if !ok {
		return nil, fmt.Errorf("bound %d does not travel", b.Kind)
	}
	offset, err := e.optionalBytes(b.Offset, s)
	return &seracv1.FrameBound{Kind: kind, Offset: offset}, err
}

func (e *encoder) unnest(n *plan.Unnest, s scope) (proto.Message, error) {
	if len(n.Types) != len(n.Exprs) {
		return nil, fmt.Errorf("%d types for %d expressions", len(n.Types), len(n.Exprs))
	}
	exprs, err := e.exprBytes(n.Exprs, s)
	if err != nil {
		return nil, err
	}
	m := &seracv1.Unnest{Expressions: exprs, Names: slices.Clone(n.Names)}
	for i, t := range n.Types {
		b, err := e.typeBytes(t)
		if err != nil {
			return nil, fmt.Errorf("type %d: %w", i, err)
		}
		m.Types = append(m.Types, b)
	}
	return m, nil
}

func (e *encoder) limitDetail(n *plan.Limit, in plan.Schema) (proto.Message, error) {
	s := scope{columns: in}
	m := &seracv1.Limit{Percent: n.Percent}
	var err error
	if m.OrderBy, err = e.sortBytes(n.Keys, s); err != nil {
		return nil, err
	}
	if m.Count, err = e.optionalBytes(n.Count, s); err != nil {
		return nil, fmt.Errorf("count: %w", err)
	}
	if m.Offset, err = e.optionalBytes(n.Offset, s); err != nil {
		return nil, fmt.Errorf("offset: %w", err)
	}
	return m, nil
}

func (e *encoder) sample(n *plan.Sample) (proto.Message, error) {
	size, err := e.optionalBytes(n.Size, scope{})
	if err != nil {
		return nil, fmt.Errorf("size: %w", err)
	}
	m := &seracv1.Sample{Method: n.Method, Size: size, Percentage: n.Percentage}
	if n.Seed != nil {
		seed := *n.Seed
		m.Seed = &seed
	}
	return m, nil
}

func (e *encoder) tableFunction(n *plan.TableFunction, in []plan.Schema) (proto.Message, error) {
	var s scope
	if len(in) > 0 {
		s.columns = in[0]
	}
	for _, k := range n.Kept {
		if k < 0 || k >= len(s.columns) {
			return nil, fmt.Errorf("kept column %d of %d", k, len(s.columns))
		}
	}
	if n.InputArgs < 0 || n.InputArgs > len(s.columns) {
		return nil, fmt.Errorf("%d of %d columns are arguments", n.InputArgs, len(s.columns))
	}
	m := &seracv1.TableFunction{Leaf: int32(n.Leaf), Name: n.Name, InputArgs: int64(n.InputArgs), Kept: wide(n.Kept)}
	var err error
	if m.Args, err = e.exprBytes(n.Args, s); err != nil {
		return nil, err
	}
	for _, a := range n.NamedArgs {
		if a.Value == nil {
			return nil, fmt.Errorf("argument %s has no value", a.Name)
		}
		b, err := e.optionalBytes(a.Value, s)
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", a.Name, err)
		}
		m.NamedArgs = append(m.NamedArgs, &seracv1.NamedArg{Name: a.Name, Value: b})
	}
	if m.Schema, err = e.schemaBytes(n.Out); err != nil {
		return nil, err
	}
	return m, nil
}

// The enums of joins in messages of our own.
var (
	joinKinds = map[plan.JoinKind]seracv1.JoinKind{
		plan.Inner:     seracv1.JoinKind_JOIN_KIND_INNER,
		plan.Left:      seracv1.JoinKind_JOIN_KIND_LEFT,
		plan.Right:     seracv1.JoinKind_JOIN_KIND_RIGHT,
		plan.Full:      seracv1.JoinKind_JOIN_KIND_FULL,
		plan.LeftSemi:  seracv1.JoinKind_JOIN_KIND_LEFT_SEMI,
		plan.LeftAnti:  seracv1.JoinKind_JOIN_KIND_LEFT_ANTI,
		plan.RightSemi: seracv1.JoinKind_JOIN_KIND_RIGHT_SEMI,
		plan.RightAnti: seracv1.JoinKind_JOIN_KIND_RIGHT_ANTI,
		plan.Mark:      seracv1.JoinKind_JOIN_KIND_MARK,
		plan.Single:    seracv1.JoinKind_JOIN_KIND_SINGLE,
	}
	comparisonKinds = map[plan.CompareOp]seracv1.Comparison{
		plan.Equal:           seracv1.Comparison_COMPARISON_EQUAL,
		plan.NotEqual:        seracv1.Comparison_COMPARISON_NOT_EQUAL,
		plan.Less:            seracv1.Comparison_COMPARISON_LESS,
		plan.LessOrEqual:     seracv1.Comparison_COMPARISON_LESS_OR_EQUAL,
		plan.Greater:         seracv1.Comparison_COMPARISON_GREATER,
		plan.GreaterOrEqual:  seracv1.Comparison_COMPARISON_GREATER_OR_EQUAL,
		plan.DistinctFrom:    seracv1.Comparison_COMPARISON_DISTINCT_FROM,
		plan.NotDistinctFrom: seracv1.Comparison_COMPARISON_NOT_DISTINCT_FROM,
	}
)

// joinDetail is a join whose conditions stand apart.
func (e *encoder) joinDetail(n *plan.Join, in []plan.Schema) (*seracv1.Join, error) {
	kind, ok := joinKinds[n.Kind]
	if !ok {
		return nil, fmt.Errorf("join kind %d does not travel", n.Kind)
	}
	left, right, both := joinScopes(in)
	right.shift = 0 // each side is by itself here
	m := &seracv1.Join{Kind: kind, Asof: n.AsOf, Positional: n.Positional}
	for i, c := range n.Conds {
		op, ok := comparisonKinds[c.Op]
		if !ok {
			return nil, fmt.Errorf("condition %d: comparison %d does not travel", i, c.Op)
		}
		sides, err := e.exprBytes([]plan.Expr{c.Left}, left)
		if err != nil {
			return nil, fmt.Errorf("condition %d, left: %w", i, err)
		}
		others, err := e.exprBytes([]plan.Expr{c.Right}, right)
		if err != nil {
			return nil, fmt.Errorf("condition %d, right: %w", i, err)
		}
		m.Conditions = append(m.Conditions, &seracv1.JoinCondition{Op: op, Left: sides[0], Right: others[0]})
	}
	var err error
	if m.Residual, err = e.optionalBytes(n.Residual, both); err != nil {
		return nil, fmt.Errorf("residual: %w", err)
	}
	return m, nil
}

func (e *encoder) icebergWrite(n *plan.IcebergWrite, s scope) (proto.Message, error) {
	e.tables[n.TableKey] = true
	m := &seracv1.IcebergWrite{TableKey: n.TableKey, SpecId: n.SpecID}
	var err error
	if m.Columns, err = e.scanColumns(n.Columns); err != nil {
		return nil, err
	}
	for _, p := range n.Partition {
		m.Partition = append(m.Partition, &seracv1.PartitionField{
			SourceId: p.SourceID, FieldId: p.FieldID, Name: p.Name, Transform: p.Transform,
		})
	}
	if m.Clustering, err = e.exprBytes(n.Clustering, s); err != nil {
		return nil, err
	}
	return m, nil
}

// --- Substrait messages inside ours ---

func (e *encoder) exprBytes(xs []plan.Expr, s scope) ([][]byte, error) {
	var out [][]byte
	for i, x := range xs {
		m, err := e.expr(x, s)
		if err != nil {
			return nil, fmt.Errorf("expression %d: %w", i, err)
		}
		b, err := bytesOf(m)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (e *encoder) optionalBytes(x plan.Expr, s scope) ([]byte, error) {
	if x == nil {
		return nil, nil
	}
	m, err := e.expr(x, s)
	if err != nil {
		return nil, err
	}
	return bytesOf(m)
}

func (e *encoder) sortBytes(keys []plan.SortKey, s scope) ([][]byte, error) {
	fields, err := e.sortKeys(keys, s)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, f := range fields {
		b, err := bytesOf(f)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (e *encoder) typeBytes(t plan.Type) ([]byte, error) {
	m, err := e.typ(t)
	if err != nil {
		return nil, err
	}
	return bytesOf(m)
}

func (e *encoder) schemaBytes(s plan.Schema) ([]byte, error) {
	m, err := e.schema(s)
	if err != nil {
		return nil, err
	}
	return bytesOf(m)
}

func bytesOf(m proto.Message) ([]byte, error) {
	b, err := marshal.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("serialize %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return b, nil
}
