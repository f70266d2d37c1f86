package planner

import "github.com/seracdb/serac/plan"

// Runtime runs stages while later ones are still being planned, so that a decision can go by what earlier stages really
// wrote and not by estimates (adapt.go).
type Runtime interface {
	// Output waits until a stage has run and says what it wrote. stages are all that there are so far, each after its
	// inputs; those that have not been started, and are not dropped, are. An error ends the planning.
	Output(stages []*Stage, id plan.StageID) (*Output, error)
	// Drop says that stages, which may have been started, are not needed after all.
	Drop(stages []*Stage)
	// Prune plans the files of a scan again, by the filter that it has now.
	Prune(scan *plan.IcebergScan) (ScanFiles, error)
}

// Adaptive says which decisions go by real sizes. The answers are the same either way. The zero value is none.
type Adaptive struct {
	// Coalesce packs small shuffle partitions into fewer tasks.
	Coalesce bool
	// Broadcast lets the real size of a join's smaller side decide how the join runs.
	Broadcast bool
	// Empty ends the work of a join early when its smaller side turns out to have no rows.
	Empty bool
	// Skew spreads a shuffle partition that is much larger than the others over several tasks.
	Skew bool
	// Filters lets what is known of the keys of a join's finished side drop rows, row groups and files of the other side.
	Filters bool
}

// AllAdaptive is every rule.
var AllAdaptive = Adaptive{Coalesce: true, Broadcast: true, Empty: true, Skew: true, Filters: true}

// Output is what a shuffle stage wrote.
type Output struct {
	Rows, Bytes int64
	// Partitions are sizes in bytes, by partition.
	Partitions []int64
	// Producers says how many bytes of a partition each task of the stage wrote.
	Producers func(partition int32) []int64
	// Keys are summaries of the columns that the stage's ShuffleWrite.Summarize names, as far as there are any.
	Keys []KeySummary
}

func (o *Output) size() (rows, bytes float64) { return float64(o.Rows), float64(o.Bytes) }

// measured puts a stage's real size in place of its estimate. The bytes are those of its rows once they are read.
func (s *sharedStage) measured(out *Output) {
	all := s.rows / max(1-s.dropped, 1e-6)
	s.rows, s.bytes = out.size()
	s.bytes = max(s.bytes, s.rows*rowWidth(s.out))
	s.dropped = 0
	if s.rows < all {
		s.dropped = 1 - s.rows/all
	}
}

// KeySummary is what is known of the values of a column.
type KeySummary struct {
	Column int
	// Min and Max are over values that are not NULL; nil when there are none, or when they are not known.
	Min, Max *plan.Constant
	// Values are all the distinct values but NULL, when there are few of them (then not nil, perhaps empty).
	Values []*plan.Constant
	// Bloom, if not empty, tests hash(value): serac_bloom.
	Bloom []byte
}
