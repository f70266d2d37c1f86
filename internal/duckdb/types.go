package duckdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

var typeNames = map[bindings.Type]string{
	bindings.TypeBoolean: "BOOLEAN", bindings.TypeTinyInt: "TINYINT", bindings.TypeSmallInt: "SMALLINT",
	bindings.TypeInteger: "INTEGER", bindings.TypeBigInt: "BIGINT", bindings.TypeHugeInt: "HUGEINT",
	bindings.TypeUTinyInt: "UTINYINT", bindings.TypeUSmallInt: "USMALLINT", bindings.TypeUInteger: "UINTEGER",
	bindings.TypeUBigInt: "UBIGINT", bindings.TypeUHugeInt: "UHUGEINT", bindings.TypeFloat: "FLOAT",
	bindings.TypeDouble: "DOUBLE", bindings.TypeVarchar: "VARCHAR", bindings.TypeBlob: "BLOB", bindings.TypeBit: "BIT",
	bindings.TypeUUID: "UUID", bindings.TypeDate: "DATE", bindings.TypeTime: "TIME", bindings.TypeTimeNS: "TIME_NS",
	bindings.TypeTimeTZ: "TIME WITH TIME ZONE", bindings.TypeTimestamp: "TIMESTAMP", bindings.TypeTimestampS: "TIMESTAMP_S",
	bindings.TypeTimestampMS: "TIMESTAMP_MS", bindings.TypeTimestampNS: "TIMESTAMP_NS",
	bindings.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE", bindings.TypeInterval: "INTERVAL", bindings.TypeSQLNull: `"NULL"`,
	bindings.TypeBigNum: "BIGNUM", bindings.TypeVariant: "VARIANT", bindings.TypeGeometry: "GEOMETRY", bindings.TypeAny: "ANY",
}

// typeText is a type as DuckDB reads it in a CAST; an aliased type is its alias.
func typeText(t bindings.LogicalType) string {
	id := bindings.GetTypeId(t)
	if alias := bindings.LogicalTypeGetAlias(t); alias != "" && id != bindings.TypeEnum {
		return alias
	}
	switch id {
	case bindings.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", bindings.DecimalWidth(t), bindings.DecimalScale(t))
	case bindings.TypeEnum:
		values := make([]string, bindings.EnumDictionarySize(t))
		for i := range values {
			values[i] = quote(bindings.EnumDictionaryValue(t, bindings.IdxT(i)))
		}
		return "ENUM(" + strings.Join(values, ", ") + ")"
	case bindings.TypeList:
		return childText(bindings.ListTypeChildType(t)) + "[]"
	case bindings.TypeArray:
		return fmt.Sprintf("%s[%d]", childText(bindings.ArrayTypeChildType(t)), bindings.ArrayTypeArraySize(t))
	case bindings.TypeMap:
		return "MAP(" + childText(bindings.MapTypeKeyType(t)) + ", " + childText(bindings.MapTypeValueType(t)) + ")"
	case bindings.TypeStruct:
		fields := make([]string, bindings.StructTypeChildCount(t))
		for i := range fields {
			at := bindings.IdxT(i)
			fields[i] = fieldText(bindings.StructTypeChildName(t, at), bindings.StructTypeChildType(t, at))
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	case bindings.TypeUnion:
		members := make([]string, bindings.UnionTypeMemberCount(t))
		for i := range members {
			at := bindings.IdxT(i)
			members[i] = fieldText(bindings.UnionTypeMemberName(t, at), bindings.UnionTypeMemberType(t, at))
		}
		return "UNION(" + strings.Join(members, ", ") + ")"
	}
	if name, ok := typeNames[id]; ok {
		return name
	}
	return "INVALID"
}

// childText is typeText of a type that it frees.
func childText(t bindings.LogicalType) string {
	defer bindings.DestroyLogicalType(&t)
	return typeText(t)
}

func fieldText(name string, t bindings.LogicalType) string {
	text := childText(t)
	if name == "" {
		return text
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `" ` + text
}

// typeResolver turns type texts into DuckDB's types by asking DuckDB, on a connection of its own, since the C API has no
// call for it. Resolved types live as long as the database.
type typeResolver struct {
	mu     sync.Mutex
	conn   *Conn
	known  map[string]bindings.LogicalType
	closed bool
}

// resolve returns the type of a text. The type belongs to the resolver. "ANY" is the type that any argument fits.
func (r *typeResolver) resolve(ctx context.Context, db *DB, text string) (bindings.LogicalType, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.known[text]; ok {
		return t, nil
	}
	if r.closed {
		return bindings.LogicalType{}, errors.New("duckdb: the database is closed")
	}
	t, err := r.ask(ctx, db, text)
	if err != nil {
		return bindings.LogicalType{}, fmt.Errorf("duckdb type %q: %w", text, err)
	}
	if r.known == nil {
		r.known = make(map[string]bindings.LogicalType)
	}
	r.known[text] = t
	return t, nil
}

func (r *typeResolver) ask(ctx context.Context, db *DB, text string) (bindings.LogicalType, error) {
	if text == "ANY" {
		return bindings.CreateLogicalType(bindings.TypeAny), nil
	}
	if r.conn == nil {
		c := &Conn{db: db}
		if bindings.Connect(db.handle, &c.handle) == bindings.StateError {
			bindings.Disconnect(&c.handle)
			return bindings.LogicalType{}, errors.New("cannot connect")
		}
		r.conn = c
	}
	prepared, err := r.conn.prepare(ctx, "SELECT CAST(NULL AS "+text+")")
	if err != nil {
		return bindings.LogicalType{}, err
	}
	defer bindings.DestroyPrepare(&prepared)
	if n := bindings.PreparedStatementColumnCount(prepared); n != 1 {
		return bindings.LogicalType{}, fmt.Errorf("not one type but %d", n)
	}
	return bindings.PreparedStatementColumnLogicalType(prepared, 0), nil
}

func (r *typeResolver) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for text, t := range r.known {
		bindings.DestroyLogicalType(&t)
		delete(r.known, text)
	}
	if r.conn != nil {
		bindings.Disconnect(&r.conn.handle)
		r.conn = nil
	}
}
