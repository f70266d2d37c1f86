package codec

import (
	"fmt"

	"github.com/seracdb/serac/plan"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// userTypes are the types of DuckDB that Substrait has none of, without parameters, by their names in
// extensions/duckdb.yaml.
var userTypes = map[plan.Kind]string{
	plan.Null:      "null",
	plan.HugeInt:   "hugeint",
	plan.UTinyInt:  "utinyint",
	plan.USmallInt: "usmallint",
	plan.UInteger:  "uinteger",
	plan.UBigInt:   "ubigint",
	plan.UHugeInt:  "uhugeint",
	plan.Bit:       "bit",
	plan.TimeTZ:    "timetz",
	plan.Variant:   "variant",
	plan.Geometry:  "geometry",
	plan.BigNum:    "bignum",
}

// The names of the user-defined types with parameters.
const (
	typeEnum   = "enum"   // the values as strings
	typeArray  = "array"  // element type, size
	typeStruct = "struct" // name and type of each field
	typeUnion  = "union"  // name and type of each member
	typeAlias  = "alias"  // the alias, the type below it
)

// precisions are the digits after the second of Substrait's precision types.
var (
	timePrecision      = map[plan.Kind]int32{plan.Time: 6, plan.TimeNS: 9}
	timestampPrecision = map[plan.Kind]int32{plan.TimestampS: 0, plan.TimestampMS: 3, plan.Timestamp: 6, plan.TimestampNS: 9}
)

func nullability(nullable bool) pb.Type_Nullability {
	if nullable {
		return pb.Type_NULLABILITY_NULLABLE
	}
	return pb.Type_NULLABILITY_REQUIRED
}

// typ is a type that stands in an expression or inside another type, where plan knows no nullability.
func (e *encoder) typ(t plan.Type) (*pb.Type, error) { return e.column(t, true) }

// column is the type of a column.
func (e *encoder) column(t plan.Type, nullable bool) (*pb.Type, error) {
	if err := e.depth.enter("types"); err != nil {
		return nil, err
	}
	defer e.depth.leave()
	null := nullability(nullable)
	if t.Alias != "" || userDefined(t.Kind) {
		name, params, err := e.typeParameters(t)
		if err != nil {
			return nil, err
		}
		return &pb.Type{Kind: &pb.Type_UserDefined_{UserDefined: &pb.Type_UserDefined{
			TypeReference: e.userType(urnDuckDB, name), Nullability: null, TypeParameters: params,
		}}}, nil
	}
	switch t.Kind {
	case plan.Boolean:
		return &pb.Type{Kind: &pb.Type_Bool{Bool: &pb.Type_Boolean{Nullability: null}}}, nil
	case plan.TinyInt:
		return &pb.Type{Kind: &pb.Type_I8_{I8: &pb.Type_I8{Nullability: null}}}, nil
	case plan.SmallInt:
		return &pb.Type{Kind: &pb.Type_I16_{I16: &pb.Type_I16{Nullability: null}}}, nil
	case plan.Integer:
		return &pb.Type{Kind: &pb.Type_I32_{I32: &pb.Type_I32{Nullability: null}}}, nil
	case plan.BigInt:
		return &pb.Type{Kind: &pb.Type_I64_{I64: &pb.Type_I64{Nullability: null}}}, nil
	case plan.Float:
		return &pb.Type{Kind: &pb.Type_Fp32{Fp32: &pb.Type_FP32{Nullability: null}}}, nil
	case plan.Double:
		return &pb.Type{Kind: &pb.Type_Fp64{Fp64: &pb.Type_FP64{Nullability: null}}}, nil
	case plan.Decimal:
		if err := checkDecimal(int32(t.Width), int32(t.Scale)); err != nil {
			return nil, err
		}
		return &pb.Type{Kind: &pb.Type_Decimal_{Decimal: &pb.Type_Decimal{
			Precision: int32(t.Width), Scale: int32(t.Scale), Nullability: null,
		}}}, nil
	case plan.Varchar:
		return &pb.Type{Kind: &pb.Type_String_{String_: &pb.Type_String{Nullability: null}}}, nil
	case plan.Blob:
		return &pb.Type{Kind: &pb.Type_Binary_{Binary: &pb.Type_Binary{Nullability: null}}}, nil
	case plan.UUID:
		return &pb.Type{Kind: &pb.Type_Uuid{Uuid: &pb.Type_UUID{Nullability: null}}}, nil
	case plan.Date:
		return &pb.Type{Kind: &pb.Type_Date_{Date: &pb.Type_Date{Nullability: null}}}, nil
	case plan.Time, plan.TimeNS:
		return &pb.Type{Kind: &pb.Type_PrecisionTime_{PrecisionTime: &pb.Type_PrecisionTime{
			Precision: timePrecision[t.Kind], Nullability: null,
		}}}, nil
	case plan.Timestamp, plan.TimestampS, plan.TimestampMS, plan.TimestampNS:
		return &pb.Type{Kind: &pb.Type_PrecisionTimestamp_{PrecisionTimestamp: &pb.Type_PrecisionTimestamp{
			Precision: timestampPrecision[t.Kind], Nullability: null,
		}}}, nil
	case plan.TimestampTZ:
		return &pb.Type{Kind: &pb.Type_PrecisionTimestampTz{PrecisionTimestampTz: &pb.Type_PrecisionTimestampTZ{
			Precision: 6, Nullability: null,
		}}}, nil
	case plan.Interval:
		return &pb.Type{Kind: &pb.Type_IntervalCompound_{IntervalCompound: &pb.Type_IntervalCompound{
			Precision: 6, Nullability: null,
		}}}, nil
	case plan.List:
		elem, err := e.part(t.Elem, "LIST")
		if err != nil {
			return nil, err
		}
		return &pb.Type{Kind: &pb.Type_List_{List: &pb.Type_List{Type: elem, Nullability: null}}}, nil
	case plan.Map:
		key, err := e.part(t.Key, "MAP")
		if err != nil {
			return nil, err
		}
		value, err := e.part(t.Elem, "MAP")
		if err != nil {
			return nil, err
		}
		return &pb.Type{Kind: &pb.Type_Map_{Map: &pb.Type_Map{Key: key, Value: value, Nullability: null}}}, nil
	}
	return nil, fmt.Errorf("type %s does not travel", t.Kind)
}

func (e *encoder) part(t *plan.Type, of string) (*pb.Type, error) {
	if t == nil {
		return nil, fmt.Errorf("type %s lacks the type of its elements", of)
	}
	return e.typ(*t)
}

// userDefined says whether a kind travels as a user-defined type.
func userDefined(k plan.Kind) bool {
	if _, ok := userTypes[k]; ok {
		return true
	}
	switch k {
	case plan.Enum, plan.Array, plan.Struct, plan.Union:
		return true
	}
	return false
}

// typeParameters are the name and the parameters of a user-defined type.
func (e *encoder) typeParameters(t plan.Type) (string, []*pb.Type_Parameter, error) {
	if t.Alias != "" {
		below := t
		below.Alias = ""
		param, err := e.typeParameter(&below, "alias")
		return typeAlias, []*pb.Type_Parameter{stringParameter(t.Alias), param}, err
	}
	switch t.Kind {
	case plan.Enum:
		params := make([]*pb.Type_Parameter, len(t.Values))
		for i, v := range t.Values {
			params[i] = stringParameter(v)
		}
		return typeEnum, params, nil
	case plan.Array:
		elem, err := e.typeParameter(t.Elem, "ARRAY")
		size := &pb.Type_Parameter{Parameter: &pb.Type_Parameter_Integer{Integer: int64(t.Size)}}
		return typeArray, []*pb.Type_Parameter{elem, size}, err
	case plan.Struct, plan.Union:
		name := typeStruct
		if t.Kind == plan.Union {
			name = typeUnion
		}
		params := make([]*pb.Type_Parameter, 0, 2*len(t.Fields))
		for i := range t.Fields {
			param, err := e.typeParameter(&t.Fields[i].Type, name)
			if err != nil {
				return "", nil, fmt.Errorf("field %q: %w", t.Fields[i].Name, err)
			}
			params = append(params, stringParameter(t.Fields[i].Name), param)
		}
		return name, params, nil
	}
	return userTypes[t.Kind], nil, nil
}

func (e *encoder) typeParameter(t *plan.Type, of string) (*pb.Type_Parameter, error) {
	p, err := e.part(t, of)
	if err != nil {
		return nil, err
	}
	return &pb.Type_Parameter{Parameter: &pb.Type_Parameter_DataType{DataType: p}}, nil
}

func stringParameter(s string) *pb.Type_Parameter {
	return &pb.Type_Parameter{Parameter: &pb.Type_Parameter_String_{String_: s}}
}

func checkDecimal(width, scale int32) error {
	if width < 1 || width > 38 || scale < 0 || scale > width {
		return fmt.Errorf("there is no DECIMAL(%d,%d)", width, scale)
	}
	return nil
}

// schema is the columns of a node's output.
func (e *encoder) schema(s plan.Schema) (*pb.NamedStruct, error) {
	named := &pb.NamedStruct{Struct: &pb.Type_Struct{Nullability: pb.Type_NULLABILITY_REQUIRED}}
	for _, c := range s {
		t, err := e.column(c.Type, c.Nullable)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		named.Names = append(named.Names, c.Name)
		named.Struct.Types = append(named.Struct.Types, t)
	}
	return named, nil
}
