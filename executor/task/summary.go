package task

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/seracdb/serac/executor/shuffle"
	"github.com/seracdb/serac/internal/bloom"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// The limits of a summary. With them its message stays well below 1 MiB.
const (
	maxListed      = 1000      // distinct values
	maxListedBytes = 64 << 10  // of all listed values
	maxBoundBytes  = 1 << 10   // of a least or greatest value
	maxHashes      = 32 << 10  // beyond them a filter is smaller
	maxHashedRows  = 1_000_000 // more rows make too full a filter
)

// summarize reads back from the files that were written what the plan asks to know of them.
func (a *attempt) summarize(ctx context.Context, root *plan.ShuffleWrite, files []shuffle.File) ([]*seracv1.KeySummary, error) {
	types := root.Input.Schema().Types()
	var columns []int
	var out []*seracv1.KeySummary
	for _, c := range root.Summarize {
		if c < 0 || c >= len(types) {
			return nil, fmt.Errorf("summarise column %d of %d", c, len(types))
		}
		if a.summarizable(types[c]) {
			columns = append(columns, c)
			out = append(out, &seracv1.KeySummary{Column: int64(c), Type: types[c].SQL(), Listed: true, Hashed: true})
		}
	}
	if len(columns) == 0 || len(files) == 0 {
		return out, nil
	}
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.Path
	}
	source, err := shuffle.ReadSQL(types, paths)
	if err != nil {
		return nil, err
	}
	distinct, err := a.bounds(ctx, source, types, out)
	if err != nil {
		return nil, err
	}
	for i, s := range out {
		// Little in one partition will be sent to every task, where a filter is not asked (scheduler/planner, filtered).
		if root.Partitions == 1 && s.GetRows() <= maxHashes && distinct[i] > 2*maxListed {
			s.Listed, s.Hashed = false, false
			continue
		}
		if err := a.summarizeValues(ctx, source, types[columns[i]], s, distinct[i]); err != nil {
			return nil, fmt.Errorf("column %d: %w", columns[i], err)
		}
	}
	return out, nil
}

// summarizable says whether a comparison with a constant of the type, and the hash of one, decide exactly. Floating point
// numbers are equal to others of another hash, and so are texts under a collation.
func (a *attempt) summarizable(t plan.Type) bool {
	if t.Alias != "" {
		return false
	}
	switch t.Kind {
	case plan.Boolean, plan.TinyInt, plan.SmallInt, plan.Integer, plan.BigInt, plan.UTinyInt, plan.USmallInt, plan.UInteger,
		plan.UBigInt, plan.Decimal, plan.Date, plan.Timestamp, plan.TimestampTZ, plan.UUID:
		return true
	case plan.Varchar:
		for name, value := range a.task.launch.GetSettings() {
			if strings.EqualFold(name, "default_collation") && value != "" && !strings.EqualFold(value, "binary") {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// bounds fills in the counts and the least and greatest values of all columns, and estimates their distinct values.
func (a *attempt) bounds(ctx context.Context, source string, types []plan.Type, out []*seracv1.KeySummary) (distinct []int64, err error) {
	terms := []string{"count(*)"}
	for _, s := range out {
		c := shuffle.Column(int(s.GetColumn()))
		t := types[s.GetColumn()]
		terms = append(terms, "count("+c+")", exact("min("+c+")", t), exact("max("+c+")", t), "approx_count_distinct("+c+")")
	}
	rows, err := a.conn.Rows(ctx, "SELECT "+strings.Join(terms, ", ")+" FROM ("+source+") AS s")
	if err != nil {
		return nil, err
	}
	row := rows[0]
	for i, s := range out {
		t := types[s.GetColumn()]
		values := row[1+4*i : 5+4*i]
		s.Rows = row[0].(int64)
		s.Nulls = s.GetRows() - values[0].(int64)
		if s.GetNulls() < s.GetRows() {
			low, high := valueText(values[1], t), valueText(values[2], t)
			if len(low) <= maxBoundBytes && len(high) <= maxBoundBytes {
				s.Min, s.Max = low, high
			}
		}
		distinct = append(distinct, values[3].(int64))
	}
	return distinct, nil
}

// summarizeValues fills in the distinct values or their hashes, as far as there are few enough. distinct is an estimate.
func (a *attempt) summarizeValues(ctx context.Context, source string, t plan.Type, s *seracv1.KeySummary, distinct int64) error {
	c := shuffle.Column(int(s.GetColumn()))
	from := " FROM (" + source + ") AS s WHERE " + c + " IS NOT NULL"
	if distinct <= 2*maxListed { // the estimate may be wrong by a few in a hundred
		return a.listValues(ctx, "SELECT DISTINCT "+exact(c, t)+", hash("+c+")"+from, t, s)
	}
	s.Listed = false
	if s.GetRows() > maxHashedRows {
		s.Hashed = false
		return nil
	}
	what := "hash(" + c + ")"
	if distinct <= maxHashes {
		what = "DISTINCT " + what
	}
	return a.collectHashes(ctx, "SELECT "+what+from, s)
}

// listValues keeps the values and hashes that a SELECT returns.
func (a *attempt) listValues(ctx context.Context, sql string, t plan.Type, s *seracv1.KeySummary) error {
	rows, err := a.conn.Rows(ctx, sql)
	if err != nil {
		return err
	}
	bytes := 0
	for _, row := range rows {
		text := valueText(row[0], t)
		if bytes += len(text); len(s.GetValues()) == maxListed || bytes > maxListedBytes {
			s.Listed = false
		}
		if s.GetListed() {
			s.Values = append(s.Values, text)
		}
		s.Hashes = binary.LittleEndian.AppendUint64(s.Hashes, row[1].(uint64))
	}
	if !s.GetListed() {
		s.Values = nil
	}
	return nil
}

// collectHashes keeps the hashes that a SELECT returns, or, of many, a filter over them.
func (a *attempt) collectHashes(ctx context.Context, sql string, s *seracv1.KeySummary) (err error) {
	stream, err := a.conn.Stream(ctx, sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	var filter bloom.Filter
	for {
		batch, err := stream.Next()
		if errors.Is(err, io.EOF) {
			s.Bloom = filter
			return nil
		}
		if err != nil {
			return err
		}
		hashes := batch.Column(0).(*array.Uint64).Uint64Values()
		if filter == nil && len(s.GetHashes())/8+len(hashes) > maxHashes {
			filter = bloom.New()
			for h := s.GetHashes(); len(h) > 0; h = h[8:] {
				filter.Add(binary.LittleEndian.Uint64(h))
			}
			s.Hashes = nil
		}
		for _, h := range hashes {
			if filter != nil {
				filter.Add(h)
			} else {
				s.Hashes = binary.LittleEndian.AppendUint64(s.Hashes, h)
			}
		}
		batch.Release()
	}
}

// exact is a value as valueText takes it.
func exact(value string, t plan.Type) string {
	if t.Kind == plan.Decimal || t.Kind == plan.UUID {
		return "CAST(" + value + " AS VARCHAR)"
	}
	return value
}

// valueText is a value as KeySummary messages carry it.
func valueText(v any, t plan.Type) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(nil, v)
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case uint64:
		return strconv.AppendUint(nil, v, 10)
	case time.Time:
		if t.Kind == plan.Date {
			return strconv.AppendInt(nil, v.Unix()/(24*60*60), 10)
		}
		return strconv.AppendInt(nil, v.UnixMicro(), 10)
	case string:
		if t.Kind != plan.Decimal {
			return []byte(v)
		}
		n, ok := new(big.Int).SetString(strings.Replace(v, ".", "", 1), 10)
		if !ok {
			panic(fmt.Sprintf("summary: DuckDB wrote %q as a %s", v, t))
		}
		return []byte(n.String())
	default:
		panic(fmt.Sprintf("summary: a %s came as %T", t, v))
	}
}
