package codec

import (
	"fmt"
	"math"
	"math/big"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// typeDoubleFloat is the type of a FLOAT literal whose value the plan holds as a double that no float equals (0.1, say, as
// a number in JSON).
const typeDoubleFloat = "double_float"

const microsPerSecond = 1_000_000

// literal is a constant. Every literal says its whole type.
func (e *encoder) literal(value any, t plan.Type) (*pb.Expression_Literal, error) {
	if err := e.depth.enter("literals"); err != nil {
		return nil, err
	}
	defer e.depth.leave()
	if value == nil {
		null, err := e.typ(t)
		if err != nil {
			return nil, err
		}
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Null{Null: null}}, nil
	}
	if t.Alias != "" {
		below := t
		below.Alias = ""
		inner, err := e.literal(value, below)
		if err != nil {
			return nil, err
		}
		return e.userLiteral(t, []*pb.Expression_Literal{inner}, nil)
	}
	switch v := value.(type) {
	case bool:
		if t.Kind == plan.Boolean {
			return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Boolean{Boolean: v}}, nil
		}
	case int64:
		return e.integerLiteral(v, t)
	case uint64:
		if limit, ok := unsignedLimits[t.Kind]; ok {
			if v > limit {
				return nil, fmt.Errorf("constant %d is out of range for %s", v, t.Kind)
			}
			return e.userLiteral(t, nil, &seracv1.Scalar{Value: &seracv1.Scalar_Unsigned{Unsigned: v}})
		}
	case *big.Int:
		return e.bigLiteral(v, t)
	case float64:
		switch t.Kind {
		case plan.Double:
			return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Fp64{Fp64: v}}, nil
		case plan.Float:
			if f := float32(v); float64(f) == v || math.IsNaN(v) {
				return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Fp32{Fp32: f}}, nil
			}
			return userLiteral(e.userType(urnPlan, typeDoubleFloat), nil, nil,
				&seracv1.Scalar{Value: &seracv1.Scalar_Real{Real: v}})
		}
	case string:
		switch t.Kind {
		case plan.Varchar:
			return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_String_{String_: v}}, nil
		case plan.Enum, plan.Bit:
			return e.userLiteral(t, nil, &seracv1.Scalar{Value: &seracv1.Scalar_Text{Text: v}})
		}
	case []byte:
		if t.Kind == plan.Blob {
			return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Binary{Binary: v}}, nil
		}
	case [16]byte:
		if t.Kind == plan.UUID {
			return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Uuid{Uuid: v[:]}}, nil
		}
	case plan.IntervalValue:
		if t.Kind == plan.Interval {
			return intervalLiteral(v), nil
		}
	case []any:
		return e.nestedLiteral(v, t)
	case []plan.MapEntry:
		if t.Kind == plan.Map {
			return e.mapLiteral(v, t)
		}
	}
	return nil, fmt.Errorf("a %T is no constant of type %s", value, t.Kind)
}

// signedLimits are the largest values of the integers that travel as such; the smallest are one below their negatives.
var signedLimits = map[plan.Kind]int64{
	plan.TinyInt: math.MaxInt8, plan.SmallInt: math.MaxInt16, plan.Integer: math.MaxInt32, plan.BigInt: math.MaxInt64,
	plan.Date: math.MaxInt32,
}

// unsignedLimits are the largest values of the unsigned integers.
var unsignedLimits = map[plan.Kind]uint64{
	plan.UTinyInt: math.MaxUint8, plan.USmallInt: math.MaxUint16, plan.UInteger: math.MaxUint32, plan.UBigInt: math.MaxUint64,
}

func (e *encoder) integerLiteral(v int64, t plan.Type) (*pb.Expression_Literal, error) {
	if limit, ok := signedLimits[t.Kind]; ok && (v > limit || v < -limit-1) {
		return nil, fmt.Errorf("constant %d is out of range for %s", v, t.Kind)
	}
	switch t.Kind {
	case plan.TinyInt:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_I8{I8: int32(v)}}, nil
	case plan.SmallInt:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_I16{I16: int32(v)}}, nil
	case plan.Integer:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_I32{I32: int32(v)}}, nil
	case plan.BigInt:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_I64{I64: v}}, nil
	case plan.Date:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Date{Date: int32(v)}}, nil
	case plan.Time, plan.TimeNS:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_PrecisionTime_{
			PrecisionTime: &pb.Expression_Literal_PrecisionTime{Precision: timePrecision[t.Kind], Value: v},
		}}, nil
	case plan.Timestamp, plan.TimestampS, plan.TimestampMS, plan.TimestampNS:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_PrecisionTimestamp_{
			PrecisionTimestamp: &pb.Expression_Literal_PrecisionTimestamp{Precision: timestampPrecision[t.Kind], Value: v},
		}}, nil
	case plan.TimestampTZ:
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_PrecisionTimestampTz{
			PrecisionTimestampTz: &pb.Expression_Literal_PrecisionTimestamp{Precision: 6, Value: v},
		}}, nil
	case plan.TimeTZ:
		return e.userLiteral(t, nil, &seracv1.Scalar{Value: &seracv1.Scalar_Signed{Signed: v}})
	}
	return nil, fmt.Errorf("an integer is no constant of type %s", t.Kind)
}

func (e *encoder) bigLiteral(v *big.Int, t plan.Type) (*pb.Expression_Literal, error) {
	if v == nil {
		return nil, fmt.Errorf("a nil number is no constant of type %s", t.Kind)
	}
	if !fitsHuge(v, t.Kind) {
		return nil, fmt.Errorf("constant %s is out of range for %s", v, t.Kind)
	}
	switch t.Kind {
	case plan.HugeInt, plan.UHugeInt:
		return e.userLiteral(t, nil, &seracv1.Scalar{Value: &seracv1.Scalar_Integer{Integer: twosComplement(v)}})
	case plan.Decimal:
		if err := checkDecimal(int32(t.Width), int32(t.Scale)); err != nil {
			return nil, err
		}
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Decimal_{Decimal: &pb.Expression_Literal_Decimal{
			Value: decimalBytes(v), Precision: int32(t.Width), Scale: int32(t.Scale),
		}}}, nil
	}
	return nil, fmt.Errorf("a big integer is no constant of type %s", t.Kind)
}

// fitsHuge says whether v fits the 128 bits of a kind.
func fitsHuge(v *big.Int, k plan.Kind) bool {
	if k == plan.UHugeInt {
		return v.Sign() >= 0 && v.BitLen() <= 128
	}
	// The smallest number has 128 bits, as its magnitude does, and no other such number is in range.
	return v.BitLen() <= 127 || (v.Sign() < 0 && v.BitLen() == 128 && v.TrailingZeroBits() == 127)
}

// twosComplement is v, big-endian, in as few bytes as hold its sign.
func twosComplement(v *big.Int) []byte {
	if v.Sign() >= 0 {
		b := v.Bytes()
		if len(b) > 0 && b[0]&0x80 != 0 {
			b = append([]byte{0}, b...)
		}
		return b
	}
	n := v.BitLen()/8 + 1
	shifted := new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	b := shifted.Bytes()
	if len(b) > 1 && b[0] == 0xFF && b[1]&0x80 != 0 {
		b = b[1:]
	}
	return b
}

// decimalBytes is v as Substrait's decimals are: 16 bytes of two's complement, little-endian.
func decimalBytes(v *big.Int) []byte {
	b := twosComplement(v)
	out := make([]byte, 16)
	for i := range out {
		switch {
		case i < len(b):
			out[i] = b[len(b)-1-i]
		case v.Sign() < 0:
			out[i] = 0xFF
		}
	}
	return out
}

// intervalLiteral keeps months, days and microseconds apart. Seconds that Substrait's 32 bits do not hold stay among the
// microseconds.
func intervalLiteral(v plan.IntervalValue) *pb.Expression_Literal {
	seconds, micros := v.Micros/microsPerSecond, v.Micros%microsPerSecond
	if seconds > math.MaxInt32 || seconds < math.MinInt32 {
		seconds, micros = 0, v.Micros
	}
	return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_IntervalCompound_{
		IntervalCompound: &pb.Expression_Literal_IntervalCompound{
			IntervalYearToMonth: &pb.Expression_Literal_IntervalYearToMonth{Years: v.Months / 12, Months: v.Months % 12},
			IntervalDayToSecond: &pb.Expression_Literal_IntervalDayToSecond{
				Days: v.Days, Seconds: int32(seconds), Subseconds: micros,
				PrecisionMode: &pb.Expression_Literal_IntervalDayToSecond_Precision{Precision: 6},
			},
		},
	}}
}

// nestedLiteral is a list, an array or a struct.
func (e *encoder) nestedLiteral(values []any, t plan.Type) (*pb.Expression_Literal, error) {
	elem := func(int) *plan.Type { return t.Elem }
	switch t.Kind {
	case plan.List:
	case plan.Array:
		if len(values) != int(t.Size) {
			return nil, fmt.Errorf("constant of type ARRAY of %d has %d elements", t.Size, len(values))
		}
	case plan.Struct:
		if len(values) != len(t.Fields) {
			return nil, fmt.Errorf("constant of a STRUCT of %d fields has %d", len(t.Fields), len(values))
		}
		elem = func(i int) *plan.Type { return &t.Fields[i].Type }
	default:
		return nil, fmt.Errorf("a list is no constant of type %s", t.Kind)
	}
	if t.Kind == plan.List && len(values) == 0 {
		list, err := e.typ(t)
		if err != nil {
			return nil, err
		}
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_EmptyList{EmptyList: list.GetList()}}, nil
	}
	literals := make([]*pb.Expression_Literal, len(values))
	for i, v := range values {
		inner := elem(i)
		if inner == nil {
			return nil, fmt.Errorf("type %s lacks the type of its elements", t.Kind)
		}
		l, err := e.literal(v, *inner)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		literals[i] = l
	}
	if t.Kind == plan.List {
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_List_{
			List: &pb.Expression_Literal_List{Values: literals},
		}}, nil
	}
	return e.userLiteral(t, literals, nil)
}

func (e *encoder) mapLiteral(entries []plan.MapEntry, t plan.Type) (*pb.Expression_Literal, error) {
	if len(entries) == 0 {
		empty, err := e.typ(t)
		if err != nil {
			return nil, err
		}
		return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_EmptyMap{EmptyMap: empty.GetMap()}}, nil
	}
	if t.Key == nil || t.Elem == nil {
		return nil, fmt.Errorf("type MAP lacks the type of its keys or values")
	}
	m := &pb.Expression_Literal_Map{}
	for i, entry := range entries {
		key, err := e.literal(entry.Key, *t.Key)
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		value, err := e.literal(entry.Value, *t.Elem)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
		m.KeyValues = append(m.KeyValues, &pb.Expression_Literal_Map_KeyValue{Key: key, Value: value})
	}
	return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_Map_{Map: m}}, nil
}

// userLiteral is a literal of a user-defined type: of parts, or of a scalar.
func (e *encoder) userLiteral(t plan.Type, parts []*pb.Expression_Literal, scalar *seracv1.Scalar) (*pb.Expression_Literal, error) {
	name, params, err := e.typeParameters(t)
	if err != nil {
		return nil, err
	}
	return userLiteral(e.userType(urnDuckDB, name), params, parts, scalar)
}

func userLiteral(anchor uint32, params []*pb.Type_Parameter, parts []*pb.Expression_Literal, scalar *seracv1.Scalar) (*pb.Expression_Literal, error) {
	u := &pb.Expression_Literal_UserDefined{
		TypeAnchorType: &pb.Expression_Literal_UserDefined_TypeReference{TypeReference: anchor},
		TypeParameters: params,
	}
	if scalar == nil {
		u.Val = &pb.Expression_Literal_UserDefined_Struct{Struct: &pb.Expression_Literal_Struct{Fields: parts}}
	} else {
		value, err := packed(scalar)
		if err != nil {
			return nil, err
		}
		u.Val = &pb.Expression_Literal_UserDefined_Value{Value: value}
	}
	return &pb.Expression_Literal{LiteralType: &pb.Expression_Literal_UserDefined_{UserDefined: u}}, nil
}
