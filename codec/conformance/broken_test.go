package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/codec/conformance"
	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

func pages() []conformance.Case {
	older := func(version int32) []byte {
		return fragmentOf(&pagesAt{version: version}, &pagesScan{Path: "a.txt", Lines: 3})
	}
	return []conformance.Case{
		{
			Name: "scan", Node: &plan.Extension{Impl: &pagesScan{Path: "a.txt", Lines: 10, Header: true}},
			Older: []conformance.Written{{Version: "1", Bytes: older(1), Node: &plan.Extension{Impl: &pagesScan{Path: "a.txt", Lines: 3}}}},
		},
		{Name: "plain", Node: &plan.Extension{Impl: &pagesScan{Path: "b.txt", Lines: 1}}},
	}
}

// pagesAt writes what another version wrote.
type pagesAt struct {
	pagesCodec
	version int32
}

func (c pagesAt) Version() int32 { return c.version }

func fragmentOf(x codec.Extension, n plan.ExtensionImpl) []byte {
	r := codec.NewRegistry()
	if err := r.Register(x); err != nil {
		panic(err)
	}
	b, err := codec.New(r).EncodeFragment(&plan.Extension{Impl: n}, nil)
	if err != nil {
		panic(err)
	}
	return b
}

func TestAnExtensionCodecConforms(t *testing.T) {
	conformance.Run(t, conformance.Options{Extensions: []codec.Extension{pagesCodec{}}, Cases: pages()})
}

// forgetful does not write the header.
type forgetful struct{ pagesCodec }

func (forgetful) Encode(n plan.ExtensionImpl) (proto.Message, error) {
	m, err := pagesCodec{}.Encode(n)
	if err == nil {
		delete(m.(*structpb.Struct).GetFields(), "header")
	}
	return m, err
}

// brittle takes what it reads to be complete.
type brittle struct{ pagesCodec }

func (c brittle) Decode(m proto.Message, version int32, inputs []plan.Schema) (plan.ExtensionImpl, error) {
	if m.(*structpb.Struct).GetFields()["lines"] == nil {
		panic("no lines")
	}
	return c.pagesCodec.Decode(m, version, inputs)
}

// moody writes something else each time.
type moody struct{ pagesCodec }

func (moody) Encode(n plan.ExtensionImpl) (proto.Message, error) {
	m, err := pagesCodec{}.Encode(n)
	if err == nil {
		m.(*structpb.Struct).Fields["nonce"] = structpb.NewNumberValue(rand.Float64())
	}
	return m, err
}

// sharing hands out one message.
type sharing struct{ pagesCodec }

var shared = &structpb.Struct{}

func (sharing) Message() proto.Message { return shared }

// careless accepts nodes that are not its own.
type careless struct{ pagesCodec }

func (careless) Encode(n plan.ExtensionImpl) (proto.Message, error) {
	if _, ok := n.(*pagesScan); !ok {
		return &structpb.Struct{}, nil
	}
	return pagesCodec{}.Encode(n)
}

// proud takes no version but its own.
type proud struct{ pagesCodec }

func (c proud) Decode(m proto.Message, version int32, inputs []plan.Schema) (plan.ExtensionImpl, error) {
	if version != c.Version() {
		return nil, fmt.Errorf("version %d is too old", version)
	}
	return c.pagesCodec.Decode(m, version, inputs)
}

// lossy is a whole codec that takes the edge off a plan.
type lossy struct{ *codec.Codec }

func (c lossy) DecodeFragment(b []byte) (*codec.Fragment, error) {
	f, err := c.Codec.DecodeFragment(b)
	if err == nil {
		f.Root = &plan.Limit{Input: f.Root, Count: samples.Num(1)}
	}
	return f, err
}

// chatty shows in an error what it read.
type chatty struct{ *codec.Codec }

func (c chatty) EncodeFragment(root plan.Node, tables []*wire.Table) ([]byte, error) {
	b, err := c.Codec.EncodeFragment(root, tables)
	if err != nil || len(tables) == 0 {
		return b, err
	}
	return append(b, []byte("\xfa\x3f\x18"+tables[0].FileIO.Reveal()["s3.secret-access-key"])...), nil
}

// trusting reads whatever there is.
type trusting struct{ *codec.Codec }

func (c trusting) DecodeFragment(b []byte) (*codec.Fragment, error) {
	f, err := c.Codec.DecodeFragment(b)
	if err != nil {
		return &codec.Fragment{Root: samples.Leaf(1)}, nil
	}
	return f, nil
}

// broken are codecs that do not conform, and the checks that find it.
func broken() map[string]struct {
	options conformance.Options
	found   []string
} {
	type entry = struct {
		options conformance.Options
		found   []string
	}
	extension := func(x codec.Extension, found ...string) entry {
		return entry{conformance.Options{Extensions: []codec.Extension{x}, Cases: pages()}, found}
	}
	leaf := []conformance.Case{{Name: "leaf", Node: samples.Leaf(1)}}
	ours := codec.New(codec.NewRegistry())
	whole := func(c conformance.Codec, found ...string) entry {
		return entry{conformance.Options{Codec: c, Cases: leaf, Tables: tables()}, found}
	}
	return map[string]entry{
		"forgetful": extension(forgetful{}, "round_trip", "fields"),
		"brittle":   extension(brittle{}, "truncation"),
		"moody":     extension(moody{}, "round_trip", "processes"),
		"sharing":   extension(sharing{}, "registry"),
		"careless":  extension(careless{}, "registry"),
		"proud":     extension(proud{}, "versions"),
		"lossy":     whole(lossy{ours}, "round_trip", "schema_and_explain|round_trip", "fields"),
		"chatty":    whole(chatty{ours}, "round_trip|secrets"),
		"trusting":  whole(trusting{ours}, "truncation", "unknown_fields", "versions", "limits"),
		"secretive": {conformance.Options{Extensions: []codec.Extension{pagesCodec{}}, Cases: []conformance.Case{{
			Name: "scan", Node: &plan.Extension{Impl: &pagesScan{Path: "pass-1234", Lines: 10, Header: true}}, Secrets: []string{"pass-1234"},
		}}}, []string{"secrets"}},
		"large": {conformance.Options{Codec: ours, Cases: leaf, MaxBytes: 10}, []string{"size"}},
		"unset": {conformance.Options{Extensions: []codec.Extension{pagesCodec{}}, Cases: pages()[1:]}, []string{"fields"}},
		"rows": {conformance.Options{Codec: ours, Cases: leaf, Rows: func(plan.Node) ([][]any, error) {
			return [][]any{{rand.Int64()}}, nil
		}}, []string{"rows"}},
	}
}

const brokenCodec = "SERAC_BROKEN_CODEC"

// TestBroken runs in another process, and fails there.
func TestBroken(t *testing.T) {
	b, ok := broken()[os.Getenv(brokenCodec)]
	if !ok {
		t.Skip("TestBrokenCodecsAreFound runs it")
	}
	conformance.Run(t, b.options)
}

// A suite that passes everything would look just as good: codecs that are broken in one way each must be found.
func TestBrokenCodecsAreFound(t *testing.T) {
	for name, b := range broken() {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestBroken$", "-test.v")
			cmd.Env = append(os.Environ(), brokenCodec+"="+name)
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "%s", out)
			for _, check := range b.found {
				require.Regexp(t, regexp.MustCompile(`(?m)^\s+--- FAIL: TestBroken/(`+check+`) `), string(out))
			}
		})
	}
}

func TestCasesMustBeThere(t *testing.T) {
	for says, o := range map[string]conformance.Options{
		"there are no cases": {},
		"twice":              {Cases: []conformance.Case{{Name: "a", Node: samples.Leaf(1)}, {Name: "a", Node: samples.Leaf(1)}}},
		"no plan":            {Cases: []conformance.Case{{Name: "a"}}},
		"register codec":     {Extensions: []codec.Extension{pagesCodec{}, pagesCodec{}}, Cases: pages()},
	} {
		require.ErrorContains(t, conformance.Validate(o), says)
	}
	require.NoError(t, conformance.Validate(conformance.Options{Cases: pages()}))
}
