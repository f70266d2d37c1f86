package iceberg_test

import (
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

func TestNewSchemaAssignsIDsColumnsFirst(t *testing.T) {
	str := plan.T(plan.Varchar)
	inner := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "x", Type: plan.T(plan.Integer)}, {Name: "y", Type: plan.ListType(str)}}}
	fixedList := &ice.ListType{Element: ice.FixedTypeOf(4)}
	s, err := iceberg.NewSchema([]iceberg.ColumnDef{
		{Name: "id", Type: plan.T(plan.BigInt), Doc: "the key"},
		{Name: "m", Type: plan.Type{Kind: plan.Map, Key: &str, Elem: &inner}, Nullable: true},
		{Name: "f", Iceberg: fixedList, Nullable: true},
	})
	require.NoError(t, err)
	fields, err := iceberg.Fields(s)
	require.NoError(t, err)

	type node struct {
		id   int32
		name string
	}
	var got []node
	var walk func([]iceberg.Field)
	walk = func(fs []iceberg.Field) {
		for _, f := range fs {
			got = append(got, node{f.ID, f.Name})
			walk(f.Children)
		}
	}
	walk(fields)
	require.Equal(t, []node{
		{1, "id"}, {2, "m"}, {4, "key"}, {5, "value"}, {6, "x"}, {7, "y"}, {8, "element"}, {3, "f"}, {9, "element"},
	}, got)
	require.True(t, fields[0].Required)
	require.False(t, fields[1].Required)
	require.True(t, fields[1].Children[0].Required, "map keys are required")
	require.Equal(t, "the key", s.Field(0).Doc)
	require.Equal(t, "fixed[4]", fields[2].Children[0].Iceberg.String())

	columns, err := iceberg.Columns(s)
	require.NoError(t, err)
	require.Len(t, columns, 3)
	require.Equal(t, plan.ScanColumn{FieldID: 1, Name: "id", Type: plan.T(plan.BigInt)}, columns[0])
	require.True(t, columns[2].Nullable)
	require.True(t, columns[2].Type.Equal(plan.ListType(plan.T(plan.Blob))))
}

func TestNewSchemaRefuses(t *testing.T) {
	integer := plan.T(plan.Integer)
	for says, columns := range map[string][]iceberg.ColumnDef{
		"at least one column":   nil,
		"same name":             {{Name: "a", Type: integer}, {Name: "A", Type: integer}},
		"no name":               {{Type: integer}},
		"column i: unsupported": {{Name: "i", Type: plan.T(plan.Interval)}},
		"column z: unsupported": {{Name: "z", Iceberg: ice.PrimitiveTypes.TimestampTzNs}},
	} {
		_, err := iceberg.NewSchema(columns)
		require.ErrorContains(t, err, says)
	}
}

func TestInitialDefaultsAreInTheTree(t *testing.T) {
	s := ice.NewSchema(0, ice.NestedField{ID: 1, Name: "a", Type: ice.PrimitiveTypes.Int32, InitialDefault: int32(7)})
	fields, err := iceberg.Fields(s)
	require.NoError(t, err)
	require.Equal(t, []byte{7, 0, 0, 0}, fields[0].Initial)
}
