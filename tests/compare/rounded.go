package compare

import (
	"math"
	"strconv"
)

// Rounded makes the numbers of a result comparable across types, rounded to four digits: DuckDB's averages and quotients are
// DOUBLEs where other producers' plans say decimals. Names and types are left aside. It changes r, and gives it back.
func Rounded(r *Result) *Result {
	for i := range r.Types {
		r.Names[i], r.Types[i] = "", ""
	}
	for _, row := range r.Rows {
		for i, c := range row {
			if f, err := strconv.ParseFloat(c.Text, 64); err == nil && !c.Null && !c.IsFloat {
				row[i] = Cell{IsFloat: true, Float: f}
			}
			if row[i].IsFloat {
				row[i].Float = math.Round(row[i].Float*1e4) / 1e4
			}
		}
	}
	return r
}
