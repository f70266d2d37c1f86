package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/seracdb/serac/client"
)

// Tolerance is the relative difference up to which two floating-point numbers are the same: sums differ in their last
// digits with the order of addition.
const Tolerance = 1e-9

// Result is a whole result.
type Result struct {
	Names []string
	Types []string
	Rows  [][]Cell
}

// Cell is one value: NULL, a floating-point number, or the text of any other value.
type Cell struct {
	Null    bool
	IsFloat bool
	Float   float64
	Text    string
}

// String is the cell for people.
func (c Cell) String() string {
	switch {
	case c.Null:
		return "NULL"
	case c.IsFloat:
		return fmt.Sprint(c.Float)
	default:
		return c.Text
	}
}

// New is an empty result of a schema.
func New(s *arrow.Schema) *Result {
	r := &Result{}
	for _, f := range s.Fields() {
		r.Names = append(r.Names, f.Name)
		r.Types = append(r.Types, f.Type.String())
	}
	return r
}

// Add appends a batch's rows. It keeps nothing of the batch.
func (r *Result) Add(b arrow.RecordBatch) {
	for i := range int(b.NumRows()) {
		row := make([]Cell, b.NumCols())
		for c := range row {
			row[c] = cell(b.Column(c), i)
		}
		r.Rows = append(r.Rows, row)
	}
}

func cell(a arrow.Array, i int) Cell {
	if a.IsNull(i) {
		return Cell{Null: true}
	}
	switch a := a.(type) {
	case *array.Float64:
		return Cell{IsFloat: true, Float: a.Value(i)}
	case *array.Float32:
		return Cell{IsFloat: true, Float: float64(a.Value(i))}
	}
	return Cell{Text: strings.Clone(client.ValueText(a, i))} // arrow's ValueStr shows an empty BLOB in a list as null
}

// Diff says how got differs from want, or "" when it does not. The rows at columns order must come in the same sequence
// (rows that tie there may come in any order); without order any sequence will do.
func Diff(want, got *Result, order ...int) string {
	if !slices.Equal(want.Names, got.Names) {
		return fmt.Sprintf("columns: want %q, got %q", want.Names, got.Names)
	}
	if !slices.Equal(want.Types, got.Types) {
		return fmt.Sprintf("types: want %q, got %q", want.Types, got.Types)
	}
	if len(want.Rows) != len(got.Rows) {
		return fmt.Sprintf("want %d rows, got %d%s", len(want.Rows), len(got.Rows), firstRows(want, got))
	}
	for i := range want.Rows {
		for _, c := range order {
			if !equal(want.Rows[i][c], got.Rows[i][c]) {
				return fmt.Sprintf("row %d is out of order at column %s: want %s, got %s", i, want.Names[c], show(want.Rows[i]), show(got.Rows[i]))
			}
		}
	}
	sortedWant, sortedGot := sorted(want.Rows), sorted(got.Rows)
	for i := range sortedWant {
		if !slices.EqualFunc(sortedWant[i], sortedGot[i], equal) {
			return fmt.Sprintf("rows differ: want %s, got %s", show(sortedWant[i]), show(sortedGot[i]))
		}
	}
	return ""
}

func firstRows(want, got *Result) string {
	var b strings.Builder
	for _, r := range []struct {
		what string
		rows [][]Cell
	}{{"want", want.Rows}, {"got", got.Rows}} {
		for _, row := range r.rows[:min(3, len(r.rows))] {
			fmt.Fprintf(&b, "\n  %s %s", r.what, show(row))
		}
	}
	return b.String()
}

func show(row []Cell) string {
	cells := make([]string, len(row))
	for i, c := range row {
		cells[i] = c.String()
	}
	return "(" + strings.Join(cells, ", ") + ")"
}

func equal(a, b Cell) bool {
	if a.Null || b.Null {
		return a.Null == b.Null
	}
	if !a.IsFloat {
		return a.Text == b.Text
	}
	if math.IsNaN(a.Float) || math.IsNaN(b.Float) {
		return math.IsNaN(a.Float) == math.IsNaN(b.Float)
	}
	if a.Float == b.Float {
		return true
	}
	return math.Abs(a.Float-b.Float) <= Tolerance*max(math.Abs(a.Float), math.Abs(b.Float))
}

// sorted orders rows by their exact cells first, so that floats that differ in their last digits do not change the
// order of rows that differ elsewhere.
func sorted(rows [][]Cell) [][]Cell {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b []Cell) int {
		for _, floats := range []bool{false, true} {
			for i := range a {
				if (a[i].IsFloat || b[i].IsFloat) != floats {
					continue
				}
				if c := compareCells(a[i], b[i]); c != 0 {
					return c
				}
			}
		}
		return 0
	})
	return rows
}

func compareCells(a, b Cell) int {
	if a.Null != b.Null {
		if a.Null {
			return -1
		}
		return 1
	}
	if a.IsFloat && b.IsFloat {
		return cmp.Compare(a.Float, b.Float)
	}
	return strings.Compare(a.Text, b.Text)
}
