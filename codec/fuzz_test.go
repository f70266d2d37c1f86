package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func FuzzDecodeFragment(f *testing.F) {
	for _, b := range bytesOfEach(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { reencodes(t, b) })
}

// FuzzPlanMessage puts bytes where a message of plan.proto stands, with right lengths and a right type URL around them: of
// damaged fragments, most are refused before they come there.
func FuzzPlanMessage(f *testing.F) {
	messages := seracv1.File_serac_v1_plan_proto.Messages()
	plans := map[int][]byte{}
	for i := range messages.Len() {
		f.Add(uint8(i), []byte{})
	}
	for _, b := range bytesOfEach(f) {
		fragment, p := &seracv1.Fragment{}, &pb.Plan{}
		require.NoError(f, proto.Unmarshal(b, fragment))
		require.NoError(f, proto.Unmarshal(fragment.GetPlan(), p))
		any, message := firstDetail(p.GetRelations()[0].GetRoot().GetInput())
		if any == nil {
			continue
		}
		i := messages.ByName(message.Descriptor().Name()).Index()
		if plans[i] == nil {
			plans[i] = b
		}
		f.Add(uint8(i), any.GetValue())
	}
	require.Greater(f, len(plans), 10)
	f.Fuzz(func(t *testing.T, i uint8, b []byte) {
		fragment, p := &seracv1.Fragment{}, &pb.Plan{}
		around := plans[int(i)%messages.Len()]
		if around == nil {
			return
		}
		require.NoError(t, proto.Unmarshal(around, fragment))
		require.NoError(t, proto.Unmarshal(fragment.GetPlan(), p))
		any, _ := firstDetail(p.GetRelations()[0].GetRoot().GetInput())
		any.Value = b
		var err error
		fragment.Plan, err = proto.Marshal(p)
		require.NoError(t, err)
		changed, err := proto.Marshal(fragment)
		require.NoError(t, err)
		reencodes(t, changed)
	})
}

// firstDetail is the detail of a relation that is one of ours, and its message.
func firstDetail(rel *pb.Rel) (*anypb.Any, protoreflect.Message) {
	var any *anypb.Any
	switch r := rel.GetRelType().(type) {
	case *pb.Rel_ExtensionLeaf:
		any = r.ExtensionLeaf.GetDetail()
	case *pb.Rel_ExtensionSingle:
		any = r.ExtensionSingle.GetDetail()
	case *pb.Rel_ExtensionMulti:
		any = r.ExtensionMulti.GetDetail()
	default:
		return nil, nil
	}
	m, err := any.UnmarshalNew()
	if err != nil {
		return nil, nil
	}
	return any, m.ProtoReflect()
}
