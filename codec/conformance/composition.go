package conformance

import (
	"fmt"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/wire"
)

// composition puts a plan with extension nodes beside an Iceberg scan and beside itself, in a UNION ALL and in a join.
func (s *suite) composition(c Case) error {
	extended := false
	plan.Walk(c.Node, func(n plan.Node) bool {
		_, is := n.(*plan.Extension)
		extended = extended || is
		return true
	})
	if !extended || len(c.Node.Schema()) == 0 {
		return errNotTried
	}
	table := &wire.Table{
		Key: "conformance", Identifier: []string{"c", "conformance"}, MetadataLocation: "file:///conformance/v1.metadata.json", FormatVersion: 2,
	}
	iceberg := &plan.IcebergScan{Leaf: 1 << 20, TableKey: table.Key, SnapshotID: 1, EstimatedRows: -1, EstimatedBytes: -1}
	for i, column := range c.Node.Schema() {
		iceberg.Columns = append(iceberg.Columns, plan.ScanColumn{
			FieldID: int32(i + 1), Name: column.Name, Type: column.Type, Nullable: column.Nullable,
		})
	}
	for name, n := range map[string]plan.Node{
		"UNION ALL":          &plan.SetOp{Op: plan.SetUnion, All: true, Inputs: []plan.Node{iceberg, c.Node, c.Node}},
		"a join":             &plan.Join{Kind: plan.Inner, Left: c.Node, Right: iceberg},
		"a join with itself": &plan.Join{Kind: plan.Left, Left: c.Node, Right: c.Node},
	} {
		together := Case{Name: c.Name, Node: n, Tables: append([]*wire.Table{table}, c.Tables...)}
		if err := s.roundTrip(together); err != nil {
			return fmt.Errorf("in %s: %w", name, err)
		}
	}
	return nil
}
