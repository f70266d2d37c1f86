package planner

import (
	"fmt"

	"github.com/seracdb/serac/plan"
)

// scan makes a unit of each file group.
func (d *distributor) scan(n *plan.IcebergScan) (*piece, error) {
	files, ok := d.scans[n.Leaf].(FileScan)
	if !ok {
		return nil, fmt.Errorf("distribute: the files of scan %d of %s were not planned", n.Leaf, n.TableKey)
	}
	bytes, size := float64(files.Bytes()), decoded(n, files)
	groups := files.Groups(d.options.TargetTaskSize, d.minGroups(max(bytes, size/decodedUnits)))
	var length float64
	for _, g := range groups {
		length += groupLength(g)
	}
	units := make([]unit, len(groups))
	for i, g := range groups {
		units[i] = unit{n.Leaf: {files: groups[i : i+1], bytes: bytes * groupLength(g) / max(length, 1)}}
	}
	p := &piece{node: n, units: units, rows: float64(files.Rows()), bytes: size}
	if n.Filter != nil {
		p.scale(selectivity(n.Filter))
	}
	return p, nil
}

// metadataScan is read by one unit: what it reads is a table's metadata, not its data.
func (d *distributor) metadataScan(n *plan.MetadataScan) (*piece, error) {
	rows := float64(n.EstimatedRows)
	if rows < 0 {
		rows = 1000
	}
	return (&piece{node: n, units: []unit{{n.Leaf: {constant: true}}}, rows: rows}).sized(), nil
}

// minGroups is how many units a scan of so many bytes should at least be cut into.
func (d *distributor) minGroups(bytes float64) int {
	unitSize := min(d.options.TargetTaskSize, minUnitSize)
	return min(d.options.Slots, int(bytes/float64(unitSize))+1)
}

// values are read by one unit.
func (d *distributor) values(n *plan.Values) (*piece, error) {
	return (&piece{
		node: n, units: []unit{{n.Leaf: {constant: true}}}, rows: float64(len(n.Rows)),
	}).sized(), nil
}

func (d *distributor) tableFunction(n *plan.TableFunction) (*piece, error) {
	if n.Input == nil {
		return (&piece{node: n, units: []unit{{n.Leaf: {constant: true}}}, rows: 1000}).sized(), nil
	}
	return d.onInput(n, n.Input, nil)
}

func (d *distributor) unnest(n *plan.Unnest) (*piece, error) {
	return d.onInput(n, n.Input, identity)
}

func (d *distributor) filter(n *plan.Filter) (*piece, error) {
	if p, ok, err := d.topOfWindow(n); ok {
		return p, err
	}
	p, err := d.onInput(n, n.Input, identity)
	if err != nil {
		return nil, err
	}
	if s, ok := n.Input.(*plan.IcebergScan); !ok || s.Filter == nil {
		p.scale(selectivity(n.Cond))
	}
	return p, nil
}

func (d *distributor) project(n *plan.Project) (*piece, error) {
	p, err := d.onInput(n, n.Input, func(col int) int {
		for i, e := range n.Exprs {
			if ref, ok := e.(*plan.ColumnRef); ok && ref.Index == col {
				return i
			}
		}
		return -1
	})
	if err != nil {
		return nil, err
	}
	return p.sized(), nil
}

// onInput distributes the input of a node that works row by row and puts the node on it. column says where an input
// column is in the output (-1: gone); nil means that none is kept.
func (d *distributor) onInput(n, input plan.Node, column func(int) int) (*piece, error) {
	in, err := d.distribute(input)
	if err != nil {
		return nil, err
	}
	p := in.over(n.WithChildren([]plan.Node{in.node}))
	p.hash = mapColumns(in.hash, column)
	return p, nil
}

func identity(col int) int { return col }

// mapColumns follows partitioning columns through a node; nil when one of them is gone.
func mapColumns(cols []int, column func(int) int) []int {
	if cols == nil || column == nil {
		return nil
	}
	out := make([]int, len(cols))
	for i, c := range cols {
		if out[i] = column(c); out[i] < 0 {
			return nil
		}
	}
	return out
}
