package scheduler

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/seracdb/serac/plan"
	"github.com/seracdb/serac/scheduler/bind"
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

// parameterTypes are the types of a statement's parameters as far as they can be told, nil where they cannot: the statement
// itself has been found to be right, with NULLs for its parameters.
func (s *Scheduler) parameterTypes(ctx context.Context, session *engine.Session, text string) []arrow.DataType {
	st, err := s.parse(session, text)
	if err != nil {
		return nil
	}
	var query string
	var into plan.Schema
	switch p := st.parsed.(type) {
	case *sql.Query:
		query = p.Text
	case *sql.CreateTableAs:
		query = p.Query
	case *sql.Insert:
		if query = p.Query; p.ByName {
			break
		}
		t, err := st.table(ctx, p.Table)
		if err != nil {
			return nil
		}
		into = insertColumns(t.Columns(), p.Columns)
	}
	if query == "" {
		return nil
	}
	catalogName, schema := session.Namespace()
	types, err := s.opts.Binder.ParameterTypes(ctx, bind.Request{
		SQL: query, Catalog: catalogName, Schema: schema, Settings: st.settings, Resolve: st.resolve,
	}, into)
	if err != nil {
		s.log.Debug("the types of a statement's parameters are not known", "error", err)
		return nil
	}
	return types
}

// insertColumns are the columns of a table that an INSERT names, all of them when it names none, and nil when one is not there.
func insertColumns(columns []plan.ScanColumn, names []string) plan.Schema {
	var out plan.Schema
	if names == nil {
		for _, c := range columns {
			out = append(out, plan.Column{Name: c.Name, Type: c.Type, Nullable: true})
		}
		return out
	}
	for _, name := range names {
		i := slices.IndexFunc(columns, func(c plan.ScanColumn) bool { return strings.EqualFold(c.Name, name) })
		if i < 0 {
			return nil
		}
		out = append(out, plan.Column{Name: columns[i].Name, Type: columns[i].Type, Nullable: true})
	}
	return out
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
