package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/seracdb/serac/codec/conformance/samples"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

func FuzzDecodeFragment(f *testing.F) {
	for _, b := range bytesOfEach(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { reencodes(t, defaultCodec, b) })
}

// FuzzPlanMessage puts bytes where a message of plan.proto stands, with right lengths and a right type URL around them: of
// damaged fragments, most are refused before they come there.
func FuzzPlanMessage(f *testing.F) {
	_, withExtensions := extensionSample()
	messages := seracv1.File_serac_v1_plan_proto.Messages()
	places := placesOfMessages(f)
	for i := range messages.Len() {
		name := messages.Get(i).Name()
		require.NotEmpty(f, places[name], "no sample has a %s", name)
		f.Add(uint8(i), []byte{})
		for _, p := range places[name] {
			f.Add(uint8(i), p.message)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, b []byte) {
		place := places[messages.Get(int(i)%messages.Len()).Name()][0]
		if changed := place.with(t, b); changed != nil {
			reencodes(t, withExtensions, changed)
		}
	})
}

// The places that FuzzPlanMessage puts bytes into are such that the decoder reads them: with the message's own bytes the
// fragment is the sample, and bytes that are no message are refused.
func TestPlacesOfMessagesAreRead(t *testing.T) {
	_, c := extensionSample()
	places := placesOfMessages(t)
	messages := seracv1.File_serac_v1_plan_proto.Messages()
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 19_000_000, protowire.VarintType), 1)
	for i := range messages.Len() {
		name := messages.Get(i).Name()
		require.NotEmpty(t, places[name], "no sample has a %s", name)
		for _, p := range places[name] {
			want, err := c.DecodeFragment(p.fragment)
			require.NoError(t, err, name)
			got, err := c.DecodeFragment(p.with(t, p.message))
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
			_, err = c.DecodeFragment(p.with(t, append(append([]byte(nil), p.message...), unknown...)))
			require.ErrorContains(t, err, "19000000", name)
		}
	}
}

// place is where a message of plan.proto stands in a fragment: the occurrence-th message of its kind.
type place struct {
	fragment   []byte
	name       protoreflect.Name
	occurrence int
	message    []byte
}

// perMessage is how many places of each message are kept: some have several forms.
const perMessage = 8

// placesOfMessages are places of each message of plan.proto in the samples, by its name.
func placesOfMessages(t testing.TB) map[protoreflect.Name][]place {
	t.Helper()
	fragments := bytesOfEach(t)
	for _, s := range samples.Nodes() {
		b, err := EncodeFragment(s.Node, tables())
		require.NoError(t, err)
		fragments = append(fragments, b)
	}
	n, c := extensionSample()
	b, err := c.EncodeFragment(n, nil)
	require.NoError(t, err)
	fragments = append(fragments, b)
	places := map[protoreflect.Name][]place{}
	for _, b := range fragments {
		_, p := parsedFragment(t, b)
		seen := map[protoreflect.Name]int{}
		eachOfOurs(p.ProtoReflect(), func(m protoreflect.Message) bool {
			name := m.Descriptor().Name()
			if len(places[name]) < perMessage {
				raw, err := proto.Marshal(m.Interface())
				require.NoError(t, err)
				places[name] = append(places[name], place{fragment: b, name: name, occurrence: seen[name], message: raw})
			}
			seen[name]++
			return false
		})
	}
	return places
}

// with is the fragment with other bytes in the place; nil when they cannot stand there because a message around it would
// not be one.
func (p place) with(t testing.TB, b []byte) []byte {
	t.Helper()
	fragment, m := parsedFragment(t, p.fragment)
	at, possible := 0, true
	eachOfOurs(m.ProtoReflect(), func(m protoreflect.Message) bool {
		if m.Descriptor().Name() != p.name {
			return false
		}
		at++
		if at-1 != p.occurrence {
			return false
		}
		proto.Reset(m.Interface())
		possible = proto.Unmarshal(b, m.Interface()) == nil
		return true
	})
	if !possible {
		return nil
	}
	var err error
	fragment.Plan, err = proto.Marshal(m)
	require.NoError(t, err)
	changed, err := proto.Marshal(fragment)
	require.NoError(t, err)
	return changed
}

func parsedFragment(t testing.TB, b []byte) (*seracv1.Fragment, *pb.Plan) {
	t.Helper()
	fragment, p := &seracv1.Fragment{}, &pb.Plan{}
	require.NoError(t, proto.Unmarshal(b, fragment))
	require.NoError(t, proto.Unmarshal(fragment.GetPlan(), p))
	return fragment, p
}

// eachOfOurs calls f with each message of Serac's in m, also those in google.protobuf.Any, in an order that is the same
// each time, until f has changed one and says so. What f changes in an Any is put back into it.
func eachOfOurs(m protoreflect.Message, f func(protoreflect.Message) bool) bool {
	if any, ok := m.Interface().(*anypb.Any); ok {
		inner, err := any.UnmarshalNew()
		if err != nil || !eachOfOurs(inner.ProtoReflect(), f) {
			return false
		}
		any.Value, err = proto.Marshal(inner)
		return err == nil
	}
	if m.Descriptor().ParentFile() == seracv1.File_serac_v1_plan_proto && f(m) {
		return true
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() == nil || field.IsMap() || !m.Has(field) {
			continue
		}
		if !field.IsList() {
			if eachOfOurs(m.Get(field).Message(), f) {
				return true
			}
			continue
		}
		for j := range m.Get(field).List().Len() {
			if eachOfOurs(m.Get(field).List().Get(j).Message(), f) {
				return true
			}
		}
	}
	return false
}
