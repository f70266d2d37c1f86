package iceberg

import (
	"fmt"
	"strconv"
	"strings"

	ice "github.com/apache/iceberg-go"
)

// ParseType reads a type in Iceberg's own spelling, nested as deep as you like: boolean, int, long, float, double,
// decimal(P,S), date, time, timestamp, timestamptz, timestamp_ns, timestamptz_ns, string, uuid, fixed(L) or fixed[L], binary,
// unknown, variant, list<T> or array<T>, map<K, V>, struct<a: T, "b c": T> (the colon may be missing). Letter case does
// not matter. Ids of nested fields are 0: NewSchema assigns them.
func ParseType(text string) (ice.Type, error) {
	p := termParser{rest: text}
	t, err := p.icebergType()
	if err == nil {
		if p.skip(); p.rest != "" {
			err = fmt.Errorf("unexpected %q", p.rest)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("type %q in Iceberg's terms: %w", strings.TrimSpace(text), err)
	}
	return t, nil
}

// simpleTypes are the types without parameters.
var simpleTypes = map[string]ice.Type{
	"boolean": ice.PrimitiveTypes.Bool, "int": ice.PrimitiveTypes.Int32, "long": ice.PrimitiveTypes.Int64,
	"float": ice.PrimitiveTypes.Float32, "double": ice.PrimitiveTypes.Float64, "date": ice.PrimitiveTypes.Date,
	"time": ice.PrimitiveTypes.Time, "timestamp": ice.PrimitiveTypes.Timestamp, "timestamptz": ice.PrimitiveTypes.TimestampTz,
	"timestamp_ns": ice.PrimitiveTypes.TimestampNs, "timestamptz_ns": ice.PrimitiveTypes.TimestampTzNs,
	"string": ice.PrimitiveTypes.String, "uuid": ice.PrimitiveTypes.UUID, "binary": ice.PrimitiveTypes.Binary,
	"unknown": ice.UnknownType{}, "variant": ice.VariantType{},
}

func (p *termParser) expect(c byte) error {
	if !p.accept(c) {
		return fmt.Errorf("expected %q at %q", c, p.rest)
	}
	return nil
}

func (p *termParser) icebergType() (ice.Type, error) {
	name, quoted, err := p.word()
	if err != nil {
		return nil, err
	}
	if quoted {
		return nil, fmt.Errorf("%q is no type", name)
	}
	switch lower := strings.ToLower(name); lower {
	case "decimal", "numeric":
		return p.decimal()
	case "fixed":
		return p.fixed()
	case "list", "array":
		if err := p.expect('<'); err != nil {
			return nil, err
		}
		elem, err := p.icebergType()
		if err != nil {
			return nil, err
		}
		return &ice.ListType{Element: elem}, p.expect('>')
	case "map":
		if err := p.expect('<'); err != nil {
			return nil, err
		}
		key, err := p.icebergType()
		if err != nil {
			return nil, err
		}
		if err := p.expect(','); err != nil {
			return nil, err
		}
		value, err := p.icebergType()
		if err != nil {
			return nil, err
		}
		return &ice.MapType{KeyType: key, ValueType: value}, p.expect('>')
	case "struct":
		return p.structType()
	default:
		if t, ok := simpleTypes[lower]; ok {
			return t, nil
		}
		return nil, fmt.Errorf("%w: %s", ErrUnsupportedType, name)
	}
}

// number reads a number up to limit.
func (p *termParser) number(limit int) (int, error) {
	text, _, err := p.word()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("%q is not a number up to %d", text, limit)
	}
	return n, nil
}

func (p *termParser) decimal() (ice.Type, error) {
	if err := p.expect('('); err != nil {
		return nil, err
	}
	precision, err := p.number(38)
	if err != nil {
		return nil, err
	}
	scale := 0
	if p.accept(',') {
		if scale, err = p.number(precision); err != nil {
			return nil, err
		}
	}
	if precision == 0 {
		return nil, fmt.Errorf("a decimal has at least one digit")
	}
	return ice.DecimalTypeOf(precision, scale), p.expect(')')
}

// maxFixed bounds the length of fixed to what is sensible for a value.
const maxFixed = 1 << 20

func (p *termParser) fixed() (ice.Type, error) {
	end := byte(')')
	if p.accept('[') {
		end = ']'
	} else if err := p.expect('('); err != nil {
		return nil, err
	}
	n, err := p.number(maxFixed)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, fmt.Errorf("fixed has at least one byte")
	}
	return ice.FixedTypeOf(n), p.expect(end)
}

func (p *termParser) structType() (ice.Type, error) {
	if err := p.expect('<'); err != nil {
		return nil, err
	}
	out := &ice.StructType{}
	seen := map[string]bool{}
	for {
		name, _, err := p.word()
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("the struct has two fields named %s", name)
		}
		seen[name] = true
		p.accept(':')
		t, err := p.icebergType()
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		out.FieldList = append(out.FieldList, ice.NestedField{Name: name, Type: t})
		if !p.accept(',') {
			return out, p.expect('>')
		}
	}
}
