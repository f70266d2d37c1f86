package fuzz

import (
	"fmt"
	"strings"
)

// kind is a type of which expressions can be made. other is any type whose values are only passed on and compared.
type kind int

const (
	integer kind = iota
	long
	double
	float
	decimal
	text
	binary
	uuid
	date
	timeOfDay
	timestamp
	instant
	boolean
	structure
	list
	mapping
	other

	kinds = int(other)
)

// typeNames are DuckDB's names of the kinds' types.
var typeNames = [kinds]string{
	"INTEGER", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(9,2)", "VARCHAR", "BLOB", "UUID", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "BOOLEAN",
	"STRUCT(a INTEGER, b VARCHAR)", "INTEGER[]", "MAP(VARCHAR, INTEGER)",
}

// columnNames are those of every table, by kind; id, a BIGINT that is unique in its table, comes on top.
var columnNames = [kinds]string{"i", "l", "d", "f", "n", "s", "b", "u", "dt", "tm", "ts", "tz", "o", "st", "li", "mp"}

// table is one of the tables that queries read. All have the same columns.
type table struct {
	name  string
	rows  int
	nulls int // of 100 values
	skew  int // of 100 rows have the first value of each column's domain
	// partition is the partitioning of the Iceberg table, if it has one.
	partition string
	files     int
	// deletes says how the Iceberg table's snapshot removes rows: by byPosition, byVector or byValue; "": it does not.
	deletes string
}

// How rows are removed.
const (
	byPosition = "position deletes"
	byVector   = "deletion vectors"
	byValue    = "equality deletes"
)

// Of a table with deletes every third row was there before in another form, which is deleted, and then came again. What
// remains are the rows that the table would have without.
const (
	rewritten = "r % 3 = 1"
	kept      = "r % 3 <> 1"
)

var tables = []table{
	{name: "small", rows: 9, nulls: 10, files: 1},
	{name: "nothing", files: 1},
	{name: "single", rows: 1, nulls: 20, files: 1},
	{name: "skewed", rows: 60, nulls: 5, skew: 85, files: 3, deletes: byPosition},
	{name: "nulls", rows: 40, nulls: 60, files: 2, deletes: byValue},
	{name: "parts", rows: 50, nulls: 8, files: 2, partition: "i, bucket(3, s)", deletes: byVector},
}

// createSQL makes a table of a name (which may be qualified).
func (t table) createSQL(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (id BIGINT", name)
	for k, column := range columnNames {
		fmt.Fprintf(&b, ", %s %s", column, typeNames[k])
	}
	return b.String() + ")"
}

// rowsSQL is a SELECT of the table's rows, of one of several files' shares.
func (t table) rowsSQL(file, files int) string {
	return t.selectSQL(fmt.Sprintf("r %% %d = %d", files, file))
}

// olderSQL is a SELECT of what is in a file before the deletes: the rows that stay, and the older forms of those that do not.
// The latter have the ids of the rows that they will become, and a few of their values.
func (t table) olderSQL(file, files int) string {
	share := fmt.Sprintf("r %% %d = %d", files, file)
	older := t
	older.name += " before" // another seed
	return fmt.Sprintf("SELECT * FROM (%s UNION ALL %s) ORDER BY id", t.selectSQL(share+" AND "+kept), older.selectSQL(share+" AND "+rewritten))
}

// goneSQL is a SELECT of the keys of the older forms: the id, and the value of i, which may be NULL.
func (t table) goneSQL() string {
	older := t
	older.name += " before"
	return "SELECT id, i FROM (" + older.selectSQL(rewritten) + ") ORDER BY id"
}

func (t table) selectSQL(where string) string {
	columns := []string{"r AS id"}
	for k := range kinds {
		column := columnNames[k]
		columns = append(columns, fmt.Sprintf("CASE WHEN hash(r, '%s%s0') %% 100 >= %d THEN %s END AS %s", t.name, column, t.nulls, t.value(kind(k)), column))
	}
	return fmt.Sprintf("SELECT %s FROM range(%d) x(r) WHERE %s", strings.Join(columns, ", "), t.rows, where)
}

// value is an expression over the row number r.
func (t table) value(k kind) string {
	domain := map[kind]string{
		integer: "[1, 0, -1, 2, 3, 7, -40, 1000]", long: "[5, 0, -7, 4294967296, 1, 2, 9007199254740, -4000000000]",
		double: "['0.25', '1', '-2.5', '1024.75', '3', '0', 'nan', '7.5']", float: "['1', '0.25', '-1.5', '2', '64.5', '0', '3', '-8']",
		decimal: "['1.00', '0.25', '-3.50', '1200.75', '0.00', '2.00', '7.25', '99999.75']", text: `['a', '', 'b', 'ab', 'A', 'a_c', '5%', 'ä']`,
		binary:    `['\x00', '', 'ab', '\xFF\x00', 'b', 'a', '\x80', 'abc']`,
		uuid:      "[" + repeat("'00000000-0000-0000-0000-00000000000%d'", 4) + ", " + repeat("'f000000%d-0000-4000-8000-000000000000'", 4) + "]",
		date:      "['2024-02-29', '1970-01-01', '1969-12-31', '2024-01-01', '2000-06-15', '2024-02-28', '1900-01-01', '2038-01-19']",
		timeOfDay: "['00:00:00', '23:59:59.999999', '12:30:00', '01:02:03', '12:00:00', '06:00:00.5', '18:45:00', '00:00:01']",
		timestamp: "['2024-02-29 12:00:00', '1970-01-01 00:00:00', '1969-12-31 23:59:59.999999', '2024-01-01 00:00:00', '2000-06-15 06:30:00', '2024-02-29 12:00:01', '1900-01-01 00:00:00', '2038-01-19 03:14:07']",
		instant:   "['2024-03-31 00:59:59+00', '1970-01-01 00:00:00+00', '1969-12-31 23:00:00+00', '2024-01-01 00:00:00+00', '2000-06-15 06:30:00+00', '2024-03-31 01:00:00+00', '1900-01-01 00:00:00+00', '2038-01-19 03:14:07+00']",
		boolean:   "[true, false, true, false, false, true, true, false]",
		structure: "[{'a': 1, 'b': 'x'}, {'a': NULL, 'b': 'x'}, {'a': 1, 'b': NULL}, {'a': 2, 'b': ''}, {'a': 3, 'b': 'y'}, {'a': 1, 'b': 'y'}, {'a': NULL, 'b': NULL}, {'a': -1, 'b': 'z'}]",
		list:      "[[1], [], [1, 2], [NULL], [2, 1], [1, NULL], [3, 3, 3], [7]]",
		mapping:   "[MAP {'k': 1}, MAP {}, MAP {'k': 2}, MAP {'k': NULL}, MAP {'a': 1, 'k': 2}, MAP {'a': 1}, MAP {'z': 0}, MAP {'k': 3}]",
	}[k]
	at := fmt.Sprintf("1 + CASE WHEN hash(r, '%s%s1') %% 100 >= %d THEN hash(r, '%s%s2') %% 8 ELSE 0 END::BIGINT", t.name, columnNames[k], t.skew, t.name, columnNames[k])
	return fmt.Sprintf("(%s)[%s]::%s", domain, at, typeNames[k])
}

func repeat(format string, n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(words, ", ")
}
