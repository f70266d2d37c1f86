package render

import (
	"context"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

func open(t *testing.T) *duckdb.Conn {
	t.Helper()
	ctx := context.Background()
	db, err := duckdb.Open(ctx, duckdb.Options{Threads: 1})
	require.NoError(t, err)
	conn, err := db.Conn(ctx)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	})
	require.NoError(t, conn.Exec(ctx, "SET TimeZone = 'UTC'"))
	return conn
}

func bigInt(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic(s)
	}
	return n
}

func TestConstantsReadBack(t *testing.T) {
	conn := open(t)
	point := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "x y", Type: plan.T(plan.Integer)}, {Name: "z", Type: plan.ListType(plan.T(plan.Varchar))}}}
	row := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Type: plan.T(plan.TinyInt)}, {Type: plan.T(plan.Varchar)}}}
	dict := plan.Type{Kind: plan.Map, Key: &plan.Type{Kind: plan.Varchar}, Elem: &plan.Type{Kind: plan.BigInt}}
	pair := plan.Type{Kind: plan.Array, Elem: &plan.Type{Kind: plan.Float}, Size: 2}
	for _, c := range []struct {
		value any
		of    plan.Type
		text  string // as DuckDB casts the value to VARCHAR
	}{
		{nil, plan.T(plan.Integer), "NULL"},
		{nil, row, "NULL"},
		{nil, point, "NULL"},
		{true, plan.T(plan.Boolean), "true"},
		{int64(-128), plan.T(plan.TinyInt), "-128"},
		{int64(math.MinInt64), plan.T(plan.BigInt), "-9223372036854775808"},
		{uint64(math.MaxUint64), plan.T(plan.UBigInt), "18446744073709551615"},
		{bigInt("-170141183460469231731687303715884105728"), plan.T(plan.HugeInt), "-170141183460469231731687303715884105728"},
		{bigInt("340282366920938463463374607431768211455"), plan.T(plan.UHugeInt), "340282366920938463463374607431768211455"},
		{bigInt("-5"), plan.DecimalType(4, 2), "-0.05"},
		{bigInt("1234567890123456789012345678901234567890"), plan.DecimalType(38, 0), ""}, // does not fit: an error
		{bigInt("12345678901234567890"), plan.DecimalType(38, 10), "1234567890.1234567890"},
		{0.1, plan.T(plan.Double), "0.1"},
		{0.30000000000000004, plan.T(plan.Double), "0.30000000000000004"},
		{5e-324, plan.T(plan.Double), "5e-324"},
		{math.NaN(), plan.T(plan.Double), "nan"},
		{math.Inf(-1), plan.T(plan.Float), "-inf"},
		{float64(float32(0.1)), plan.T(plan.Float), "0.1"},
		{"it's\x00\n\\ü", plan.T(plan.Varchar), "it's\x00\n\\ü"},
		{`{"a": 1}`, plan.Type{Kind: plan.Varchar, Alias: "JSON"}, `{"a": 1}`},
		{[]byte{0, 'a', 0xff, '\''}, plan.T(plan.Blob), `\x00a\xFF\x27`},
		{"0101", plan.T(plan.Bit), "0101"},
		{[16]byte{0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, plan.T(plan.UUID), "80010203-0405-0607-0809-0a0b0c0d0e0f"},
		{int64(0), plan.T(plan.Date), "1970-01-01"},
		{int64(-719163), plan.T(plan.Date), "0001-12-31 (BC)"},
		{int64(math.MaxInt32), plan.T(plan.Date), "infinity"},
		{int64(11016), plan.T(plan.Date), "2000-02-29"},
		{int64(86_399_999_999), plan.T(plan.Time), "23:59:59.999999"},
		{int64(1), plan.T(plan.TimeNS), "00:00:00.000000001"},
		{int64(62468286054477399), plan.T(plan.TimeTZ), "01:02:03.4-05:30"},
		{int64(-1), plan.T(plan.Timestamp), "1969-12-31 23:59:59.999999"},
		{int64(-math.MaxInt64), plan.T(plan.Timestamp), "-infinity"},
		{int64(-62200000000000000), plan.T(plan.Timestamp), "0003-12-17 (BC) 14:13:20"},
		{int64(1704067201), plan.T(plan.TimestampS), "2024-01-01 00:00:01"},
		{int64(-1), plan.T(plan.TimestampMS), "1969-12-31 23:59:59.999"},
		{int64(1704067200123456789), plan.T(plan.TimestampNS), "2024-01-01 00:00:00.123456789"},
		{int64(1704060000000000), plan.T(plan.TimestampTZ), "2023-12-31 22:00:00+00"},
		{plan.IntervalValue{Months: -13, Days: 5, Micros: -3_600_000_001}, plan.T(plan.Interval), "-1 year -1 month 5 days -01:00:00.000001"},
		{"it's", plan.Type{Kind: plan.Enum, Values: []string{"a", "it's"}}, "it's"},
		{[]any{int64(1), nil}, plan.ListType(plan.T(plan.Integer)), "[1, NULL]"},
		{[]any{}, plan.ListType(plan.T(plan.Date)), "[]"},
		{[]any{1.5, 2.0}, pair, "[1.5, 2.0]"},
		{[]any{int64(7), []any{"a", nil}}, point, "{'x y': 7, 'z': [a, NULL]}"},
		{[]any{int64(1), "b"}, row, "(1, b)"},
		{[]plan.MapEntry{{Key: "k", Value: int64(2)}}, dict, "{k=2}"},
		{[]plan.MapEntry{}, dict, "{}"},
	} {
		text, err := Expr(&plan.Constant{Value: c.value, Of: c.of}, nil)
		require.NoError(t, err, "%v", c)
		rows, err := conn.Rows(context.Background(), "SELECT COALESCE(CAST(x AS VARCHAR), 'NULL'), typeof(x) FROM (SELECT "+text+" AS x)")
		if c.text == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, c.text, rows[0][0], text)
		of, err := plan.ParseType(rows[0][1].(string))
		require.NoError(t, err)
		require.True(t, of.Equal(c.of), "%s has type %s", text, of)
	}
}

func TestConstantsOfTheWrongGoType(t *testing.T) {
	for _, c := range []*plan.Constant{
		{Value: 1, Of: plan.T(plan.Integer)}, {Value: "x", Of: plan.T(plan.Date)}, {Value: int64(1), Of: plan.DecimalType(3, 1)},
		{Value: []any{1}, Of: plan.ListType(plan.T(plan.Integer))}, {Value: "x", Of: plan.T(plan.Variant)},
	} {
		_, err := Expr(c, nil)
		require.Error(t, err, "%v", c)
	}
}

// TestDecimalArithmeticKeepsItsType binds random arithmetic as DuckDB does, with the casts of its bound plan, and asks
// for the types of the rendered text.
func TestDecimalArithmeticKeepsItsType(t *testing.T) {
	conn := open(t)
	ctx := context.Background()
	names := []string{"+", "-", "*"}
	for width := uint8(1); width <= 38; width += 3 {
		for scale := uint8(0); scale <= min(width, 12); scale += 2 {
			for i, name := range names {
				other := plan.DecimalType(1+(width*7+uint8(i)*5)%20, 0)
				other.Scale = min(other.Width, (scale*3)%7)
				a := &plan.ColumnRef{Index: 0, Of: plan.DecimalType(width, scale)}
				b := &plan.ColumnRef{Index: 1, Of: other}
				input := "(SELECT CAST(1 AS " + other.SQL() + ") AS b, CAST(0 AS " + a.Of.SQL() + ") AS a)"
				if other.Width == other.Scale {
					continue // 1 does not fit
				}
				rows, err := conn.Rows(ctx, "SELECT typeof(a "+name+" b) FROM "+input)
				require.NoError(t, err)
				of, err := plan.ParseType(rows[0][0].(string))
				require.NoError(t, err)
				want, ok := decimalResult(name, a.Of, b.Of)
				require.True(t, ok)
				require.Equal(t, of, want, "%s %s %s", a.Of, name, b.Of)
				bound := &plan.Call{Name: name, Of: of, Args: []plan.Expr{&plan.Cast{Arg: a, To: sameScale(name, of, a.Of)}, &plan.Cast{Arg: b, To: sameScale(name, of, b.Of)}}}
				text, err := Expr(bound, []string{"a", "b"})
				require.NoError(t, err)
				require.Equal(t, "(a "+name+" b)", text)
			}
		}
	}
}

// sameScale is the type that DuckDB casts an argument to.
func sameScale(name string, result, arg plan.Type) plan.Type {
	if name == "*" {
		return plan.DecimalType(max(result.Width, arg.Width), arg.Scale)
	}
	return result
}
