package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// side is one of the things compared: it runs a query and forgets its rows.
type side struct {
	name string
	run  func(sql string)
}

// comparison times queries on several sides in turn and prints a line for each. Ratios are to the first side.
type comparison struct {
	sides  []side
	times  int // runs of each query on each side; the fastest counts
	totals []time.Duration
	logs   []float64 // sums of the ratios' logarithms
	slow   []string  // queries whose ratio on the second side is above slowRatio
	count  int
}

// slowRatio is the ratio above which a query is named at the end.
const slowRatio = 1.5

func newComparison(times int, sides ...side) *comparison {
	c := &comparison{sides: sides, times: times, totals: make([]time.Duration, len(sides)), logs: make([]float64, len(sides))}
	fmt.Printf("%-8s", "query")
	for i, s := range sides {
		fmt.Printf(" %22s", s.name)
		if i > 0 {
			fmt.Printf(" %7s", "ratio")
		}
	}
	fmt.Println()
	return c
}

// measure runs a query on all sides in turn, once to warm up. Each run has a text of its own: what a side keeps of a text is
// not measured.
func (c *comparison) measure(label, sql string) {
	best := make([]time.Duration, len(c.sides))
	for i, s := range c.sides {
		s.run(sql)
		best[i] = math.MaxInt64
	}
	for run := range c.times {
		text := fmt.Sprintf("/* run %d */ %s", run, sql)
		for i, s := range c.sides {
			start := time.Now()
			s.run(text)
			best[i] = min(best[i], time.Since(start))
		}
	}
	for i := range best {
		c.totals[i] += best[i]
		c.logs[i] += math.Log(ratio(best[i], best[0]))
	}
	c.count++
	if r := ratio(best[1], best[0]); r > slowRatio {
		c.slow = append(c.slow, fmt.Sprintf("%s (%.2f)", label, r))
	}
	c.line(label, best)
}

func (c *comparison) line(label string, times []time.Duration) {
	fmt.Printf("%-8s", label)
	for i, t := range times {
		fmt.Printf(" %22s", round(t))
		if i > 0 {
			fmt.Printf(" %7.2f", ratio(t, times[0]))
		}
	}
	fmt.Println()
}

// total is the ratio of a side's total to the first side's.
func (c *comparison) total(side int) float64 { return ratio(c.totals[side], c.totals[0]) }

// geomean is the geometric mean of a side's ratios to the first side.
func (c *comparison) geomean(side int) float64 { return math.Exp(c.logs[side] / float64(c.count)) }

// end prints the totals.
func (c *comparison) end() {
	c.line("total", c.totals)
	fmt.Printf("%-8s", "geomean")
	for i := range c.sides {
		fmt.Printf(" %22s", "")
		if i > 0 {
			fmt.Printf(" %7.2f", c.geomean(i))
		}
	}
	fmt.Println()
	if len(c.slow) > 0 {
		fmt.Printf("above %.1f: %s\n", slowRatio, strings.Join(c.slow, ", "))
	}
}

func quantile(times []time.Duration, q float64) time.Duration {
	slices.Sort(times)
	return times[min(len(times)-1, int(q*float64(len(times))))]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func round(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}
