package iceberg

import (
	"errors"
	"fmt"

	ice "github.com/apache/iceberg-go"

	"github.com/seracdb/serac/plan"
)

// ErrUnsupportedType marks a type that one side has and the other has not. The error around it names the type and, where
// there is one, the way out.
var ErrUnsupportedType = errors.New("unsupported type")

// PlanType is the type that columns of an Iceberg type have in plans: the DuckDB type that holds every value of it
// exactly. fixed becomes BLOB, unknown (always NULL) INTEGER. timestamptz_ns and geography have no such type and are
// refused, which beats cutting their values.
func PlanType(t ice.Type) (plan.Type, error) {
	switch t := t.(type) {
	case ice.BooleanType:
		return plan.T(plan.Boolean), nil
	case ice.Int32Type:
		return plan.T(plan.Integer), nil
	case ice.Int64Type:
		return plan.T(plan.BigInt), nil
	case ice.Float32Type:
		return plan.T(plan.Float), nil
	case ice.Float64Type:
		return plan.T(plan.Double), nil
	case ice.DecimalType:
		return plan.DecimalType(uint8(t.Precision()), uint8(t.Scale())), nil
	case ice.DateType:
		return plan.T(plan.Date), nil
	case ice.TimeType:
		return plan.T(plan.Time), nil
	case ice.TimestampType:
		return plan.T(plan.Timestamp), nil
	case ice.TimestampTzType:
		return plan.T(plan.TimestampTZ), nil
	case ice.TimestampNsType:
		return plan.T(plan.TimestampNS), nil
	case ice.StringType:
		return plan.T(plan.Varchar), nil
	case ice.UUIDType:
		return plan.T(plan.UUID), nil
	case ice.FixedType, ice.BinaryType:
		return plan.T(plan.Blob), nil
	case ice.UnknownType:
		return plan.T(plan.Integer), nil
	case ice.VariantType:
		return plan.T(plan.Variant), nil
	case ice.GeometryType:
		return plan.T(plan.Geometry), nil
	case *ice.ListType:
		elem, err := PlanType(t.Element)
		if err != nil {
			return plan.Type{}, fmt.Errorf("list element: %w", err)
		}
		return plan.ListType(elem), nil
	case *ice.MapType:
		key, err := PlanType(t.KeyType)
		if err != nil {
			return plan.Type{}, fmt.Errorf("map key: %w", err)
		}
		value, err := PlanType(t.ValueType)
		if err != nil {
			return plan.Type{}, fmt.Errorf("map value: %w", err)
		}
		return plan.Type{Kind: plan.Map, Key: &key, Elem: &value}, nil
	case *ice.StructType:
		out := plan.Type{Kind: plan.Struct, Fields: make([]plan.Field, len(t.FieldList))}
		for i, f := range t.FieldList {
			ft, err := PlanType(f.Type)
			if err != nil {
				return plan.Type{}, fmt.Errorf("field %s: %w", f.Name, err)
			}
			out.Fields[i] = plan.Field{Name: f.Name, Type: ft}
		}
		return out, nil
	case ice.TimestampTzNsType:
		return plan.Type{}, fmt.Errorf("%w: DuckDB has no nanosecond timestamp with time zone (Iceberg timestamptz_ns)", ErrUnsupportedType)
	default:
		return plan.Type{}, fmt.Errorf("%w: Iceberg type %s", ErrUnsupportedType, t)
	}
}

// primitiveTypes are the Iceberg types of DuckDB's parameterless types.
var primitiveTypes = map[plan.Kind]ice.Type{
	plan.Boolean:     ice.PrimitiveTypes.Bool,
	plan.TinyInt:     ice.PrimitiveTypes.Int32,
	plan.SmallInt:    ice.PrimitiveTypes.Int32,
	plan.Integer:     ice.PrimitiveTypes.Int32,
	plan.UTinyInt:    ice.PrimitiveTypes.Int32,
	plan.USmallInt:   ice.PrimitiveTypes.Int32,
	plan.UInteger:    ice.PrimitiveTypes.Int64,
	plan.BigInt:      ice.PrimitiveTypes.Int64,
	plan.Float:       ice.PrimitiveTypes.Float32,
	plan.Double:      ice.PrimitiveTypes.Float64,
	plan.Varchar:     ice.PrimitiveTypes.String,
	plan.Enum:        ice.PrimitiveTypes.String,
	plan.Blob:        ice.PrimitiveTypes.Binary,
	plan.UUID:        ice.PrimitiveTypes.UUID,
	plan.Date:        ice.PrimitiveTypes.Date,
	plan.Time:        ice.PrimitiveTypes.Time,
	plan.Timestamp:   ice.PrimitiveTypes.Timestamp,
	plan.TimestampS:  ice.PrimitiveTypes.Timestamp,
	plan.TimestampMS: ice.PrimitiveTypes.Timestamp,
	plan.TimestampNS: ice.PrimitiveTypes.TimestampNs,
	plan.TimestampTZ: ice.PrimitiveTypes.TimestampTz,
	plan.Variant:     ice.VariantType{},
	plan.Geometry:    ice.GeometryType{},
}

// refusals say why a type has no Iceberg type, and what to do.
var refusals = map[plan.Kind]string{
	plan.Null:     "a bare NULL has no type: CAST it",
	plan.TimeNS:   "Iceberg times are in microseconds: CAST to TIME",
	plan.TimeTZ:   "Iceberg has no time with time zone: CAST to TIME or VARCHAR",
	plan.Interval: "Iceberg has no interval: CAST to VARCHAR",
	plan.Bit:      "Iceberg has no bit string: CAST to VARCHAR or BLOB",
	plan.Union:    "Iceberg has no union: use a STRUCT",
	plan.BigNum:   "Iceberg decimals have at most 38 digits: CAST to DECIMAL or VARCHAR",
}

// IcebergType is the Iceberg type that stores values of a DuckDB type. Integers narrower than 32 bits and unsigned ones
// widen to the next signed type (UINTEGER to long, UBIGINT to decimal(20,0)), HUGEINT and UHUGEINT become decimal(38,0)
// and a value of more digits fails when it is written; TIMESTAMP_S and TIMESTAMP_MS become timestamp; enums and JSON become
// string; arrays become lists, which forget the array's size. What has no Iceberg type is ErrUnsupportedType. Nested fields are optional (map keys
// required). nextID is asked for an id for each nested field, in depth-first order.
func IcebergType(t plan.Type, nextID func() int) (ice.Type, error) {
	switch t.Kind {
	case plan.Decimal:
		return ice.DecimalTypeOf(int(t.Width), int(t.Scale)), nil
	case plan.UBigInt:
		return ice.DecimalTypeOf(20, 0), nil
	case plan.HugeInt, plan.UHugeInt:
		return ice.DecimalTypeOf(38, 0), nil
	case plan.List, plan.Array:
		id := nextID()
		elem, err := IcebergType(*t.Elem, nextID)
		if err != nil {
			return nil, fmt.Errorf("list element: %w", err)
		}
		return &ice.ListType{ElementID: id, Element: elem}, nil
	case plan.Map:
		keyID, valueID := nextID(), nextID()
		key, err := IcebergType(*t.Key, nextID)
		if err != nil {
			return nil, fmt.Errorf("map key: %w", err)
		}
		value, err := IcebergType(*t.Elem, nextID)
		if err != nil {
			return nil, fmt.Errorf("map value: %w", err)
		}
		return &ice.MapType{KeyID: keyID, KeyType: key, ValueID: valueID, ValueType: value}, nil
	case plan.Struct:
		out := &ice.StructType{FieldList: make([]ice.NestedField, len(t.Fields))}
		for i := range t.Fields {
			out.FieldList[i].ID = nextID()
		}
		seen := map[string]bool{}
		for i, f := range t.Fields {
			if f.Name == "" {
				return nil, fmt.Errorf("%w: a struct of Iceberg needs a name for each field", ErrUnsupportedType)
			}
			if seen[f.Name] {
				return nil, fmt.Errorf("%w: the struct has two fields named %s", ErrUnsupportedType, f.Name)
			}
			seen[f.Name] = true
			ft, err := IcebergType(f.Type, nextID)
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Name, err)
			}
			out.FieldList[i].Name, out.FieldList[i].Type = f.Name, ft
		}
		return out, nil
	}
	if it, ok := primitiveTypes[t.Kind]; ok {
		return it, nil
	}
	if why, ok := refusals[t.Kind]; ok {
		return nil, fmt.Errorf("%w: %s: %s", ErrUnsupportedType, t, why)
	}
	return nil, fmt.Errorf("%w: %s has no Iceberg type", ErrUnsupportedType, t)
}

// StorageType is the DuckDB type that a column created for values of type t has: PlanType of IcebergType. A CREATE TABLE
// AS casts its columns to it.
func StorageType(t plan.Type) (plan.Type, error) {
	it, err := IcebergType(t, func() int { return 0 })
	if err != nil {
		return plan.Type{}, err
	}
	return PlanType(it)
}

// MinFormatVersion is the lowest format version of a table that may hold a column of type t.
func MinFormatVersion(t ice.Type) int {
	switch t := t.(type) {
	case ice.TimestampNsType, ice.TimestampTzNsType, ice.VariantType, ice.UnknownType, ice.GeometryType, ice.GeographyType:
		return 3
	case ice.NestedType:
		version := 1
		for _, f := range t.Fields() {
			version = max(version, MinFormatVersion(f.Type))
		}
		return version
	default:
		return 1
	}
}
