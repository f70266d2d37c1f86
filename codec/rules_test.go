package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// Every node names its type, shows its parts, and is rebuilt from its bytes alone; two round trips are equal.
func TestRule1NodesAreRebuiltFromTheirParts(t *testing.T) {
	for _, s := range samples.Nodes() {
		once, b := roundTrip(t, s.Node)
		twice, again := roundTrip(t, once)
		require.Equal(t, s.Node, once, s.Name)
		require.Equal(t, once, twice, s.Name)
		require.Equal(t, b, again, s.Name)
		require.NotEmpty(t, plan.Describe(s.Node), s.Name)
		require.Equal(t, plan.Explain(s.Node), plan.Explain(twice), s.Name)
	}
}

// Codecs are found by message name: in a registry of another order, on another process, the same bytes mean the same.
func TestRule2CodecsAreFoundByName(t *testing.T) {
	n, c := extensionSample()
	b, err := c.EncodeFragment(n, nil)
	require.NoError(t, err)

	other := NewRegistry() // as on another process: more codecs, in another order
	require.NoError(t, other.Register(csvOf{message: &structpb.Struct{}, version: 3}))
	require.NoError(t, other.Register(csvCodec{version: 2}))
	require.NoError(t, other.Register(csvOf{message: &structpb.ListValue{}, version: 1}))
	f, err := New(other).DecodeFragment(b)
	require.NoError(t, err)
	require.Equal(t, n, f.Root)
	again, err := New(other).EncodeFragment(n, nil)
	require.NoError(t, err)
	require.Equal(t, b, again)

	require.ErrorContains(t, other.Register(csvCodec{version: 2}), "google.protobuf.StringValue", "twice is an error, at start")
	require.ErrorContains(t, other.Register(csvOf{message: &seracv1.CTE{}, version: 1}), "serac.v1.CTE", "so is one of ours")
}

// What is not known gives an error that names the node and the version, and no partial plan.
func TestRule3WhatIsNotKnownIsNamed(t *testing.T) {
	_, c := extensionSample()
	filtered := func(input plan.Node) plan.Node { return &plan.Filter{Input: input, Cond: num(1)} }
	b, err := c.EncodeFragment(filtered(&plan.Extension{Impl: &csvScan{Path: "a.csv"}}), nil)
	require.NoError(t, err)

	f, err := DecodeFragment(b)
	require.Nil(t, f)
	require.ErrorContains(t, err, "google.protobuf.StringValue", "a node without a codec")

	older := NewRegistry()
	require.NoError(t, older.Register(csvCodec{version: 1}))
	f, err = New(older).DecodeFragment(b)
	require.Nil(t, f)
	require.ErrorContains(t, err, `"google.protobuf.StringValue" has version 2, this codec reads 1 to 1`)

	newer := NewRegistry()
	require.NoError(t, newer.Register(csvCodec{version: 7}))
	f, err = New(newer).DecodeFragment(b)
	require.NoError(t, err, "what an older one wrote is read")
	require.Equal(t, &csvScan{Path: "a.csv"}, f.Root.Children()[0].(*plan.Extension).Impl)

	for end := range b {
		f, err = c.DecodeFragment(b[:end])
		require.Error(t, err, "%d of %d bytes", end, len(b))
		require.Nil(t, f)
	}
}

// A message of ours whose old fields change their meaning gets a new version: older readers refuse it, newer ones read the
// old.
func TestRule3VersionsOfOurMessages(t *testing.T) {
	n := filteredLeaf()
	old, err := EncodeFragment(n, nil)
	require.NoError(t, err)

	messageVersions["serac.v1.ShuffleRead"] = 3
	defer delete(messageVersions, "serac.v1.ShuffleRead")
	require.Contains(t, Default.Names(), "serac.v1.ShuffleRead@3")
	f, err := DecodeFragment(old)
	require.NoError(t, err, "a newer reader reads what an older writer wrote")
	require.Equal(t, n, f.Root)
	now, err := EncodeFragment(n, nil)
	require.NoError(t, err)
	require.Contains(t, string(now), "type.googleapis.com/v3/serac.v1.ShuffleRead")
	f, err = DecodeFragment(now)
	require.NoError(t, err)
	require.Equal(t, n, f.Root)

	messageVersions["serac.v1.ShuffleRead"] = 2
	_, err = DecodeFragment(now)
	require.ErrorContains(t, err, "serac.v1.ShuffleRead has version 3, this Serac reads version 2")
	delete(messageVersions, "serac.v1.ShuffleRead")
	_, err = DecodeFragment(now)
	require.ErrorContains(t, err, "serac.v1.ShuffleRead has version 3, this Serac reads version 1")
}

func filteredLeaf() plan.Node { return &plan.Filter{Input: leaf(1), Cond: less(col(0), num(5))} }

func TestVersionsInTypeURLs(t *testing.T) {
	for url, want := range map[string]int{
		"serac.v1.CTE": 1, "x/serac.v1.CTE": 1, "type.googleapis.com/serac.v1.CTE": 1, "a/v2/serac.v1.CTE": 2, "a/b/c/v12/m": 12, "a/x2/m": 1,
	} {
		got, err := messageVersion(&anypb.Any{TypeUrl: url})
		require.NoError(t, err, url)
		require.Equal(t, want, got, url)
	}
	for _, url := range []string{"a/v0/m", "a/v-1/m", "a/vx/m", "a/v99999999999999999999/m"} {
		_, err := messageVersion(&anypb.Any{TypeUrl: url})
		require.ErrorContains(t, err, url)
		require.ErrorContains(t, unpack(&anypb.Any{TypeUrl: "a/v0/serac.v1.CTE"}, &seracv1.CTE{}), "version")
	}
	err := change(t, filteredLeaf(), func(_ *seracv1.Fragment, p *pb.Plan) {
		p.GetRelations()[0].GetRoot().GetInput().GetFilter().GetInput().GetExtensionLeaf().GetDetail().TypeUrl = "a/v5/serac.v1.ShuffleRead"
	})
	require.ErrorContains(t, err, "version 5")
}
