package read

import (
	"bytes"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/seracdb/serac/plan"
)

// plainColumns are the leaf columns of a file's top-level fields that are no groups, by field id.
func (r *reader) plainColumns(footer *metadata.FileMetaData) map[int32]int {
	columns, _ := fileColumns(footer, r.in.NameMapping)
	out := make(map[int32]int, len(columns))
	leaf := 0
	root := footer.Schema.Root()
	for i, c := range columns {
		if len(c.children) == 0 && c.id >= 0 {
			out[c.id] = leaf
		}
		leaf += countLeaves(root.Field(i))
	}
	return out
}

// mayMatch says whether a row group may hold a row for which the filter is true. It looks at comparisons of a column with a
// constant under AND, of the types whose order in Parquet is DuckDB's (whole numbers, dates, times, strings), and answers
// true to all else (rule 13).
func mayMatch(e plan.Expr, scan []plan.ScanColumn, group *metadata.RowGroupMetaData, columns map[int32]int) bool {
	switch e := e.(type) {
	case *plan.Conjunction:
		for _, arg := range e.Args {
			if may := mayMatch(arg, scan, group, columns); may == e.Or {
				return e.Or
			}
		}
		return !e.Or || len(e.Args) == 0
	case *plan.Comparison:
		if value, ok := e.Right.(*plan.Constant); ok {
			return mayCompare(e.Op, e.Left, value, scan, group, columns)
		}
		if value, ok := e.Left.(*plan.Constant); ok {
			return mayCompare(mirrored(e.Op), e.Right, value, scan, group, columns)
		}
	case *plan.Between:
		low, lowOK := e.Low.(*plan.Constant)
		high, highOK := e.High.(*plan.Constant)
		return (!lowOK || mayCompare(plan.GreaterOrEqual, e.Arg, low, scan, group, columns)) &&
			(!highOK || mayCompare(plan.LessOrEqual, e.Arg, high, scan, group, columns))
	}
	return true
}

// mirrored is the comparison with its sides changed.
func mirrored(op plan.CompareOp) plan.CompareOp {
	switch op {
	case plan.Less:
		return plan.Greater
	case plan.LessOrEqual:
		return plan.GreaterOrEqual
	case plan.Greater:
		return plan.Less
	case plan.GreaterOrEqual:
		return plan.LessOrEqual
	default:
		return op
	}
}

func mayCompare(op plan.CompareOp, e plan.Expr, value *plan.Constant, scan []plan.ScanColumn, group *metadata.RowGroupMetaData, columns map[int32]int) bool {
	ref, ok := e.(*plan.ColumnRef)
	if !ok || ref.Index < 0 || ref.Index >= len(scan) || !ref.Of.Equal(value.Of) || value.Value == nil {
		return true
	}
	leaf, ok := columns[scan[ref.Index].FieldID]
	if !ok {
		return true // a column that the file has not may have a default
	}
	chunk, err := group.ColumnChunk(leaf)
	if err != nil {
		return true
	}
	stats, err := chunk.Statistics()
	if err != nil || stats == nil || !stats.HasMinMax() {
		return true
	}
	low, high, ok := compareBounds(stats, value)
	if !ok {
		return true
	}
	switch op {
	case plan.Equal, plan.NotDistinctFrom:
		return low <= 0 && high >= 0
	case plan.Less:
		return low < 0
	case plan.LessOrEqual:
		return low <= 0
	case plan.Greater:
		return high > 0
	case plan.GreaterOrEqual:
		return high >= 0
	default:
		return true
	}
}

// compareBounds compares the least and the greatest value of a chunk with a constant: negative, zero or positive. ok is false
// for types that it does not know.
func compareBounds(stats metadata.TypedStatistics, value *plan.Constant) (low, high int, ok bool) {
	switch value.Of.Kind {
	case plan.Integer, plan.BigInt, plan.Date, plan.Time, plan.Timestamp, plan.TimestampTZ:
		v, isInt := value.Value.(int64)
		if !isInt {
			return 0, 0, false
		}
		switch s := stats.(type) {
		case *metadata.Int32Statistics:
			if value.Of.Kind != plan.Integer && value.Of.Kind != plan.BigInt && value.Of.Kind != plan.Date {
				return 0, 0, false // times in milliseconds
			}
			return sign(int64(s.Min()), v), sign(int64(s.Max()), v), true
		case *metadata.Int64Statistics:
			if !microseconds(s.Descr().LogicalType().String(), value.Of.Kind) {
				return 0, 0, false
			}
			return sign(s.Min(), v), sign(s.Max(), v), true
		}
	case plan.Varchar:
		v, isString := value.Value.(string)
		if s, ok := stats.(*metadata.ByteArrayStatistics); ok && isString {
			return bytes.Compare(s.Min(), []byte(v)), bytes.Compare(s.Max(), []byte(v)), true
		}
	}
	return 0, 0, false
}

// microseconds says that a 64-bit column counts what DuckDB's type counts; files by others may be in other units.
func microseconds(logical string, kind plan.Kind) bool {
	switch kind {
	case plan.BigInt:
		return true
	case plan.Time, plan.Timestamp, plan.TimestampTZ:
		return strings.Contains(logical, "microseconds")
	default:
		return false
	}
}

func sign(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}
