package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// Codec is what is held to the suite. *codec.Codec is one.
type Codec interface {
	EncodeFragment(root plan.Node, tables []*wire.Table) ([]byte, error)
	DecodeFragment(b []byte) (*codec.Fragment, error)
}

// Case is one plan that the codec is tried with.
type Case struct {
	// Name names the case's subtests.
	Name string
	// Node is the plan. Across all cases, each exported field of each type in them must be set somewhere. An empty slice in
	// it is nil: that is how it comes back.
	Node plan.Node
	// Tables are those that the plan names, beside those of the options.
	Tables []*wire.Table
	// MaxBytes is the case's size budget, tables included; 0 is that of the options.
	MaxBytes int
	// Secrets are texts in the plan that must never show. (Values of type wire.Secret and wire.FileIO are tried without
	// being named here.)
	Secrets []string
	// Older are what former versions of the codec wrote, and what it means today.
	Older []Written
	// NoRows keeps the case from Options.Rows: the plan cannot be run.
	NoRows bool
}

// Written is a fragment as a former version wrote it.
type Written struct {
	// Version names the version, for people.
	Version string
	Bytes   []byte
	// Node is the plan that the bytes mean to the reader of today.
	Node plan.Node
}

// Options say what is tried.
type Options struct {
	// Codec is the codec. Nil: Serac's, with Extensions.
	Codec Codec
	// Extensions are the codecs of extension nodes behind Codec, whose registration is tried too.
	Extensions []codec.Extension
	Cases      []Case
	// Tables are given to every case.
	Tables []*wire.Table
	// Rows runs a plan. If set, a decoded plan must give the rows that the plan gave, in their order; errors.ErrUnsupported
	// says that this plan cannot be run.
	Rows func(n plan.Node) ([][]any, error)
	// Others gives other values of an exported field whose type hides what it holds, so that the field can be changed; nil
	// for types that it does not know. (Those of plan, wire.Secret, wire.FileIO and big.Int are known.)
	Others func(value any) []any
	// Plan says that the cases are to try all of package plan: each field of its types must then be set, and be changed, in
	// some case, as those of other types always must.
	Plan bool
	// Unset are fields, as "Type.Field", that no case need set.
	Unset []string
	// Unchanged are fields, as "Type.Field", that have but one valid value where they are set.
	Unchanged []string
	// MaxBytes is the size budget of a case, tables included; 0 is DefaultMaxBytes.
	MaxBytes int
	// Flips is how many damaged copies of a case are read; 0 is DefaultFlips.
	Flips int
}

const (
	// DefaultMaxBytes is the size budget of a case unless told otherwise: a node and what it takes to reach it.
	DefaultMaxBytes = 8 << 10
	// DefaultFlips is how many damaged copies of a case are read unless told otherwise.
	DefaultFlips = 300
)

// check is one demand on a codec, made of every case.
type check struct {
	name string
	run  func(s *suite, c Case) error
}

// demand is one demand on a codec that is made of all cases together.
type demand struct {
	name string
	run  func(s *suite) error
}

// checks are made of every case.
var checks = []check{
	{"round trip", (*suite).roundTrip},
	{"schema and explain", (*suite).schemaAndExplain},
	{"rows", (*suite).rows},
	{"size", (*suite).size},
	{"secrets", (*suite).secrets},
	{"truncation", (*suite).truncation},
	{"bit flips", (*suite).bitFlips},
	{"unknown fields", (*suite).unknownFields},
	{"versions", (*suite).versions},
	{"composition", (*suite).composition},
}

// demands are made of all cases together.
var demands = []demand{
	{"fields", (*suite).fields},
	{"limits", (*suite).limits},
	{"concurrency", (*suite).concurrency},
	{"registry", (*suite).registry},
}

// Run holds a codec to the suite. Each demand is a subtest of its own, with one for each case below it. Call it once in a
// test: it starts the test again in another process, to see that the bytes are the same there.
func Run(t *testing.T, o Options) {
	s, err := newSuite(o)
	if err != nil {
		t.Fatal(err)
	}
	if childOf(t) {
		s.report(t)
		return
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, one := range o.Cases {
				t.Run(one.Name, func(t *testing.T) { judge(t, guard(func() error { return c.run(s, one) })) })
			}
		})
	}
	for _, d := range demands {
		t.Run(d.name, func(t *testing.T) { judge(t, guard(func() error { return d.run(s) })) })
	}
	t.Run("processes", func(t *testing.T) { judge(t, s.processes(t)) })
}

func judge(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errNotTried) {
		t.SkipNow()
	}
	if err != nil {
		t.Error(err)
	}
}

// suite is a run of the suite.
type suite struct {
	Options
}

func newSuite(o Options) (*suite, error) {
	if o.Codec == nil {
		r := codec.NewRegistry()
		for _, x := range o.Extensions {
			if err := r.Register(x); err != nil {
				return nil, fmt.Errorf("conformance: %w", err)
			}
		}
		o.Codec = codec.New(r)
	}
	if len(o.Cases) == 0 {
		return nil, fmt.Errorf("conformance: there are no cases")
	}
	seen := map[string]bool{}
	for _, c := range o.Cases {
		if c.Name == "" || seen[c.Name] {
			return nil, fmt.Errorf("conformance: case name %q is empty or there twice", c.Name)
		}
		if c.Node == nil {
			return nil, fmt.Errorf("conformance: case %s has no plan", c.Name)
		}
		seen[c.Name] = true
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Flips == 0 {
		o.Flips = DefaultFlips
	}
	return &suite{o}, nil
}

// Validate says what is wrong with the options themselves; Run calls it.
func Validate(o Options) error {
	_, err := newSuite(o)
	return err
}

// tables are those that a case is encoded with.
func (s *suite) tables(c Case) []*wire.Table {
	return append(append([]*wire.Table(nil), s.Tables...), c.Tables...)
}
