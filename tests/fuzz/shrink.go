package fuzz

// shrink makes a query that fails smaller for as long as it still fails, trying at most so many others. It gives the
// smallest tree.
func shrink(c *choices, fails func(sql string) bool, tries int) *choices {
	best := c.again()
	size := len(generate(best.again()))
	for improved := true; improved; {
		improved = false
		for i := 0; i < count(best) && tries > 0; i++ {
			for _, smaller := range simpler(best, i) {
				sql := generate(smaller.again())
				if len(sql) >= size || tries == 0 {
					continue
				}
				tries--
				if fails(sql) {
					best, size, improved = smaller, len(sql), true
					break
				}
			}
		}
	}
	return best
}

// count is the number of nodes in a tree.
func count(c *choices) int {
	n := 1
	for _, p := range c.parts {
		n += count(p)
	}
	return n
}

// nodeAt is the i-th node of a tree in pre-order, and the node that it is a part of.
func nodeAt(c *choices, i int) (node, parent *choices, part int) {
	var walk func(c, parent *choices, part int) bool
	walk = func(c, above *choices, at int) bool {
		if i == 0 {
			node, parent, part = c, above, at
			return true
		}
		i--
		for k, p := range c.parts {
			if walk(p, c, k) {
				return true
			}
		}
		return false
	}
	walk(c, nil, 0)
	return node, parent, part
}

// simpler gives trees in which the i-th node is simpler: empty, missing, one of the nodes below it, or with a number that is 0.
func simpler(tree *choices, i int) []*choices {
	var out []*choices
	edit := func(change func(node, parent *choices, part int)) {
		fresh := tree.again()
		node, parent, part := nodeAt(fresh, i)
		change(node, parent, part)
		out = append(out, fresh)
	}
	node, parent, _ := nodeAt(tree, i)
	edit(func(n, _ *choices, _ int) { n.values, n.parts = nil, nil })
	if parent != nil {
		edit(func(_, p *choices, at int) { p.parts = append(p.parts[:at], p.parts[at+1:]...) })
	}
	for below := 1; below < min(count(node), 30); below++ {
		edit(func(n, _ *choices, _ int) {
			sub, _, _ := nodeAt(n, below)
			*n = *sub
		})
	}
	for v, x := range node.values {
		for _, lower := range []int{0, x / 2, x - 1} {
			if lower >= 0 && lower < x {
				edit(func(n, _ *choices, _ int) { n.values[v] = lower })
			}
		}
	}
	return out
}
