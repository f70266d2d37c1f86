package codec

import (
	"fmt"
	"testing"

	"github.com/seracdb/serac/plan"
	"github.com/stretchr/testify/require"
)

// stage is a plan like that of a stage of TPC-H's Q3: three inputs joined, aggregated, and written for the next stage.
func stage() plan.Node {
	money := plan.DecimalType(15, 2)
	scan := func(id int, n int) plan.Node {
		s := &plan.IcebergScan{Leaf: plan.LeafID(id), TableKey: "t", SnapshotID: 1 << 60, EstimatedRows: 1 << 20, EstimatedBytes: 1 << 30}
		for i := range n {
			c := plan.ScanColumn{FieldID: int32(i + 1), Name: fmt.Sprintf("column_%d", i), Type: big1, Nullable: true}
			if i%3 == 2 {
				c.Type = money
			}
			s.Columns = append(s.Columns, c)
		}
		return &plan.Filter{Input: s, Cond: less(col(0), num(1<<40))}
	}
	amount := func(i int) plan.Expr { return &plan.ColumnRef{Index: i, Of: money} }
	inner := &plan.Join{Kind: plan.Inner, Left: scan(1, 4), Right: scan(2, 3), Conds: []plan.JoinCond{{Op: plan.Equal, Left: col(0), Right: col(1)}}}
	outer := &plan.Join{Kind: plan.Inner, Left: inner, Right: scan(3, 4), Conds: []plan.JoinCond{{Op: plan.Equal, Left: col(1), Right: col(0)}}}
	product := &plan.Call{Name: "*", Args: []plan.Expr{amount(2), amount(6)}, Of: plan.DecimalType(18, 4)}
	return &plan.ShuffleWrite{
		Keys: []plan.Expr{col(0)}, Partitions: 8,
		Input: &plan.Aggregate{
			Input:  &plan.Project{Input: outer, Exprs: []plan.Expr{col(0), col(1), product}, Names: []string{"a", "b", "revenue"}},
			Groups: []plan.Expr{col(0), col(1)},
			Calls: []plan.AggregateCall{
				{Name: "sum", Args: []plan.Expr{&plan.ColumnRef{Index: 2, Of: product.Of}}, Of: plan.DecimalType(38, 4)}, {Name: "count_star", Of: big1},
			},
		},
	}
}

// rows is a leaf of constants, as INSERT ... VALUES makes them.
func rows(n int) plan.Node {
	v := &plan.Values{Out: columns(3)}
	for i := range n {
		v.Rows = append(v.Rows, []plan.Expr{num(int64(i)), num(2), num(3)})
	}
	return v
}

func BenchmarkFragment(b *testing.B) {
	for _, c := range []struct {
		name string
		node plan.Node
	}{{"stage", stage()}, {"1000rows", rows(1000)}} {
		encoded, err := EncodeFragment(c.node, tables())
		require.NoError(b, err)
		b.Run(c.name+"/encode", func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(len(encoded)), "bytes")
			for b.Loop() {
				if _, err := EncodeFragment(c.node, tables()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeFragment(encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestBenchmarkPlansRoundTrip(t *testing.T) {
	for _, n := range []plan.Node{stage(), rows(3)} {
		got, _ := roundTrip(t, n)
		require.Equal(t, n, got)
	}
}
