package codec

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// literal is a constant's value and type.
func (d *decoder) literal(m *pb.Expression_Literal) (any, plan.Type, error) {
	fail := func(format string, args ...any) (any, plan.Type, error) {
		return nil, plan.Type{}, fmt.Errorf(format, args...)
	}
	if err := d.depth.enter("literals"); err != nil {
		return nil, plan.Type{}, err
	}
	defer d.depth.leave()
	if v := m.GetTypeVariationReference(); v != 0 {
		return fail("type variation %d of a literal is not supported", v)
	}
	switch l := m.GetLiteralType().(type) {
	case *pb.Expression_Literal_Null:
		t, err := d.typ(l.Null)
		return nil, t, err
	case *pb.Expression_Literal_Boolean:
		return l.Boolean, plan.T(plan.Boolean), nil
	case *pb.Expression_Literal_I8:
		return signed(int64(l.I8), plan.TinyInt)
	case *pb.Expression_Literal_I16:
		return signed(int64(l.I16), plan.SmallInt)
	case *pb.Expression_Literal_I32:
		return signed(int64(l.I32), plan.Integer)
	case *pb.Expression_Literal_I64:
		return signed(l.I64, plan.BigInt)
	case *pb.Expression_Literal_Date:
		return signed(int64(l.Date), plan.Date)
	case *pb.Expression_Literal_Fp32:
		return float64(l.Fp32), plan.T(plan.Float), nil
	case *pb.Expression_Literal_Fp64:
		return l.Fp64, plan.T(plan.Double), nil
	case *pb.Expression_Literal_String_:
		return l.String_, plan.T(plan.Varchar), nil
	case *pb.Expression_Literal_Binary:
		return nonNil(l.Binary), plan.T(plan.Blob), nil
	case *pb.Expression_Literal_Uuid:
		if len(l.Uuid) != 16 {
			return fail("uuid literal of %d bytes", len(l.Uuid))
		}
		return [16]byte(l.Uuid), plan.T(plan.UUID), nil
	case *pb.Expression_Literal_PrecisionTime_:
		kind, ok := timeOfPrecision[l.PrecisionTime.GetPrecision()]
		if !ok {
			return fail("time literal of precision %d is not supported", l.PrecisionTime.GetPrecision())
		}
		return l.PrecisionTime.GetValue(), plan.T(kind), nil
	case *pb.Expression_Literal_PrecisionTimestamp_:
		kind, ok := timestampOfPrecision[l.PrecisionTimestamp.GetPrecision()]
		if !ok {
			return fail("timestamp literal of precision %d is not supported", l.PrecisionTimestamp.GetPrecision())
		}
		return l.PrecisionTimestamp.GetValue(), plan.T(kind), nil
	case *pb.Expression_Literal_PrecisionTimestampTz:
		if p := l.PrecisionTimestampTz.GetPrecision(); p != 6 {
			return fail("timestamp with time zone literal of precision %d is not supported", p)
		}
		return l.PrecisionTimestampTz.GetValue(), plan.T(plan.TimestampTZ), nil
	case *pb.Expression_Literal_IntervalCompound_:
		v, err := intervalOf(l.IntervalCompound)
		if err != nil {
			return nil, plan.Type{}, err
		}
		return v, plan.T(plan.Interval), nil
	case *pb.Expression_Literal_Decimal_:
		if err := checkDecimal(l.Decimal.GetPrecision(), l.Decimal.GetScale()); err != nil {
			return nil, plan.Type{}, err
		}
		if len(l.Decimal.GetValue()) != 16 {
			return fail("decimal literal of %d bytes", len(l.Decimal.GetValue()))
		}
		b := slices.Clone(l.Decimal.GetValue())
		slices.Reverse(b)
		return bigOf(b), plan.DecimalType(uint8(l.Decimal.GetPrecision()), uint8(l.Decimal.GetScale())), nil
	case *pb.Expression_Literal_EmptyList:
		t, err := d.typ(&pb.Type{Kind: &pb.Type_List_{List: l.EmptyList}})
		return []any{}, t, err
	case *pb.Expression_Literal_EmptyMap:
		t, err := d.typ(&pb.Type{Kind: &pb.Type_Map_{Map: l.EmptyMap}})
		return []plan.MapEntry{}, t, err
	case *pb.Expression_Literal_List_:
		if len(l.List.GetValues()) == 0 {
			return fail("list literal without elements has no type")
		}
		var elem *plan.Type
		values, err := d.literals(l.List.GetValues(), func(int) *plan.Type { return elem }, func(t plan.Type) { elem = &t })
		if err != nil {
			return nil, plan.Type{}, err
		}
		return values, plan.Type{Kind: plan.List, Elem: elem}, nil
	case *pb.Expression_Literal_Struct_:
		t := plan.Type{Kind: plan.Struct}
		values := make([]any, len(l.Struct.GetFields()))
		for i, f := range l.Struct.GetFields() {
			v, field, err := d.literal(f)
			if err != nil {
				return nil, plan.Type{}, err
			}
			values[i] = v
			t.Fields = append(t.Fields, plan.Field{Type: field})
		}
		return values, t, nil
	case *pb.Expression_Literal_Map_:
		return d.mapLiteral(l.Map)
	case *pb.Expression_Literal_UserDefined_:
		return d.userLiteral(l.UserDefined)
	case nil:
		return fail("a literal is missing")
	default:
		return fail("literal %T is not supported", l)
	}
}

// signed is an integer, which its message could hold larger than its type does.
func signed(v int64, k plan.Kind) (any, plan.Type, error) {
	if limit := signedLimits[k]; v > limit || v < -limit-1 {
		return nil, plan.Type{}, fmt.Errorf("literal %d is out of range for %s", v, k)
	}
	return v, plan.T(k), nil
}

// literals are the values of literals that must have the types that want gives; first is told the first one's type, before
// want is asked.
func (d *decoder) literals(ls []*pb.Expression_Literal, want func(int) *plan.Type, first func(plan.Type)) ([]any, error) {
	values := make([]any, len(ls))
	for i, l := range ls {
		v, t, err := d.literal(l)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		if i == 0 && first != nil {
			first(t)
		}
		if w := want(i); !w.Equal(t) {
			return nil, fmt.Errorf("element %d is of type %s, not %s", i, t, *w)
		}
		values[i] = v
	}
	return values, nil
}

func (d *decoder) mapLiteral(m *pb.Expression_Literal_Map) (any, plan.Type, error) {
	if len(m.GetKeyValues()) == 0 {
		return nil, plan.Type{}, fmt.Errorf("map literal without entries has no type")
	}
	t := plan.Type{Kind: plan.Map}
	entries := make([]plan.MapEntry, len(m.GetKeyValues()))
	for i, kv := range m.GetKeyValues() {
		key, keyType, err := d.literal(kv.GetKey())
		if err != nil {
			return nil, plan.Type{}, fmt.Errorf("key %d: %w", i, err)
		}
		value, valueType, err := d.literal(kv.GetValue())
		if err != nil {
			return nil, plan.Type{}, fmt.Errorf("value %d: %w", i, err)
		}
		if i == 0 {
			t.Key, t.Elem = &keyType, &valueType
		}
		if !t.Key.Equal(keyType) || !t.Elem.Equal(valueType) {
			return nil, plan.Type{}, fmt.Errorf("entry %d of a map literal is of other types than the first", i)
		}
		entries[i] = plan.MapEntry{Key: key, Value: value}
	}
	return entries, t, nil
}

func (d *decoder) userLiteral(m *pb.Expression_Literal_UserDefined) (any, plan.Type, error) {
	ref, ok := m.GetTypeAnchorType().(*pb.Expression_Literal_UserDefined_TypeReference)
	if !ok {
		return nil, plan.Type{}, fmt.Errorf("literal of a type alias is not supported")
	}
	if named, err := d.references.userType(ref.TypeReference); err == nil && named == (entity{urnPlan, typeDoubleFloat}) {
		s, err := scalarOf(m, plan.T(plan.Float))
		if err != nil {
			return nil, plan.Type{}, err
		}
		v, ok := s.GetValue().(*seracv1.Scalar_Real)
		if !ok {
			return nil, plan.Type{}, fmt.Errorf("literal of type FLOAT holds a %T", s.GetValue())
		}
		return v.Real, plan.T(plan.Float), nil
	}
	t, err := d.userDefined(ref.TypeReference, m.GetTypeParameters())
	if err != nil {
		return nil, plan.Type{}, err
	}
	if t.Alias != "" {
		below := t
		below.Alias = ""
		values, err := d.parts(m, t, 1, func(int) *plan.Type { return &below })
		if err != nil {
			return nil, plan.Type{}, err
		}
		if values[0] == nil {
			return nil, plan.Type{}, fmt.Errorf("literal of type %s holds a null literal", t)
		}
		return values[0], t, nil
	}
	switch t.Kind {
	case plan.Array:
		values, err := d.parts(m, t, int(t.Size), func(int) *plan.Type { return t.Elem })
		return values, t, err
	case plan.Struct:
		values, err := d.parts(m, t, len(t.Fields), func(i int) *plan.Type { return &t.Fields[i].Type })
		return values, t, err
	}
	s, err := scalarOf(m, t)
	if err != nil {
		return nil, plan.Type{}, err
	}
	switch v := s.GetValue().(type) {
	case *seracv1.Scalar_Signed:
		if t.Kind == plan.TimeTZ {
			return v.Signed, t, nil
		}
	case *seracv1.Scalar_Unsigned:
		if limit, ok := unsignedLimits[t.Kind]; ok && v.Unsigned <= limit {
			return v.Unsigned, t, nil
		}
	case *seracv1.Scalar_Integer:
		if (t.Kind == plan.HugeInt || t.Kind == plan.UHugeInt) && len(v.Integer) <= 17 {
			if n := bigOf(v.Integer); fitsHuge(n, t.Kind) {
				return n, t, nil
			}
		}
	case *seracv1.Scalar_Text:
		if t.Kind == plan.Enum || t.Kind == plan.Bit {
			return v.Text, t, nil
		}
	}
	return nil, plan.Type{}, fmt.Errorf("literal of type %s holds %T, or one out of range", t, s.GetValue())
}

// parts are the values of a user-defined literal that is made of others.
func (d *decoder) parts(m *pb.Expression_Literal_UserDefined, t plan.Type, n int, want func(int) *plan.Type) ([]any, error) {
	val, ok := m.GetVal().(*pb.Expression_Literal_UserDefined_Struct)
	if !ok || len(val.Struct.GetFields()) != n {
		return nil, fmt.Errorf("literal of type %s is not made of %d parts", t, n)
	}
	return d.literals(val.Struct.GetFields(), want, nil)
}

func scalarOf(m *pb.Expression_Literal_UserDefined, t plan.Type) (*seracv1.Scalar, error) {
	val, ok := m.GetVal().(*pb.Expression_Literal_UserDefined_Value)
	if !ok {
		return nil, fmt.Errorf("literal of type %s has no value", t)
	}
	s := &seracv1.Scalar{}
	if err := unpack(val.Value, s); err != nil {
		return nil, fmt.Errorf("literal of type %s: %w", t, err)
	}
	return s, nil
}

// bigOf reads big-endian two's complement.
func bigOf(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if v.IsInt64() {
		return big.NewInt(v.Int64()) // equal numbers are equal structures, too
	}
	return v
}

func intervalOf(m *pb.Expression_Literal_IntervalCompound) (plan.IntervalValue, error) {
	years, day := m.GetIntervalYearToMonth(), m.GetIntervalDayToSecond()
	if mode, ok := day.GetPrecisionMode().(*pb.Expression_Literal_IntervalDayToSecond_Precision); !ok || mode.Precision != 6 {
		return plan.IntervalValue{}, fmt.Errorf("interval literal is not in microseconds")
	}
	months := int64(years.GetYears())*12 + int64(years.GetMonths())
	seconds := int64(day.GetSeconds()) * microsPerSecond
	micros := seconds + day.GetSubseconds()
	overflow := (seconds > 0 && micros < day.GetSubseconds()) || (seconds < 0 && micros > day.GetSubseconds())
	if months > math.MaxInt32 || months < math.MinInt32 || overflow {
		return plan.IntervalValue{}, fmt.Errorf("interval literal is out of range")
	}
	return plan.IntervalValue{Months: int32(months), Days: day.GetDays(), Micros: micros}, nil
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
