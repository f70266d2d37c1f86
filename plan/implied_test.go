package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImplyFilters(t *testing.T) {
	or := func(args ...Expr) Expr { return &Conjunction{Or: true, Args: args} }
	and := func(args ...Expr) Expr { return &Conjunction{Args: args} }
	cast := func(e Expr) Expr { return &Cast{Arg: e, To: varchar} }
	join := func(kind JoinKind, left, right Node) *Join {
		return &Join{Kind: kind, Left: left, Right: right, Conds: []JoinCond{{Op: Equal, Left: col(0), Right: col(0)}}}
	}
	pair := join(Inner, scanOf("a", "b"), scanOf("c", "d"))
	both := or(and(equals(col(1), number(1)), equals(col(3), number(2))), and(equals(col(1), number(3)), equals(col(3), number(4))))
	residual := join(Inner, scanOf("a", "b"), scanOf("c", "d"))
	residual.Residual = both
	always := func(Expr) bool { return true }
	for _, c := range []struct {
		name  string
		in    Node
		worth func(Expr) bool
		want  string
	}{
		{"both sides", &Filter{Input: pair, Cond: both}, always, `
Filter (((b = 1) AND (d = 2)) OR ((b = 3) AND (d = 4)))
└─ Join inner on a = c
   ├─ Filter ((b = 1) OR (b = 3))
   │  └─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
   └─ Filter ((d = 2) OR (d = 4))
      └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
`},
		{"on the join itself", residual, always, `
Join inner on a = c AND (((b = 1) AND (d = 2)) OR ((b = 3) AND (d = 4)))
├─ Filter ((b = 1) OR (b = 3))
│  └─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
└─ Filter ((d = 2) OR (d = 4))
   └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
`},
		{"an alternative without the side", &Filter{Input: pair, Cond: or(equals(col(1), number(1)), and(equals(col(1), number(3)), equals(col(3), number(4))))}, always, `
Filter ((b = 1) OR ((b = 3) AND (d = 4)))
└─ Join inner on a = c
   ├─ Filter ((b = 1) OR (b = 3))
   │  └─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
   └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
`},
		{"what may fail is not asked of other rows", &Filter{Input: pair, Cond: or(and(equals(cast(col(1)), number(1)), equals(col(3), number(2))), and(equals(col(1), number(3)), equals(col(3), number(4))))}, always, `
Filter (((b::VARCHAR = 1) AND (d = 2)) OR ((b = 3) AND (d = 4)))
└─ Join inner on a = c
   ├─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
   └─ Filter ((d = 2) OR (d = 4))
      └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
`},
		{"not below an outer join", &Filter{Input: join(Left, scanOf("a", "b"), scanOf("c", "d")), Cond: both}, always, `
Filter (((b = 1) AND (d = 2)) OR ((b = 3) AND (d = 4)))
└─ Join left on a = c
   ├─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
   └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
`},
		{"through joins and projections, to a filter that is there", &Filter{
			Input: project(join(Inner, join(Inner, &Filter{Input: scanOf("a", "b"), Cond: equals(col(0), number(9))}, scanOf("c", "d")), scanOf("e")), 3, 1), Cond: or(and(equals(col(1), number(1)), equals(col(0), number(2))), and(equals(col(1), number(3)), equals(col(0), number(4)))),
		}, always, `
Filter (((b = 1) AND (d = 2)) OR ((b = 3) AND (d = 4)))
└─ Project [d, b]
   └─ Join inner on a = e
      ├─ Join inner on a = c
      │  ├─ Filter ((a = 9) AND ((b = 1) OR (b = 3)))
      │  │  └─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
      │  └─ Filter ((d = 2) OR (d = 4))
      │     └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
      └─ IcebergScan c.ns.t leaf=1 columns=[e] ~10 rows
`},
		{"not worth it", &Filter{Input: pair, Cond: both}, func(Expr) bool { return false }, `
Filter (((b = 1) AND (d = 2)) OR ((b = 3) AND (d = 4)))
└─ Join inner on a = c
   ├─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
   └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
`},
	} {
		before := Explain(c.in)
		got, err := ImplyFilters(c.in, c.worth)
		require.NoError(t, err, c.name)
		require.Equal(t, strings.TrimPrefix(c.want, "\n"), Explain(got), c.name)
		require.Equal(t, before, Explain(c.in), "%s: the original has changed", c.name)
	}
}
