package planner

import (
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
		p, err := d.gatheredInside(n, c)
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

// gatheredInside is an input of n. The DelimGets of a delim join that stays whole are in place where they are.
func (d *distributor) gatheredInside(n, input plan.Node) (*piece, error) {
	if join, ok := n.(*plan.DelimJoin); ok {
		if source, _ := delimSides(join); input != source {
			return d.inDelim(nil, input, d.gathered)
		}
	}
	return d.gathered(input)
}

func (d *distributor) gathered(n plan.Node) (*piece, error) {
	if d.hasFreeReference(n) {
		return d.embed(n)
	}
	p, err := d.distributeBesides(n)
	if err != nil {
		return nil, err
	}
	return d.gather(p)
}

// eachOwnLeaf visits n's leaf id if n itself is a leaf of constants.
func eachOwnLeaf(n plan.Node, visit func(plan.LeafID)) {
	switch n := n.(type) {
	case *plan.MetadataScan:
		visit(n.Leaf)
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
		return delims == 0 && d.boundDelim() == nil
	case *plan.CTERef:
		_, shared := d.ctes[n.Index]
		return !shared && !bound[n.Index]
	case *plan.DelimJoin:
		source, other := delimSides(n)
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

// readAll is the unit that reads everything a plan's leaves stand for, for a plan that runs whole in one task.
func (d *distributor) readAll(root plan.Node) (unit, error) {
	u := unit{}
	var err error
	eachLeaf(root, func(n plan.Node, id plan.LeafID) {
		switch n.(type) {
		case *plan.IcebergScan, *plan.Extension:
			p, scanErr := d.distribute(n)
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
