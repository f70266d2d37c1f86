package codec

import (
	"fmt"
	"math"

	"github.com/seracdb/serac/plan"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// kindsOfUserTypes is userTypes the other way round.
var kindsOfUserTypes = invert(userTypes)

var (
	timeOfPrecision      = invert(timePrecision)
	timestampOfPrecision = invert(timestampPrecision)
)

func invert[K, V comparable](m map[K]V) map[V]K {
	out := make(map[V]K, len(m))
	for k, v := range m {
		out[v] = k
	}
	return out
}

// typ is a type that stands in an expression or inside another type; its nullability is dropped.
func (d *decoder) typ(m *pb.Type) (plan.Type, error) {
	t, _, err := d.column(m)
	return t, err
}

// column is a type with its nullability.
func (d *decoder) column(m *pb.Type) (plan.Type, bool, error) {
	if err := d.depth.enter("types"); err != nil {
		return plan.Type{}, false, err
	}
	defer d.depth.leave()
	switch k := m.GetKind().(type) {
	case *pb.Type_Bool:
		return simple(plan.Boolean, k.Bool)
	case *pb.Type_I8_:
		return simple(plan.TinyInt, k.I8)
	case *pb.Type_I16_:
		return simple(plan.SmallInt, k.I16)
	case *pb.Type_I32_:
		return simple(plan.Integer, k.I32)
	case *pb.Type_I64_:
		return simple(plan.BigInt, k.I64)
	case *pb.Type_Fp32:
		return simple(plan.Float, k.Fp32)
	case *pb.Type_Fp64:
		return simple(plan.Double, k.Fp64)
	case *pb.Type_String_:
		return simple(plan.Varchar, k.String_)
	case *pb.Type_Binary_:
		return simple(plan.Blob, k.Binary)
	case *pb.Type_Uuid:
		return simple(plan.UUID, k.Uuid)
	case *pb.Type_Date_:
		return simple(plan.Date, k.Date)
	case *pb.Type_Decimal_:
		if err := checkDecimal(k.Decimal.GetPrecision(), k.Decimal.GetScale()); err != nil {
			return plan.Type{}, false, err
		}
		return typed(plan.DecimalType(uint8(k.Decimal.GetPrecision()), uint8(k.Decimal.GetScale())), k.Decimal)
	case *pb.Type_PrecisionTime_:
		kind, ok := timeOfPrecision[k.PrecisionTime.GetPrecision()]
		if !ok {
			return plan.Type{}, false, fmt.Errorf("time of precision %d is not supported", k.PrecisionTime.GetPrecision())
		}
		return simple(kind, k.PrecisionTime)
	case *pb.Type_PrecisionTimestamp_:
		kind, ok := timestampOfPrecision[k.PrecisionTimestamp.GetPrecision()]
		if !ok {
			return plan.Type{}, false, fmt.Errorf("timestamp of precision %d is not supported", k.PrecisionTimestamp.GetPrecision())
		}
		return simple(kind, k.PrecisionTimestamp)
	case *pb.Type_PrecisionTimestampTz:
		if p := k.PrecisionTimestampTz.GetPrecision(); p != 6 {
			return plan.Type{}, false, fmt.Errorf("timestamp with time zone of precision %d is not supported", p)
		}
		return simple(plan.TimestampTZ, k.PrecisionTimestampTz)
	case *pb.Type_IntervalCompound_:
		if p := k.IntervalCompound.GetPrecision(); p != 6 {
			return plan.Type{}, false, fmt.Errorf("interval of precision %d is not supported", p)
		}
		return simple(plan.Interval, k.IntervalCompound)
	case *pb.Type_List_:
		elem, err := d.typ(k.List.GetType())
		if err != nil {
			return plan.Type{}, false, fmt.Errorf("list: %w", err)
		}
		return typed(plan.ListType(elem), k.List)
	case *pb.Type_Map_:
		key, err := d.typ(k.Map.GetKey())
		if err != nil {
			return plan.Type{}, false, fmt.Errorf("map key: %w", err)
		}
		value, err := d.typ(k.Map.GetValue())
		if err != nil {
			return plan.Type{}, false, fmt.Errorf("map value: %w", err)
		}
		return typed(plan.Type{Kind: plan.Map, Key: &key, Elem: &value}, k.Map)
	case *pb.Type_Struct_:
		t := plan.Type{Kind: plan.Struct}
		for i, f := range k.Struct.GetTypes() {
			field, err := d.typ(f)
			if err != nil {
				return plan.Type{}, false, fmt.Errorf("struct field %d: %w", i, err)
			}
			t.Fields = append(t.Fields, plan.Field{Type: field})
		}
		return typed(t, k.Struct)
	case *pb.Type_UserDefined_:
		t, err := d.userDefined(k.UserDefined.GetTypeReference(), k.UserDefined.GetTypeParameters())
		if err != nil {
			return plan.Type{}, false, err
		}
		return typed(t, k.UserDefined)
	case nil:
		return plan.Type{}, false, fmt.Errorf("a type is missing")
	default:
		return plan.Type{}, false, fmt.Errorf("type %T is not supported", k)
	}
}

// described is what every Substrait type says.
type described interface {
	GetNullability() pb.Type_Nullability
	GetTypeVariationReference() uint32
}

func simple(k plan.Kind, m described) (plan.Type, bool, error) { return typed(plan.T(k), m) }

func typed(t plan.Type, m described) (plan.Type, bool, error) {
	if v := m.GetTypeVariationReference(); v != 0 {
		return plan.Type{}, false, fmt.Errorf("variation %d of type %s is not supported", v, t.Kind)
	}
	switch n := m.GetNullability(); n {
	case pb.Type_NULLABILITY_NULLABLE:
		return t, true, nil
	case pb.Type_NULLABILITY_REQUIRED:
		return t, false, nil
	default:
		return plan.Type{}, false, fmt.Errorf("type %s has unknown nullability %d", t.Kind, n)
	}
}

// userDefined is a type of extensions/duckdb.yaml.
func (d *decoder) userDefined(anchor uint32, params []*pb.Type_Parameter) (plan.Type, error) {
	ref, err := d.references.userType(anchor)
	if err != nil {
		return plan.Type{}, err
	}
	if ref.urn != urnDuckDB {
		return plan.Type{}, fmt.Errorf("type %q of %s is not known", ref.name, ref.urn)
	}
	if kind, ok := kindsOfUserTypes[ref.name]; ok {
		if len(params) != 0 {
			return plan.Type{}, fmt.Errorf("type %s takes no parameters, has %d", ref.name, len(params))
		}
		return plan.T(kind), nil
	}
	switch ref.name {
	case typeEnum:
		t := plan.Type{Kind: plan.Enum}
		for _, p := range params {
			v, err := stringOf(p, ref.name)
			if err != nil {
				return plan.Type{}, err
			}
			t.Values = append(t.Values, v)
		}
		return t, nil
	case typeArray:
		if len(params) != 2 {
			return plan.Type{}, fmt.Errorf("type array takes 2 parameters, has %d", len(params))
		}
		elem, err := d.typeOf(params[0], ref.name)
		if err != nil {
			return plan.Type{}, err
		}
		size, ok := params[1].GetParameter().(*pb.Type_Parameter_Integer)
		if !ok || size.Integer < 0 || size.Integer > math.MaxUint32 {
			return plan.Type{}, fmt.Errorf("type array: bad size %v", params[1])
		}
		return plan.Type{Kind: plan.Array, Elem: &elem, Size: uint32(size.Integer)}, nil
	case typeStruct, typeUnion:
		t := plan.Type{Kind: plan.Struct}
		if ref.name == typeUnion {
			t.Kind = plan.Union
		}
		if len(params)%2 != 0 {
			return plan.Type{}, fmt.Errorf("type %s: a field lacks its type", ref.name)
		}
		for i := 0; i < len(params); i += 2 {
			name, err := stringOf(params[i], ref.name)
			if err != nil {
				return plan.Type{}, err
			}
			field, err := d.typeOf(params[i+1], ref.name)
			if err != nil {
				return plan.Type{}, err
			}
			t.Fields = append(t.Fields, plan.Field{Name: name, Type: field})
		}
		return t, nil
	case typeAlias:
		if len(params) != 2 {
			return plan.Type{}, fmt.Errorf("type alias takes 2 parameters, has %d", len(params))
		}
		alias, err := stringOf(params[0], ref.name)
		if err != nil {
			return plan.Type{}, err
		}
		t, err := d.typeOf(params[1], ref.name)
		if err != nil {
			return plan.Type{}, err
		}
		if alias == "" || t.Alias != "" {
			return plan.Type{}, fmt.Errorf("type alias %q over %s is not one", alias, t)
		}
		t.Alias = alias
		return t, nil
	}
	return plan.Type{}, fmt.Errorf("type %q of %s is not known", ref.name, ref.urn)
}

func stringOf(p *pb.Type_Parameter, of string) (string, error) {
	s, ok := p.GetParameter().(*pb.Type_Parameter_String_)
	if !ok {
		return "", fmt.Errorf("type %s: parameter %T is no string", of, p.GetParameter())
	}
	return s.String_, nil
}

func (d *decoder) typeOf(p *pb.Type_Parameter, of string) (plan.Type, error) {
	t, ok := p.GetParameter().(*pb.Type_Parameter_DataType)
	if !ok {
		return plan.Type{}, fmt.Errorf("type %s: parameter %T is no type", of, p.GetParameter())
	}
	return d.typ(t.DataType)
}

// schema is the columns of a node's output.
func (d *decoder) schema(m *pb.NamedStruct) (plan.Schema, error) {
	types := m.GetStruct().GetTypes()
	if len(m.GetNames()) != len(types) {
		return nil, fmt.Errorf("schema has %d names for %d columns", len(m.GetNames()), len(types))
	}
	var s plan.Schema
	for i, t := range types {
		c, nullable, err := d.column(t)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", m.GetNames()[i], err)
		}
		s = append(s, plan.Column{Name: m.GetNames()[i], Type: c, Nullable: nullable})
	}
	return s, nil
}
