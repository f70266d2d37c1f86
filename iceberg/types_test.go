package iceberg_test

import (
	"testing"

	ice "github.com/apache/iceberg-go"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/plan"
)

// Each DuckDB type with the Iceberg type that stores it and the DuckDB type it comes back as.
func TestTypes(t *testing.T) {
	structOf := plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Name: "a", Type: plan.T(plan.Integer)}, {Name: "b", Type: plan.ListType(plan.T(plan.Varchar))}}}
	key := plan.T(plan.Varchar)
	cases := []struct {
		from    plan.Type
		stored  string // "": refused
		back    plan.Type
		version int
	}{
		{plan.T(plan.Boolean), "boolean", plan.T(plan.Boolean), 1},
		{plan.T(plan.TinyInt), "int", plan.T(plan.Integer), 1},
		{plan.T(plan.SmallInt), "int", plan.T(plan.Integer), 1},
		{plan.T(plan.Integer), "int", plan.T(plan.Integer), 1},
		{plan.T(plan.BigInt), "long", plan.T(plan.BigInt), 1},
		{plan.T(plan.HugeInt), "decimal(38, 0)", plan.DecimalType(38, 0), 1},
		{plan.T(plan.UTinyInt), "int", plan.T(plan.Integer), 1},
		{plan.T(plan.USmallInt), "int", plan.T(plan.Integer), 1},
		{plan.T(plan.UInteger), "long", plan.T(plan.BigInt), 1},
		{plan.T(plan.UBigInt), "decimal(20, 0)", plan.DecimalType(20, 0), 1},
		{plan.T(plan.UHugeInt), "decimal(38, 0)", plan.DecimalType(38, 0), 1},
		{plan.T(plan.Float), "float", plan.T(plan.Float), 1},
		{plan.T(plan.Double), "double", plan.T(plan.Double), 1},
		{plan.DecimalType(15, 2), "decimal(15, 2)", plan.DecimalType(15, 2), 1},
		{plan.T(plan.Varchar), "string", plan.T(plan.Varchar), 1},
		{plan.Type{Kind: plan.Varchar, Alias: "JSON"}, "string", plan.T(plan.Varchar), 1},
		{plan.Type{Kind: plan.Enum, Values: []string{"x"}}, "string", plan.T(plan.Varchar), 1},
		{plan.T(plan.Blob), "binary", plan.T(plan.Blob), 1},
		{plan.T(plan.UUID), "uuid", plan.T(plan.UUID), 1},
		{plan.T(plan.Date), "date", plan.T(plan.Date), 1},
		{plan.T(plan.Time), "time", plan.T(plan.Time), 1},
		{plan.T(plan.Timestamp), "timestamp", plan.T(plan.Timestamp), 1},
		{plan.T(plan.TimestampS), "timestamp", plan.T(plan.Timestamp), 1},
		{plan.T(plan.TimestampMS), "timestamp", plan.T(plan.Timestamp), 1},
		{plan.T(plan.TimestampNS), "timestamp_ns", plan.T(plan.TimestampNS), 3},
		{plan.T(plan.TimestampTZ), "timestamptz", plan.T(plan.TimestampTZ), 1},
		{plan.T(plan.Variant), "variant", plan.T(plan.Variant), 3},
		{plan.ListType(plan.T(plan.UTinyInt)), "list<int>", plan.ListType(plan.T(plan.Integer)), 1},
		{plan.Type{Kind: plan.Array, Size: 3, Elem: &key}, "list<string>", plan.ListType(key), 1},
		{plan.Type{Kind: plan.Map, Key: &key, Elem: &structOf}, "map<string, struct<7: a: optional int, 8: b: optional list<string>>>", plan.Type{Kind: plan.Map, Key: &key, Elem: &structOf}, 1},
		{plan.ListType(plan.T(plan.TimestampNS)), "list<timestamp_ns>", plan.ListType(plan.T(plan.TimestampNS)), 3},
		{plan.T(plan.Null), "", plan.Type{}, 0},
		{plan.T(plan.TimeNS), "", plan.Type{}, 0},
		{plan.T(plan.TimeTZ), "", plan.Type{}, 0},
		{plan.T(plan.Interval), "", plan.Type{}, 0},
		{plan.T(plan.Bit), "", plan.Type{}, 0},
		{plan.T(plan.BigNum), "", plan.Type{}, 0},
		{plan.Type{Kind: plan.Union, Fields: []plan.Field{{Name: "a", Type: key}}}, "", plan.Type{}, 0},
		{plan.Type{Kind: plan.Struct, Fields: []plan.Field{{Type: key}}}, "", plan.Type{}, 0},
		{plan.ListType(plan.T(plan.Interval)), "", plan.Type{}, 0},
	}
	for _, tc := range cases {
		t.Run(tc.from.SQL(), func(t *testing.T) {
			last := 4
			stored, err := iceberg.IcebergType(tc.from, func() int { last++; return last })
			if tc.stored == "" {
				require.ErrorIs(t, err, iceberg.ErrUnsupportedType)
				_, err = iceberg.StorageType(tc.from)
				require.ErrorIs(t, err, iceberg.ErrUnsupportedType)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.stored, stored.String())
			back, err := iceberg.StorageType(tc.from)
			require.NoError(t, err)
			require.True(t, tc.back.Equal(back), "%s", back)
			require.Equal(t, tc.version, iceberg.MinFormatVersion(stored))
		})
	}
}

func TestTypesThatIcebergAloneHas(t *testing.T) {
	fixed, err := iceberg.PlanType(ice.FixedTypeOf(7))
	require.NoError(t, err)
	require.Equal(t, plan.Blob, fixed.Kind)
	unknown, err := iceberg.PlanType(ice.UnknownType{})
	require.NoError(t, err)
	require.Equal(t, plan.Integer, unknown.Kind)
	_, err = iceberg.PlanType(&ice.ListType{Element: ice.PrimitiveTypes.TimestampTzNs})
	require.ErrorIs(t, err, iceberg.ErrUnsupportedType)
	require.ErrorContains(t, err, "list element")
}
