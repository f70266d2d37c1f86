package job

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seracdb/serac/internal/bloom"
	seracv1 "github.com/seracdb/serac/proto/serac/v1"
)

// merged is what the scheduler makes of the summaries of tasks.
func merged(summaries ...*seracv1.KeySummary) []KeySummary {
	var m keyMerger
	for _, s := range summaries {
		m.add(s)
	}
	return m.summaries(len(summaries))
}

// numbers is what a task reports of the BIGINTs from <= n < to and some NULLs. Its hashes are the numbers' own.
func numbers(from, to, nulls int64) *seracv1.KeySummary {
	s := &seracv1.KeySummary{Column: 2, Type: "BIGINT", Rows: to - from + nulls, Nulls: nulls, Listed: to-from <= MaxListed, Hashed: true}
	if from < to {
		s.Min, s.Max = []byte(strconv.FormatInt(from, 10)), []byte(strconv.FormatInt(to-1, 10))
	}
	for n := from; n < to; n++ {
		if s.GetListed() {
			s.Values = append(s.Values, []byte(strconv.FormatInt(n, 10)))
		}
		s.Hashes = binary.LittleEndian.AppendUint64(s.GetHashes(), hashOf(n))
	}
	return s
}

func hashOf(n int64) uint64 { return rand.New(rand.NewPCG(uint64(n), 0)).Uint64() }

func TestMergedKeys(t *testing.T) {
	k := merged(numbers(-5, 100, 3), numbers(50, 200, 0), numbers(0, 0, 7), numbers(0, 0, 0))[0]
	require.Equal(t, []any{2, "BIGINT", int64(105 + 3 + 150 + 7), int64(10)}, []any{k.Column, k.Type.SQL(), k.Rows, k.Nulls})
	require.Equal(t, []any{int64(-5), int64(199)}, []any{k.Min.Value, k.Max.Value})
	require.True(t, k.Listed)
	require.Len(t, k.Values, 205)
	require.Equal(t, []any{int64(-5), int64(199)}, []any{k.Values[0].Value, k.Values[204].Value}, "sorted")

	// Two short lists may make a long one: then the filter of all of them is left.
	k = merged(numbers(0, 800, 0), numbers(700, 1500, 0))[0]
	require.False(t, k.Listed)
	require.Empty(t, k.Values)
	require.Equal(t, []any{int64(0), int64(1499)}, []any{k.Min.Value, k.Max.Value})
	require.LessOrEqual(t, len(k.Bloom), 4096, "no larger than 1,500 values need")
	wrong := 0
	for n := range int64(20_000) {
		has := bloom.Filter(k.Bloom).Has(hashOf(n))
		require.True(t, n >= 1500 || has)
		if n >= 1500 && has {
			wrong++
		}
	}
	require.Less(t, wrong, 370, "2 in a hundred")

	// A filter joins hashes; and what one task does not know, nobody knows.
	big := numbers(0, 0, 0)
	f := bloom.New()
	for n := range int64(100_000) {
		f.Add(hashOf(n))
	}
	big.Rows, big.Listed, big.Bloom = 100_000, false, f
	k = merged(big, numbers(1_000_000, 1_000_010, 0))[0]
	require.Nil(t, k.Min, "the first task does not say")
	require.False(t, k.Listed)
	for _, n := range []int64{0, 99_999, 1_000_009} {
		require.True(t, bloom.Filter(k.Bloom).Has(hashOf(n)))
	}
	none := &seracv1.KeySummary{Column: 2, Type: "BIGINT", Rows: 5, Min: []byte("7"), Max: []byte("9")}
	k = merged(numbers(0, 10, 0), none)[0]
	require.Equal(t, []any{false, []byte(nil), int64(0), int64(9)}, []any{k.Listed, k.Bloom, k.Min.Value, k.Max.Value})

	// Too many values for any filter.
	full := make(bloom.Filter, bloom.MaxBytes)
	for i := range full {
		full[i] = 0x7f
	}
	big.Bloom = full
	require.Nil(t, merged(big)[0].Bloom)

	// Nobody, of nothing.
	k = merged(numbers(0, 0, 0))[0]
	require.True(t, k.Listed)
	require.Empty(t, k.Values)

	// A column that a task is silent about, and reports that cannot be read.
	var m keyMerger
	m.add(numbers(0, 10, 0))
	require.Empty(t, m.summaries(2))
	for _, bad := range []func(*seracv1.KeySummary){
		func(s *seracv1.KeySummary) { s.Type = "NO TYPE" },
		func(s *seracv1.KeySummary) { s.Type = "DOUBLE" },
		func(s *seracv1.KeySummary) { s.Min = []byte("x") },
		func(s *seracv1.KeySummary) { s.Values[3] = []byte("x") },
		func(s *seracv1.KeySummary) { s.Hashes = s.GetHashes()[1:] },
		func(s *seracv1.KeySummary) { s.Bloom = make([]byte, 100) },
	} {
		s := numbers(0, 10, 0)
		bad(s)
		require.Empty(t, merged(s), fmt.Sprint(s.GetType()))
	}
}

// TestUnstableKeys: nothing is said of values that may change, and a report counts once.
func TestUnstableKeys(t *testing.T) {
	for _, indeterminate := range []bool{false, true} {
		m, err := New(&Spec{ID: "j", Open: true, Stages: []Stage{{ID: 1, Sink: Shuffle, Tasks: make([]Task, 2), Indeterminate: indeterminate}}})
		require.NoError(t, err)
		m.Start()
		var done []StageDone
		finish := func(task int32, executor string) {
			m.Step(ExecutorAdded{Executor: executor})
			l, err := m.Launch(1, task, executor)
			require.NoError(t, err)
			for _, a := range m.Step(TaskStatus{Executor: executor, Status: &seracv1.TaskStatus{
				Id: l.GetId(), State: seracv1.TaskState_TASK_STATE_FINISHED, Summaries: []*seracv1.KeySummary{numbers(0, 10, 1)},
				ShuffleFiles: []*seracv1.ShuffleFile{{Rows: 11, SizeBytes: 5, Path: "x"}},
			}}) {
				if d, ok := a.(StageDone); ok {
					done = append(done, d)
				}
			}
		}
		finish(0, "a")
		m.Step(ExecutorLost{Executor: "a"}) // its output is made, and reported about, again
		finish(0, "b")
		finish(1, "c")
		require.Len(t, done, 1)
		if o := done[0].Output; indeterminate {
			require.False(t, o.Stable)
			require.Empty(t, o.Keys)
		} else {
			require.Equal(t, []int64{22, 2}, []int64{o.Keys[0].Rows, o.Keys[0].Nulls})
		}
	}
}
