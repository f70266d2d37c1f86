package shuffle

import (
	"fmt"
	"strings"

	"github.com/seracdb/serac/plan"
)

// Carrier is the type that a shuffle file's column has, so that values of type t come back exactly as they were; false
// when there is none and rows of this type cannot be shuffled.
func Carrier(t plan.Type) (plan.Type, bool) {
	if t.Alias != "" {
		// JSON is a Parquet type of its own; other aliases would come back without their name.
		return t, t.Alias == "JSON" && t.Kind == plan.Varchar
	}
	switch t.Kind {
	case plan.Boolean, plan.TinyInt, plan.SmallInt, plan.Integer, plan.BigInt, plan.UTinyInt, plan.USmallInt, plan.UInteger,
		plan.UBigInt, plan.Float, plan.Double, plan.Decimal, plan.Varchar, plan.Blob, plan.UUID, plan.Date, plan.Time,
		plan.TimeNS, plan.Timestamp, plan.TimestampNS, plan.TimestampTZ:
		return t, true
	case plan.Null:
		return plan.T(plan.Integer), true
	case plan.HugeInt, plan.UHugeInt: // Parquet would take them as doubles
		return plan.T(plan.Varchar), true
	case plan.Bit, plan.Enum:
		return plan.T(plan.Varchar), true
	case plan.TimeTZ: // Parquet would shift them to UTC
		return plan.T(plan.Varchar), true
	case plan.TimestampS, plan.TimestampMS:
		return plan.T(plan.Timestamp), true
	case plan.Interval: // Parquet's has milliseconds, and no negative parts
		return plan.Type{Kind: plan.Struct, Fields: []plan.Field{
			{Name: "months", Type: plan.T(plan.Integer)},
			{Name: "days", Type: plan.T(plan.Integer)},
			{Name: "micros", Type: plan.T(plan.BigInt)},
		}}, true
	case plan.List:
		elem, ok := Carrier(*t.Elem)
		return plan.ListType(elem), ok
	case plan.Array:
		elem, ok := Carrier(*t.Elem)
		return plan.ListType(elem), ok && !has(*t.Elem, isRow)
	case plan.Map:
		key, keyOK := Carrier(*t.Key)
		elem, elemOK := Carrier(*t.Elem)
		return plan.Type{Kind: plan.Map, Key: &key, Elem: &elem}, keyOK && elemOK && comesBack(t)
	case plan.Struct:
		if len(t.Fields) == 0 || !comesBack(t) { // Parquet has no empty groups
			return t, false
		}
		out := plan.Type{Kind: plan.Struct, Fields: make([]plan.Field, len(t.Fields))}
		for i, f := range t.Fields {
			carrier, ok := Carrier(f.Type)
			if !ok {
				return t, false
			}
			out.Fields[i] = plan.Field{Name: f.Name, Type: carrier}
		}
		return out, true
	case plan.Invalid, plan.Union, plan.Variant, plan.Geometry, plan.BigNum:
		return t, false
	}
	return t, false
}

// encode is the SQL that turns expr of type t into its carrier; expr itself when they are the same.
func encode(expr string, t plan.Type) string { return convert(expr, t, true, 0) }

// decode is the SQL that turns expr, of t's carrier, back into t.
func decode(expr string, t plan.Type) string { return convert(expr, t, false, 0) }

// carriedAsIs says that t needs no conversion at all.
func carriedAsIs(t plan.Type) bool {
	carrier, ok := Carrier(t)
	return ok && carrier.Equal(t)
}

// castSuffices says that a CAST of a whole value to its carrier (or back) is exact, whatever is inside it.
func castSuffices(t plan.Type, encoding bool) bool {
	return !has(t, func(t plan.Type) bool {
		return t.Kind == plan.Interval || (encoding && t.Kind == plan.TimeTZ) || isRow(t)
	})
}

// comesBack says that a struct or map can be put together again: by a CAST, or by a CASE, which DuckDB does not have for
// values with arrays inside.
func comesBack(t plan.Type) bool {
	return castSuffices(t, false) || !has(t, func(t plan.Type) bool { return t.Kind == plan.Array })
}

// convert writes the conversion of one value; depth is the number of lambdas around it, which names their parameters.
// Nested values are taken apart only where something inside them needs it.
func convert(expr string, t plan.Type, encoding bool, depth int) string {
	if carriedAsIs(t) {
		return expr
	}
	if castSuffices(t, encoding) {
		to := t
		if encoding {
			to, _ = Carrier(t)
		}
		return fmt.Sprintf("CAST(%s AS %s)", expr, to.SQL())
	}
	switch t.Kind {
	case plan.Interval:
		return convertInterval(expr, encoding)
	case plan.TimeTZ:
		return convertTimeTZ(expr, encoding)
	case plan.List:
		return convertList(expr, *t.Elem, encoding, depth)
	case plan.Array:
		if encoding {
			list := fmt.Sprintf("CAST(%s AS %s)", expr, plan.ListType(*t.Elem).SQL())
			return convertList(list, *t.Elem, encoding, depth)
		}
		return fmt.Sprintf("CAST(%s AS %s)", convertList(expr, *t.Elem, encoding, depth), t.SQL())
	case plan.Map:
		return orNull(expr, fmt.Sprintf("map(%s, %s)",
			convertList("map_keys("+expr+")", *t.Key, encoding, depth),
			convertList("map_values("+expr+")", *t.Elem, encoding, depth)))
	case plan.Struct:
		return convertStruct(expr, t, encoding, depth)
	}
	panic(fmt.Sprintf("shuffle: no conversion of %s", t)) // all that is left is nested
}

// isRow says that a struct's fields have no names: DuckDB parses no name of such a type, so there is no CAST to it.
func isRow(t plan.Type) bool {
	return t.Kind == plan.Struct && len(t.Fields) > 0 && t.Fields[0].Name == ""
}

// has says whether t is, or has inside it, a type that is.
func has(t plan.Type, is func(plan.Type) bool) bool {
	if is(t) || (t.Key != nil && has(*t.Key, is)) || (t.Elem != nil && has(*t.Elem, is)) {
		return true
	}
	for _, f := range t.Fields {
		if has(f.Type, is) {
			return true
		}
	}
	return false
}

func convertList(expr string, elem plan.Type, encoding bool, depth int) string {
	if carriedAsIs(elem) {
		return expr
	}
	param := fmt.Sprintf("e%d", depth)
	return fmt.Sprintf("list_transform(%s, lambda %s : %s)", expr, param, convert(param, elem, encoding, depth+1))
}

func convertStruct(expr string, t plan.Type, encoding bool, depth int) string {
	fields := make([]string, len(t.Fields))
	named := !isRow(t)
	for i, f := range t.Fields {
		if named {
			fields[i] = plan.QuoteIdent(f.Name) + " := " + convert(field(expr, f.Name), f.Type, encoding, depth)
		} else {
			fields[i] = convert(fmt.Sprintf("struct_extract_at(%s, %d)", expr, i+1), f.Type, encoding, depth)
		}
	}
	pack := "row"
	if named {
		pack = "struct_pack"
	}
	return orNull(expr, pack+"("+strings.Join(fields, ", ")+")")
}

// convertInterval keeps the three parts of an interval apart: its text cannot be read back at the ends of its range.
func convertInterval(expr string, encoding bool) string {
	if !encoding {
		return fmt.Sprintf("to_months(%s) + to_days(%s) + to_microseconds(%s)",
			field(expr, "months"), field(expr, "days"), field(expr, "micros"))
	}
	return orNull(expr, fmt.Sprintf("struct_pack(months := CAST(datepart('year', %[1]s) * 12 + datepart('month', %[1]s) AS INTEGER), "+
		"days := CAST(datepart('day', %[1]s) AS INTEGER), "+
		"micros := datepart('hour', %[1]s) * 3600000000 + datepart('minute', %[1]s) * 60000000 + datepart('microsecond', %[1]s))", expr))
}

// convertTimeTZ writes the offset in full: DuckDB's own text of an offset below a minute reads back as minutes.
func convertTimeTZ(expr string, encoding bool) string {
	if !encoding {
		return fmt.Sprintf("CAST(%s AS TIME WITH TIME ZONE)", expr)
	}
	return fmt.Sprintf("CAST(CAST(%[1]s AS TIME) AS VARCHAR) || CASE WHEN datepart('timezone', %[1]s) < 0 THEN '-' ELSE '+' END || "+
		"printf('%%02d:%%02d:%%02d', abs(datepart('timezone', %[1]s)) // 3600, abs(datepart('timezone', %[1]s)) // 60 %% 60, "+
		"abs(datepart('timezone', %[1]s)) %% 60)", expr)
}

// orNull keeps the NULL of a nested value, which taking it apart would turn into a value of NULLs.
func orNull(expr, value string) string {
	return fmt.Sprintf("CASE WHEN %s IS NULL THEN NULL ELSE %s END", expr, value)
}

func field(expr, name string) string {
	return "struct_extract(" + expr + ", " + plan.QuoteString(name) + ")"
}
