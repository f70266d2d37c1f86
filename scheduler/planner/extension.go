package planner

import (
	"fmt"

	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// SplitScan is the planned scan of a leaf of another table format.
type SplitScan interface {
	ScanFiles
	// Groups cuts the splits into at least minGroups (where there are so many splits) groups of about target bytes. It never
	// returns less than one group: an empty table reads as one group without splits (rule 10).
	Groups(target int64, minGroups int) [][]*seracv1.Split
}

// extension makes a unit of each group of a leaf's splits. Of an extension node with inputs nothing is known: it runs in
// one task.
func (d *distributor) extension(n *plan.Extension) (*piece, error) {
	leaf, ok := n.Leaf()
	if !ok {
		return d.single(n)
	}
	scan, ok := d.scans[leaf].(SplitScan)
	if !ok {
		return nil, fmt.Errorf("distribute: the splits of leaf %d, %s, were not planned", leaf, n.Impl.Name())
	}
	rows, bytes := float64(scan.Rows()), float64(scan.Bytes())
	groups := scan.Groups(d.options.TargetTaskSize, d.minGroups(bytes))
	var total float64
	for _, g := range groups {
		total += splitBytes(g)
	}
	units := make([]unit, len(groups))
	for i, g := range groups {
		if g == nil {
			g = []*seracv1.Split{}
		}
		units[i] = unit{leaf: {splits: g, bytes: bytes * splitBytes(g) / max(total, 1)}}
	}
	return &piece{node: n, units: units, rows: rows, bytes: bytes}, nil
}

func splitBytes(splits []*seracv1.Split) float64 {
	var n int64
	for _, s := range splits {
		n += s.GetSizeBytes()
	}
	return float64(n)
}
