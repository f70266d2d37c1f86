package substrait

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
	"github.com/substrait-io/substrait-protobuf/go/substraitpb/extensions"
	"google.golang.org/protobuf/proto"

	"github.com/seracdb/serac/codec"
	"github.com/seracdb/serac/tests/compare"
)

// message makes the messages of one plan.
type message struct{ functions []string }

// anchor is a function's; names are of Substrait's own extensions, or DuckDB's with duckdb: before them.
func (m *message) anchor(name string) uint32 {
	i := slices.Index(m.functions, name)
	if i < 0 {
		i = len(m.functions)
		m.functions = append(m.functions, name)
	}
	return uint32(i + 1)
}

func (m *message) bytes(t *testing.T, root *pb.Rel, others ...*pb.Rel) []byte {
	t.Helper()
	p := &pb.Plan{ExtensionUrns: []*extensions.SimpleExtensionURN{
		{ExtensionUrnAnchor: 1, Urn: "extension:io.substrait:functions_all"}, {ExtensionUrnAnchor: 2, Urn: codec.URNDuckDB},
	}}
	for i, name := range m.functions {
		urn := uint32(1)
		if own, ok := strings.CutPrefix(name, "duckdb:"); ok {
			urn, name = 2, own
		}
		p.Extensions = append(p.Extensions, &extensions.SimpleExtensionDeclaration{
			MappingType: &extensions.SimpleExtensionDeclaration_ExtensionFunction_{
				ExtensionFunction: &extensions.SimpleExtensionDeclaration_ExtensionFunction{
					ExtensionUrnReference: urn, FunctionAnchor: uint32(i + 1), Name: name,
				},
			},
		})
	}
	for _, r := range others {
		p.Relations = append(p.Relations, &pb.PlanRel{RelType: &pb.PlanRel_Rel{Rel: r}})
	}
	p.Relations = append(p.Relations, &pb.PlanRel{RelType: &pb.PlanRel_Root{Root: &pb.RelRoot{Input: root}}})
	b, err := proto.Marshal(p)
	require.NoError(t, err)
	return b
}

// typeOf is a type by its name in SQL.
func typeOf(name string) *pb.Type {
	switch name {
	case "BOOLEAN":
		return &pb.Type{Kind: &pb.Type_Bool{Bool: &pb.Type_Boolean{}}}
	case "TINYINT":
		return &pb.Type{Kind: &pb.Type_I8_{I8: &pb.Type_I8{}}}
	case "SMALLINT":
		return &pb.Type{Kind: &pb.Type_I16_{I16: &pb.Type_I16{}}}
	case "INTEGER":
		return &pb.Type{Kind: &pb.Type_I32_{I32: &pb.Type_I32{}}}
	case "BIGINT":
		return &pb.Type{Kind: &pb.Type_I64_{I64: &pb.Type_I64{}}}
	case "DOUBLE":
		return &pb.Type{Kind: &pb.Type_Fp64{Fp64: &pb.Type_FP64{}}}
	case "VARCHAR":
		return &pb.Type{Kind: &pb.Type_String_{String_: &pb.Type_String{}}}
	case "DATE":
		return &pb.Type{Kind: &pb.Type_Date_{Date: &pb.Type_Date{}}}
	case "TIMESTAMP":
		return &pb.Type{Kind: &pb.Type_PrecisionTimestamp_{PrecisionTimestamp: &pb.Type_PrecisionTimestamp{Precision: 6}}}
	case "TIMESTAMPTZ":
		return &pb.Type{Kind: &pb.Type_PrecisionTimestampTz{PrecisionTimestampTz: &pb.Type_PrecisionTimestampTZ{Precision: 6}}}
	case "":
		return nil
	}
	var p, s int32
	if _, err := fmt.Sscanf(name, "DECIMAL(%d,%d)", &p, &s); err != nil {
		panic(name)
	}
	return &pb.Type{Kind: &pb.Type_Decimal_{Decimal: &pb.Type_Decimal{Precision: p, Scale: s}}}
}

func literalOf(l *pb.Expression_Literal) *pb.Expression {
	return &pb.Expression{RexType: &pb.Expression_Literal_{Literal: l}}
}

func i32Literal(n int32) *pb.Expression_Literal {
	return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_I32{I32: n}}
}

func stringLiteral(s string) *pb.Expression_Literal {
	return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_String_{String_: s}}
}

func i32(n int32) *pb.Expression   { return literalOf(i32Literal(n)) }
func text(s string) *pb.Expression { return literalOf(stringLiteral(s)) }

func i64(n int64) *pb.Expression {
	return literalOf(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_I64{I64: n}})
}

func double(f float64) *pb.Expression {
	return literalOf(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Fp64{Fp64: f}})
}

func null(of string) *pb.Expression {
	return literalOf(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Null{Null: typeOf(of)}})
}

// dec is a decimal of a type, by its text.
func dec(text string, p, s int32) *pb.Expression {
	n, ok := new(big.Int).SetString(strings.ReplaceAll(text, ".", ""), 10)
	if _, fraction, _ := strings.Cut(text, "."); !ok || len(fraction) != int(s) {
		panic(text)
	}
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	value := make([]byte, 16)
	n.FillBytes(value)
	slices.Reverse(value)
	return literalOf(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Decimal_{
		Decimal: &pb.Expression_Literal_Decimal{Value: value, Precision: p, Scale: s},
	}})
}

// castOf makes a value of another type of a text, as DuckDB reads it.
func castOf(e *pb.Expression, of string) *pb.Expression {
	return &pb.Expression{RexType: &pb.Expression_Cast_{Cast: &pb.Expression_Cast{Input: e, Type: typeOf(of)}}}
}

func fieldOf(n int32) *pb.Expression_FieldReference {
	return &pb.Expression_FieldReference{
		ReferenceType: &pb.Expression_FieldReference_DirectReference{DirectReference: &pb.Expression_ReferenceSegment{
			ReferenceType: &pb.Expression_ReferenceSegment_StructField_{StructField: &pb.Expression_ReferenceSegment_StructField{Field: n}},
		}},
		RootType: &pb.Expression_FieldReference_RootReference_{RootReference: &pb.Expression_FieldReference_RootReference{}},
	}
}

func col(n int32) *pb.Expression { return selection(fieldOf(n)) }

// outerCol is a column of the query that is steps out.
func outerCol(steps uint32, n int32) *pb.Expression {
	f := fieldOf(n)
	f.RootType = &pb.Expression_FieldReference_OuterReference_{OuterReference: &pb.Expression_FieldReference_OuterReference{StepsOut: steps}}
	return selection(f)
}

// enum stands for an argument that is one.
type enum string

func arguments(args []any) []*pb.FunctionArgument {
	var out []*pb.FunctionArgument
	for _, a := range args {
		switch a := a.(type) {
		case enum:
			out = append(out, &pb.FunctionArgument{ArgType: &pb.FunctionArgument_Enum{Enum: string(a)}})
		case *pb.Expression:
			out = append(out, &pb.FunctionArgument{ArgType: &pb.FunctionArgument_Value{Value: a}})
		default:
			panic(fmt.Sprintf("%T", a))
		}
	}
	return out
}

// option is an option of a function: its name and the values that may be, the best first.
func option(name string, values ...string) *pb.FunctionOption {
	return &pb.FunctionOption{Name: name, Preference: values}
}

// call is a call of a scalar function with a result of a type ("": not said). Options go among the arguments.
func (m *message) call(name, of string, args ...any) *pb.Expression {
	f := &pb.Expression_ScalarFunction{FunctionReference: m.anchor(name), OutputType: typeOf(of)}
	var values []any
	for _, a := range args {
		if o, ok := a.(*pb.FunctionOption); ok {
			f.Options = append(f.Options, o)
			continue
		}
		values = append(values, a)
	}
	f.Arguments = arguments(values)
	return &pb.Expression{RexType: &pb.Expression_ScalarFunction_{ScalarFunction: f}}
}

func (m *message) equal(a, b *pb.Expression) *pb.Expression { return m.call("equal", "BOOLEAN", a, b) }

// measure is a call of an aggregate. Options go among the arguments.
func (m *message) measure(name, of string, args ...any) *pb.AggregateRel_Measure {
	f := &pb.AggregateFunction{FunctionReference: m.anchor(name), OutputType: typeOf(of)}
	var values []any
	for _, a := range args {
		if o, ok := a.(*pb.FunctionOption); ok {
			f.Options = append(f.Options, o)
			continue
		}
		values = append(values, a)
	}
	f.Arguments = arguments(values)
	return &pb.AggregateRel_Measure{Measure: f}
}

// scan reads a table of columns "name TYPE".
func scan(table string, columns ...string) *pb.Rel {
	s := &pb.NamedStruct{Struct: &pb.Type_Struct{}}
	for _, c := range columns {
		name, of, _ := strings.Cut(c, " ")
		s.Names = append(s.Names, name)
		s.Struct.Types = append(s.Struct.Types, typeOf(of))
	}
	return &pb.Rel{RelType: &pb.Rel_Read{Read: &pb.ReadRel{
		BaseSchema: s, ReadType: &pb.ReadRel_NamedTable_{NamedTable: &pb.ReadRel_NamedTable{Names: []string{table}}},
	}}}
}

func emit(columns ...int32) *pb.RelCommon {
	return &pb.RelCommon{EmitKind: &pb.RelCommon_Emit_{Emit: &pb.RelCommon_Emit{OutputMapping: columns}}}
}

// only is a projection of the expressions over an input of so many columns.
func only(in *pb.Rel, width int32, es ...*pb.Expression) *pb.Rel {
	keep := make([]int32, len(es))
	for i := range es {
		keep[i] = width + int32(i)
	}
	return &pb.Rel{RelType: &pb.Rel_Project{Project: &pb.ProjectRel{Common: emit(keep...), Input: in, Expressions: es}}}
}

func sorted(in *pb.Rel, by ...*pb.Expression) *pb.Rel {
	return &pb.Rel{RelType: &pb.Rel_Sort{Sort: &pb.SortRel{Input: in, Sorts: ascending(by...)}}}
}

func ascending(by ...*pb.Expression) []*pb.SortField {
	var out []*pb.SortField
	for _, e := range by {
		out = append(out, &pb.SortField{Expr: e, SortKind: &pb.SortField_Direction{Direction: pb.SortField_SORT_DIRECTION_ASC_NULLS_LAST}})
	}
	return out
}

// one is a row without columns.
func one() *pb.Rel {
	return &pb.Rel{RelType: &pb.Rel_Read{Read: &pb.ReadRel{
		BaseSchema: &pb.NamedStruct{Struct: &pb.Type_Struct{}},
		ReadType: &pb.ReadRel_VirtualTable_{VirtualTable: &pb.ReadRel_VirtualTable{
			Expressions: []*pb.Expression_Nested_Struct{{}},
		}},
	}}}
}

// same holds a plan against a query. Names and types are left aside; the rows must be in the same order if the query has one.
func (d *database) same(sql string, plan []byte) {
	d.t.Helper()
	text, err := SQL(plan)
	require.NoError(d.t, err, sql)
	got, err := d.rows(text)
	require.NoError(d.t, err, text)
	want, err := d.rows(sql)
	require.NoError(d.t, err, sql)
	require.Len(d.t, got.Names, len(want.Names), text)
	for _, r := range []*compare.Result{got, want} {
		for i := range r.Names {
			r.Names[i], r.Types[i] = "", ""
		}
	}
	var order []int
	if strings.Contains(sql, "ORDER BY ALL") {
		for i := range want.Names {
			order = append(order, i)
		}
	}
	require.Empty(d.t, compare.Diff(want, got, order...), "%s\n%s", sql, text)
}

// replaced puts a condition into a query.
func replaced(sql, cond string) string { return strings.ReplaceAll(sql, "%", cond) }
