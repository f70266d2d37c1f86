package shuffle

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/seracdb/serac/plan"
)

// partitionColumn is the column that COPY partitions by; it names the directories and is not in the files.
const partitionColumn = "p"

// filler stands in the files of a relation without columns, which Parquet does not have.
const filler = "no_columns"

// source is the name of the query in the COPY's SELECT. It sets its columns apart from the SELECT's own aliases.
const source = "s"

// Column is how a key of WriteSQL names column i of the query.
func Column(i int) string { return source + "." + columnName(i) }

// Partitioning says to which of Partitions partitions a row goes, by expressions over Column(i). Rows of equal Keys go to
// the same partition on every executor. Number, if not empty, is the partition itself; the query fails where it is none.
// With one partition neither is needed.
type Partitioning struct {
	Keys       []string
	Number     string
	Partitions int
}

func (by Partitioning) sql() string {
	if by.Number != "" {
		return fmt.Sprintf("CASE WHEN %[1]s BETWEEN 0 AND %[2]d THEN CAST(%[1]s AS INTEGER) ELSE error('no partition') END", by.Number, by.Partitions-1)
	}
	return fmt.Sprintf("CAST(hash(%s) %% %d AS INTEGER)", strings.Join(by.Keys, ", "), by.Partitions)
}

// WriteSQL is the COPY that runs the SELECT query (with columns c0, c1, ... of the given types) and writes its rows to
// dir: one Parquet file for each partition that has rows, below dir/p=N/ (with one partition: one file, also when there
// are no rows). It returns what RETURN_STATS does: see ParseStats. dir must be there and empty.
func WriteSQL(query string, types []plan.Type, by Partitioning, dir string) (string, error) {
	partitions := by.Partitions
	if partitions < 1 || (partitions > 1 && len(by.Keys) == 0 && by.Number == "") {
		return "", fmt.Errorf("shuffle write: %d partitions with %d keys", partitions, len(by.Keys))
	}
	columns := make([]string, 0, len(types)+1)
	for i, t := range types {
		if _, ok := Carrier(t); !ok {
			return "", fmt.Errorf("shuffle write: column %d: rows of type %s cannot be shuffled", i, t)
		}
		columns = append(columns, encode(Column(i), t)+" AS "+columnName(i))
	}
	if len(types) == 0 {
		columns = append(columns, "true AS "+filler)
	}
	options := []string{
		"FORMAT parquet", "COMPRESSION " + compression, fmt.Sprintf("ROW_GROUP_SIZE %d", rowGroupSize(partitions)),
		"RETURN_STATS", "WRITE_BLOOM_FILTER false", // of no use: all of a shuffle file is read (and see iceberg/read, unpushed)
	}
	target := filepath.Join(dir, "all.parquet")
	if partitions > 1 {
		columns = append(columns, by.sql()+" AS "+partitionColumn)
		options = append(options, "PARTITION_BY ("+partitionColumn+")", "FILENAME_PATTERN 'part'", "OVERWRITE_OR_IGNORE")
		target = dir
	}
	return fmt.Sprintf("COPY (SELECT %s FROM (%s) AS %s) TO %s (%s)",
		strings.Join(columns, ", "), query, source, plan.QuoteString(target), strings.Join(options, ", ")), nil
}

// compression of shuffle files: LZ4 costs little and halves what is written and sent.
const compression = "lz4_raw"

// rowGroupSize bounds what a partitioned COPY buffers: one row group for each partition and thread.
func rowGroupSize(partitions int) int {
	switch {
	case partitions <= 4:
		return 122_880
	case partitions <= 16:
		return 61_440
	default:
		return 20_480
	}
}

// ReadSQL is the SELECT that reads shuffle files back, as columns c0, c1, ... of the given types. The files must be those
// that WriteSQL wrote for the same types.
func ReadSQL(types []plan.Type, paths []string) (string, error) {
	if len(paths) == 0 {
		return "", errors.New("shuffle read: no files")
	}
	columns := make([]string, 0, len(types))
	for i, t := range types {
		columns = append(columns, decode(Column(i), t)+" AS "+columnName(i))
	}
	if len(types) == 0 {
		columns = append(columns, filler+" AS c0") // a relation needs a column
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = plan.QuoteString(p)
	}
	return fmt.Sprintf("SELECT %s FROM read_parquet([%s], hive_partitioning = false) AS %s",
		strings.Join(columns, ", "), strings.Join(quoted, ", "), source), nil
}

func columnName(i int) string { return fmt.Sprintf("c%d", i) }
