package inspect

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ice "github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"github.com/seracdb/serac/plan"
)

// A cell is a value of a row: nil, a Go value as iceberg-go has it, or one of these.
type (
	structCell []any    // a value for each field
	listCell   []any    // a value for each element
	mapCell    [][2]any // keys and values
)

// carrier is the Arrow type in which values of a type travel to DuckDB, whose SELECT casts them to the type itself.
func carrier(t plan.Type) arrow.DataType {
	switch t.Kind {
	case plan.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case plan.Integer:
		return arrow.PrimitiveTypes.Int32
	case plan.BigInt:
		return arrow.PrimitiveTypes.Int64
	case plan.Float:
		return arrow.PrimitiveTypes.Float32
	case plan.Double:
		return arrow.PrimitiveTypes.Float64
	case plan.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Width), Scale: int32(t.Scale)}
	case plan.Blob:
		return arrow.BinaryTypes.Binary
	case plan.Date:
		return arrow.FixedWidthTypes.Date32
	case plan.Time:
		return arrow.FixedWidthTypes.Time64us
	case plan.Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case plan.TimestampTZ:
		return arrow.FixedWidthTypes.Timestamp_us
	case plan.TimestampNS:
		return &arrow.TimestampType{Unit: arrow.Nanosecond}
	case plan.List:
		return arrow.ListOf(carrier(*t.Elem))
	case plan.Map:
		return arrow.MapOf(carrier(*t.Key), carrier(*t.Elem))
	case plan.Struct:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = arrow.Field{Name: f.Name, Type: carrier(f.Type), Nullable: true}
		}
		return arrow.StructOf(fields...)
	default:
		return arrow.BinaryTypes.String
	}
}

// add appends a cell of a type. The builder is of the type's carrier.
func add(b array.Builder, t plan.Type, cell any) error {
	if cell == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.StructBuilder:
		fields, ok := cell.(structCell)
		if !ok || len(fields) != len(t.Fields) {
			break
		}
		b.Append(true)
		for i, f := range t.Fields {
			if err := add(b.FieldBuilder(i), f.Type, fields[i]); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		return nil
	case *array.MapBuilder: // before lists: it is one too
		pairs, ok := cell.(mapCell)
		if !ok {
			break
		}
		b.Append(true)
		for _, pair := range pairs {
			if err := add(b.KeyBuilder(), *t.Key, pair[0]); err != nil {
				return err
			}
			if err := add(b.ItemBuilder(), *t.Elem, pair[1]); err != nil {
				return err
			}
		}
		return nil
	case *array.ListBuilder:
		elements, ok := cell.(listCell)
		if !ok {
			break
		}
		b.Append(true)
		for _, e := range elements {
			if err := add(b.ValueBuilder(), *t.Elem, e); err != nil {
				return err
			}
		}
		return nil
	default:
		if addScalar(b, cell) {
			return nil
		}
	}
	return fmt.Errorf("a value of Go type %T is no %s", cell, t)
}

// addScalar says whether the builder takes such a value.
func addScalar(b array.Builder, cell any) bool {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return appended(b.Append, cell)
	case *array.Int32Builder:
		return appended(b.Append, cell)
	case *array.Int64Builder:
		return appended(b.Append, cell)
	case *array.Float32Builder:
		return appended(b.Append, cell)
	case *array.Float64Builder:
		return appended(b.Append, cell)
	case *array.BinaryBuilder:
		return appended(b.Append, cell)
	case *array.StringBuilder:
		if id, ok := cell.(uuid.UUID); ok {
			cell = id.String()
		}
		return appended(b.Append, cell)
	case *array.Decimal128Builder:
		return appended(func(d ice.Decimal) { b.Append(d.Val) }, cell)
	case *array.Date32Builder:
		return appended(func(d ice.Date) { b.Append(arrow.Date32(d)) }, cell)
	case *array.Time64Builder:
		return appended(func(d ice.Time) { b.Append(arrow.Time64(d)) }, cell)
	case *array.TimestampBuilder:
		return appended(func(d ice.Timestamp) { b.Append(arrow.Timestamp(d)) }, cell) ||
			appended(func(d ice.TimestampNano) { b.Append(arrow.Timestamp(d)) }, cell)
	}
	return false
}

func appended[T any](add func(T), cell any) bool {
	v, ok := cell.(T)
	if ok {
		add(v)
	}
	return ok
}

// optional is a cell of what may not be there.
func optional[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}
