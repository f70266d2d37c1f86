package shuffle

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// File is one partition's file as a map task wrote it.
type File struct {
	Partition int
	Path      string
	Rows      int64
	Bytes     int64
}

// ParseStats reads what the COPY of WriteSQL returned: one row for each file, with its name, rows and size first. Files
// without rows are left out (and named in empty, to be deleted).
func ParseStats(rows [][]any) (files []File, empty []string, err error) {
	seen := map[int]string{}
	for _, row := range rows {
		if len(row) < 3 {
			return nil, nil, fmt.Errorf("shuffle write: statistics have %d columns", len(row))
		}
		path, ok := row[0].(string)
		count, countOK := integer(row[1])
		size, sizeOK := integer(row[2])
		if !ok || !countOK || !sizeOK {
			return nil, nil, fmt.Errorf("shuffle write: statistics of types %T, %T, %T", row[0], row[1], row[2])
		}
		if count == 0 {
			empty = append(empty, path)
			continue
		}
		f := File{Path: path, Rows: count, Bytes: size}
		if name, ok := strings.CutPrefix(filepath.Base(filepath.Dir(path)), partitionColumn+"="); ok {
			if f.Partition, err = strconv.Atoi(name); err != nil {
				return nil, nil, fmt.Errorf("shuffle write: partition of %s: %w", path, err)
			}
		}
		if other, twice := seen[f.Partition]; twice {
			return nil, nil, fmt.Errorf("shuffle write: partition %d has two files, %s and %s", f.Partition, other, path)
		}
		seen[f.Partition] = path
		files = append(files, f)
	}
	return files, empty, nil
}

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), v < 1<<63
	default:
		return 0, false
	}
}
