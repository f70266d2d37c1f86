package codec

import (
	"fmt"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"

	"github.com/seracdb/serac/plan"
)

// What readers of plans that are no fragments need of Serac's extensions.
const (
	// URNDuckDB and URNPlan are the extensions in extensions/.
	URNDuckDB = urnDuckDB
	URNPlan   = urnPlan

	FunctionDeclared = functionDeclared
	FunctionBetween  = functionBetween
	BoundInclusive   = boundInclusive
	BoundExclusive   = boundExclusive

	OptionNames      = optionNames
	OptionParameters = optionParams
)

// ForeignTypes reads the types and literals of Serac's extensions in a plan that is no fragment.
type ForeignTypes struct{ references references }

// NewForeignTypes reads which of a plan's declared types are Serac's. Others' are not known where they are used.
func NewForeignTypes(p *pb.Plan) (*ForeignTypes, error) {
	urns := map[uint32]string{}
	for _, u := range p.GetExtensionUrns() {
		urns[u.GetExtensionUrnAnchor()] = u.GetUrn()
	}
	f := &ForeignTypes{references{types: map[uint32]entity{}}}
	for _, e := range p.GetExtensions() {
		m, ok := e.GetMappingType().(*extensions.SimpleExtensionDeclaration_ExtensionType_)
		if !ok {
			continue
		}
		anchor := m.ExtensionType.GetTypeAnchor()
		if _, twice := f.references.types[anchor]; twice {
			return nil, fmt.Errorf("type anchor %d is declared twice", anchor)
		}
		f.references.types[anchor] = entity{urns[m.ExtensionType.GetExtensionUrnReference()], m.ExtensionType.GetName()}
	}
	return f, nil
}

// Type is a user-defined type.
func (f *ForeignTypes) Type(m *pb.Type) (plan.Type, error) {
	return (&decoder{references: f.references}).typ(m)
}

// Constant is a literal of a user-defined type.
func (f *ForeignTypes) Constant(l *pb.Expression_Literal) (*plan.Constant, error) {
	v, of, err := (&decoder{references: f.references}).literal(l)
	if err != nil {
		return nil, err
	}
	return &plan.Constant{Value: v, Of: of}, nil
}
