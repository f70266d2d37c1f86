package codec

import (
	"errors"
	"testing"

	"github.com/seracdb/serac/plan"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// csvScan is a node of another table format; a well-known type serves as its message.
type csvScan struct {
	Path string
}

func (s *csvScan) Name() string    { return "google.protobuf.StringValue" }
func (s *csvScan) Explain() string { return "CSVScan " + s.Path }
func (s *csvScan) Schema(inputs []plan.Schema) plan.Schema {
	out := plan.Schema{{Name: "line", Type: plan.T(plan.Varchar)}}
	for _, in := range inputs {
		out = append(out, in...)
	}
	return out
}

type csvCodec struct{ version int32 }

func (c csvCodec) Message() proto.Message { return &wrapperspb.StringValue{} }
func (c csvCodec) Version() int32         { return c.version }
func (c csvCodec) Encode(n plan.ExtensionImpl) (proto.Message, error) {
	s, ok := n.(*csvScan)
	if !ok {
		return nil, errors.New("not a csv scan")
	}
	return wrapperspb.String(s.Path), nil
}
func (c csvCodec) Decode(m proto.Message, version int32, _ []plan.Schema) (plan.ExtensionImpl, error) {
	path := m.(*wrapperspb.StringValue).GetValue()
	if path == "" {
		return nil, errors.New("no path")
	}
	return &csvScan{Path: path}, nil
}

// extensionSample is a plan with extension nodes, beside nodes of ours, and its codec.
func extensionSample() (plan.Node, *Codec) {
	r := NewRegistry()
	if err := r.Register(csvCodec{version: 2}); err != nil {
		panic(err)
	}
	lines := &plan.Extension{Impl: &csvScan{Path: "lines.csv"}}
	over := &plan.Extension{Impl: &csvScan{Path: "more.csv"}, Inputs: []plan.Node{leaf(1)}}
	return &plan.Join{
		Kind: plan.Inner, Left: lines, Right: over,
		Conds: []plan.JoinCond{{Op: plan.Equal, Left: &plan.ColumnRef{Of: plan.T(plan.Varchar)}, Right: &plan.ColumnRef{Of: plan.T(plan.Varchar)}}},
	}, New(r)
}

func TestExtensionNodesComposeWithOurs(t *testing.T) {
	n, c := extensionSample()
	b, err := c.EncodeFragment(n, nil)
	require.NoError(t, err)
	f, err := c.DecodeFragment(b)
	require.NoError(t, err)
	require.Equal(t, n, f.Root)

	_, err = DecodeFragment(b)
	require.ErrorContains(t, err, "google.protobuf.StringValue", "a node without a codec is named")
	_, err = EncodeFragment(n, nil)
	require.ErrorContains(t, err, "google.protobuf.StringValue")

	older := NewRegistry()
	require.NoError(t, older.Register(csvCodec{version: 1}))
	_, err = New(older).DecodeFragment(b)
	require.ErrorContains(t, err, "version 2", "a newer version is named")
}

func TestRegistryRefusesDuplicates(t *testing.T) {
	r := NewRegistry()
	require.NoError(t, r.Register(csvCodec{version: 1}))
	require.ErrorContains(t, r.Register(csvCodec{version: 2}), "google.protobuf.StringValue")
	require.Error(t, r.Register(csvOf{message: &structpb.Struct{}, version: 0}))
	require.Contains(t, r.Names(), "google.protobuf.StringValue@1")
	require.Contains(t, r.Names(), "serac.v1.IcebergScan@1")
}

type csvOf struct {
	csvCodec
	message proto.Message
	version int32
}

func (c csvOf) Message() proto.Message { return c.message }
func (c csvOf) Version() int32         { return c.version }

func TestRegistryComparesInAnyOrder(t *testing.T) {
	a, b := NewRegistry(), NewRegistry()
	require.NoError(t, a.Register(csvCodec{version: 1}))
	require.NoError(t, a.Register(csvOf{message: &structpb.Struct{}, version: 3}))
	require.NoError(t, b.Register(csvOf{message: &structpb.Struct{}, version: 3}))
	require.NoError(t, b.Register(csvCodec{version: 1}))
	require.Equal(t, a.Names(), b.Names())
	require.NoError(t, a.Compare(b.Names()))

	c := NewRegistry()
	require.NoError(t, c.Register(csvCodec{version: 2}))
	err := a.Compare(c.Names())
	require.ErrorContains(t, err, "google.protobuf.Struct@3")
	require.ErrorContains(t, err, "google.protobuf.StringValue@2")
}
