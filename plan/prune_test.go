package plan

import (
	"strings"
	"testing"
)

func checkPruned(t *testing.T, n Node, want string) {
	t.Helper()
	before := Explain(n)
	got := PruneColumns(n)
	if text := Explain(got); text != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s", text)
	}
	if !got.Schema().Equal(n.Schema()) {
		t.Errorf("the schema was %v and is %v", n.Schema(), got.Schema())
	}
	if Explain(n) != before {
		t.Error("the original has changed")
	}
}

func project(in Node, columns ...int) *Project {
	p := &Project{Input: in}
	for _, c := range columns {
		p.Exprs, p.Names = append(p.Exprs, col(c)), append(p.Names, in.Schema()[c].Name)
	}
	return p
}

func TestPruneDropsJoinColumns(t *testing.T) {
	left := &Filter{Input: scanOf("a", "b", "c", "d"), Cond: equals(col(3), number(1))}
	join := &Join{Kind: Inner, Left: left, Right: scanOf("e", "f", "g"), Conds: []JoinCond{{Op: Equal, Left: col(0), Right: col(1)}}}
	checkPruned(t, project(join, 2, 6), `
Project [c, g]
└─ Join inner on a = f
   ├─ Project [a, c]
   │  └─ Filter (d = 1)
   │     └─ IcebergScan c.ns.t leaf=1 columns=[a, c, d] ~10 rows
   └─ IcebergScan c.ns.t leaf=1 columns=[f, g] ~10 rows
`)
}

func TestPruneKeepsOneColumnToCount(t *testing.T) {
	scan := scanOf("a", "b", "c").(*IcebergScan)
	scan.Columns[0].Type, scan.Columns[2].Type = varchar, T(Boolean)
	checkPruned(t, &Aggregate{Input: scan, Calls: []AggregateCall{{Name: "count_star", Of: T(BigInt)}}}, `
Aggregate [count_star()]
└─ IcebergScan c.ns.t leaf=1 columns=[c] ~10 rows
`)
}

func TestPruneKeepsKeysOfDelimJoin(t *testing.T) {
	d := &DelimJoin{Keys: []int{2}, Join: &Join{Kind: Single, Left: scanOf("a", "b", "c"),
		Right: &Aggregate{Input: &DelimGet{Out: Schema{{Name: "c", Type: integer}}}, Groups: []Expr{col(0)}, Calls: []AggregateCall{sum(col(0))}},
		Conds: []JoinCond{{Op: NotDistinctFrom, Left: col(2), Right: col(0)}}}}
	checkPruned(t, project(d, 1, 4), `
Project [b, sum]
└─ DelimJoin single on c IS NOT DISTINCT FROM c keys=[c]
   ├─ IcebergScan c.ns.t leaf=1 columns=[b, c] ~10 rows
   └─ Aggregate by [c] [sum(c)]
      └─ DelimGet [c]
`)
}

func TestPruneNarrowsUnionAllOnly(t *testing.T) {
	for all, want := range map[bool]string{true: `
Project [b]
└─ Union all
   ├─ IcebergScan c.ns.t leaf=1 columns=[b] ~10 rows
   └─ IcebergScan c.ns.t leaf=1 columns=[d] ~10 rows
`, false: `
Project [b]
└─ Union
   ├─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
   └─ IcebergScan c.ns.t leaf=1 columns=[c, d] ~10 rows
`} {
		checkPruned(t, project(&SetOp{Op: SetUnion, All: all, Inputs: []Node{scanOf("a", "b"), scanOf("c", "d")}}, 1), want)
	}
}

func TestPruneKeepsGroupsAndPruningFilters(t *testing.T) {
	scan := scanOf("a", "b", "c").(*IcebergScan)
	scan.Filter = equals(col(2), number(1))
	agg := &Aggregate{Input: scan, Groups: []Expr{col(0)}, Calls: []AggregateCall{sum(col(1)), sum(col(2))}}
	checkPruned(t, project(agg, 1), `
Project [sum]
└─ Aggregate by [a] [sum(b)]
   └─ Project [a, b]
      └─ IcebergScan c.ns.t leaf=1 columns=[a, b, c] pruning=(c = 1) ~10 rows
`)
}
