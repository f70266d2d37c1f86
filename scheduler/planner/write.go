package planner

import (
	"github.com/seracdb/serac/plan"
)

// write keeps rows where they are for an unpartitioned table, so that every task writes one file or few. For a
// partitioned table rows of one partition are brought together first: otherwise every task would write a file to every
// partition (rule 19).
func (d *distributor) write(n *plan.IcebergWrite) (*piece, error) {
	in, err := d.distribute(n.Input)
	if err != nil {
		return nil, err
	}
	if keys := n.Clustering; !in.isSingle() && len(keys) > 0 {
		if in, err = d.repartition(in, keys); err != nil {
			return nil, err
		}
		in = in.note("write: rows brought together by partition values")
	}
	return in.over(n.WithChildren([]plan.Node{in.node})), nil
}
