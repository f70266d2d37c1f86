package scheduler

import (
	"github.com/seracdb/serac/scheduler/engine"
	"github.com/seracdb/serac/scheduler/sql"
)

// parameterCount is the number of parameters in a statement's text.
func parameterCount(text string) (int, error) {
	params, err := sql.Parameters(text)
	if err != nil {
		return 0, statementError("%w", err)
	}
	count := 0
	for _, p := range params {
		count = max(count, p.Number)
	}
	return count, nil
}

// bindParameters writes parameters into the text as literals of their types: DuckDB then types the statement as it will
// run, and every later step sees one kind of statement.
func bindParameters(text string, params []any) (string, error) {
	literals := make([]string, len(params))
	for i, p := range params {
		var err error
		if literals[i], err = engine.LiteralSQL(p); err != nil {
			return "", statementError("parameter %d: %w", i+1, err)
		}
	}
	bound, err := sql.BindParameters(text, literals)
	if err != nil {
		return "", statementError("%w", err)
	}
	return bound, nil
}
