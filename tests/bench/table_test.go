package bench

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// side is one of the things compared: it runs a query and forgets its rows.
type side struct {
	name string
	run  func(sql string)
	// pids are its processes, where their processor time is all its own.
	pids []int
}

// processor is the processor time that the side has taken so far.
func (s side) processor() time.Duration {
	var sum time.Duration
	for _, pid := range s.pids {
		var t unix.Timespec
		if unix.ClockGettime(int32(^pid<<3|2), &t) == nil { // clock_getcpuclockid(3)
			sum += time.Duration(t.Nano())
		}
	}
	return sum
}

// comparison times queries on several sides in turn and prints a line for each. Ratios are to the first side, of the time and,
// where it is known, of the processor time: that says more on a machine that has other things to do.
type comparison struct {
	sides []side
	total measured
	logs  []float64 // sums of the ratios' logarithms
	slow  []string  // queries whose ratio on the second side is above slowRatio
	count int
}

// measured is what each side took.
type measured struct{ elapsed, processor []time.Duration }

func newMeasured(sides int) measured {
	return measured{make([]time.Duration, sides), make([]time.Duration, sides)}
}

// slowRatio is the ratio above which a query is named at the end.
const slowRatio = 1.5

func newComparison(sides ...side) *comparison {
	c := &comparison{sides: sides, total: newMeasured(len(sides)), logs: make([]float64, len(sides))}
	fmt.Printf("%-8s", "query")
	for i, s := range sides {
		fmt.Printf(" %22s", s.name)
		if i > 0 {
			fmt.Printf(" %7s %9s", "ratio", "processor")
		}
	}
	fmt.Println()
	return c
}

// wanted says whether a query is among those of -only.
func wanted(label string) bool {
	match, err := regexp.MatchString(*only, label)
	return match && err == nil
}

// textOf is a query's text for one run. The comment is inside, after the first word: Serac takes those around a statement off.
func textOf(run int, sql string) string {
	word := regexp.MustCompile(`^\s*\w+`).FindString(sql)
	return fmt.Sprintf("%s /* run %d */%s", word, run, sql[len(word):])
}

// measure runs a query on all sides in turn, once to warm up. Each run has a text of its own: what a side keeps of a text is
// not measured.
func (c *comparison) measure(label, sql string) {
	if !wanted(label) {
		return
	}
	best := newMeasured(len(c.sides))
	for i, s := range c.sides {
		s.run(sql)
		best.elapsed[i], best.processor[i] = math.MaxInt64, math.MaxInt64
	}
	for run := range *runs {
		text := textOf(run, sql)
		for i, s := range c.sides {
			start, processor := time.Now(), s.processor()
			s.run(text)
			best.elapsed[i] = min(best.elapsed[i], time.Since(start))
			best.processor[i] = min(best.processor[i], s.processor()-processor)
		}
	}
	for i := range c.sides {
		c.total.elapsed[i] += best.elapsed[i]
		c.total.processor[i] += best.processor[i]
		c.logs[i] += math.Log(ratio(best.elapsed[i], best.elapsed[0]))
	}
	c.count++
	if r := ratio(best.elapsed[1], best.elapsed[0]); r > slowRatio {
		c.slow = append(c.slow, fmt.Sprintf("%s (%.2f)", label, r))
	}
	c.line(label, best)
}

func (c *comparison) line(label string, m measured) {
	fmt.Printf("%-8s", label)
	for i, t := range m.elapsed {
		fmt.Printf(" %22s", round(t))
		if i == 0 {
			continue
		}
		fmt.Printf(" %7.2f", ratio(t, m.elapsed[0]))
		processor := ""
		if m.processor[i] > 0 && m.processor[0] > 0 {
			processor = fmt.Sprintf("%.2f", ratio(m.processor[i], m.processor[0]))
		}
		fmt.Printf(" %9s", processor)
	}
	fmt.Println()
}

// totalRatio is the ratio of a side's total to the first side's.
func (c *comparison) totalRatio(side int) float64 {
	return ratio(c.total.elapsed[side], c.total.elapsed[0])
}

// geomean is the geometric mean of a side's ratios to the first side.
func (c *comparison) geomean(side int) float64 { return math.Exp(c.logs[side] / float64(c.count)) }

// end prints the totals.
func (c *comparison) end() {
	c.line("total", c.total)
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
