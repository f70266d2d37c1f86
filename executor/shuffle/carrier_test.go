package shuffle

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/duckdb"
	"github.com/seracdb/serac/plan"
)

func ptr(t plan.Type) *plan.Type { return &t }

func structOf(fields ...plan.Field) plan.Type { return plan.Type{Kind: plan.Struct, Fields: fields} }

// carried are types with values at the ends of their ranges, as DuckDB expressions.
var carried = []struct {
	of     plan.Type
	values []string
}{
	{plan.T(plan.Null), []string{"NULL"}},
	{plan.T(plan.Boolean), []string{"true", "false"}},
	{plan.T(plan.TinyInt), []string{"-128", "127", "0"}},
	{plan.T(plan.SmallInt), []string{"-32768", "32767"}},
	{plan.T(plan.Integer), []string{"-2147483648", "2147483647"}},
	{plan.T(plan.BigInt), []string{"-9223372036854775808", "9223372036854775807"}},
	{plan.T(plan.HugeInt), []string{"-170141183460469231731687303715884105728", "170141183460469231731687303715884105727", "0", "9007199254740993"}},
	{plan.T(plan.UTinyInt), []string{"0", "255"}},
	{plan.T(plan.USmallInt), []string{"0", "65535"}},
	{plan.T(plan.UInteger), []string{"0", "4294967295"}},
	{plan.T(plan.UBigInt), []string{"0", "18446744073709551615"}},
	{plan.T(plan.UHugeInt), []string{"0", "340282366920938463463374607431768211455"}},
	{plan.T(plan.Float), []string{"'nan'", "'-0.0'", "0.0", "'inf'", "'-inf'", "'1.4e-45'", "'3.4028235e38'", "0.1"}},
	{plan.T(plan.Double), []string{"'nan'", "'-0.0'", "0.0", "'inf'", "'-inf'", "'5e-324'", "'1.7976931348623157e308'", "0.1"}},
	{plan.DecimalType(4, 1), []string{"-999.9", "999.9", "0.1"}},
	{plan.DecimalType(9, 9), []string{"0.999999999", "-0.999999999"}},
	{plan.DecimalType(18, 3), []string{"999999999999999.999", "-999999999999999.999"}},
	{plan.DecimalType(38, 0), []string{strings.Repeat("9", 38), "-" + strings.Repeat("9", 38)}},
	{plan.DecimalType(38, 38), []string{"'0." + strings.Repeat("9", 38) + "'"}},
	{plan.T(plan.Varchar), []string{"''", "'a'", "chr(0) || 'x'", "repeat('long ', 100000)", "'žluťoučký 🦆'", "'NULL'"}},
	{plan.Type{Kind: plan.Varchar, Alias: "JSON"}, []string{`'{"a": [1, null]}'`, "'null'", "'  1 '"}},
	{plan.T(plan.Blob), []string{`''`, `'\x00\xFF'`, `'\xAA'::BLOB`}},
	{plan.T(plan.Bit), []string{"'0'", "'1'", "'000000000'", "'1010101010101010101'"}},
	{plan.T(plan.UUID), []string{"'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'80000000-0000-0000-0000-000000000001'"}},
	{plan.T(plan.Date), []string{"'infinity'", "'-infinity'", "'5881580-07-10'", "'5877642-06-25 (BC)'", "'1970-01-01'"}},
	{plan.T(plan.Time), []string{"'00:00:00'", "'24:00:00'", "'23:59:59.999999'"}},
	{plan.T(plan.TimeNS), []string{"'00:00:00'", "'23:59:59.999999999'", "'24:00:00'"}},
	{plan.T(plan.TimeTZ), []string{"'00:00:00+15:59:59'", "'24:00:00-15:59:59'", "'12:00:00-00:00:01'", "'12:00:00.000001+05:30'", "'01:00:00-00:30'"}},
	{plan.T(plan.Timestamp), []string{"'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806'", "'290309-12-22 (BC) 00:00:00'", "'1969-12-31 23:59:59.999999'"}},
	{plan.T(plan.TimestampS), []string{"'infinity'", "'-infinity'", "'294247-01-10 04:00:54'", "'290309-12-22 (BC) 00:00:00'", "'1969-12-31 23:59:59'"}},
	{plan.T(plan.TimestampMS), []string{"'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775'", "'290309-12-22 (BC) 00:00:00'", "'1969-12-31 23:59:59.999'"}},
	{plan.T(plan.TimestampNS), []string{"'infinity'", "'-infinity'", "'2262-04-11 23:47:16.854775806'", "'1677-09-22 00:00:00.000000001'"}},
	{plan.T(plan.TimestampTZ), []string{"'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806+00'", "'1969-12-31 23:59:59.999999+00'"}},
	{plan.T(plan.Interval), []string{
		"to_months(2147483647) + to_days(2147483647) + to_microseconds(9223372036854775807)",
		"to_months(-2147483648) + to_days(-2147483648) + to_microseconds(-9223372036854775808)",
		"to_months(1)", "to_days(30)", "to_months(-1) + to_days(31) + to_microseconds(-1)",
	}},
	{plan.Type{Kind: plan.Enum, Values: []string{"", "b", "a'quote"}}, []string{"''", "'b'", "'a''quote'"}},
	{plan.ListType(plan.T(plan.Integer)), []string{"[]", "[1, NULL]", "[NULL]"}},
	{plan.ListType(plan.T(plan.Null)), []string{"[]", "[NULL, NULL]"}},
	{plan.ListType(plan.T(plan.Interval)), []string{"[]", "[NULL, to_months(1)]"}},
	{plan.ListType(plan.ListType(plan.T(plan.HugeInt))), []string{"[[], NULL, [NULL, 9007199254740993]]"}},
	{plan.Type{Kind: plan.Array, Elem: ptr(plan.T(plan.Integer)), Size: 2}, []string{"[1, 2]", "[NULL, 2]"}},
	{plan.Type{Kind: plan.Array, Elem: ptr(plan.T(plan.TimeTZ)), Size: 1}, []string{"['12:00:00-00:00:01'::TIMETZ]", "[NULL]"}},
	{
		structOf(plan.Field{Name: "a", Type: plan.Type{Kind: plan.Array, Elem: ptr(plan.T(plan.HugeInt)), Size: 2}}, plan.Field{Name: "z", Type: plan.T(plan.TimeTZ)}),
		[]string{"{'a': [NULL, 9007199254740993], 'z': '12:00:00-00:00:01'::TIMETZ}", "{'a': NULL, 'z': NULL}"},
	},
	{plan.ListType(plan.Type{Kind: plan.Array, Elem: ptr(plan.T(plan.Interval)), Size: 2}), []string{"[[NULL, to_months(1)]::INTERVAL[2], NULL]"}},
	{plan.Type{Kind: plan.Map, Key: ptr(plan.T(plan.Varchar)), Elem: ptr(plan.Type{Kind: plan.Array, Elem: ptr(plan.T(plan.Bit)), Size: 1})}, []string{"MAP {'a': ['01'::BIT]}"}},
	{plan.Type{Kind: plan.Map, Key: ptr(plan.T(plan.Varchar)), Elem: ptr(plan.T(plan.Integer))}, []string{"MAP {}", "MAP {'a': NULL, 'b': 1}"}},
	{plan.Type{Kind: plan.Map, Key: ptr(plan.T(plan.HugeInt)), Elem: ptr(plan.T(plan.Interval))}, []string{"MAP {}", "MAP {9007199254740993: NULL, -1: to_days(1)}"}},
	{structOf(plan.Field{Name: "a", Type: plan.T(plan.Integer)}), []string{"{'a': 1}", "{'a': NULL}"}},
	{
		structOf(plan.Field{Name: `q"'t`, Type: plan.T(plan.HugeInt)}, plan.Field{Name: "l", Type: plan.ListType(structOf(plan.Field{Name: "select", Type: plan.T(plan.Bit)}))}),
		[]string{`{'q"''t': 9007199254740993, 'l': [{'select': '01'::BIT}, NULL, {'select': NULL}]}`, `{'q"''t': NULL, 'l': NULL}`},
	},
}

// carriedRows are types that have no name that a CAST takes: their values are given as they are.
var carriedRows = []struct {
	of     plan.Type
	values []string
}{
	{structOf(plan.Field{Type: plan.T(plan.Integer)}, plan.Field{Type: plan.T(plan.Varchar)}), []string{"row(1, 'a')", "row(NULL::INTEGER, NULL::VARCHAR)"}},
	{structOf(plan.Field{Type: plan.T(plan.HugeInt)}, plan.Field{Type: plan.T(plan.Interval)}), []string{"row(9007199254740993::HUGEINT, to_months(1))"}},
}

func openDB(t *testing.T, dirs ...string) *duckdb.Conn {
	db, err := duckdb.Open(t.Context(), duckdb.Options{Threads: 2, Sandbox: true, AllowedDirs: dirs, TempDir: filepath.Join(t.TempDir(), "tmp")})
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	})
	return conn
}

// TestCarriedExactly writes values of every type that can be shuffled to a file and reads them back: type, value and text
// (which tells -0.0 from 0.0, and 30 days from a month) must be the same.
func TestCarriedExactly(t *testing.T) {
	dir := t.TempDir()
	conn := openDB(t, dir)
	files := 0
	check := func(t *testing.T, of plan.Type, values []string) {
		files++
		path := filepath.Join(dir, fmt.Sprintf("%d.parquet", files))
		rows := make([]string, len(values))
		for i, v := range values {
			rows[i] = fmt.Sprintf("SELECT %d AS i, %s AS v", i, v)
		}
		source := strings.Join(rows, " UNION ALL ")
		require.NoError(t, conn.Exec(t.Context(), fmt.Sprintf("COPY (SELECT i, %s AS v FROM (%s) ORDER BY i) TO %s (FORMAT parquet)",
			encode("v", of), source, plan.QuoteString(path))))
		read := fmt.Sprintf("SELECT i, %s AS v FROM read_parquet(%s)", decode("v", of), plan.QuoteString(path))
		got, err := conn.Rows(t.Context(), fmt.Sprintf(`
			SELECT a.v::VARCHAR, b.v::VARCHAR, typeof(a.v), typeof(b.v), a.v IS NOT DISTINCT FROM b.v
			FROM (%s) a FULL JOIN (%s) b ON a.i = b.i ORDER BY a.i`, source, read))
		require.NoError(t, err)
		require.Len(t, got, len(values))
		for _, row := range got {
			require.Equal(t, row[2], row[3], "type")
			require.Equal(t, row[0], row[1], "text")
			require.Equal(t, true, row[4], "value %v, read back as %v", row[0], row[1])
		}
	}
	// All values together with a NULL, and each alone: statistics of a file may stand in for its values.
	checkAll := func(t *testing.T, of plan.Type, values []string) {
		check(t, of, append(values, values[0]+" WHERE false UNION ALL SELECT -1, NULL"))
		for _, v := range values {
			check(t, of, []string{v})
		}
	}
	for i, c := range carried {
		t.Run(fmt.Sprint(i, " ", c.of.Kind), func(t *testing.T) {
			carrier, ok := Carrier(c.of)
			require.True(t, ok)
			_, again := Carrier(carrier)
			require.True(t, again, "the carrier carries itself")
			typed := make([]string, len(c.values))
			for j, v := range c.values {
				typed[j] = fmt.Sprintf("CAST(%s AS %s)", v, c.of.SQL())
			}
			checkAll(t, c.of, typed)
		})
	}
	for i, c := range carriedRows {
		t.Run(fmt.Sprint(i, " ROW"), func(t *testing.T) { checkAll(t, c.of, c.values) })
	}
}

func TestNotCarried(t *testing.T) {
	union := plan.Type{Kind: plan.Union, Fields: []plan.Field{{Name: "n", Type: plan.T(plan.Integer)}}}
	for _, of := range []plan.Type{
		plan.T(plan.Invalid), union, plan.T(plan.Variant), plan.T(plan.Geometry), plan.T(plan.BigNum),
		plan.ListType(union), structOf(plan.Field{Name: "g", Type: plan.T(plan.Geometry)}), structOf(),
		{Kind: plan.Map, Key: ptr(plan.T(plan.BigNum)), Elem: ptr(plan.T(plan.Integer))},
		{Kind: plan.Array, Size: 1, Elem: ptr(structOf(plan.Field{Type: plan.T(plan.Integer)}))},
		structOf(plan.Field{Name: "a", Type: plan.Type{Kind: plan.Array, Elem: ptr(plan.T(plan.Integer)), Size: 1}}, plan.Field{Name: "i", Type: plan.T(plan.Interval)}),
		{Kind: plan.Varchar, Alias: "SOMETHING"},
	} {
		_, ok := Carrier(of)
		require.False(t, ok, of.SQL())
		_, err := WriteSQL("SELECT 1 AS c0", []plan.Type{of}, Partitioning{Partitions: 1}, t.TempDir())
		require.ErrorContains(t, err, "cannot be shuffled")
	}
}
