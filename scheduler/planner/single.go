package planner

import (
	"fmt"

	"github.com/seracdb/serac/plan"
)

// single runs a node in one task over gathered input. Subtrees that read nothing bound outside of them (a delim set, a
// recursion) are distributed on their own and gathered; what lies between runs in the same task as the node.
func (d *distributor) single(n plan.Node) (*piece, error) {
	p, err := d.embed(n)
	if err != nil {
		return nil, err
	}
	return p.note("%s: in one task over gathered input", nodeName(n)), nil
}

// embed makes n, which cannot be distributed, part of a fragment with one unit.
func (d *distributor) embed(n plan.Node) (*piece, error) {
	children := n.Children()
	nodes := make([]plan.Node, len(children))
	out := &piece{units: []unit{{}}}
	eachOwnLeaf(n, func(id plan.LeafID) { out.units[0][id] = reads{constant: true} })
	for i, c := range children {
		p, err := d.gathered(c)
		if err != nil {
			return nil, err
		}
		nodes[i] = p.node
		out.units[0] = out.units[0].merge(p.units[0])
		out.rows = max(out.rows, p.rows)
		out.notes = append(out.notes, p.notes...)
	}
	out.node = n.WithChildren(nodes)
	return out.sized(), nil
}

func (d *distributor) gathered(n plan.Node) (*piece, error) {
	if d.hasFreeReference(n) {
		return d.embed(n)
	}
	p, err := d.distribute(n)
	if err != nil {
		return nil, err
	}
	return d.gather(p)
}

// eachOwnLeaf visits n's leaf id if n itself is a leaf of constants.
func eachOwnLeaf(n plan.Node, visit func(plan.LeafID)) {
	switch n := n.(type) {
	case *plan.Values:
		visit(n.Leaf)
	case *plan.TableFunction:
		if n.Input == nil {
			visit(n.Leaf)
		}
	}
}

// hasFreeReference says whether n reads a delim set or a recursive CTE that is bound above it.
func (d *distributor) hasFreeReference(n plan.Node) bool {
	return d.free(n, 0, map[int]bool{})
}

func (d *distributor) free(n plan.Node, delims int, bound map[int]bool) bool {
	switch n := n.(type) {
	case *plan.DelimGet:
		return delims == 0
	case *plan.CTERef:
		_, shared := d.ctes[n.Index]
		return !shared && !bound[n.Index]
	case *plan.DelimJoin:
		source, other := n.Join.Left, n.Join.Right
		if n.Flipped {
			source, other = other, source
		}
		return d.free(source, delims, bound) || d.free(other, delims+1, bound)
	case *plan.CTE:
		bound[n.Index] = true
	case *plan.RecursiveCTE:
		bound[n.Index] = true
	}
	for _, c := range n.Children() {
		if d.free(c, delims, bound) {
			return true
		}
	}
	return false
}

// cte makes the definition a stage of its own, computed once, that every reference reads. A definition that cannot
// stand alone stays with its body in one task.
func (d *distributor) cte(n *plan.CTE) (*piece, error) {
	if d.hasFreeReference(n) {
		return d.single(n)
	}
	def, err := d.distribute(n.Def)
	if err != nil {
		return nil, err
	}
	partitions := 1
	if def.bytes > float64(max(d.options.BroadcastThreshold, 0)) {
		partitions = d.options.ShufflePartitions
	}
	s, err := d.exchange(def.note("CTE %s: computed once", n.Name), allColumns(n.Def.Schema()), partitions)
	if err != nil {
		return nil, err
	}
	d.ctes[n.Index] = s
	defer delete(d.ctes, n.Index)
	return d.distribute(n.Body)
}

func (d *distributor) cteRef(n *plan.CTERef) (*piece, error) {
	s, ok := d.ctes[n.Index]
	if !ok {
		return nil, fmt.Errorf("distribute: CTE %d is not in scope", n.Index)
	}
	return d.read(s), nil
}

// readAll is the unit that reads everything a plan's leaves stand for, for a plan that runs whole in one task.
func (d *distributor) readAll(root plan.Node) (unit, error) {
	u := unit{}
	var err error
	eachLeaf(root, func(n plan.Node, id plan.LeafID) {
		switch n := n.(type) {
		case *plan.IcebergScan:
			p, scanErr := d.scan(n)
			if scanErr != nil {
				err = scanErr
				return
			}
			u = u.merge(mergeAll(p.units))
		default:
			u[id] = reads{constant: true}
		}
	})
	return u, err
}
