package plan

import (
	"slices"
	"strings"
	"testing"
)

var (
	integer = T(Integer)
	varchar = T(Varchar)
)

func col(i int) *ColumnRef     { return &ColumnRef{Index: i, Of: integer} }
func number(n int64) *Constant { return &Constant{Value: n, Of: integer} }
func equals(a, b Expr) Expr    { return &Comparison{Op: Equal, Left: a, Right: b} }
func sum(e Expr) AggregateCall { return AggregateCall{Name: "sum", Args: []Expr{e}, Of: T(HugeInt)} }
func key(e Expr) SortKey       { return SortKey{Expr: e} }
func scanOf(names ...string) Node {
	s := &IcebergScan{Leaf: 1, TableKey: "c.ns.t", EstimatedRows: 10, EstimatedBytes: -1}
	for i, n := range names {
		s.Columns = append(s.Columns, ScanColumn{FieldID: int32(i + 1), Name: n, Type: integer, Nullable: true})
	}
	return s
}

// everyExpr has each kind of expression once, over columns 0, 1, 2 ...
func everyExpr() Expr {
	return &Case{Of: integer, Whens: []When{{
		Cond: &Conjunction{Args: []Expr{
			equals(col(0), number(1)),
			&Operator{Op: OpIn, Args: []Expr{col(1), number(2)}, Of: T(Boolean)},
			&Between{Arg: col(2), Low: number(0), High: col(3)},
		}},
		Then: &Cast{Arg: col(4), To: integer},
	}}, Else: &Call{Name: "list_reduce", Args: []Expr{col(5), col(6)}, Of: integer,
		Lambda: &Lambda{Params: 2, Body: &Call{Name: "+", Args: []Expr{&LambdaParam{Index: 1, Of: integer}, col(7)}, Of: integer}}}}
}

func TestExprChildrenComeBack(t *testing.T) {
	e := everyExpr()
	if got := ColumnsUsed(e); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Fatalf("columns used: %v", got)
	}
	seen := 0
	WalkExpr(e, func(e Expr) bool {
		seen++
		again := WithExprChildren(e, ExprChildren(e))
		if ExprText(again, nil) != ExprText(e, nil) {
			t.Errorf("%s came back as %s", ExprText(e, nil), ExprText(again, nil))
		}
		return true
	})
	if seen != 20 {
		t.Errorf("walked %d expressions", seen)
	}
	moved := MapColumns(e, func(i int) int { return i + 10 })
	if got := ColumnsUsed(moved); got[0] != 10 || len(got) != 8 {
		t.Errorf("moved columns: %v", got)
	}
	if got := ColumnsUsed(e); got[0] != 0 {
		t.Error("the original has moved too")
	}
	if same := RewriteExpr(e, func(e Expr) Expr { return e }); same != e {
		t.Error("an unchanged expression was copied")
	}
}

func TestTransformKeepsWhatDoesNotChange(t *testing.T) {
	left, right := scanOf("a"), scanOf("b")
	join := &Join{Kind: Inner, Left: &Filter{Input: left, Cond: equals(col(0), number(1))}, Right: right}
	got, err := Transform(join, func(n Node) (Node, error) {
		if f, ok := n.(*Filter); ok {
			return f.Input, nil
		}
		return n, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	j := got.(*Join)
	if j.Left != left || j.Right != right || join.Left == left {
		t.Errorf("got\n%s", Explain(got))
	}
	same, err := Transform(join, func(n Node) (Node, error) { return n, nil })
	if err != nil || same != Node(join) {
		t.Error("an unchanged plan was copied")
	}
}

func TestNodeExprsAndMapExprsSeeTheSame(t *testing.T) {
	w := &Window{Input: scanOf("a", "b", "c", "d", "e", "f"), Calls: []WindowCall{{Name: "sum", Args: []Expr{col(0)}, Filter: equals(col(1), number(1)),
		PartitionBy: []Expr{col(2)}, OrderBy: []SortKey{key(col(3))}, ArgOrder: []SortKey{key(col(4))},
		Frame: Frame{Mode: Rows, Start: FrameBound{Kind: Preceding, Offset: col(5)}, End: FrameBound{Kind: CurrentRow}}}}}
	if got := ColumnsUsed(NodeExprs(w)...); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("columns used: %v", got)
	}
	moved := MapExprs(w, func(e Expr) Expr { return MapColumns(e, func(i int) int { return 5 - i }) })
	if a := moved.(*Window).Calls[0].Args[0].(*ColumnRef).Index; a != 5 {
		t.Errorf("the argument is column %d", a)
	}
	if a := w.Calls[0].Args[0].(*ColumnRef).Index; a != 0 {
		t.Error("the original has changed")
	}
}

func TestExplain(t *testing.T) {
	n := &Limit{Count: number(3), Keys: []SortKey{{Expr: col(1), Descending: true}}, Input: &Aggregate{
		Input:  &Filter{Input: scanOf("a", "b"), Cond: &Comparison{Op: Greater, Left: col(1), Right: &Constant{Value: "x", Of: varchar}}},
		Groups: []Expr{col(0)}, Calls: []AggregateCall{sum(col(1))},
	}}
	want := strings.TrimPrefix(`
TopN 3 ORDER BY sum DESC
└─ Aggregate by [a] [sum(b)]
   └─ Filter (b > 'x')
      └─ IcebergScan c.ns.t leaf=1 columns=[a, b] ~10 rows
`, "\n")
	if got := Explain(n); got != want {
		t.Errorf("got\n%s", got)
	}
}
