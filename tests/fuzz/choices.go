package fuzz

import "math/rand/v2"

// choices are what a part of a query was made from: numbers, in the order in which they were drawn, and the choices of its parts.
// Drawing past the end gives zeros, which stand for the simplest of everything, unless the tree is still growing.
type choices struct {
	values []int
	parts  []*choices

	rng         *rand.Rand // not nil: the tree grows
	value, part int
}

func grow(seed uint64) *choices {
	return &choices{rng: rand.New(rand.NewPCG(seed, 0x5e2ac))} //nolint:gosec // a reproducible sequence is wanted
}

// again is a copy to draw from anew.
func (c *choices) again() *choices {
	fresh := &choices{values: append([]int(nil), c.values...)}
	for _, p := range c.parts {
		fresh.parts = append(fresh.parts, p.again())
	}
	return fresh
}

// pick draws a number from 0 to before n.
func (c *choices) pick(n int) int {
	var x int
	switch {
	case c.value < len(c.values):
		x = c.values[c.value] % n
	case c.rng != nil:
		x = c.rng.IntN(n)
		c.values = append(c.values, x)
	}
	c.value++
	return x
}

// chance is true in so many of 100 cases.
func (c *choices) chance(percent int) bool { return c.pick(100) >= 100-percent }

// sub is the choices of the next part.
func (c *choices) sub() *choices {
	if c.part == len(c.parts) {
		c.parts = append(c.parts, &choices{rng: c.rng})
	}
	c.part++
	return c.parts[c.part-1]
}

// some makes between least and most parts, each with choices of its own.
func (c *choices) some(least, most int, make func(*choices)) {
	for i := range most {
		p := c.sub()
		if more := p.chance(50); i >= least && !more {
			return
		}
		make(p)
	}
}

// one draws one of the elements; the first is the simplest.
func one[T any](c *choices, of ...T) T { return of[c.pick(len(of))] }
