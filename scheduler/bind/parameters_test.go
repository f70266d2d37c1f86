package bind

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/plan"
)

func TestParameterTypes(t *testing.T) {
	b := New(1)
	defer func() { require.NoError(t, b.Close()) }()
	into := plan.Schema{{Name: "a b", Type: plan.T(plan.Integer)}, {Name: "d", Type: plan.T(plan.Date)}}
	req := Request{SQL: "VALUES (?, ?)", Catalog: "c", Schema: "s", Resolve: func(context.Context, Ref) (*Table, error) { return nil, &NotFoundError{} }}
	for range 2 { // the second finds nothing of the first
		got, err := b.ParameterTypes(t.Context(), req, into)
		require.NoError(t, err)
		require.Equal(t, []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.FixedWidthTypes.Date32}, got)
	}
	got, err := b.ParameterTypes(t.Context(), req, nil)
	require.NoError(t, err)
	require.Equal(t, []arrow.DataType{nil, nil}, got)
}

// The parameters of a statement about an earlier version of a table have that version's types.
func TestParameterTypesOfAnEarlierVersion(t *testing.T) {
	b := New(1)
	defer func() { require.NoError(t, b.Close()) }()
	resolve := func(_ context.Context, ref Ref) (*Table, error) {
		of := plan.T(plan.BigInt)
		if ref.At != nil {
			of = plan.T(plan.Integer)
		}
		return &Table{
			Catalog: "c", Schema: "s", Name: "t", Key: "t", SnapshotID: 1,
			Columns: []plan.ScanColumn{{FieldID: 1, Name: "id", Type: of, Nullable: true}},
		}, nil
	}
	for sql, want := range map[string]arrow.DataType{
		"SELECT * FROM t WHERE id = ?":                               arrow.PrimitiveTypes.Int64,
		"SELECT * FROM t AT (VERSION => 7) WHERE id = ?":             arrow.PrimitiveTypes.Int32,
		"SELECT count(*) FROM t AT (VERSION => 7), (SELECT ?::DATE)": arrow.FixedWidthTypes.Date32,
	} {
		got, err := b.ParameterTypes(t.Context(), Request{SQL: sql, Catalog: "c", Schema: "s", Resolve: resolve}, nil)
		require.NoError(t, err, sql)
		require.Equal(t, []arrow.DataType{want}, got, sql)
	}
}
