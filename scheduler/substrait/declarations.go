package substrait

import (
	"fmt"
	"strings"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
)

// function is a function that a plan declares.
type function struct {
	// urn is the URN or the URI of its extension; "" when the plan does not say.
	urn string
	// name is its name without the signature of its arguments.
	name string
}

func (f function) String() string {
	if f.urn == "" {
		return fmt.Sprintf("function %q", f.name)
	}
	return fmt.Sprintf("function %q of %s", f.name, f.urn)
}

// declarations are what a plan's anchors stand for.
type declarations struct {
	functions map[uint32]function
	// types reads Serac's own types.
	types *codec.ForeignTypes
}

// Field numbers of Substrait before its version 0.75, which named extensions by URIs. The Go messages no longer have them.
const (
	planExtensionURIs  = 1 // Plan.extension_uris: SimpleExtensionURI{extension_uri_anchor = 1, uri = 2}
	declarationURIRef  = 1 // ExtensionFunction.extension_uri_reference
	uriAnchor, uriText = 1, 2
)

func readDeclarations(p *pb.Plan) (declarations, error) {
	d := declarations{functions: map[uint32]function{}}
	urns, uris := map[uint32]string{}, map[uint32]string{}
	for _, u := range p.GetExtensionUrns() {
		if _, twice := urns[u.GetExtensionUrnAnchor()]; twice {
			return d, fmt.Errorf("extension URN anchor %d is declared twice", u.GetExtensionUrnAnchor())
		}
		urns[u.GetExtensionUrnAnchor()] = u.GetUrn()
	}
	if err := readURIs(p, uris); err != nil {
		return d, err
	}
	for _, e := range p.GetExtensions() {
		f := e.GetExtensionFunction()
		if f == nil {
			continue // types are read where they are used
		}
		if _, twice := d.functions[f.GetFunctionAnchor()]; twice {
			return d, fmt.Errorf("function anchor %d is declared twice", f.GetFunctionAnchor())
		}
		// A reference to an extension that is not declared is how DataFusion says that it knows none.
		urn, ok := urns[f.GetExtensionUrnReference()]
		if !ok {
			urn = uris[uriReference(f)]
		}
		name := f.GetName()
		if urn != codec.URNDuckDB { // DuckDB's names have no signatures, and colons may stand in them
			name, _, _ = strings.Cut(name, ":")
		}
		d.functions[f.GetFunctionAnchor()] = function{urn, name}
	}
	var err error
	d.types, err = codec.NewForeignTypes(p)
	return d, err
}

func readURIs(p *pb.Plan, uris map[uint32]string) error {
	for rest := []byte(p.ProtoReflect().GetUnknown()); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return fmt.Errorf("it is cut off")
		}
		if number != planExtensionURIs || kind != protowire.BytesType {
			return fmt.Errorf("substrait.Plan has field %d, which this version does not know", number)
		}
		value, m := protowire.ConsumeBytes(rest[n:])
		if m < 0 {
			return fmt.Errorf("it is cut off")
		}
		rest = rest[n+m:]
		anchor, uri := uint64(0), ""
		for len(value) > 0 {
			number, kind, n := protowire.ConsumeTag(value)
			if n < 0 {
				return fmt.Errorf("an extension URI is cut off")
			}
			value = value[n:]
			switch {
			case number == uriAnchor && kind == protowire.VarintType:
				anchor, n = protowire.ConsumeVarint(value)
			case number == uriText && kind == protowire.BytesType:
				var text []byte
				text, n = protowire.ConsumeBytes(value)
				uri = string(text)
			default:
				n = protowire.ConsumeFieldValue(number, kind, value)
			}
			if n < 0 {
				return fmt.Errorf("an extension URI is cut off")
			}
			value = value[n:]
		}
		if _, twice := uris[uint32(anchor)]; twice {
			return fmt.Errorf("extension URI anchor %d is declared twice", anchor)
		}
		uris[uint32(anchor)] = uri
	}
	return nil
}

// uriReference is the anchor of the URI that a function's declaration names in the old field.
func uriReference(f *extensions.SimpleExtensionDeclaration_ExtensionFunction) uint32 {
	for rest := []byte(f.ProtoReflect().GetUnknown()); len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return 0
		}
		rest = rest[n:]
		if number == declarationURIRef && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(rest)
			return uint32(v)
		}
		if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
			return 0
		}
		rest = rest[n:]
	}
	return 0
}

func (d declarations) function(anchor uint32) (function, error) {
	f, ok := d.functions[anchor]
	if !ok {
		return f, fmt.Errorf("function anchor %d is not declared", anchor)
	}
	return f, nil
}

// known refuses fields that the messages of this version do not have: they were set because they matter.
func known(m proto.Message) error {
	r := m.ProtoReflect()
	if unknown := r.GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return fmt.Errorf("%s has field %d, which this version does not know", r.Descriptor().FullName(), number)
	}
	return nil
}
