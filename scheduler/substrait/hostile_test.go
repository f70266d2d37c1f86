package substrait

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/seracdb/serac/tests/tpch"
	"github.com/seracdb/serac/wire"
)

func table(name string) *pb.Rel {
	i64 := &pb.Type{Kind: &pb.Type_I64_{I64: &pb.Type_I64{}}}
	return &pb.Rel{RelType: &pb.Rel_Read{Read: &pb.ReadRel{
		BaseSchema: &pb.NamedStruct{Names: []string{"a"}, Struct: &pb.Type_Struct{Types: []*pb.Type{i64}}},
		ReadType:   &pb.ReadRel_NamedTable_{NamedTable: &pb.ReadRel_NamedTable{Names: []string{name}}},
	}}}
}

func planOf(t *testing.T, rels ...*pb.Rel) []byte {
	t.Helper()
	p := &pb.Plan{
		ExtensionUrns: []*extensions.SimpleExtensionURN{{ExtensionUrnAnchor: 1, Urn: "extension:com.example:things"}},
		Extensions: []*extensions.SimpleExtensionDeclaration{{MappingType: &extensions.SimpleExtensionDeclaration_ExtensionFunction_{
			ExtensionFunction: &extensions.SimpleExtensionDeclaration_ExtensionFunction{ExtensionUrnReference: 1, FunctionAnchor: 7, Name: "frobnicate:i64"},
		}}},
	}
	for i, r := range rels {
		if i < len(rels)-1 {
			p.Relations = append(p.Relations, &pb.PlanRel{RelType: &pb.PlanRel_Rel{Rel: r}})
		} else {
			p.Relations = append(p.Relations, &pb.PlanRel{RelType: &pb.PlanRel_Root{Root: &pb.RelRoot{Input: r, Names: []string{"a"}}}})
		}
	}
	b, err := proto.Marshal(p)
	require.NoError(t, err)
	return b
}

func filter(input *pb.Rel, cond *pb.Expression) *pb.Rel {
	return &pb.Rel{RelType: &pb.Rel_Filter{Filter: &pb.FilterRel{Input: input, Condition: cond}}}
}

func TestRefusalsNameWhatTheyRefuse(t *testing.T) {
	call := &pb.Expression{RexType: &pb.Expression_ScalarFunction_{ScalarFunction: &pb.Expression_ScalarFunction{FunctionReference: 7}}}
	undeclared := &pb.Expression{RexType: &pb.Expression_ScalarFunction_{ScalarFunction: &pb.Expression_ScalarFunction{FunctionReference: 8}}}
	outside := selection(&pb.Expression_FieldReference{ReferenceType: &pb.Expression_FieldReference_DirectReference{
		DirectReference: &pb.Expression_ReferenceSegment{ReferenceType: &pb.Expression_ReferenceSegment_StructField_{
			StructField: &pb.Expression_ReferenceSegment_StructField{Field: 3},
		}},
	}})
	deep := table("t")
	for range maxDepth {
		deep = filter(deep, &pb.Expression{RexType: &pb.Expression_Literal_{Literal: &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Boolean{Boolean: true}}}})
	}
	reference := &pb.Rel{RelType: &pb.Rel_Reference{Reference: &pb.ReferenceRel{}}}
	for _, c := range []struct {
		says string
		plan []byte
	}{
		{`function "frobnicate" of extension:com.example:things: it is not known`, planOf(t, filter(table("t"), call))},
		{"function anchor 8 is not declared", planOf(t, filter(table("t"), undeclared))},
		{"field 3 of 1", planOf(t, filter(table("t"), outside))},
		{`extension_leaf holds "type.googleapis.com/x.Y"`, planOf(t, &pb.Rel{RelType: &pb.Rel_ExtensionLeaf{
			ExtensionLeaf: &pb.ExtensionLeafRel{Detail: &anypb.Any{TypeUrl: "type.googleapis.com/x.Y"}},
		}})},
		{"relation write is not supported", planOf(t, &pb.Rel{RelType: &pb.Rel_Write{Write: &pb.WriteRel{}}})},
		{"reading a LocalFiles is not supported", planOf(t, &pb.Rel{RelType: &pb.Rel_Read{Read: &pb.ReadRel{
			ReadType: &pb.ReadRel_LocalFiles_{LocalFiles: &pb.ReadRel_LocalFiles{}},
		}}})},
		{"nests deeper than", planOf(t, deep)},
		{"refers to itself", planOf(t, reference, reference)},
		{"a relation is missing", planOf(t, filter(nil, nil))},
		{"it has no root", nil},
		{"it is no substrait.Plan", []byte("SELECT 1")},
	} {
		_, err := SQL(c.plan)
		require.ErrorContains(t, err, c.says)
		require.ErrorIs(t, err, wire.ErrStatement, c.says)
	}
}

// What a plan quotes stays quoted.
func TestNamesAreQuoted(t *testing.T) {
	text, err := SQL(planOf(t, table(`t"; DROP TABLE x; --`)))
	require.NoError(t, err)
	require.Equal(t, `SELECT CAST(r1."a" AS BIGINT) AS "a" FROM "t""; DROP TABLE x; --" AS r1`, text)
}

// Cut-off and damaged plans give a text or an error, never a panic.
func TestDamagedPlans(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	failed := 0
	for _, producer := range tpch.Producers {
		for n := 1; n <= tpch.Queries; n++ {
			whole := tpch.SubstraitPlan(producer, n)
			for range 40 {
				if len(whole) == 0 {
					continue
				}
				b := append([]byte(nil), whole...)
				if random.IntN(2) == 0 {
					b = b[:random.IntN(len(b))]
				}
				for range 1 + random.IntN(4) {
					if len(b) > 0 {
						b[random.IntN(len(b))] ^= 1 << random.IntN(8)
					}
				}
				if _, err := SQL(b); err != nil {
					require.ErrorIs(t, err, wire.ErrStatement)
					failed++
				}
			}
		}
	}
	require.Greater(t, failed, 500)
}
