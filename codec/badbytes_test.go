package codec

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// everything is one plan with all samples in it.
func everything() plan.Node {
	w := &plan.WholeStatement{SQL: "SELECT 1", Out: columns(1)}
	for _, s := range samples.Nodes() {
		w.Scans = append(w.Scans, plan.NamedScan{Name: s.Name, Scan: s.Node})
	}
	return w
}

// bytesOfEach are the samples that have everything set, encoded.
func bytesOfEach(t testing.TB) [][]byte {
	var out [][]byte
	for _, s := range samples.Nodes() {
		if strings.Contains(s.Name, "/") || strings.HasPrefix(s.Name, "expr in") || strings.HasPrefix(s.Name, "expr right") {
			continue
		}
		b, err := EncodeFragment(s.Node, tables())
		require.NoError(t, err)
		out = append(out, b)
	}
	return out
}

func TestEverythingAtOnceRoundTrips(t *testing.T) {
	n := everything()
	got, _ := roundTrip(t, n)
	require.Equal(t, n, got)
}

func TestTruncatedBytesAreErrors(t *testing.T) {
	for _, b := range bytesOfEach(t) {
		for end := range b {
			if _, err := DecodeFragment(b[:end]); err == nil {
				t.Fatalf("%d of %d bytes decode", end, len(b))
			}
		}
	}
}

// reencodes says that what decodes encodes, to bytes that stand for themselves.
func reencodes(t *testing.T, c *Codec, b []byte) {
	f, err := c.DecodeFragment(b)
	if err != nil {
		return
	}
	var given []*wire.Table
	for _, table := range f.Tables {
		given = append(given, table)
	}
	if len(given) > 1 && given[0].Key > given[1].Key {
		given[0], given[1] = given[1], given[0]
	}
	once, err := c.EncodeFragment(f.Root, given)
	require.NoError(t, err, "what decoded does not encode")
	g, err := c.DecodeFragment(once)
	require.NoError(t, err, "what was encoded again does not decode")
	twice, err := c.EncodeFragment(g.Root, given)
	require.NoError(t, err)
	if len(given) <= 2 {
		require.Equal(t, once, twice)
	}
}

func TestFlippedBitsNeverPanic(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, b := range bytesOfEach(t) {
		for range 300 {
			flipped := append([]byte(nil), b...)
			for range 1 + r.IntN(3) {
				flipped[r.IntN(len(flipped))] ^= 1 << r.IntN(8)
			}
			reencodes(t, defaultCodec, flipped)
		}
	}
}

// TestFieldsOfNewerVersionsAreRefused adds a field that no version knows to every message of a fragment, one at a time.
func TestFieldsOfNewerVersionsAreRefused(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 19_000_000, protowire.VarintType), 1)
	for _, s := range samples.Nodes() {
		if strings.Contains(s.Name, "/") || strings.Contains(s.Name, "expr ") {
			continue
		}
		b, err := EncodeFragment(s.Node, tables())
		require.NoError(t, err)
		fragment := &seracv1.Fragment{}
		require.NoError(t, proto.Unmarshal(b, fragment))
		p := &pb.Plan{}
		require.NoError(t, proto.Unmarshal(fragment.GetPlan(), p))
		refuse := func(m protoreflect.Message) {
			fragment.Plan, err = proto.Marshal(p)
			require.NoError(t, err)
			changed, err := proto.Marshal(fragment)
			require.NoError(t, err)
			_, err = DecodeFragment(changed)
			require.ErrorContains(t, err, "19000000", "%s: %s", s.Name, m.Descriptor().FullName())
		}
		var visit func(m protoreflect.Message)
		visit = func(m protoreflect.Message) {
			m.SetUnknown(unknown)
			refuse(m)
			m.SetUnknown(nil)
			if any, ok := m.Interface().(*anypb.Any); ok {
				value := any.GetValue()
				any.Value = append(append([]byte(nil), value...), unknown...)
				refuse(m)
				any.Value = value
				return
			}
			m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
				switch {
				case field.Message() == nil:
				case field.IsList():
					for i := range v.List().Len() {
						visit(v.List().Get(i).Message())
					}
				default:
					visit(v.Message())
				}
				return true
			})
		}
		visit(p.ProtoReflect())
		fragment.ProtoReflect().SetUnknown(unknown)
		refuse(fragment.ProtoReflect())
	}
}

// change decodes the fragment of a plan into messages, changes them, and decodes the result.
func change(t *testing.T, n plan.Node, change func(*seracv1.Fragment, *pb.Plan)) error {
	t.Helper()
	b, err := EncodeFragment(n, tables())
	require.NoError(t, err)
	fragment, p := &seracv1.Fragment{}, &pb.Plan{}
	require.NoError(t, proto.Unmarshal(b, fragment))
	require.NoError(t, proto.Unmarshal(fragment.GetPlan(), p))
	before := proto.Clone(p)
	change(fragment, p)
	if !proto.Equal(before, p) {
		fragment.Plan, err = proto.Marshal(p)
		require.NoError(t, err)
	}
	b, err = proto.Marshal(fragment)
	require.NoError(t, err)
	_, err = DecodeFragment(b)
	return err
}

func TestWhatIsUnknownIsNamed(t *testing.T) {
	filter := &plan.Filter{Input: leaf(1), Cond: less(col(0), num(5))}
	root := func(p *pb.Plan) *pb.Rel { return p.GetRelations()[0].GetRoot().GetInput() }
	leafOf := func(p *pb.Plan) *anypb.Any { return root(p).GetFilter().GetInput().GetExtensionLeaf().GetDetail() }
	for _, c := range []struct {
		name, says string
		change     func(*seracv1.Fragment, *pb.Plan)
	}{
		{"nothing", "", func(*seracv1.Fragment, *pb.Plan) {}},
		{"a newer fragment", "version 2", func(f *seracv1.Fragment, _ *pb.Plan) { f.Version = 2 }},
		{"no version", "version 0", func(f *seracv1.Fragment, _ *pb.Plan) { f.Version = 0 }},
		{"a node", "dev.example.Scan", func(_ *seracv1.Fragment, p *pb.Plan) { leafOf(p).TypeUrl = "x/dev.example.Scan" }},
		{"a message that is no node", "serac.v1.Scalar", func(_ *seracv1.Fragment, p *pb.Plan) { leafOf(p).TypeUrl = "x/serac.v1.Scalar" }},
		{"a node with other inputs", "0 inputs", func(_ *seracv1.Fragment, p *pb.Plan) { leafOf(p).TypeUrl = "x/serac.v1.CTE" }},
		{"a relation", "ReferenceRel", func(_ *seracv1.Fragment, p *pb.Plan) {
			root(p).GetFilter().Input = &pb.Rel{RelType: &pb.Rel_Reference{Reference: &pb.ReferenceRel{}}}
		}},
		{"no relation", "missing", func(_ *seracv1.Fragment, p *pb.Plan) { root(p).GetFilter().Input = nil }},
		{"no condition", "missing", func(_ *seracv1.Fragment, p *pb.Plan) { root(p).GetFilter().Condition = nil }},
		{"two roots", "2 relations", func(_ *seracv1.Fragment, p *pb.Plan) { p.Relations = append(p.Relations, p.Relations[0]) }},
		{"a function", "frobnicate", func(_ *seracv1.Fragment, p *pb.Plan) {
			p.GetExtensions()[len(p.GetExtensions())-1].GetExtensionFunction().Name = "frobnicate:any_any"
		}},
		{"an extension", "extension:dev.example:functions", func(_ *seracv1.Fragment, p *pb.Plan) {
			p.GetExtensionUrns()[len(p.GetExtensionUrns())-1].Urn = "extension:dev.example:functions"
		}},
		{"no declaration", "not declared", func(_ *seracv1.Fragment, p *pb.Plan) { p.Extensions = nil }},
		{"a column", "column 9", func(_ *seracv1.Fragment, p *pb.Plan) {
			arg := root(p).GetFilter().GetCondition().GetScalarFunction().GetArguments()[0]
			arg.GetValue().GetSelection().GetDirectReference().GetStructField().Field = 9
		}},
		{"an option", "loudness", func(_ *seracv1.Fragment, p *pb.Plan) {
			f := root(p).GetFilter().GetCondition().GetScalarFunction()
			f.Options = []*pb.FunctionOption{{Name: "loudness", Preference: []string{"high"}}}
		}},
		{"an enum value", "nullability 9", func(_ *seracv1.Fragment, p *pb.Plan) {
			root(p).GetFilter().GetCondition().GetScalarFunction().GetOutputType().GetBool().Nullability = 9
		}},
		{"a missing table", `"t"`, nil},
	} {
		if c.change == nil {
			scan := &plan.IcebergScan{TableKey: "t"}
			err := change(t, scan, func(f *seracv1.Fragment, _ *pb.Plan) { f.Tables = nil })
			require.ErrorContains(t, err, c.says, c.name)
			_, err = EncodeFragment(scan, nil)
			require.ErrorContains(t, err, c.says, c.name)
			continue
		}
		err := change(t, filter, c.change)
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.says, c.name)
	}
}

func TestPlansThatDoNotHangTogetherAreErrors(t *testing.T) {
	for _, c := range []struct {
		name, says string
		node       plan.Node
	}{
		{"no node", "missing", nil},
		{"no input", "missing", &plan.Filter{Cond: num(1)}},
		{"no expression", "Filter", &plan.Filter{Input: leaf(1)}},
		{"column", "column 3 of 3", &plan.Project{Input: leaf(1), Exprs: []plan.Expr{col(3)}}},
		{"type", "INVALID", &plan.Project{Input: leaf(1), Exprs: []plan.Expr{&plan.Cast{Arg: col(0)}}}},
		{"list", "LIST", &plan.Values{Out: plan.Schema{{Name: "l", Type: plan.T(plan.List)}}}},
		{"constant", "out of range", &plan.Project{Input: leaf(1), Exprs: []plan.Expr{&plan.Constant{Value: int64(300), Of: plan.T(plan.TinyInt)}}}},
		{"constant's type", "no constant", &plan.Project{Input: leaf(1), Exprs: []plan.Expr{&plan.Constant{Value: "x", Of: big1}}}},
		{"row", "2 values for 3 columns", &plan.Values{Rows: [][]plan.Expr{{num(1), num(2)}}, Out: columns(3)}},
		{"inputs", "columns", &plan.SetOp{Op: plan.SetUnion, Inputs: []plan.Node{leaf(1), &plan.Values{Out: columns(2)}}}},
		{"join kind", "join kind 0", &plan.Join{Left: leaf(1), Right: leaf(2)}},
		{"delim join", "missing", &plan.DelimJoin{}},
		{"text", "UTF-8", &plan.CTERef{Out: plan.Schema{{Name: "\xff", Type: big1}}}},
	} {
		_, err := EncodeFragment(c.node, tables())
		require.ErrorContains(t, err, c.says, c.name)
	}
}

func TestNestingIsLimited(t *testing.T) {
	deep := func(levels int) plan.Node {
		x := col(0)
		for range levels {
			x = &plan.Call{Name: "+", Args: []plan.Expr{x, num(1)}, Of: big1}
		}
		return &plan.Project{Input: leaf(1), Exprs: []plan.Expr{x}}
	}
	n := deep(maxDepth - 2)
	got, _ := roundTrip(t, n)
	require.Equal(t, n, got)
	_, err := EncodeFragment(deep(maxDepth), nil)
	require.ErrorContains(t, err, "nest deeper")

	tower := leaf(1)
	for range maxDepth - 1 {
		tower = &plan.Filter{Input: tower, Cond: num(1)}
	}
	got, _ = roundTrip(t, tower)
	require.Equal(t, tower, got)
	_, err = EncodeFragment(&plan.Filter{Input: tower, Cond: num(1)}, nil)
	require.ErrorContains(t, err, "nest deeper")

	// Deeper bytes than we would write are refused when they arrive.
	rel := &pb.Rel{RelType: &pb.Rel_ExtensionLeaf{ExtensionLeaf: &pb.ExtensionLeafRel{}}}
	for range 3 * maxDepth {
		rel = &pb.Rel{RelType: &pb.Rel_Filter{Filter: &pb.FilterRel{Input: rel}}}
	}
	err = change(t, leaf(1), func(_ *seracv1.Fragment, p *pb.Plan) { p.GetRelations()[0].GetRoot().Input = rel })
	require.ErrorContains(t, err, "nest deeper")
}
