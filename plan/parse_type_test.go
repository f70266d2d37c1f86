package plan

import "testing"

func TestParseTypeReadsWhatSQLWrites(t *testing.T) {
	for _, text := range []string{
		`"NULL"`, "BOOLEAN", "TINYINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "VARCHAR", "BLOB", "BIT", "UUID", "DATE", "TIME",
		"TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "INTERVAL",
		"TIME_NS", "VARIANT", "BIGNUM", "JSON", "DECIMAL(38,10)", "INTEGER[]", "INTEGER[][]", "INTEGER[3]", "DECIMAL(4,1)[2][]",
		`STRUCT("a" INTEGER, "b c" VARCHAR[])`, `STRUCT("say ""hi""" DATE)`, `STRUCT("timestamp" TIMESTAMP WITH TIME ZONE, "list" INTEGER)`,
		"STRUCT(INTEGER, VARCHAR)", "STRUCT(TIMESTAMP WITH TIME ZONE, INTEGER[])", `MAP(VARCHAR, STRUCT("x" DOUBLE))`,
		"ENUM('a', 'it''s', 'x)')", `UNION("num" INTEGER, "str" VARCHAR)`,
	} {
		got, err := ParseType(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.SQL() != text {
			t.Errorf("%s reads as %s", text, got.SQL())
		}
	}
}

func TestParseTypeSynonyms(t *testing.T) {
	for text, want := range map[string]Type{
		"int": T(Integer), "text": T(Varchar), "varchar(25)": T(Varchar), "timestamptz": T(TimestampTZ), "bigint": T(BigInt),
		"numeric(15, 2)": DecimalType(15, 2), "decimal": DecimalType(18, 3), "decimal(7)": DecimalType(7, 0),
		"double precision": T(Double), "real": T(Float), "struct(a int)": {Kind: Struct, Fields: []Field{{"a", T(Integer)}}},
		"STRUCT(date DATE, i INTEGER)": {Kind: Struct, Fields: []Field{{"date", T(Date)}, {"i", T(Integer)}}},
		`"NULL"[]`:                     ListType(T(Null)), "timestamp without time zone": T(Timestamp),
	} {
		got, err := ParseType(text)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestParseTypeRefuses(t *testing.T) {
	for _, text := range []string{"", "NOSUCH", "DECIMAL(39,1)", "DECIMAL(3,4)", "INTEGER[", "INTEGER]", "STRUCT(a)", "STRUCT(a INTEGER",
		"MAP(INTEGER)", "ENUM(a)", "ENUM('a", "INTEGER INTEGER", `"x"`, "VARCHAR(x)"} {
		if got, err := ParseType(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
}

func FuzzParseType(f *testing.F) {
	for _, s := range []string{"STRUCT(a INTEGER, b MAP(VARCHAR, INTEGER[3]))", "ENUM('a')", "DECIMAL(1,1)", "UNION(a DATE)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first, err := ParseType(s)
		if err != nil {
			return
		}
		again, err := ParseType(first.SQL())
		if err != nil || !again.Equal(first) {
			t.Errorf("%q reads as %s, which reads as %s (%v)", s, first, again, err)
		}
	})
}
