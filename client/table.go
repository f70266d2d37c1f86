package client

import (
	"bufio"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/text/width"
)

// tableStyle is how tables look.
type tableStyle struct {
	// color dims NULL and the lines, for terminals.
	color bool
}

// sampleRows is how many rows a table's column widths are taken from. Later rows that are wider stick out: rows stream.
const sampleRows = 1000

// table prints aligned columns, numbers to the right.
type table struct {
	out     *bufio.Writer
	style   tableStyle
	names   []string
	numbers []bool
	widths  []int
	held    [][]cell // the sample, until it is full
	started bool
	err     error
}

type cell struct {
	text string
	null bool
}

const (
	dim   = "\x1b[2m"
	reset = "\x1b[0m"
)

func newTable(out *bufio.Writer, schema *arrow.Schema, style tableStyle) *table {
	t := &table{out: out, style: style}
	for _, f := range schema.Fields() {
		name := printable(f.Name)
		t.names = append(t.names, name)
		t.numbers = append(t.numbers, isNumber(f.Type))
		t.widths = append(t.widths, textWidth(name))
	}
	return t
}

func (t *table) batch(batch arrow.RecordBatch) error {
	for row := range int(batch.NumRows()) {
		cells := make([]cell, batch.NumCols())
		for i, column := range batch.Columns() {
			if isNull(column, row) {
				cells[i] = cell{text: "NULL", null: true}
				continue
			}
			text := printable(ValueText(column, row))
			if text == "NULL" && isText(column) {
				text = `"NULL"` // A text that reads like NULL must not be taken for it.
			}
			cells[i] = cell{text: text}
		}
		if t.started {
			t.row(cells)
			continue
		}
		for i, c := range cells {
			t.widths[i] = max(t.widths[i], textWidth(c.text))
		}
		if t.held = append(t.held, cells); len(t.held) == sampleRows {
			t.start()
		}
	}
	if t.started && t.err == nil {
		t.err = t.out.Flush()
	}
	return t.err
}

// start prints the head and the sample.
func (t *table) start() {
	t.started = true
	for i, name := range t.names {
		t.separate(i, "|")
		gap := t.widths[i] - textWidth(name)
		t.write(strings.Repeat(" ", gap/2) + name)
		if i < len(t.names)-1 {
			t.write(strings.Repeat(" ", gap-gap/2))
		}
	}
	t.write("\n")
	t.dim(func() {
		for i, w := range t.widths {
			if i > 0 {
				t.write("+")
			}
			t.write(strings.Repeat("-", w+2))
		}
	})
	t.write("\n")
	for _, cells := range t.held {
		t.row(cells)
	}
	t.held = nil
}

func (t *table) row(cells []cell) {
	for i, c := range cells {
		t.separate(i, "|")
		gap := strings.Repeat(" ", max(0, t.widths[i]-textWidth(c.text)))
		if t.numbers[i] {
			t.write(gap)
		}
		if c.null {
			t.dim(func() { t.write(c.text) })
		} else {
			t.write(c.text)
		}
		if !t.numbers[i] && i < len(cells)-1 {
			t.write(gap)
		}
	}
	t.write("\n")
}

func (t *table) separate(i int, bar string) {
	if i == 0 {
		t.write(" ")
		return
	}
	t.write(" ")
	t.dim(func() { t.write(bar) })
	t.write(" ")
}

func (t *table) dim(f func()) {
	if t.style.color {
		t.write(dim)
		defer t.write(reset)
	}
	f()
}

func (t *table) write(text string) {
	if t.err == nil {
		_, t.err = t.out.WriteString(text)
	}
}

func (t *table) end() error {
	if !t.started {
		t.start()
	}
	if t.err != nil {
		return t.err
	}
	return t.out.Flush()
}

// printable keeps a cell on its line, and the terminal out of its reach: control characters show as escapes.
func printable(text string) string {
	if strings.IndexFunc(text, unicode.IsControl) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsControl(r):
			const digits = "0123456789abcdef"
			b.WriteString(`\x` + string(digits[r>>4&0xf]) + string(digits[r&0xf]))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// textWidth is the number of columns that a text takes in a terminal.
func textWidth(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r < 0x300: // the common case
			n++
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		default:
			n++
			if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
				n++
			}
		}
	}
	return n
}
