package codec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
)

// goldenFile holds what version 1 of the codec wrote of each sample: a name and a fragment in turn, each after its length.
// It only ever grows: with a version that writes otherwise, another file is added beside it. A sample that is new is
// appended by SERAC_APPEND_GOLDEN=1 go test -run TestOldFragments ./codec; what is in the file is never written anew.
const goldenFile = "testdata/fragments.v1.binpb"

type golden struct {
	name     string
	fragment []byte
}

func readGolden(t *testing.T, file string) []golden {
	t.Helper()
	b, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	next := func() []byte {
		part, n := protowire.ConsumeBytes(b)
		require.Positive(t, n, "%s is cut off", file)
		b = b[n:]
		return part
	}
	var all []golden
	for len(b) > 0 {
		all = append(all, golden{string(next()), next()})
	}
	return all
}

// Fragments that older versions wrote are read, and mean what they meant. (They are without tables, whose bytes are the
// same for all.)
func TestOldFragmentsAreRead(t *testing.T) {
	today := map[string]plan.Node{}
	for _, s := range distinctSamples() {
		today[s.Name] = s.Node
	}
	old := readGolden(t, goldenFile)
	have := map[string]bool{}
	for _, g := range old {
		have[g.name] = true
		f, err := defaultCodec.DecodeFragment(g.fragment)
		require.NoError(t, err, g.name)
		require.NotNil(t, today[g.name], "%s: a sample goes only when its node does", g.name)
		require.Equal(t, today[g.name], f.Root, g.name)
	}
	var appended []byte
	for _, s := range distinctSamples() {
		if have[s.Name] {
			continue
		}
		require.NotEmpty(t, os.Getenv("SERAC_APPEND_GOLDEN"), "%s has no fragment in %s", s.Name, goldenFile)
		b, err := EncodeFragment(s.Node, goldenTables(s.Node))
		require.NoError(t, err)
		appended = protowire.AppendBytes(protowire.AppendString(appended, s.Name), b)
	}
	if len(appended) > 0 {
		require.NoError(t, os.MkdirAll(filepath.Dir(goldenFile), 0o755))
		file, err := os.OpenFile(goldenFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		_, err = file.Write(appended)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
}

// Readers of both directions: what is newer than an old fragment's reader is refused by name, wherever it stands.
func TestOldFragmentsWithNewerPartsAreRefused(t *testing.T) {
	for _, g := range readGolden(t, goldenFile) {
		err := func() error {
			fragment, p := parsedFragment(t, g.fragment)
			fragment.Version++
			_, err := DecodeFragment(remade(t, fragment, p))
			return err
		}()
		require.ErrorContains(t, err, "serac.v1.Fragment has version 2, this Serac reads version 1", g.name)
		fragment, p := parsedFragment(t, g.fragment)
		raised := 0
		eachAnyOfOurs(p, func(url *string, name string) {
			before := *url
			*url = "type.googleapis.com/v9/" + name
			_, err := DecodeFragment(remade(t, fragment, p))
			require.ErrorContains(t, err, name+" has version 9", g.name)
			*url = before
			raised++
		})
		if raised > 0 {
			_, err = DecodeFragment(remade(t, fragment, p))
			require.NoError(t, err, g.name)
		}
	}
}

// A fragment without the fields that came later means what it meant: the plan with their zero values.
func TestFieldsThatCameLaterMayBeMissing(t *testing.T) {
	n := &plan.ShuffleWrite{Input: samples.Leaf(1), Partitions: 1, Summarize: []int{1, 0}}
	b, err := EncodeFragment(n, nil)
	require.NoError(t, err)
	fragment, p := parsedFragment(t, b)
	detail := p.GetRelations()[0].GetRoot().GetInput().GetExtensionSingle().GetDetail()
	m := &seracv1.ShuffleWrite{}
	require.NoError(t, detail.UnmarshalTo(m))
	m.Summarize = nil // as before join filters
	require.NoError(t, detail.MarshalFrom(m))
	f, err := DecodeFragment(remade(t, fragment, p))
	require.NoError(t, err)
	require.Equal(t, &plan.ShuffleWrite{Input: samples.Leaf(1), Partitions: 1}, f.Root)
}

// goldenTables are the smallest tables that a plan needs.
func goldenTables(n plan.Node) []*wire.Table {
	var needed []*wire.Table
	e := newEncoder(Default)
	if _, err := e.plan(n); err != nil {
		return nil
	}
	for _, t := range tables() {
		if e.tables[t.Key] {
			needed = append(needed, &wire.Table{
				Key: t.Key, Identifier: []string{"c", "t"}, MetadataLocation: "m.json", FileIO: wire.NewFileIO(nil), FormatVersion: 2,
			})
		}
	}
	return needed
}

func remade(t *testing.T, fragment *seracv1.Fragment, p *pb.Plan) []byte {
	t.Helper()
	var err error
	fragment.Plan, err = proto.Marshal(p)
	require.NoError(t, err)
	b, err := proto.Marshal(fragment)
	require.NoError(t, err)
	return b
}

// eachAnyOfOurs calls f with the type URL of each google.protobuf.Any of the plan, and its message's name.
func eachAnyOfOurs(p *pb.Plan, f func(url *string, name string)) {
	var visit func(m protoreflect.Message)
	visit = func(m protoreflect.Message) {
		if any, ok := m.Interface().(*anypb.Any); ok {
			f(&any.TypeUrl, messageName(any))
			return
		}
		eachMessageIn(m, visit)
	}
	visit(p.GetRelations()[0].ProtoReflect())
}
