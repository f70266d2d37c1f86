package sql

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func ptr(s string) *string { return &s }

func TestParseStatements(t *testing.T) {
	noOptions := TableOptions{Properties: map[string]string{}}
	for _, test := range []struct {
		text string
		want Statement
	}{
		{"select 1", &Query{Text: "select 1"}},
		{" -- a\n /* b /* c */ ; */ select ';' ; ; -- d", &Query{Text: "select ';'"}},
		{"from t select a", &Query{Text: "from t select a"}},
		{"VALUES (1), (2)", &Query{Text: "VALUES (1), (2)"}},
		{"(select 1) union all (select 2)", &Query{Text: "(select 1) union all (select 2)"}},
		{"with a as (select 1), b(x) as materialized (select 2) select * from a, b", &Query{Text: "with a as (select 1), b(x) as materialized (select 2) select * from a, b"}},
		{"with recursive t(a, b) using key (a) as (select 1, 2 union select 3, 4) from t", &Query{Text: "with recursive t(a, b) using key (a) as (select 1, 2 union select 3, 4) from t"}},
		{"table t", &Query{Text: "table t"}},
		{"pivot t on a using sum(b)", &Query{Text: "pivot t on a using sum(b)"}},
		{"summarize t", &Query{Text: "summarize t"}},
		{"describe select 1 as x", &Query{Text: "describe select 1 as x"}},
		{"describe (from t)", &Query{Text: "describe (from t)"}},

		{"create schema a.b", &CreateSchema{Name: Name{"a", "b"}, Properties: map[string]string{}}},
		{"CREATE SCHEMA IF NOT EXISTS s LOCATION '/x' WITH (owner = 'me')", &CreateSchema{Name: Name{"s"}, IfNotExists: true, Properties: map[string]string{"location": "/x", "owner": "me"}}},
		{"drop schema if exists s cascade", &DropSchema{Name: Name{"s"}, IfExists: true, Cascade: true}},
		{"drop schema s restrict", &DropSchema{Name: Name{"s"}}},
		{"drop table a.b.c", &DropTable{Name: Name{"a", "b", "c"}}},
		{`drop table if exists "a b".t purge`, &DropTable{Name: Name{"a b", "t"}, IfExists: true, Purge: true}},

		{"create table t as select 1 as a", &CreateTableAs{Name: Name{"t"}, Query: "select 1 as a", TableOptions: noOptions}},
		{"create or replace table t (a, b) as (from x) with no data", &CreateTableAs{Name: Name{"t"}, OrReplace: true, Columns: []string{"a", "b"}, Query: "(from x)", NoData: true, TableOptions: noOptions}},
		{"create table t as select 1 with data", &CreateTableAs{Name: Name{"t"}, Query: "select 1", TableOptions: noOptions}},
		{"create table if not exists t partitioned by (day(ts), bucket(8, id)) with ('write.format.default' = 'parquet') as with a as (select 1) from a",
			&CreateTableAs{Name: Name{"t"}, IfNotExists: true, Query: "with a as (select 1) from a", TableOptions: TableOptions{
				PartitionedBy: []PartitionTerm{{Transform: "day", Column: []string{"ts"}}, {Transform: "bucket", Param: 8, Column: []string{"id"}}},
				Properties:    map[string]string{"write.format.default": "parquet"}}}},

		{"insert into t select * from u", &Insert{Table: Name{"t"}, Query: "select * from u"}},
		{"insert into a.b.t (x, \"y z\") values (1, 2)", &Insert{Table: Name{"a", "b", "t"}, Columns: []string{"x", "y z"}, Query: "values (1, 2)"}},
		{"insert into t (select 1)", &Insert{Table: Name{"t"}, Query: "(select 1)"}},
		{"insert into t ((select 1))", &Insert{Table: Name{"t"}, Query: "((select 1))"}},
		{"insert into t by name select 1 as a", &Insert{Table: Name{"t"}, ByName: true, Query: "select 1 as a"}},
		{"insert into t by position from u", &Insert{Table: Name{"t"}, Query: "from u"}},
		{"insert into t default values", &Insert{Table: Name{"t"}, DefaultValues: true}},
		{"insert into table t with a as (select 1) select * from a", &Insert{Table: Name{"t"}, Query: "with a as (select 1) select * from a"}},
		{"with a as (select 1) insert into t select * from a", &Insert{Table: Name{"t"}, Query: "with a as (select 1) select * from a"}},
		{"insert overwrite t select 1", &Insert{Table: Name{"t"}, Query: "select 1", Overwrite: true}},
		{"insert overwrite table t select 1", &Insert{Table: Name{"t"}, Query: "select 1", Overwrite: true}},
		{"insert into t select a from u join v on (conflict)", &Insert{Table: Name{"t"}, Query: "select a from u join v on (conflict)"}},

		{"show catalogs", &ShowCatalogs{}},
		{"show databases like 'a%'", &ShowCatalogs{Like: ptr("a%")}},
		{"show schemas", &ShowSchemas{}},
		{"show schemas from c like 'it''s'", &ShowSchemas{Catalog: "c", Like: ptr("it's")}},
		{"show tables", &ShowTables{}},
		{"show all tables", &ShowTables{All: true}},
		{"show tables in a.b like ''", &ShowTables{Schema: Name{"a", "b"}, Like: ptr("")}},
		{"describe", &ShowTables{}},
		{"desc table t", &Describe{Table: Name{"t"}}},
		{"describe a.b.c;", &Describe{Table: Name{"a", "b", "c"}}},
		{"show columns from t", &Describe{Table: Name{"t"}}},
		{"show t", &Describe{Table: Name{"t"}}},

		{"explain select 1", &Explain{Format: "text", Statement: &Query{Text: "select 1"}}},
		{"explain (select 1)", &Explain{Format: "text", Statement: &Query{Text: "(select 1)"}}},
		{"explain analyze (format json) insert into t from u", &Explain{Analyze: true, Format: "json", Statement: &Insert{Table: Name{"t"}, Query: "from u"}}},
		{"explain (analyze, format text) from u", &Explain{Analyze: true, Format: "text", Statement: &Query{Text: "from u"}}},

		{"set a = 1", &Set{Name: "a", Value: "1"}},
		{"set session query.timeout_secs to '30'", &Set{Name: "query.timeout_secs", Value: "30"}},
		{"set x = -1.5", &Set{Name: "x", Value: "-1.5"}},
		{"set session = true", &Set{Name: "session", Value: "true"}},
		{"set time zone 'UTC'", &Set{Name: "TimeZone", Value: "UTC"}},
		{"set a = default", &Reset{Name: "a"}},
		{"reset session a.b", &Reset{Name: "a.b"}},
		{"use c.s", &Use{Name: Name{"c", "s"}}},

		{"update t set a = 1", &Unsupported{Head: "UPDATE"}},
		{"with a as (select 1) delete from t", &Unsupported{Head: "DELETE"}},
		{"alter table t add column a int", &Unsupported{Head: "ALTER TABLE"}},
		{"create or replace view v as select 1", &Unsupported{Head: "CREATE VIEW"}},
		{"create temp table t (a int)", &Unsupported{Head: "CREATE TEMPORARY TABLE"}},
		{"drop view v", &Unsupported{Head: "DROP VIEW"}},
		{"copy t to 'x'", &Unsupported{Head: "COPY"}},
		{"begin", &Unsupported{Head: "BEGIN"}},
		{"show create table t", &Unsupported{Head: "SHOW CREATE TABLE"}},
		{"insert or replace into t values (1)", &Unsupported{Head: "INSERT OR REPLACE"}},
		{"insert into t values (1) returning a", &Unsupported{Head: "INSERT ... RETURNING"}},
		{"insert into t values (1) on conflict do nothing", &Unsupported{Head: "INSERT ... ON CONFLICT"}},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := Parse(test.text)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestParseCreateTable(t *testing.T) {
	stmt, err := Parse(`CREATE TABLE IF NOT EXISTS c.s.t (
		id LONG NOT NULL COMMENT 'the key',
		"Full Name" string,
		price decimal(12, 2) DEFAULT round(1.5, 0) NOT NULL,
		ts timestamptz, -- an instant
		tags LIST<STRING NOT NULL>,
		props map<string, int>,
		at STRUCT<x: double NOT NULL, y: double COMMENT 'down'>,
		hash FIXED(16)
	) USING iceberg
	PARTITIONED BY (bucket(16, id), truncate("Full Name", 4), days(ts), at.x, void(price))
	COMMENT 'a table' LOCATION 's3://b/t'
	TBLPROPERTIES ('format-version' = '3', write.target-file-size-bytes = 1000, ok = TRUE)`)
	require.NoError(t, err)
	created := stmt.(*CreateTable)
	require.Equal(t, Name{"c", "s", "t"}, created.Name)
	require.True(t, created.IfNotExists)
	type column struct {
		name, typ, comment, def string
		notNull                 bool
	}
	var columns []column
	for _, c := range created.Columns {
		columns = append(columns, column{c.Name, c.TypeText, c.Comment, c.Default, c.NotNull})
	}
	require.Equal(t, []column{
		{"id", "BIGINT", "the key", "", true},
		{"Full Name", "VARCHAR", "", "", false},
		{"price", "DECIMAL(12,2)", "", "round(1.5, 0)", true},
		{"ts", "TIMESTAMP WITH TIME ZONE", "", "", false},
		{"tags", "VARCHAR[]", "", "", false},
		{"props", "MAP(VARCHAR, INTEGER)", "", "", false},
		{"at", `STRUCT("x" DOUBLE, "y" DOUBLE)`, "", "", false},
		{"hash", "BLOB", "", "", false},
	}, columns)
	require.True(t, created.Columns[4].Type.ElemRequired)
	require.True(t, created.Columns[6].Type.Fields[0].NotNull)
	require.Equal(t, "down", created.Columns[6].Type.Fields[1].Comment)
	require.Equal(t, 16, created.Columns[7].Type.FixedLength)
	require.Equal(t, TableOptions{
		PartitionedBy: []PartitionTerm{
			{Transform: "bucket", Param: 16, Column: []string{"id"}},
			{Transform: "truncate", Param: 4, Column: []string{"Full Name"}},
			{Transform: "day", Column: []string{"ts"}},
			{Transform: "identity", Column: []string{"at", "x"}},
			{Transform: "void", Column: []string{"price"}},
		},
		Comment: "a table", Location: "s3://b/t",
		Properties: map[string]string{"format-version": "3", "write.target-file-size-bytes": "1000", "ok": "true"},
	}, created.TableOptions)
}

func TestParseTrinoPartitioning(t *testing.T) {
	stmt, err := Parse("create table t (id int, ts timestamp(6)) with (format = 'PARQUET', location = '/w', partitioning = ARRAY['bucket(id, 16)', 'month(ts)', 'id'])")
	require.NoError(t, err)
	require.Equal(t, TableOptions{
		PartitionedBy: []PartitionTerm{
			{Transform: "bucket", Param: 16, Column: []string{"id"}},
			{Transform: "month", Column: []string{"ts"}},
			{Transform: "identity", Column: []string{"id"}},
		},
		Location: "/w", Properties: map[string]string{"format": "PARQUET"},
	}, stmt.(*CreateTable).TableOptions)
}

func TestParseErrorsSayWhereAndWhat(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"select 1; select 2", "syntax error at line 1:11: several statements in one request are not supported: send them one by one (a second one begins here)"},
		{"selec 1", `syntax error at line 1:1: expected a statement, found "selec"`},
		{"create table a.b.c.d (x int)", `syntax error at line 1:14: a table's name has at most 3 parts, this name has 4: "a"."b"."c"."d"`},
		{"create table t", "syntax error at line 1:15: expected a list of columns with their types, or AS and a query, found the end of the text"},
		{"create table t (\n  é int,\n  ü )", `syntax error at line 3:5: expected a type, found ")"`},
		{"create table t (a int primary key)", "syntax error at line 1:23: PRIMARY is not supported: Iceberg tables enforce NOT NULL and no other constraint"},
		{"create table t (a int, A int)", `syntax error at line 1:29: column "A" is defined twice`},
		{"create table t (a int) partitioned by (bucket(id))", "syntax error at line 1:40: bucket needs a number and a column, such as bucket(16, id)"},
		{"create table t (a int) partitioned by (hash(id))", `syntax error at line 1:40: expected a partition transform (identity, bucket, truncate, year, month, day, hour, void), found "hash"`},
		{"create table t (a decimal(39, 2))", "syntax error at line 1:19: DECIMAL(width, scale) takes a width from 1 to 38 and a scale up to the width"},
		{"create table t (a timestamptz_ns)", "syntax error at line 1:19: type TIMESTAMPTZ_NS is not supported: DuckDB has no instant with nanoseconds"},
		{"select (1", `syntax error at line 1:8: this '(' is not closed`},
		{"select 1)", `syntax error at line 1:9: there is no '(' that this ')' closes`},
		{"select 'abc", "syntax error at line 1:8: the string that begins here has no end"},
		{"select /* x", "syntax error at line 1:8: the comment that begins here has no end"},
		{"select $a$ x $b$", "syntax error at line 1:8: the $a$-quoted text that begins here has no end"},
		{"insert into t", "syntax error at line 1:14: expected VALUES, a query or DEFAULT VALUES, found the end of the text"},
		{"drop table a, b", `syntax error at line 1:13: expected the end of the statement, found ","`},
		{"use a.b.c", `syntax error at line 1:5: the name of a catalog or schema has at most 2 parts, this name has 3: "a"."b"."c"`},
		{"explain explain select 1", "syntax error at line 1:9: EXPLAIN cannot explain another EXPLAIN"},
		{"show tables like x", `syntax error at line 1:18: expected a pattern as a 'string', found "x"`},
	} {
		_, err := Parse(test.text)
		require.EqualError(t, err, test.want, test.text)
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax)
	}
	for _, text := range []string{"", " -- x", ";;", "/* */"} {
		_, err := Parse(text)
		require.True(t, errors.Is(err, ErrNoStatement), text)
	}
}
