package job

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/seracdb/serac/internal/bloom"
	"github.com/seracdb/serac/plan"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// keyMerger puts the summaries of a stage's tasks together, as they come. Its memory does not depend on the number of tasks.
type keyMerger struct {
	byColumn map[int64]*mergedKey
}

// mergedKey is one column of the tasks that have reported so far. A bound, the list and the filter are given up for good by
// the first task that does not know its own.
type mergedKey struct {
	kind   plan.Type
	tasks  int
	broken bool // a report could not be read
	rows   int64
	nulls  int64

	bounded  bool
	min, max *plan.Constant

	listed bool
	values map[string]*plan.Constant // by their text

	hashed bool
	filter bloom.Filter // nil: no hash yet
}

// add takes in a task's summary.
func (m *keyMerger) add(s *seracv1.KeySummary) {
	if m.byColumn == nil {
		m.byColumn = map[int64]*mergedKey{}
	}
	k := m.byColumn[s.GetColumn()]
	if k == nil {
		t, err := plan.ParseType(s.GetType())
		k = &mergedKey{kind: t, broken: err != nil, bounded: true, listed: true, hashed: true, values: map[string]*plan.Constant{}}
		m.byColumn[s.GetColumn()] = k
	}
	k.tasks++
	if !k.broken && k.add(s) != nil {
		k.broken = true
	}
}

func (k *mergedKey) add(s *seracv1.KeySummary) error {
	k.rows += s.GetRows()
	k.nulls += s.GetNulls()
	if s.GetRows() == s.GetNulls() {
		return nil // no value, so nothing that is not known
	}
	if s.Min == nil || s.Max == nil {
		k.bounded = false
	}
	if k.bounded {
		for _, bound := range []struct {
			text []byte
			best **plan.Constant
			sign int
		}{{s.GetMin(), &k.min, -1}, {s.GetMax(), &k.max, 1}} {
			c, err := readValue(bound.text, k.kind)
			if err != nil {
				return err
			}
			if *bound.best == nil || compareValues(c.Value, (*bound.best).Value)*bound.sign > 0 {
				*bound.best = c
			}
		}
	}
	if !s.GetListed() {
		k.listed, k.values = false, nil
	}
	if k.listed {
		for _, text := range s.GetValues() {
			c, err := readValue(text, k.kind)
			if err != nil {
				return err
			}
			k.values[string(text)] = c
		}
		if len(k.values) > MaxListed {
			k.listed, k.values = false, nil
		}
	}
	return k.addHashes(s)
}

func (k *mergedKey) addHashes(s *seracv1.KeySummary) error {
	if !s.GetHashed() {
		k.hashed, k.filter = false, nil
	}
	if !k.hashed {
		return nil
	}
	if k.filter == nil {
		k.filter = bloom.New()
	}
	if len(s.GetHashes())%8 != 0 {
		return fmt.Errorf("hashes of %d bytes", len(s.GetHashes()))
	}
	for h := s.GetHashes(); len(h) > 0; h = h[8:] {
		k.filter.Add(binary.LittleEndian.Uint64(h))
	}
	if len(s.GetBloom()) > 0 {
		return k.filter.Merge(s.GetBloom())
	}
	return nil
}

const (
	// goodFilter is the part of false positives up to which a filter is folded.
	goodFilter = 0.01
	// uselessFilter is the part of false positives from which a filter is not worth its testing.
	uselessFilter = 0.3
)

// summaries are the columns that all tasks reported about.
func (m *keyMerger) summaries(tasks int) []KeySummary {
	var keys []KeySummary
	for column, k := range m.byColumn {
		if k.broken || k.tasks != tasks {
			continue
		}
		s := KeySummary{Column: int(column), Type: k.kind, Rows: k.rows, Nulls: k.nulls, Listed: k.listed}
		if k.bounded {
			s.Min, s.Max = k.min, k.max
		}
		for _, c := range k.values {
			s.Values = append(s.Values, c)
		}
		slices.SortFunc(s.Values, func(a, b *plan.Constant) int { return compareValues(a.Value, b.Value) })
		if k.filter != nil {
			if f := k.filter.Fold(goodFilter); f.FalsePositives() < uselessFilter {
				s.Bloom = f
			}
		}
		keys = append(keys, s)
	}
	slices.SortFunc(keys, func(a, b KeySummary) int { return cmp.Compare(a.Column, b.Column) })
	return keys
}

// readValue reads a value as KeySummary messages carry it.
func readValue(text []byte, t plan.Type) (*plan.Constant, error) {
	c := &plan.Constant{Of: t}
	var err error
	switch t.Kind {
	case plan.Boolean:
		c.Value, err = strconv.ParseBool(string(text))
	case plan.TinyInt, plan.SmallInt, plan.Integer, plan.BigInt, plan.Date, plan.Timestamp, plan.TimestampTZ:
		c.Value, err = strconv.ParseInt(string(text), 10, 64)
	case plan.UTinyInt, plan.USmallInt, plan.UInteger, plan.UBigInt:
		c.Value, err = strconv.ParseUint(string(text), 10, 64)
	case plan.Decimal:
		n, ok := new(big.Int).SetString(string(text), 10)
		if !ok {
			return nil, fmt.Errorf("%q is no unscaled decimal", text)
		}
		c.Value = n
	case plan.Varchar:
		c.Value = string(text)
	case plan.UUID:
		var u [16]byte
		raw, hexErr := hex.DecodeString(strings.ReplaceAll(string(text), "-", ""))
		if hexErr != nil || len(raw) != len(u) {
			return nil, fmt.Errorf("%q is no UUID", text)
		}
		copy(u[:], raw)
		c.Value = u
	default:
		return nil, fmt.Errorf("values of type %s are not summarised", t)
	}
	if err != nil {
		return nil, fmt.Errorf("read value of type %s: %w", t, err)
	}
	return c, nil
}

// compareValues orders two values of one type as DuckDB does, VARCHAR by bytes.
func compareValues(a, b any) int {
	switch a := a.(type) {
	case bool:
		switch b := b.(bool); {
		case a == b:
			return 0
		case b:
			return -1
		default:
			return 1
		}
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case *big.Int:
		return a.Cmp(b.(*big.Int))
	case string:
		return cmp.Compare(a, b.(string))
	case [16]byte:
		other := b.([16]byte)
		return bytes.Compare(a[:], other[:])
	default:
		panic(fmt.Sprintf("job: no order of %T", a))
	}
}
