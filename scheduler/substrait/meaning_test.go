package substrait

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	pb "github.com/substrait-io/substrait-protobuf/go/substraitpb"
)

// TestFunctionMeanings holds functions whose meaning in Substrait is easily missed against values worked out by hand, which
// are cast to the type that the plan says.
func TestFunctionMeanings(t *testing.T) {
	db, m := openDatabase(t), &message{}
	moment := func(s string) *pb.Expression { return castOf(text(s), "TIMESTAMP") }
	zoned := func(s string) *pb.Expression { return castOf(text(s), "TIMESTAMPTZ") }
	days := func(n int32) *pb.Expression {
		return literalOf(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_IntervalDayToSecond_{
			IntervalDayToSecond: &pb.Expression_Literal_IntervalDayToSecond{Days: n},
		}})
	}
	months := func(n int32) *pb.Expression {
		return literalOf(&pb.Expression_Literal{LiteralType: &pb.Expression_Literal_IntervalYearToMonth_{
			IntervalYearToMonth: &pb.Expression_Literal_IntervalYearToMonth{Months: n},
		}})
	}
	const winter = "2024-01-07 01:02:03.456789" // a Sunday
	for _, c := range []struct {
		want, of string
		call     string
		args     []any
	}{
		// Quotients of integers are cut off, remainders have the dividend's sign; what is divided by zero is NULL or an error.
		{"-3", "INTEGER", "divide", []any{i32(-7), i32(2)}},
		{"NULL", "INTEGER", "divide", []any{i32(-7), i32(0)}},
		{"NULL", "INTEGER", "divide", []any{i32(-7), i32(0), option("on_division_by_zero", "NULL")}},
		{"'inf'", "DOUBLE", "divide", []any{double(1), double(0), option("on_division_by_zero", "IEEE")}},
		{"'nan'", "DOUBLE", "divide", []any{double(1), double(0), option("on_division_by_zero", "NAN")}},
		{"NULL", "DOUBLE", "divide", []any{double(1), double(0), option("on_division_by_zero", "LIMIT", "NULL")}},
		{"0.5", "DOUBLE", "divide", []any{double(1), double(2), option("on_division_by_zero", "ERROR"), option("rounding", "TIE_TO_EVEN")}},
		{"-1", "INTEGER", "modulus", []any{i32(-7), i32(3)}},
		{"1", "INTEGER", "modulus", []any{i32(7), i32(-3), option("division_type", "TRUNCATE"), option("on_domain_error", "ERROR")}},
		{"1.5", "DECIMAL(4,1)", "modulus", []any{dec("7.5", 4, 1), dec("2", 3, 0)}},
		// Halves go away from zero.
		{"3", "DOUBLE", "round", []any{double(2.5), i32(0), option("rounding", "TIE_TO_EVEN", "TIE_AWAY_FROM_ZERO")}},
		{"-3", "DOUBLE", "round", []any{double(-2.5), i32(0)}},
		{"160", "INTEGER", "round", []any{i32(155), i32(-1)}},
		{"3", "DECIMAL(3,0)", "round", []any{dec("2.5", 3, 1), i32(0)}},
		// Logarithms.
		{"'-inf'", "DOUBLE", "log10", []any{double(0), option("on_log_zero", "MINUS_INFINITY")}},
		{"'nan'", "DOUBLE", "ln", []any{double(0), option("on_log_zero", "NAN")}},
		{"NULL", "DOUBLE", "log2", []any{double(-1), option("on_domain_error", "NULL"), option("on_log_zero", "NAN")}},
		{"3", "DOUBLE", "log10", []any{double(1000), option("on_log_zero", "NAN"), option("on_domain_error", "NAN")}},
		{"3", "DOUBLE", "logb", []any{double(8), double(2)}},
		{"1e-20", "DOUBLE", "log1p", []any{double(1e-20)}},
		{"0.6931471805599453", "DOUBLE", "log1p", []any{double(1)}},
		{"'nan'", "DOUBLE", "sqrt", []any{double(-1), option("on_domain_error", "NAN")}},
		{"'nan'", "DOUBLE", "acosh", []any{double(0.5)}},
		{"1024", "BIGINT", "power", []any{i64(2), i64(10), option("overflow", "ERROR")}},
		{"120", "BIGINT", "factorial", []any{i64(5)}},
		{"-1", "INTEGER", "shift_right", []any{i32(-8), i32(40)}},
		{"-4", "BIGINT", "shift_right", []any{i64(-8), i32(1)}},
		// Texts.
		{"'hello'", "VARCHAR", "substring", []any{text("hello"), i32(1)}},
		{"'ell'", "VARCHAR", "substring", []any{text("hello"), i32(2), i32(3)}},
		{"'lo'", "VARCHAR", "substring", []any{text("hello"), i32(-2), i32(5), option("negative_start", "WRAP_FROM_END")}},
		{"'h'", "VARCHAR", "substring", []any{text("hello"), i32(-1), i32(3), option("negative_start", "LEFT_OF_BEGINNING")}},
		{"'he'", "VARCHAR", "substring", []any{text("hello"), i32(0), i32(3), option("negative_start", "LEFT_OF_BEGINNING")}},
		{"''", "VARCHAR", "substring", []any{text("hello"), i32(-9), i32(3), option("negative_start", "LEFT_OF_BEGINNING")}},
		{"'hello'", "VARCHAR", "substring", []any{text("hello"), i32(-9), option("negative_start", "LEFT_OF_BEGINNING")}},
		{"'llo'", "VARCHAR", "substring", []any{text("hello"), i32(3), option("negative_start", "ERROR")}},
		{"3", "BIGINT", "strpos", []any{text("hello"), text("l")}},
		{"0", "BIGINT", "strpos", []any{text("hello"), text("z")}},
		{"'heLLo'", "VARCHAR", "replace", []any{text("hello"), text("l"), text("L"), option("case_sensitivity", "CASE_SENSITIVE")}},
		{"false", "BOOLEAN", "like", []any{text(`a%c`), text(`a\%c`)}}, // no escape character
		{"true", "BOOLEAN", "like", []any{text(`a%c`), text(`a!%c`), text("!")}},
		{"false", "BOOLEAN", "like", []any{text(`abc`), text(`a!%c`), text("!")}},
		{"true", "BOOLEAN", "like", []any{text(`ABC`), text(`a_c`), option("case_sensitivity", "CASE_INSENSITIVE")}},
		{"NULL", "VARCHAR", "concat", []any{text("a"), null("VARCHAR"), text("b")}},
		{"'ab'", "VARCHAR", "concat", []any{text("a"), null("VARCHAR"), text("b"), option("null_handling", "IGNORE_NULLS")}},
		{"NULL", "VARCHAR", "regexp_match_substring", []any{text("hello"), text("z+")}},
		{"'ll'", "VARCHAR", "regexp_match_substring", []any{text("hello"), text("l+")}},
		{"'  x'", "VARCHAR", "rtrim", []any{text("  x  "), text(" ")}},
		{"4", "BIGINT", "octet_length", []any{text("é€"[:2] + "ab")}},
		{"2", "BIGINT", "char_length", []any{text("é€")}},
		// NULL among the values.
		{"NULL", "INTEGER", "least", []any{i32(1), null("INTEGER")}},
		{"1", "INTEGER", "least_skip_null", []any{i32(1), null("INTEGER")}},
		{"true", "BOOLEAN", "or", []any{null("BOOLEAN"), m.call("is_null", "BOOLEAN", null("INTEGER"))}},
		// Components of moments.
		{"2024", "BIGINT", "extract", []any{enum("YEAR"), moment(winter)}},
		{"2024", "BIGINT", "extract", []any{enum("ISO_YEAR"), moment("2024-12-29 00:00:00")}},
		{"2025", "BIGINT", "extract", []any{enum("ISO_YEAR"), moment("2024-12-30 00:00:00")}},
		{"1", "BIGINT", "extract", []any{enum("MONTH"), enum("ONE"), moment(winter)}},
		{"0", "BIGINT", "extract", []any{enum("MONTH"), enum("ZERO"), moment(winter)}},
		{"1", "BIGINT", "extract", []any{enum("SUNDAY_DAY_OF_WEEK"), enum("ONE"), moment(winter)}},
		{"6", "BIGINT", "extract", []any{enum("MONDAY_DAY_OF_WEEK"), enum("ZERO"), moment(winter)}},
		{"3", "BIGINT", "extract", []any{enum("SECOND"), moment(winter)}},
		{"456", "BIGINT", "extract", []any{enum("MILLISECOND"), moment(winter)}},
		{"789", "BIGINT", "extract", []any{enum("MICROSECOND"), moment(winter)}},
		{"456789", "BIGINT", "extract", []any{enum("SUBSECOND"), moment(winter)}},
		{"-2", "BIGINT", "extract", []any{enum("UNIX_TIME"), moment("1969-12-31 23:59:58.5")}},
		{"1", "BIGINT", "extract", []any{enum("HOUR"), zoned("2024-01-07 00:30:00+00"), text("Europe/Berlin")}},
		{"0", "BIGINT", "extract", []any{enum("UNIX_TIME"), zoned("1970-01-01 00:00:00+00"), text("Europe/Berlin")}},
		// Dates and intervals.
		{"'2024-02-29'", "TIMESTAMP", "add", []any{castOf(text("2024-01-31"), "DATE"), months(1)}},
		{"'2024-01-30'", "DATE", "subtract", []any{castOf(text("2024-01-31"), "DATE"), days(1)}},
		{"'2024-03-31 11:00:00+00'", "TIMESTAMPTZ", "add", []any{zoned("2024-03-30 12:00:00+00"), days(1), text("Europe/Berlin")}},
	} {
		value := m.call(c.call, c.of, c.args...)
		db.same("SELECT CAST("+c.want+" AS "+c.of+")", m.bytes(t, only(one(), 0, value)))
	}
	double := func(n int32) *pb.Expression { return m.call("multiply", "", i32(n), days(2)) }
	db.same("SELECT INTERVAL 6 DAY", m.bytes(t, only(one(), 0, double(3))))
}

// TestFailingFunctions are the calls that must fail when they run.
func TestFailingFunctions(t *testing.T) {
	db, m := openDatabase(t), &message{}
	for says, call := range map[string]*pb.Expression{
		"division by zero":                m.call("divide", "INTEGER", i32(1), i32(0), option("on_division_by_zero", "ERROR")),
		"division by zero ":               m.call("divide", "DOUBLE", double(1), double(0), option("on_division_by_zero", "ERROR")),
		"division by zero  ":              m.call("modulus", "INTEGER", i32(1), i32(0), option("on_domain_error", "ERROR")),
		"Overflow in addition":            m.call("add", "INTEGER", i32(2147483647), i32(1), option("overflow", "ERROR")),
		"logarithm of zero":               m.call("log10", "DOUBLE", double(0), option("on_log_zero", "ERROR")),
		"square root of a negative":       m.call("sqrt", "DOUBLE", double(-1), option("on_domain_error", "ERROR")),
		"acosh of a value outside":        m.call("acosh", "DOUBLE", double(0), option("on_domain_error", "ERROR")),
		"power of integers out of range":  m.call("power", "BIGINT", i64(3), i64(39)),
		"factorial of a negative":         m.call("factorial", "BIGINT", i64(-1)),
		"substring from a negative start": m.call("substring", "VARCHAR", text("x"), i32(-1), i32(1), option("negative_start", "ERROR")),
	} {
		sql, err := SQL(m.bytes(t, only(one(), 0, call)))
		require.NoError(t, err, says)
		_, err = db.rows(sql)
		require.ErrorContains(t, err, strings.TrimSpace(says), sql)
	}
}

// TestRefusedOptions are options that ask for what DuckDB does not do, each refused by its name, and calls that are refused.
func TestRefusedOptions(t *testing.T) {
	m := &message{}
	refused := func(says string, rel *pb.Rel) {
		t.Helper()
		_, err := SQL(m.bytes(t, rel))
		require.ErrorContains(t, err, says)
	}
	for says, call := range map[string]*pb.Expression{
		`function "add" of extension:io.substrait:functions_all: its option overflow = SATURATE is not supported`: m.call("add", "INTEGER", i32(1), i32(1), option("overflow", "SATURATE")),
		"option overflow = ERROR":                           m.call("add", "DOUBLE", double(1), double(1), option("overflow", "ERROR")),
		"option rounding = TRUNCATE, CEILING":               m.call("add", "DOUBLE", double(1), double(1), option("rounding", "TRUNCATE", "CEILING")),
		"option rounding = TIE_TO_EVEN":                     m.call("divide", "INTEGER", i32(1), i32(1), option("rounding", "TIE_TO_EVEN")),
		"option rounding = FLOOR":                           m.call("round", "DOUBLE", double(1), i32(0), option("rounding", "FLOOR")),
		"option on_division_by_zero = LIMIT":                m.call("divide", "DOUBLE", double(1), double(1), option("on_division_by_zero", "LIMIT")),
		"option on_division_by_zero = IEEE":                 m.call("divide", "INTEGER", i32(1), i32(1), option("on_division_by_zero", "IEEE")),
		"option on_domain_error = NULL":                     m.call("divide", "DOUBLE", double(1), double(1), option("on_domain_error", "NULL")),
		"option division_type = FLOOR":                      m.call("modulus", "INTEGER", i32(1), i32(1), option("division_type", "FLOOR")),
		"option on_domain_error = NULL is not supported":    m.call("sqrt", "DOUBLE", double(1), option("on_domain_error", "NULL")),
		"option complex_number_result = ERROR":              m.call("power", "DOUBLE", double(1), double(1), option("complex_number_result", "ERROR")),
		"option char_set = ASCII_ONLY":                      m.call("lower", "VARCHAR", text("a"), option("char_set", "ASCII_ONLY")),
		"option case_sensitivity = CASE_INSENSITIVE":        m.call("strpos", "BIGINT", text("a"), text("a"), option("case_sensitivity", "CASE_INSENSITIVE")),
		"option case_sensitivity = CASE_INSENSITIVE_ASCII":  m.call("like", "BOOLEAN", text("a"), text("a"), option("case_sensitivity", "CASE_INSENSITIVE_ASCII")),
		"option multiline is not known":                     m.call("regexp_match_substring", "VARCHAR", text("a"), text("a"), option("multiline", "MULTILINE_ENABLED")),
		"option on_domain_error is not known":               m.call("atan", "DOUBLE", double(1), option("on_domain_error", "ERROR")),
		`component "US_WEEK" is not supported`:              m.call("extract", "BIGINT", enum("US_WEEK"), enum("ONE"), castOf(text("2024-01-01"), "DATE")),
		`component "MILLISECOND" is not supported`:          m.call("date_part", "BIGINT", text("MILLISECOND"), castOf(text("2024-01-01"), "TIMESTAMP")),
		"it does not take these arguments":                  m.call("extract", "BIGINT", enum("YEAR"), enum("ZERO"), castOf(text("2024-01-01"), "DATE")),
		`function "extract" of extension:io.substrait:func`: m.call("extract", "BIGINT", enum("HOUR"), castOf(text("2024-01-01"), "TIMESTAMP"), text("UTC")),
	} {
		refused(says, only(one(), 0, call))
	}
	measured := func(measure *pb.AggregateRel_Measure) *pb.Rel {
		return &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: &pb.AggregateRel{
			Input: scan("t", "i INTEGER", "n BIGINT", "f DOUBLE", "d DECIMAL(10,2)"), Measures: []*pb.AggregateRel_Measure{measure},
		}}}
	}
	refused("option overflow = SATURATE", measured(m.measure("sum", "BIGINT", col(0), option("overflow", "SATURATE"))))
	refused("option overflow = ERROR", measured(m.measure("sum", "DOUBLE", col(2), option("overflow", "ERROR"))))
	refused("option rounding = FLOOR", measured(m.measure("median", "INTEGER", enum("EXACT"), col(0), option("rounding", "FLOOR"))))
	refused("option rounding = CEILING", measured(m.measure("std_dev", "DOUBLE", col(2), option("rounding", "CEILING"))))
	refused("option distribution = OTHER", measured(m.measure("variance", "DOUBLE", col(2), option("distribution", "OTHER"))))
	refused("an exact median of i64", measured(m.measure("median", "BIGINT", enum("EXACT"), col(1))))
	refused("a product of i64", measured(m.measure("product", "BIGINT", col(1))))
	refused("it is not known", measured(m.measure("quantile", "BIGINT", enum("BOTH"), enum("EXACT"), i64(2), col(1))))
}

func TestAggregateMeanings(t *testing.T) {
	db, m := openDatabase(t), &message{}
	require.NoError(t, db.conn.Exec(t.Context(), `CREATE TABLE t AS SELECT * FROM (VALUES (1, 9007199254740993, 1.5::DOUBLE, 0.05::DECIMAL(10,2)),
		(2, 9007199254740993, 2.5, 1.00), (4, 1, NULL, 2.00), (NULL, 1, 'inf', NULL)) AS t(i, n, f, d)`))
	measured := func(measures ...*pb.AggregateRel_Measure) []byte {
		return m.bytes(t, &pb.Rel{RelType: &pb.Rel_Aggregate{Aggregate: &pb.AggregateRel{
			Input: scan("t", "i INTEGER", "n BIGINT", "f DOUBLE", "d DECIMAL(10,2)"), Measures: measures,
		}}})
	}
	db.same("SELECT 2, 2, 8, 18014398509481988::BIGINT, 3.05::DECIMAL(38,2), 1.02::DECIMAL(38,2)", measured(
		m.measure("median", "INTEGER", enum("EXACT"), col(0), option("rounding", "TIE_TO_EVEN")),
		m.measure("median", "INTEGER", col(0), option("precision", "APPROXIMATE")),
		m.measure("product", "INTEGER", col(0)), m.measure("sum", "BIGINT", col(1), option("overflow", "ERROR")),
		m.measure("sum", "DECIMAL(38,2)", col(3), option("overflow", "SATURATE", "ERROR")), m.measure("avg", "DECIMAL(38,2)", col(3))))
	db.same("SELECT stddev_pop(i::DOUBLE), stddev_samp(i::DOUBLE), var_pop(i::DOUBLE), var_samp(i::DOUBLE), 3 FROM t", measured(
		m.measure("std_dev", "DOUBLE", enum("POPULATION"), castOf(col(0), "DOUBLE")),
		m.measure("std_dev", "DOUBLE", castOf(col(0), "DOUBLE"), option("distribution", "SAMPLE")),
		m.measure("variance", "DOUBLE", castOf(col(0), "DOUBLE"), option("distribution", "POPULATION")),
		m.measure("variance", "DOUBLE", enum("SAMPLE"), castOf(col(0), "DOUBLE"), option("rounding", "TIE_TO_EVEN")),
		m.measure("count", "BIGINT", col(0), option("overflow", "ERROR"))))
}

// TestDecimalDivision: quotients of decimals are exact to their last digit, and rounded half away from zero.
func TestDecimalDivision(t *testing.T) {
	db, m := openDatabase(t), &message{}
	for _, c := range []struct{ x, y, of, want string }{
		{"1.00/15,2", "3.00/15,2", "DECIMAL(38,10)", "0.3333333333"},
		{"2.00/15,2", "3.00/15,2", "DECIMAL(38,10)", "0.6666666667"},
		{"-2.00/15,2", "3.00/15,2", "DECIMAL(38,10)", "-0.6666666667"},
		{"2.00/15,2", "-3.00/15,2", "DECIMAL(38,10)", "-0.6666666667"},
		{"-0.05/15,2", "-2.00/15,2", "DECIMAL(15,2)", "0.03"}, // half away from zero
		{"0.05/15,2", "-2.00/15,2", "DECIMAL(15,2)", "-0.03"},
		{"0.00/15,2", "7.00/15,2", "", "0.0000000000"},
		{"1.00/15,2", "0.00/15,2", "", "NULL"},
		// What a DOUBLE does not hold.
		{"9007199254740993.00/18,2", "1.00/18,2", "DECIMAL(38,2)", "9007199254740993.00"},
		{"12345678901234567890123456.7890/38,4", "2.0000/38,4", "DECIMAL(38,4)", "6172839450617283945061728.3945"},
		{"-12345678901234567890123456.7890/38,4", "7.0000/38,4", "", "-1763668414462081127160493.827000"},
		{"99999999999999999999999999999999999.999/38,3", "1.000/38,3", "DECIMAL(38,3)", "99999999999999999999999999999999999.999"},
		{"1.00000000000000000000/38,20", "3.00000000000000000000/38,20", "DECIMAL(38,15)", "0.333333333333333"},
		{"1/1,0", "7/1,0", "DECIMAL(38,30)", "0.142857142857142857142857142857"},
		{"7/10,0", "2.000/10,3", "DECIMAL(10,0)", "4"},
		// A divisor without room for more digits goes through DOUBLE.
		{"1.00/38,2", "100000000000000000000000000000000000.00/38,2", "DECIMAL(38,6)", "0.000000"},
	} {
		number := func(s string) *pb.Expression {
			value, of, _ := strings.Cut(s, "/")
			return castOf(text(value), "DECIMAL("+of+")")
		}
		quotient := m.call("divide", c.of, number(c.x), number(c.y))
		want := "SELECT '" + c.want + "'"
		if c.want == "NULL" {
			want = "SELECT NULL"
		}
		db.same(want, m.bytes(t, only(one(), 0, castOf(quotient, "VARCHAR"))))
	}
	// Products and sums that do not fit into DuckDB's types of up to 18 digits.
	wide := dec("123456789012.25", 15, 2)
	db.same("SELECT '15241578753215212330650.0625', 'DECIMAL(34,4)'", m.bytes(t, only(one(), 0,
		castOf(m.call("multiply", "DECIMAL(31,4)", wide, wide), "VARCHAR"), duckDBTypeof(m, m.call("multiply", "DECIMAL(31,4)", wide, wide)))))
	most := dec("9999999999999999.99", 18, 2)
	db.same("SELECT '19999999999999999.98'", m.bytes(t, only(one(), 0, castOf(m.call("add", "DECIMAL(19,2)", most, most), "VARCHAR"))))
	// Substrait's type of a quotient, where the plan does not say it.
	db.same("SELECT 'DECIMAL(38,10)'", m.bytes(t, only(one(), 0, duckDBTypeof(m, m.call("divide", "", dec("1.00", 15, 2), dec("3.00", 15, 2))))))
	// By an integer, which some producers do not cast.
	db.same("SELECT '0.3333'", m.bytes(t, only(one(), 0, castOf(m.call("divide", "DECIMAL(10,4)", dec("1.00", 15, 2), i32(3)), "VARCHAR"))))
}
