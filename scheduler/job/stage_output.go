package job

import (
	"github.com/seracdb/serac/plan"
)

// StageOutput is what a shuffle stage wrote, when it was finished for the first time. It does not change; what is made again
// after a loss is not looked at.
type StageOutput struct {
	Stage plan.StageID
	// Tasks is the number of tasks that wrote it.
	Tasks int
	// Stable says that output made again has the same rows: neither the stage nor any that it reads, directly or through
	// others, is indeterminate. Of one that is not, a size is no more than a size: nobody may leave a partition unread
	// because it is empty here, and Keys is nil.
	Stable      bool
	Rows, Bytes int64
	// Partitions are the sizes by partition number, up to the last partition that has rows; it may be shorter than the
	// stage's number of partitions. See Partition.
	Partitions []PartitionSize
	// Keys are summaries of the columns that the stage's ShuffleWrite names, by column; nil when Stable is false. A column is
	// missing when a task did not report about it.
	Keys []KeySummary

	producers []*output // by task
}

// PartitionSize is the size of one partition over all tasks that wrote it. Bytes are those of the files.
type PartitionSize struct{ Rows, Bytes int64 }

// Partition is the size of a partition; zero when nobody wrote it.
func (o *StageOutput) Partition(partition int32) PartitionSize {
	if int(partition) < len(o.Partitions) {
		return o.Partitions[partition]
	}
	return PartitionSize{}
}

// ProducerBytes are the bytes that each task wrote of a partition, by task. It looks at every task.
func (o *StageOutput) ProducerBytes(partition int32) []int64 {
	bytes := make([]int64, len(o.producers))
	for t, p := range o.producers {
		if i, ok := p.find(partition); ok {
			bytes[t] = p.files[i].bytes
		}
	}
	return bytes
}

// KeySummary is what is known of the values in one column of a stage's output.
type KeySummary struct {
	Column int // of the output
	Type   plan.Type
	// Rows and Nulls count the column's values and the NULLs among them.
	Rows, Nulls int64
	// Min and Max are the least and the greatest value; nil when there is none (Rows equals Nulls) or when it is not known.
	Min, Max *plan.Constant
	// Listed says that Values are all values that occur but NULL, each once, sorted; at most MaxListed.
	Listed bool
	Values []*plan.Constant
	// Bloom is a filter over the hash() of all values that occur but NULL, of exactly Type (internal/bloom; the function
	// serac_bloom tests with it); nil when there is none.
	Bloom []byte
}

// MaxListed is the largest number of distinct values that a summary lists.
const MaxListed = 1000
