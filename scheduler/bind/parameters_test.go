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
