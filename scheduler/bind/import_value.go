package bind

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/seracdb/serac/plan"
)

// kinds are DuckDB's type ids; the parametric ones are read apart.
var kinds = map[string]plan.Kind{
	"NULL": plan.Null, "SQLNULL": plan.Null, "BOOLEAN": plan.Boolean, "TINYINT": plan.TinyInt, "SMALLINT": plan.SmallInt,
	"INTEGER": plan.Integer, "BIGINT": plan.BigInt, "HUGEINT": plan.HugeInt, "UTINYINT": plan.UTinyInt, "USMALLINT": plan.USmallInt,
	"UINTEGER": plan.UInteger, "UBIGINT": plan.UBigInt, "UHUGEINT": plan.UHugeInt, "FLOAT": plan.Float, "DOUBLE": plan.Double,
	"VARCHAR": plan.Varchar, "CHAR": plan.Varchar, "STRING_LITERAL": plan.Varchar, "BLOB": plan.Blob, "BIT": plan.Bit, "UUID": plan.UUID,
	"DATE": plan.Date, "TIME": plan.Time, "TIME_NS": plan.TimeNS, "TIME WITH TIME ZONE": plan.TimeTZ,
	"TIMESTAMP": plan.Timestamp, "TIMESTAMP_S": plan.TimestampS, "TIMESTAMP_MS": plan.TimestampMS, "TIMESTAMP_NS": plan.TimestampNS,
	"TIMESTAMP WITH TIME ZONE": plan.TimestampTZ, "INTERVAL": plan.Interval, "VARIANT": plan.Variant, "GEOMETRY": plan.Geometry,
	"BIGNUM": plan.BigNum,
}

func importType(t typeJSON) (plan.Type, error) {
	info := t.Info
	if info == nil {
		info = &typeInfoJSON{}
	}
	out := plan.Type{Alias: info.Alias}
	switch t.ID {
	case "DECIMAL":
		out.Kind, out.Width, out.Scale = plan.Decimal, info.Width, info.Scale
		return out, nil
	case "ENUM":
		out.Kind, out.Values = plan.Enum, info.Values
		return out, nil
	case "LIST", "ARRAY", "MAP":
		if info.ChildType == nil {
			return out, fmt.Errorf("type %s without its child", t.ID)
		}
		child, err := importType(*info.ChildType)
		if err != nil {
			return out, err
		}
		switch t.ID {
		case "LIST":
			out.Kind, out.Elem = plan.List, &child
		case "ARRAY":
			out.Kind, out.Elem, out.Size = plan.Array, &child, info.Size
		default:
			if len(child.Fields) != 2 {
				return out, fmt.Errorf("a map of %s", child)
			}
			out.Kind, out.Key, out.Elem = plan.Map, &child.Fields[0].Type, &child.Fields[1].Type
		}
		return out, nil
	case "STRUCT", "UNION":
		out.Kind = plan.Struct
		members := info.ChildTypes
		if t.ID == "UNION" && len(members) > 0 {
			out.Kind, members = plan.Union, members[1:] // the first is the tag
		}
		for _, m := range members {
			mt, err := importType(m.Second)
			if err != nil {
				return out, err
			}
			out.Fields = append(out.Fields, plan.Field{Name: m.First, Type: mt})
		}
		return out, nil
	}
	kind, ok := kinds[t.ID]
	if !ok {
		return out, fmt.Errorf("type %s cannot be expressed", t.ID)
	}
	out.Kind = kind
	return out, nil
}

func importTypes(ts []typeJSON) ([]plan.Type, error) {
	out := make([]plan.Type, len(ts))
	for i, t := range ts {
		var err error
		if out[i], err = importType(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// importConstant is a constant as an expression. A union is no plain value: it is its member's value, wrapped and cast.
func importConstant(v valueJSON) (plan.Expr, error) {
	t, err := importType(v.Type)
	if err != nil {
		return nil, err
	}
	if t.Kind != plan.Union {
		value, err := importValue(v, t)
		if err != nil {
			return nil, err
		}
		return &plan.Constant{Value: value, Of: t}, nil
	}
	if v.IsNull {
		return &plan.Constant{Of: t}, nil
	}
	var parts childrenJSON
	if err := decode(v.Value, &parts); err != nil {
		return nil, err
	}
	if len(parts.Children) == 0 {
		return nil, fmt.Errorf("a %s without its tag", t)
	}
	tag, err := strconv.Atoi(string(parts.Children[0].Value))
	if err != nil || tag < 0 || tag >= len(t.Fields) || tag+1 >= len(parts.Children) {
		return nil, fmt.Errorf("a %s with tag %s", t, parts.Children[0].Value)
	}
	member := parts.Children[tag+1]
	arg, err := importConstant(member)
	if err != nil {
		return nil, err
	}
	call := &plan.Call{Name: "union_value", Args: []plan.Expr{arg}, Names: []string{t.Fields[tag].Name},
		Of: plan.Type{Kind: plan.Union, Fields: []plan.Field{{Name: t.Fields[tag].Name, Type: arg.Type()}}}}
	if call.Of.Equal(t) {
		return call, nil
	}
	return &plan.Cast{Arg: call, To: t}, nil
}

// importValue is a constant's Go value, as plan.Constant describes it.
func importValue(v valueJSON, t plan.Type) (any, error) {
	if v.IsNull {
		return nil, nil
	}
	value, err := rawValue(v.Value, t)
	if err != nil {
		return nil, fmt.Errorf("constant of type %s: %w", t, err)
	}
	return value, nil
}

func rawValue(raw json.RawMessage, t plan.Type) (any, error) {
	switch t.Kind {
	case plan.Null:
		return nil, nil
	case plan.Boolean:
		return strconv.ParseBool(string(raw))
	case plan.TinyInt, plan.SmallInt, plan.Integer, plan.BigInt, plan.Date, plan.Time, plan.TimeNS, plan.TimeTZ, plan.Timestamp,
		plan.TimestampS, plan.TimestampMS, plan.TimestampNS, plan.TimestampTZ:
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return n, nil
		}
		n, err := strconv.ParseUint(string(raw), 10, 64)
		return int64(n), err
	case plan.UTinyInt, plan.USmallInt, plan.UInteger, plan.UBigInt:
		return strconv.ParseUint(string(raw), 10, 64)
	case plan.Float, plan.Double:
		return floatValue(raw)
	case plan.Decimal, plan.HugeInt, plan.UHugeInt:
		return wideValue(raw)
	case plan.UUID:
		return uuidValue(raw)
	case plan.Varchar:
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	case plan.Blob:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		return blobValue(s)
	case plan.Enum:
		i, err := strconv.Atoi(string(raw))
		if err == nil && (i < 0 || i >= len(t.Values)) {
			err = fmt.Errorf("member %d of %d", i, len(t.Values))
		}
		if err != nil {
			return nil, err
		}
		return t.Values[i], nil
	case plan.Interval:
		var i struct {
			Months, Days int32
			Micros       int64
		}
		err := json.Unmarshal(raw, &i)
		return plan.IntervalValue{Months: i.Months, Days: i.Days, Micros: i.Micros}, err
	case plan.List, plan.Array, plan.Struct, plan.Map:
		return nestedValue(raw, t)
	}
	return nil, fmt.Errorf("its value cannot be read from the plan")
}

func floatValue(raw json.RawMessage) (any, error) {
	switch string(raw) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"Infinity"`:
		return math.Inf(1), nil
	case `"-Infinity"`:
		return math.Inf(-1), nil
	}
	return strconv.ParseFloat(string(raw), 64)
}

// wideValue is a number of up to 128 bits: a plain number, or its upper (signed for HUGEINT) and lower halves.
func wideValue(raw json.RawMessage) (any, error) {
	if n, ok := new(big.Int).SetString(string(raw), 10); ok {
		return n, nil
	}
	upper, lower, err := halves(raw)
	if err != nil {
		return nil, err
	}
	return upper.Lsh(upper, 64).Add(upper, lower), nil
}

func halves(raw json.RawMessage) (upper, lower *big.Int, err error) {
	var parts struct{ Upper, Lower json.Number }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, nil, err
	}
	upper, okUpper := new(big.Int).SetString(parts.Upper.String(), 10)
	lower, okLower := new(big.Int).SetString(parts.Lower.String(), 10)
	if !okUpper || !okLower {
		return nil, nil, fmt.Errorf("halves %q and %q", parts.Upper, parts.Lower)
	}
	return upper, lower, nil
}

// uuidValue reads the two halves; DuckDB flips the highest bit so that UUIDs order as signed numbers.
func uuidValue(raw json.RawMessage) (any, error) {
	upper, lower, err := halves(raw)
	if err != nil {
		return nil, err
	}
	var id [16]byte
	hi := uint64(upper.Int64()) ^ 1<<63
	lo := lower.Uint64()
	if lower.Sign() < 0 {
		lo = uint64(lower.Int64())
	}
	for i := range 8 {
		id[i] = byte(hi >> (56 - 8*i))
		id[8+i] = byte(lo >> (56 - 8*i))
	}
	return id, nil
}

// blobValue reads DuckDB's text of a BLOB: printable ASCII as it stands, \xAA for the rest.
func blobValue(s string) (any, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i+3 >= len(s) || s[i+1] != 'x' {
			return nil, fmt.Errorf("escape at byte %d of a BLOB", i)
		}
		b, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
		if err != nil {
			return nil, err
		}
		out = append(out, byte(b))
		i += 3
	}
	return out, nil
}

func nestedValue(raw json.RawMessage, t plan.Type) (any, error) {
	var parts childrenJSON
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	if t.Kind == plan.Map {
		entry := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "key", Type: *t.Key}, {Name: "value", Type: *t.Elem}}}
		entries := make([]plan.MapEntry, len(parts.Children))
		for i, c := range parts.Children {
			kv, err := importValue(c, entry)
			if err != nil {
				return nil, err
			}
			pair, ok := kv.([]any)
			if !ok || len(pair) != 2 {
				return nil, fmt.Errorf("a map entry is no pair")
			}
			entries[i] = plan.MapEntry{Key: pair[0], Value: pair[1]}
		}
		return entries, nil
	}
	items := make([]any, len(parts.Children))
	for i, c := range parts.Children {
		of := t.Elem
		if t.Kind == plan.Struct {
			if i >= len(t.Fields) {
				return nil, fmt.Errorf("%d values for %d fields", len(parts.Children), len(t.Fields))
			}
			of = &t.Fields[i].Type
		}
		if of.Kind == plan.Union {
			return nil, fmt.Errorf("a union inside another value")
		}
		var err error
		if items[i], err = importValue(c, *of); err != nil {
			return nil, err
		}
	}
	return items, nil
}
