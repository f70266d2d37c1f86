package planner

import (
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// Sizes are of decoded rows. Estimates need only be good enough to tell a small side of a join from a large one. They start
// from the manifests' row counts; DuckDB has already chosen the join order.

// scale multiplies the estimate by a selectivity.
func (p *piece) scale(by float64) *piece {
	p.rows *= by
	p.bytes *= by
	p.dropped = 1 - p.kept()*by
	return p
}

// kept is the part of the rows that conditions have left.
func (p *piece) kept() float64 { return 1 - p.dropped }

// all is the rows that there would be without conditions.
func (p *piece) all() float64 { return p.rows / max(p.kept(), 1e-6) }

// sized recomputes the bytes from the rows and the output's width.
func (p *piece) sized() *piece {
	p.bytes = p.rows * rowWidth(p.node.Schema())
	return p
}

func rowWidth(s plan.Schema) float64 {
	var width float64
	for _, c := range s {
		width += typeWidth(c.Type)
	}
	return width
}

// decoded is the bytes of what a scan reads once it is decoded: what working on it costs. Sorted keys and short lists of
// values take next to nothing in files.
func decoded(n plan.Node, files ScanFiles) float64 {
	return max(float64(files.Bytes()), float64(files.Rows())*rowWidth(n.Schema()))
}

// typeWidth is the usual size of a value in a shuffle file, in bytes.
func typeWidth(t plan.Type) float64 {
	switch t.Kind {
	case plan.Boolean, plan.TinyInt, plan.UTinyInt:
		return 1
	case plan.SmallInt, plan.USmallInt:
		return 2
	case plan.Integer, plan.UInteger, plan.Float, plan.Date, plan.Enum:
		return 4
	case plan.Decimal:
		if t.Width <= 18 {
			return 8
		}
		return 16
	case plan.HugeInt, plan.UHugeInt, plan.UUID, plan.Interval:
		return 16
	case plan.Varchar, plan.Blob:
		return 20
	case plan.List, plan.Array, plan.Map, plan.Struct, plan.Union, plan.Variant, plan.Geometry:
		return 64
	default:
		return 8
	}
}

// selectivity guesses what part of the rows a condition keeps.
func selectivity(e plan.Expr) float64 {
	switch e := e.(type) {
	case *plan.Comparison:
		switch e.Op {
		case plan.Equal, plan.NotDistinctFrom:
			return 0.1
		case plan.NotEqual, plan.DistinctFrom:
			return 0.9
		case plan.Less, plan.LessOrEqual, plan.Greater, plan.GreaterOrEqual:
			return 0.4
		}
	case *plan.Between:
		return 0.25
	case *plan.Conjunction:
		s := 1.0
		for _, a := range e.Args {
			if e.Or {
				s *= 1 - selectivity(a)
			} else {
				s *= selectivity(a)
			}
		}
		if e.Or {
			return 1 - s
		}
		return max(s, 0.001)
	case *plan.Operator:
		switch e.Op {
		case plan.OpNot:
			return 1 - selectivity(e.Args[0])
		case plan.OpIsNull:
			return 0.1
		case plan.OpIsNotNull:
			return 0.95
		case plan.OpIn:
			return min(0.8, 0.1*float64(len(e.Args)-1))
		case plan.OpNotIn:
			return 0.8
		}
	case *plan.Call:
		switch e.Name {
		case "!~~", "!~~*", "not_like_escape", "not_ilike_escape":
			return 0.9
		}
	}
	return 0.3
}

// selective says that a condition leaves so few rows that it is worth asking it of a join's side beside asking it again above.
func selective(e plan.Expr) bool { return selectivity(e) <= 0.2 }

func groupLength(g *seracv1.FileGroup) float64 {
	var n int64
	for _, f := range g.Files {
		n += f.Length
	}
	return float64(n)
}
