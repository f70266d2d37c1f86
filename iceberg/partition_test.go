package iceberg_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/internal/icetest"
	"github.com/seracdb/serac/plan"
)

func TestNewPartitionSpec(t *testing.T) {
	str := plan.T(plan.Varchar)
	s, err := iceberg.NewSchema([]iceberg.ColumnDef{
		{Name: "id", Type: plan.T(plan.BigInt)}, {Name: "ts", Type: plan.T(plan.TimestampTZ)}, {Name: "d", Type: plan.T(plan.Date)},
		{Name: "s", Type: str}, {Name: "x", Type: plan.T(plan.Double)}, {Name: "n", Type: plan.DecimalType(9, 2)}, {Name: "m", Type: plan.DecimalType(38, 2)},
		{Name: "l", Type: plan.ListType(str)}, {Name: "st", Type: plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "f", Type: str}}}},
	})
	require.NoError(t, err)
	parse := func(texts ...string) []iceberg.PartitionTerm { return icetest.Terms(t, texts...) }
	_, err = iceberg.NewPartitionSpec(s, parse("day(ts)", "hour(ts) AS h"))
	require.ErrorContains(t, err, "spec", "two time transforms of one column")
	spec, err := iceberg.NewPartitionSpec(s, parse("bucket(16, id)", "day(ts)", "S", "truncate(4, s)", "month(d) AS mon", "void(x)", "st.f", "truncate(100, n)"))
	require.NoError(t, err)
	require.Equal(t, []plan.PartitionField{
		{SourceID: 1, FieldID: 1000, Name: "id_bucket_16", Transform: "bucket[16]"},
		{SourceID: 2, FieldID: 1001, Name: "ts_day", Transform: "day"},
		{SourceID: 4, FieldID: 1002, Name: "s", Transform: "identity"},
		{SourceID: 4, FieldID: 1003, Name: "s_trunc_4", Transform: "truncate[4]"},
		{SourceID: 3, FieldID: 1004, Name: "mon", Transform: "month"},
		{SourceID: 5, FieldID: 1005, Name: "x_null", Transform: "void"},
		{SourceID: 11, FieldID: 1006, Name: "st_f", Transform: "identity"},
		{SourceID: 6, FieldID: 1007, Name: "n_trunc_100", Transform: "truncate[100]"},
	}, iceberg.PartitionFields(*spec))

	none, err := iceberg.NewPartitionSpec(s, nil)
	require.NoError(t, err)
	require.True(t, none.IsUnpartitioned())
	for says, terms := range map[string][]string{
		"no column nope":       {"nope"},
		"does not take":        {"day(s)"},
		"of type double":       {"bucket(4, x)"},
		"of type list<string>": {"l"},
		"duplicate":            {"s", "s"},
		"two decimals":         {"n", "m"},
		"unknown transform":    {"decade(ts)"},
		`field "a-b"`:          {`s AS "a-b"`},
	} {
		_, err := iceberg.NewPartitionSpec(s, parse(terms...))
		require.ErrorContains(t, err, says)
	}
}
