package codec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	"github.com/seracdb/serac/wire"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// fragmentVersion is the version of the encoding. It rises when the meaning of what is written changes without a new field
// that older readers would refuse.
const fragmentVersion = 1

// substraitVersion is the version of the Substrait messages in use.
var substraitVersion = &pb.Version{MinorNumber: 85, Producer: "serac"}

// Fragment is a stage's plan with the tables behind it.
type Fragment struct {
	Root plan.Node
	// Tables by the key that scans and writes name them by.
	Tables map[string]*wire.Table
}

// Codec encodes and decodes fragments with the extension nodes of a registry. It is safe for concurrent use.
type Codec struct{ registry *Registry }

// New is a codec over a registry.
func New(r *Registry) *Codec { return &Codec{registry: r} }

var defaultCodec = New(Default)

// EncodeFragment is Codec.EncodeFragment with the extensions of Default.
func EncodeFragment(root plan.Node, tables []*wire.Table) ([]byte, error) {
	return defaultCodec.EncodeFragment(root, tables)
}

// DecodeFragment is Codec.DecodeFragment with the extensions of Default.
func DecodeFragment(b []byte) (*Fragment, error) { return defaultCodec.DecodeFragment(b) }

// EncodeFragment is a plan as bytes, with the tables that its scans and writes name (once each, however often they are
// named). Equal plans give equal bytes. A plan that does not hang together (a column that its input lacks, a type without
// its parameters, a table that is not given) is an error that names the node.
func (c *Codec) EncodeFragment(root plan.Node, tables []*wire.Table) ([]byte, error) {
	fragment := &seracv1.Fragment{Version: fragmentVersion}
	given := map[string]bool{}
	for _, t := range tables {
		if t == nil || t.Key == "" {
			return nil, fmt.Errorf("encode fragment: a table without a key")
		}
		if given[t.Key] {
			return nil, fmt.Errorf("encode fragment: table %s is given twice", t.Key)
		}
		given[t.Key] = true
		m := t.Proto()
		if _, err := wire.TableFrom(m); err != nil { // better here than on every executor
			return nil, fmt.Errorf("encode fragment: %w", err)
		}
		fragment.Tables = append(fragment.Tables, m)
	}
	e := newEncoder(c.registry)
	p, err := e.plan(root)
	if err != nil {
		return nil, fmt.Errorf("encode fragment: %w", err)
	}
	if err := checkTables(e.tables, given); err != nil {
		return nil, fmt.Errorf("encode fragment: %w", err)
	}
	if fragment.Plan, err = bytesOf(p); err != nil {
		return nil, fmt.Errorf("encode fragment: %w", err)
	}
	b, err := bytesOf(fragment)
	if err != nil {
		return nil, fmt.Errorf("encode fragment: %w", err)
	}
	if len(b) > maxFragment {
		return nil, fmt.Errorf("encode fragment: %d bytes are more than the %d that a fragment may have", len(b), maxFragment)
	}
	return b, nil
}

func (e *encoder) plan(root plan.Node) (*pb.Plan, error) {
	rel, schema, err := e.node(root)
	if err != nil {
		return nil, err
	}
	return &pb.Plan{
		Version:          substraitVersion,
		ExtensionUrns:    e.urnList,
		Extensions:       e.list,
		ExpectedTypeUrls: slices.Sorted(maps.Keys(e.urls)),
		Relations: []*pb.PlanRel{{RelType: &pb.PlanRel_Root{
			Root: &pb.RelRoot{Input: rel, Names: schema.Names()},
		}}},
	}, nil
}

// DecodeFragment is what EncodeFragment encoded: an equal plan (an empty slice comes back as nil). It fails, and never
// panics, on bytes that are cut off, of a newer version, or that hold anything unknown; there is no partial plan.
func (c *Codec) DecodeFragment(b []byte) (*Fragment, error) {
	f, err := c.decodeFragment(b)
	if err != nil {
		return nil, fmt.Errorf("decode fragment: %w", err)
	}
	return f, nil
}

func (c *Codec) decodeFragment(b []byte) (*Fragment, error) {
	if len(b) > maxFragment {
		return nil, fmt.Errorf("%d bytes are more than the %d that a fragment may have", len(b), maxFragment)
	}
	m := &seracv1.Fragment{}
	if err := unmarshal.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("parse %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	// The version is looked at first: it says best why there are fields that are not known.
	if v := m.GetVersion(); v != fragmentVersion {
		return nil, fmt.Errorf("%s has version %d, this Serac reads version %d", m.ProtoReflect().Descriptor().FullName(), v, fragmentVersion)
	}
	if err := refuseUnknown(m.ProtoReflect()); err != nil {
		return nil, err
	}
	f := &Fragment{Tables: make(map[string]*wire.Table, len(m.GetTables()))}
	given := make(map[string]bool, len(m.GetTables()))
	for _, t := range m.GetTables() {
		table, err := wire.TableFrom(t)
		if err != nil {
			return nil, err
		}
		if given[table.Key] {
			return nil, fmt.Errorf("table %s is given twice", table.Key)
		}
		given[table.Key] = true
		f.Tables[table.Key] = table
	}
	p := &pb.Plan{}
	if err := parse(m.GetPlan(), p); err != nil {
		return nil, err
	}
	refs, err := readDeclarations(p)
	if err != nil {
		return nil, err
	}
	d := &decoder{references: refs, registry: c.registry, tables: map[string]bool{}}
	if len(p.GetRelations()) != 1 || p.GetRelations()[0].GetRoot() == nil {
		return nil, fmt.Errorf("a plan has one root, this one has %d relations", len(p.GetRelations()))
	}
	if err := noEnhancement(p.GetAdvancedExtensions()); err != nil {
		return nil, err
	}
	if f.Root, _, err = d.node(p.GetRelations()[0].GetRoot().GetInput()); err != nil {
		return nil, err
	}
	return f, checkTables(d.tables, given)
}

// checkTables says which table a plan names that is not given.
func checkTables(named, given map[string]bool) error {
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if !given[key] {
			return fmt.Errorf("table %q is named by the plan and not given", key)
		}
	}
	return nil
}
