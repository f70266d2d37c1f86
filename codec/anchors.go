package codec

import (
	"fmt"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"
)

// The extensions that plans refer to: Substrait's own, and ours (extensions/*.yaml).
const (
	urnComparison        = "extension:io.substrait:functions_comparison"
	urnBoolean           = "extension:io.substrait:functions_boolean"
	urnArithmetic        = "extension:io.substrait:functions_arithmetic"
	urnArithmeticDecimal = "extension:io.substrait:functions_arithmetic_decimal"
	urnAggregateGeneric  = "extension:io.substrait:functions_aggregate_generic"
	urnString            = "extension:io.substrait:functions_string"
	// urnDuckDB holds DuckDB's functions and types by DuckDB's names.
	urnDuckDB = "extension:dev.serac:duckdb"
	// urnPlan holds what Serac's plan says and neither Substrait nor a function of DuckDB does.
	urnPlan = "extension:dev.serac:plan"
)

// entity is a function or a type of an extension.
type entity struct{ urn, name string }

// declarations collects the entities that a plan refers to, and numbers them in the order of their first use.
type declarations struct {
	urns      map[string]uint32
	functions map[entity]uint32
	types     map[entity]uint32
	urnList   []*extensions.SimpleExtensionURN
	list      []*extensions.SimpleExtensionDeclaration
}

func newDeclarations() declarations {
	return declarations{urns: map[string]uint32{}, functions: map[entity]uint32{}, types: map[entity]uint32{}}
}

func (d *declarations) urn(urn string) uint32 {
	anchor, ok := d.urns[urn]
	if !ok {
		anchor = uint32(len(d.urns)) + 1
		d.urns[urn] = anchor
		d.urnList = append(d.urnList, &extensions.SimpleExtensionURN{ExtensionUrnAnchor: anchor, Urn: urn})
	}
	return anchor
}

// function is the anchor of a function, whose name includes its signature where the extension asks for one.
func (d *declarations) function(urn, name string) uint32 {
	key := entity{urn, name}
	anchor, ok := d.functions[key]
	if !ok {
		anchor = uint32(len(d.functions)) + 1
		d.functions[key] = anchor
		d.list = append(d.list, &extensions.SimpleExtensionDeclaration{
			MappingType: &extensions.SimpleExtensionDeclaration_ExtensionFunction_{
				ExtensionFunction: &extensions.SimpleExtensionDeclaration_ExtensionFunction{
					ExtensionUrnReference: d.urn(urn), FunctionAnchor: anchor, Name: name,
				},
			},
		})
	}
	return anchor
}

// userType is the anchor of a type.
func (d *declarations) userType(urn, name string) uint32 {
	key := entity{urn, name}
	anchor, ok := d.types[key]
	if !ok {
		anchor = uint32(len(d.types)) + 1
		d.types[key] = anchor
		d.list = append(d.list, &extensions.SimpleExtensionDeclaration{
			MappingType: &extensions.SimpleExtensionDeclaration_ExtensionType_{
				ExtensionType: &extensions.SimpleExtensionDeclaration_ExtensionType{
					ExtensionUrnReference: d.urn(urn), TypeAnchor: anchor, Name: name,
				},
			},
		})
	}
	return anchor
}

// references are the entities of a plan that arrived, by anchor.
type references struct{ functions, types map[uint32]entity }

func readDeclarations(p *pb.Plan) (references, error) {
	r := references{functions: map[uint32]entity{}, types: map[uint32]entity{}}
	urns := map[uint32]string{}
	for _, u := range p.GetExtensionUrns() {
		if _, twice := urns[u.GetExtensionUrnAnchor()]; twice {
			return r, fmt.Errorf("extension URN anchor %d is declared twice", u.GetExtensionUrnAnchor())
		}
		urns[u.GetExtensionUrnAnchor()] = u.GetUrn()
	}
	add := func(to map[uint32]entity, what string, urnAnchor, anchor uint32, name string) error {
		urn, ok := urns[urnAnchor]
		if !ok {
			return fmt.Errorf("%s %q refers to extension URN anchor %d, which is not declared", what, name, urnAnchor)
		}
		if _, twice := to[anchor]; twice {
			return fmt.Errorf("%s anchor %d is declared twice", what, anchor)
		}
		to[anchor] = entity{urn, name}
		return nil
	}
	for _, d := range p.GetExtensions() {
		var err error
		switch m := d.GetMappingType().(type) {
		case *extensions.SimpleExtensionDeclaration_ExtensionFunction_:
			f := m.ExtensionFunction
			err = add(r.functions, "function", f.GetExtensionUrnReference(), f.GetFunctionAnchor(), f.GetName())
		case *extensions.SimpleExtensionDeclaration_ExtensionType_:
			t := m.ExtensionType
			err = add(r.types, "type", t.GetExtensionUrnReference(), t.GetTypeAnchor(), t.GetName())
		default:
			err = fmt.Errorf("extension declaration %T is not supported", m)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r references) function(anchor uint32) (entity, error) {
	f, ok := r.functions[anchor]
	if !ok {
		return f, fmt.Errorf("function anchor %d is not declared", anchor)
	}
	return f, nil
}

func (r references) userType(anchor uint32) (entity, error) {
	t, ok := r.types[anchor]
	if !ok {
		return t, fmt.Errorf("type anchor %d is not declared", anchor)
	}
	return t, nil
}
