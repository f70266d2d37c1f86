package customformat

import (
	"context"
	"fmt"
	"strings"

	"github.com/seracdb/serac/examples/customformat/scanpb"
	"github.com/seracdb/serac/format"
	"github.com/seracdb/serac/plan"
)

// SQL is the SELECT that reads the files which a task is assigned. DuckDB pushes the statement's own filters into it.
func (Format) SQL(ctx context.Context, r format.Read) (string, error) {
	s, ok := r.Leaf.(*Scan)
	if !ok {
		return "", fmt.Errorf("%T is no CSV scan", r.Leaf)
	}
	files := make([]string, len(r.Splits))
	for i, split := range r.Splits {
		path, err := r.Local(ctx, split.(*scanpb.CSVFile).GetPath())
		if err != nil {
			return "", fmt.Errorf("table %s: %w", s.Table, err)
		}
		files[i] = plan.QuoteString(path)
	}
	all := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		all[i] = plan.QuoteString(c.Name) + ": " + plan.QuoteString(c.Type.SQL())
	}
	read := make([]string, len(s.Read))
	for i, at := range s.Read {
		read[i] = fmt.Sprintf("%s AS c%d", plan.QuoteIdent(s.Columns[at].Name), i)
	}
	// Nothing is left to DuckDB's guesses, which look at the data.
	return fmt.Sprintf("SELECT %s FROM read_csv([%s], columns = {%s}, auto_detect = false, header = true, delim = ',', "+
		`quote = '"', escape = '"', new_line = '\n', nullstr = '', allow_quoted_nulls = false)`,
		strings.Join(read, ", "), strings.Join(files, ", "), strings.Join(all, ", ")), nil
}
