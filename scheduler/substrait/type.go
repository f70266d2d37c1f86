package substrait

import (
	"fmt"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/seracdb/serac/plan"
)

// typ is a type of the plan as DuckDB's. Nullability says nothing about how a query runs, and is dropped.
func (t *translator) typ(m *pb.Type) (plan.Type, error) {
	if err := t.enter(); err != nil {
		return plan.Type{}, err
	}
	defer t.leave()
	switch k := m.GetKind().(type) {
	case *pb.Type_Bool:
		return plan.T(plan.Boolean), nil
	case *pb.Type_I8_:
		return plan.T(plan.TinyInt), nil
	case *pb.Type_I16_:
		return plan.T(plan.SmallInt), nil
	case *pb.Type_I32_:
		return plan.T(plan.Integer), nil
	case *pb.Type_I64_:
		return plan.T(plan.BigInt), nil
	case *pb.Type_Fp32:
		return plan.T(plan.Float), nil
	case *pb.Type_Fp64:
		return plan.T(plan.Double), nil
	case *pb.Type_String_, *pb.Type_Varchar, *pb.Type_FixedChar_:
		return plan.T(plan.Varchar), nil
	case *pb.Type_Binary_, *pb.Type_FixedBinary_:
		return plan.T(plan.Blob), nil
	case *pb.Type_Uuid:
		return plan.T(plan.UUID), nil
	case *pb.Type_Date_:
		return plan.T(plan.Date), nil
	case *pb.Type_Time_:
		return plan.T(plan.Time), nil
	case *pb.Type_Timestamp_:
		return plan.T(plan.Timestamp), nil
	case *pb.Type_TimestampTz:
		return plan.T(plan.TimestampTZ), nil
	case *pb.Type_PrecisionTime_:
		return byPrecision(k.PrecisionTime.GetPrecision(), plan.Time, plan.Time, plan.Time, plan.TimeNS)
	case *pb.Type_PrecisionTimestamp_:
		return byPrecision(k.PrecisionTimestamp.GetPrecision(), plan.TimestampS, plan.TimestampMS, plan.Timestamp, plan.TimestampNS)
	case *pb.Type_PrecisionTimestampTz:
		if p := k.PrecisionTimestampTz.GetPrecision(); p > 6 {
			return plan.Type{}, fmt.Errorf("timestamps with time zone of precision %d are not supported", p)
		}
		return plan.T(plan.TimestampTZ), nil
	case *pb.Type_IntervalYear_, *pb.Type_IntervalDay_, *pb.Type_IntervalCompound_:
		return plan.T(plan.Interval), nil
	case *pb.Type_Decimal_:
		p, s := k.Decimal.GetPrecision(), k.Decimal.GetScale()
		if p < 1 || p > 38 || s < 0 || s > p {
			return plan.Type{}, fmt.Errorf("DECIMAL(%d,%d) is no type", p, s)
		}
		return plan.DecimalType(uint8(p), uint8(s)), nil
	case *pb.Type_List_:
		elem, err := t.typ(k.List.GetType())
		return plan.ListType(elem), err
	case *pb.Type_Map_:
		key, err := t.typ(k.Map.GetKey())
		if err != nil {
			return plan.Type{}, err
		}
		value, err := t.typ(k.Map.GetValue())
		return plan.Type{Kind: plan.Map, Key: &key, Elem: &value}, err
	case *pb.Type_Struct_:
		s := plan.Type{Kind: plan.Struct}
		for _, f := range k.Struct.GetTypes() {
			of, err := t.typ(f)
			if err != nil {
				return plan.Type{}, err
			}
			s.Fields = append(s.Fields, plan.Field{Type: of})
		}
		return s, nil
	case *pb.Type_UserDefined_:
		return t.types.Type(m)
	case nil:
		return plan.Type{}, fmt.Errorf("a type is missing")
	default:
		return plan.Type{}, fmt.Errorf("type %T is not supported", k)
	}
}

// byPrecision is the kind that holds a number of digits of a second.
func byPrecision(digits int32, seconds, millis, micros, nanos plan.Kind) (plan.Type, error) {
	switch {
	case digits < 0 || digits > 9:
		return plan.Type{}, fmt.Errorf("precision %d is not supported", digits)
	case digits == 0:
		return plan.T(seconds), nil
	case digits <= 3:
		return plan.T(millis), nil
	case digits <= 6:
		return plan.T(micros), nil
	}
	return plan.T(nanos), nil
}

// optionalType is a type that a plan need not give.
func (t *translator) optionalType(m *pb.Type) (plan.Type, error) {
	if m.GetKind() == nil {
		return plan.Type{}, nil
	}
	return t.typ(m)
}
