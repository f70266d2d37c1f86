package substrait

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/plan/render"
)

// literal is a literal, with its type.
func (t *translator) literal(l *pb.Expression_Literal) (column, error) {
	if err := t.enter(); err != nil {
		return column{}, err
	}
	defer t.leave()
	switch v := l.GetLiteralType().(type) {
	case *pb.Expression_Literal_Null:
		of, err := t.typ(v.Null)
		if err != nil {
			return column{}, err
		}
		return column{sql: cast("NULL", of), of: of}, nil
	case *pb.Expression_Literal_List_:
		values, err := t.literals(v.List.GetValues())
		if err != nil {
			return column{}, err
		}
		of := plan.Type{}
		if len(values) > 0 {
			of = plan.ListType(values[0].of)
		}
		return column{sql: "list_value(" + list(values) + ")", of: of}, nil
	case *pb.Expression_Literal_Struct_:
		fields, err := t.literals(v.Struct.GetFields())
		if err != nil {
			return column{}, err
		}
		if len(fields) == 0 {
			return column{}, fmt.Errorf("a struct has no fields")
		}
		of := plan.Type{Kind: plan.Struct}
		for _, f := range fields {
			of.Fields = append(of.Fields, plan.Field{Type: f.of})
		}
		return column{sql: "row(" + list(fields) + ")", of: of}, nil
	case *pb.Expression_Literal_Map_:
		var keys, values []column
		for _, kv := range v.Map.GetKeyValues() {
			k, err := t.literal(kv.GetKey())
			if err != nil {
				return column{}, err
			}
			value, err := t.literal(kv.GetValue())
			if err != nil {
				return column{}, err
			}
			keys, values = append(keys, k), append(values, value)
		}
		return mapOf(keys, values), nil
	case *pb.Expression_Literal_EmptyList:
		of, err := t.typ(&pb.Type{Kind: &pb.Type_List_{List: v.EmptyList}})
		return column{sql: cast("[]", of), of: of}, err
	case *pb.Expression_Literal_EmptyMap:
		of, err := t.typ(&pb.Type{Kind: &pb.Type_Map_{Map: v.EmptyMap}})
		return column{sql: cast("MAP {}", of), of: of}, err
	}
	c, err := t.constant(l)
	if err != nil {
		return column{}, err
	}
	text, err := render.Constant(c)
	return column{sql: text, of: c.Of}, err
}

func (t *translator) literals(ls []*pb.Expression_Literal) ([]column, error) {
	out := make([]column, len(ls))
	for i, l := range ls {
		var err error
		if out[i], err = t.literal(l); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// constant is a literal of a simple type.
func (t *translator) constant(l *pb.Expression_Literal) (*plan.Constant, error) {
	of := func(k plan.Kind, v any) (*plan.Constant, error) { return &plan.Constant{Value: v, Of: plan.T(k)}, nil }
	integer := func(k plan.Kind, v int32, limit int32) (*plan.Constant, error) {
		if v > limit || v < -limit-1 {
			return nil, fmt.Errorf("literal %d is out of range for %s", v, k)
		}
		return of(k, int64(v))
	}
	switch v := l.GetLiteralType().(type) {
	case *pb.Expression_Literal_Boolean:
		return of(plan.Boolean, v.Boolean)
	case *pb.Expression_Literal_I8:
		return integer(plan.TinyInt, v.I8, math.MaxInt8)
	case *pb.Expression_Literal_I16:
		return integer(plan.SmallInt, v.I16, math.MaxInt16)
	case *pb.Expression_Literal_I32:
		return of(plan.Integer, int64(v.I32))
	case *pb.Expression_Literal_I64:
		return of(plan.BigInt, v.I64)
	case *pb.Expression_Literal_Fp32:
		return of(plan.Float, float64(v.Fp32))
	case *pb.Expression_Literal_Fp64:
		return of(plan.Double, v.Fp64)
	case *pb.Expression_Literal_String_:
		return of(plan.Varchar, v.String_)
	case *pb.Expression_Literal_FixedChar:
		return of(plan.Varchar, v.FixedChar)
	case *pb.Expression_Literal_VarChar_:
		return of(plan.Varchar, v.VarChar.GetValue())
	case *pb.Expression_Literal_Binary:
		return of(plan.Blob, slices.Concat([]byte{}, v.Binary))
	case *pb.Expression_Literal_FixedBinary:
		return of(plan.Blob, slices.Concat([]byte{}, v.FixedBinary))
	case *pb.Expression_Literal_Uuid:
		if len(v.Uuid) != 16 {
			return nil, fmt.Errorf("a uuid has %d bytes", len(v.Uuid))
		}
		return of(plan.UUID, [16]byte(v.Uuid))
	case *pb.Expression_Literal_Date:
		return of(plan.Date, int64(v.Date))
	case *pb.Expression_Literal_Time:
		return of(plan.Time, v.Time)
	case *pb.Expression_Literal_Timestamp:
		return of(plan.Timestamp, v.Timestamp)
	case *pb.Expression_Literal_TimestampTz:
		return of(plan.TimestampTZ, v.TimestampTz)
	case *pb.Expression_Literal_PrecisionTime_:
		return scaled(v.PrecisionTime.GetValue(), v.PrecisionTime.GetPrecision(), plan.Time, plan.Time, plan.Time, plan.TimeNS)
	case *pb.Expression_Literal_PrecisionTimestamp_:
		return scaled(v.PrecisionTimestamp.GetValue(), v.PrecisionTimestamp.GetPrecision(),
			plan.TimestampS, plan.TimestampMS, plan.Timestamp, plan.TimestampNS)
	case *pb.Expression_Literal_PrecisionTimestampTz:
		if p := v.PrecisionTimestampTz.GetPrecision(); p > 6 {
			return nil, fmt.Errorf("timestamps with time zone of precision %d are not supported", p)
		}
		return scaled(v.PrecisionTimestampTz.GetValue(), v.PrecisionTimestampTz.GetPrecision(),
			plan.TimestampTZ, plan.TimestampTZ, plan.TimestampTZ, plan.Invalid)
	case *pb.Expression_Literal_Decimal_:
		p, s := v.Decimal.GetPrecision(), v.Decimal.GetScale()
		if p < 1 || p > 38 || s < 0 || s > p || len(v.Decimal.GetValue()) != 16 {
			return nil, fmt.Errorf("a literal of DECIMAL(%d,%d) and %d bytes is none", p, s, len(v.Decimal.GetValue()))
		}
		return &plan.Constant{Value: decimal(v.Decimal.GetValue()), Of: plan.DecimalType(uint8(p), uint8(s))}, nil
	case *pb.Expression_Literal_IntervalYearToMonth_:
		months := int64(v.IntervalYearToMonth.GetYears())*12 + int64(v.IntervalYearToMonth.GetMonths())
		return interval(months, nil)
	case *pb.Expression_Literal_IntervalDayToSecond_:
		return interval(0, v.IntervalDayToSecond)
	case *pb.Expression_Literal_IntervalCompound_:
		ym := v.IntervalCompound.GetIntervalYearToMonth()
		return interval(int64(ym.GetYears())*12+int64(ym.GetMonths()), v.IntervalCompound.GetIntervalDayToSecond())
	case *pb.Expression_Literal_UserDefined_:
		return t.types.Constant(l)
	case nil:
		return nil, fmt.Errorf("a literal is missing")
	default:
		return nil, fmt.Errorf("literal %T is not supported", v)
	}
}

// decimal is a number in 16 bytes, the lowest first.
func decimal(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return n
}

// scaled is a number of units of 10^-digits seconds as a value of the kind that holds them.
func scaled(v int64, digits int32, seconds, millis, micros, nanos plan.Kind) (*plan.Constant, error) {
	of, err := byPrecision(digits, seconds, millis, micros, nanos)
	if err != nil {
		return nil, err
	}
	have := map[plan.Kind]int32{
		plan.TimestampS: 0, plan.TimestampMS: 3, plan.Timestamp: 6, plan.TimestampTZ: 6, plan.Time: 6, plan.TimeNS: 9, plan.TimestampNS: 9,
	}[of.Kind]
	for ; digits < have; digits++ {
		if v > math.MaxInt64/10 || v < math.MinInt64/10 {
			return nil, fmt.Errorf("literal %d is out of range for %s", v, of)
		}
		v *= 10
	}
	return &plan.Constant{Value: v, Of: of}, nil
}

func interval(months int64, d *pb.Expression_Literal_IntervalDayToSecond) (*plan.Constant, error) {
	if months > math.MaxInt32 || months < math.MinInt32 {
		return nil, fmt.Errorf("an interval of %d months is out of range", months)
	}
	digits, fraction := int32(6), d.GetSubseconds()
	switch p := d.GetPrecisionMode().(type) {
	case *pb.Expression_Literal_IntervalDayToSecond_Precision:
		digits = p.Precision
	case *pb.Expression_Literal_IntervalDayToSecond_Microseconds:
		fraction = int64(p.Microseconds)
	}
	if digits < 0 || digits > 6 {
		return nil, fmt.Errorf("intervals of precision %d are not supported", digits)
	}
	micros := new(big.Int).Mul(big.NewInt(fraction), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(6-digits)), nil))
	micros.Add(micros, new(big.Int).Mul(big.NewInt(int64(d.GetSeconds())), big.NewInt(1_000_000)))
	if !micros.IsInt64() {
		return nil, fmt.Errorf("an interval is out of range")
	}
	return &plan.Constant{
		Value: plan.IntervalValue{Months: int32(months), Days: d.GetDays(), Micros: micros.Int64()}, Of: plan.T(plan.Interval),
	}, nil
}
