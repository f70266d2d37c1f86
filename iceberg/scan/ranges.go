package scan

import (
	"github.com/seracdb/serac/iceberg"
	"github.com/seracdb/serac/iceberg/manifest"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// KeySpan is where the values of a column lie in a file: none is below Low or above High, in the units of KeyRange. High is
// below Low when all are NULL.
type KeySpan struct {
	Low, High int64
	// Bytes is the file's share of Files.Bytes, Rows its rows and Nulls how many of them have no value; all of them when the
	// manifest does not say.
	Bytes, Rows, Nulls int64
}

// KeySpans says for each file where the values of a column lie. ok is false when that is not known of all files, or the column's
// type has no such ranges.
func (f *Files) KeySpans(column plan.ScanColumn) (spans []KeySpan, ok bool) {
	if !iceberg.HasKeyRanges(column.Type) || len(f.kept) != len(f.Tasks) {
		return nil, false
	}
	spans = make([]KeySpan, len(f.kept))
	for i, file := range f.kept {
		if spans[i], ok = keySpan(file, column); !ok {
			return nil, false
		}
		spans[i].Bytes = f.weight(i)
	}
	return spans, true
}

// KeyRanges divides the rows by a column for which there are KeySpans: group i has the rows from cuts[i-1] on (the first: and
// those without a value) and before cuts[i]. A file whose values do not lie in one range is in several groups. The groups are
// one more than the cuts, which ascend.
func (f *Files) KeyRanges(column plan.ScanColumn, cuts []int64) []*seracv1.FileGroup {
	builders := make([]groupBuilder, len(cuts)+1)
	for i := range builders {
		builders[i] = newGroupBuilder(f)
	}
	for n, file := range f.kept {
		span, _ := keySpan(file, column)
		for i := range builders {
			first, last := i == 0, i == len(cuts)
			holds := span.Low <= span.High && (first || span.High >= cuts[i-1]) && (last || span.Low < cuts[i])
			if !holds && !(first && span.Nulls > 0) {
				continue
			}
			builders[i].add(n, 0, file.Task.File.FileSizeBytes())
			whole := (first || span.Low >= cuts[i-1] && span.Nulls == 0) && (last || span.High < cuts[i])
			if whole {
				continue
			}
			r := &seracv1.KeyRange{FieldId: column.FieldID, Nulls: first && span.Nulls > 0}
			if !first {
				r.From = &cuts[i-1]
			}
			if !last {
				r.Before = &cuts[i]
			}
			files := builders[i].group.Files
			files[len(files)-1].KeyRange = r
		}
	}
	groups := make([]*seracv1.FileGroup, len(builders))
	for i := range builders {
		groups[i] = builders[i].group
	}
	return groups
}

func keySpan(f *manifest.File, column plan.ScanColumn) (span KeySpan, ok bool) {
	c := f.Column(int(column.FieldID))
	span = KeySpan{High: -1, Rows: f.Task.File.Count(), Nulls: f.Task.File.Count()}
	if c.Nulls >= 0 {
		span.Nulls = c.Nulls
	}
	if c.Values >= 0 && c.Values == c.Nulls {
		return span, true
	}
	low, okLow := keyValue(c.Lower, column.Type)
	high, okHigh := keyValue(c.Upper, column.Type)
	span.Low, span.High = low, high
	return span, okLow && okHigh && low <= high
}

// keyValue is a bound as a key: of four bytes in files from before an int became a long. A date that became a timestamp is of
// four bytes, too, and in other units.
func keyValue(bound []byte, t plan.Type) (int64, bool) {
	if t.Kind == plan.Integer || t.Kind == plan.Date {
		return int32Kind.int(bound)
	}
	if v, ok := int64Kind.int(bound); ok || t.Kind != plan.BigInt {
		return v, ok
	}
	return int32Kind.int(bound)
}
