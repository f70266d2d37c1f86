package read

import (
	"context"
	"slices"
	"strings"
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/require"
)

// A file that is read alone, and whose columns are the table's, shows DuckDB its statistics; names that have moved between
// columns since it was written do not mislead it.
func TestOneFileIsReadByItself(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	// c1 is what a query's second column is called, and file_row_number what DuckDB calls a column of its own.
	tbl := w.create(t, ice.NewSchema(0, field(1, "c1", p.Int64, false), field(2, "Odd name", p.String, false), field(3, "x", p.Int64, false)), properties("2"))
	tbl = appendRows(t, tbl, numbers(10, 200, `{"c1":$,"Odd name":"s$","x":-$}`))
	in := w.input(t, tbl, scanOf(t, tbl), group(t, tbl))
	statistics := func(column string) string {
		in := w.input(t, tbl, scanOf(t, tbl), group(t, tbl))
		q, err := SQL(context.Background(), in)
		require.NoError(t, err)
		text, err := w.conn.Text(context.Background(), "SELECT stats("+column+")::VARCHAR FROM ("+q.SQL+") LIMIT 1")
		require.NoError(t, err)
		return text
	}
	w.check(t, tbl)
	require.Contains(t, statistics("c0"), "Min: 10, Max: 199")
	require.Contains(t, statistics("c1"), "Min: s10, Max: s99")
	require.Contains(t, statistics("c2"), "Min: -199, Max: -10")
	q, err := SQL(context.Background(), in)
	require.NoError(t, err)
	require.NotContains(t, q.SQL, "schema")

	// The names of two columns change places: the file's are those of before.
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.RenameColumn([]string{"c1"}, "y") })
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.RenameColumn([]string{"x"}, "c1") })
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.RenameColumn([]string{"y"}, "x") })
	w.check(t, tbl)
	require.Contains(t, statistics("c0"), "Min: 10, Max: 199")
	require.Contains(t, statistics("c2"), "Min: -199, Max: -10")

	// Another type than the file's, a column that the file has not, and a file with a name that DuckDB has itself.
	tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.AddColumn([]string{"file_row_number"}, p.Int32, "", false, nil) })
	w.check(t, tbl)
	other := w.create(t, ice.NewSchema(0, field(1, "file_row_number", p.Int32, false), field(2, "n", p.Int32, false)), properties("2"))
	other = appendRows(t, other, numbers(0, 50, `{"file_row_number":7,"n":$}`))
	w.check(t, other)
	other = evolve(t, other, func(u *table.UpdateSchema) {
		u.UpdateColumn([]string{"n"}, table.ColumnUpdate{FieldType: ice.Optional[ice.Type]{Val: p.Int64, Valid: true}})
	})
	w.check(t, other)
}

// Fields inside a column are told by their ids: one that has the name and the type of one that was dropped is another.
func TestNestedFieldsOfOneFile(t *testing.T) {
	w := newWorld(t)
	p := ice.PrimitiveTypes
	inner := &ice.StructType{FieldList: []ice.NestedField{field(10, "a", p.Int64, false), field(11, "b", p.Int64, false)}}
	tbl := w.create(t, ice.NewSchema(0, field(1, "id", p.Int64, true), field(2, "s", inner, false),
		field(3, "l", &ice.ListType{ElementID: 20, Element: &ice.StructType{FieldList: []ice.NestedField{field(21, "a", p.Int64, false), field(22, "b", p.Int64, false)}}}, false)),
		properties("2"))
	tbl = appendRows(t, tbl, `[{"id":1,"s":{"a":5,"b":6},"l":[{"a":7,"b":8}]}]`)
	plain := func() bool {
		q, err := SQL(context.Background(), w.input(t, tbl, scanOf(t, tbl), group(t, tbl)))
		require.NoError(t, err)
		return !strings.Contains(q.SQL, "schema")
	}
	require.True(t, plain())
	require.Equal(t, []string{"[1 map[a:5 b:6] [map[a:7 b:8]]]"}, w.check(t, tbl))
	for _, of := range [][]string{{"s"}, {"l", "element"}} {
		b := append(slices.Clone(of), "b")
		tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.DeleteColumn(b) })
		tbl = evolve(t, tbl, func(u *table.UpdateSchema) { u.AddColumn(b, p.Int64, "", false, nil) })
	}
	require.False(t, plain())
	require.Equal(t, []string{"[1 map[a:5 b:<nil>] [map[a:7 b:<nil>]]]"}, w.check(t, tbl))
}
