package codec

import (
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"

	"github.com/seracdb/serac/codec/conformance/samples"
	"github.com/seracdb/serac/plan"
)

// What is written of constants and their types can be read without a fragment around it.
func TestForeignTypesReadWhatWasWritten(t *testing.T) {
	for _, c := range samples.Constants() {
		p, _ := substrait(t, &plan.Values{Rows: [][]plan.Expr{{c}}, Out: plan.Schema{{Name: "c", Type: c.Of}}})
		foreign, err := NewForeignTypes(p)
		require.NoError(t, err)
		read := p.GetRelations()[0].GetRoot().GetInput().GetRead()
		of, err := foreign.Type(read.GetBaseSchema().GetStruct().GetTypes()[0])
		require.NoError(t, err)
		require.Equal(t, c.Of, of)
		got, err := foreign.Constant(read.GetVirtualTable().GetExpressions()[0].GetFields()[0].GetLiteral())
		if err != nil { // an expression around it says its type
			require.Nil(t, read.GetVirtualTable().GetExpressions()[0].GetFields()[0].GetLiteral(), c.Of)
			continue
		}
		require.Equal(t, c.Value, got.Value)
	}
}

func TestForeignTypesOfOthersAreNotKnown(t *testing.T) {
	declare := func(anchors ...uint32) *pb.Plan {
		p := &pb.Plan{ExtensionUrns: []*extensions.SimpleExtensionURN{{ExtensionUrnAnchor: 1, Urn: "extension:dev.example:types"}}}
		for _, a := range anchors {
			p.Extensions = append(p.Extensions,
				&extensions.SimpleExtensionDeclaration{MappingType: &extensions.SimpleExtensionDeclaration_ExtensionType_{
					ExtensionType: &extensions.SimpleExtensionDeclaration_ExtensionType{ExtensionUrnReference: 1, TypeAnchor: a, Name: "point"},
				}},
				&extensions.SimpleExtensionDeclaration{MappingType: &extensions.SimpleExtensionDeclaration_ExtensionFunction_{
					ExtensionFunction: &extensions.SimpleExtensionDeclaration_ExtensionFunction{ExtensionUrnReference: 1, FunctionAnchor: a, Name: "f"},
				}})
		}
		return p
	}
	point := &pb.Type{Kind: &pb.Type_UserDefined_{UserDefined: &pb.Type_UserDefined{TypeReference: 4, Nullability: pb.Type_NULLABILITY_NULLABLE}}}
	foreign, err := NewForeignTypes(declare(3, 4))
	require.NoError(t, err)
	_, err = foreign.Type(point)
	require.ErrorContains(t, err, "point")
	_, err = foreign.Constant(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Null{Null: point}})
	require.ErrorContains(t, err, "point")
	_, err = NewForeignTypes(declare(4, 4))
	require.ErrorContains(t, err, "type anchor 4 is declared twice")
}
